//! Workload files sketched from tables: they are read without a mistake, and make what was seen.

use super::{integers, parsed, timestamps};
use crate::model::op::{ColumnData, ColumnType};
use crate::model::table_shape::{ColumnShape, TableShape};
use crate::model::units::Seed;
use crate::workload::sketch;

fn column(name: &str, declared: &str, kind: Option<ColumnType>) -> ColumnShape {
    ColumnShape {
        name: name.to_owned(),
        declared: declared.to_owned(),
        kind,
        required: true,
        nulls: 0,
        distinct: 1_000,
        min: None,
        max: None,
        lengths: (4, 9),
        common: Vec::new(),
    }
}

fn between(shape: ColumnShape, min: &str, max: &str) -> ColumnShape {
    ColumnShape {
        min: Some(min.to_owned()),
        max: Some(max.to_owned()),
        ..shape
    }
}

fn orders() -> TableShape {
    let few = |shape: ColumnShape, common: &[(&str, u64)]| ColumnShape {
        distinct: common.len() as u64,
        common: common.iter().map(|(v, n)| ((*v).to_owned(), *n)).collect(),
        ..shape
    };
    let text = Some(ColumnType::Text);
    let time = Some(ColumnType::Timestamp);
    TableShape {
        name: "orders".to_owned(),
        dialect: "postgresql".to_owned(),
        milliseconds: "CAST(extract(epoch FROM {column}) * 1000 AS bigint)".to_owned(),
        rows: 1_000,
        columns: vec![
            between(
                column("id", "bigint", Some(ColumnType::Bigint)),
                "501",
                "1500",
            ),
            between(
                column("placed", "timestamp with time zone", time),
                "1700000000000",
                "1700000999000",
            ),
            few(
                column("state", "text", text),
                &[("new", 700), ("it's \"done\"", 300)],
            ),
            between(
                column("price", "double precision", Some(ColumnType::Float)),
                "0.5",
                "99.25",
            ),
            ColumnShape {
                lengths: (36, 36),
                ..between(
                    column("token", "uuid", text),
                    "00000000-0000-4000-8000-000000000000",
                    "ffffffff-ffff-4fff-bfff-ffffffffffff",
                )
            },
            column("note", "text", text),
            ColumnShape {
                distinct: 50,
                ..column("city", "text", text)
            },
            column("extra", "jsonb", None),
        ],
        queries: vec![("SELECT *\nFROM orders WHERE id = $1".to_owned(), 12)],
    }
}

#[test]
fn a_sketch_is_a_workload_without_mistakes_that_makes_what_was_seen() {
    let text = sketch(&orders());
    let workload = parsed(&text).instantiate(&[].into(), Seed(1)).unwrap();
    assert_eq!(workload.name(), "orders-like");
    let rows = workload.row_batch(0, 0, 1_000);
    assert!(integers(&rows, 0).iter().copied().eq(501..1_501));
    let times = timestamps(&rows, 1);
    assert_eq!(times[..2], [1_700_000_000_000, 1_700_000_001_000]);
    let ColumnData::TextDictionary(states) = &rows.columns[2] else {
        panic!();
    };
    let new = states.codes.iter().filter(|code| **code == 0).count();
    // 700 of a thousand, within five deviations of √(1,000 · 0.7 · 0.3).
    assert!((628..773).contains(&new), "{new}");
    assert_eq!(&*states.values[1], "it's \"done\"");
    assert_eq!(rows.columns.len(), 7);
    for part in [
        "# left out: extra jsonb, which must not be null",
        "# 12 × SELECT * FROM orders WHERE id = $1",
        "generator = \"uuid\"",
        "generator = \"dictionary\"\nsize = 50",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(workload.stream("queries").is_some());
}

#[test]
fn a_table_without_anything_that_tells_rows_apart_says_so() {
    let mut table = orders();
    table.columns.drain(..2);
    let text = sketch(&table);
    assert!(text.contains("--audit off"), "{text}");
    parsed(&text);
}
