//! The published figures as people see them.

use insta::assert_snapshot;

use super::*;
use highwater_sizing::plausibility::audit;
use highwater_sizing::series::{PUBLISHED, read};
use highwater_sizing::tables::tables;

fn report(text: &str) -> FiguresReport {
    let set = read(text).unwrap();
    FiguresReport {
        schema: FIGURES_SCHEMA,
        tables: tables(&set, None).unwrap(),
        warnings: audit(&set, None),
        notes: set.notes,
    }
}

fn published(file: &str) -> FiguresReport {
    let known = PUBLISHED.iter().find(|known| known.file == file);
    report(known.unwrap().text)
}

#[test]
fn the_guides_tables() {
    assert_snapshot!(figures_text(&published("benchmarking-guide.csv")));
}

#[test]
fn the_million_rows_table() {
    assert_snapshot!(figures_text(&published("one-million-rows.csv")));
}

#[test]
fn what_is_not_plausible_in_the_query_series() {
    assert_snapshot!(warnings_text(&published("query-scaling.csv").warnings));
}

#[test]
fn nothing_to_object_to_is_one_line() {
    assert_snapshot!(
        warnings_text(&[]),
        @"plausible      nothing speaks against these figures"
    );
}

#[test]
fn texts_of_a_file_cannot_steer_the_terminal() {
    let text = "series,nodes,rows_per_s\n\u{1b}[31mred,1,10\n\u{1b}[31mred,2,5\n";
    assert!(!figures_text(&report(text)).contains('\u{1b}'));
}

#[test]
fn json_holds_what_the_text_says_and_its_schema_describes_it() {
    let json = figures_json(&published("benchmarking-guide.csv"));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], FIGURES_SCHEMA);
    assert_eq!(value["tables"][1]["best"]["value"], "12");
    assert_eq!(value["warnings"][0]["rule"], "duplicates_disagree");
    let schema: serde_json::Value = serde_json::from_str(&figures_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&value));
}
