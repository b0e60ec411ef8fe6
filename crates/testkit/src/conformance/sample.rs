//! A table with a column of every type, rows that are difficult to store, and queries to find them.

use std::sync::Arc;

use highwater_model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundTable, BoundWorkload, ColumnData, ColumnType,
    Dictionary, OpId, PlaceholderStyle, RowBatch, Value,
};
use highwater_model::stored::value_at;

use super::dialect::{SqlWords, placeholder};

/// The op that inserts.
pub(super) const INSERT: OpId = OpId(0);

/// Columns after the key, in order. Text occurs twice: plain and dictionary-coded.
const COLUMNS: &[(&str, ColumnType)] = &[
    ("c_integer", ColumnType::Integer),
    ("c_bigint", ColumnType::Bigint),
    ("c_float", ColumnType::Float),
    ("c_boolean", ColumnType::Boolean),
    ("c_timestamp", ColumnType::Timestamp),
    ("c_text", ColumnType::Text),
    ("c_word", ColumnType::Text),
    ("c_object", ColumnType::Object),
];

const INTEGERS: &[i64] = &[0, 1, -1, 2_147_483_647, -2_147_483_648, 1_000_000];
// The sixth is not representable as a double. The two ends of the type are omitted, because some databases give them a
// special meaning.
const BIGINTS: &[i64] = &[0, 1, -1, i64::MAX - 1, i64::MIN + 1, 9_007_199_254_740_993, -42];
const FLOATS: &[f64] = &[
    0.0,
    -0.5,
    0.1,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    -1.0 / 3.0,
    1e-7,
    123_456_789.123_456_79,
];
// 1970, just before it, 2016 with milliseconds, a leap day, the end of 9999.
const TIMESTAMPS: &[i64] = &[0, -1, 1_479_513_600_123, 951_782_400_000, 253_402_300_799_999];
const TEXTS: &[&str] = &[
    "",
    "plain",
    "it's, isn't it",
    "back\\slash \\\\ \\n \\",
    "tab\there",
    "line\nfeed\r\nreturn",
    "\\N",
    "\"double\"",
    "NULL",
    "gr\u{fc}\u{df}e \u{6f22}\u{5b57} \u{1f980} e\u{301}",
    "$1 ?1 :a % _ ; -- /* */ {} ,",
    " spaces ",
    "\u{1}\u{7f}\u{feff}",
];
const OBJECTS: &[&str] = &[
    r#"{"host":"host_0","rack":"7"}"#,
    r#"{"empty":"","quote":"it's \"so\"","path":"c:\\x"}"#,
    r#"{"nested":{"flag":true},"number":1.5,"list":[1,2]}"#,
    "{}",
];

/// Number of rows after which all values of all columns have occurred.
pub(super) const CYCLE: u64 = 13;

/// A table of every type, named `highwater_conformance_` and `name`.
pub(super) fn table(name: &str, sql: SqlWords) -> BoundTable {
    let name = format!("highwater_conformance_{name}");
    let key = ("k", ColumnType::Bigint);
    let columns: Vec<BoundColumn> = std::iter::once(&key)
        .chain(COLUMNS)
        .map(|(name, kind)| BoundColumn {
            attributes: match kind {
                ColumnType::Object => vec!["host".to_owned(), "quote".to_owned()],
                _ => Vec::new(),
            },
            ..BoundColumn::new(*name, *kind)
        })
        .collect();
    let definitions: Vec<String> = columns
        .iter()
        .map(|column| {
            let constraint = if column.name == "k" { sql.key } else { "" };
            format!("{} {}{constraint}", column.name, (sql.type_name)(column.kind))
        })
        .collect();
    BoundTable {
        create: vec![format!(
            "CREATE TABLE IF NOT EXISTS {name} ({}){}",
            definitions.join(", "),
            sql.options
        )],
        name,
        columns,
        key: "k".to_owned(),
        ..BoundTable::default()
    }
}

/// The table, the op that fills it, and one op per column that finds a row by key and value.
pub(super) fn workload(name: &str, sql: SqlWords, style: PlaceholderStyle) -> BoundWorkload {
    let table = table(name, sql);
    let mut ops = vec![BoundOp {
        name: "insert".to_owned(),
        kind: BoundOpKind::Insert { table: 0, batch: 10 },
    }];
    for (column, kind) in COLUMNS {
        let condition = (sql.equals)(*kind, column, &placeholder(style, 2));
        let text = format!(
            "SELECT k FROM {} WHERE k = {} AND {condition}",
            table.name,
            placeholder(style, 1)
        );
        let bound_as = match kind {
            ColumnType::Object => ColumnType::Text,
            other => *other,
        };
        ops.push(query(column, text, &[ColumnType::Bigint, bound_as]));
    }
    BoundWorkload { tables: vec![table], ops, rows: None }
}

/// An insert-only workload, which needs no query on the target.
pub(super) fn insert_only(name: &str, sql: SqlWords) -> BoundWorkload {
    let mut workload = workload(name, sql, PlaceholderStyle::Dollar);
    workload.ops.truncate(1);
    workload
}

/// Ops that find a row, each with the value that it searches for in row `row`.
pub(super) fn finders(row: u64) -> Vec<(OpId, &'static str, Value)> {
    let batch = batch(row, 1);
    let found = COLUMNS.iter().zip(batch.columns.iter().skip(1)).zip((1..).map(OpId));
    let found = found.map(|(((name, kind), data), id)| {
        let column = BoundColumn::new(*name, *kind);
        (id, *name, value_at(&column, data, 0))
    });
    found.collect()
}

/// A value of the same type with the smallest possible difference.
pub(super) fn near_miss(column: &str, value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        // The last bit, so that narrow integers stay within their range.
        Value::Integer(v) => Value::Integer(v ^ 1),
        Value::TimestampMs(v) => Value::TimestampMs(v ^ 1),
        Value::Float(v) => Value::Float(f64::from_bits(v.to_bits() ^ 1)),
        Value::Boolean(v) => Value::Boolean(!v),
        Value::Text(_) if column == "c_object" => Value::Text(Arc::from(r#"{"near":"miss"}"#)),
        Value::Text(v) => Value::Text(Arc::from(format!("{v} "))),
    }
}

/// A query op.
pub(super) fn query(name: &str, sql: String, parameters: &[ColumnType]) -> BoundOp {
    BoundOp {
        name: name.to_owned(),
        kind: BoundOpKind::Query { sql, parameters: parameters.to_vec() },
    }
}

/// Rows from `first_row`; the key of a row is its index.
pub(super) fn batch(first_row: u64, rows: usize) -> RowBatch {
    let indexes = || (first_row..).take(rows);
    let keys = indexes().filter_map(|row| i64::try_from(row).ok()).collect();
    RowBatch {
        first_row,
        rows,
        columns: vec![
            ColumnData::Integer(keys),
            ColumnData::Integer(indexes().map(|row| *at(INTEGERS, row)).collect()),
            ColumnData::Integer(indexes().map(|row| *at(BIGINTS, row)).collect()),
            ColumnData::Float(indexes().map(|row| *at(FLOATS, row)).collect()),
            ColumnData::Boolean(indexes().map(|row| row.is_multiple_of(2)).collect()),
            ColumnData::TimestampMs(indexes().map(|row| *at(TIMESTAMPS, row)).collect()),
            ColumnData::Text(indexes().map(|row| Box::from(*at(TEXTS, row))).collect()),
            ColumnData::TextDictionary(dictionary(TEXTS, indexes())),
            ColumnData::ObjectDictionary(dictionary(OBJECTS, indexes())),
        ],
    }
}

fn at<T>(values: &[T], row: u64) -> &T {
    &values[position(values.len(), row)]
}

fn position(length: usize, row: u64) -> usize {
    usize::try_from(row % length as u64).unwrap_or(0)
}

fn dictionary(values: &[&str], rows: impl Iterator<Item = u64>) -> Dictionary {
    Dictionary {
        values: values.iter().map(|value| Box::from(*value)).collect(),
        codes: rows.filter_map(|row| u32::try_from(position(values.len(), row)).ok()).collect(),
    }
}
