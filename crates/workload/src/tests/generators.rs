//! Every generator: its values, and that a row or an op depends only on its index.

use proptest::prelude::*;

use super::{floats, integers, owned, parsed, timestamps};
use crate::{OpContext, StreamSpec, Unit, Workload};
use highwater_model::numbers::signed_to_f64;
use highwater_model::op::{
    BoundOpKind, ColumnData, Op, OpBody, OpId, PlaceholderStyle, RowBatch, Value,
};
use highwater_model::units::Seed;

const EVERYTHING: &str = include_str!("everything.toml");

fn everything(seed: u64) -> Workload {
    parsed(EVERYTHING).instantiate(&[].into(), Seed(seed)).unwrap()
}

/// The values of one row, as text.
fn row(batch: &RowBatch, row: usize) -> Vec<String> {
    let value = |column: &ColumnData| match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => values[row].to_string(),
        ColumnData::Float(values) => format!("{:?}", values[row]),
        ColumnData::Boolean(values) => values[row].to_string(),
        ColumnData::Text(values) => values[row].to_string(),
        ColumnData::TextDictionary(of) | ColumnData::ObjectDictionary(of) => {
            of.values[usize::try_from(of.codes[row]).unwrap()].to_string()
        }
        ColumnData::Nullable(..) => panic!("{column:?}"),
    };
    batch.columns.iter().map(value).collect()
}

#[test]
fn golden_rows_of_every_generator() {
    let workload = everything(1);
    let batch = workload.row_batch(0, 4, 7);
    let rows: Vec<String> = (0..7).map(|at| row(&batch, at).join(" | ")).collect();
    insta::assert_snapshot!(rows.join("\n"), @r#"
    1582977600000 | {"part":"y2","id":"thing \"a-b\" 30"} | y | 4 | 88 | row 4 | 3 | 1453056822111401949 | 0.23212266865736164 | c26 | 105 | -0.06558990478515625 | true | 2.0 | green | 1 | 1000 | a-b | 7 | 0.6307578767559898
    1582977600250 | {"part":"y1","id":"thing \"a-b\" 10"} | y | 5 | 85 | row 5 | 1 | 2573426295904142327 | -0.2878774896651539 | c89 | 79 | -0.6771011352539063 | true | 0.5 | green | 1 | 1000 | a-b | 36 | 0.5817064287748885
    1582977600250 | {"part":"y2","id":"thing \"a-b\" 15"} | y | 6 | 82 | row 6 | 1 | 2221489336581608150 | 0.7768729225506055 | c66 | 96 | 1.0039138793945313 | true | 2.0 | green | 1 | 1000 | a-b | 12 | 0.0
    1582977600250 | {"part":"y2","id":"thing \"a-b\" 20"} | y | 7 | 79 | row 7 | 5 | 4142935290038416861 | 0.9175822014683306 | c54 | 70 | -0.42047119140625 | true | 0.5 | green | 1 | 1000 | a-b | -13 | 0.8920246391168786
    1582977600250 | {"part":"y1","id":"thing \"a-b\" 25"} | y | 8 | 76 | row 8 | 1 | -7496867304711144418 | -0.814774319420157 | c91 | 92 | 0.16547393798828125 | true | 2.0 | green | 1 | 1000 | a-b | 33 | 0.11876645797713467
    1582977600250 | {"part":"y2","id":"thing \"a-b\" 30"} | y | 9 | 73 | row 9 | 3 | 5500109655314376379 | -0.8079839668911245 | c36 | 116 | 0.37303924560546875 | false | 0.5 | green | 1 | 1000 | a-b | 11 | 0.919001301462395
    1582977600500 | {"part":"y1","id":"thing \"a-b\" 10"} | y | 10 | 70 | row 10 | 2 | 6260603427284901459 | 1.2620695813618399 | c78 | 120 | -0.02447509765625 | true | 2.0 | red | 1 | 1000 | a-b | 29 | 0.7840432373361373
    "#);
}

/// The rank of a value among others of its column: for a text, by its length.
fn rank(value: &Value) -> f64 {
    match value {
        Value::Integer(number) | Value::TimestampMs(number) => signed_to_f64(*number),
        Value::Float(number) => *number,
        Value::Text(text) => f64::from(u32::try_from(text.len()).unwrap()),
        Value::Boolean(_) | Value::Null => 0.0,
    }
}

#[test]
fn no_value_is_beyond_the_ends_that_its_generator_states() {
    const ROWS: usize = 20_000;
    let mut stated = 0;
    for text in [EVERYTHING, include_str!("made.toml")] {
        let workload = parsed(text).instantiate(&[].into(), Seed(2)).unwrap();
        for table in 0..workload.tables() {
            let batch = workload.row_batch(table, 0, ROWS);
            for (data, ends) in batch.columns.iter().zip(workload.extremes(table)) {
                let ends: Vec<f64> = ends.iter().map(rank).collect();
                let Some(least) = ends.iter().copied().reduce(f64::min) else {
                    continue;
                };
                let most = ends.iter().copied().fold(least, f64::max);
                let ranks = (0..ROWS).map(|row| rank(&data.value(row)));
                let beyond = ranks.filter(|rank| !(least..=most).contains(rank)).count();
                // In a normal distribution, 6 of 100,000 values are beyond four deviations: 8 or more
                // of these rows are, once in 20,000 times.
                assert!(beyond < 8, "{beyond} beyond {ends:?}: {data:?}");
                stated += 1;
            }
        }
    }
    assert!(stated > 12, "{stated} columns");
}

#[test]
fn generators_keep_their_ranges() {
    let workload = everything(2);
    let batch = workload.row_batch(0, 0, 20_000);
    let within = |column: usize, least: i64, most: i64| {
        let values = integers(&batch, column);
        assert_eq!(values.iter().min(), Some(&least), "column {column}");
        assert_eq!(values.iter().max(), Some(&most), "column {column}");
    };
    within(6, 1, 6);
    within(10, 60, 140);
    within(18, -50, 50);
    assert!(floats(&batch, 8).iter().all(|value| (-1.0..1.5).contains(value)));
    assert!(floats(&batch, 19).iter().all(|value| (0.0..=1.0).contains(value)));
    let ColumnData::Boolean(ok) = &batch.columns[12] else { panic!("ok is a boolean") };
    let good = ok.iter().filter(|ok| **ok).count();
    // Nine in ten of 20,000, within four deviations.
    assert!((17_830..=18_170).contains(&good), "{good}");
    assert_eq!(timestamps(&batch, 0)[9], 1_582_977_600_000 + 250);
}

#[test]
fn ops_have_the_parameters_of_their_file() {
    let workload = everything(1);
    let stream = workload.stream("read").unwrap();
    assert_eq!((stream.unit, stream.ops.as_slice()), (Unit::Queries, &[(OpId(1), 1)][..]));
    for index in 0..50 {
        // Twelve rows of five entities: the last one is in tick 2.
        let op = workload.op(&stream, index, &OpContext { first_row: 12 });
        let OpBody::Query(values) = op.body else { panic!("a query") };
        let Value::Text(thing) = &values[0] else { panic!("{values:?}") };
        let known = ["20", "25", "30"].map(|id| format!("thing \"a-b\" {id}"));
        assert!(known.contains(&thing.to_string()), "{thing}");
        assert_eq!(values[2], Value::TimestampMs(1_582_977_600_500));
        assert_eq!(values[3], Value::TimestampMs(1_582_977_600_250));
        assert!(matches!(values[4], Value::Integer(1..=3)));
        assert_eq!(values[5], Value::Float(1.0));
        assert_eq!(values[6], Value::Boolean(true));
        assert_eq!(values[7], Value::Text(format!("w{index}").into()));
    }
}

#[test]
fn binding_takes_the_first_dialect_that_is_known_or_any() {
    let workload = everything(1);
    let dialects = ["other".to_owned(), "special".to_owned()];
    let bound = workload.bind(&dialects, PlaceholderStyle::Dollar).unwrap();
    let sql: Vec<&str> = bound
        .ops
        .iter()
        .filter_map(|op| match &op.kind {
            BoundOpKind::Query { sql, .. } => Some(sql.as_str()),
            BoundOpKind::Insert { .. } | BoundOpKind::Literal(_) | BoundOpKind::Transaction(_) => {
                None
            }
        })
        .collect();
    assert_eq!(sql, ["SELECT $1, $2, $3, $4, $5, $6, $7, $8::text", "SELECT count_star(samples)"]);
    assert_eq!(bound.tables[0].create, ["CREATE TABLE samples (…)", "CREATE INDEX …"]);

    let error =
        super::cpu(&[], 1).bind(&["oracle".to_owned()], PlaceholderStyle::Question).unwrap_err();
    assert_eq!(error.message, "table `cpu` has no SQL for this target (oracle)");
    let hint = "it has clickhouse, cratedb, mysql, postgresql, questdb, sqlite; \
                add the dialect to the file";
    assert_eq!(error.hint.as_deref(), Some(hint));
}

#[test]
fn settings_are_checked_and_explained() {
    let spec = parsed(EVERYTHING);
    for (name, value, message, hint) in [
        ("thigns", "5", "this workload has no parameter `thigns`", "did you mean `things`?"),
        (
            "things",
            "many",
            "`many` is no integer for parameter `things`",
            "write an integer such as 4000 or 4k",
        ),
        ("things", "0", "parameter `things` is 0; it must be at least 1", ""),
        ("things", "1k", "parameter `things` is 1000; it must be at most 100", ""),
        (
            "word",
            "'; --",
            "`'; --` is no text for parameter `word`",
            "write letters, digits, spaces and - _ . : + /, at most 200",
        ),
    ] {
        let error = spec.instantiate(&owned(&[(name, value)]), Seed(1)).unwrap_err();
        assert_eq!(error.message, message);
        assert_eq!(error.hint.unwrap_or_default(), hint, "{message}");
        assert_eq!(error.place, None);
    }
    // A valid setting that invalidates another place is reported at that place.
    let error = spec.instantiate(&owned(&[("tick", "0s")]), Seed(1)).unwrap_err();
    assert!(error.message.contains("must be longer than nothing"), "{error}");
    assert!(error.position().0 > 0);
}

#[test]
fn strange_streams_and_ids_do_no_harm() {
    let workload = everything(1);
    let stream = |ops: Vec<(OpId, u32)>| StreamSpec { ops, ..workload.stream("reads").unwrap() };
    for ops in [vec![], vec![(OpId(99), 1)], vec![(OpId(1), 0), (OpId(2), 0)]] {
        workload.op(&stream(ops), u64::MAX, &OpContext { first_row: u64::MAX });
    }
    let end = OpContext { first_row: u64::MAX };
    workload.op(&workload.stream("write").unwrap(), u64::MAX, &end);
    assert_eq!((workload.op_name(OpId(99)), workload.rows_per_op(OpId(99))), ("", 0));
    assert_eq!(workload.row_batch(9, 0, 5).columns.len(), 0);
    assert_eq!(workload.stream("nothing"), None);
}

fn no_op() -> Op {
    Op { id: OpId(0), index: 0, body: OpBody::Query(Vec::new()) }
}

proptest! {
    #[test]
    fn a_row_is_the_same_in_any_batch(
        seed in 0..3_u64,
        first in prop_oneof![0..100_u64, 0..1_u64 << 40],
        offset in 0..1_000_usize,
        before in 0..100_u64,
        dirty in 0..50_usize,
    ) {
        let workload = everything(seed);
        let large = workload.row_batch(0, first, 1_000);
        let index = first + offset as u64;
        prop_assert_eq!(row(&workload.row_batch(0, index, 1), 0), row(&large, offset));
        // In the middle of another batch, in memory with other content.
        let mut again = workload.row_batch(0, 3, dirty);
        let start = index.saturating_sub(before);
        let rows = usize::try_from(index - start).unwrap() + 1;
        workload.fill_row_batch(0, start, rows, &mut again);
        prop_assert_eq!(again.rows, rows);
        prop_assert_eq!(row(&again, rows - 1), row(&large, offset));
        prop_assert_eq!(&again, &workload.row_batch(0, start, rows));
    }

    #[test]
    fn an_op_depends_on_seed_stream_index_and_context_only(
        seed in any::<u64>(),
        indexes in proptest::collection::vec(0..1_u64 << 40, 1..20),
        first_row in 0..1_u64 << 40,
    ) {
        let (one, other) = (everything(seed), everything(seed));
        let context = OpContext { first_row };
        let mut reused = no_op();
        for name in ["reads", "write", "count"] {
            let stream = one.stream(name).unwrap();
            let forwards: Vec<Op> = indexes.iter().map(|i| one.op(&stream, *i, &context)).collect();
            for (index, op) in indexes.iter().zip(&forwards).rev() {
                prop_assert_eq!(&other.op(&stream, *index, &context), op);
                other.fill_op(&stream, *index, &context, &mut reused).unwrap();
                prop_assert_eq!(&reused, op);
            }
        }
    }
}

#[test]
fn seeds_streams_and_indexes_all_matter() {
    let ops = |seed: u64, name: &str| -> Vec<OpBody> {
        let workload = everything(seed);
        let stream = StreamSpec { name: name.to_owned(), ..workload.stream("reads").unwrap() };
        let context = OpContext::default();
        (0..20).map(|index| workload.op(&stream, index, &context).body).collect()
    };
    assert_ne!(ops(1, "a"), ops(2, "a"));
    assert_ne!(ops(1, "a"), ops(1, "b"));
    assert_ne!(everything(1).row_batch(0, 0, 9), everything(2).row_batch(0, 0, 9));
}
