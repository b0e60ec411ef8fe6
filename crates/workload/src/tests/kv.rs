//! The kv workload: which keys are written, read, and deleted, and how its rows are distinguished.

use std::collections::{BTreeMap, BTreeSet};

use super::{identity, integers, owned, parsed};
use crate::{OpContext, StreamSpec, Workload, builtin};
use highwater_model::op::{
    BoundOpKind, BoundWorkload, ColumnData, Op, OpBody, PlaceholderStyle, Value,
};
use highwater_model::units::Seed;

fn kv(settings: &[(&str, &str)]) -> Workload {
    let spec = parsed(builtin("kv").unwrap().text);
    spec.instantiate(&owned(settings), Seed(3)).unwrap()
}

/// The error message for these settings.
fn refused(settings: &[(&str, &str)]) -> String {
    let spec = parsed(builtin("kv").unwrap().text);
    let error = spec.instantiate(&owned(settings), Seed(3)).unwrap_err();
    error.message
}

fn stream(workload: &Workload) -> StreamSpec {
    workload.stream("kv").unwrap()
}

const CONTEXT: OpContext = OpContext { first_row: 1_000 };

fn ops(workload: &Workload, count: u64) -> Vec<Op> {
    let stream = stream(workload);
    (0..count).map(|index| workload.op(&stream, index, &CONTEXT)).collect()
}

/// The keys among an op's parameters.
fn keys(op: &Op) -> Vec<i64> {
    let OpBody::Query(values) = &op.body else {
        panic!("{op:?}");
    };
    values
        .iter()
        .filter_map(|value| match value {
            Value::Integer(key) => Some(*key),
            _ => None,
        })
        .collect()
}

#[test]
fn the_batch_is_part_of_the_rows_identity_where_keys_depend_on_it() {
    for (order, same) in [("hash", true), ("sequential", true), ("zipfian", false)] {
        let of = |batch| kv(&[("order", order), ("batch", batch), ("num_shards", batch)]);
        let (one, ten) = (of("1"), of("10"));
        assert_eq!(identity(&one) == identity(&ten), same, "{order}");
        let rows = |workload: &Workload| workload.row_batch(0, 0, 100);
        assert_eq!(rows(&one) == rows(&ten), same, "{order}");
    }
}

#[test]
fn a_hundred_ops_hold_each_op_as_often_as_its_percentage_in_an_order_of_their_own() {
    let workload = kv(&[("read_percent", "50"), ("span_percent", "7"), ("del_percent", "3")]);
    let mut orders = BTreeSet::new();
    for hundred in ops(&workload, 1_000).chunks(100) {
        let names: Vec<&str> = hundred.iter().map(|op| workload.op_name(op.id)).collect();
        let mut counts = BTreeMap::new();
        for name in &names {
            *counts.entry(*name).or_insert(0) += 1;
        }
        let expected = [("delete", 3), ("read", 50), ("span", 7), ("write", 40)];
        assert_eq!(counts, BTreeMap::from(expected));
        orders.insert(names.concat());
    }
    assert_eq!(orders.len(), 10);
}

#[test]
fn rows_are_written_in_sequence_with_other_ops_between_them() {
    let workload = kv(&[
        ("read_percent", "60"),
        ("batch", "4"),
        ("min_block_bytes", "8"),
        ("max_block_bytes", "20"),
    ]);
    let (stream, mut row) = (stream(&workload), CONTEXT.first_row);
    for op in ops(&workload, 500) {
        let before = workload.rows_before(&stream, op.index);
        assert_eq!(CONTEXT.first_row + before, row);
        if workload.op_name(op.id) != "write" {
            assert_eq!(workload.rows_per_op(op.id), 0);
            continue;
        }
        let rows = workload.row_batch(0, row, 4);
        assert_eq!(keys(&op), integers(&rows, 0));
        let replaced = workload.replaced_keys(&op, row).unwrap();
        assert_eq!((replaced.keys, replaced.first_row), (keys(&op), Some(row)));
        let OpBody::Query(values) = &op.body else {
            panic!();
        };
        let ColumnData::Text(texts) = &rows.columns[1] else {
            panic!();
        };
        for (value, text) in values[4..].iter().zip(texts) {
            assert_eq!(value, &Value::Text((&**text).into()));
        }
        row += 4;
    }
    assert_eq!(row, CONTEXT.first_row + workload.rows_before(&stream, 500));
    let of_rows = workload.ops_for_rows(&stream, 400);
    assert_eq!(workload.rows_before(&stream, of_rows), 400);
}

#[test]
fn reads_and_deletes_use_previously_written_keys() {
    let workload = kv(&[("read_percent", "60"), ("del_percent", "10")]);
    let stream = stream(&workload);
    let mut requested = 0;
    for op in ops(&workload, 2_000) {
        let rows = CONTEXT.first_row + workload.rows_before(&stream, op.index);
        let batch = workload.row_batch(0, 0, usize::try_from(rows).unwrap());
        let name = workload.op_name(op.id);
        if name != "write" {
            assert!(integers(&batch, 0).contains(&keys(&op)[0]));
            requested += 1;
        }
        let replaced = workload.replaced_keys(&op, rows);
        let first_row = replaced.map(|replaced| replaced.first_row);
        let expected = match name {
            "write" => Some(Some(rows)),
            "delete" => Some(None),
            _ => None,
        };
        assert_eq!(first_row, expected, "{name}");
    }
    assert_eq!(requested, 1_400);
}

#[test]
fn hashed_keys_are_spread_over_all_of_64_bits_and_never_meet() {
    let rows = kv(&[]).row_batch(0, 0, 100_000);
    let keys = integers(&rows, 0);
    let different: BTreeSet<i64> = keys.iter().copied().collect();
    assert_eq!(different.len(), 100_000);
    // Sixteen parts with 6,250 keys each, within five deviations of √(100,000 · 1/16 · 15/16).
    let mut parts = [0_u32; 16];
    for key in keys {
        parts[usize::try_from(key.cast_unsigned() >> 60).unwrap()] += 1;
    }
    assert!(parts.iter().all(|part| part.abs_diff(6_250) < 383), "{parts:?}");
}

#[test]
fn a_cycle_begins_again() {
    for order in ["hash", "sequential", "zipfian"] {
        let workload = kv(&[("order", order), ("cycle_length", "50")]);
        let rows = workload.row_batch(0, 0, 150);
        let keys = integers(&rows, 0);
        assert_eq!(keys[..50], keys[50..100], "{order}");
        assert_eq!(keys[..50], keys[100..], "{order}");
        assert!(!workload.keys_never_repeat(0));
    }
    let endless = kv(&[("order", "sequential")]);
    assert_eq!(integers(&endless.row_batch(0, 7, 3), 0), [7, 8, 9]);
    assert!(endless.keys_never_repeat(0));
    assert!(!kv(&[("order", "zipfian")]).keys_never_repeat(0));
}

#[test]
fn the_keys_of_one_statement_are_different() {
    let workload = kv(&[("order", "zipfian"), ("batch", "20"), ("insert_count", "100")]);
    for first in (0..20_000).step_by(20) {
        let rows = workload.row_batch(0, first, 20);
        let different: BTreeSet<&i64> = integers(&rows, 0).iter().collect();
        assert_eq!(different.len(), 20, "{first}");
    }
    let loaded = workload.row_batch(0, 0, 100);
    assert!(integers(&loaded, 0).iter().copied().eq(0..100));
    assert!(refused(&[("cycle_length", "5"), ("batch", "6")]).contains("begin again after 5"));
}

#[test]
fn values_have_the_requested_length_and_begin_with_their_row_number() {
    let workload = kv(&[("min_block_bytes", "8"), ("max_block_bytes", "12")]);
    let rows = workload.row_batch(0, 5_000, 1_000);
    let ColumnData::Text(texts) = &rows.columns[1] else {
        panic!();
    };
    let lengths: BTreeSet<usize> = texts.iter().map(|text| text.len()).collect();
    assert_eq!(lengths, (8..=12).collect());
    let digit = |c: char| match c {
        'A'..='Z' => u64::from(c) - 65,
        'a'..='z' => u64::from(c) - 97 + 26,
        '0'..='9' => u64::from(c) - 48 + 52,
        '-' => 62,
        _ => 63,
    };
    for (text, row) in texts.iter().zip(5_000..) {
        let number = text[..8].chars().fold(0, |n, c| n << 6 | digit(c));
        assert_eq!(number, row, "{text}");
    }
    assert!(workload.rows_are_marked(0));
    let short = kv(&[("min_block_bytes", "7"), ("max_block_bytes", "9")]);
    assert!(!short.rows_are_marked(0));
    assert_eq!(short.replacing_column(0), Some(0));
}

#[test]
fn percentages_beyond_a_hundred_are_an_error() {
    let message = refused(&[("read_percent", "60"), ("span_percent", "50")]);
    assert!(message.contains("adds up to 110%"), "{message}");
    assert!(refused(&[("order", "zipfian"), ("zipfian_s", "1")]).contains("make no power law"));
    let below = refused(&[("order", "zipfian"), ("zipfian_v", "0.9")]);
    assert!(below.contains("make no power law"), "{below}");
    assert!(refused(&[("zipfian_s", "fast")]).contains("finite number"));
}

fn bound(settings: &[(&str, &str)], dialect: &str) -> BoundWorkload {
    let workload = kv(settings);
    workload.bind(&[dialect.to_owned()], PlaceholderStyle::Dollar).unwrap()
}

#[test]
fn statements_of_a_batch_select_all_of_its_keys_and_a_span_its_limit() {
    let bound = bound(&[("batch", "3"), ("span_limit", "70")], "postgresql");
    let sql = |name: &str| match &bound.ops.iter().find(|op| op.name == name).unwrap().kind {
        BoundOpKind::Query { sql, .. } => sql.clone(),
        other => panic!("{other:?}"),
    };
    assert!(sql("read").ends_with("WHERE k IN ($1, $2, $3)"));
    assert!(sql("delete").ends_with("WHERE k IN ($1, $2, $3)"));
    assert!(sql("span").contains("WHERE k >= $1 ORDER BY k LIMIT 70)"));
}

#[test]
fn an_index_on_the_values_exists_if_requested() {
    let index = "CREATE INDEX kv_v ON kv (v)";
    for dialect in ["sqlite", "postgresql", "cockroachdb"] {
        let create = |value| bound(&[("secondary_index", value)], dialect).tables[0].create.clone();
        assert_eq!(create("off").len(), 1, "{dialect}");
        assert_eq!(create("on")[1..], [index], "{dialect}");
    }
}

#[test]
fn cratedb_has_the_requested_shards_and_replicas() {
    for index in ["on", "off"] {
        for shards in ["0", "12"] {
            let settings =
                [("secondary_index", index), ("num_shards", shards), ("replicas", "0-2")];
            let create = bound(&settings, "cratedb").tables[0].create.clone();
            let place = format!("{index} {shards}: {create:?}");
            assert_eq!(create.len(), 1, "{place}");
            assert!(create[0].contains("number_of_replicas = '0-2'"), "{place}");
            let clustered = create[0].contains("CLUSTERED INTO 12 SHARDS");
            assert_eq!(clustered, shards == "12", "{place}");
            assert_eq!(create[0].contains("INDEX OFF"), index == "off", "{place}");
        }
    }
}

#[test]
fn values_repeat_and_zipfian_keys_begin_as_requested() {
    let bytes = [("min_block_bytes", "88"), ("max_block_bytes", "88")];
    let repeated = [&bytes[..], &[("target_compression_ratio", "4.0")]].concat();
    let rows = kv(&repeated).row_batch(0, 5_000, 100);
    let ColumnData::Text(texts) = &rows.columns[1] else {
        panic!();
    };
    // After the number of the row.
    assert!(texts.iter().all(|text| text[8..28] == text[28..48]));
    let hottest = |v: &str| {
        let rows = kv(&[("order", "zipfian"), ("zipfian_v", v)]).row_batch(0, 0, 10_000);
        integers(&rows, 0).iter().filter(|key| **key == 0).count()
    };
    // The first key's fraction is v^-1.1 / Σ (v + k)^-1.1: 9%, and half a percent.
    let (first, flat) = (hottest("1"), hottest("10"));
    assert!((700..1_200).contains(&first) && flat < 200, "{first} {flat}");
    assert_eq!(kv(&[("insert_count", "800")]).rows_to_load(), 800);
}

#[test]
fn statements_are_those_of_the_dialect() {
    let text = |settings: &[(&str, &str)], dialects: &[&str]| {
        let dialects: Vec<String> = dialects.iter().map(|d| (*d).to_owned()).collect();
        let bound = kv(settings).bind(&dialects, PlaceholderStyle::Dollar).unwrap();
        let write = bound.ops.iter().find(|op| op.name == "write").unwrap();
        let BoundOpKind::Query { sql, .. } = &write.kind else {
            panic!();
        };
        (bound.tables[0].create.clone(), sql.clone())
    };
    let plain = text(&[("batch", "2")], &["postgresql"]);
    assert_eq!(plain.0.len(), 1);
    assert_eq!(
        plain.1,
        "INSERT INTO kv (k, v) VALUES ($1, $3), ($2, $4) \
         ON CONFLICT (k) DO UPDATE SET v = excluded.v"
    );
    let all = [("secondary_index", "on"), ("splits", "7"), ("scatter", "on"), ("num_shards", "12")];
    let (create, write) = text(&all, &["cockroachdb", "postgresql"]);
    assert_eq!(write, "UPSERT INTO kv (k, v) VALUES ($1, $2)");
    assert_eq!(create.len(), 4);
    let (plain, _) = text(&[], &["cockroachdb"]);
    assert_eq!(plain, ["CREATE TABLE kv (k INT8 NOT NULL PRIMARY KEY, v BYTES NOT NULL)"]);
    assert!(create[0].contains("USING HASH WITH (bucket_count = 12)"));
    assert!(create[2].contains("SPLIT AT") && create[3].contains("SCATTER"));
    let (create, _) = text(&all, &["cratedb"]);
    assert_eq!(create.len(), 1);
    assert!(create[0].contains("CLUSTERED INTO 12 SHARDS") && !create[0].contains("INDEX OFF"));
    assert!(text(&[], &["cratedb"]).0[0].contains("INDEX OFF"));
}
