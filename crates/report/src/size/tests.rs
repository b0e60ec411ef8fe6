//! The report of a plan as people see it, and as programs do.

use insta::assert_snapshot;

use super::{size_json, size_schema, size_text, wrapped};
use highwater_sizing::cluster::fixture;
use highwater_sizing::cluster::{SizePlan, Traced, size};

/// A million rows per second, one node may be lost, with everything that can be said.
fn plan() -> SizePlan {
    let mut request = fixture::request(vec![fixture::need(
        1e6,
        fixture::basis("rows/s", &fixture::INGEST),
    )]);
    request.survive = Traced::given(1, "--tolerate-failures");
    request.retention_s = Some(Traced::given(90.0 * 86_400.0, "--retention"));
    request.stored_bytes_per_row = Some(Traced::given(100.0, "--bytes-per-row"));
    request.sent_bytes_per_row = Some(Traced::given(700.0, "--sent-bytes-per-row"));
    request.price_per_node_hour = Some(Traced::given(0.8, "--price"));
    size(&request).unwrap()
}

#[test]
fn the_report_of_a_plan() {
    assert_snapshot!(size_text(&plan()));
}

#[test]
fn the_plan_comes_back_from_json_as_it_was_and_fits_its_schema() {
    let plan = plan();
    let json = size_json(&plan);
    assert_eq!(serde_json::from_str::<SizePlan>(&json).unwrap(), plan);
    let schema = serde_json::from_str(&size_schema()).unwrap();
    let value = serde_json::from_str(&json).unwrap();
    jsonschema::validate(&schema, &value).unwrap();
}

#[test]
fn paragraphs_break_between_words_only() {
    let text = "word ".repeat(40);
    let lines = wrapped(&text, "  - ", "    ");
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.chars().count() <= 88));
    assert!(lines[0].starts_with("  - word") && lines[1].starts_with("    word"));
    assert_eq!(lines.concat().matches("word").count(), 40);
}
