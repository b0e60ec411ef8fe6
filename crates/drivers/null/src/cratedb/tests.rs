//! Bodies as a client writes them, whole and in pieces.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// The summary of a body that arrives in pieces of this size.
fn summary(body: &str, piece: usize) -> BodySummary {
    let mut read = SqlBody::default();
    for piece in body.as_bytes().chunks(piece) {
        read.take(piece);
    }
    read.finish()
}

fn check(body: &str, expected: BodySummary) {
    for piece in [1, 2, 7, body.len().max(1)] {
        assert_eq!(summary(body, piece), expected, "{body} in pieces of {piece}");
    }
}

#[test]
fn a_body_has_a_kind_and_rows() {
    let insert = r#"{"stmt":"INSERT INTO \"t\" (\"a\", \"b(\") "#;
    for (rest, expected) in [
        (r#"VALUES (?,?)","bulk_args":[[1,2],[3,"]"]]}"#, BodySummary::Bulk(2)),
        (r#"VALUES (?,?)","bulk_args":[]}"#, BodySummary::Bulk(0)),
        (r#"VALUES (?,?)","bulk_args":[[]]}"#, BodySummary::Bulk(1)),
        (r#"VALUES (?,?),(?,?)","args":[1,"(",3,4]}"#, BodySummary::Inserted(2)),
        (
            r#"(SELECT * FROM UNNEST(?,?))","args":[ [{"k":"a,b"},{}],["x","y"]]}"#,
            BodySummary::Inserted(2),
        ),
        (r#"(SELECT * FROM UNNEST(?,?))","args":[[],[]]}"#, BodySummary::Inserted(0)),
    ] {
        check(&format!("{insert}{rest}"), expected);
    }
    check(r#"{"stmt":"SELECT 1"}"#, BodySummary::Query);
    check(r#"{"stmt":"select \"a\" from t where b = $1","args":["["]}"#, BodySummary::Query);
    check(r#"{"stmt":"REFRESH TABLE t"}"#, BodySummary::Done);
    for nonsense in ["", "{}", "GET", r#"{"stmt":"SELECT 1"#, r#"x{"stmt":"SELECT 1"}"#] {
        check(nonsense, BodySummary::Nonsense);
    }
}

#[test]
fn the_next_body_starts_fresh() {
    let mut read = SqlBody::default();
    for rows in [3, 1] {
        let values = vec!["[1]"; rows].join(",");
        read.take(format!(r#"{{"stmt":"INSERT","bulk_args":[{values}]}}"#).as_bytes());
        assert_eq!(read.finish(), BodySummary::Bulk(rows as u64));
    }
}

/// Values of a row, including everything that could be mistaken for its end.
fn value() -> impl Strategy<Value = Value> {
    let text = "[a\\[\\]{},\"\\\\]{0,6}";
    let plain = prop_oneof![
        any::<i64>().prop_map(|n| json!(n)),
        text.prop_map(|t| json!(t)),
        Just(Value::Null),
    ];
    plain.prop_recursive(2, 8, 3, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            (text, inner).prop_map(|(k, v)| json!({ k: v })),
        ]
    })
}

proptest! {
    #[test]
    fn rows_are_counted_whatever_they_hold_and_wherever_they_are_cut(
        rows in proptest::collection::vec(proptest::collection::vec(value(), 1..4), 0..12),
        piece in 1_usize..60,
    ) {
        let body = format!(
            "{{\"stmt\":\"INSERT INTO t VALUES (?)\",\"bulk_args\":{}}}", json!(rows)
        );
        prop_assert_eq!(summary(&body, piece), BodySummary::Bulk(rows.len() as u64), "{}", body);
        let columns = json!([rows.iter().map(|row| &row[0]).collect::<Vec<_>>(), [1, 2]]);
        let unnest = format!(
            "{{\"stmt\":\"INSERT INTO t (SELECT * FROM UNNEST(?,?))\",\"args\":{columns}}}"
        );
        prop_assert_eq!(summary(&unnest, piece), BodySummary::Inserted(rows.len() as u64), "{}", unnest);
    }
}
