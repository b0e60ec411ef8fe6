//! Every built-in workload: fingerprints that change with its content, and the same ops on any number of load
//! generators.

use std::fmt::Write as _;

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::{objects, owned, parsed};
use crate::{OpContext, Workload, builtin, catalog};
use highwater_model::op::{Op, OpBody, Value};
use highwater_model::plan::{LANES, Share};
use highwater_model::units::Seed;

fn workload(name: &str, settings: &[(&str, &str)], seed: u64) -> Workload {
    let spec = parsed(builtin(name).unwrap().text);
    spec.instantiate(&owned(settings), Seed(seed)).unwrap()
}

pub(super) fn digest(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// A digest of some rows, and one of the first ops, from the `Debug` output of all values.
fn content(workload: &Workload) -> (String, String) {
    let mut rows = String::new();
    for row in [0, 1, 999, 123_456_789] {
        write!(rows, "{}", row_text(workload, row)).unwrap();
    }
    let context = OpContext { first_row: 1_000_000 };
    let mut ops = String::new();
    for stream in workload.streams() {
        for index in 0..100 {
            let id = workload.op_id(stream, index);
            if workload.rows_per_op(id) > 0 {
                let first = context.first_row + index * workload.rows_per_op(id);
                write!(ops, "{}", row_text(workload, first)).unwrap();
            } else {
                let op = workload.op(stream, index, &context);
                write!(ops, "{:?} {:?}", op.id, op.body).unwrap();
            }
        }
    }
    (digest(&rows), digest(&ops))
}

/// One row of the first table; of a dictionary, only the row's value.
fn row_text(workload: &Workload, row: u64) -> String {
    use highwater_model::op::ColumnData::{ObjectDictionary, TextDictionary};
    let batch = workload.row_batch(0, row, 1);
    let column = |column: usize| match &batch.columns[column] {
        ObjectDictionary(_) => objects(&batch, column)[0].to_string(),
        TextDictionary(of) => of.values[usize::try_from(of.codes[0]).unwrap()].to_string(),
        other => format!("{other:?}"),
    };
    let columns: Vec<String> = (0..batch.columns.len()).map(column).collect();
    columns.join(" ")
}

/// If this fails, rows or ops changed: increment `version` in the workload's file (or GENERATOR_VERSION if no file
/// changed), because tables filled before can no longer be continued or audited.
#[test]
fn golden_fingerprints_of_definitions_rows_and_ops() {
    let found: Vec<String> = catalog()
        .iter()
        .flat_map(|entry| [1, 42].map(|seed| (entry.name, seed)))
        .map(|(name, seed)| {
            let workload = workload(name, &[], seed);
            let (rows, ops) = content(&workload);
            let (version, fingerprint) = (workload.version(), workload.fingerprint());
            format!("{name} {version}, seed {seed}: {fingerprint} rows {rows} ops {ops}")
        })
        .collect();
    insta::assert_snapshot!(found.join("\n"));
}

/// Like the test above, for shuffled ops and for keys that were written before: kv has neither by default.
#[test]
fn golden_fingerprints_of_kv_with_every_kind_of_op() {
    let settings = [
        ("read_percent", "40"),
        ("span_percent", "10"),
        ("del_percent", "10"),
        ("batch", "2"),
        ("order", "zipfian"),
        ("min_block_bytes", "8"),
        ("max_block_bytes", "20"),
    ];
    let found = [1, 42].map(|seed| {
        let workload = workload("kv", &settings, seed);
        let (rows, ops) = content(&workload);
        format!("seed {seed}: {} rows {rows} ops {ops}", workload.fingerprint())
    });
    insta::assert_snapshot!(found.join("\n"), @r"
    seed 1: 6f2832c4c0add674500a77a2979f1ca87b8471423a0c3bae6f362d78ac4258f1 rows 236c900ce783cfde ops e421902b08a6b0c0
    seed 42: e9a1ce6aa1cdf25d2489bca346c3795ed0b10534a6a4d4cf2e39848acfaa1165 rows d3ada9b692da865a ops ee33259184fa9bbc
    ");
}

#[test]
fn tsbs_queries_the_rows_of_cpu() {
    let settings = [("hosts", "50"), ("interval", "30s")];
    let (cpu, tsbs) = (workload("cpu", &settings, 5), workload("tsbs", &settings, 5));
    assert_eq!(cpu.row_batch(0, 60, 200), tsbs.row_batch(0, 60, 200));
    assert_eq!(tsbs.stream("queries").unwrap().ops.len(), 16);
}

#[test]
fn fields_and_tags_of_cpu_are_parameters() {
    let walk = workload("cpu", &[("extra_tags", "2")], 1).row_batch(0, 0, 1);
    let tags = &objects(&walk, 0)[0];
    assert_eq!(tags.as_object().unwrap().len(), 12);
    assert!(tags["tag_1"].as_str().unwrap().contains('-'));
    let uniform = workload("cpu", &[("fields", "uniform")], 1);
    let metrics =
        |tick: u64| super::integers(&uniform.row_batch(0, tick * 4_000, 4_000), 2).to_vec();
    let steps: i64 = metrics(1).iter().zip(metrics(0)).map(|(a, b)| (a - b).abs()).sum();
    // Two independent numbers in 0..=100 are 33.7 apart on average, those of walks less than one.
    assert!((128_000..141_000).contains(&steps), "{steps}");
}

/// The rows that ops of sysbench's name, as fractions of the table, and one text.
#[test]
fn sysbench_chooses_rows_as_its_distributions_do() {
    let chosen = |rand_type| {
        let workload = workload("sysbench", &[("rand_type", rand_type)], 1);
        let stream = workload.stream("oltp_point_select").unwrap();
        let ids = (0..20_000).map(|index| {
            match workload.op(&stream, index, &OpContext::default()).body {
                OpBody::Query(values) => match values[..] {
                    [Value::Integer(id)] => id,
                    _ => panic!("{values:?}"),
                },
                OpBody::Insert(_) => panic!(),
            }
        });
        let ids: Vec<i64> = ids.collect();
        assert!(ids.iter().all(|id| (1..=10_000).contains(id)));
        let share = |from: i64, to: i64| {
            let within = ids.iter().filter(|id| (from..=to).contains(*id)).count();
            f64::from(u32::try_from(within).unwrap()) / 20_000.0
        };
        [share(4_975, 5_051), share(1, 2_500), share(1, 10)]
    };
    // Of special draws, 3 in 4 are among 77 rows in the middle; a twelfth of the others' deviation is 833 rows, so that
    // 3.7% of them are there too, and 0.13% are three deviations below the middle. Five deviations of a share of
    // 20,000 draws are at most 1.8%.
    for (rand_type, expected) in [
        ("uniform", [0.0077, 0.25, 0.001]),
        ("special", [0.759, 0.0003, 0.0]),
        // Sums of i^-0.8: 5 (n^0.2 - 1) and a constant.
        ("zipfian", [0.0029, 0.728, 0.134]),
    ] {
        for (found, expected) in chosen(rand_type).into_iter().zip(expected) {
            assert!((found - expected).abs() < 0.018, "{rand_type}: {found} {expected}");
        }
    }
    let workload = workload("sysbench", &[], 1);
    let stream = workload.stream("oltp_update_non_index").unwrap();
    let body = workload.op(&stream, 7, &OpContext::default()).body;
    let OpBody::Query(values) = body else { panic!() };
    let Value::Text(text) = &values[0] else { panic!("{values:?}") };
    let groups: Vec<&str> = text.split('-').collect();
    assert!(groups.iter().all(|group| group.len() == 11 && group.parse::<u64>().is_ok()), "{text}");
    assert_eq!((groups.len(), text.len()), (10, 119));
}

#[test]
fn every_host_of_nib_cpu_comes_once_a_tick_and_leads_back_to_its_row() {
    let batch = workload("nib-cpu", &[], 1).row_batch(0, 8_000, 4_000);
    let numbers: Vec<u64> = objects(&batch, 0)
        .iter()
        .map(|tags| tags["hostname"].as_str().unwrap()[5..].parse().unwrap())
        .collect();
    assert!((0..).zip(&numbers).all(|(row, host)| host * 2_933 % 4_000 == row));
    assert_ne!(numbers[..3], [0, 1, 2]);
}

#[test]
fn nib_cpu_strict_has_as_many_different_rows_as_a_batch() {
    let strict = workload("nib-cpu-strict", &[("batch", "100")], 1);
    assert_eq!(strict.distinct_rows(), Some(100));
    assert_eq!(row_text(&strict, 17), row_text(&strict, 1_017));
    assert_ne!(row_text(&strict, 17), row_text(&strict, 18));
    assert_eq!(workload("nib-cpu", &[], 1).distinct_rows(), None);
}

/// Ops of these lanes, each with its stream, round, and lane.
fn ops_of(workload: &Workload, lanes: &[u32]) -> Vec<((usize, u64, u32), Op)> {
    let context = OpContext { first_row: 90_000 };
    let streams = workload.streams();
    streams
        .iter()
        .enumerate()
        .flat_map(|stream| (0..2).map(move |round| (stream, round)))
        .flat_map(|(stream, round)| lanes.iter().map(move |lane| (stream, round, *lane)))
        .map(|((number, stream), round, lane)| {
            let index = round * u64::from(LANES) + u64::from(lane);
            let op = workload.op(stream, index, &context);
            ((number, round, lane), op)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn lanes_and_shares_give_the_same_set(
        of in 1..=LANES,
        entry in 0..catalog().len(),
    ) {
        // Two workload instances, like on two machines.
        let name = catalog()[entry].name;
        let settings: &[_] = match name {
            "kv" => &[("read_percent", "50")],
            "pgbench" | "sysbench" => &[],
            _ => &[("batch", "3")],
        };
        let [here, there] = [0, 1].map(|_| workload(name, settings, 9));
        let all: Vec<u32> = (0..LANES).collect();
        let mut together = Vec::new();
        for index in 1..=of {
            let share = Share { index, of, start_at: None };
            together.extend(ops_of(&there, &share.lanes()));
        }
        together.sort_by_key(|(place, _)| *place);
        // Without a message: the difference would be pages of rows.
        prop_assert!(together == ops_of(&here, &all));
    }
}
