//! All findings about a record, in the order in which reports have them.

use highwater_analysis::findings::{self, RuleFinding};
use highwater_analysis::growth;
use highwater_model::record::{ExperimentRecord, RecordRef};
use highwater_sizing::batch_too_small;

/// Findings about an experiment as a whole, and about its last run.
pub(crate) fn findings(record: RecordRef<'_>) -> Vec<RuleFinding> {
    let experiment = record.experiment();
    let of_experiment = experiment.map(of_experiment).unwrap_or_default();
    let of_run = findings::findings(&record.measured_run());
    [of_experiment, of_run].concat()
}

fn of_experiment(experiment: &ExperimentRecord) -> Vec<RuleFinding> {
    let search = experiment.search();
    let of_search = search.and_then(findings::more_sessions_less);
    let of_growth = experiment.scale().map(growth::findings);
    batch_too_small(experiment)
        .into_iter()
        .chain(of_search)
        .chain(of_growth.into_iter().flatten())
        .collect()
}
