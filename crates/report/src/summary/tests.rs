//! Summaries as a reader sees them: wide, and on a narrow terminal.

use super::*;
use highwater_analysis::fixture;
use highwater_model::record::RunRecord;
use highwater_sizing::growth::fixture::grown;

fn shown<'a>(record: impl Into<RecordRef<'a>>, columns: usize) -> String {
    summary(record, "highwater-runs/2026-11-20T18-20-11-cpu-7f3a91").short(columns, &without_color)
}

#[test]
fn a_closed_run_that_is_well() {
    insta::assert_snapshot!(shown(&fixture::closed(), 100));
    for columns in [40, 60] {
        let shown = shown(&fixture::closed(), columns);
        insta::assert_snapshot!(format!("columns_{columns}"), shown);
    }
}

#[test]
fn several_streams_have_a_total_each_and_steps_a_line_each() {
    insta::assert_snapshot!(shown(&fixture::open_steps(), 100));
}

#[test]
fn reasons_are_one_a_line_and_the_rest_is_counted() {
    let mut op = fixture::gate_op();
    op.latencies = vec![(4 * fixture::MS, 9_000), (900 * fixture::MS, 700)];
    op.dropped = 300;
    op.errors = vec![("rejected", 12), ("timeout", 3)];
    let record = fixture::judged(fixture::open_gate_of(&op));
    insta::assert_snapshot!(shown(&record, 100));
}

#[test]
fn what_was_lost_is_in_the_answer() {
    let mut record = fixture::closed();
    fixture::lose_rows(&mut record, 96);
    let text = shown(&fixture::judged(record), 100);
    let first = text.lines().next().unwrap();
    let lost = "96 of 4,212,000 acknowledged rows LOST";
    assert!(first.ends_with(lost), "{first}");
}

#[test]
fn the_answer_of_every_kind_comes_first_and_about_twelve_lines_follow() {
    let (closed, growth) = (fixture::closed(), grown());
    for record in [RecordRef::from(&closed), RecordRef::from(&growth)] {
        let text = summary(record, "a").short(100, &without_color);
        assert!(text.lines().count() <= 26, "{text}");
    }
}

#[test]
fn details_have_the_answer_and_everything_else() {
    let record = fixture::closed();
    let summary = summary(&record, "a");
    let full = summary.full(100, &without_color);
    assert!(full.starts_with(&summary.answer()), "{full}");
    assert!(full.ends_with(&text_at(&record, "a")), "{full}");
}

#[test]
fn no_escape_code_of_a_target_comes_through() {
    let mut record: RunRecord = fixture::closed();
    record.target.version = "\u{1b}[31mred".to_owned();
    fixture::note(&mut record, "x", "\u{1b}]0;title\u{7}");
    let text = shown(&record, 80);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
}
