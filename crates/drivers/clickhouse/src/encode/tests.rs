//! Blocks, read back by an independent reader.

use std::sync::Arc;

use highwater_model::literal::LiteralSql;
use highwater_model::op::{ColumnData, Dictionary, OpId, RowBatch, Value};

use super::*;

/// Reads according to the format's specification, independent of the encoder.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn length(&mut self) -> usize {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.0[0];
            self.0 = &self.0[1..];
            value |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        bytes.to_vec()
    }

    fn text(&mut self) -> String {
        let length = self.length();
        String::from_utf8(self.bytes(length)).unwrap()
    }
}

fn column(name: &str, declared: &str, source: Source) -> NativeColumn {
    let inner = declared.strip_prefix("Nullable(").map(|d| d.trim_end_matches(')'));
    NativeColumn {
        name: name.to_owned(),
        declared: declared.to_owned(),
        native: NativeType::parse(inner.unwrap_or(declared)).unwrap(),
        nullable: inner.is_some(),
        source,
    }
}

fn encoded(columns: Vec<NativeColumn>, data: Vec<ColumnData>, rows: usize) -> Vec<u8> {
    encoded_as(Format::Native, columns, data, rows)
}

fn encoded_as(
    format: Format,
    columns: Vec<NativeColumn>,
    data: Vec<ColumnData>,
    rows: usize,
) -> Vec<u8> {
    let plan = Plan::Insert(InsertPlan {
        head: b"INSERT\n".to_vec(),
        columns,
        format,
        is_atomic: true,
        is_distributed: false,
    });
    let mut encoder = BlockEncoder::new(&Rc::from([plan]));
    let mut request = Request::empty();
    request.op.body = OpBody::Insert(RowBatch { first_row: 0, rows, columns: data });
    // Twice, to check that no state remains.
    encoder.encode(&mut request);
    encoder.encode(&mut request);
    request.bytes
}

fn dictionary(values: &[&str], codes: &[u32]) -> Dictionary {
    Dictionary {
        values: values.iter().map(|value| Box::from(*value)).collect(),
        codes: codes.to_vec(),
    }
}

const TAGS: [&str; 2] = [r#"{"host":"h0","n":7}"#, r#"{"host":"it's \"one\""}"#];

/// Columns of every kind, and two rows of them, one of which has this text.
fn sample(long: &str) -> (Vec<NativeColumn>, Vec<ColumnData>) {
    let columns = vec![
        column("k", "Int64", Source::Column(0)),
        column("n", "Nullable(Int16)", Source::Column(0)),
        column("f", "Float64", Source::Column(0)),
        column("host", "String", Source::Attribute(1, "host".to_owned())),
        column("n7", "String", Source::Attribute(1, "n".to_owned())),
        column("tags", "String", Source::Column(1)),
        column("t", "String", Source::Column(2)),
        column("b", "UInt8", Source::Column(3)),
    ];
    let data = vec![
        ColumnData::Integer(vec![5, -6]),
        ColumnData::ObjectDictionary(dictionary(&TAGS, &[1, 0])),
        ColumnData::Text(vec!["".into(), long.into()]),
        ColumnData::Boolean(vec![true, false]),
    ];
    (columns, data)
}

#[test]
fn a_block_has_its_columns_one_after_the_other() {
    let (tags, long) = (TAGS, "x".repeat(300));
    let (columns, data) = sample(&long);
    let bytes = encoded(columns, data, 2);
    let mut reader = Reader(bytes.strip_prefix(b"INSERT\n").unwrap());
    assert_eq!((reader.length(), reader.length()), (8, 2));
    let head = |reader: &mut Reader<'_>| (reader.text(), reader.text());
    let named = |name: &str, declared: &str| (name.to_owned(), declared.to_owned());
    assert_eq!(head(&mut reader), named("k", "Int64"));
    let numbers = [5_i64.to_le_bytes(), (-6_i64).to_le_bytes()].concat();
    assert_eq!(reader.bytes(16), numbers);
    assert_eq!(head(&mut reader), named("n", "Nullable(Int16)"));
    assert_eq!(reader.bytes(2), [0, 0]);
    assert_eq!(reader.bytes(4), [5, 0, 0xfa, 0xff]);
    assert_eq!(head(&mut reader), named("f", "Float64"));
    let numbers = [5.0_f64.to_le_bytes(), (-6.0_f64).to_le_bytes()].concat();
    assert_eq!(reader.bytes(16), numbers);
    assert_eq!(head(&mut reader), named("host", "String"));
    assert_eq!((reader.text(), reader.text()), named("it's \"one\"", "h0"));
    assert_eq!(head(&mut reader), named("n7", "String"));
    assert_eq!((reader.text(), reader.text()), named("", "7"));
    assert_eq!(head(&mut reader), named("tags", "String"));
    assert_eq!((reader.text(), reader.text()), named(tags[1], tags[0]));
    assert_eq!(head(&mut reader), named("t", "String"));
    assert_eq!((reader.text(), reader.text()), named("", &long));
    assert_eq!(head(&mut reader), named("b", "UInt8"));
    assert_eq!(reader.bytes(2), [1, 0]);
    assert!(reader.0.is_empty(), "{:?}", reader.0);
}

#[test]
fn rows_in_binary_have_nothing_between_them() {
    let long = "x".repeat(300);
    let (columns, data) = sample(&long);
    let bytes = encoded_as(Format::RowBinary, columns, data, 2);
    let mut reader = Reader(bytes.strip_prefix(b"INSERT\n").unwrap());
    for (number, host, n, tags, text, boolean) in
        [(5_i16, "it's \"one\"", "", TAGS[1], "", 1), (-6, "h0", "7", TAGS[0], long.as_str(), 0)]
    {
        assert_eq!(reader.bytes(8), i64::from(number).to_le_bytes());
        assert_eq!(reader.bytes(1), [0], "it is not null");
        assert_eq!(reader.bytes(2), number.to_le_bytes());
        assert_eq!(reader.bytes(8), f64::from(number).to_le_bytes());
        let texts = [(); 4].map(|()| reader.text());
        assert_eq!(texts, [host, n, tags, text]);
        assert_eq!(reader.bytes(1), [boolean]);
    }
    assert!(reader.0.is_empty(), "{:?}", reader.0);
}

#[test]
fn rows_in_json_are_an_object_a_line() {
    let (mut columns, mut data) = sample("a\nb");
    columns.push(column("g", "Float64", Source::Column(4)));
    data.push(ColumnData::Float(vec![0.1, 1.5e10]));
    let bytes = encoded_as(Format::JsonEachRow, columns, data, 2);
    let text = String::from_utf8(bytes).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("INSERT"));
    let read = |line: &str| -> serde_json::Value { serde_json::from_str(line).unwrap() };
    for (number, host, n, tags, text, boolean, float) in
        [(5, "it's \"one\"", "", TAGS[1], "", 1, 0.1), (-6, "h0", "7", TAGS[0], "a\nb", 0, 1.5e10)]
    {
        let expected = serde_json::json!({
            "k": number, "n": number, "f": number, "host": host, "n7": n, "tags": tags, "t": text,
            "b": boolean, "g": float,
        });
        assert_eq!(read(lines.next().unwrap()), expected);
    }
    assert_eq!(lines.next(), None);
    let of = |value: f64| {
        let columns = vec![column("g", "Float64", Source::Column(0))];
        let data = vec![ColumnData::Float(vec![value])];
        encoded_as(Format::JsonEachRow, columns, data, 1)
    };
    assert_eq!(of(f64::MAX), b"INSERT\n{\"g\":1.7976931348623157e308}\n");
    for value in [f64::NAN, f64::INFINITY] {
        assert!(of(value).is_empty(), "{value} has no form in JSON");
    }
}

#[test]
fn a_value_that_does_not_fit_leaves_no_request() {
    for (declared, fits, too_great) in [
        ("Int8", 127, 128),
        ("Int16", -32_768, -32_769),
        ("UInt16", 65_535, 65_536),
        ("UInt32", 1 << 31, 1 << 32),
        ("Int32", -2_147_483_648, -2_147_483_649),
        ("UInt8", 255, -1),
        ("UInt64", i64::MAX, -1),
        ("Float64", 1 << 53, (1 << 53) + 1),
    ] {
        for format in [Format::Native, Format::RowBinary, Format::JsonEachRow] {
            let of = |value| {
                let columns = vec![column("n", declared, Source::Column(0))];
                encoded_as(format, columns, vec![ColumnData::Integer(vec![1, value])], 2)
            };
            assert!(!of(fits).is_empty(), "{declared} {format:?}");
            assert!(of(too_great).is_empty(), "{declared} {format:?}");
        }
    }
    let columns = vec![column("n", "Int64", Source::Column(1))];
    let missing = encoded(columns, vec![ColumnData::Integer(vec![1])], 1);
    assert!(missing.is_empty(), "a column that is not there");
}

#[test]
fn another_dictionary_is_not_taken_for_the_one_before() {
    let mut words = Words::new(native::put_text);
    let text = column("t", "String", Source::Column(0));
    let mut put = |coded: Dictionary| {
        let batch = RowBatch {
            first_row: 0,
            rows: coded.codes.len(),
            columns: vec![ColumnData::TextDictionary(coded)],
        };
        let mut out = Vec::new();
        native::put_column(&mut out, &text, &batch, &mut words).unwrap();
        String::from_utf8(out.split_off("\u{1}t\u{6}String".len())).unwrap()
    };
    assert_eq!(put(dictionary(&["a", "bb"], &[1, 0])), "\u{2}bb\u{1}a");
    assert_eq!(put(dictionary(&["c", "dd"], &[1, 0])), "\u{2}dd\u{1}c");
    let many: Arc<[Box<str>]> = (0..200_000).map(|n| n.to_string().into()).collect();
    let coded = Dictionary { values: many, codes: vec![199_999] };
    assert_eq!(put(coded), "\u{6}199999");
}

#[test]
fn values_of_a_question_stand_in_its_text() {
    let mut sql = LiteralSql::default();
    sql.push_text("SELECT ");
    sql.push_list([0, 1]);
    let plan = Plan::Query { sql, reads: true, inserts: 0 };
    let mut encoder = BlockEncoder::new(&Rc::from([plan]));
    let mut request = Request::empty();
    request.op.id = OpId(0);
    request.op.body = OpBody::Query(vec![Value::Text("it's \\".into()), Value::Boolean(true)]);
    encoder.encode(&mut request);
    assert_eq!(request.bytes, b"SELECT 'it\\'s \\\\', 1");
}
