//! A workload file whose own expressions are wrong is no loss of the target.

use highwater_model::judgment::{Data, ReasonCode};

use crate::called::{Place, record};

/// Runs the file of the `cpu` workload, changed, on a healthy database.
fn run(changes: &[(&str, &str)], more: &[&str]) -> (Place, Vec<String>) {
    let place = Place::new().verbose();
    let shown = place.call(&["workloads", "show", "cpu"]);
    let mut text = shown.stdout;
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    place.file("mine.toml", &text);
    let words = [
        "run",
        "-f",
        "mine.toml",
        "sqlite:mine.db",
        "--rows",
        "10000",
    ];
    let words = words.iter().chain(more).map(|word| (*word).to_owned());
    (place, words.collect())
}

#[test]
fn the_prefix_of_a_host_that_the_key_does_not_know_is_no_loss() {
    let prefix = [("prefix = \"host_\"", "prefix = \"ht_\"")];
    let (place, words) = run(&prefix, &["--batch", "100", "--warm-up", "0s"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let called = place.call(&words);
    assert_eq!(called.code, Some(2), "{called:?}");
    for part in [
        "data           UNVERIFIED",
        "`key` of table `cpu`: row ",
        "CAST(substr(tags->>'hostname', 6) AS INTEGER)",
        "[audit_sql_wrong]",
    ] {
        assert!(called.stdout.contains(part), "{part}: {called:?}");
    }
    assert!(!called.stdout.contains("LOST"), "{called:?}");
    // The record says it again, with the same code.
    let again = place.call(&["show", "--format", "json"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    let judged = record(&again).judgments.data;
    assert_eq!(judged.value, Data::Unverified);
    assert_eq!(judged.reasons[0].code, ReasonCode::AuditSqlWrong);
}

#[test]
fn an_index_look_up_that_finds_nothing_is_no_loss() {
    let index = [(
        "ts > ${start} + (:first / ${hosts} - 1)",
        "ts > ${start} + (:first / ${hosts} + 9)",
    )];
    let (place, words) = run(&index, &["--batch", "100", "--warm-up", "0s"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let called = place.call(&words);
    assert_eq!(called.code, Some(2), "{called:?}");
    assert!(
        called.stdout.contains("`locate` of table `cpu`"),
        "{called:?}"
    );
}
