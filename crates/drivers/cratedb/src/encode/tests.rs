//! The exact bodies of requests, on small examples.

use std::io::Read as _;

use flate2::read::GzDecoder;
use proptest::prelude::*;

use highwater_model::literal::LiteralSql;
use highwater_model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundTable, BoundWorkload, ColumnType, Dictionary, OpId,
};

use super::*;
use crate::encode;

fn workload() -> BoundWorkload {
    let column = |name: &str, kind| BoundColumn::new(name, kind);
    let table = BoundTable {
        name: "t\"1".to_owned(),
        columns: vec![
            column("k", ColumnType::Bigint),
            column("w", ColumnType::Text),
            column("o", ColumnType::Object),
        ],
        create: vec!["CREATE TABLE t (k BIGINT primary key)".to_owned()],
        key: "k".to_owned(),
        ..BoundTable::default()
    };
    let insert = BoundOpKind::Insert { table: 0, batch: 2 };
    let query = BoundOpKind::Query {
        sql: "SELECT \"k\" FROM t\nWHERE w = $1".to_owned(),
        parameters: vec![ColumnType::Text],
    };
    let op = |kind| BoundOp { name: "op".to_owned(), kind };
    BoundWorkload { tables: vec![table], ops: vec![op(insert), op(query)], rows: None }
}

fn batch(rows: usize) -> OpBody {
    let dictionary = |values: &[&str]| Dictionary {
        values: values.iter().map(|value| Box::from(*value)).collect(),
        codes: (0..).map(|row| row % 2).take(rows).collect(),
    };
    OpBody::Insert(RowBatch {
        first_row: 0,
        rows,
        columns: vec![
            ColumnData::Integer((7..).take(rows).collect()),
            ColumnData::TextDictionary(dictionary(&["a\"b", "c"])),
            ColumnData::ObjectDictionary(dictionary(&["{\"x\":1}", "{}"])),
        ],
    })
}

fn request(id: u16, body: OpBody) -> Request {
    Request { op: Op { id: OpId(id), index: 0, body }, bytes: Vec::new() }
}

fn encoder(mode: Mode, gzip: Option<u32>) -> BodyEncoder {
    BodyEncoder::new(&encode::plans(&workload(), mode).unwrap().into(), gzip)
}

fn check(mode: Mode, id: u16, body: OpBody, expected: &str) {
    let mut request = request(id, body);
    encoder(mode, None).encode(&mut request);
    assert_eq!(String::from_utf8(request.bytes).unwrap(), expected);
}

#[test]
fn bulk_is_one_array_a_row() {
    check(
        Mode::Bulk,
        0,
        batch(2),
        r#"{"stmt":"INSERT INTO \"t\"\"1\" (\"k\", \"w\", \"o\") VALUES (?,?,?)","bulk_args":[[7,"a\"b",{"x":1}],[8,"c",{}]]}"#,
    );
    let empty =
        r#"{"stmt":"INSERT INTO \"t\"\"1\" (\"k\", \"w\", \"o\") VALUES (?,?,?)","bulk_args":[]}"#;
    check(Mode::Bulk, 0, batch(0), empty);
}

#[test]
fn values_is_one_statement_with_all_rows() {
    check(
        Mode::Values,
        0,
        batch(2),
        r#"{"stmt":"INSERT INTO \"t\"\"1\" (\"k\", \"w\", \"o\") VALUES (?,?,?),(?,?,?)","args":[ 7,"a\"b",{"x":1} , 8,"c",{} ]}"#,
    );
}

#[test]
fn unnest_is_one_array_a_column() {
    check(
        Mode::Unnest,
        0,
        batch(2),
        r#"{"stmt":"INSERT INTO \"t\"\"1\" (\"k\", \"w\", \"o\") (SELECT * FROM UNNEST(?,?,?))","args":[ [7,8],["a\"b","c"],[{"x":1},{}]]}"#,
    );
}

#[test]
fn no_row_has_no_body_but_in_bulk() {
    check(Mode::Values, 0, batch(0), "");
    check(Mode::Unnest, 0, batch(0), "");
    let mut request = request(0, batch(0));
    encoder(Mode::Values, Some(1)).encode(&mut request);
    assert!(request.bytes.is_empty(), "nothing compresses to nothing");
}

#[test]
fn literals_are_quoted_for_sql_and_then_for_json() {
    let mut sql = LiteralSql::default();
    sql.push_text("SELECT \"k\" FROM t WHERE w = ");
    sql.push_value(0);
    let mut out = Vec::new();
    let body = OpBody::Query(vec![Value::Text("it's \"so\"".into())]);
    let plans = [Plan::Literal(sql)];
    encode(&plans, &mut QuotedDictionaries::default(), &request(0, body).op, &mut out);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"{"stmt":"SELECT \"k\" FROM t WHERE w = 'it''s \"so\"'"}"#
    );
}

#[test]
fn queries_carry_their_parameters() {
    let values = vec![Value::Text("it's".into()), Value::Null, Value::Float(0.5)];
    check(
        Mode::Bulk,
        1,
        OpBody::Query(values),
        r#"{"stmt":"SELECT \"k\" FROM t\nWHERE w = $1","args":["it's",null,0.5]}"#,
    );
}

#[test]
fn a_compressed_body_is_the_same_body() {
    let mut plain = request(0, batch(500));
    encoder(Mode::Bulk, None).encode(&mut plain);
    let mut small = request(0, batch(500));
    encoder(Mode::Bulk, Some(6)).encode(&mut small);
    let mut back = Vec::new();
    GzDecoder::new(small.bytes.as_slice()).read_to_end(&mut back).unwrap();
    assert!(back == plain.bytes && small.bytes.len() < plain.bytes.len() / 5);
}

#[test]
fn each_dictionary_is_quoted_once() {
    let mut encoder = encoder(Mode::Bulk, None);
    for word in ["one", "two"] {
        let coded = Dictionary { values: Arc::from([Box::from(word)]), codes: vec![0] };
        let columns = vec![ColumnData::Boolean(vec![true]), ColumnData::TextDictionary(coded)];
        let body = OpBody::Insert(RowBatch { first_row: 0, rows: 1, columns });
        let mut request = request(0, body);
        encoder.encode(&mut request);
        let text = String::from_utf8(request.bytes).unwrap();
        assert!(text.ends_with(&format!("[[true,\"{word}\"]]}}")), "{text}");
    }
}

#[test]
fn keys_are_found_in_the_statements_that_create_a_table() {
    for (create, has_key) in [
        (vec!["CREATE TABLE t (k BIGINT primary key)"], true),
        (vec!["CREATE TABLE t (k BIGINT, PRIMARY KEY (k))"], true),
        (vec!["CREATE TABLE t (k BIGINT)"], false),
        (vec![], false),
    ] {
        let mut workload = workload();
        workload.tables[0].create = create.iter().map(ToString::to_string).collect();
        let plans = encode::plans(&workload, Mode::Bulk).unwrap();
        let Plan::Insert(plan) = &plans[0] else {
            panic!("op 0 inserts");
        };
        assert_eq!(plan.has_key, has_key, "{create:?}");
    }
}

fn written(put: impl Fn(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    put(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn values_are_json() {
    for (value, text) in [(0, "0"), (9, "9"), (10, "10"), (99, "99"), (100, "100"), (-1, "-1")] {
        assert_eq!(written(|out| put_integer(out, value)), text);
    }
    assert_eq!(written(|out| put_float(out, 0.0)), "0.0");
    assert_eq!(written(|out| put_float(out, f64::NAN)), "\"NaN\"");
    assert_eq!(written(|out| put_float(out, f64::NEG_INFINITY)), "\"-Infinity\"");
    assert_eq!(written(|out| put_boolean(out, true)), "true");
    assert_eq!(written(|out| put_text(out, "a\"b\\\n\u{1}é")), r#""a\"b\\\n\u0001é""#);
}

proptest! {
    #[test]
    fn gathered_numbers_are_those_written_one_by_one(
        numbers in proptest::collection::vec(
            prop_oneof![any::<i64>(), -3_i64..110, Just(1_451_606_400_000)], 0..60),
    ) {
        let text = written(|out| {
            out.push(b'[');
            let mut gathered = Numbers::new();
            for (n, number) in numbers.iter().enumerate() {
                gathered.put(out, *number, n == 0);
            }
            gathered.flush(out);
            out.push(b']');
        });
        prop_assert_eq!(serde_json::from_str::<Vec<i64>>(&text).unwrap(), numbers);
    }

    #[test]
    fn a_json_reader_finds_the_same_values(text in ".{0,30}", integer: i64, float: f64) {
        let read = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
        prop_assert_eq!(read(written(|out| put_text(out, &text))), text);
        prop_assert_eq!(read(written(|out| put_integer(out, integer))), integer);
        if float.is_finite() {
            let back = read(written(|out| put_float(out, float))).as_f64().unwrap();
            prop_assert_eq!(back.to_bits(), float.to_bits());
        }
    }
}
