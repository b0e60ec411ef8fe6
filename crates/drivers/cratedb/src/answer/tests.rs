//! Recorded responses, whole and in pieces.

use proptest::prelude::*;

use super::super::recordings::{answer, recording};
use super::*;

/// Counts of (entries, applied, not applied, not applied without a reason).
fn counts(answer: &Answer) -> [usize; 4] {
    let bare = answer.unapplied.iter().filter(|row| row.reason.is_none());
    [
        usize::try_from(answer.entries).unwrap(),
        usize::try_from(answer.applied).unwrap(),
        answer.unapplied.len(),
        bare.count(),
    ]
}

#[test]
fn results_are_counted_entry_by_entry() {
    for (name, expected) in [
        ("06-bulk-insert-3-good", [3, 3, 0, 0]),
        ("06g-bulk-empty", [0, 0, 0, 0]),
        ("06q-bulk-text-too-long", [3, 2, 1, 0]),
        ("07b-pk-bulk-1-dup-of-3", [3, 2, 1, 0]),
        ("07g-pk-bulk-all-dup", [3, 0, 3, 0]),
        ("07j-pk-on-conflict-do-nothing", [3, 2, 1, 1]),
        ("07k-pk-on-conflict-update", [3, 3, 0, 0]),
        ("28-nomaster-insert-early", [3, 0, 3, 0]),
        ("33b-dup-14-again-error-cap", [14, 0, 14, 4]),
    ] {
        let answer = recording(name).answer();
        assert!(answer.is_whole() && answer.status == 200, "{name}");
        assert_eq!(counts(&answer), expected, "{name}");
    }
}

#[test]
fn rows_that_failed_are_named_with_code_and_text() {
    let answer = recording("07b-pk-bulk-1-dup-of-3").answer();
    let row = &answer.unapplied[0];
    assert_eq!((row.row, row.count, row.reason), (1, -2, Some(0)));
    let reason = &answer.reasons[0];
    assert_eq!((reason.code, reason.kind()), (4091, "DuplicateKeyException"));
    assert!(reason.text.ends_with("exists already]"), "{}", reason.text);
}

#[test]
fn texts_that_differ_in_details_are_one_reason() {
    let answer = recording("25-write-pool-rejection-conc1").first(12);
    assert_eq!(counts(&answer), [12, 3, 9, 0]);
    assert_eq!(answer.reasons.len(), 1);
    assert_eq!(answer.reasons[0].kind(), "EsRejectedExecutionException");
}

#[test]
fn queries_are_counted_and_statements_say_how_many_rows() {
    for (name, columns, rows, rowcount) in [
        ("02-select-1", 1, 1, 1),
        ("02b-select-1-types", 8, 1, 1),
        ("09c-select-row", 12, 1, 1),
        ("05-drop-if-exists", 0, 1, 0),
        ("06i-single-insert-args", 0, 1, 1),
        ("07i-pk-multirow-values-1-dup", 0, 1, 2),
        ("07l-pk-unnest-1-dup", 0, 1, 2),
    ] {
        let answer = recording(name).answer();
        assert!(answer.is_whole(), "{name}");
        assert_eq!((answer.columns, answer.rows), (columns, rows), "{name}");
        assert_eq!(answer.rowcount, Some(rowcount), "{name}");
    }
}

#[test]
fn whole_requests_fail_with_a_code_and_a_text() {
    for (name, status, code, text) in [
        ("03-missing-table", 404, 4041, "RelationUnknown[Relation 'doc.nope' unknown]"),
        (
            "06b-bulk-insert-1-bad-type-of-3",
            400,
            4000,
            "SQLParseException[Cannot cast value `not-a-number` to type `integer`]",
        ),
        (
            "07h-pk-single-dup",
            409,
            4091,
            "DuplicateKeyException[A document with the same primary key exists already]",
        ),
        (
            "28d-nomaster-count",
            500,
            5000,
            "NodeNotConnectedException[[n1][127.0.0.1:4301] Node not connected]",
        ),
        (
            "20-bulk-insert-write-blocked",
            400,
            4007,
            "OperationOnInaccessibleRelationException[The relation \"doc.blk\" doesn't support or allow INSERT operations]",
        ),
    ] {
        let answer = recording(name).answer();
        let error = answer.error.as_ref().unwrap();
        assert_eq!((answer.status, error.code, error.text.as_str()), (status, code, text));
    }
}

#[test]
fn a_response_that_is_not_json_keeps_its_text() {
    let answer = recording("10d-user-bench-wrong-password").answer();
    assert!(!answer.is_whole());
    let message = "password authentication failed for user \"bench\"";
    assert_eq!(answer.plain_text(), message);
}

#[test]
fn an_error_that_echoes_the_request_is_read_only_in_part() {
    let mut answer = Answer::default();
    answer.status(400);
    assert!(answer.body(b"{\"error\":{\"message\":\"SQLParseException[Can't parse ["));
    let piece = vec![b'x'; 64 * 1024];
    let pieces = (0..1_000).take_while(|_| answer.body(&piece)).count();
    assert!(pieces <= 16, "{pieces} pieces of 64 KiB were read");
    assert!(answer.plain_text().starts_with("{\"error\""));
}

#[test]
fn truncated_responses_and_other_values_are_incomplete() {
    let good = recording("06-bulk-insert-3-good");
    for end in 0..good.body.len() {
        assert!(!answer(200, &good.body[..end]).is_whole(), "cut after {end}");
    }
    for text in ["", "null", "[1]}", "{]", "{}{}", "<html>"] {
        assert!(!answer(200, text).is_whole(), "{text}");
    }
    let deep = "{\"a\":".repeat(1_000);
    assert!(!answer(200, &deep).is_whole());
}

#[test]
fn keys_inside_of_values_do_not_count() {
    let text = r#"{"cols":["results","rows"],"rows":[[{"rowcount":7,"error":{"code":1}},"rows"],
        [[{"results":[{"rowcount":1}]}],"\"rowcount\":5 \u00e9\\"]],"rowcount":2,"duration":0.1}"#;
    let answer = answer(200, text);
    assert!(answer.is_whole());
    assert_eq!((answer.columns, answer.rows, answer.rowcount), (2, 2, Some(2)));
    assert_eq!((answer.entries, answer.error), (0, None));
}

fn fixtures() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "02b-select-1-types",
        "06-bulk-insert-3-good",
        "06q-bulk-text-too-long",
        "07b-pk-bulk-1-dup-of-3",
        "07d-pk-bulk-check-violation",
        "09c-select-row",
        "20-bulk-insert-write-blocked",
        "33b-dup-14-again-error-cap",
    ])
}

proptest! {
    #[test]
    fn pieces_are_read_as_the_whole(name in fixtures(), sizes in prop::collection::vec(1usize..40, 1..200)) {
        let recorded = recording(name);
        let whole = recorded.answer();
        let mut pieces = Answer::default();
        pieces.status(recorded.status);
        let mut rest = recorded.body.as_bytes();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, left) = rest.split_at((*size).min(rest.len()));
            pieces.body(piece);
            rest = left;
        }
        prop_assert_eq!(pieces.is_whole(), whole.is_whole());
        prop_assert_eq!(counts(&pieces), counts(&whole));
        prop_assert_eq!(&pieces.reasons, &whole.reasons);
        prop_assert_eq!(&pieces.error, &whole.error);
        let counts = |answer: &Answer| (answer.rows, answer.columns, answer.rowcount, answer.bytes);
        prop_assert_eq!(counts(&pieces), counts(&whole));
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes: Vec<u8>, status in prop::sample::select(vec![200u16, 400])) {
        let mut answer = Answer::default();
        answer.status(status);
        answer.body(&bytes);
    }
}
