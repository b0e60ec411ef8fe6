//! Differences between two groups of runs other than their figures.

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::display::paces;
use highwater_model::display::span;
use highwater_model::group::{Kind, Sample, Trait};
use highwater_model::plan::{PhaseKind, Plan};
use highwater_model::record::{ImportedPace, LatencyBegin};
use highwater_model::record::{Question, RecordRef};

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
pub(super) fn differences(a: &[&Sample], b: &[&Sample]) -> Vec<Difference> {
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
pub(super) fn traits(record: RecordRef<'_>) -> Vec<Trait> {
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
        (Kind::Setting, "target", run.target.urls.join(" ")),
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

/// A run whose own judgments say that its figures or data are wrong.
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
