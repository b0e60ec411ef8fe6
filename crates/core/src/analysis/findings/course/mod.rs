//! Rules about the course of a run: changes for good, and slowdowns that come again.

use crate::analysis::course::{Figure, Moved, Turn, slowdowns, turns};
use crate::model::display::{count, duration, percent, plain, rate};
use crate::model::numbers::round_to_u64;
use crate::model::target_telemetry::names;

use super::rule::{RuleFinding, RuleInput};

/// A smaller change of throughput, and of latency, is nothing to tell.
const THROUGHPUT: f64 = 0.05;
const LATENCY: f64 = 0.25;
/// Slowdowns less deep are nothing to tell.
const DEPTH: f64 = 0.1;
/// Series of telemetry that are named with a change.
const MOVED_SHOWN: usize = 4;

/// Throughput changed for good.
pub(super) fn throughput_changed(read: &RuleInput<'_>) -> Option<RuleFinding> {
    changed(read, Figure::Throughput, THROUGHPUT, "throughput_changed")
}

/// Latency changed for good.
pub(super) fn latency_changed(read: &RuleInput<'_>) -> Option<RuleFinding> {
    changed(read, Figure::Latency, LATENCY, "latency_changed")
}

fn changed(
    read: &RuleInput<'_>,
    figure: Figure,
    least: f64,
    code: &'static str,
) -> Option<RuleFinding> {
    let size = |turn: &Turn| (turn.after - turn.before).abs() / turn.before.abs().max(1.0);
    let all = turns(read.record);
    let told = all
        .iter()
        .filter(|turn| turn.figure == figure && size(turn) >= least);
    let number = told.clone().count();
    let turn = told.max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let more = match number {
        1 => String::new(),
        2 => "; one more change was smaller".to_owned(),
        _ => format!("; {} more changes were smaller", number - 1),
    };
    Some(RuleFinding {
        code,
        sentence: sentence(turn),
        evidence: format!(
            "{}, by chance at most once in {}{more}{}",
            turn.place,
            plain((1.0 / turn.p_value).round()),
            then(&turn.moved)
        ),
        hint: hint(&turn.moved),
    })
}

fn sentence(turn: &Turn) -> String {
    let verb = if turn.after < turn.before {
        "fell"
    } else {
        "rose"
    };
    let at = format!("{} s", count(turn.at_ns / 1_000_000_000));
    let change = percent((turn.after - turn.before).abs() / turn.before.abs().max(1.0));
    match turn.figure {
        Figure::Throughput => format!(
            "throughput {verb} by {change} at {at}, from {} to {} {}/s",
            rate(turn.before),
            rate(turn.after),
            turn.unit.name()
        ),
        Figure::Latency => format!(
            "the median latency {verb} by {change} at {at}, from {} to {}",
            duration(round_to_u64(turn.before)),
            duration(round_to_u64(turn.after))
        ),
    }
}

fn then(moved: &[Moved]) -> String {
    if moved.is_empty() {
        return "; no telemetry moved then".to_owned();
    }
    let shown: Vec<String> = moved.iter().take(MOVED_SHOWN).map(one).collect();
    format!("; then {}", shown.join(", "))
}

/// `cpu_busy of n1 98 % → 25 %`.
fn one(moved: &Moved) -> String {
    let value = |value: f64| match moved.unit.as_str() {
        "share" => percent(value),
        _ => plain(value),
    };
    let node = moved
        .node
        .as_ref()
        .map_or_else(String::new, |node| format!(" of {node}"));
    let (before, after) = (value(moved.before), value(moved.after));
    format!("{}{node} {before} → {after}", moved.name)
}

/// By what moved most likely first.
fn hint(moved: &[Moved]) -> &'static str {
    let rose = |name: &str| moved.iter().any(|m| m.name == name && m.after > m.before);
    let fell = |name: &str| moved.iter().any(|m| m.name == name && m.after < m.before);
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

/// Throughput falls again and again, at a regular distance, if not to below half.
pub(super) fn regular_slowdowns(read: &RuleInput<'_>) -> Option<RuleFinding> {
    if super::target::periodic_stalls(read).is_some() {
        return None;
    }
    let found = slowdowns(read.record).into_iter();
    let told = found.filter(|slowdown| slowdown.depth >= DEPTH);
    let deepest = told.max_by(|a, b| a.depth.total_cmp(&b.depth))?;
    Some(RuleFinding {
        code: "regular_slowdowns",
        sentence: format!(
            "throughput fell about every {} s, by {} of its mean",
            plain(deepest.period_s),
            percent(deepest.depth)
        ),
        evidence: format!("{} over {} s", deepest.place, deepest.seconds),
        hint: "look at what the target does at that interval: checkpoints, merges, collecting \
               garbage, backups",
    })
}

#[cfg(test)]
mod tests;
