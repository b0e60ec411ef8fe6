//! Generated rather than sampled values: objects per row, references, order, repetition, lists of parameters, and the
//! data's time.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{floats, integers, objects, owned, parsed, timestamps};
use crate::{OpContext, Workload};
use highwater_model::op::{BoundOpKind, ColumnData, OpBody, PlaceholderStyle, RowBatch, Value};
use highwater_model::units::Seed;

const MADE: &str = include_str!("made.toml");

fn made(settings: &[(&str, &str)], seed: u64) -> Workload {
    parsed(MADE).instantiate(&owned(settings), Seed(seed)).unwrap()
}

fn texts(batch: &RowBatch, column: usize) -> Vec<&str> {
    match &batch.columns[column] {
        ColumnData::Text(values) => values.iter().map(|value| &**value).collect(),
        ColumnData::TextDictionary(coded) | ColumnData::ObjectDictionary(coded) => {
            coded.codes.iter().map(|code| &*coded.values[usize::try_from(*code).unwrap()]).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Rows as text, one per line.
fn lines(batch: &RowBatch) -> String {
    let value = |column: &ColumnData, row: usize| match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => values[row].to_string(),
        ColumnData::Text(values) => values[row].to_string(),
        ColumnData::TextDictionary(of) | ColumnData::ObjectDictionary(of) => {
            of.values[usize::try_from(of.codes[row]).unwrap()].to_string()
        }
        other => panic!("{other:?}"),
    };
    let line = |row| {
        let values: Vec<String> = batch.columns.iter().map(|c| value(c, row)).collect();
        values.join(" | ")
    };
    (0..batch.rows).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn golden_rows_of_what_is_made() {
    let workload = made(&[], 1);
    let rows = [0, 1].map(|table| lines(&workload.row_batch(table, 48, 4)));
    insta::assert_snapshot!(rows.join("\n\n"));
}

#[test]
fn a_sequence_goes_round() {
    let batch = made(&[], 1).row_batch(0, 0, 10_000);
    let ids: BTreeSet<&str> = texts(&batch, 1).into_iter().collect();
    let all: BTreeSet<String> = (3..43).map(|n| format!("t{n}")).collect();
    assert_eq!(ids, all.iter().map(String::as_str).collect());
}

#[test]
fn drawn_rows_are_about_entities_all_alike_and_each_is_a_tick() {
    let batch = made(&[], 1).row_batch(0, 0, 40_000);
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for id in texts(&batch, 1) {
        *counts.entry(id).or_default() += 1;
    }
    // A thousand each, within five deviations.
    assert!(counts.len() == 40 && counts.values().all(|n| n.abs_diff(1_000) < 158));
    let tags = objects(&batch, 2);
    for (id, tags) in texts(&batch, 1).iter().zip(&tags) {
        assert_eq!(tags["id"], *id);
        assert!(tags["extra0"].is_string() && tags["extra1"].is_string());
    }
    let start = 1_704_067_200_000;
    assert!(
        (start..).step_by(100).zip(timestamps(&batch, 0)).all(|(expected, ts)| expected == *ts)
    );
    let jitter: Vec<i64> =
        (start..).step_by(1_000).zip(timestamps(&batch, 4)).map(|(tick, ts)| ts - tick).collect();
    assert_eq!(jitter.iter().min(), Some(&-5));
    assert_eq!(jitter.iter().max(), Some(&14));
}

#[test]
fn the_number_of_repeated_attributes_and_fields_is_a_parameter() {
    for extra in [0, 3] {
        let workload = made(&[("extra", &extra.to_string())], 1);
        let tags = objects(&workload.row_batch(0, 0, 1), 2)[0].clone();
        let nested = objects(&workload.row_batch(1, 0, 1), 7)[0].clone();
        assert_eq!(tags.as_object().unwrap().len(), 1 + extra);
        assert_eq!(nested.as_object().unwrap().len(), 5 + extra);
        assert_eq!(nested["deep"].as_object().unwrap().len(), 2);
    }
}

#[test]
fn a_repeated_table_has_no_more_different_rows() {
    let workload = made(&[], 1);
    // The other table is unbounded.
    assert_eq!(workload.distinct_rows(), None);
    let batch = workload.row_batch(1, 0, 120);
    let all = lines(&batch);
    let all: Vec<&str> = all.lines().collect();
    assert_eq!((all[0], all[19], all[49]), (all[50], all[119], all[99]));
    let distinct: BTreeSet<&&str> = all.iter().collect();
    assert_eq!(distinct.len(), 50);
}

#[test]
fn references_are_to_rows_that_are_there() {
    let workload = made(&[], 1);
    let batch = workload.row_batch(1, 0, 50);
    for (row, earlier) in (0..).zip(integers(&batch, 8)) {
        assert!((0..row.max(1)).contains(earlier), "row {row}: {earlier}");
    }
    let sampled = workload.row_batch(0, 0, 100);
    let uuids: Vec<&str> = texts(&sampled, 3);
    let parents = texts(&batch, 9);
    assert!(parents.iter().all(|parent| uuids.contains(parent)));
    // Eight of ten are among the first twenty: 40 of 50, within four deviations.
    let hot = parents.iter().filter(|p| uuids[..20].contains(p)).count();
    assert!((29..=50).contains(&hot), "{hot}");
}

#[test]
fn a_reference_to_a_field_is_to_that_of_a_row_that_is_there() {
    const LAST: &str = "\n]\n\n[data_time]";
    let of = |name: &str, kind: &str, field: &str| {
        format!(
            "\n    {{ name = \"{name}\", type = \"{kind}\", generator = \"reference\", \
             table = \"made\", column = \"nested\", field = \"{field}\" }},"
        )
    };
    let columns = [
        of("its_n", "integer", "n"),
        of("its_f", "float", "f"),
        of("its_ok", "boolean", "ok"),
        of("its_word", "text", "deep.w"),
    ];
    let requested = of("asked", "text", "deep.w");
    let text = MADE
        .replace(LAST, &format!("{}{LAST}", columns.concat()))
        .replace(":week\"", ":week, :asked\"")
        .replace("offset = \"10s\" },\n", &format!("offset = \"10s\" }},{requested}\n"));
    let workload = parsed(&text).instantiate(&[].into(), Seed(1)).unwrap();
    // Its rows repeat after these.
    let batch = workload.row_batch(1, 0, 50);
    let nested = objects(&batch, 7);
    let first = batch.columns.len() - 4;
    let words = texts(&batch, first + 3);
    let ColumnData::Boolean(oks) = &batch.columns[first + 2] else {
        panic!("{:?}", batch.columns[first + 2])
    };
    let same = |at: usize, there: usize| {
        let there = &nested[there];
        let n = there["n"] == integers(&batch, first)[at];
        let f = there["f"] == floats(&batch, first + 1)[at];
        [n, f, there["ok"] == oks[at], there["deep"]["w"] == words[at]]
    };
    for row in 1..50 {
        for field in 0..4 {
            assert!((0..row).any(|earlier| same(row, earlier)[field]), "row {row}, field {field}");
        }
    }
    let stream = workload.stream("read").unwrap();
    for index in 0..50 {
        let op = workload.op(&stream, index, &OpContext { first_row: 600 });
        let OpBody::Query(values) = op.body else { panic!("a query") };
        let Some(Value::Text(word)) = values.last() else { panic!("{values:?}") };
        assert!(nested.iter().any(|there| there["deep"]["w"] == **word), "{word}");
    }
    // Each fraction is from one row: many fractions show that many rows are sampled.
    let fractions = floats(&batch, first + 1).iter().map(|f| f.to_bits());
    assert!(fractions.collect::<BTreeSet<_>>().len() > 20);
}

#[test]
fn parameters_are_lists_windows_sums_and_references() {
    let workload = made(&[], 1);
    let stream = workload.stream("read").unwrap();
    let context = OpContext { first_row: 600 };
    let start = 1_704_067_200_000;
    let mut weeks = BTreeSet::new();
    for index in 0..200 {
        let OpBody::Query(values) = workload.op(&stream, index, &context).body else {
            panic!("a query")
        };
        let [Value::Text(a), Value::Text(b), Value::Text(c), rest @ ..] = values.as_slice() else {
            panic!("{values:?}")
        };
        assert_eq!(BTreeSet::from([a, b, c]).len(), 3, "different things");
        let [
            Value::TimestampMs(since),
            Value::TimestampMs(until),
            Value::Integer(row),
            Value::Text(uuid),
            Value::Integer(_),
            Value::Integer(_),
            Value::TimestampMs(week),
        ] = rest
        else {
            panic!("{rest:?}")
        };
        // There are sixty seconds: a window of ten ends with them at the latest.
        assert!((start..=start + 50_000).contains(since) && *until == since + 10_000);
        assert!((0..600).contains(row));
        assert_eq!(uuid.len(), 36);
        weeks.insert(week - start);
    }
    assert_eq!(weeks, BTreeSet::from([10_000, 30_000, 50_000]));
    assert_eq!(workload.expected_rows(stream.ops[0].0), Some((120, 122)));
    let bound = workload.bind(&[], PlaceholderStyle::Dollar).unwrap();
    let BoundOpKind::Query { sql, parameters } = &bound.ops[1].kind else { panic!("a query") };
    assert_eq!(sql, "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10");
    assert_eq!(parameters.len(), 10);
}

#[test]
fn data_time_follows_the_clock_only_if_requested() {
    let spec = parsed(MADE);
    let now = 1_800_000_000_000;
    let settled = |settings: &[(&str, &str)]| spec.settled(&owned(settings), now, None);
    assert_eq!(settled(&[]).unwrap(), owned(&[]));
    let live = settled(&[("mode", "live")]).unwrap();
    assert_eq!(live["start"], "2027-01-15T08:00:00Z");
    // 600 ticks of 100 ms: the last one is at the clock's time.
    let backfill = settled(&[("mode", "backfill")]).unwrap();
    assert_eq!(backfill["start"], "2027-01-15T07:59:00.1Z");
    let workload = spec.instantiate(&backfill, Seed(1)).unwrap();
    let last = workload.row_batch(0, 599, 1);
    assert_eq!(timestamps(&last, 0), [1_800_000_000_000]);
    // A different number of rows from a command also ends then.
    let fewer = spec.settled(&owned(&[("mode", "backfill")]), now, Some(300)).unwrap();
    let workload = spec.instantiate(&fewer, Seed(1)).unwrap();
    assert_eq!(timestamps(&workload.row_batch(0, 299, 1), 0), [now]);
    // Continuing the data requires stating when they began.
    let start = workload.start_by_clock().unwrap();
    assert_eq!(start, ("start", fewer["start"].as_str()));
    let going_on = [("mode", "backfill"), start];
    assert_eq!(settled(&going_on).unwrap(), owned(&going_on));
    let fixed = spec.instantiate(&owned(&[]), Seed(1)).unwrap();
    assert_eq!(fixed.start_by_clock(), None);
}

#[test]
fn a_text_parameter_has_one_of_its_values() {
    let spec = parsed(MADE);
    let error = spec.instantiate(&owned(&[("hot", "zipfan")]), Seed(1)).unwrap_err();
    assert_eq!(error.message, "parameter `hot` is `zipfan`");
    assert_eq!(error.hint.unwrap(), "did you mean `zipfian`?");
    let uniform = made(&[("hot", "uniform")], 1);
    assert_ne!(uniform.fingerprint(), made(&[], 1).fingerprint());
}

proptest! {
    #[test]
    fn a_row_depends_on_seed_and_index_only(
        seed in any::<u64>(),
        index in prop_oneof![0..1_000_u64, any::<u64>().prop_map(|n| n >> 20)],
        before in 0..30_u64,
        table in 0..2_usize,
    ) {
        let workload = made(&[], seed);
        let start = index.saturating_sub(before);
        let rows = usize::try_from(index - start).unwrap() + 1;
        let many = lines(&workload.row_batch(table, start, rows));
        let one = lines(&made(&[], seed).row_batch(table, index, 1));
        prop_assert_eq!(many.lines().last().unwrap(), one);
    }
}

/// A table `t` with a number and a text, a part of whose rows have none.
fn with_nulls(nulls: &str) -> String {
    format!(
        "format = 1\nname = \"n\"\nversion = 1\nsummary = \"nulls\"\n\
         [[tables.t.columns]]\nname = \"id\"\ntype = \"bigint\"\ngenerator = \"sequence\"\n\
         [[tables.t.columns]]\nname = \"no te\"\ntype = \"text\"\ngenerator = \"text\"\nlength = 9\n{nulls}\n\
         [tables.t]\nleft_out = [\"x\"]\n\
         [tables.t.create]\nsqlite = \"CREATE TABLE t (id, \\\"no te\\\", x)\"\n[tables.t.key]\nsqlite = \"id\"\n\
         [ops.insert]\ninsert = \"t\"\nbatch = 10\n"
    )
}

#[test]
fn a_share_of_the_rows_has_no_value_and_the_others_keep_theirs() {
    let rows = |nulls: &str| {
        let workload = parsed(&with_nulls(nulls)).instantiate(&[].into(), Seed(1)).unwrap();
        assert_eq!(workload.columns_left_out(), ["t.x"]);
        let batch = workload.row_batch(0, 0, 10_000);
        // A row is the same in any batch.
        let parts = [workload.row_batch(0, 0, 3_333), workload.row_batch(0, 3_333, 6_667)];
        let values = |batch: &RowBatch| -> Vec<Value> {
            (0..batch.rows).map(|row| batch.columns[1].value(row)).collect()
        };
        assert_eq!(values(&batch), parts.iter().flat_map(values).collect::<Vec<_>>());
        values(&batch)
    };
    let (some, all) = (rows("nulls = 0.25"), rows(""));
    let nulls = some.iter().filter(|value| **value == Value::Null).count();
    // A quarter, within five deviations of √(10,000 · ¼ · ¾).
    assert!((2_284..2_717).contains(&nulls), "{nulls}");
    let mut both = some.iter().zip(&all);
    assert!(both.all(|(some, all)| *some == Value::Null || some == all));
    assert!(all.iter().all(|value| *value != Value::Null));
    assert!(rows("nulls = 1.0").iter().all(|value| *value == Value::Null));
}
