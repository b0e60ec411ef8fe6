//! `--literals`: queries with their values in the SQL text.

use highwater_model::judgment::Data;

use crate::called::{Place, record, split};

/// A pragma takes no parameter, so it reveals the text that was sent.
#[test]
fn values_are_in_the_text_only_if_requested() {
    let place = Place::with_books();
    place.file("pragma.sql", "\\set n random(10, 20)\nPRAGMA cache_size = :n\n");
    let words = split("run -f pragma.sql sqlite:own.db --warm-up 0s -d 2s -c 1");
    let prepared = place.call(&words);
    assert_eq!(prepared.code, Some(2), "{prepared:?}");
    let literal = record(&place.call(&[&words[..], &["--literals", "--json"]].concat()));
    let result = &literal.results[literal.results.len() - 1];
    assert!(result.acknowledged > 100 && result.errors.is_empty());
    assert!(literal.plan.definition.workload.literals);
}

#[test]
fn the_report_and_the_command_that_repeats_the_run_have_the_flag() {
    let place = Place::with_books().verbose();
    place.file("get.sql", "\\set id random(1, 1000)\nSELECT title FROM book WHERE id = :id");
    let words = split("run -f get.sql sqlite:own.db --warm-up 0s -d 2s -c 1 --literals");
    let called = place.call(&words);
    called.prints("values in the queries' text");
    let shown = place.newest();
    assert_eq!(shown.header.command.settings["literals"][0].value, None);
    let result = &shown.results[shown.results.len() - 1];
    assert_eq!(result.response_rows, result.acknowledged);
    // A different load: its plan has a different hash.
    let plan = |words: &[&str]| place.call(&[words, &["--plan"]].concat()).stdout;
    let prepared = &words[..words.len() - 1];
    assert!(!plan(prepared).contains("literals") && plan(&words).contains("literals"));
}

#[test]
fn statements_that_write_are_audited_all_the_same() {
    let place = Place::new().verbose();
    let blocks = "--set min_block_bytes=8 --set max_block_bytes=8";
    let load = format!("--read-percent 50 --warm-up 0s -d 2s --literals {blocks}");
    let record = record(&place.typed(&format!("run kv sqlite:kv.db {load} --json")));
    let data = &record.judgments.data;
    assert_eq!(data.value, Data::Clean, "{data:?}");
    assert!(record.audit.acknowledged > 0);
}

#[test]
fn a_load_without_queries_or_with_transactions_has_no_literals() {
    let place = Place::with_books();
    place.file(
        "both.sql",
        "\\set id random(1, 9)\nBEGIN;\nUPDATE book SET title = 'x' WHERE id = :id;\nEND;\n",
    );
    for words in [
        &["run", "loadtest", "sim:", "--literals"][..],
        &["run", "-f", "both.sql", "sqlite:own.db", "--literals"],
    ] {
        let called = place.call(words);
        assert_eq!(called.code, Some(2), "{called:?}");
        called.reports("--literals: workload");
    }
}
