//! The command that asks the same again, exactly: from the record's plan and what the user gave.

use highwater_model::record::{Question, RecordRef};

use super::{group, same_run, scale, search, tune};

/// The command; passwords are in no record and so not in it.
pub(crate) fn repeat(record: RecordRef<'_>) -> String {
    match record {
        RecordRef::Experiment(experiment) => match &experiment.question {
            Question::Tune(tune) => tune::again(experiment.into(), tune),
            Question::Search(search) => search::again(experiment.into(), search, 1),
            Question::Group(group) => group::again(experiment, group),
            Question::Scale(scale) => scale::again(experiment, scale),
        },
        RecordRef::Run(_) | RecordRef::Imported(_) => same_run::command(&record.measured_run()),
    }
}
