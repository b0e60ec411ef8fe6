//! The summary of a run as Markdown, for the page of a pipeline or a comment on a change.
//!
//! Has the same figures as the text summary. Text from the target is escaped.

use crate::comparison;
use crate::findings::findings as rules;
use highwater_analysis::group::comparisons;
use highwater_analysis::judge::measured_streams;
use highwater_model::judgment::Reason;
use highwater_model::record::{ExperimentRecord, RecordRef};
use highwater_sizing::growth::report;

use super::layout::{Row, joined, list};
use super::limit;
use super::markdown_words::{plain, table};
use highwater_next::next_command;

use super::text::judged::{self, Tone};
use super::text::{counts, group, head, ops, scale, search, tail};

/// The summary; `directory` is where the record is stored.
pub fn markdown<'a>(record: impl Into<RecordRef<'a>>, directory: &str) -> String {
    let record = record.into();
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let lines = head::lines(run, &measured);
    // The line of a target is its name, three spaces, and its description.
    let first = lines.first().map_or("", String::as_str);
    let (title, traits) = first.split_once("   ").unwrap_or((first, ""));
    let mut blocks = vec![format!("## {}", plain(title)), plain(traits)];
    blocks.extend(lines.iter().skip(1).map(|line| plain(line)));
    blocks.extend(limited(record));
    blocks.push(judgments(record));
    if let Some(of_search) = record.experiment().and_then(ExperimentRecord::search) {
        blocks.push(broken(&search::outcome(of_search)));
        blocks.push(table(&search::table(of_search), 1));
    } else if let Some(of_group) = record.experiment().and_then(ExperimentRecord::group) {
        for (variant, comparison) in comparisons(of_group) {
            blocks.extend(comparison::blocks(group::names(of_group, variant), &comparison));
        }
        blocks.push(table(&group::variants(of_group), 1));
        blocks.push(table(&group::table(of_group), 1));
    } else if let Some(of_growth) = record.experiment().and_then(ExperimentRecord::scale) {
        let grown = report(of_growth);
        blocks.push(broken(&scale::answer_lines(of_growth, &grown)));
        blocks.push(table(&scale::growth_table(of_growth, &grown), 0));
        let by_op = scale::by_op_table(&grown);
        if !by_op.is_empty() {
            blocks.push(plain(&format!("Each op: {}", scale::by_op_sentence(of_growth))));
            blocks.push(table(&by_op, 0));
        }
        blocks.push(table(&scale::table(of_growth), 1));
    } else {
        let head = Row::new(["", "offered", "sent", "acknowledged", "found"]);
        let rows = counts::rows(run, &measured);
        blocks.push(table(&[vec![head], rows].concat(), 1));
        if let Some((rows, words)) = ops::table(run, &measured) {
            blocks.push(table(&rows, words));
        }
        blocks.push(format!("Availability: {}", tail::availability(run)));
    }
    let findings = rules(record);
    let findings = findings.iter().map(|finding| {
        let sentence = format!("{}: {}", finding.sentence, finding.evidence);
        format!("- {} Try: {}", plain(&sentence), plain(finding.hint))
    });
    blocks.push(list(findings, "\n"));
    blocks.push(format!("Record: `{}`", directory.replace('`', "")));
    let next = next_command(record, &measured, directory);
    blocks.extend(next.map(|next| format!("```sh\n{}\n```", next.replace('`', ""))));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

/// One line below the other.
fn broken(lines: &[String]) -> String {
    list(lines.iter().map(|line| plain(line)), "  \n")
}

/// The limit; a search prints it next to its mark.
fn limited(record: RecordRef<'_>) -> Option<String> {
    let run = record.measured_run();
    let (label, sentence) = limit::line(run.limit.as_ref()?);
    let is_run = record.experiment().is_none();
    is_run.then(|| plain(&format!("{label}: {sentence}")))
}

fn judgments(record: RecordRef<'_>) -> String {
    let mut lines = vec!["| judgment | | |".to_owned(), "|---|---|---|".to_owned()];
    lines.extend(judged::remarked(record).map(|(of, remark)| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture;

    #[test]
    fn a_pipeline_shows_judgments_counts_and_ops() {
        insta::assert_snapshot!(markdown(&fixture::open_steps(), "highwater-runs/a"));
    }

    #[test]
    fn what_a_target_says_is_no_markup() {
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
