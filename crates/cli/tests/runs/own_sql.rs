//! Errors in a workload file's own expressions are not reported as a lost target.

use highwater_model::judgment::{Data, ReasonCode};

use crate::called::{Called, Place, record};

/// Runs a modified `cpu` workload file on a healthy database.
fn run(changes: &[(&str, &str)]) -> (Place, Called) {
    let place = Place::new().verbose();
    let shown = place.call(&["workloads", "show", "cpu"]);
    let mut text = shown.stdout;
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    place.file("mine.toml", &text);
    let load = "--rows 10000 --batch 100 --warm-up 0s";
    let called = place.typed(&format!("run -f mine.toml sqlite:mine.db {load}"));
    assert_eq!(called.code, Some(2), "{called:?}");
    (place, called)
}

#[test]
fn the_prefix_of_an_unknown_host_is_no_loss() {
    let prefix = [("prefix = \"host_\"", "prefix = \"ht_\"")];
    let (place, called) = run(&prefix);
    for part in [
        "data           UNVERIFIED",
        "`key` of table `cpu`: row ",
        "CAST(substr(tags->>'hostname', 6) AS INTEGER)",
        "[audit_sql_wrong]",
    ] {
        called.prints(part);
    }
    assert!(!called.stdout.contains("LOST"), "{called:?}");
    // The record shows it again, with the same code.
    let again = place.call(&["show", "--format", "json"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    let judged = record(&again).judgments.data;
    assert_eq!(judged.value, Data::Unverified);
    assert_eq!(judged.reasons[0].code, ReasonCode::AuditSqlWrong);
}

#[test]
fn an_index_look_up_that_finds_nothing_is_no_loss() {
    let index =
        [("ts > ${start} + (:first / ${hosts} - 1)", "ts > ${start} + (:first / ${hosts} + 9)")];
    let (_place, called) = run(&index);
    called.prints("`locate` of table `cpu`");
}
