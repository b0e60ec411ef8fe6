//! A report as plain text: the details that `-v` prints below the summary.
//!
//! Must be understandable without color. It contains no escape codes, and text from the target cannot add any.

#[cfg(test)]
mod tests;

use highwater_analysis::judge::measured_streams;
use highwater_model::display::foreign;
use highwater_model::judgment::Reason;
use highwater_model::record::RecordRef;
use highwater_next::next_command;

use crate::answer::Tone;
use crate::blocks::{Block, Report, Section, Table};
use crate::events::settings_line;
use crate::judgments::{self};
use crate::kinds;
use crate::layout::{self, Row, aligned, headed, labeled, remark_lines};

/// Maximum characters of the sentence of one reason.
const EVIDENCE: usize = 400;
/// Maximum characters of a line of a paragraph.
const PARAGRAPH: usize = 88;
/// The head of the counts.
const COUNTS: &str = " | offered | sent | acknowledged | found";

/// The details of a record; identifies it by its ID.
pub fn text<'a>(record: impl Into<RecordRef<'a>>) -> String {
    let record = record.into();
    text_at(record, &record.header().id)
}

/// The details of a record; `directory` is where it is stored, as the user would type it.
pub fn text_at<'a>(record: impl Into<RecordRef<'a>>, directory: &str) -> String {
    let record = record.into();
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let report = kinds::report(record, run, &measured);
    details(record, &report, next_command(record, &measured, directory), directory)
}

/// The report of a record, then its notes, judgments, directory, and the next command.
pub(super) fn details(
    record: RecordRef<'_>,
    report: &Report,
    next: Option<String>,
    directory: &str,
) -> String {
    let notes = kinds::section(record);
    let mut blocks = vec![report.opening.clone()];
    blocks.extend(lines(report.sections.iter().chain([&notes])));
    // The judgments, the record, and the next command form one block.
    let mut end = judged(record);
    if let Some(file) = &record.header().settings_file {
        end.push(labeled("", &settings_line(file)));
    }
    end.push(labeled("record", directory));
    end.extend(page_of(record, directory).map(|page| labeled("report", &page)));
    end.extend(next.map(|next| labeled("next:", &next)));
    blocks.push(end);
    layout::blocks(blocks)
}

/// The page of a record that is stored in a directory; absent if only its ID is known.
pub(super) fn page_of(record: RecordRef<'_>, directory: &str) -> Option<String> {
    let directory = directory.trim_end_matches("/record.json");
    (directory != record.header().id).then(|| format!("{directory}/report.html"))
}

/// Reports without a record, one below the other.
pub(crate) fn text_of(reports: &[Report]) -> String {
    layout::blocks(
        reports.iter().flat_map(|report| {
            std::iter::once(report.opening.clone()).chain(lines(&report.sections))
        }),
    )
}

/// The blocks of sections. Sections that consist only of sentences follow each other without an
/// empty line.
fn lines<'a>(sections: impl IntoIterator<Item = &'a Section>) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    let mut is_open = false;
    for section in sections {
        let blocks = || section.blocks.iter().filter(|block| !block_lines(block).is_empty());
        let only_remarks = blocks().all(|block| matches!(block, Block::Remarks(_)));
        match all.last_mut() {
            Some(last) if is_open && only_remarks => last.extend(blocks().flat_map(block_lines)),
            _ => all.extend(blocks().map(block_lines)),
        }
        is_open = only_remarks;
    }
    all
}

/// The lines of a block; empty if only pages have it.
fn block_lines(block: &Block) -> Vec<String> {
    match block {
        Block::Heading(text) => vec![text.clone()],
        Block::Remarks(remarks) => remark_lines(remarks),
        Block::Table(table) if table.rows.len() > 1 => table_lines(table, &table.rows),
        Block::Counts(table) if !table.rows.is_empty() => table_lines(table, &counts(&table.rows)),
        Block::Paragraph(text) => wrapped(text),
        Block::Lines(lines) => lines.clone(),
        Block::Folded(_, blocks) => blocks.iter().flat_map(block_lines).collect(),
        _ => Vec::new(),
    }
}

fn table_lines(table: &Table, rows: &[Row]) -> Vec<String> {
    let mut lines = remark_lines(table.caption.as_slice());
    lines.extend(aligned(rows, table.words));
    lines.extend(remark_lines(&table.notes));
    lines
}

/// The counts with their head.
pub(super) fn counts(rows: &[Row]) -> Vec<Row> {
    headed(COUNTS, rows.iter().cloned())
}

/// The judgments with their reasons. Values that are not good are in upper case.
fn judged(record: RecordRef<'_>) -> Vec<String> {
    judgments::remarked(record)
        .flat_map(|(judged, remark)| {
            let value = match judged.tone {
                Tone::Good | Tone::None => judged.value.to_owned(),
                Tone::Bad | Tone::Open => judged.value.to_uppercase(),
            };
            let name = judged.name.to_lowercase();
            let line = labeled(&name, &format!("{value:<11} {remark}"));
            std::iter::once(line).chain(judged.reasons.iter().flat_map(reason_lines))
        })
        .collect()
}

fn reason_lines(reason: &Reason) -> Vec<String> {
    let sentence = foreign(&reason.sentence(), EVIDENCE);
    let mut lines = vec![format!("  {sentence} [{}]", reason.code.name())];
    lines.extend(reason.hint.iter().map(|hint| format!("    hint: {hint}")));
    lines
}

/// A paragraph in lines; never breaks a word.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= PARAGRAPH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
