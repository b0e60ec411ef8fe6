//! Findings: observations about the target in a record, each one sentence with figures and a hint.
//!
//! A rule reads only a record, changes no judgment, and does not repeat one (client saturated, not steady, growing
//! backlog). A rule reports nothing unless the figures support it: wrong advice costs more than missing advice.

mod change_points;
mod inside;
mod rule;
mod target;
#[cfg(test)]
mod tests;

use highwater_model::record::RunRecord;

use super::judge::measured_streams;

pub use rule::RuleFinding;
pub use target::more_sessions_less;

use rule::RuleInput;

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
    target::outgrew_memory,
    target::fits_in_memory,
];

/// The findings of all rules for a record.
pub fn findings(record: &RunRecord) -> Vec<RuleFinding> {
    let read = RuleInput { record, measured: measured_streams(record) };
    RULES.iter().filter_map(|rule| rule(&read)).collect()
}
