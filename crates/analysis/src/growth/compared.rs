//! Comparison of two growths: for each size of both, the change from A to B and a verdict, and the differences other
//! than figures: questions, trust, and settings.
//!
//! A size is measured once, so its noise is the difference between measurements of one cluster, as shown by the first
//! size and its repeat. Must not hold text for users, or compare runs, whose noise is the spread between runs.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::f64::consts::SQRT_2;

use highwater_model::display::paces;
use highwater_model::group::Kind;
use highwater_model::record::{ExperimentRecord, RecordRef};
use highwater_model::scale::{ScaleEach, ScaleRecord, ScaleSize, ScaleTrial};

use super::sizes::{LogRate, REPEAT_ERROR, Z95};
use super::{counted, drift};
use crate::comparison::measured_length;

/// Verdict on a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeChange {
    /// B is slower.
    Worse,
    /// The change is within the difference between measurements of one cluster.
    NotDistinguished,
    /// The change is smaller than the threshold, including noise.
    Equal,
    /// B is faster.
    Better,
}

/// The possible difference between two measurements of a growth's cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrowthNoise {
    /// As a fraction: 95 of 100 pairs differ by less.
    pub part: f64,
    /// Whether the first size was repeated; otherwise the usual difference between runs of one day is assumed.
    pub is_repeated: bool,
}

impl GrowthNoise {
    /// The noise shown by the first size and its repeat; at least their difference.
    fn from_record(scale: &ScaleRecord) -> Self {
        let Some(repeated) = drift(scale) else {
            return Self { part: (Z95 * REPEAT_ERROR * SQRT_2).exp_m1(), is_repeated: false };
        };
        let differed = repeated.change.ln_1p().abs();
        Self { part: repeated.allowed.ln_1p().max(differed).exp_m1(), is_repeated: true }
    }
}

/// A size that counts in both growths, with the same settings.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedSize<'a> {
    /// In A.
    pub a: &'a ScaleTrial,
    /// In B.
    pub b: &'a ScaleTrial,
    /// The estimates of both searches, units per second, by which they are compared because an estimate errs equally
    /// to both sides. If either is absent, measured or confirmed values are compared.
    pub estimates: Option<[f64; 2]>,
    /// The change from A to B, as a fraction of A.
    pub change: f64,
    /// The possible difference without any change, as a fraction: the largest of the noise of both growths and that of
    /// this size's intervals.
    pub noise: f64,
    /// The verdict; absent if the questions differ.
    pub verdict: Option<SizeChange>,
}

/// Why the other growth has no figure for a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoneReason {
    /// It does not have this number of nodes.
    NotMeasured,
    /// It measured this size, but the figure does not count.
    NoFigure,
    /// It measured the same number of nodes with other settings.
    OtherSettings,
}

/// A size that counts in one growth only.
#[derive(Debug, Clone, PartialEq)]
pub struct LoneSize<'a> {
    /// The measurement.
    pub trial: &'a ScaleTrial,
    /// Why the other growth has no figure.
    pub why: LoneReason,
}

/// Comparison of growths A and B.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedGrowths<'a> {
    /// The relative change that matters, as a fraction.
    pub practical: f64,
    /// Noise of A and of B.
    pub noise: [GrowthNoise; 2],
    /// The sizes that count in both, ascending.
    pub sizes: Vec<SharedSize<'a>>,
    /// The sizes that count in A only, and in B only.
    pub lone: [Vec<LoneSize<'a>>; 2],
    /// Other differences, most severe first.
    pub differences: Vec<GrowthDifference>,
}

impl ComparedGrowths<'_> {
    /// Whether the growths answer different questions, so that no verdict is valid.
    pub fn is_guarded(&self) -> bool {
        is_guarded(&self.differences)
    }

    /// Worse if any size is; else not distinguished if any size is not, or has no figure in one growth although both
    /// measured it; else better if any size is. Absent if the questions differ, or the growths share no size.
    pub fn verdict(&self) -> Option<SizeChange> {
        if self.is_guarded() || self.sizes.is_empty() {
            return None;
        }
        let has = |verdict| {
            let mut sizes = self.sizes.iter();
            sizes.any(|size| size.verdict == Some(verdict))
        };
        let mut lone = self.lone.iter().flatten();
        let is_open = lone.any(|size| size.why == LoneReason::NoFigure);
        Some(if has(SizeChange::Worse) {
            SizeChange::Worse
        } else if is_open || has(SizeChange::NotDistinguished) {
            SizeChange::NotDistinguished
        } else if has(SizeChange::Better) {
            SizeChange::Better
        } else {
            SizeChange::Equal
        })
    }
}

/// Compares two growths; `practical` is the relative change that matters, above 0. Settings that were `declared` to
/// differ are the subject of the comparison, so they do not make it a different question.
pub fn compare_growths<'a>(
    a: Grown<'a>,
    b: Grown<'a>,
    practical: f64,
    declared: &BTreeSet<String>,
) -> ComparedGrowths<'a> {
    let differences = differences(a, b, declared);
    let guarded = is_guarded(&differences);
    let noise = [a, b].map(|grown| GrowthNoise::from_record(grown.scale));
    let least = noise[0].part.max(noise[1].part).ln_1p();
    let both = counted(a.scale).filter_map(|of_a| {
        let of_b = counted(b.scale).find(|trial| is_same(&trial.size, &of_a.size, declared))?;
        let both = [(a.scale, of_a), (b.scale, of_b)];
        let estimated = both.map(|(of, trial)| LogRate::estimated(of.each, &trial.figures));
        let (estimates, [before, now]) = match estimated {
            [Some(before), Some(now)] => (Some([before.log.exp(), now.log.exp()]), [before, now]),
            _ => (None, both.map(|(of, trial)| LogRate::from_figures(of.each, &trial.figures))),
        };
        let change = now.log - before.log;
        let noise = least.max(Z95 * before.deviation.hypot(now.deviation));
        Some(SharedSize {
            a: of_a,
            b: of_b,
            estimates,
            change: change.exp_m1(),
            noise: noise.exp_m1(),
            verdict: (!guarded).then(|| judged(change, noise, practical)),
        })
    });
    let mut sizes: Vec<SharedSize<'a>> = both.collect();
    sizes.sort_by_key(|size| size.a.size.nodes);
    ComparedGrowths {
        practical,
        noise,
        sizes,
        lone: [lone(a.scale, b.scale, declared), lone(b.scale, a.scale, declared)],
        differences,
    }
}

/// The verdict on a change with this noise, both logarithmic.
fn judged(change: f64, noise: f64, practical: f64) -> SizeChange {
    let ends = [change - noise, change + noise].map(f64::exp_m1);
    if ends[0] > -practical && ends[1] < practical {
        SizeChange::Equal
    } else if change.abs() <= noise {
        SizeChange::NotDistinguished
    } else if change > 0.0 {
        SizeChange::Better
    } else {
        SizeChange::Worse
    }
}

/// Whether two sizes are equal except for declared settings.
fn is_same(a: &ScaleSize, b: &ScaleSize, declared: &BTreeSet<String>) -> bool {
    let kept = |size: &ScaleSize| {
        let mut kept = size.settings.clone();
        kept.retain(|name, _| !declared.contains(name));
        kept
    };
    a.nodes == b.nodes && kept(a) == kept(b)
}

/// The sizes of a growth for which the other has no figure, ascending.
fn lone<'a>(
    scale: &'a ScaleRecord,
    other: &ScaleRecord,
    declared: &BTreeSet<String>,
) -> Vec<LoneSize<'a>> {
    let sizes = counted(scale).filter_map(|trial| {
        let why = lone_reason(&trial.size, other, declared)?;
        Some(LoneSize { trial, why })
    });
    let mut sizes: Vec<LoneSize<'a>> = sizes.collect();
    sizes.sort_by_key(|size| size.trial.size.nodes);
    sizes
}

/// Absent if the other growth has a figure.
fn lone_reason(
    size: &ScaleSize,
    other: &ScaleRecord,
    declared: &BTreeSet<String>,
) -> Option<LoneReason> {
    let has = |is_so: &dyn Fn(&ScaleTrial) -> bool| other.trials.iter().any(is_so);
    if counted(other).any(|trial| is_same(&trial.size, size, declared)) {
        None
    } else if has(&|trial| is_same(&trial.size, size, declared)) {
        Some(LoneReason::NoFigure)
    } else if has(&|trial| trial.size.nodes == size.nodes) {
        Some(LoneReason::OtherSettings)
    } else {
        Some(LoneReason::NotMeasured)
    }
}

/// A growth with its record.
#[derive(Debug, Clone, Copy)]
pub struct Grown<'a> {
    /// The whole record, with the last run.
    pub record: &'a ExperimentRecord,
    /// The sizes and the definition of the growth.
    pub scale: &'a ScaleRecord,
}

impl<'a> Grown<'a> {
    /// The growth of a record; absent for other kinds of record.
    pub fn from_record(record: RecordRef<'a>) -> Option<Self> {
        let record = record.experiment()?;
        let scale = record.scale()?;
        Some(Self { record, scale })
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrowthDifference {
    /// Its severity.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Value in A; empty if A has none, and for objectives, which reports put into words.
    pub a: String,
    /// Value in B, likewise.
    pub b: String,
}

/// Whether these differences mean that the growths answer different questions.
fn is_guarded(differences: &[GrowthDifference]) -> bool {
    let mut differences = differences.iter();
    differences.any(|difference| difference.kind == Kind::Question)
}

/// The value of a trait, as displayed.
type Trait = fn(Grown<'_>) -> String;

/// Name of a difference of objectives, and of all that follows from another workload.
const OBJECTIVE: &str = "objective";
const WORKLOAD: &str = "workload";

/// Growths that differ in one of these traits answer different questions.
const QUESTIONS: [(&str, Trait); 6] = [
    ("each size", |grown| grown.scale.each.name().to_owned()),
    ("stream", |grown| grown.scale.stream.clone()),
    ("unit", |grown| grown.scale.unit.name().to_owned()),
    ("start", |grown| grown.scale.start.name().to_owned()),
    ("axes", |grown| grown.scale.over.join(" ")),
    (WORKLOAD, |grown| {
        let workload = &grown.record.last_run.workload;
        format!("{} {}", workload.name, workload.version)
    }),
];

/// May be the very settings under comparison.
const SETTINGS: [(&str, Trait); 6] = [
    ("target", |grown| grown.scale.targets.join(" ")),
    ("target version", |grown| grown.record.last_run.target.version.clone()),
    ("cluster file", |grown| grown.scale.cluster_file.clone().unwrap_or_default()),
    ("quotas", |grown| {
        let quotas = if grown.scale.without_quotas { "none" } else { "as in the cluster file" };
        quotas.to_owned()
    }),
    ("seed", |grown| grown.record.last_run.plan.seed.0.to_string()),
    ("Highwater", |grown| grown.record.header.highwater.version.clone()),
];

/// All differences, most severe first. A setting that was declared to differ does not make it a
/// different question.
fn differences(a: Grown<'_>, b: Grown<'_>, declared: &BTreeSet<String>) -> Vec<GrowthDifference> {
    let of = |kind, name: &str, value: Trait| differing(kind, name, [value(a), value(b)]);
    let questions = QUESTIONS.iter().filter(|(name, _)| !declared.contains(*name));
    let mut found: Vec<GrowthDifference> =
        questions.filter_map(|(name, value)| of(Kind::Question, name, *value)).collect();
    found.extend(of_last_runs(a, b, declared));
    found.extend(of(Kind::Trust, "judged", |grown| grown.record.judgments.distrusted()));
    let settings = SETTINGS.iter();
    found.extend(settings.filter_map(|(name, value)| of(Kind::Setting, name, *value)));
    found
}

fn differing(kind: Kind, name: &str, values: [String; 2]) -> Option<GrowthDifference> {
    let [a, b] = values;
    let differs = a != b || kind == Kind::Trust && !a.is_empty();
    differs.then(|| GrowthDifference { kind, name: name.to_owned(), a, b })
}

/// Differences of the question shown by the last runs: objective, parameters, workload, plan. Traits that depend on the
/// size, are tuned, or were declared to differ are ignored. A hash is named only where nothing else shows what differs.
fn of_last_runs(a: Grown<'_>, b: Grown<'_>, declared: &BTreeSet<String>) -> Vec<GrowthDifference> {
    let [run_a, run_b] = [&a.record.last_run, &b.record.last_run];
    let [plan_a, plan_b] = [&run_a.plan.definition, &run_b.plan.definition];
    let mut found = Vec::new();
    if plan_a.objectives != plan_b.objectives && !declared.contains(OBJECTIVE) {
        found.push(GrowthDifference {
            kind: Kind::Question,
            name: OBJECTIVE.to_owned(),
            a: String::new(),
            b: String::new(),
        });
    }
    let [of_a, of_b] = [&run_a.workload, &run_b.workload];
    let mut varied = varied(a, b);
    varied.extend(declared.iter().cloned());
    let names = of_a.parameters.keys().chain(of_b.parameters.keys());
    let names: BTreeSet<&String> = names.filter(|name| !varied.contains(*name)).collect();
    let parameters = names.into_iter().filter(|_| !declared.contains(WORKLOAD));
    found.extend(parameters.filter_map(|name| {
        let value = |of: Option<&String>| of.cloned().unwrap_or_default();
        let values = [&of_a.parameters, &of_b.parameters].map(|of| value(of.get(name)));
        differing(Kind::Question, &format!("parameter {name}"), values)
    }));
    if !varied.is_empty() {
        return found;
    }
    let are_runs = a.scale.each == ScaleEach::Run && b.scale.each == ScaleEach::Run;
    let are_runs = are_runs && last_size(a.scale) == last_size(b.scale);
    if are_runs {
        let streams = plan_a.streams.iter().zip(&plan_b.streams);
        found.extend(streams.filter_map(|(of_a, of_b)| {
            let name = format!("pace {}", of_a.name);
            differing(Kind::Question, &name, [paces(of_a), paces(of_b)])
        }));
        let lengths = [plan_a, plan_b].map(measured_length);
        found.extend(differing(Kind::Question, "length", lengths));
    }
    if found.is_empty() {
        let hashes = match (&of_a.unseeded, &of_b.unseeded) {
            (Some(hash_a), Some(hash_b)) => [short(hash_a), short(hash_b)],
            _ => [short(&of_a.fingerprint), short(&of_b.fingerprint)],
        };
        found.extend(differing(Kind::Question, "workload fingerprint", hashes));
        let hashes = [plan_a, plan_b].map(|plan| short(&plan.unseeded_hash()));
        found.extend(differing(Kind::Question, "plan", hashes).filter(|_| are_runs));
    }
    found
}

/// Settings in which the last runs may differ without changing the question.
fn varied(a: Grown<'_>, b: Grown<'_>) -> BTreeSet<String> {
    let mut varied = BTreeSet::new();
    if last_size(a.scale) != last_size(b.scale) {
        let sizes = [a, b].into_iter().flat_map(|grown| &grown.scale.sizes);
        varied.extend(sizes.flat_map(|size| size.settings.keys().cloned()));
    }
    for grown in [a, b] {
        let axes = grown.scale.over.iter();
        varied.extend(axes.map(|axis| {
            let name = axis.split('=').next().unwrap_or_default();
            name.strip_prefix("with.").unwrap_or(name).to_owned()
        }));
    }
    varied
}

/// The size of the last run: the last size whose target was reachable.
fn last_size(scale: &ScaleRecord) -> Option<&ScaleSize> {
    let mut trials = scale.trials.iter().rev();
    let last = trials.find(|trial| trial.figures.judgments.is_some());
    let last = last.or(scale.trials.last());
    last.map(|trial| &trial.size)
}

/// Enough characters of a hash to show that it differs.
fn short(hash: &str) -> String {
    hash.chars().take(8).collect()
}
