//! Statistics of two groups of numbers: the difference of their means, its interval and p value, and the runs needed to
//! show a difference of a given size.
//!
//! Most values are compared by their logarithms: halving a rate is as large a change as doubling it, and differences
//! are relative. Fractions are compared directly, because most of them are 0. The interval is Welch's (B. L. Welch,
//! "The generalization of 'Student's' problem when several different population variances are involved", Biometrika 34,
//! 1947) with Satterthwaite's degrees of freedom (Biometrics Bulletin 2, 1946).

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use highwater_model::group::Scale;
use highwater_model::numbers::len_to_f64;

use super::figures::Value;

/// Maximum probability of calling equal groups better or worse anywhere in one comparison.
pub const RISK: f64 = 0.05;
/// The part of [`RISK`] spent on the primary figure; the others share the rest while it shows no difference.
pub const PRIMARY_RISK: f64 = 0.045;
/// Probability of finding a difference of the practical size with the stated number of runs.
pub const POWER: f64 = 0.8;

/// Minimum standard deviation of a logarithm: histograms have three digits, whose rounding is uniform over 0.1%: 0.001
/// / √12.
const ROUNDING: f64 = 0.000_29;
/// Spread between runs if it was not measured: the floor of a measurement's error.
const ASSUMED_SPREAD: f64 = 0.03;
/// Maximum number of runs that is stated.
const REPEATS_MAX: u32 = 10_000;

/// A difference: relative, or between fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// B / A - 1, of the geometric means; B - A for fractions.
    pub difference: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end of its 95% interval.
    pub high: f64,
    /// Probability of a difference at least this large between equal groups.
    pub p_value: f64,
}

/// Values of two groups on the scale on which they are compared.
pub(super) struct Pair {
    scale: Scale,
    groups: [Group; 2],
}

struct Group {
    values: Vec<f64>,
    /// Minimum variance of a value.
    least: f64,
}

/// Estimate of a group's mean.
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

    /// Whether any assignment of runs to groups could show a difference: a fraction that is 0 in all runs takes no part
    /// of the risk.
    pub(super) fn can_differ(&self) -> bool {
        let mut values = self.groups.iter().flat_map(|group| &group.values);
        !self.scale.is_share() || values.any(|value| *value > 0.0)
    }

    /// The effect; absent if a group has fewer than two runs, or a value has no logarithm.
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

    /// Pooled standard deviation of a run's value. If neither group has two runs, it is assumed; for fractions, it is
    /// the binomial one.
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

    /// Runs per group that find a difference of `practical` at significance level `risk`, if the spread is `times` the
    /// measured one.
    pub(super) fn repeats(&self, practical: f64, times: f64, risk: f64) -> u32 {
        repeats_needed(times * self.spread(), self.step(practical), risk)
    }

    /// The smallest difference that both groups show with 80% power.
    pub(super) fn detectable(&self, risk: f64) -> Option<f64> {
        let [a, b] = &self.groups;
        a.mean()?;
        b.mean()?;
        let runs = u32::try_from(a.values.len().min(b.values.len())).ok()?;
        Some(self.on_scale(shown(self.spread(), runs, risk)))
    }

    /// A difference on the scale on which it is reported.
    fn on_scale(&self, step: f64) -> f64 {
        if self.scale.is_share() { step } else { step.exp_m1() }
    }

    /// The inverse of `on_scale`.
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

/// The pooled fraction of all runs, with one more success and one more failure: no failures among n ops do not show
/// that none can fail (P.-S. Laplace, rule of succession).
fn pooled(values: &[Vec<Value>; 2]) -> f64 {
    let (mut parts, mut of) = (1.0, 2.0);
    for value in values.iter().flatten() {
        parts += value.value * value.of;
        of += value.of;
    }
    parts / of
}

/// Binomial variance of a run's fraction, as if its ops or seconds failed independently. Runs differ by at least this
/// much, and by more if failures are clustered.
fn by_chance(share: f64, values: &[Value]) -> f64 {
    values.iter().map(|v| share * (1.0 - share) / v.of).sum::<f64>() / len_to_f64(values.len())
}

/// Runs per group that find a difference of `step`, on the scale of the values, with 80% power at significance level
/// `risk`: the smallest such n.
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

/// The difference, on the scale of the values, that groups of `runs` runs show: λ s √(2 / n).
///
/// Student's t of two groups that differ has a noncentral distribution with ν = 2 (n - 1) degrees of freedom and
/// noncentrality λ. It exceeds t₁₋ₐ (a halved for two sides) with probability Φ((λ - t (1 - 1 / 4ν)) / √(1 + t² / 2ν))
/// (M. Abramowitz & I. A. Stegun, "Handbook of Mathematical Functions", 26.7.10), solved for λ. For levels from 5 down
/// to 0.05% the result is above the exact one by 1% at most from 4 degrees of freedom on, by 2.2% at 2, and never below
/// it.
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

/// The greatest p value that still counts as a difference, such that all figures together call equal groups different
/// with probability `risk` at most (S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
/// Journal of Statistics 6, 1979); 0 if none does.
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
