//! Availability of the target, the load generator, and notes.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use crate::findings::findings as rules;
use highwater_analysis::judge::MeasuredStream;
use highwater_analysis::judge::client_lag::overstated_by;
use highwater_analysis::judge::measurement::{CEILING_HEADROOM, ceiling, greatest};
use highwater_model::display::{count, duration, foreign, rate, significant};
use highwater_model::import_record::MissingField;
use highwater_model::limit::Limit;
use highwater_model::record::{
    AvailabilityRecord, IncidentKind, MeasuredRun, RecordRef, RunRecord, SchedulingClass,
};

use super::target;
use crate::events::intervention;
use crate::layout::{labeled, list};
use crate::limit;

/// Maximum number of printed findings; the record has them all.
const FINDINGS_SHOWN: usize = 5;
/// Maximum characters of a finding or label.
const WORDS: usize = 200;

pub(super) fn lines(record: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(record.limit.as_ref().map(limited));
    let availability = (!measured.is_empty()).then(|| availability(record));
    lines.extend(availability.map(|said| labeled("availability", &said)));
    let client = (!record.clients.is_empty()).then(|| client(record, measured));
    lines.extend(client.map(|said| labeled("client", &said)));
    lines.extend(target::lines(record));
    lines.extend(labels(record));
    lines.extend(changes(record).iter().map(|line| labeled("changed", line)));
    lines.extend(notes(record));
    lines
}

/// The limit of the run.
pub(super) fn limited(of: &Limit) -> String {
    let (label, sentence) = limit::line(of);
    labeled(label, &sentence)
}

/// The findings of all rules, each with a hint.
pub(super) fn findings(record: RecordRef<'_>) -> Vec<String> {
    let all = rules(record);
    all.iter()
        .take(FINDINGS_SHOWN)
        .flat_map(|finding| {
            let sentence = format!("{}: {}", finding.sentence, finding.evidence);
            let hint = format!("  try: {}", finding.hint);
            [labeled("finding", &foreign(&sentence, WORDS)), hint]
        })
        .collect()
}

pub(crate) fn availability(record: &MeasuredRun<'_>) -> String {
    if let Some(origin) = record.origin
        && origin.leaves_out(MissingField::Availability)
    {
        return format!("not reported by {}", origin.tool);
    }
    let seen = &record.availability;
    let mut parts = vec![format!("longest gap {}", duration(seen.longest_gap_ns))];
    if seen.dips == 0 && seen.seconds_below_half == 0 && seen.recovery.is_none() {
        parts.push("no dips".to_owned());
        return parts.join(" · ");
    }
    let _ = write!(parts[0], " at {}", duration(seen.longest_gap_start_ns));
    let seconds = [
        (seen.seconds_below_half, "below half of the median"),
        (seen.dips, "without an acknowledgement"),
    ];
    let seconds = seconds.into_iter().filter(|(number, _)| *number > 0);
    parts.extend(seconds.map(|(number, what)| format!("{} s {what}", count(number))));
    parts.extend(recovery(seen));
    parts.join(" · ")
}

/// Recovery from an outage, at the finest resolution that a record has.
fn recovery(seen: &AvailabilityRecord) -> Vec<String> {
    let after = |recovery: Option<u64>| match recovery {
        Some(recovery) => format!("recovered after {}", duration(recovery)),
        None => "not recovered".to_owned(),
    };
    match seen.recovery {
        None if seen.dips == 0 => Vec::new(),
        None => vec![after(seen.recovery_ns)],
        Some(finer) => {
            let again = finer.rate_again_ns.filter(|_| finer.recovered_ns != finer.rate_again_ns);
            let again = again.map(|ns| format!("offered rate again after {}", duration(ns)));
            let recovered = after(finer.recovered_ns);
            again.into_iter().chain([recovered]).collect()
        }
    }
}

pub(crate) fn client(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> String {
    let clients = &record.clients;
    let cores: u32 = clients.iter().map(|client| client.cores).sum();
    let used: f64 = clients.iter().map(|c| c.cpu_fraction * f64::from(c.cores)).sum();
    let mut parts = Vec::new();
    let several = clients.len();
    parts.extend((several > 1).then(|| format!("{several} load generators")));
    parts.push(format!("{used:.2} of {cores} cores"));
    let results = || measured.iter().flat_map(|stream| &stream.results);
    let stalls = || clients.iter().flat_map(|client| &client.stalls);
    if let Some(longest) = stalls().map(|stall| stall.duration_ns).max() {
        let times = count(stalls().count() as u64);
        parts.push(format!("stood still {times}×, up to {}", duration(longest)));
    }
    if let Some(lag) = results().filter_map(|r| r.client_lag_ns.p99).max() {
        let by = results().filter_map(|result| overstated_by(result)).max();
        let by = by.filter(|by| *by > 0).map(duration);
        let by = by.map_or_else(String::new, |by| format!(" (overstates latency by at most {by})"));
        parts.push(format!("lag p99 {}{by}", duration(lag)));
    }
    let class = clients.iter().map(|client| client.scheduling).max();
    parts.extend(class.and_then(scheduled));
    parts.push(match (ceiling(record), greatest(measured)) {
        _ if record.target.sink => "this is its ceiling".to_owned(),
        (Some(ceiling), Some((reached, unit))) if reached > 0.0 => format!(
            "ceiling {} {unit}/s, {} times this run",
            rate(ceiling),
            significant(ceiling / reached)
        ),
        (Some(ceiling), _) => format!("ceiling {}/s", rate(ceiling)),
        (None, reached) => unmeasured(record, reached),
    });
    parts.join(" · ")
}

/// The result of other loads' ceilings, or the command that measures the ceiling of this load.
fn unmeasured(record: &RunRecord, reached: Option<(f64, &'static str)>) -> String {
    let [client] = record.clients.as_slice() else {
        return "ceiling not measured".to_owned();
    };
    if let (Some(bound), Some((reached, unit))) = (client.ceiling_at_least, reached)
        && reached > 0.0
        && bound.units_per_s > reached * CEILING_HEADROOM
    {
        return format!(
            "ceiling at least {} {unit}/s, {} times this run (by that of {} sessions)",
            rate(bound.units_per_s),
            significant(bound.units_per_s / reached),
            count(bound.sessions.into())
        );
    }
    match &client.sink {
        Some(sink) => {
            format!("ceiling of this load not measured ({})", highwater_next::ceiling(record, sink))
        }
        None => "ceiling not calibrated (highwater check)".to_owned(),
    }
}

/// The scheduling class of the sending threads, if it is not the default.
fn scheduled(class: SchedulingClass) -> Option<String> {
    match class {
        SchedulingClass::Normal | SchedulingClass::NotPermitted => None,
        SchedulingClass::RealTime => Some("in the real-time class".to_owned()),
        SchedulingClass::RealTimeGivenUp => {
            Some("in the real-time class until it took more than a quarter of a core".to_owned())
        }
    }
}

fn labels(record: &RunRecord) -> Option<String> {
    let labels = record.header.labels.iter();
    let named = list(labels.map(|(name, value)| format!("{name}={value}")), " · ");
    (!named.is_empty()).then(|| labeled("labels", &foreign(&named, WORDS)))
}

/// The first changes that commands made during the run.
pub(crate) fn changes(record: &RunRecord) -> Vec<String> {
    let all = record.interventions.iter();
    first_of(all.map(|done| foreign(&intervention(done), WORDS)))
}

/// The first items, and the number of the others.
fn first_of(all: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = all.len().saturating_sub(FINDINGS_SHOWN);
    let rest = (more > 0).then(|| format!("and {more} more in the record"));
    all.take(FINDINGS_SHOWN).chain(rest).collect()
}

/// Notes, and the incidents that neither a judgment nor [`cluster_changes`] contains.
pub(crate) fn noted(record: &RunRecord) -> Vec<&str> {
    let unjudged = record
        .incidents
        .iter()
        .filter(|i| i.kind.reason().is_none() && i.kind != IncidentKind::ClusterChanged)
        .map(|incident| incident.message.as_str());
    let notes = record.notes.iter().map(|note| note.message.as_str());
    unjudged.chain(notes).collect()
}

/// What changed in the target during the run: nodes that left, copies on no node, restarts.
pub(crate) fn cluster_changes(record: &RunRecord) -> impl Iterator<Item = String> {
    let changes = record.incidents.iter().filter(|i| i.kind == IncidentKind::ClusterChanged);
    changes.map(|incident| foreign(&incident.message, WORDS))
}

/// The first note, and the number of the others.
fn notes(record: &RunRecord) -> Vec<String> {
    let all = noted(record).into_iter();
    let notes = first_of(all.map(|message| foreign(message, WORDS)));
    cluster_changes(record)
        .map(|change| labeled("cluster", &change))
        .chain(notes.iter().map(|line| labeled("note", line)))
        .collect()
}
