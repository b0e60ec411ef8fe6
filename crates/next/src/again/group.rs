//! The command that repeats a group of runs. Must not decide when it is proposed.

use highwater_model::group::GroupRecord;
use highwater_model::record::ExperimentRecord;

use super::run;
use crate::commands;

/// The command that repeats the group, without passwords, which are not in records.
pub(crate) fn again(experiment: &ExperimentRecord, group: &GroupRecord) -> String {
    let mut run = experiment.last_run.clone();
    if let Some(baseline) = group.variants.first() {
        run.target.urls.clone_from(&baseline.urls);
    }
    let mut command = run::again(&run);
    command += &format!(" --repeat {}", group.times);
    for variant in &group.variants {
        if let Some(shell) = &variant.command {
            let given = format!("{}={shell}", variant.name);
            command += &format!(" --variant {}", commands::quoted(&given));
        }
    }
    let others = group.variants.iter().skip(1);
    for other in others.filter(|other| other.command.is_none()) {
        for url in &other.urls {
            command += &format!(" --interleave {}", commands::quoted(url));
        }
    }
    if group.settle_ns > 0 {
        command += &format!(" --settle {}", commands::span(group.settle_ns));
    }
    if let Some(budget) = group.budget_ns {
        command += &format!(" --budget {}", commands::span(budget));
    }
    command
}
