//! Two groups of numbers: the relative difference of their means, its interval, its chance, and
//! how many runs show a difference of some size.
//!
//! Values are compared by their logarithms: a rate that halves is as far as one that doubles, and
//! the difference is relative by itself. The interval is Welch's (B. L. Welch, "The generalization
//! of 'Student's' problem when several different population variances are involved", Biometrika
//! 34, 1947) with the degrees of freedom of Satterthwaite (Biometrics Bulletin 2, 1946).

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{POWER, RISK};

/// Least standard deviation of a figure's logarithm: histograms have three digits, whose rounding
/// spreads evenly over 0.1 %, 0.001 / √12.
const ROUNDING: f64 = 0.000_29;
/// What runs differ by where nobody has measured it: the floor of a measurement's error.
const ASSUMED_SPREAD: f64 = 0.03;
/// More repeats are not named.
const REPEATS_MAX: u32 = 10_000;

/// A relative difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// B / A - 1, of the geometric means.
    pub difference: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Chance of a difference as great as this one, or greater, between equal groups.
    pub chance: f64,
}

struct Group {
    mean: f64,
    /// Variance of the mean.
    variance: f64,
    degrees: f64,
}

/// The effect; absent where a group has fewer than two runs, or a value is not above 0.
pub(super) fn effect(a: &[f64], b: &[f64]) -> Option<Effect> {
    let (a, b) = (group(a)?, group(b)?);
    let variance = a.variance + b.variance;
    let degrees = variance * variance
        / (a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees);
    let student = StudentsT::new(0.0, 1.0, degrees).ok()?;
    let (difference, error) = (b.mean - a.mean, variance.sqrt());
    let half = student.inverse_cdf(1.0 - RISK / 2.0) * error;
    Some(Effect {
        difference: difference.exp_m1(),
        low: (difference - half).exp_m1(),
        high: (difference + half).exp_m1(),
        chance: 2.0 * student.sf((difference / error).abs()),
    })
}

fn group(values: &[f64]) -> Option<Group> {
    if values.len() < 2
        || values
            .iter()
            .any(|value| *value <= 0.0 || !value.is_finite())
    {
        return None;
    }
    let n = float(values.len());
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = logarithms.iter().sum::<f64>() / n;
    let squares: f64 = logarithms.iter().map(|x| (x - mean) * (x - mean)).sum();
    let variance = (squares / (n - 1.0)).max(ROUNDING * ROUNDING);
    Some(Group {
        mean,
        variance: variance / n,
        degrees: n - 1.0,
    })
}

/// Standard deviation of a run's logarithm, of both groups together; assumed where neither has two
/// runs.
pub(super) fn spread(a: &[f64], b: &[f64]) -> f64 {
    let groups = [(a, group(a)), (b, group(b))];
    let (mut squares, mut degrees) = (0.0, 0.0);
    for (values, group) in groups {
        if let Some(group) = group {
            squares += group.variance * float(values.len()) * group.degrees;
            degrees += group.degrees;
        }
    }
    if degrees > 0.0 {
        (squares / degrees).sqrt()
    } else {
        ASSUMED_SPREAD
    }
}

/// Runs of each group with which a relative difference of `practical` is found with a chance of
/// 80 %, although so many figures are looked at: the smallest n with
/// n ≥ 2 (t₁₋ₐ + t₀.₈)² s² / δ² at 2 (n - 1) degrees of freedom (NIST/SEMATECH e-Handbook of
/// Statistical Methods, 7.2.2.2), a halved for both sides and divided by the number of figures.
pub fn repeats_needed(spread: f64, practical: f64, figures: usize) -> u32 {
    (2..REPEATS_MAX)
        .find(|runs| shown(spread, *runs, figures) <= practical.ln_1p())
        .unwrap_or(REPEATS_MAX)
}

/// The smallest relative difference that both groups show with a chance of 80 %.
pub(super) fn detectable(a: &[f64], b: &[f64], figures: usize) -> Option<f64> {
    group(a)?;
    group(b)?;
    let runs = u32::try_from(a.len().min(b.len())).ok()?;
    Some(shown(spread(a, b), runs, figures).exp_m1())
}

/// The difference of logarithms that groups of so many runs show.
fn shown(spread: f64, runs: u32, figures: usize) -> f64 {
    let Ok(student) = StudentsT::new(0.0, 1.0, 2.0 * (f64::from(runs) - 1.0)) else {
        return f64::INFINITY;
    };
    let risk = RISK / 2.0 / float(figures.max(1));
    let steps = student.inverse_cdf(1.0 - risk) + student.inverse_cdf(POWER);
    steps * spread * (2.0 / f64::from(runs)).sqrt()
}

/// The greatest chance that still counts as a difference, such that all figures together call
/// equal groups different with the stated risk at most (S. Holm, "A simple sequentially rejective
/// multiple test procedure", Scandinavian Journal of Statistics 6, 1979); 0 if none does.
pub(super) fn holm(chances: impl Iterator<Item = f64>) -> f64 {
    let mut chances: Vec<f64> = chances.collect();
    chances.sort_by(f64::total_cmp);
    let count = chances.len();
    let mut threshold = 0.0;
    for (rank, chance) in chances.into_iter().enumerate() {
        if chance > RISK / float(count - rank) {
            break;
        }
        threshold = chance;
    }
    threshold
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs and figures")]
fn float(number: usize) -> f64 {
    number as f64
}
