//! The summary of a run as text: about fifteen lines, three judgments, one command to go on.
//!
//! Understandable without color; it holds no escape codes, and nothing that a target says can
//! bring one in.

pub(super) mod counts;
pub(super) mod group;
pub(super) mod head;
pub(super) mod judged;
mod next;
pub(super) mod ops;
mod repeat;
mod same_run;
pub(super) mod scale;
pub(super) mod search;
pub(super) mod tail;
pub(super) mod target;
#[cfg(test)]
mod tests;
pub(super) mod tune;

pub use group::group_trial_line;
pub use next::quoted;
pub(super) use repeat::repeat;
pub use scale::scale_trial_line;
pub use search::probe_line;
pub use tune::trial_line;

use highwater_analysis::judge::{MeasuredStream, measured_streams};
use highwater_model::record::{Question, RecordRef};

/// The summary; names the record by its id.
pub fn text<'a>(record: impl Into<RecordRef<'a>>) -> String {
    let record = record.into();
    text_at(record, &record.header().id)
}

/// The summary; `directory` is where the record is stored, as the user would type it.
pub fn text_at<'a>(record: impl Into<RecordRef<'a>>, directory: &str) -> String {
    let record = record.into();
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let mut blocks = match record {
        RecordRef::Experiment(experiment) => {
            let of_question = match &experiment.question {
                Question::Tune(tune) => tune::blocks(run, tune),
                Question::Search(search) => search::blocks(run, search),
                Question::Group(group) => group::blocks(run, group),
                Question::Scale(scale) => scale::blocks(run, scale),
            };
            [of_question, vec![tail::findings(record)]].concat()
        }
        RecordRef::Run(_) | RecordRef::Imported(_) => vec![
            head::lines(run, &measured),
            counts::lines(run, &measured),
            ops::lines(run, &measured),
            [tail::lines(run, &measured), tail::findings(record)].concat(),
        ],
    };
    let next = next_command(record, &measured, directory);
    blocks.push(end(record, directory, &next));
    joined(&blocks)
}

/// The one command that goes on from here.
pub(super) fn next_command(
    record: RecordRef<'_>,
    measured: &[MeasuredStream<'_>],
    directory: &str,
) -> String {
    match record {
        RecordRef::Experiment(experiment) => match &experiment.question {
            Question::Tune(tune) => tune::command(experiment.into(), tune, directory),
            Question::Search(search) => {
                search::command(experiment.into(), search, measured, directory)
            }
            Question::Group(group) => group::command(experiment, group, directory),
            Question::Scale(scale) => scale::command(experiment, scale, directory),
        },
        RecordRef::Run(run) => next::command(run, measured, directory),
        RecordRef::Imported(_) => next::show(directory, " --open"),
    }
}

/// The judgments, the record and the next command: one block to the eye.
fn end(record: RecordRef<'_>, directory: &str, next: &str) -> Vec<String> {
    let mut lines = judged::lines(record);
    lines.push(crate::layout::labeled("record", directory));
    lines.push(crate::layout::labeled("next:", next));
    lines
}

/// Blocks with an empty line between them.
fn joined(blocks: &[Vec<String>]) -> String {
    let blocks = blocks.iter().filter(|block| !block.is_empty());
    let mut text = String::new();
    for (index, block) in blocks.enumerate() {
        if index > 0 {
            text.push('\n');
        }
        for line in block {
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}
