//! The mean rate of a series of counts, its confidence interval, and its drift.
//!
//! Both intervals allow for dependence between windows (see below). They use a few low frequencies, so that stalls
//! of several seconds are captured. The interval of the mean also allows for skewness: if the target stalls, runs
//! with fewer stalls are faster and vary less, so a symmetric interval would lie too high. Both are absent if the
//! effective sample size is below 12 windows: an interval is never invented.
//!
//! Counts of successive 100 ms windows are not independent: a merge or a checkpoint slows ten of them at once. The
//! variance of the mean of n windows is then S / n with the *long-run variance* S = γ₀ · τ, where γ₀ is the variance of
//! one window and τ = 1 + 2 Σ ρₖ the integrated autocorrelation time; n / τ windows are *effective*.
//!
//! Two estimates serve different purposes:
//!
//! 1. τ by Geyer's initial monotone sequence (C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7,
//!    1992; see also A. Sokal, "Monte Carlo methods in statistical mechanics", 1997): the sums ρ₂ₘ + ρ₂ₘ₊₁ are added
//!    while they are positive, each limited to the previous one. It only determines the smoothness of the other
//!    estimate, and whether there are enough windows.
//! 2. S from the K lowest frequencies, Ŝ = Σ dⱼ² / K with dⱼ = √(2/n) Σₜ rₜ cos(πj(t + ½)/n). K Ŝ / S is nearly χ² with
//!    K degrees of freedom, so means have a Student t with K degrees of freedom. This is the method of batch means
//!    (Schmeiser 1982; Law & Kelton, "Simulation modeling and analysis", chapter 9) with cosines in place of the
//!    batches' steps, as advised by Lazarus, Lewis, Stock & Watson, "HAR inference: recommendations for practice",
//!    Journal of Business & Economic Statistics 36, 2018; Heidelberger & Welch 1981 use the same low frequencies.
//!    Cosines leak less of the higher frequencies, and a straight line can be removed from the series at the cost of
//!    the first of them.
//!
//! Using the estimate of τ for S directly would make intervals wrong more often than stated: it is too small in short
//! series, and series with too small an estimate are the ones that pass a threshold on n / τ.

#[cfg(any(test, feature = "fixture"))]
pub mod accuracy;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;

use statrs::distribution::{ContinuousCDF, StudentsT};

use highwater_model::display::ratio;
use highwater_model::numbers::{len_to_f64, round_to_u64, to_f64, truncate_to_u64};
use highwater_model::plan::{SteadinessRule, Unit};
use highwater_model::record::{ResultRecord, Steadiness, StreamRecord, ThroughputRecord};
use highwater_model::units::Nanos;

/// Minimum number of windows for an interval, however independent: 3 s.
const MIN_WINDOWS: usize = 30;
/// Minimum number of effective windows for an interval.
pub const MIN_EFFECTIVE_WINDOWS: f64 = 12.0;

/// Number of frequencies of an interval. With eight in 60 s, each period is at least 15 s, longer
/// than a stall of 2 s and a gap of 6 s; if windows are independent, this makes the interval 16%
/// wider.
const WAVES: f64 = 8.0;
/// Chosen with the tests' processes, which include stalling ones.
const CALIBRATION: Calibration =
    Calibration { removed: RemovedTrend::Line, frequencies: 0.15, most: WAVES, margin: 3.0 };
/// Batches per effective window for estimating the skewness: long enough to be independent.
const SKEWNESS_BATCHES: f64 = 0.3;
/// Minimum and maximum number of batches.
const BATCHES: [f64; 2] = [6.0, 60.0];
/// Probability beyond each end of an interval: 5% in total.
const TAIL: f64 = 0.025;

/// A rate over a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// Counted things per second.
    pub mean_per_s: f64,
    /// 95% confidence interval of the mean, per second; absent if there are too few effective
    /// windows.
    pub ci95: Option<(f64, f64)>,
    /// Effective sample size in windows.
    pub effective_windows: f64,
    /// Its drift; absent if there are too few effective windows.
    pub drift: Option<Drift>,
    /// Means of the first and the last third, per second; absent for fewer than three windows.
    pub thirds_per_s: Option<[f64; 2]>,
}

/// The change of a fitted straight line over the series, percent of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Its best estimate.
    pub percent: f64,
    /// Its 95% confidence interval.
    pub ci95: (f64, f64),
}

impl Drift {
    /// The same drift extrapolated to this many times the length.
    pub fn over(self, times: f64) -> Self {
        let (low, high) = self.ci95;
        Self { percent: self.percent * times, ci95: (low * times, high * times) }
    }

    /// Whether it is within the bound, outside, or undecided.
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
    /// Writes the rate's statistics into the record of its stream; each count stands for `units` of
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

/// A stream's acknowledgments in each window, and the number of its units per count: counts are ops, which are all
/// alike, or rows if some ops were acknowledged in part.
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
    // A day of counts takes 7 MB, so those of a single op are not copied.
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

/// The rate of events counted per window, with its interval and drift.
///
/// With the long-run variance S of the series without its straight line, and K degrees of freedom:
///
/// - interval: with e = √(S / n), from mean − G(t(K; 0.975)) e to mean − G(−t(K; 0.975)) e, where G
///   allows for the skewness of the mean (see `skewness`);
/// - drift: the slope b has the variance S / Σ(t − t̄)², so the drift n b / mean has the interval
///   ± t(K; 0.975) n √(S / Σ(t − t̄)²) / mean;
/// - S is at least s² / n, where s is the smallest difference between two counts: the ends of the
///   series split a batch, so its sum is known to one batch at best. Otherwise an even pace, whose
///   counts alternate, would be measured so exactly that the split appears as a drift.
///
/// Windows of zero length, or no windows at all, give a rate of 0 without statistics.
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

/// A straight line through a series, and the residuals.
struct Line {
    mean: f64,
    /// Per window.
    slope: f64,
    /// Σ (t − t̄)².
    spread: f64,
    residuals: Vec<f64>,
    /// The line explains everything except rounding.
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
        // A series of zeros does not change.
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
    // A day has 864,000 counts, with few distinct values.
    let distinct: BTreeSet<u64> = counts.iter().copied().collect();
    let pairs = distinct.iter().zip(distinct.iter().skip(1));
    to_f64(pairs.map(|(low, high)| high - low).min().unwrap_or(0))
}

/// Least squares; the series must not be empty.
fn fit(counts: &[u64]) -> Line {
    let n = len_to_f64(counts.len());
    // Summed as differences from the mean, because counts are large compared with their variation.
    let first = to_f64(counts[0]);
    let mean = first + counts.iter().map(|c| to_f64(*c) - first).sum::<f64>() / n;
    let time = |t: usize| len_to_f64(t) - (n - 1.0) / 2.0;
    let deviations: Vec<f64> = counts.iter().map(|c| to_f64(*c) - mean).collect();
    let spread: f64 = (0..counts.len()).map(|t| time(t) * time(t)).sum();
    let slope = deviations.iter().enumerate().map(|(t, d)| time(t) * d).sum::<f64>()
        / spread.max(f64::MIN_POSITIVE);
    let total: f64 = deviations.iter().map(|d| d * d).sum();
    // In place, because a day of counts takes 7 MB.
    let residuals: Vec<f64> =
        deviations.into_iter().enumerate().map(|(t, d)| d - slope * time(t)).collect();
    let left: f64 = residuals.iter().map(|r| r * r).sum();
    Line { mean, slope, spread, exact: left <= 1e-20 * total, residuals }
}

/// Longer series are first averaged over neighbors to at most this many values: the cost of autocorrelations is
/// quadratic in the length, and a day has 864,000 windows.
const MAX_VALUES: usize = 6_000;
/// Minimum degrees of freedom; a Student t with fewer has useless tails.
const MIN_FREQUENCIES: f64 = 4.0;
/// Maximum degrees of freedom; more would narrow the interval by less than 2%.
pub(super) const MAX_FREQUENCIES: f64 = 60.0;

/// The trend that was removed to get the residuals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemovedTrend {
    /// The mean, or a known mean of zero.
    Mean,
    /// A straight line.
    Line,
}

/// Parameters of the estimate, calibrated by the tests of its callers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calibration {
    /// The trend removed from the residuals.
    pub(super) removed: RemovedTrend,
    /// Frequencies used per effective window; fewer follow slow dependence better.
    pub(super) frequencies: f64,
    /// Maximum number of frequencies: their waves must be longer than any period in the series.
    pub(super) most: f64,
    /// The variance is multiplied by 1 + margin / effective windows, to allow for the error in τ.
    pub(super) margin: f64,
}

/// The uncertainty of a series' mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LongRun {
    /// n times the variance of the mean of n windows.
    pub(super) variance: f64,
    /// Degrees of freedom of `variance`.
    pub(super) degrees: f64,
    /// Effective sample size in windows; at most the length of the series.
    pub(super) effective_windows: f64,
}

/// The long-run variance of a series, from at least 6 residuals.
pub(super) fn long_run(residuals: &[f64], calibration: Calibration) -> LongRun {
    if residuals.len() <= MAX_VALUES {
        return of_bounded(residuals, calibration);
    }
    let size = residuals.len().div_ceil(MAX_VALUES);
    let batches = residuals.chunks_exact(size);
    let means: Vec<f64> =
        batches.map(|batch| batch.iter().sum::<f64>() / len_to_f64(size)).collect();
    let long_run = of_bounded(&means, calibration);
    // Windows vary more than their averages; n / τ is given in windows.
    let variance = |values: &[f64]| {
        let squares: f64 = values.iter().map(|value| value * value).sum();
        squares / len_to_f64(values.len())
    };
    let between = variance(&means);
    let windows = if between > 0.0 {
        long_run.effective_windows * variance(residuals) / between
    } else {
        f64::INFINITY
    };
    LongRun {
        variance: long_run.variance * len_to_f64(size),
        effective_windows: windows.min(len_to_f64(residuals.len())),
        ..long_run
    }
}

fn of_bounded(residuals: &[f64], calibration: Calibration) -> LongRun {
    let n = len_to_f64(residuals.len());
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let effective_windows = if squares > 0.0 {
        n / autocorrelation_time(residuals, squares, calibration.removed)
    } else {
        n
    };
    let degrees = (calibration.frequencies * effective_windows)
        .floor()
        .min(n - 2.0)
        .clamp(MIN_FREQUENCIES, calibration.most);
    // The line takes the equivalent of one frequency: (96/π⁴) Σ j⁻⁴ over odd j, of which j = 1 is 98.6%.
    let summed = match calibration.removed {
        RemovedTrend::Mean => degrees,
        RemovedTrend::Line => degrees + 1.0,
    };
    let margin = 1.0 + calibration.margin / effective_windows.max(1.0);
    LongRun {
        variance: low_frequency_power(residuals, summed) / degrees * margin,
        degrees,
        effective_windows,
    }
}

/// τ, at least 1, corrected for the bias that removing the mean or line causes in each ρₖ.
pub(super) fn autocorrelation_time(residuals: &[f64], squares: f64, removed: RemovedTrend) -> f64 {
    let n = len_to_f64(residuals.len());
    let correlation = |lag: usize| {
        residuals.iter().zip(residuals.get(lag..).unwrap_or(&[])).map(|(a, b)| a * b).sum::<f64>()
            / squares
    };
    let (mut tau, mut before, mut lag) = (-1.0, f64::INFINITY, 0);
    // Beyond n / 10 the exact value is not needed, and the sum would cost n² operations.
    while lag + 1 < residuals.len() / 2 && tau < n / 10.0 {
        let pair = correlation(lag) + correlation(lag + 1);
        if pair <= 0.0 {
            break;
        }
        before = pair.min(before);
        tau += 2.0 * before;
        lag += 2;
    }
    // Each of the ρₖ summed is too small by about τ / n per regressor removed.
    let regressors = match removed {
        RemovedTrend::Mean => 1.0,
        RemovedTrend::Line => 2.0,
    };
    let kept = 1.0 - regressors * len_to_f64(lag) / n;
    (tau / kept.max(0.2)).max(1.0)
}

/// Σ dⱼ² over the frequencies j = 1 ..= `frequencies`.
fn low_frequency_power(residuals: &[f64], frequencies: f64) -> f64 {
    struct Wave {
        cos: f64,
        sin: f64,
        step_cos: f64,
        step_sin: f64,
        sum: f64,
    }
    let n = len_to_f64(residuals.len());
    let mut waves = Vec::new();
    let mut j = 1.0;
    while j <= frequencies {
        let step = std::f64::consts::PI * j / n;
        waves.push(Wave {
            cos: (step / 2.0).cos(),
            sin: (step / 2.0).sin(),
            step_cos: step.cos(),
            step_sin: step.sin(),
            sum: 0.0,
        });
        j += 1.0;
    }
    for residual in residuals {
        for wave in &mut waves {
            wave.sum += residual * wave.cos;
            // Rotating a unit vector by the step is exact enough for any run and needs no cosine.
            let cos = wave.cos * wave.step_cos - wave.sin * wave.step_sin;
            wave.sin = wave.sin * wave.step_cos + wave.cos * wave.step_sin;
            wave.cos = cos;
        }
    }
    waves.iter().map(|wave| wave.sum * wave.sum).sum::<f64>() * 2.0 / n
}

/// The value that a Student t exceeds with probability `tail`, below one half.
pub(super) fn student_quantile(tail: f64, degrees: f64) -> f64 {
    let Ok(student) = StudentsT::new(0.0, 1.0, degrees) else {
        return f64::INFINITY;
    };
    solve(0.0, 1e6, |t| student.sf(t) <= tail)
}

/// The least x in (low, high) from which on `reached` holds, by bisection to full precision.
pub(super) fn solve(low: f64, high: f64, reached: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if reached(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Below this the transformation is the identity, and its formula divides by zero.
const SYMMETRIC: f64 = 1e-3;

/// The skewness of the series' mean, from this number of batches of equal length, at least 3: that of one batch over
/// the square root of their number. 0 for a series that is too short.
fn batch_skewness(deviations: &[f64], batches: f64) -> f64 {
    let length = truncate_to_u64(len_to_f64(deviations.len()) / batches);
    let Some(length) = usize::try_from(length).ok().filter(|length| *length > 0) else {
        return 0.0;
    };
    let means: Vec<f64> = deviations
        .chunks_exact(length)
        .map(|batch| batch.iter().sum::<f64>() / len_to_f64(length))
        .collect();
    let n = len_to_f64(means.len());
    let mean = means.iter().sum::<f64>() / n;
    let moment = |power: i32| means.iter().map(|m| (m - mean).powi(power)).sum::<f64>() / n;
    let variance = moment(2);
    if variance <= 0.0 || n < 3.0 {
        return 0.0;
    }
    let of_batch = moment(3) / variance.powf(1.5) * (n * (n - 1.0)).sqrt() / (n - 2.0);
    of_batch / n.sqrt()
}

/// Willink's G of a quantile of Student's t: ((1 + 6 b (t − b))^⅓ − 1) / 2 b, b a sixth of the
/// skewness of the mean.
fn skewed(t: f64, skewness: f64) -> f64 {
    let b = skewness / 6.0;
    if b.abs() < SYMMETRIC {
        return t;
    }
    ((1.0 + 6.0 * b * (t - b)).cbrt() - 1.0) / (2.0 * b)
}
