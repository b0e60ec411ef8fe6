//! Comparison of two groups of runs: is B better than A, worse, the same, or can nobody tell?
//!
//! The unit of replication is the run: seconds of one run resemble each other, and what differs
//! from run to run (placement, caches, neighbours) is in none of them. So the interval of an effect
//! comes from the spread between runs (T. Kalibera & R. Jones, "Rigorous benchmarking in reasonable
//! time", ISMM 2013; A. Georges, D. Buytaert & L. Eeckhout, "Statistically rigorous Java performance
//! evaluation", OOPSLA 2007), and one run against one run shows nothing.
//!
//! Pure: records in, figures with intervals and verdicts out. It formats nothing.

mod differences;
mod figures;
mod statistics;
#[cfg(test)]
mod tests;

use crate::model::record::RunRecord;

pub use differences::{Difference, Kind};
pub use figures::{Better, Figure};
pub use statistics::{Effect, repeats_needed};

use figures::figures;

/// A difference of so much matters, unless the user says otherwise: 5 %.
pub const PRACTICAL: f64 = 0.05;
/// Chance of calling equal groups better or worse anywhere in one comparison, at most.
pub const RISK: f64 = 0.05;
/// Chance of finding a difference of the practical size with the repeats that are named.
pub const POWER: f64 = 0.8;

/// What to make of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// B is worse than A.
    Worse,
    /// Too few runs for a difference that matters.
    CannotTell,
    /// The difference is smaller than what matters.
    Equal,
    /// B is better than A.
    Better,
}

/// One figure of both groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Which.
    pub figure: Figure,
    /// Its values in the runs of A.
    pub a: Vec<f64>,
    /// Its values in the runs of B.
    pub b: Vec<f64>,
    /// Relative difference with its interval; absent where a group has one run only.
    pub effect: Option<Effect>,
    /// What to make of it.
    pub verdict: Verdict,
    /// Runs of each group with which a difference of the practical size is found with a chance of
    /// 80 %.
    pub repeats: u32,
    /// The smallest relative difference that these groups would show with that chance; absent
    /// where a group has one run only.
    pub detectable: Option<f64>,
}

/// A against B.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// A difference that matters, as a part.
    pub practical: f64,
    /// Runs of A and of B.
    pub runs: [usize; 2],
    /// All figures that both have.
    pub figures: Vec<Compared>,
    /// What else differs between the groups, the gravest first.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// Whether the groups were asked different questions, so that no verdict stands.
    pub fn is_guarded(&self) -> bool {
        self.differences
            .iter()
            .any(|difference| difference.kind == Kind::Question)
    }

    /// The gravest verdict of all figures.
    pub fn verdict(&self) -> Verdict {
        let verdicts = || self.figures.iter().map(|compared| compared.verdict);
        if verdicts().any(|verdict| verdict == Verdict::Worse) {
            return Verdict::Worse;
        }
        if verdicts().any(|verdict| verdict == Verdict::Better) {
            return Verdict::Better;
        }
        if self.figures.is_empty() || verdicts().any(|verdict| verdict == Verdict::CannotTell) {
            return Verdict::CannotTell;
        }
        Verdict::Equal
    }
}

/// Compares two groups of runs, neither of which is empty; `practical` is above 0.
pub fn compare(a: &[&RunRecord], b: &[&RunRecord], practical: f64) -> Comparison {
    let differences = differences::differences(a, b);
    let mut compared: Vec<Compared> = figures(a, b)
        .into_iter()
        .map(|(figure, a, b)| Compared {
            effect: statistics::effect(&a, &b),
            figure,
            a,
            b,
            verdict: Verdict::CannotTell,
            repeats: 0,
            detectable: None,
        })
        .collect();
    let tested = compared.len();
    let threshold = statistics::holm(compared.iter().filter_map(|c| c.effect.map(|e| e.chance)));
    let mut comparison = Comparison {
        practical,
        runs: [a.len(), b.len()],
        figures: Vec::new(),
        differences,
    };
    let guarded = comparison.is_guarded();
    for figure in &mut compared {
        let spread = statistics::spread(&figure.a, &figure.b);
        figure.repeats = repeats_needed(spread, practical, tested);
        figure.detectable = statistics::detectable(&figure.a, &figure.b, tested);
        if !guarded && let Some(effect) = figure.effect {
            figure.verdict = judged(effect, figure.figure.better, practical, threshold);
        }
    }
    comparison.figures = compared;
    comparison
}

/// A difference that is known to be smaller than what matters is none; one that is there for
/// certain, after all figures were looked at, has a direction; of the rest nobody can tell.
fn judged(effect: Effect, better: Better, practical: f64, threshold: f64) -> Verdict {
    if effect.low > -practical && effect.high < practical {
        return Verdict::Equal;
    }
    if effect.chance > threshold {
        return Verdict::CannotTell;
    }
    let more = effect.difference > 0.0;
    if more == (better == Better::More) {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}
