//! The command that repeats a search, with a longer time. Must not decide when it is proposed.

use highwater_model::plan::Objective;
use highwater_model::record::ExperimentRecord;
use highwater_model::search::{SearchAxis, SearchRecord};

use crate::commands::{self, Repeated};

/// The same search with its time multiplied by `longer`.
pub(crate) fn again(record: Repeated<'_>, search: &SearchRecord, longer: u64) -> String {
    again_without(record, search, longer, &[])
}

/// The same search with the length of its probes, and its time, multiplied by `times`.
pub(crate) fn longer_probes(
    experiment: &ExperimentRecord,
    search: &SearchRecord,
    times: u64,
) -> String {
    let again = again_without(experiment.into(), search, times, &["probe", "quick"]);
    let probe = commands::span(search.policy.probe_ns.saturating_mul(times));
    format!("{again} --probe {probe}")
}

/// The same search with confirmations as long as its soak.
pub(crate) fn longer_confirmations(experiment: &ExperimentRecord, search: &SearchRecord) -> String {
    let again = again_without(experiment.into(), search, 2, &["confirm", "quick"]);
    let policy = &search.policy;
    let held = policy.confirmation_ns.max(policy.soak_ns.unwrap_or(0));
    format!("{again} --confirm {}", commands::span(held))
}

fn again_without(
    record: Repeated<'_>,
    search: &SearchRecord,
    longer: u64,
    without: &[&str],
) -> String {
    let mut command = commands::base("find", record, without);
    if record.plan.definition.streams.len() > 1 {
        for stream in &record.plan.definition.streams {
            command += &commands::searching_flag(stream, stream.name == search.stream);
        }
    }
    if search.axis == SearchAxis::Sessions {
        command += " --axis sessions";
    }
    for objective in &search.objective.stated {
        if *objective != (Objective::Rejected { max_ppm: 0 }) {
            command += &commands::flag(objective);
        }
    }
    if let Some(soak) = search.policy.soak_ns {
        command += &format!(" --then soak={}", commands::span(soak));
    }
    if let Some(budget) = search.policy.budget_ns {
        let longer = commands::span(budget.saturating_mul(longer));
        command += &format!(" --budget {longer}");
    }
    command
}
