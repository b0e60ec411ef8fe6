//! Reports in each output: terminal, text, pages, Markdown, CSV; and the schema of a record as JSON.
//!
//! Must not contain sentences about a kind of record.

mod csv;
mod html;
mod junit;
mod markdown;
mod terminal;
mod text;

use highwater_model::json::pretty;
use highwater_model::record::Record;
use highwater_sizing::cluster::SizePlan;

use crate::figures::{self, FiguresReport, warnings_text};
use crate::kinds::comparison::{CompareReport, GrowthsReport};
use crate::kinds::{comparison, growth_comparison, size};
use crate::layout::list;
use html::page_of;
use markdown::markdown_of;
use text::text_of;

pub use csv::{csv, results_csv, telemetry_csv};
pub use html::{
    HistoryFilter, LiveRights, deletion_page, error_page, history_page, html, html_with_links,
    live_page, live_parts, live_style, names_apart, served_page,
};
pub use junit::junit;
pub use markdown::markdown;
pub use terminal::{Summary, summary, without_color};
pub use text::{text, text_at};

/// The comparison as text, without colors.
pub fn compare_text(report: &CompareReport<'_>) -> String {
    text_of(&comparison::reports(report))
}

/// The comparison as Markdown; text from targets is escaped.
pub fn compare_markdown(report: &CompareReport<'_>) -> String {
    markdown_of(&comparison::reports(report))
}

/// The summary of a comparison.
pub fn compare_summary(report: &CompareReport<'_>) -> Summary {
    Summary::of_reports(&comparison::reports(report))
}

/// The page of a comparison; works offline.
pub fn compare_html(report: &CompareReport<'_>) -> String {
    compare_html_with_links(report, &[])
}

/// The same with links, each a name and an address.
pub fn compare_html_with_links(report: &CompareReport<'_>, links: &[[String; 2]]) -> String {
    page_of("Compare", comparison::page(report), links, None)
}

/// The comparison of growths as text, without colors.
pub fn growths_text(report: &GrowthsReport<'_>) -> String {
    text_of(&growth_comparison::reports(report))
}

/// The comparison of growths as Markdown; text from targets is escaped.
pub fn growths_markdown(report: &GrowthsReport<'_>) -> String {
    markdown_of(&growth_comparison::reports(report))
}

/// The summary of a comparison of growths.
pub fn growths_summary(report: &GrowthsReport<'_>) -> Summary {
    Summary::of_reports(&growth_comparison::reports(report))
}

/// The page of a comparison of growths; works offline.
pub fn growths_html(report: &GrowthsReport<'_>) -> String {
    growths_html_with_links(report, &[])
}

/// The same with links, each a name and an address.
pub fn growths_html_with_links(report: &GrowthsReport<'_>, links: &[[String; 2]]) -> String {
    page_of("Compare", growth_comparison::page(report), links, None)
}

/// The whole report of a size plan as text.
pub fn size_text(plan: &SizePlan) -> String {
    text_of(&[size::report(plan)])
}

/// The summary of a size plan.
pub fn size_summary(plan: &SizePlan) -> Summary {
    Summary::of_reports(&[size::report(plan)])
}

/// The page of a size plan with the command that repeats it; works offline.
pub fn size_html(plan: &SizePlan, command: &str) -> String {
    page_of("Size", size::report(plan), &[], Some(command))
}

/// All tables, then the warnings, if there are any.
pub fn figures_text(report: &FiguresReport) -> String {
    let warnings = Some(&report.warnings).filter(|warnings| !warnings.is_empty());
    let warnings = warnings.map(|warnings| warnings_text(warnings));
    let tables = report.tables.iter().map(|table| text_of(&[figures::report(table)]));
    list(tables.chain(warnings), "\n")
}

/// JSON Schema (draft 2020-12) of a record, pretty-printed, with a newline at the end.
pub fn schema() -> String {
    pretty(&schemars::schema_for!(Record))
}

#[cfg(test)]
mod tests {
    use highwater_analysis::fixture;
    use highwater_model::json::{parse, print, write};

    use super::*;

    #[test]
    fn a_record_is_restored_unchanged() {
        for record in [fixture::closed(), fixture::open_steps(), fixture::open_gate()] {
            let text = print(&record);
            let mut written = Vec::new();
            write((&record).into(), &mut written).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), text);
            assert!(text.ends_with("}\n"));
            let back = parse(&text).unwrap();
            assert_eq!(back, Record::Run(Box::new(record)));
            assert_eq!(print(&back), text);
        }
    }

    #[test]
    fn words_of_a_target_are_restored_and_cannot_control_a_terminal() {
        let mut record = fixture::closed();
        record.target.version = "x\u{202e}\u{9b}1m\u{e0041}\u{1b}".to_owned();
        let text = print(&record);
        let escaped = r"x\u202e\u009b1m\udb40\udc41\u001b";
        assert!(text.contains(escaped), "{text}");
        assert_eq!(parse(&text).unwrap().run(), Some(&record));
        let mut written = Vec::new();
        write((&record).into(), &mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text);
    }

    #[test]
    fn another_version_is_reported_first() {
        for other in ["highwater-record/1", "highwater-record/9"] {
            let error = parse(&format!(r#"{{"schema": "{other}", "id": 1}}"#)).unwrap_err();
            let expected = format!(
                "record has schema \"{other}\"; this version of Highwater reads highwater-record/2"
            );
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn files_that_are_no_record_are_distinguished() {
        let message = |text| parse(text).unwrap_err().to_string();
        assert!(message("{}").starts_with("not a record of Highwater"));
        assert!(message("{").contains("line 1"));
        assert!(message(r#"{"schema": "highwater-record/2"}"#).contains("it has no `kind`"));
        let run = r#"{"schema": "highwater-record/2", "kind": "run"}"#;
        assert!(message(run).contains("missing field"));
    }

    #[test]
    fn the_schema_describes_every_record() {
        let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for record in [fixture::closed(), fixture::open_steps(), fixture::open_gate()] {
            let value: serde_json::Value = serde_json::from_str(&print(&record)).unwrap();
            let errors = validator.iter_errors(&value);
            let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
            assert_eq!(errors, [""; 0]);
        }
        assert!(!validator.is_valid(&serde_json::json!({"schema": "highwater-record/2"})));
    }
}
