//! Change points: lasting changes of a series' mean.
//!
//! Binary segmentation (Scott & Knott, "A cluster analysis method for grouping means in the analysis of variance",
//! Biometrics 30, 1974; Vostrikova 1981): the best split of a range is tested; if it is significant, both parts are
//! tested in turn. The statistic is the greatest two-sample t of means over all splits. Its null distribution comes
//! from permuting the series (Matteson & James, "A nonparametric approach for multiple change point analysis", JASA
//! 109, 2014), so no shape of the noise is assumed.
//!
//! Neighboring seconds are autocorrelated, which a permutation would destroy. Blocks are permuted instead, as long as a
//! multiple of the autocorrelation time of the residuals without the best split. The multiple was chosen so that series
//! without a change are called changed in 3 to 8% of the cases, as counted by the tests.

use super::long_run::{Removed, autocorrelation_time};
use highwater_model::numbers::{ceil_to_usize, len_to_f64, to_f64};
use highwater_model::units::Seed;
use highwater_workload::random::Draws;

/// Significance level of the test of one range.
pub const LEVEL: f64 = 0.05;
/// Permutations per test; one less than a multiple of 20 meets the level exactly.
const PERMUTATIONS: u64 = 399;
/// Shorter ranges are not tested: their autocorrelation time cannot be estimated.
const VALUES_MIN: usize = 240;
/// If a further step explains this fraction of a part's variance, it is removed before the autocorrelation time is
/// estimated: otherwise several changes would pass for a long autocorrelation.
const PLAIN: f64 = 0.5;
/// Maximum number of steps removed.
const PLAIN_STEPS_MAX: usize = 16;
/// Minimum number of blocks for a test.
const BLOCKS_MIN: usize = 24;
/// Longer ranges are averaged first, so that at most this many blocks are permuted.
const BLOCKS_MAX: usize = 400;
/// A part has at least this fraction of the blocks.
const EDGE: f64 = 0.05;
/// Block length per excess of the autocorrelation time over that of independent values.
const BLOCK_PER_TIME: f64 = 8.0;
/// Maximum number of changes reported per series.
const CHANGES_MAX: usize = 8;

/// One change of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Position of the first value after it.
    pub at: usize,
    /// Mean between the previous change and this one.
    pub before: f64,
    /// Mean from it to the next change.
    pub after: f64,
    /// Upper bound of the probability that a series without a change shows such a split.
    pub p_value: f64,
}

/// All significant changes, ascending.
pub fn changes(values: &[f64]) -> Vec<Change> {
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut stretches = vec![(0, values.len())];
    while let Some((from, to)) = stretches.pop() {
        let Some((at, p_value)) = split(&values[from..to]) else {
            continue;
        };
        if p_value >= LEVEL || found.len() >= CHANGES_MAX {
            continue;
        }
        found.push((from + at, p_value));
        stretches.push((from, from + at));
        stretches.push((from + at, to));
    }
    found.sort_by_key(|(at, _)| *at);
    let mut bounds = vec![0];
    bounds.extend(found.iter().map(|(at, _)| *at));
    bounds.push(values.len());
    bounds
        .windows(3)
        .zip(&found)
        .map(|(around, (at, p_value))| Change {
            at: *at,
            before: mean(&values[around[0]..*at]),
            after: mean(&values[*at..around[2]]),
            p_value: *p_value,
        })
        .collect()
}

/// The best split of a range and its p value; `None` if the range is too short or constant.
pub fn split(values: &[f64]) -> Option<(usize, f64)> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let (rough, _) = best(values, edge_of(values.len()))?;
    let residuals = without_steps(values, rough);
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    if squares <= f64::EPSILON * values.iter().map(|v| v * v).sum::<f64>() {
        // Only the step itself is left.
        return Some((rough, 1.0 / len_to_f64(values.len())));
    }
    let time = autocorrelation_time(&residuals, squares, Removed::Line);
    let block = ceil_to_usize(BLOCK_PER_TIME * (time - 1.0)).max(1);
    let block = block.max(values.len().div_ceil(BLOCKS_MAX));
    let mut blocks: Vec<f64> = values.chunks_exact(block).map(mean).collect();
    if blocks.len() < BLOCKS_MIN {
        return None;
    }
    let edge = edge_of(blocks.len());
    let (_, between) = best(&blocks, edge)?;
    let seen = between * (1.0 - shared(time, len_to_f64(block)));
    let draws = Draws::of(Seed(0), &["changes"]);
    let (mut number, mut as_good) = (0, 1.0);
    for _ in 0..PERMUTATIONS {
        shuffle(&mut blocks, &draws, &mut number);
        let as_great = best(&blocks, edge).is_some_and(|(_, statistic)| statistic >= seen);
        as_good += f64::from(u8::from(as_great));
    }
    Some((rough, as_good / to_f64(PERMUTATIONS + 1)))
}

/// The covariance of neighboring blocks across their border, as a fraction of the variance of blocks. Permuted blocks
/// have none, so the observed statistic is reduced by this fraction. For a first-order autoregression of coefficient φ
/// it is 2 φ / (1 − φ²) / length, and its autocorrelation time is (1 + φ) / (1 − φ).
fn shared(time: f64, length: f64) -> f64 {
    (time - 1.0 / time) / 2.0 / length
}

/// Fisher & Yates shuffle.
fn shuffle(values: &mut [f64], draws: &Draws, number: &mut u64) {
    for last in (1..values.len()).rev() {
        let bound = u64::try_from(last + 1).unwrap_or(u64::MAX);
        let other = usize::try_from(draws.below(*number, bound)).unwrap_or(0);
        *number += 1;
        values.swap(last, other);
    }
}

/// The split whose means differ most for their lengths: its position, and Σ² between the parts as a fraction of the
/// total.
fn best(values: &[f64], edge: usize) -> Option<(usize, f64)> {
    let n = len_to_f64(values.len());
    let all = mean(values);
    let total: f64 = values.iter().map(|value| (value - all).powi(2)).sum();
    if total <= 0.0 || values.len() < 2 * edge {
        return None;
    }
    let mut best: Option<(usize, f64)> = None;
    let mut sum = 0.0;
    for (position, value) in values.iter().enumerate() {
        if position >= edge && position + edge <= values.len() {
            let left = len_to_f64(position);
            let between = sum * sum * n / (left * (n - left)) / total;
            if best.is_none_or(|(_, most)| between > most) {
                best = Some((position, between));
            }
        }
        sum += value - all;
    }
    best
}

/// The residuals without the best step, and without any other obvious steps.
fn without_steps(values: &[f64], first: usize) -> Vec<f64> {
    let mut parts = vec![(0, first), (first, values.len())];
    let mut residuals = vec![0.0; values.len()];
    let mut steps = 1;
    while let Some((from, to)) = parts.pop() {
        let part = &values[from..to];
        let further = best(part, edge_of(part.len())).filter(|(_, share)| *share >= PLAIN);
        if let Some((at, _)) = further.filter(|_| steps < PLAIN_STEPS_MAX) {
            steps += 1;
            parts.extend([(from, from + at), (from + at, to)]);
            continue;
        }
        let mean = mean(part);
        for (residual, value) in residuals[from..to].iter_mut().zip(part) {
            *residual = value - mean;
        }
    }
    residuals
}

fn edge_of(length: usize) -> usize {
    ceil_to_usize(EDGE * len_to_f64(length)).max(2)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / len_to_f64(values.len()).max(1.0)
}

#[cfg(test)]
mod tests;
