//! Batches with recorded responses.

use highwater_model::outcome::{Certainty, ErrorClass, RowSpan};
use serde_json::json;

use crate::client::{BLOCKED, CPU, Client, PK, open};
use crate::double::Double;
use crate::support::block_on;

const GREEN: &str = "40-look-green";
const YELLOW: &str = "41-look-yellow";
const DUPLICATE: &str = "07b-pk-bulk-1-dup-of-3";

#[test]
fn good_batches_go_over_one_connection_one_after_the_other() {
    let double = Double::start(&[GREEN, "06-bulk-insert-3-good", "07a-pk-bulk-3-good"]);
    block_on(async {
        let target = open(&double.url(), "bulk").unwrap();
        let mut client = Client::connect(target.as_ref(), 0).await.unwrap();
        for _ in 0..3 {
            for (op, recording) in [(CPU, "06-bulk-insert-3-good"), (PK, "07a-pk-bulk-3-good")] {
                let outcome = client.insert(op, recording).await;
                assert!(outcome.is_success() && outcome.session_usable, "{outcome:?}");
                assert_eq!((outcome.certainty, outcome.rows_applied), (Certainty::Applied, 3));
            }
        }
    });
    assert_eq!(double.requests(), 7);
    double.finish();
}

#[test]
fn the_row_that_was_refused_is_named() {
    let double = Double::start(&[GREEN, DUPLICATE]);
    block_on(async {
        let target = open(&double.url(), "bulk").unwrap();
        let mut client = Client::connect(target.as_ref(), 0).await.unwrap();
        let outcome = client.insert(PK, DUPLICATE).await;
        assert_eq!((outcome.rows_applied, outcome.rows_refused), (2, 1));
        let refused = RowSpan { first: 1, rows: 1, certainty: Certainty::NotApplied };
        assert_eq!(outcome.exceptions, [refused]);
        assert_eq!(outcome.error.unwrap().class, ErrorClass::Constraint);
    });
    double.finish();
}

#[test]
fn a_duplicate_in_a_cluster_that_got_worse_is_unknown() {
    // GREEN when the session connected, YELLOW when the response triggered a check.
    let double = Double::start(&[GREEN, YELLOW, DUPLICATE]);
    block_on(async {
        let target = open(&double.url(), "bulk").unwrap();
        let mut client = Client::connect(target.as_ref(), 0).await.unwrap();
        let outcome = client.insert(PK, DUPLICATE).await;
        assert_eq!((outcome.rows_applied, outcome.rows_unknown), (2, 1));
        assert!(outcome.session_usable);
    });
    assert_eq!(double.requests(), 3);
    double.finish();
}

#[test]
fn a_connection_cut_in_flight_makes_the_other_sessions_uncertain() {
    let double = Double::start(&[GREEN, DUPLICATE]);
    double.close_after("07a-pk-bulk-3-good");
    block_on(async {
        let target = open(&double.url(), "bulk").unwrap();
        let mut cut = Client::connect(target.as_ref(), 0).await.unwrap();
        let mut other = Client::connect(target.as_ref(), 1).await.unwrap();
        let outcome = cut.insert(PK, "07a-pk-bulk-3-good").await;
        assert_eq!(outcome.certainty, Certainty::Unknown);
        assert_eq!(outcome.error.unwrap().class, ErrorClass::Connection);
        assert!(!outcome.session_usable);
        let again = cut.insert(PK, DUPLICATE).await;
        assert_eq!(again.certainty, Certainty::NotApplied, "nothing was sent");
        let outcome = other.insert(PK, DUPLICATE).await;
        assert_eq!((outcome.rows_applied, outcome.rows_unknown), (2, 1));
    });
    double.finish();
}

#[test]
fn values_and_unnest_count_refused_rows_without_knowing_which() {
    let double = Double::start(&[GREEN, "42-values-args-1-dup", "07l-pk-unnest-1-dup"]);
    block_on(async {
        for (mode, rows) in [
            ("values", [json!([20, 1, "a"]), json!([1, 2, "b"]), json!([21, 3, "c"])]),
            ("unnest", [json!([40, 1, "a"]), json!([1, 2, "b"]), json!([41, 3, "c"])]),
        ] {
            let target = open(&double.url(), mode).unwrap();
            let mut client = Client::connect(target.as_ref(), 0).await.unwrap();
            let outcome = client.send(PK, &rows).await;
            assert_eq!((outcome.rows_applied, outcome.rows_refused), (2, 1), "{mode}");
            assert!(outcome.exceptions.is_empty());
        }
    });
    double.finish();
}

#[test]
fn a_blocked_table_accepts_no_row_and_the_session_continues() {
    let double = Double::start(&[GREEN, "20-bulk-insert-write-blocked", "06-bulk-insert-3-good"]);
    block_on(async {
        let target = open(&double.url(), "bulk").unwrap();
        let mut client = Client::connect(target.as_ref(), 0).await.unwrap();
        let outcome = client.insert(BLOCKED, "20-bulk-insert-write-blocked").await;
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert_eq!((outcome.rows_applied, outcome.rows_refused), (0, 3));
        assert_eq!(outcome.error.unwrap().code.as_deref(), Some("4007"));
        let outcome = client.insert(CPU, "06-bulk-insert-3-good").await;
        assert!(outcome.is_success());
    });
    double.finish();
}

#[test]
fn compressed_requests_are_the_same_requests() {
    let double = Double::start(&[GREEN, "06-bulk-insert-3-good"]);
    block_on(async {
        let target = open(&format!("{}?gzip=1", double.url()), "bulk").unwrap();
        let mut client = Client::connect(target.as_ref(), 0).await.unwrap();
        assert!(client.insert(CPU, "06-bulk-insert-3-good").await.is_success());
    });
    double.finish();
}
