//! Comparison of two groups of runs: is B better than A, worse, the same, or can nobody tell?
//!
//! The unit of replication is the run: seconds of one run resemble each other, and what differs
//! from run to run (placement, caches, neighbors) is in none of them. So the interval of an effect
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

use highwater_model::record::RecordRef;
use highwater_model::sample::Sample;

pub use differences::Difference;
pub use highwater_model::sample::{Better, Figure, Kind, Scale};
pub use statistics::{Effect, POWER, RISK};

use figures::{FigureOfBoth, figures, practical as matters};
use statistics::Pair;

/// A difference of so much matters, unless the user says otherwise: 5 %.
pub const PRACTICAL: f64 = 0.05;

/// What to make of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// B is worse than A.
    Worse,
    /// Too few runs for a difference that matters.
    Inconclusive,
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
    /// Difference with its interval; absent where a group has one run only.
    pub effect: Option<Effect>,
    /// The difference that matters.
    pub practical: f64,
    /// What to make of it.
    pub verdict: Verdict,
    /// Runs of each group with which a difference of the practical size is found with a chance of
    /// 80 %.
    pub repeats: u32,
    /// The smallest difference that these groups would show with that chance; absent where a group
    /// has one run only.
    pub detectable: Option<f64>,
}

/// A against B.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// A relative difference that matters, as a part; shares have their own, see [`Scale`].
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
        if self.figures.is_empty() || verdicts().any(|verdict| verdict == Verdict::Inconclusive) {
            return Verdict::Inconclusive;
        }
        Verdict::Equal
    }
}

/// What a comparison takes from a record.
pub fn sample(record: RecordRef<'_>) -> Sample {
    Sample {
        figures: figures::sampled(record),
        traits: differences::traits(record),
    }
}

/// Compares the records of two groups of runs, neither of which is empty; `practical` is above 0.
pub fn compare(a: &[RecordRef<'_>], b: &[RecordRef<'_>], practical: f64) -> Comparison {
    let samples = |records: &[RecordRef<'_>]| records.iter().copied().map(sample).collect();
    let (a, b): (Vec<Sample>, Vec<Sample>) = (samples(a), samples(b));
    let [a, b] = [&a, &b].map(|samples| samples.iter().collect::<Vec<_>>());
    compare_samples(&a, &b, practical)
}

/// The same of what was taken from them before.
pub fn compare_samples(a: &[&Sample], b: &[&Sample], practical: f64) -> Comparison {
    let pairs: Vec<(FigureOfBoth, Pair)> = figures(a, b)
        .into_iter()
        .map(|of_both| {
            let pair = Pair::new(of_both.0.scale, &of_both.1);
            (of_both, pair)
        })
        .collect();
    let can_differ = || pairs.iter().filter(|(_, pair)| pair.can_differ());
    let tested = can_differ().count();
    let p_values = can_differ().filter_map(|(_, pair)| pair.effect().map(|e| e.p_value));
    let threshold = statistics::holm(p_values);
    let mut comparison = Comparison {
        practical,
        runs: [a.len(), b.len()],
        figures: Vec::new(),
        differences: differences::differences(a, b),
    };
    let guarded = comparison.is_guarded();
    comparison.figures = pairs
        .into_iter()
        .map(|((figure, [a, b]), pair)| {
            let practical = matters(figure.scale, practical);
            let effect = pair.effect();
            Compared {
                verdict: effect
                    .filter(|_| !guarded)
                    .map_or(Verdict::Inconclusive, |effect| {
                        judged(effect, figure.better, practical, threshold)
                    }),
                figure,
                a: a.iter().map(|value| value.value).collect(),
                b: b.iter().map(|value| value.value).collect(),
                effect,
                practical,
                repeats: pair.repeats(practical, tested),
                detectable: pair.detectable(tested),
            }
        })
        .collect();
    comparison
}

/// A difference that is known to be smaller than what matters is none; one that is there for
/// certain, after all figures were looked at, has a direction; of the rest nobody can tell.
fn judged(effect: Effect, better: Better, practical: f64, threshold: f64) -> Verdict {
    if effect.low > -practical && effect.high < practical {
        return Verdict::Equal;
    }
    if effect.p_value > threshold {
        return Verdict::Inconclusive;
    }
    let more = effect.difference > 0.0;
    if more == (better == Better::More) {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}
