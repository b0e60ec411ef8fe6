//! The summary of a run as Markdown, for the page of a pipeline or a comment on a change.
//!
//! The figures are those of the text summary. A target's own words cannot become markup.

use crate::findings::findings as rules;
use highwater_analysis::judge::measured_streams;
use highwater_model::display::foreign;
use highwater_model::judgment::{Data, Measurement, ObjectiveValue, Reason};
use highwater_model::record::{ExperimentRecord, RecordRef};

use super::layout::Row;
use super::text::{counts, head, judged, next_command, ops, search, tail};

/// Characters of a target's own words.
const WORDS: usize = 300;

/// The summary; `directory` is where the record is stored.
pub fn markdown<'a>(record: impl Into<RecordRef<'a>>, directory: &str) -> String {
    let record = record.into();
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let lines = head::lines(run, &measured);
    // The line of a target is its name and, behind three spaces, what it is.
    let first = lines.first().map_or("", String::as_str);
    let (title, traits) = first.split_once("   ").unwrap_or((first, ""));
    let mut blocks = vec![format!("## {}", plain(title)), plain(traits)];
    blocks.extend(lines.iter().skip(1).map(|line| plain(line)));
    blocks.push(judgments(record));
    if let Some(of_search) = record.experiment().and_then(ExperimentRecord::search) {
        let lines = search::outcome(of_search);
        blocks.push(
            lines
                .iter()
                .map(|line| plain(line))
                .collect::<Vec<_>>()
                .join("  \n"),
        );
        blocks.push(table(&search::table(of_search), 1));
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
    blocks.push(findings.collect::<Vec<_>>().join("\n"));
    blocks.push(format!("Record: `{}`", directory.replace('`', "")));
    let next = next_command(record, &measured, directory);
    blocks.push(format!("```sh\n{}\n```", next.replace('`', "")));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

fn judgments(record: RecordRef<'_>) -> String {
    let (judged, run) = (record.judgments(), record.measured_run());
    let measurement = match judged.measurement.value {
        Measurement::Valid => "valid",
        Measurement::Invalid => "**INVALID**",
        Measurement::Inconclusive => "**inconclusive**",
    };
    let data = match judged.data.value {
        Data::Clean => "clean",
        Data::Lost => "**LOST**",
        Data::Duplicated => "**DUPLICATED**",
        Data::Surplus => "**SURPLUS**",
        Data::Altered => "**ALTERED**",
        Data::Unverified => "**unverified**",
        Data::NotChecked => "not checked",
    };
    let objective = match judged.objective.value {
        ObjectiveValue::Met => "met",
        ObjectiveValue::Missed => "**MISSED**",
        ObjectiveValue::NotDecided => "**not decided**",
        ObjectiveValue::NoneSet => "none set",
    };
    let rows = [
        (
            "measurement",
            measurement,
            String::new(),
            &judged.measurement.reasons,
        ),
        ("data", data, judged::audited(&run), &judged.data.reasons),
        (
            "objective",
            objective,
            judged::objectives(&run),
            &judged.objective.reasons,
        ),
    ];
    let mut lines = vec!["| judgment | | |".to_owned(), "|---|---|---|".to_owned()];
    lines.extend(rows.map(|(name, value, remark, reasons)| {
        let why = [remark].into_iter().chain(reasons.iter().map(reason));
        let why: Vec<String> = why.filter(|text| !text.is_empty()).collect();
        format!("| {name} | {value} | {} |", plain(&why.join(" · ")))
    }));
    lines.join("\n")
}

fn reason(reason: &Reason) -> String {
    format!("{} [{}]", reason.sentence(), reason.code.name())
}

/// The first row is the head; the first `words` columns hold words.
pub(super) fn table(rows: &[Row], words: usize) -> String {
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let remarks = rows.iter().any(|row| !row.remark.is_empty());
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let cell = |column| {
            row.cells
                .get(column)
                .map_or_else(String::new, |c: &String| plain(c))
        };
        let mut cells: Vec<String> = (0..columns).map(cell).collect();
        if remarks {
            cells.push(plain(&row.remark));
        }
        lines.push(format!("| {} |", cells.join(" | ")));
        if number == 0 {
            let mut rule: Vec<&str> = (0..columns)
                .map(|column| if column < words { "---" } else { "---:" })
                .collect();
            rule.extend(remarks.then_some("---"));
            lines.push(format!("|{}|", rule.join("|")));
        }
    }
    lines.join("\n")
}

/// One line in which no character begins markup of either kind.
pub(super) fn plain(text: &str) -> String {
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
    fn what_a_target_says_is_no_markup() {
        let mut op = fixture::gate_op();
        op.errors = vec![("rejected", 3)];
        let mut record = fixture::judged(fixture::open_gate_of(&op));
        record.target.version = "<script>alert(1)</script> | [x](http://e) `x`".to_owned();
        let text = markdown(&record, "a");
        assert!(
            !text.contains("<script>") && !text.contains("[x]("),
            "{text}"
        );
        assert!(
            text.contains("&lt;script>alert(1)&lt;/script> \\| \\[x\\]"),
            "{text}"
        );
    }
}
