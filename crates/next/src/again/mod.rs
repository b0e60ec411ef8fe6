//! The command that repeats a run or experiment exactly, from the record's plan and the user's flags.

pub(crate) mod group;
pub(crate) mod run;
pub(crate) mod scale;
pub(crate) mod search;
pub(crate) mod tune;

use highwater_model::record::{Question, RecordRef};

/// The command, without passwords, which are not in records.
pub fn again(record: RecordRef<'_>) -> String {
    match record {
        RecordRef::Experiment(experiment) => match &experiment.question {
            Question::Tune(tune) => tune::again(experiment.into(), tune),
            Question::Search(search) => search::again(experiment.into(), search, 1),
            Question::Group(group) => group::again(experiment, group),
            Question::Scale(scale) => scale::again(experiment, scale),
        },
        RecordRef::Run(_) | RecordRef::Imported(_) => run::again(&record.measured_run()),
    }
}
