//! Comparison of two groups of runs: is B better than A, worse, the same, or can nobody tell?
//!
//! The unit of replication is the run: seconds of one run resemble each other, and what differs
//! from run to run (placement, caches, neighbors) is in none of them. So the interval of an effect
//! comes from the spread between runs (T. Kalibera & R. Jones, "Rigorous benchmarking in reasonable
//! time", ISMM 2013; A. Georges, D. Buytaert & L. Eeckhout, "Statistically rigorous Java performance
//! evaluation", OOPSLA 2007), and one run against one run shows nothing.
//!
//! Pure: records in, figures with intervals and verdicts out. It formats nothing.

#[cfg(any(test, feature = "fixture"))]
pub mod accuracy;
mod differences;
mod figures;
mod statistics;
#[cfg(test)]
mod tests;

use highwater_model::numbers::len_to_f64;
use highwater_model::record::RecordRef;
use highwater_model::sample::Sample;

pub use differences::Difference;
pub use highwater_model::sample::{Better, Figure, Kind, Scale};
pub use statistics::{Effect, POWER, PRIMARY_RISK, RISK};

use figures::{FigureOfBoth, figures, is_finite, practical as matters, primary};
use statistics::Pair;

/// A difference of so much matters, unless the user says otherwise: 5%.
pub const PRACTICAL: f64 = 0.05;

/// What a comparison is about.
#[derive(Debug, Clone, Copy)]
pub struct Criteria<'a> {
    /// A relative difference that matters, as a part; above 0.
    pub practical: f64,
    /// The figure that is tested first, by its name with or without its place; absent: the one
    /// that the kind of load is about.
    pub primary: Option<&'a str>,
}

impl Default for Criteria<'_> {
    fn default() -> Self {
        Self { practical: PRACTICAL, primary: None }
    }
}

/// What to make of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// B is worse than A.
    Worse,
    /// Too few runs for a difference that matters, or runs that differ too much.
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
    /// Whether it is the question's own figure, which is tested first.
    pub is_primary: bool,
    /// Its values in the runs of A; +∞ where a percentile falls among failed ops.
    pub a: Vec<f64>,
    /// Its values in the runs of B.
    pub b: Vec<f64>,
    /// Difference with its interval; absent where a group has one run only, or a value that is not finite.
    pub effect: Option<Effect>,
    /// The difference that matters.
    pub practical: f64,
    /// What to make of it.
    pub verdict: Verdict,
    /// Standard deviation of a run's value: of the logarithm, or of the share itself.
    pub spread: f64,
    /// Runs of each group with which a difference of the practical size is found with a chance of
    /// 80%.
    pub repeats: u32,
    /// The same, if runs differed by half as much.
    pub repeats_at_half: u32,
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
        self.differences.iter().any(|difference| difference.kind == Kind::Question)
    }

    /// The figure that is tested first; absent where not all runs have it.
    pub fn primary(&self) -> Option<&Compared> {
        self.figures.iter().find(|compared| compared.is_primary)
    }

    /// Worse if any figure is; else inconclusive if the question's own figure is, or not all runs
    /// have it; else better if any figure is.
    pub fn verdict(&self) -> Verdict {
        let any = |verdict| {
            let mut figures = self.figures.iter();
            figures.any(|compared| compared.verdict == verdict)
        };
        let of_primary = self.primary().map(|compared| compared.verdict);
        if any(Verdict::Worse) {
            Verdict::Worse
        } else if of_primary.is_none_or(|verdict| verdict == Verdict::Inconclusive) {
            Verdict::Inconclusive
        } else if any(Verdict::Better) {
            Verdict::Better
        } else {
            Verdict::Equal
        }
    }
}

/// What a comparison takes from a record.
pub fn sample(record: RecordRef<'_>) -> Sample {
    Sample {
        figures: figures::sampled(record),
        primary: figures::question(record),
        traits: differences::traits(record),
    }
}

/// Compares the records of two groups of runs, neither of which is empty.
pub fn compare(a: &[RecordRef<'_>], b: &[RecordRef<'_>], criteria: Criteria<'_>) -> Comparison {
    let samples = |records: &[RecordRef<'_>]| records.iter().copied().map(sample).collect();
    let (a, b): (Vec<Sample>, Vec<Sample>) = (samples(a), samples(b));
    let [a, b] = [&a, &b].map(|samples| samples.iter().collect::<Vec<_>>());
    compare_samples(&a, &b, criteria)
}

/// The same of what was taken from them before.
pub fn compare_samples(a: &[&Sample], b: &[&Sample], criteria: Criteria<'_>) -> Comparison {
    let of_both = figures(a, b);
    let first = primary(a, &of_both, criteria.primary);
    let pairs: Vec<(FigureOfBoth, Pair)> = of_both
        .into_iter()
        .map(|of_both| {
            // A group without a value in one of its runs has none.
            let [a, b] = &of_both.1;
            let finite =
                [a, b].map(|values| if is_finite(values) { values.clone() } else { vec![] });
            let pair = Pair::new(of_both.0.scale, &finite);
            (of_both, pair)
        })
        .collect();
    let [of_primary, of_others] = levels(first, pairs.iter().map(|(_, pair)| pair));
    let mut comparison = Comparison {
        practical: criteria.practical,
        runs: [a.len(), b.len()],
        figures: Vec::new(),
        differences: differences::differences(a, b),
    };
    let guarded = comparison.is_guarded();
    comparison.figures = pairs
        .into_iter()
        .enumerate()
        .map(|(position, ((figure, [a, b]), pair))| {
            let practical = matters(figure.scale, criteria.practical);
            let effect = pair.effect();
            let is_primary = first == Some(position);
            let Level { threshold, risk } = if is_primary { of_primary } else { of_others };
            Compared {
                verdict: match (effect, [&a, &b].map(|values| is_finite(values))) {
                    _ if guarded => Verdict::Inconclusive,
                    // What never ends is slower than anything, however often it is measured.
                    (_, [true, false]) => Verdict::Worse,
                    (_, [false, true]) => Verdict::Better,
                    (None, _) => Verdict::Inconclusive,
                    (Some(effect), _) => judged(effect, figure.better, practical, threshold),
                },
                figure,
                is_primary,
                a: a.iter().map(|value| value.value).collect(),
                b: b.iter().map(|value| value.value).collect(),
                effect,
                practical,
                spread: pair.spread(),
                repeats: pair.repeats(practical, 1.0, risk),
                repeats_at_half: pair.repeats(practical, 0.5, risk),
                detectable: pair.detectable(risk),
            }
        })
        .collect();
    comparison
}

/// What a figure is tested with.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// Of a p value.
    threshold: f64,
    /// That of one more figure, for planning.
    risk: f64,
}

/// How rare a difference must be, such that all figures together call equal groups different with
/// [`RISK`] at most: a fallback procedure (B. L. Wiens, "A fixed sequence Bonferroni procedure for
/// testing multiple endpoints", Pharmaceutical Statistics 2, 2003). The question's own figure is
/// tested at [`PRIMARY_RISK`]. The others are tested together (Holm): with the whole risk if the
/// first one differs, else with what it left, so that failures are seen at an equal rate, too.
///
/// That of the question's own figure, and that of the others.
fn levels<'a>(first: Option<usize>, pairs: impl Iterator<Item = &'a Pair>) -> [Level; 2] {
    let (mut of_first, mut others, mut p_values) = (None, 0_usize, Vec::new());
    for (position, pair) in pairs.enumerate() {
        let p_value = pair.effect().map(|effect| effect.p_value);
        if first == Some(position) {
            of_first = p_value;
        } else if pair.can_differ() {
            others += 1;
            p_values.extend(p_value);
        }
    }
    let primary = if others == 0 { RISK } else { PRIMARY_RISK };
    let secondary = match (first, of_first) {
        (Some(_), Some(p_value)) if p_value <= primary => RISK,
        (Some(_), _) => RISK - PRIMARY_RISK,
        (None, _) => RISK,
    };
    let of_primary = Level { threshold: primary, risk: primary };
    let of_others = Level {
        threshold: statistics::holm(p_values, secondary),
        risk: secondary / len_to_f64(others.max(1)),
    };
    [of_primary, of_others]
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
    if more == (better == Better::More) { Verdict::Better } else { Verdict::Worse }
}
