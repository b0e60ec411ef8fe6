//! The summary of a run as text: about fifteen lines, three judgments, one command to go on.
//!
//! Understandable without color; it holds no escape codes, and nothing that a target says can
//! bring one in.

pub(super) mod counts;
pub(super) mod head;
pub(super) mod judged;
mod next;
pub(super) mod ops;
mod repeat;
pub(super) mod search;
pub(super) mod tail;
pub(super) mod target;
#[cfg(test)]
mod tests;
pub(super) mod tune;

pub use next::quoted;
pub(super) use repeat::repeat;
pub use search::probe_line;
pub use tune::trial_line;

use highwater_analysis::judge::{MeasuredStream, measured_streams};
use highwater_model::record::RunRecord;

/// The summary; names the record by its id.
pub fn text(record: &RunRecord) -> String {
    text_at(record, &record.id)
}

/// The summary; `directory` is where the record is stored, as the user would type it.
pub fn text_at(record: &RunRecord, directory: &str) -> String {
    let measured = measured_streams(record);
    let next = next_command(record, &measured, directory);
    if let Some(of_tuning) = &record.tune {
        let mut blocks = tune::blocks(record, of_tuning);
        blocks.push(end(record, directory, &next));
        return joined(&blocks);
    }
    if let Some(of_search) = &record.search {
        let mut blocks = search::blocks(record, of_search);
        blocks.push(end(record, directory, &next));
        return joined(&blocks);
    }
    let blocks = [
        head::lines(record, &measured),
        counts::lines(record, &measured),
        ops::lines(record, &measured),
        tail::lines(record, &measured),
        end(record, directory, &next),
    ];
    joined(&blocks)
}

/// The one command that goes on from here.
pub(super) fn next_command(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
    directory: &str,
) -> String {
    match (&record.tune, &record.search) {
        (Some(of_tuning), _) => tune::command(record, of_tuning, directory),
        (None, Some(of_search)) => search::command(record, of_search, measured),
        (None, None) => next::command(record, measured, directory),
    }
}

/// The judgments, the record and the next command: one block to the eye.
fn end(record: &RunRecord, directory: &str, next: &str) -> Vec<String> {
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
