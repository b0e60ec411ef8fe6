//! The kinds of results, a file each: the question that it answers, the figure that answers it, and everything below.
//!
//! A kind makes a [`Report`]; it knows no output. What every record has besides is in `notes`.

pub(crate) mod comparison;
pub(crate) mod group;
pub(crate) mod growth;
pub(crate) mod growth_comparison;
mod import;
pub(crate) mod notes;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod size;
pub(crate) mod tuning;

use highwater_analysis::judge::MeasuredStream;
use highwater_model::record::{MeasuredRun, Question, RecordRef, RunRecord};

use crate::answer::Answer;
use crate::answer::{HistoryAnswer, HistoryKind};
use crate::blocks::{Report, Section};
use crate::judgments;
use crate::plots;

/// The report of a record.
pub(crate) fn report(
    record: RecordRef<'_>,
    run: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
) -> Report {
    let mut report = match record.experiment() {
        None => run::report(record, run, measured),
        Some(experiment) => of_question(run, &experiment.question),
    };
    if record.experiment().is_some() {
        report.facts.extend(notes::changed(record));
    }
    report.answer.judgments = judgments::lines(record, measured);
    report
}

/// The report of an experiment, without judgments.
pub(crate) fn of_question(run: &MeasuredRun<'_>, question: &Question) -> Report {
    match question {
        Question::Search(search) => search::report(run, search),
        Question::Tune(tune) => tuning::report(run, tune),
        Question::Group(group) => group::report(run, group),
        Question::Scale(scale) => growth::report(run, scale),
    }
}

/// The answer of a run that may still be in progress.
pub(crate) fn run_answer(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Answer {
    let judgments = judgments::lines(record.into(), measured);
    Answer { judgments, ..run::answer(&record.into(), measured) }
}

/// The sections about the last run of an experiment.
pub(crate) fn last_run(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Vec<Section> {
    run::sections(run, measured, plots::over_time(run))
}

/// The kind of a record.
pub(crate) fn kind(record: RecordRef<'_>) -> HistoryKind {
    match record {
        RecordRef::Run(_) => HistoryKind::Run,
        RecordRef::Imported(_) => HistoryKind::Imported,
        RecordRef::Experiment(of) => match of.question {
            Question::Search(_) => HistoryKind::Search,
            Question::Tune(_) => HistoryKind::Tuning,
            Question::Group(_) => HistoryKind::Group,
            Question::Scale(_) => HistoryKind::Growth,
        },
    }
}

/// The figure of the answer as a number, for a list of records.
pub(crate) fn value(record: RecordRef<'_>) -> Option<HistoryAnswer> {
    match record.experiment().map(|of| &of.question) {
        None => run::value(&record.measured_run()),
        Some(Question::Search(search)) => search::value(search),
        Some(Question::Tune(tune)) => tuning::value(tune),
        Some(Question::Scale(scale)) => growth::value(scale),
        Some(Question::Group(_)) => None,
    }
}
