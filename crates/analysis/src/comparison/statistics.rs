//! Two groups of numbers: the difference of their means, its interval, its chance, and how many
//! runs show a difference of some size.
//!
//! Most values are compared by their logarithms: a rate that halves is as far as one that doubles,
//! and the difference is relative by itself. Shares are compared as they are, as most of them are
//! 0. The interval is Welch's (B. L. Welch, "The generalization of 'Student's' problem when several
//! different population variances are involved", Biometrika 34, 1947) with the degrees of freedom
//! of Satterthwaite (Biometrics Bulletin 2, 1946).

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use highwater_model::numbers::len_to_f64;
use highwater_model::sample::Scale;

use super::figures::Value;

/// Chance of calling equal groups better or worse anywhere in one comparison, at most.
pub const RISK: f64 = 0.05;
/// The part of [`RISK`] that the question's own figure has; the rest is for the others while it
/// shows no difference.
pub const PRIMARY_RISK: f64 = 0.045;
/// Chance of finding a difference of the practical size with the repeats that are named.
pub const POWER: f64 = 0.8;

/// Least standard deviation of a logarithm: histograms have three digits, whose rounding
/// spreads evenly over 0.1%, 0.001 / √12.
const ROUNDING: f64 = 0.000_29;
/// What runs differ by where nobody has measured it: the floor of a measurement's error.
const ASSUMED_SPREAD: f64 = 0.03;
/// More repeats are not named.
const REPEATS_MAX: u32 = 10_000;

/// A difference: relative, or of shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// B / A - 1, of the geometric means; of shares B - A.
    pub difference: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end of its 95% interval.
    pub high: f64,
    /// Chance of a difference as great as this one, or greater, between equal groups.
    pub p_value: f64,
}

/// Values of two groups on the scale on which they are compared.
pub(super) struct Pair {
    scale: Scale,
    groups: [Group; 2],
}

struct Group {
    values: Vec<f64>,
    /// Least variance of a value, whatever is seen.
    least: f64,
}

/// What is known of a group's mean.
struct Estimate {
    mean: f64,
    /// Variance of the mean.
    variance: f64,
    degrees: f64,
}

impl Pair {
    pub(super) fn new(scale: Scale, values: &[Vec<Value>; 2]) -> Self {
        let share = pooled(values);
        let groups = [&values[0], &values[1]].map(|values| Group {
            values: values.iter().map(|v| scaled(scale, v.value)).collect(),
            least: if scale.is_share() { by_chance(share, values) } else { ROUNDING * ROUNDING },
        });
        Self { scale, groups }
    }

    /// Whether groups could be called different, whichever runs were whose: a share that is 0 in
    /// all of them takes no part of the risk.
    pub(super) fn can_differ(&self) -> bool {
        let mut values = self.groups.iter().flat_map(|group| &group.values);
        !self.scale.is_share() || values.any(|value| *value > 0.0)
    }

    /// The effect; absent where a group has fewer than two runs, or a value has no logarithm.
    pub(super) fn effect(&self) -> Option<Effect> {
        let [a, b] = &self.groups;
        let (a, b) = (a.mean()?, b.mean()?);
        let variance = a.variance + b.variance;
        let degrees = variance * variance
            / (a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees);
        let student = StudentsT::new(0.0, 1.0, degrees).ok()?;
        let (difference, error) = (b.mean - a.mean, variance.sqrt());
        let half = student.inverse_cdf(1.0 - RISK / 2.0) * error;
        Some(Effect {
            difference: self.on_scale(difference),
            low: self.on_scale(difference - half),
            high: self.on_scale(difference + half),
            p_value: 2.0 * student.sf((difference / error).abs()),
        })
    }

    /// Standard deviation of a run's value, of both groups together; assumed where neither has two
    /// runs, of shares as chance alone has it.
    pub(super) fn spread(&self) -> f64 {
        let (mut squares, mut degrees) = (0.0, 0.0);
        for group in &self.groups {
            if let Some(mean) = group.mean() {
                squares += mean.variance * len_to_f64(group.values.len()) * mean.degrees;
                degrees += mean.degrees;
            }
        }
        if degrees > 0.0 {
            (squares / degrees).sqrt()
        } else if self.scale.is_share() {
            let [a, b] = &self.groups;
            a.least.max(b.least).sqrt()
        } else {
            ASSUMED_SPREAD
        }
    }

    /// Runs of each group with which a difference of `practical` is found at a level of `risk`, if
    /// runs differ by `times` as much as they do.
    pub(super) fn repeats(&self, practical: f64, times: f64, risk: f64) -> u32 {
        repeats_needed(times * self.spread(), self.step(practical), risk)
    }

    /// The smallest difference that both groups show with a chance of 80%.
    pub(super) fn detectable(&self, risk: f64) -> Option<f64> {
        let [a, b] = &self.groups;
        a.mean()?;
        b.mean()?;
        let runs = u32::try_from(a.values.len().min(b.values.len())).ok()?;
        Some(self.on_scale(shown(self.spread(), runs, risk)))
    }

    /// A difference on the scale as people are told it.
    fn on_scale(&self, step: f64) -> f64 {
        if self.scale.is_share() { step } else { step.exp_m1() }
    }

    /// The other way round.
    fn step(&self, difference: f64) -> f64 {
        if self.scale.is_share() { difference } else { difference.ln_1p() }
    }
}

impl Group {
    fn mean(&self) -> Option<Estimate> {
        let values = &self.values;
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let n = len_to_f64(values.len());
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        let variance = (squares / (n - 1.0)).max(self.least);
        Some(Estimate { mean, variance: variance / n, degrees: n - 1.0 })
    }
}

fn scaled(scale: Scale, value: f64) -> f64 {
    if scale.is_share() { value } else { value.ln() }
}

/// The share of all runs together, with one more of either kind: that none of so many failed does
/// not show that none can (P.-S. Laplace, rule of succession).
fn pooled(values: &[Vec<Value>; 2]) -> f64 {
    let (mut parts, mut of) = (1.0, 2.0);
    for value in values.iter().flatten() {
        parts += value.value * value.of;
        of += value.of;
    }
    parts / of
}

/// Variance of a run's share if each of its ops or seconds failed by itself: runs differ by that
/// much at least, and by more where failures come together.
fn by_chance(share: f64, values: &[Value]) -> f64 {
    values.iter().map(|v| share * (1.0 - share) / v.of).sum::<f64>() / len_to_f64(values.len())
}

/// Runs of each group with which a difference of `step` on the scale of the values is found with a
/// chance of 80% at a level of `risk`: the smallest n whose groups show it.
fn repeats_needed(spread: f64, step: f64, risk: f64) -> u32 {
    let (mut low, mut high) = (2, REPEATS_MAX);
    while low < high {
        let middle = u32::midpoint(low, high);
        if shown(spread, middle, risk) <= step {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The difference, on the scale of the values, that groups of so many runs show: λ s √(2 / n).
///
/// Student's t of two groups that differ has a noncentral distribution of ν = 2 (n - 1) degrees of
/// freedom and noncentrality λ. It exceeds t₁₋ₐ, a halved for both sides, with a chance of
/// Φ((λ - t (1 - 1 / 4ν)) / √(1 + t² / 2ν)) (M. Abramowitz & I. A. Stegun, "Handbook of Mathematical
/// Functions", 26.7.10), which is solved for λ. For levels from 5 down to 0.05% that is above
/// the exact one by 1% at most from 4 degrees on, by 2.2% at 2, and never below it.
fn shown(spread: f64, runs: u32, risk: f64) -> f64 {
    let degrees = 2.0 * (f64::from(runs) - 1.0);
    let Ok(student) = StudentsT::new(0.0, 1.0, degrees) else {
        return f64::INFINITY;
    };
    let t = student.inverse_cdf(1.0 - risk / 2.0);
    let deviations = Normal::standard().inverse_cdf(POWER);
    let noncentrality =
        t * (1.0 - 1.0 / (4.0 * degrees)) + deviations * (1.0 + t * t / (2.0 * degrees)).sqrt();
    noncentrality * spread * (2.0 / f64::from(runs)).sqrt()
}

/// The greatest chance that still counts as a difference, such that all figures together call
/// equal groups different with `risk` at most (S. Holm, "A simple sequentially rejective
/// multiple test procedure", Scandinavian Journal of Statistics 6, 1979); 0 if none does.
pub(super) fn holm(mut p_values: Vec<f64>, risk: f64) -> f64 {
    p_values.sort_by(f64::total_cmp);
    let count = p_values.len();
    let mut threshold = 0.0;
    for (rank, p_value) in p_values.into_iter().enumerate() {
        if p_value > risk / len_to_f64(count - rank) {
            break;
        }
        threshold = p_value;
    }
    threshold
}
