//! The summary of a run as text: about fifteen lines, three judgements, one command to go on.
//!
//! Understandable without colour; it holds no escape codes, and nothing that a target says can
//! bring one in.

mod counts;
mod head;
mod judged;
mod next;
mod ops;
pub(super) mod table;
mod tail;
#[cfg(test)]
mod tests;

use crate::analysis::judge::measured_streams;
use crate::model::record::RunRecord;

/// The summary; names the record by its id.
pub fn text(record: &RunRecord) -> String {
    text_at(record, &record.id)
}

/// The summary; `directory` is where the record is stored, as the user would type it.
pub fn text_at(record: &RunRecord, directory: &str) -> String {
    let measured = measured_streams(record);
    let blocks = [
        head::lines(record, &measured),
        counts::lines(record, &measured),
        ops::lines(record, &measured),
        tail::lines(record, &measured),
        judged::lines(record),
        vec![
            table::labelled("record", directory),
            table::labelled("next:", &next::command(record, &measured, directory)),
        ],
    ];
    let mut text = String::new();
    // The judgements, the record and the next command are one block to the eye.
    for (index, block) in blocks.iter().enumerate().filter(|(_, b)| !b.is_empty()) {
        if index > 0 && index < 5 {
            text.push('\n');
        }
        for line in block {
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}
