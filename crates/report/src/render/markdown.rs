//! A report as Markdown, for the page of a pipeline or a comment on a change.
//!
//! Has the same figures as the text. Text from the target is escaped.

use highwater_analysis::judge::measured_streams;
use highwater_model::display::foreign;
use highwater_model::judgment::Reason;
use highwater_model::record::RecordRef;
use highwater_next::{again, next_command};

use super::text::counts;
use crate::answer::Tone;
use crate::blocks::{Block, Report, Section, Table};
use crate::judgments::{self};
use crate::kinds;
use crate::layout::{Remark, Row, joined, list};

/// Maximum characters of text from the target.
const WORDS: usize = 300;

/// The summary; `directory` is where the record is stored.
pub fn markdown<'a>(record: impl Into<RecordRef<'a>>, directory: &str) -> String {
    let record = record.into();
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let report = kinds::report(record, run, &measured);
    // A target's line consists of its name, three spaces, and its description.
    let first = report.opening.first().map_or("", String::as_str);
    let (title, traits) = first.split_once("   ").unwrap_or((first, ""));
    let not_good =
        judgments::remarked(record).filter(|(of, _)| matches!(of.tone, Tone::Bad | Tone::Open));
    let doubts = not_good.map(|(of, _)| format!("{} {}", of.name, of.value).to_uppercase());
    let doubts = list(doubts, ", ");
    let before = if doubts.is_empty() { doubts } else { format!("{doubts}: ") };
    // A headline is quoted without its context.
    let model = if run.target.simulated { "SIMULATED: " } else { "" };
    let mut all = vec![format!("**{model}{before}{}**", plain(&report.answer.in_words()))];
    all.extend(report.article.iter().map(|of| table(&of.rows, of.words)));
    all.extend([format!("## {}", plain(title)), plain(traits)]);
    all.extend(report.opening.iter().skip(1).map(|line| plain(line)));
    all.push(judged(record));
    all.extend(blocks(&report.sections));
    all.extend(blocks(&[kinds::section(record)]));
    let header = record.header();
    let version = foreign(&header.highwater.version, WORDS);
    all.push(format!("Record: `{}`, by Highwater {version}", directory.replace('`', "")));
    let is_ours = !matches!(record, RecordRef::Imported(_)) && !header.is_of_others;
    let repeat = is_ours.then(|| ("To repeat it:", again(record)));
    let next = next_command(record, &measured, directory).map(|next| ("Next:", next));
    for (label, command) in repeat.into_iter().chain(next) {
        all.push(format!("{label}\n\n```sh\n{}\n```", command.replace('`', "")));
    }
    joined_blocks(all)
}

/// Reports without a record, one below the other.
pub(crate) fn markdown_of(reports: &[Report]) -> String {
    joined_blocks(reports.iter().flat_map(|report| blocks(&report.sections)))
}

fn joined_blocks(blocks: impl IntoIterator<Item = String>) -> String {
    list(blocks.into_iter().filter(|block| !block.is_empty()), "\n\n") + "\n"
}

fn blocks(sections: &[Section]) -> Vec<String> {
    sections.iter().flat_map(|section| &section.blocks).flat_map(block).collect()
}

/// The Markdown of a block; nothing if only pages have it.
fn block(block: &Block) -> Vec<String> {
    match block {
        Block::Heading(text) => vec![format!("## {}", plain(text))],
        Block::Remarks(all) => vec![remarks(all)],
        Block::Table(of) if of.rows.len() > 1 => table_blocks(of, &of.rows),
        Block::Counts(of) if !of.rows.is_empty() => table_blocks(of, &counts(&of.rows)),
        Block::Paragraph(text) => vec![plain(text)],
        Block::Folded(_, blocks) => blocks.iter().flat_map(self::block).collect(),
        _ => Vec::new(),
    }
}

fn table_blocks(of: &Table, rows: &[Row]) -> Vec<String> {
    vec![remarks(of.caption.as_slice()), table(rows, of.words), remarks(&of.notes)]
}

fn remarks(remarks: &[Remark]) -> String {
    list(remarks.iter().map(remark), "\n")
}

fn remark(remark: &Remark) -> String {
    match remark.label.as_ref() {
        "" => format!("- {}", plain(&remark.sentence)),
        label => format!("- {label}: {}", plain(&remark.sentence)),
    }
}

fn judged(record: RecordRef<'_>) -> String {
    let mut lines = vec!["| judgment | | |".to_owned(), "|---|---|---|".to_owned()];
    lines.extend(judgments::remarked(record).map(|(of, remark)| {
        let value = match of.tone {
            Tone::Good | Tone::None => of.value.to_owned(),
            Tone::Bad => format!("**{}**", of.value.to_uppercase()),
            Tone::Open => format!("**{}**", of.value),
        };
        let why = joined([remark].into_iter().chain(of.reasons.iter().map(reason)));
        let (name, why) = (of.name.to_lowercase(), plain(&why));
        format!("| {name} | {value} | {why} |")
    }));
    lines.join("\n")
}

fn reason(reason: &Reason) -> String {
    format!("{} [{}]", reason.sentence(), reason.code.name())
}

/// The first row is the head; the first `words` columns hold words.
fn table(rows: &[Row], words: usize) -> String {
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let remarks = rows.iter().any(|row| !row.remark.is_empty());
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let cell = |column: usize| plain(row.cells.get(column).map_or("", String::as_str));
        let remark = remarks.then(|| plain(&row.remark));
        let cells = (0..columns).map(cell).chain(remark);
        lines.push(format!("| {} |", list(cells, " | ")));
        if number == 0 {
            let rule = (0..columns).map(|column| if column < words { "---" } else { "---:" });
            let rule = rule.chain(remarks.then_some("---"));
            lines.push(format!("|{}|", list(rule, "|")));
        }
    }
    lines.join("\n")
}

/// One line in which no character begins markup of Markdown or HTML.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    for character in foreign(text, WORDS).chars() {
        match character {
            '<' => shown.push_str("&lt;"),
            '&' => shown.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' => {
                shown.push('\\');
                shown.push(character);
            }
            other => shown.push(other),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture;

    #[test]
    fn a_pipeline_shows_judgments_counts_and_ops() {
        insta::assert_snapshot!(markdown(&fixture::open_steps(), "highwater-runs/a"));
    }

    #[test]
    fn text_from_a_target_is_no_markup() {
        let mut op = fixture::gate_op();
        op.errors = vec![("rejected", 3)];
        let mut record = fixture::judged(fixture::open_gate_of(&op));
        record.target.version = "<script>alert(1)</script> | [x](http://e) `x`".to_owned();
        let text = markdown(&record, "a");
        let is_markup = text.contains("<script>") || text.contains("[x](");
        let said = "&lt;script>alert(1)&lt;/script> \\| \\[x\\]";
        assert!(!is_markup && text.contains(said), "{text}");
    }
}
