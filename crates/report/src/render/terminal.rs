//! The summary on a terminal: the answer first, then its judgments, in about twelve lines.
//!
//! Everything else is in the details, which `-v` prints below the answer. Must not compute anything, or print text from
//! the target unescaped.

mod lines;
#[cfg(test)]
pub(super) mod tests;

use highwater_analysis::judge::measured_streams;
use highwater_model::display::{foreign, with_unit};
use highwater_model::judgment::{Reason, ReasonCode};
use highwater_model::record::RecordRef;
use highwater_next::next_command;

use super::text::{details, page_of, text_of};
use crate::answer::Answer;
use crate::answer::Tone;
use crate::blocks::{Ink, Report, Table};
use crate::judgments::{self, JudgmentWords};
use crate::kinds;
use crate::layout::{Remark, blocks, list};
use lines::{Line, Span, rendered};

/// The start of a hint.
const HINT: &str = "hint: ";
/// Maximum characters of a line before it wraps.
const WORDS: usize = 400;
/// Maximum rows of a table; the details have all of them.
const ROWS_SHOWN: usize = 8;
/// Maximum reasons if a single judgment is not good; with several, each has its first reason. The others are counted.
const REASONS_SHOWN: usize = 2;
/// Columns of the terminal for which lines are counted; a narrower one wraps them.
const COLUMNS: usize = 100;
/// Maximum lines if all judgments are good, including empty lines; tables have a separate limit.
const GOOD_MAX: usize = 17;
/// Maximum lines if a judgment is not good.
const BAD_MAX: usize = 22;
/// Labels of lines in the order of removal: the user's own input goes before results.
const LEFT_OUT_FIRST: [&str; 12] = [
    "target",
    "load",
    "search",
    "based on",
    "basis",
    "changed",
    "also",
    "note",
    "estimate",
    "predictions",
    "repeat",
    "finding",
];

/// A summary before it is fitted to a terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    answer: Vec<Line>,
    blocks: Vec<Vec<Line>>,
    /// The text that `-v` adds below the answer.
    details: String,
}

/// The summary of a record; `directory` is where it is stored, as the user would type it.
pub fn summary<'a>(record: impl Into<RecordRef<'a>>, directory: &str) -> Summary {
    let record = record.into();
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let report = kinds::report(record, run, &measured);
    let next = next_command(record, &measured, directory);
    let mut about = facts(&report);
    about.push(Line::labeled("target", kinds::of_target(record, run)));
    let page = page_of(record, directory).map(|page| foreign(&page, WORDS));
    let record_at = Some(foreign(directory, WORDS));
    let end = [("record", record_at), ("report", page), ("next:", next.clone())];
    about.extend(
        end.into_iter().filter_map(|(label, text)| Some(Line::Whole { label, text: text? })),
    );
    let is_good = judgments::remarked(record).all(|(judged, _)| is_good(&judged));
    let mut first = answer(&report);
    if let (true, Some(Line::Answer(parts))) = (run.target.simulated, first.first_mut()) {
        parts.insert(parts.len().min(1), Span::new(Ink::Open, "simulated"));
    }
    let summary = Summary {
        answer: first,
        blocks: vec![judged(record), about],
        details: details(record, &report, next, directory),
    };
    summary.within(if is_good { GOOD_MAX } else { BAD_MAX })
}

impl Summary {
    /// The summary of reports without a record, one below the other.
    pub(crate) fn of_reports(reports: &[Report]) -> Self {
        let mut all = reports.iter().flat_map(|report| {
            let assumed = report.answer.assumptions.iter().cloned();
            let assumed: Vec<Line> = Remark::listed("assumed", assumed).map(line).collect();
            [[answer(report), facts(report)].concat(), assumed]
        });
        let answer = all.next().unwrap_or_default();
        Self { answer, blocks: all.collect(), details: text_of(reports) }
    }

    /// The answer alone, in one line.
    pub fn answer(&self) -> String {
        let first = self.answer.iter().take(1);
        first.flat_map(|line| rendered(line, usize::MAX, &without_color)).collect()
    }

    /// For a terminal with `columns` columns; `paint` colors a word.
    pub fn short(&self, columns: usize, paint: &dyn Fn(Ink, &str) -> String) -> String {
        blocks(
            self.lines().map(|block| {
                block.iter().flat_map(|line| rendered(line, columns, paint)).collect()
            }),
        )
    }

    /// The answer and all details.
    pub fn full(&self, columns: usize, paint: &dyn Fn(Ink, &str) -> String) -> String {
        let answer = self.answer.iter().flat_map(|line| rendered(line, columns, paint));
        format!("{}\n{}", blocks([answer.collect()]), paint(Ink::Plain, &self.details))
    }

    /// The lines of all blocks that are not empty.
    fn lines(&self) -> impl Iterator<Item = &Vec<Line>> {
        std::iter::once(&self.answer).chain(&self.blocks).filter(|block| !block.is_empty())
    }

    /// Shortens the summary to `most` lines and names the removed labels.
    fn within(mut self, most: usize) -> Self {
        let mut left_out: Vec<&str> = Vec::new();
        for label in LEFT_OUT_FIRST {
            // The line that names the removed labels counts, too.
            let named = usize::from(!left_out.is_empty());
            if self.length() + named <= most {
                break;
            }
            let before = self.length();
            for block in &mut self.blocks {
                block.retain(|line| !line.is_labeled(label));
            }
            if self.length() < before {
                left_out.push(label);
            }
        }
        if let Some(block) = self.blocks.iter_mut().rev().find(|block| !block.is_empty())
            && !left_out.is_empty()
        {
            let more = Line::labeled("more", format!("-v shows {}", list(left_out, ", ")));
            let at = block.iter().position(|line| matches!(line, Line::Whole { .. }));
            block.insert(at.unwrap_or(block.len()), more);
        }
        self
    }

    /// Number of printed lines, except tables, with the empty lines between blocks.
    fn length(&self) -> usize {
        let lengths = self.lines().map(|block| {
            let lines = block.iter().filter(|line| !is_table(line));
            1 + lines.map(|line| rendered(line, COLUMNS, &without_color).len()).sum::<usize>()
        });
        lengths.sum::<usize>().saturating_sub(1)
    }
}

/// Prints without color.
pub fn without_color(_: Ink, text: &str) -> String {
    text.to_owned()
}

/// Whether it is a table, which has a separate limit.
const fn is_table(line: &Line) -> bool {
    matches!(line, Line::Table { .. })
}

/// The answer in one line, and the first rows of its table.
fn answer(report: &Report) -> Vec<Line> {
    let failed = report.answer.failed.iter();
    let mut parts: Vec<Span> =
        failed.map(|text| Span::new(Ink::Bad, foreign(text, WORDS))).collect();
    if report.first_line.is_empty() {
        parts.extend(figure(&report.answer));
    } else {
        parts.extend(report.first_line.iter().map(|(ink, text)| Span::new(*ink, text)));
    }
    let below = report.below.iter().map(|text| Line::Below(text.clone()));
    let mut lines = vec![Line::Answer(parts)];
    lines.extend(below);
    lines.extend(report.brief.iter().flat_map(first_rows));
    lines
}

/// The figure with its condition, why it must not be quoted, its interval, and its basis.
fn figure(answer: &Answer) -> Vec<Span> {
    let ink = match answer.tone {
        Tone::None => Ink::Strong,
        tone => tone.ink(),
    };
    let figure = with_unit(&answer.figure, &answer.unit);
    let figure = list([answer.lead.as_str(), &figure].into_iter().filter(|of| !of.is_empty()), " ");
    let caveat = answer.caveat.map(|caveat| Span::new(Ink::Open, caveat));
    let others = [&answer.interval, &answer.basis].map(|of| Span::plain(of.as_str()));
    [Span::new(ink, figure), Span::plain(answer.condition.as_str())]
        .into_iter()
        .chain(caveat)
        .chain(others)
        .collect()
}

/// The first rows below their head, and the number of the others.
fn first_rows(table: &Table) -> Vec<Line> {
    let more = table.rows.len().saturating_sub(1 + ROWS_SHOWN);
    if table.rows.len() < 2 {
        return Vec::new();
    }
    let rows = table.rows.iter().take(1 + ROWS_SHOWN).cloned().collect();
    let caption = table.caption.iter().cloned().map(line);
    let table = Line::Table { rows, words: table.words };
    let rest = (more > 0).then(|| Line::Below(format!("and {more} more (-v)")));
    caption.chain([table]).chain(rest).collect()
}

/// The first sentence of each label, and the number of the others.
fn facts(report: &Report) -> Vec<Line> {
    let groups = report.facts.chunk_by(|_, next| next.label.is_empty());
    groups
        .filter_map(|group| {
            let (first, others) = group.split_first()?;
            let sentence = and_more(&foreign(&first.sentence, WORDS), others.len());
            Some(Line::labeled(&first.label, sentence))
        })
        .collect()
}

fn line(remark: Remark) -> Line {
    Line::labeled(&remark.label, remark.sentence)
}

/// A sentence about several items, of which the first is shown.
fn and_more(first: &str, more: usize) -> String {
    match more {
        0 => first.to_owned(),
        more => {
            let first = first.strip_suffix('.').unwrap_or(first);
            format!("{first}; and {more} more (-v)")
        }
    }
}

/// The three judgments, and the distinct reasons of each that is not good: one per line, with its figure. A hint that
/// two of them share is printed once, after the last.
fn judged(record: RecordRef<'_>) -> Vec<Line> {
    let not_good = judgments::remarked(record).filter(|(judged, _)| !is_good(judged));
    let most = if not_good.count() > 1 { 1 } else { REASONS_SHOWN };
    let all = judgments::remarked(record);
    let lines: Vec<Line> =
        all.flat_map(|(judged, remark)| judgment(judged, remark, most)).collect();
    let is_repeated = |at: usize| is_hint(&lines[at]) && lines[at + 1..].contains(&lines[at]);
    let kept = (0..lines.len()).filter(|at| !is_repeated(*at));
    kept.map(|at| lines[at].clone()).collect()
}

fn is_hint(line: &Line) -> bool {
    matches!(line, Line::Below(text) if text.starts_with(HINT))
}

const fn is_good(judged: &JudgmentWords<'_>) -> bool {
    matches!(judged.tone, Tone::Good | Tone::None)
}

fn judgment(judged: JudgmentWords<'_>, remark: String, reasons: usize) -> Vec<Line> {
    let is_good = is_good(&judged);
    let value = if is_good { judged.value.to_owned() } else { judged.value.to_uppercase() };
    let (name, value) = (judged.name.to_lowercase(), Span::new(judged.tone.ink(), value));
    let mut lines = vec![Line::judged(&name, value, remark)];
    let different = different(judged.reasons);
    // A note on a good judgment has one line; the reasons of a bad one are more important.
    let most = if is_good { 1 } else { reasons };
    let shown: Vec<&Reason> = different.into_iter().take(most).collect();
    let more = judged.reasons.len() - shown.len();
    let last = shown.len().saturating_sub(1);
    for (at, reason) in shown.iter().enumerate() {
        let sentence = foreign(&reason.sentence(), WORDS);
        let sentence = format!("{sentence} [{}]", reason.code.name());
        let more = if at == last { more } else { 0 };
        lines.push(Line::Below(and_more(&sentence, more)));
    }
    let hint = shown.iter().find_map(|reason| reason.hint.as_ref());
    if let Some(hint) = hint.filter(|_| !is_good) {
        lines.push(Line::Below(format!("{HINT}{hint}")));
    }
    lines
}

/// The first reason of each code, in order: others with this code are about another stream or step.
fn different(reasons: &[Reason]) -> Vec<&Reason> {
    let mut codes: Vec<ReasonCode> = Vec::new();
    let mut is_new = |reason: &&Reason| {
        let is_new = !codes.contains(&reason.code);
        codes.push(reason.code);
        is_new
    };
    reasons.iter().filter(|reason| is_new(reason)).collect()
}
