//! Findings: observations about the target in a record, each one sentence with figures and a hint.
//!
//! A rule reads only a record, changes no judgment, and does not repeat one (client saturated, not steady, growing
//! backlog). A rule reports nothing unless the figures support it: wrong advice costs more than missing advice.
//!
//! Here are the input of a rule and its report, and the rules about a run over time: lasting changes, and periodic
//! slowdowns.

mod inside;
mod target;

#[cfg(test)]
mod tests;

use highwater_model::display::{count, duration, percent, plain, rate};
use highwater_model::numbers::round_to_u64;
use highwater_model::record::RunRecord;
use highwater_model::target_telemetry::{names, units};

use super::judge::measured_streams;
use crate::change_points::{ChangePoint, Figure, TelemetryShift, change_points, slowdowns};
use crate::judge::MeasuredStream;

pub use target::more_sessions_less;

type Rule = fn(&RuleInput<'_>) -> Option<RuleFinding>;

/// In reporting order.
const RULES: &[Rule] = &[
    target::rejected_writes,
    target::sessions_busy,
    target::few_shards,
    target::many_shards,
    target::unequal_hosts,
    target::periodic_stalls,
    target::slows_with_data,
    throughput_changed,
    latency_changed,
    regular_slowdowns,
    inside::rejected_inside,
    inside::disk_limits,
    inside::unequal_nodes,
    inside::locks,
    inside::too_many_parts,
    inside::checkpoints,
    inside::network_limits,
    inside::growing_queue,
    inside::cpu_stolen,
    inside::few_sessions,
    inside::durability_relaxed,
    target::outgrew_memory,
    target::fits_in_memory,
];

/// The findings of all rules for a record.
pub fn findings(record: &RunRecord) -> Vec<RuleFinding> {
    let read = RuleInput { record, measured: measured_streams(record) };
    RULES.iter().filter_map(|rule| rule(&read)).collect()
}

/// One sentence about a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFinding {
    /// Stable name of the rule.
    pub code: &'static str,
    /// The observation.
    pub sentence: String,
    /// The figures that support it.
    pub evidence: String,
    /// The suggested fix.
    pub hint: &'static str,
}

/// A record, read once for all rules.
struct RuleInput<'a> {
    record: &'a RunRecord,
    measured: Vec<MeasuredStream<'a>>,
}

/// Smaller changes of throughput or latency are not reported.
const THROUGHPUT: f64 = 0.05;
const LATENCY: f64 = 0.25;
/// Shallower slowdowns are not reported.
const DEPTH: f64 = 0.1;
/// Maximum number of telemetry series named with a change.
const MOVED_SHOWN: usize = 4;

/// A lasting change of throughput.
fn throughput_changed(read: &RuleInput<'_>) -> Option<RuleFinding> {
    changed(read, Figure::Throughput, THROUGHPUT, "throughput_changed")
}

/// A lasting change of latency.
fn latency_changed(read: &RuleInput<'_>) -> Option<RuleFinding> {
    changed(read, Figure::Latency, LATENCY, "latency_changed")
}

fn changed(
    read: &RuleInput<'_>,
    figure: Figure,
    least: f64,
    code: &'static str,
) -> Option<RuleFinding> {
    let size =
        |change: &ChangePoint| (change.after - change.before).abs() / change.before.abs().max(1.0);
    let all = change_points(read.record);
    let reported = all.iter().filter(|change| change.figure == figure && size(change) >= least);
    let number = reported.clone().count();
    let change = reported.max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let more = match number {
        1 => String::new(),
        2 => "; one more change was smaller".to_owned(),
        _ => format!("; {} more changes were smaller", number - 1),
    };
    Some(RuleFinding {
        code,
        sentence: sentence(change),
        evidence: format!(
            "{}, by chance at most once in {}{more}{}",
            change.place,
            plain((1.0 / change.p_value).round()),
            then(&change.shifts)
        ),
        hint: hint(&change.shifts),
    })
}

fn sentence(change: &ChangePoint) -> String {
    let verb = if change.after < change.before { "fell" } else { "rose" };
    let at = format!("{} s", count(change.at_ns / 1_000_000_000));
    let by = percent((change.after - change.before).abs() / change.before.abs().max(1.0));
    let values = [change.before, change.after];
    match change.figure {
        Figure::Throughput => {
            let ([before, after], unit) = (values.map(rate), change.unit.name());
            format!("throughput {verb} by {by} at {at}, from {before} to {after} {unit}/s")
        }
        Figure::Latency => {
            let [before, after] = values.map(|ns| duration(round_to_u64(ns)));
            format!("the median latency {verb} by {by} at {at}, from {before} to {after}")
        }
    }
}

fn then(shifts: &[TelemetryShift]) -> String {
    if shifts.is_empty() {
        return "; no telemetry moved then".to_owned();
    }
    let shown: Vec<String> = shifts.iter().take(MOVED_SHOWN).map(one).collect();
    format!("; then {}", shown.join(", "))
}

/// `cpu_busy of n1 98% → 25%`.
fn one(shift: &TelemetryShift) -> String {
    let value = |value: f64| match shift.unit.as_str() {
        units::SHARE => percent(value),
        _ => plain(value),
    };
    let node = shift.node.as_ref().map_or_else(String::new, |node| format!(" of {node}"));
    let (before, after) = (value(shift.before), value(shift.after));
    format!("{}{node} {before} → {after}", shift.name)
}

/// The hint for the likeliest cause.
fn hint(shifts: &[TelemetryShift]) -> &'static str {
    let rose = |name: &str| shifts.iter().any(|m| m.name == name && m.after > m.before);
    let fell = |name: &str| shifts.iter().any(|m| m.name == name && m.after < m.before);
    if fell("disk_credit") || (rose(names::DISK_BUSY) && fell(names::CPU_BUSY)) {
        "the disk became the limit, as when a credit of it ends: only what comes after it can be \
         counted on; a disk with more throughput moves it"
    } else if rose(names::REJECTED) {
        "the target began to reject work: fewer sessions (-c), or a lower rate"
    } else if rose(names::LOCK_WAITS) {
        "sessions began to wait for locks: look for what else writes to these rows, or changes the \
         table"
    } else if rose(names::CHECKPOINTS) || rose("checkpoint_blocks") {
        "checkpoints began: measure over several of them, or spread them over more time"
    } else if rose(names::CPU_STEAL) {
        "the hypervisor took CPU away, as when a credit of the machine ends"
    } else if rose("health_severity") || fell("shards_started") {
        "the target was not whole: look at its log at that time"
    } else {
        "look at the target's log at that time, and at what else began then"
    }
}

/// Throughput falls periodically, though not to below half.
fn regular_slowdowns(read: &RuleInput<'_>) -> Option<RuleFinding> {
    if target::periodic_stalls(read).is_some() {
        return None;
    }
    let reported = slowdowns(read.record).into_iter().filter(|slowdown| slowdown.depth >= DEPTH);
    let deepest = reported.max_by(|a, b| a.depth.total_cmp(&b.depth))?;
    let (period, depth) = (plain(deepest.period_s), percent(deepest.depth));
    Some(RuleFinding {
        code: "regular_slowdowns",
        sentence: format!("throughput fell about every {period} s, by {depth} of its mean"),
        evidence: format!("{} over {} s", deepest.place, deepest.seconds),
        hint: "look at what the target does at that interval: checkpoints, merges, collecting \
               garbage, backups",
    })
}
