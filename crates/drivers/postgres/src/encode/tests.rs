//! The exact bytes of requests, on small examples.

use std::sync::Arc;

use proptest::prelude::*;

use highwater_model::op::{ColumnData, ColumnType, Dictionary, OpId};

use super::*;

fn insert_plan(mode: Mode, columns: Vec<Field>) -> InsertPlan {
    InsertPlan {
        mode,
        statement: "i0".to_owned(),
        sql: "COPY t (a) FROM STDIN".to_owned(),
        columns,
        values_max: usize::MAX,
        parse: Vec::new(),
        last_parse: None,
        wrap: false,
    }
}

fn op(body: OpBody) -> Op {
    Op { id: OpId(0), index: 0, body }
}

fn batch(columns: Vec<ColumnData>, rows: usize) -> OpBody {
    OpBody::Insert(RowBatch { first_row: 0, rows, columns })
}

fn encoded(plan: Plan, body: OpBody) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&[plan], &op(body), &mut out);
    out
}

#[test]
fn without_names_each_op_has_its_own_parse_and_equal_pieces_share_one() {
    let mut parse = Vec::new();
    super::parse(&mut parse, "", "SELECT $1", &[23]);
    let plan =
        Plan::Query(PreparedStatement { name: String::new(), parse, parameters: vec![INT4] });
    let bytes = encoded(plan, OpBody::Query(vec![Value::Integer(7)]));
    assert_eq!(tags(&bytes), "PBES");
    let mut plan = insert_plan(Mode::Values, vec![INT4]);
    plan.values_max = 2;
    plan.last_parse = Some(LastParse::default());
    let column = || vec![ColumnData::Integer((0..5).collect())];
    let bytes = encoded(Plan::Insert(plan), batch(column(), 5));
    assert_eq!(tags(&bytes), "PBEBEPBES");
    let names = messages(&bytes).into_iter().filter(|(tag, _)| *tag == b'P');
    assert!(names.map(|(_, body)| body[0]).all(|first| first == 0));
}

/// Tags and bodies of a stream of messages.
fn messages(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    while let Some((head, _)) = bytes.split_first_chunk::<5>() {
        let length = usize::try_from(u32::from_be_bytes([head[1], head[2], head[3], head[4]]));
        let length = length.unwrap() + 1;
        found.push((head[0], bytes[5..length].to_vec()));
        bytes = &bytes[length..];
    }
    assert!(bytes.is_empty(), "bytes after the last message");
    found
}

fn tags(bytes: &[u8]) -> String {
    messages(bytes).iter().map(|(tag, _)| char::from(*tag)).collect()
}

const INT4: Field = Field { form: Form::Int4, oid: 23 };
const TEXT: Field = Field { form: Form::Text, oid: 25 };

#[test]
fn a_literal_query_is_one_simple_query() {
    let mut sql = LiteralSql::default();
    sql.push_text("SELECT ");
    sql.push_value(0);
    let values = vec![Value::Text("it's".into())];
    let bytes = encoded(Plan::Literal(sql), OpBody::Query(values));
    assert_eq!(messages(&bytes), [(b'Q', b"SELECT 'it''s'\0".to_vec())]);
}

#[test]
fn a_point_select_is_bind_execute_sync() {
    let plan = Plan::Query(PreparedStatement {
        name: "q0".to_owned(),
        parse: Vec::new(),
        parameters: vec![INT4],
    });
    let bytes = encoded(plan, OpBody::Query(vec![Value::Integer(7)]));
    assert_eq!(tags(&bytes), "BES");
    let body = &messages(&bytes)[0].1;
    let expected: &[u8] = b"\0q0\0\x00\x01\x00\x01\x00\x01\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00";
    assert_eq!(body, expected);
}

#[test]
fn values_are_written_in_the_form_of_their_column() {
    for (form, cell, bytes) in [
        (Form::Int2, Cell::Integer(-2), &b"\0\0\0\x02\xff\xfe"[..]),
        (Form::Int4, Cell::Integer(1), b"\0\0\0\x04\0\0\0\x01"),
        (Form::Int8, Cell::Integer(1), b"\0\0\0\x08\0\0\0\0\0\0\0\x01"),
        // Does not fit: written wider, so that the server rejects it.
        (Form::Int4, Cell::Integer(1 << 40), b"\0\0\0\x08\0\0\x01\0\0\0\0\0"),
        (Form::Float8, Cell::Float(1.0), b"\0\0\0\x08\x3f\xf0\0\0\0\0\0\0"),
        (Form::Float4, Cell::Integer(1), b"\0\0\0\x04\x3f\x80\0\0"),
        (Form::Bool, Cell::Boolean(true), b"\0\0\0\x01\x01"),
        (Form::Timestamp, Cell::TimestampMs(946_684_800_001), b"\0\0\0\x08\0\0\0\0\0\0\x03\xe8"),
        (Form::Text, Cell::Text("ä"), b"\0\0\0\x02\xc3\xa4"),
        (Form::Jsonb, Cell::Text("{}"), b"\0\0\0\x03\x01{}"),
        (Form::AsText, Cell::Integer(-5), b"\0\0\0\x02-5"),
        (Form::Text, Cell::Null, b"\xff\xff\xff\xff"),
    ] {
        let mut out = Vec::new();
        put_cell(&mut out, form, cell);
        assert_eq!(out, bytes, "{form:?} {cell:?}");
    }
}

#[test]
fn text_forms_are_those_the_server_reads() {
    for (cell, text) in [
        (Cell::Float(0.1), "0.1"),
        (Cell::Float(1e300), "1e300"),
        (Cell::Float(f64::NAN), "NaN"),
        (Cell::Float(f64::NEG_INFINITY), "-Infinity"),
        (Cell::Boolean(false), "false"),
        (Cell::TimestampMs(0), "1970-01-01 00:00:00.000+00"),
        (Cell::TimestampMs(951_782_400_123), "2000-02-29 00:00:00.123+00"),
        (Cell::TimestampMs(-1), "1969-12-31 23:59:59.999+00"),
        (Cell::TimestampMs(1_795_219_199_000), "2026-11-20 23:59:59.000+00"),
    ] {
        let mut out = Vec::new();
        put_text(&mut out, cell);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }
}

#[test]
fn a_binary_copy_is_one_statement_and_its_data() {
    let columns =
        vec![ColumnData::Integer(vec![1, 2]), ColumnData::Text(vec!["a".into(), "".into()])];
    let bytes = encoded(Plan::Insert(insert_plan(Mode::Copy, vec![INT4, TEXT])), batch(columns, 2));
    assert_eq!(tags(&bytes), "Qdc");
    let data = &messages(&bytes)[1].1;
    let rows = b"\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01a\0\x02\0\0\0\x04\0\0\0\x02\0\0\0\0\xff\xff";
    assert_eq!(data[..19], COPY_HEADER[..]);
    assert_eq!(data[19..], rows[..]);
}

#[test]
fn a_column_without_a_binary_form_makes_the_copy_text() {
    let numeric = Field::new(ColumnType::Float, 1700);
    let columns = vec![ColumnData::Float(vec![1.5]), ColumnData::Text(vec!["a\tb\\c\nd".into()])];
    let plan = insert_plan(Mode::Copy, vec![numeric, TEXT]);
    let bytes = encoded(Plan::Insert(plan), batch(columns, 1));
    assert_eq!(messages(&bytes)[1].1, b"1.5\ta\\tb\\\\c\\nd\n");
}

#[test]
fn a_large_copy_is_cut_into_messages() {
    let columns = vec![ColumnData::Text(vec!["x".repeat(1000).into(); 200])];
    let bytes = encoded(Plan::Insert(insert_plan(Mode::Copy, vec![TEXT])), batch(columns, 200));
    assert_eq!(tags(&bytes), "Qddddc");
}

#[test]
fn values_are_cut_at_the_most_parameters_and_stay_one_pipeline() {
    let rows = 70_000;
    let columns = vec![ColumnData::Integer(vec![1; rows])];
    let plan = insert_plan(Mode::Values, vec![INT4]);
    let bytes = encoded(Plan::Insert(plan), batch(columns.clone(), rows));
    assert_eq!(tags(&bytes), "BEBES");
    assert!(messages(&bytes)[2].1.starts_with(b"\0i0_4465\0"));
    // If a pipeline is not implicitly a transaction, it begins one explicitly.
    let mut plan = insert_plan(Mode::Values, vec![INT4]);
    plan.wrap = true;
    assert_eq!(tags(&encoded(Plan::Insert(plan), batch(columns, rows))), "BEBEBEBES");
}

#[test]
fn prepared_is_one_execution_a_row_and_one_sync() {
    let columns = vec![ColumnData::Integer(vec![1, 2, 3])];
    let plan = insert_plan(Mode::Prepared, vec![INT4]);
    assert_eq!(tags(&encoded(Plan::Insert(plan), batch(columns, 3))), "BEBEBES");
}

#[test]
fn unnest_sends_one_array_a_column() {
    let values: Arc<[Box<str>]> = Arc::from(["x".into(), "y".into()]);
    let coded = Dictionary { values, codes: vec![1, 0] };
    let plan = insert_plan(Mode::Unnest, vec![TEXT]);
    let columns = vec![ColumnData::TextDictionary(coded)];
    let bytes = encoded(Plan::Insert(plan), batch(columns, 2));
    assert_eq!(tags(&bytes), "BES");
    let body = &messages(&bytes)[0].1;
    let array = b"\0\0\0\x01\0\0\0\0\0\0\0\x19\0\0\0\x02\0\0\0\x01\0\0\0\x01y\0\0\0\x01x";
    let length = u32::try_from(array.len()).unwrap().to_be_bytes();
    let expected = [&b"\0i0\0\0\x01\0\x01\0\x01"[..], &length, array, b"\0\0"].concat();
    assert_eq!(*body, expected);
}

#[test]
fn bytes_are_those_of_a_text_or_those_that_its_digits_name() {
    for (text, expected) in [
        ("plain", &b"\0\0\0\x05plain"[..]),
        ("\\x00fF10", b"\0\0\0\x03\x00\xff\x10"),
        ("\\x", b"\0\0\0\0"),
        ("\\x123", b"\0\0\0\x05\\x123"),
        ("\\xyz", b"\0\0\0\x04\\xyz"),
    ] {
        let mut out = Vec::new();
        put_cell(&mut out, Form::Bytes, Cell::Text(text));
        assert_eq!(out, expected, "{text}");
    }
}

#[test]
fn forms_follow_the_server_s_type_and_fall_back_to_text() {
    for (kind, oid, form) in [
        (ColumnType::Integer, 21, Form::Int2),
        (ColumnType::Bigint, 23, Form::Int4),
        (ColumnType::Integer, 20, Form::Int8),
        (ColumnType::Integer, 701, Form::Float8),
        (ColumnType::Float, 20, Form::AsText),
        (ColumnType::Float, 1700, Form::AsText),
        (ColumnType::Timestamp, 1114, Form::Timestamp),
        (ColumnType::Timestamp, 1082, Form::AsText),
        (ColumnType::Text, 1043, Form::Text),
        (ColumnType::Text, 2950, Form::AsText),
        (ColumnType::Text, 17, Form::Bytes),
        (ColumnType::Object, 114, Form::Text),
        (ColumnType::Object, 3802, Form::Jsonb),
    ] {
        assert_eq!(Field::new(kind, oid).form, form, "{kind:?} {oid}");
    }
}

proptest! {
    #[test]
    fn every_request_is_whole_messages(
        rows in 0usize..40,
        text in ".{0,20}",
        mode in prop::sample::select(vec![Mode::Copy, Mode::Values, Mode::Unnest, Mode::Prepared]),
    ) {
        let columns = vec![
            ColumnData::Integer((0i64..).take(rows).map(|v| v << 30).collect()),
            ColumnData::Text(vec![text.as_str().into(); rows]),
        ];
        let bytes = encoded(Plan::Insert(insert_plan(mode, vec![INT4, TEXT])), batch(columns, rows));
        let tags = tags(&bytes);
        let end = if mode == Mode::Copy { 'c' } else { 'S' };
        prop_assert!(tags.ends_with(end));
        prop_assert_eq!(tags.matches('S').count(), usize::from(mode != Mode::Copy));
    }
}
