//! The bytes of ops, by example.

use highwater_model::op::{ColumnData, OpId};

use super::*;
use crate::wire::HEADER;

fn batch(rows: usize) -> RowBatch {
    let count = i64::try_from(rows).unwrap();
    RowBatch {
        first_row: 0,
        rows,
        columns: vec![
            ColumnData::Integer((0..count).collect()),
            ColumnData::Text((0..rows).map(|_| "a\\'b\t\n\0".into()).collect()),
            ColumnData::TimestampMs(vec![1_479_513_600_123; rows]),
            ColumnData::Float(vec![-0.5; rows]),
            ColumnData::Boolean(vec![true; rows]),
        ],
    }
}

fn encoded(mode: Mode, rows: usize, bytes_max: usize) -> Vec<u8> {
    let plan =
        Plan::Insert(InsertPlan { mode, id: 7, sql: "INSERT ".to_owned(), columns: 6, bytes_max });
    let op = Op { id: OpId(0), index: 0, body: OpBody::Insert(batch(rows)) };
    let mut out = Vec::new();
    encode(&[plan], &op, &mut out);
    out
}

fn texts(bytes: &[u8]) -> Vec<String> {
    wire::commands(bytes)
        .map(|command| String::from_utf8_lossy(&command[HEADER + 1..]).into_owned())
        .collect()
}

const ROW: &str = "'a\\\\\\'b\t\n\\0','2016-11-19 00:00:00.123',-5e-1,1,NULL)";

#[test]
fn values_are_literals_with_backslashes() {
    // Quotes are also escaped with a backslash.
    let expected = format!("INSERT (0,{ROW},(1,{ROW}");
    assert_eq!(texts(&encoded(Mode::Values, 2, 1_000)), [expected]);
    assert!(encoded(Mode::Values, 0, 1_000).is_empty());
}

#[test]
fn a_batch_beyond_the_server_s_limit_is_a_transaction_of_several_statements() {
    let row = |number| format!("INSERT ({number},{ROW}");
    let expected = [OPEN.to_owned(), row(0), row(1), row(2)];
    assert_eq!(texts(&encoded(Mode::Values, 3, 60)), expected);
    // A single row may exceed the limit.
    assert_eq!(texts(&encoded(Mode::Values, 1, 5)), [row(0)]);
}

#[test]
fn rows_are_executed_one_by_one_in_a_transaction_unless_there_is_one() {
    let bytes = encoded(Mode::Prepared, 3, 0);
    assert_eq!(wire::commands(&bytes).count(), 4);
    let bytes = encoded(Mode::Prepared, 1, 0);
    let expected: Vec<u8> = [
        &[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0b10_0000, 1][..],
        &[8, 0, 253, 0, 12, 0, 5, 0, 1, 0, 6, 0],
        &[0; 8],
        b"\x07a\\'b\t\n\0",
        &[11, 0xe0, 7, 11, 19, 0, 0, 0],
        &123_000_u32.to_le_bytes(),
        &(-0.5_f64).to_le_bytes(),
        &[1],
    ]
    .concat();
    assert_eq!(bytes[HEADER..], expected);
    assert_eq!(bytes[..HEADER], [u8::try_from(expected.len()).unwrap(), 0, 0, 0]);
}

#[test]
fn lines_follow_their_statement_and_an_empty_packet_ends_them() {
    let bytes = encoded(Mode::LoadData, 2, 0);
    let field = "a\\\\'b\\t\\n\\0\t2016-11-19 00:00:00.123\t-5e-1\t1\t\\N\n";
    let lines = format!("0\t{field}1\t{field}");
    let statement = b"\x08\0\0\0\x03INSERT ";
    let length = u8::try_from(lines.len()).unwrap();
    let expected = [&statement[..], &[length, 0, 0, 2], lines.as_bytes(), &[0, 0, 0, 3]];
    assert_eq!(bytes, expected.concat());
}

#[test]
fn many_lines_are_split_into_packets_whose_numbers_wrap() {
    let bytes = encoded(Mode::LoadData, 400_000, 0);
    let (mut rest, mut expected) = (&bytes[HEADER + 8..], 2_u8);
    let mut packets = 0;
    while let Some(([a, b, c, sequence], behind)) = rest.split_first_chunk() {
        assert_eq!(*sequence, expected);
        expected = expected.wrapping_add(1);
        rest = &behind[wire::length(*a, *b, *c)..];
        packets += 1;
    }
    assert!(packets > 256, "{packets}");
}

#[test]
fn values_of_a_query_replace_their_numbers() {
    let plan =
        Plan::Query(PreparedStatement { id: 1, values: vec![1, 0, 1, 9], columns: Vec::new() });
    let op = Op {
        id: OpId(0),
        index: 0,
        body: OpBody::Query(vec![Value::Integer(5), Value::Boolean(true)]),
    };
    let mut out = Vec::new();
    encode(&[plan], &op, &mut out);
    // A missing value is null.
    let types = [1, 0, 8, 0, 1, 0, 6, 0];
    let values = [1, 5, 0, 0, 0, 0, 0, 0, 0, 1];
    assert!(out.ends_with(&[&[0b1000, 1][..], &types, &values].concat()), "{out:?}");
}

#[test]
fn values_without_a_form_are_rejected_by_the_server() {
    let mut out = Vec::new();
    let cells = [Cell::Float(f64::NAN), Cell::Float(f64::NEG_INFINITY)];
    values(&mut out, cells.into_iter());
    assert_eq!(out, b"(1e999,-1e999)");
    out.clear();
    timestamp(&mut out, 253_402_300_800_000);
    assert_eq!(out, b"10000-01-01 00:00:00.000");
}
