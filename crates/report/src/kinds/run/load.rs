//! The load in words: its workload and target, the pace of each stream, and the measured time. Must not judge.

use highwater_analysis::judge::MeasuredStream;
use highwater_analysis::memory::data_in_memory;
use highwater_model::display::paces;
use highwater_model::display::{count, duration, foreign, span};
use highwater_model::plan::{Arrivals, Pace, PhaseKind, PhasePlan, StreamPlan, Unit};
use highwater_model::record::{MeasuredRun, RunRecord};

use crate::answer::short_target;
use crate::layout::{joined, list};

/// Maximum number of targets that are listed before the others are counted.
const TARGETS_NAMED: usize = 3;
/// Maximum characters of text from the target.
const WORDS: usize = 80;

/// The workload and target, and the plan; `imported` is the method of another tool.
pub(super) fn opening(
    record: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
    imported: Option<String>,
) -> Vec<String> {
    vec![target(record), imported.unwrap_or_else(|| plan(record, measured))]
}

/// The workload and its target.
pub(in crate::kinds) fn target(record: &MeasuredRun<'_>) -> String {
    let urls = match urls(record) {
        none if none.is_empty() && record.origin.is_some() => "a target not reported".to_owned(),
        urls => urls,
    };
    format!("{} → {urls}   {}", record.workload.name, traits(record))
}

/// Characters of a hash that distinguish plans, or objectives, for a reader.
pub(crate) fn short_hash(hash: &str) -> String {
    hash.chars().take(6).collect()
}

/// The first targets, and the number of the others.
fn urls(record: &RunRecord) -> String {
    let target = &record.target;
    let mut urls: Vec<String> = target.urls.iter().take(TARGETS_NAMED).cloned().collect();
    if target.urls.len() > TARGETS_NAMED {
        urls.push(format!("and {} more", target.urls.len() - TARGETS_NAMED));
    }
    foreign(&urls.join(" "), 4 * WORDS) + removed(record)
}

/// What became of the target's database, after its address.
pub(crate) fn removed(record: &RunRecord) -> &'static str {
    if record.target.removed { " (removed after the audit)" } else { "" }
}

/// Traits of the target.
pub(in crate::kinds) fn traits(record: &RunRecord) -> String {
    with_version(record, &record.target.version)
}

fn with_version(record: &RunRecord, version: &str) -> String {
    const SIMULATED: &str = "simulated";
    let target = &record.target;
    let is_unsaid = target.simulated && !version.starts_with(SIMULATED);
    let said = std::iter::once(version).chain(target.traits.iter().map(String::as_str));
    let said = is_unsaid.then_some(SIMULATED).into_iter().chain(said);
    joined(said.map(|word| foreign(word, WORDS)))
}

/// The workload and its settings, as far as a reader of the answer needs them.
pub(super) fn load(
    record: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
    imported: Option<String>,
) -> String {
    let name = foreign(&record.workload.name, WORDS);
    let how = imported.map_or_else(|| paces_and_lengths(record, measured), |how| vec![how]);
    list(std::iter::once(name).chain(how), " · ")
}

/// The target by its short name and version, and its traits.
pub(crate) fn of_target(record: &MeasuredRun<'_>) -> String {
    let data = data_in_memory(record).map_or_else(String::new, |data| data.words());
    let short = short_target(&record.target.version);
    match joined([urls(record), with_version(record, &short), data]) {
        nothing if nothing.is_empty() => "not reported".to_owned(),
        parts => parts,
    }
}

/// The pace of each stream, the warm-up, and the measured time.
fn paces_and_lengths(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Vec<String> {
    let plan = &record.plan.definition;
    let of = |stream: &StreamPlan| {
        let (kind, worked) = (pace_kind(stream), worked(record, stream));
        format!("{kind}, {worked}{}", batches(stream))
    };
    let mut parts = match plan.streams.as_slice() {
        [one] => vec![of(one)],
        several => several.iter().map(|s| format!("{} {}", s.name, of(s))).collect(),
    };
    let left_out = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::WarmUp);
    parts.extend(left_out.map(|phase| left_out_phase(record, phase)));
    parts.push(measured_time(measured));
    let generators = record.clients.len();
    parts.extend((generators > 1).then(|| format!("{generators} load generators")));
    parts
}

fn plan(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> String {
    let plan = &record.plan.definition;
    let mut parts = paces_and_lengths(record, measured);
    let different = plan.workload.distinct_rows.map(count);
    parts.extend(different.map(|rows| format!("{rows} different rows, repeated")));
    let literals = plan.workload.literals;
    parts.extend(literals.then(|| "values in the queries' text".to_owned()));
    parts.push(format!("seed {}", record.plan.seed));
    parts.push(format!("plan {}", short_hash(&record.plan.hash)));
    let (share, of) = (plan.share.index, plan.share.of);
    parts.extend((of > 1).then(|| format!("share {share}/{of} of it")));
    parts.join(" · ")
}

/// `warm-up 2 s`, `warm-up 24.4 s until steady`.
fn left_out_phase(record: &RunRecord, planned: &PhasePlan) -> String {
    let (name, most) = (&planned.name, span(planned.duration.0));
    if !planned.until_steady {
        return format!("{name} {most}");
    }
    let mut phases = record.phases.iter();
    let ended = phases.find_map(|phase| Some((duration(phase.duration_ns), phase.steady?)));
    match ended {
        Some((took, true)) => format!("{name} {took} until steady"),
        Some((took, false)) => format!("{name} {took}, NOT STEADY by then"),
        None => format!("{name} until steady, {most} at most"),
    }
}

/// Names of the measured phases, and the duration of each in nanoseconds.
pub(crate) fn phases<'a>(measured: &'a [MeasuredStream<'_>]) -> Vec<(&'a str, u64)> {
    let mut phases: Vec<_> = measured
        .iter()
        .map(|stream| stream.phase)
        .map(|phase| (phase.name.as_str(), phase.duration_ns))
        .collect();
    phases.dedup();
    phases
}

pub(in crate::kinds) fn measured_time(measured: &[MeasuredStream<'_>]) -> String {
    let phases = phases(measured);
    let total: u64 = phases.iter().map(|(_, nanos)| nanos).sum();
    let first = phases.first().map(|(_, nanos)| duration(*nanos));
    match first {
        None => "nothing measured".to_owned(),
        Some(one) if phases.len() == 1 => format!("measured {one}"),
        Some(one) if phases.iter().all(|(_, nanos)| duration(*nanos) == one) => {
            format!("measured {} steps of {one}", phases.len())
        }
        Some(_) => format!("measured {} steps, {} in all", phases.len(), duration(total)),
    }
}

fn pace_kind(stream: &StreamPlan) -> &'static str {
    match (stream.paces.first(), stream.arrivals) {
        (Some(Pace::Open { .. }), Arrivals::Constant) => "open",
        (Some(Pace::Open { .. }), Arrivals::Poisson) => "open (Poisson)",
        _ => "closed",
    }
}

/// The pace, and the number of its sessions that worked: `97 of 5,000 sessions`.
fn worked(record: &RunRecord, stream: &StreamPlan) -> String {
    let missing = record
        .streams
        .iter()
        .filter(|s| s.stream == stream.name)
        .filter(|s| s.planned_rate.is_none());
    let working = missing.filter_map(|s| s.working.filter(|working| *working < s.sessions));
    match working.min() {
        Some(working) => format!("{} of {}", count(u64::from(working)), paces(stream)),
        None => paces(stream),
    }
}

pub(in crate::kinds) fn batches(stream: &StreamPlan) -> String {
    if stream.unit == Unit::Rows && stream.units_per_op > 1 {
        format!(", batches of {} rows", count(stream.units_per_op))
    } else {
        String::new()
    }
}
