//! Compares two groups of runs: B is better, worse, equal, or inconclusive; and differences between them other than
//! figures.
//!
//! The unit of replication is the run: seconds of one run are autocorrelated, and the variation between runs
//! (placement, caches, neighbors) is in none of them. So the interval of an effect comes from the spread between runs
//! (T. Kalibera & R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013; A. Georges, D. Buytaert & L.
//! Eeckhout, "Statistically rigorous Java performance evaluation", OOPSLA 2007), and a comparison of two single runs
//! shows nothing.
//!
//! Pure: takes records, returns figures with intervals and verdicts. Must not format.

#[cfg(any(test, feature = "fixture"))]
pub mod accuracy;
mod figures;
mod statistics;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::display::{paces, span};
use highwater_model::group::{Sample, Trait};
use highwater_model::numbers::len_to_f64;
use highwater_model::plan::{PhaseKind, Plan};
use highwater_model::record::{ImportedPace, LatencyBegin, Question, RecordRef};

use self::figures::{FigureOfBoth, figures, is_finite, practical as matters, primary};
use self::statistics::Pair;

pub use figures::ESTIMATE;
pub use highwater_model::group::{Better, Figure, Kind, Scale};
pub use statistics::{Effect, POWER, PRIMARY_RISK, RISK};

/// Default threshold: a relative difference from which on it matters, 5%.
pub const PRACTICAL: f64 = 0.05;

/// Criteria of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Criteria<'a> {
    /// The relative difference that matters; above 0.
    pub practical: f64,
    /// Name of the figure that is tested first, with or without its place; if absent, the kind of load determines
    /// it.
    pub primary: Option<&'a str>,
}

impl Default for Criteria<'_> {
    fn default() -> Self {
        Self { practical: PRACTICAL, primary: None }
    }
}

/// Verdict on a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// B is worse than A.
    Worse,
    /// Too few runs to show a difference that matters, or too much spread between runs.
    Inconclusive,
    /// The difference is smaller than the threshold.
    Equal,
    /// B is better than A.
    Better,
    /// None: the groups answer different questions, so that a difference means nothing.
    NotCompared,
}

/// One figure of both groups.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureComparison {
    /// The figure.
    pub figure: Figure,
    /// Whether it is the primary figure, which is tested first.
    pub is_primary: bool,
    /// Its values in the runs of A; +∞ if a percentile falls among failed ops.
    pub a: Vec<f64>,
    /// Its values in the runs of B.
    pub b: Vec<f64>,
    /// Difference with its interval; absent if a group has only one run, or a value that is not finite.
    pub effect: Option<Effect>,
    /// The smallest difference that matters.
    pub practical: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Standard deviation of a run's value: of its logarithm, or of a fraction itself.
    pub spread: f64,
    /// Runs per group that find a difference of the practical size with 80% power.
    pub repeats: u32,
    /// The same, if runs had half the spread.
    pub repeats_at_half: u32,
    /// The smallest difference that these groups show with that power; absent if a group has only one run.
    pub detectable: Option<f64>,
}

/// A against B.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The relative difference that matters; for fractions see [`Scale`].
    pub practical: f64,
    /// Number of runs of A and of B.
    pub runs: [usize; 2],
    /// All figures that both groups have.
    pub figures: Vec<FigureComparison>,
    /// Other differences between the groups, most severe first.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// Whether the groups answer different questions, so that no verdict is valid.
    pub fn is_guarded(&self) -> bool {
        self.differences.iter().any(|difference| difference.kind == Kind::Question)
    }

    /// The figure that is tested first; absent if not all runs have it.
    pub fn primary(&self) -> Option<&FigureComparison> {
        self.figures.iter().find(|compared| compared.is_primary)
    }

    /// Worse if any figure is; else inconclusive if the primary figure is, or if not all runs have it; else better if
    /// any figure is.
    pub fn verdict(&self) -> Verdict {
        let any = |verdict| {
            let mut figures = self.figures.iter();
            figures.any(|compared| compared.verdict == verdict)
        };
        let of_primary = self.primary().map(|compared| compared.verdict);
        if any(Verdict::Worse) {
            Verdict::Worse
        } else if of_primary
            .is_none_or(|of| matches!(of, Verdict::Inconclusive | Verdict::NotCompared))
        {
            Verdict::Inconclusive
        } else if any(Verdict::Better) {
            Verdict::Better
        } else {
            Verdict::Equal
        }
    }
}

/// Extracts from a record what a comparison needs.
pub fn sample(record: RecordRef<'_>) -> Sample {
    Sample {
        figures: figures::sampled(record),
        primary: figures::question(record),
        traits: traits(record),
    }
}

/// Compares the records of two groups of runs, neither of which is empty.
pub fn compare(a: &[RecordRef<'_>], b: &[RecordRef<'_>], criteria: Criteria<'_>) -> Comparison {
    let samples = |records: &[RecordRef<'_>]| records.iter().copied().map(sample).collect();
    let (a, b): (Vec<Sample>, Vec<Sample>) = (samples(a), samples(b));
    let [a, b] = [&a, &b].map(|samples| samples.iter().collect::<Vec<_>>());
    compare_samples(&a, &b, criteria)
}

/// Compares samples that were taken from the records before.
pub fn compare_samples(a: &[&Sample], b: &[&Sample], criteria: Criteria<'_>) -> Comparison {
    let of_both = figures(a, b);
    let first = primary(a, &of_both, criteria.primary);
    let pairs: Vec<(FigureOfBoth, Pair)> = of_both
        .into_iter()
        .map(|of_both| {
            // A group that lacks the value in one of its runs has none.
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
        differences: differences(a, b),
    };
    let guarded = comparison.is_guarded();
    comparison.figures = pairs
        .into_iter()
        .enumerate()
        .map(|(position, ((figure, [a, b]), pair))| {
            let practical = matters(figure.scale, criteria.practical);
            let effect = pair.effect().filter(|_| !guarded);
            let is_primary = first == Some(position);
            let Level { threshold, risk } = if is_primary { of_primary } else { of_others };
            FigureComparison {
                verdict: match (effect, [&a, &b].map(|values| is_finite(values))) {
                    _ if guarded => Verdict::NotCompared,
                    // An op that never ends is slower than any other, however few the runs.
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

/// The significance levels that a figure is tested at.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// Threshold of the p value.
    threshold: f64,
    /// Level of a single figure, for planning.
    risk: f64,
}

/// The p values below which figures differ, such that all figures together call equal groups different with probability
/// [`RISK`] at most: a fallback procedure (B. L. Wiens, "A fixed sequence Bonferroni procedure for testing multiple
/// endpoints", Pharmaceutical Statistics 2, 2003). The primary figure is tested at [`PRIMARY_RISK`]. The others are
/// tested together (Holm): with the whole risk if the primary one differs, otherwise with the rest, so that failures
/// are also found at an equal rate.
///
/// Returns the levels of the primary figure and of the others.
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

/// Equal if the difference is certainly smaller than the threshold; better or worse if a difference is certain, after
/// correction for all figures; otherwise inconclusive.
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

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its severity.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Value in A; several values are separated by commas.
    pub a: String,
    /// Value in B.
    pub b: String,
}

/// All differences, most severe first.
fn differences(a: &[&Sample], b: &[&Sample]) -> Vec<Difference> {
    let mut names: Vec<(Kind, &str)> = Vec::new();
    for found in [a, b].into_iter().flatten().flat_map(|run| &run.traits) {
        let name = (found.kind, found.name.as_str());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut found = Vec::new();
    for (kind, name) in names {
        // Plans that differ only in the seed pose the same question. Older records have no hash without a seed.
        let of_any_seed = [a, b]
            .into_iter()
            .flatten()
            .all(|run| trait_of(run, kind, name).is_some_and(|found| found.unseeded.is_some()));
        let [a, b] = [a, b].map(|runs| values(runs, kind, name, of_any_seed));
        // If runs of one group differ among themselves, the intended plan is unknown.
        let mixed = kind == Kind::Question && (a.len() > 1 || b.len() > 1);
        if a != b || mixed || kind == Kind::Trust {
            let [a, b] = [a, b].map(|values| Vec::from_iter(values).join(", "));
            let name = name.to_owned();
            found.push(Difference { kind, name, a, b });
        }
    }
    found.sort_by_key(|difference| difference.kind);
    found
}

/// The traits of a record that are compared.
fn traits(record: RecordRef<'_>) -> Vec<Trait> {
    let run = &record.measured_run();
    let workload = &run.workload;
    let tool = run.origin.and_then(|origin| origin.version.clone());
    let workload_hash = named_hash(&workload.name, &workload.fingerprint);
    let own_version = record.header().highwater.version.clone();
    let tool = tool.unwrap_or_default();
    let mut traits: Vec<Trait> = [
        (Kind::Question, "measured by", measured_by(record)),
        (Kind::Question, "workload", workload_hash),
        (Kind::Question, "kind of load", kind_of_load(record)),
        (Kind::Question, "plan", short(&run.plan.hash)),
        (Kind::Setting, "seed", run.plan.seed.0.to_string()),
        (Kind::Setting, "target", record.header().targets(run).join(" ")),
        (Kind::Setting, "target version", run.target.version.clone()),
        (Kind::Setting, "Highwater", own_version),
        (Kind::Setting, "version of the tool", tool),
    ]
    .into_iter()
    .map(|(kind, name, value)| Trait {
        kind,
        name: name.to_owned(),
        value,
        unseeded: unseeded(record, name),
    })
    .collect();
    // The last run of an experiment has values found by the experiment, which the user did not set.
    if !matches!(record, RecordRef::Experiment(_)) {
        traits.extend(planned(&run.plan.definition));
    }
    traits.extend(url_parameters(&run.target.urls));
    traits.extend(named("setting", &run.target.settings));
    traits.extend(named("machine", &record.header().environment));
    traits.extend(named("parameter", &workload.parameters));
    traits.extend(distrusted(record));
    traits
}

/// The value of a trait without the seed, if it depends on the seed and the record holds it.
fn unseeded(record: RecordRef<'_>, name: &str) -> Option<String> {
    let run = record.measured_run();
    let hash = run.workload.unseeded.as_ref()?;
    match name {
        "workload" => Some(named_hash(&run.workload.name, hash)),
        "plan" => Some(short(&run.plan.definition.unseeded_hash())),
        _ => None,
    }
}

/// The first properties that readers compare in two plans: rate and length. Whether the plans differ at all is decided
/// by their hashes.
fn planned(plan: &Plan) -> impl Iterator<Item = Trait> {
    let paces =
        plan.streams.iter().map(|stream| set(format!("pace {}", stream.name), paces(stream)));
    paces.chain([set("length".to_owned(), measured_length(plan))])
}

/// The planned length of all measured phases.
pub(crate) fn measured_length(plan: &Plan) -> String {
    let measured = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    span(measured.map(|phase| phase.duration.0).sum())
}

/// The parameters of the target's first URL, as the user gave them.
fn url_parameters(urls: &[String]) -> impl Iterator<Item = Trait> {
    let parameters = urls.first().and_then(|url| url.split_once('?')).map_or("", |of| of.1);
    let pairs = parameters.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| set(format!("URL {name}"), value.to_owned()))
}

/// One for each name.
fn named<'a>(
    what: &'a str,
    values: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = Trait> + 'a {
    values.iter().map(move |(name, value)| set(format!("{what} {name}"), value.clone()))
}

/// A setting of a run, independent of the seed.
fn set(name: String, value: String) -> Trait {
    Trait { kind: Kind::Setting, name, value, unseeded: None }
}

fn trait_of<'a>(run: &'a Sample, kind: Kind, name: &str) -> Option<&'a Trait> {
    let mut traits = run.traits.iter();
    traits.find(|found| found.kind == kind && found.name == name)
}

/// The values of a trait; those independent of the seed, if all runs have them.
fn values<'a>(runs: &[&'a Sample], kind: Kind, name: &str, of_any_seed: bool) -> BTreeSet<&'a str> {
    let values = runs.iter().copied().filter_map(|run| match trait_of(run, kind, name) {
        Some(found) => {
            let unseeded = found.unseeded.as_deref().filter(|_| of_any_seed);
            Some(unseeded.unwrap_or(&found.value))
        }
        // A trait that a run lacks.
        None => (kind != Kind::Trust).then_some("–"),
    });
    values.collect()
}

/// Tools measure latency from different times; so does one tool, with and without a rate.
fn measured_by(record: RecordRef<'_>) -> String {
    match record.measured_run().origin {
        None => "Highwater".to_owned(),
        Some(origin) => {
            let begin = match origin.begin {
                LatencyBegin::Intended => "from the intended start",
                LatencyBegin::Sent => "from the sending",
                LatencyBegin::NotReported => "from a start not reported",
            };
            format!("{} {begin}", origin.tool)
        }
    }
}

fn kind_of_load(record: RecordRef<'_>) -> String {
    let kind = match record {
        RecordRef::Imported(imported) => match imported.origin.pace {
            ImportedPace::Open => "open",
            ImportedPace::Closed => "closed",
            ImportedPace::NotReported => "not reported",
        },
        RecordRef::Experiment(experiment) => match experiment.question {
            Question::Search(_) => "search",
            Question::Tune(_) => "tuning",
            Question::Group(_) => "group of runs",
            Question::Scale(_) => "growth",
        },
        RecordRef::Run(run) if run.plan.definition.is_closed() => "closed",
        RecordRef::Run(_) => "open",
    };
    kind.to_owned()
}

/// A run whose own judgments report wrong figures or data.
fn distrusted(record: RecordRef<'_>) -> Option<Trait> {
    let said = record.judgments().distrusted();
    (!said.is_empty()).then(|| Trait {
        kind: Kind::Trust,
        name: record.header().id.clone(),
        value: said,
        unseeded: None,
    })
}

/// `cpu 9c1e3f02`.
fn named_hash(name: &str, hash: &str) -> String {
    format!("{name} {}", short(hash))
}

/// Enough characters of a hash to distinguish plans.
fn short(hash: &str) -> String {
    hash.chars().take(8).collect()
}
