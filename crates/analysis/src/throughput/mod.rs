//! The mean rate of a series of counts, how well it is known, and how it drifts.
//!
//! Both intervals allow for dependence between windows (see `long_run`). They take few, long waves, so
//! that stalls of seconds are seen as what they are, and that of the mean allows for skewness: where the
//! target stalls, runs with fewer stalls are faster and vary less, so that a symmetric interval
//! would lie too high. Both are absent where the series is worth fewer than 12 independent windows:
//! an interval is never invented.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::long_run::{Calibration, LongRun, Removed, long_run, student_quantile};
use super::long_run::{batch_skewness, skewed};
use highwater_model::display::ratio;
use highwater_model::numbers::{len_to_f64, round_to_u64, to_f64};
use highwater_model::plan::{SteadinessRule, Unit};
use highwater_model::record::{ResultRecord, Steadiness, StreamRecord, ThroughputRecord};
use highwater_model::units::Nanos;

#[cfg(any(test, feature = "fixture"))]
pub mod accuracy;
#[cfg(test)]
mod tests;

/// Fewest windows for an interval, however independent: 3 s.
const MIN_WINDOWS: usize = 30;
/// Fewest effective windows for an interval.
pub const MIN_EFFECTIVE_WINDOWS: f64 = 12.0;

/// Waves of an interval. Eight of 60 s are longer than 15 s each, and so than stalls of 2 s with gaps
/// of 6 s; that costs 16% of the width where windows are independent.
const WAVES: f64 = 8.0;
/// Chosen on the tests' processes, stalling ones among them.
const CALIBRATION: Calibration =
    Calibration { removed: Removed::Line, frequencies: 0.15, most: WAVES, margin: 3.0 };
/// Batches per effective window of which the skewness is taken: long enough to be independent.
const SKEWNESS_BATCHES: f64 = 0.3;
/// Fewest and most of them.
const BATCHES: [f64; 2] = [6.0, 60.0];
/// Both ends of an interval together leave out 5%.
const TAIL: f64 = 0.025;

/// A rate over a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// Counted things per second.
    pub mean_per_s: f64,
    /// 95% confidence interval of the mean, per second; absent where too little is known.
    pub ci95: Option<(f64, f64)>,
    /// Independent windows that the series is worth.
    pub effective_windows: f64,
    /// How it drifts; absent where too little is known.
    pub drift: Option<Drift>,
    /// Means of the first and the last third, per second; absent for fewer than three windows.
    pub thirds_per_s: Option<[f64; 2]>,
}

/// The change over the series that a straight line shows, percent of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Its best estimate.
    pub percent: f64,
    /// Its 95% confidence interval.
    pub ci95: (f64, f64),
}

impl Drift {
    /// The same drift over a time that is so many times as long.
    pub fn over(self, times: f64) -> Self {
        let (low, high) = self.ci95;
        Self { percent: self.percent * times, ci95: (low * times, high * times) }
    }

    /// What is known of it: within the bound, outside, or neither.
    pub fn steadiness(&self, rule: SteadinessRule) -> Steadiness {
        let bound = rule.within_percent();
        let (low, high) = self.ci95;
        if low >= -bound && high <= bound {
            Steadiness::Steady
        } else if low > bound || high < -bound {
            Steadiness::NotSteady
        } else {
            Steadiness::NotShown
        }
    }
}

impl Throughput {
    /// Writes what is known of the rate into the record of its stream, each count being so many of
    /// the stream's units.
    pub fn describe(&self, stream: &mut StreamRecord, units: f64, rule: SteadinessRule) {
        stream.throughput.ci95 = self.ci95.map(|(low, high)| [low * units, high * units]);
        stream.effective_windows = self.effective_windows;
        stream.steadiness =
            self.drift.map_or(Steadiness::NotTested, |drift| drift.steadiness(rule));
        stream.drift_percent = self.drift.map(|drift| drift.percent);
        stream.drift_ci95 = self.drift.map(|drift| [drift.ci95.0, drift.ci95.1]);
        stream.thirds_per_s = self.thirds_per_s.map(|thirds| thirds.map(|of| of * units));
    }
}

/// What a stream acknowledged in each window, and how many of its units a count stands for: ops, which are all alike;
/// or rows, where ops of rows were acknowledged in part and are not.
pub fn counted<'a>(unit: Unit, results: &[&'a ResultRecord]) -> (Cow<'a, [u64]>, f64) {
    let is_partial = |result: &&ResultRecord| !result.windows.missing.is_empty();
    let in_rows = unit == Unit::Rows && results.iter().any(is_partial);
    let sum = |of: fn(&ThroughputRecord) -> f64| -> f64 {
        results.iter().map(|result| of(&result.throughput)).sum()
    };
    let [ops_per_s, rows_per_s] = [sum(|of| of.ops_per_s), sum(|of| of.rows_per_s)];
    let units = match unit {
        Unit::Rows if ops_per_s > 0.0 && !in_rows => rows_per_s / ops_per_s,
        _ => 1.0,
    };
    // A day has 7 MB of them: those of a single op are not copied.
    if let ([only], false) = (results, in_rows) {
        return (Cow::Borrowed(&only.windows.acknowledged), units);
    }
    let windows = results.iter().map(|result| result.windows.acknowledged.len()).max();
    let mut counts = vec![0; windows.unwrap_or(0)];
    for result in results {
        let missing = &result.windows.missing;
        let rows = result.answered.rows + missing.iter().sum::<u64>();
        let rows_per_op = ratio(rows, result.answered.ops.max(1));
        let missing = missing.iter().chain(std::iter::repeat(&0));
        let acknowledged = result.windows.acknowledged.iter().zip(missing);
        for (sum, (ops, missing)) in counts.iter_mut().zip(acknowledged) {
            let rows = || round_to_u64(to_f64(*ops) * rows_per_op).saturating_sub(*missing);
            *sum += if in_rows { rows() } else { *ops };
        }
    }
    (Cow::Owned(counts), units)
}

/// The rate of things counted per window, its interval and its drift.
///
/// With the long-run variance S of the series without its straight line, and K degrees of freedom:
///
/// - interval: with e = √(S / n), from mean − G(t(K; 0.975)) e to mean − G(−t(K; 0.975)) e, where G
///   allows for the skewness of the mean (see `skewness`);
/// - drift: the slope b has the variance S / Σ(t − t̄)², so the drift n b / mean has the interval
///   ± t(K; 0.975) n √(S / Σ(t − t̄)²) / mean;
/// - S is at least s² / n, where s is the smallest difference between two counts: the ends of the
///   series cut a batch in two, so its sum is known to one batch at best. An even pace, whose
///   counts alternate, would else be measured so exactly that the cut shows as a drift.
///
/// A window of zero length, or no window at all, gives a rate of 0 of which nothing is known.
pub fn throughput(counts: &[u64], window: Nanos) -> Throughput {
    if counts.is_empty() || window == Nanos::ZERO {
        return Throughput {
            mean_per_s: 0.0,
            ci95: None,
            effective_windows: len_to_f64(counts.len()),
            drift: None,
            thirds_per_s: None,
        };
    }
    let per_s = 1.0 / window.as_secs_f64();
    let line = fit(counts);
    let long_run = line.long_run(counts);
    let is_known =
        counts.len() >= MIN_WINDOWS && long_run.effective_windows >= MIN_EFFECTIVE_WINDOWS;
    Throughput {
        mean_per_s: line.mean * per_s,
        ci95: is_known.then(|| {
            let [below, above] = line.errors(&long_run);
            let low = (line.mean - below).max(0.0);
            (low * per_s, (line.mean + above) * per_s)
        }),
        effective_windows: long_run.effective_windows,
        drift: is_known.then(|| line.drift(&long_run)),
        thirds_per_s: thirds(counts).map(|thirds| thirds.map(|of| of * per_s)),
    }
}

/// Means of the first and the last third.
fn thirds(counts: &[u64]) -> Option<[f64; 2]> {
    let length = counts.len() / 3;
    let mean = |part: &[u64]| part.iter().map(|c| to_f64(*c)).sum::<f64>() / len_to_f64(length);
    let ends = [&counts[..length], &counts[counts.len() - length..]];
    (length > 0).then(|| ends.map(mean))
}

/// A straight line through a series and what it leaves.
struct Line {
    mean: f64,
    /// Per window.
    slope: f64,
    /// Σ (t − t̄)².
    spread: f64,
    residuals: Vec<f64>,
    /// The line explains everything, rounding apart.
    exact: bool,
}

impl Line {
    fn long_run(&self, counts: &[u64]) -> LongRun {
        let windows = len_to_f64(counts.len());
        if self.exact {
            return LongRun { variance: 0.0, degrees: 1.0, effective_windows: windows };
        }
        let mut long_run = long_run(&self.residuals, CALIBRATION);
        let step = smallest_step(counts);
        long_run.variance = long_run.variance.max(step * step / windows);
        long_run
    }

    /// How far the interval reaches below and above the mean.
    fn errors(&self, long_run: &LongRun) -> [f64; 2] {
        if self.exact {
            return [0.0; 2];
        }
        let error = (long_run.variance / len_to_f64(self.residuals.len())).sqrt();
        let t = student_quantile(TAIL, long_run.degrees);
        let [fewest, most] = BATCHES;
        let batches = (SKEWNESS_BATCHES * long_run.effective_windows).floor();
        let skewness = batch_skewness(&self.residuals, batches.clamp(fewest, most));
        [skewed(t, skewness) * error, -skewed(-t, skewness) * error]
    }

    fn drift(&self, long_run: &LongRun) -> Drift {
        // Of nothing at all nothing changes.
        if self.mean <= 0.0 {
            return Drift { percent: 0.0, ci95: (0.0, 0.0) };
        }
        let over_series = 100.0 * len_to_f64(self.residuals.len()) / self.mean;
        let percent = self.slope * over_series;
        let half = if self.exact {
            0.0
        } else {
            let error = (long_run.variance / self.spread).sqrt() * over_series;
            student_quantile(TAIL, long_run.degrees) * error
        };
        Drift { percent, ci95: (percent - half, percent + half) }
    }
}

/// The smallest difference between two distinct counts, or 0.
fn smallest_step(counts: &[u64]) -> f64 {
    // A day has 864,000 counts, and few distinct ones.
    let distinct: BTreeSet<u64> = counts.iter().copied().collect();
    let pairs = distinct.iter().zip(distinct.iter().skip(1));
    to_f64(pairs.map(|(low, high)| high - low).min().unwrap_or(0))
}

/// Least squares; the series must not be empty.
fn fit(counts: &[u64]) -> Line {
    let n = len_to_f64(counts.len());
    // Summed as differences: counts are large, and what matters is how they differ.
    let first = to_f64(counts[0]);
    let mean = first + counts.iter().map(|c| to_f64(*c) - first).sum::<f64>() / n;
    let time = |t: usize| len_to_f64(t) - (n - 1.0) / 2.0;
    let deviations: Vec<f64> = counts.iter().map(|c| to_f64(*c) - mean).collect();
    let spread: f64 = (0..counts.len()).map(|t| time(t) * time(t)).sum();
    let slope = deviations.iter().enumerate().map(|(t, d)| time(t) * d).sum::<f64>()
        / spread.max(f64::MIN_POSITIVE);
    let total: f64 = deviations.iter().map(|d| d * d).sum();
    // In their place: a day has 7 MB of them.
    let residuals: Vec<f64> =
        deviations.into_iter().enumerate().map(|(t, d)| d - slope * time(t)).collect();
    let left: f64 = residuals.iter().map(|r| r * r).sum();
    Line { mean, slope, spread, exact: left <= 1e-20 * total, residuals }
}
