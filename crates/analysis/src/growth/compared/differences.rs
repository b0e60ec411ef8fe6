//! The inputs of a comparison of two growths, and their differences other than figures: questions, trust, and settings.
//! Must not hold figures, or draw conclusions from differences.

use std::collections::BTreeSet;

use crate::comparison::measured_length;
use highwater_model::display::paces;
use highwater_model::group::Kind;
use highwater_model::record::{ExperimentRecord, RecordRef};
use highwater_model::scale::{ScaleEach, ScaleRecord, ScaleSize};

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
    pub fn of(record: RecordRef<'a>) -> Option<Self> {
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
pub(super) fn is_guarded(differences: &[GrowthDifference]) -> bool {
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

/// All differences, most severe first. A setting that was declared to differ is no other question.
pub(super) fn differences(
    a: Grown<'_>,
    b: Grown<'_>,
    declared: &BTreeSet<String>,
) -> Vec<GrowthDifference> {
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
