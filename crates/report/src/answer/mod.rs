//! The answer of a record: its question in words, the one figure that answers it with its interval, the limit, three
//! judgments with a sentence each, and a few key figures.
//!
//! Every output starts with the answer. Must not judge, compute a figure, or depend on markup.

mod compared;
mod group;
mod growths;
mod judged;
mod parts;
mod run;
mod scale;
mod search;
mod size;
#[cfg(test)]
mod tests;
mod tune;

use highwater_analysis::judge::MeasuredStream;
use highwater_model::record::{Question, RecordRef};

pub(crate) use compared::{compared, titles};
pub(crate) use growths::growths;
pub(crate) use judged::trials;
pub(crate) use parts::{Answer, JudgmentLine, KeyFigure, LimitLine, plural, to_the_second};
pub(crate) use run::main_stream;
pub(crate) use size::size;

/// The answer of a record.
pub(crate) fn answer(record: RecordRef<'_>, measured: &[MeasuredStream<'_>]) -> Answer {
    let run = &record.measured_run();
    let judged = record.judgments();
    let answer = match record.experiment().map(|of| &of.question) {
        None => run::run(run, measured),
        Some(Question::Search(search)) => search::search(run, search),
        Some(Question::Tune(tune)) => tune::tune(run, tune),
        Some(Question::Group(group)) => group::group(run, group),
        Some(Question::Scale(scale)) => scale::scale(run, scale),
    };
    Answer { judgments: judged::lines(record, measured), ..answer }.cautioned(judged)
}

/// The kind of page, and of command, that produced a record.
pub(crate) fn kind(record: RecordRef<'_>) -> &'static str {
    match (record, record.experiment().map(|of| &of.question)) {
        (_, Some(Question::Search(_))) => "Find",
        (_, Some(Question::Tune(_))) => "Tune",
        (_, Some(Question::Group(_))) => "Group",
        (_, Some(Question::Scale(_))) => "Scale",
        (RecordRef::Imported(_), _) => "Import",
        _ => "Run",
    }
}
