//! Findings: what a record says of the target, in one sentence, with figures and what to try.
//!
//! A rule reads a record and nothing else, and changes no judgment; what a judgment says already
//! (client saturated, not steady, growing backlog) no rule says again. A rule is silent unless the
//! figures speak for it: a wrong advice costs more than a missing one.

mod change_points;
mod inside;
mod load;
mod memory;
mod rule;
mod target;
#[cfg(test)]
mod tests;

use highwater_model::record::RunRecord;

use super::judge::measured_streams;

pub use load::more_sessions_less;
pub use rule::RuleFinding;

use rule::RuleInput;

type Rule = fn(&RuleInput<'_>) -> Option<RuleFinding>;

/// In the order in which they are told.
const RULES: &[Rule] = &[
    load::rejected_writes,
    load::sessions_busy,
    target::few_shards,
    target::many_shards,
    target::unequal_hosts,
    target::periodic_stalls,
    target::slows_with_data,
    change_points::throughput_changed,
    change_points::latency_changed,
    change_points::regular_slowdowns,
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
    memory::outgrew_memory,
    memory::fits_in_memory,
];

/// What all rules say of a record.
pub fn findings(record: &RunRecord) -> Vec<RuleFinding> {
    let read = RuleInput { record, measured: measured_streams(record) };
    RULES.iter().filter_map(|rule| rule(&read)).collect()
}
