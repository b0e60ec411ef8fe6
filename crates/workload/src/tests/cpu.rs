//! The cpu workload: its structure, and fingerprints that change with its content.

use std::collections::{BTreeMap, BTreeSet};

use super::catalog::digest;
use super::{cpu, identity, integers, objects, parsed, timestamps};
use crate::{Arrivals, OpContext, Unit, Workload, builtin};
use highwater_model::op::{Op, OpBody, OpId, Value};
use highwater_model::units::Seed;

/// A digest of the first rows and ops, from the `Debug` output of all values.
fn content(workload: &Workload) -> String {
    let mut parts = Vec::new();
    for row in [0, 1, 999, 123_456_789] {
        let batch = workload.row_batch(0, row, 1);
        parts.push(format!("{:?}", objects(&batch, 0)));
        parts.push(format!("{:?}", &batch.columns[1..]));
    }
    let context = OpContext { first_row: 1_000_000 };
    for stream in workload.streams() {
        for index in 0..200 {
            let op = workload.op(stream, index, &context);
            parts.push(match op.body {
                OpBody::Insert(batch) => format!("{:?}", &batch.columns[1..]),
                OpBody::Query(values) => format!("{:?} {values:?}", op.id),
            });
        }
    }
    digest(&parts.concat())
}

/// If this fails, rows or ops changed: increment `version` in cpu.toml (or GENERATOR_VERSION if no file changed),
/// because tables filled before can no longer be continued or audited.
#[test]
fn golden_fingerprints_of_definition_rows_and_ops() {
    let found: Vec<(u64, String, String)> = [1, 42]
        .into_iter()
        .map(|seed| {
            let workload = cpu(&[], seed);
            (seed, workload.fingerprint().to_owned(), content(&workload))
        })
        .collect();
    insta::assert_json_snapshot!(found, @r#"
    [
      [
        1,
        "6b6b92c2298d2ba8175b67983d6dd5134b8fd535023cdeaeda066cda2471b395",
        "52021c35bd31a5a6"
      ],
      [
        42,
        "480253a4e1976c99ea4be9d667e0324b0c2e51657fb1085cca7f3301da9e7cf7",
        "85cb86978ca2a774"
      ]
    ]
    "#);
}

#[test]
fn only_settings_that_change_rows_change_their_identity() {
    let base = cpu(&[], 1);
    for setting in
        [("batch", "999"), ("window", "6m"), ("shards", "5"), ("replicas", "1"), ("rows", "1M")]
    {
        let other = cpu(&[setting], 1);
        assert_eq!(identity(&other), identity(&base), "{setting:?}");
    }
    for setting in [
        ("hosts", "4001"),
        ("interval", "11s"),
        ("start", "2016-01-01T00:00:01Z"),
        ("fields", "uniform"),
        ("extra_tags", "1"),
    ] {
        let other = cpu(&[setting], 1);
        assert_ne!(identity(&other), identity(&base), "{setting:?}");
    }
    assert_ne!(identity(&cpu(&[], 2)), identity(&base));
}

#[test]
fn the_sql_of_other_databases_is_no_part_of_the_identity_and_the_target_s_own_is() {
    let text = builtin("cpu").unwrap().text;
    let of = |text: &str, dialect: &str| {
        let workload = parsed(text).instantiate(&BTreeMap::new(), Seed(1)).unwrap();
        workload.row_identity(&[dialect.to_owned()]).unwrap()
    };
    let altered = text.replacen("tags jsonb NOT NULL", "tags json NOT NULL", 1);
    assert_ne!(altered, text);
    assert_eq!(of(&altered, "sqlite"), of(text, "sqlite"));
    assert_ne!(of(&altered, "postgresql"), of(text, "postgresql"));
}

#[test]
fn only_settings_that_change_rows_or_ops_change_the_fingerprint() {
    let base = cpu(&[], 1);
    for setting in [
        ("hosts", "4001"),
        ("interval", "11s"),
        ("start", "2016-01-01T00:00:01Z"),
        ("batch", "999"),
        ("window", "6m"),
        ("shards", "5"),
        ("replicas", "1"),
    ] {
        let other = cpu(&[setting], 1);
        assert_ne!(other.fingerprint(), base.fingerprint(), "{setting:?}");
        let [other, unseeded] = [&other, &base].map(Workload::unseeded_fingerprint);
        assert_ne!(other, unseeded, "{setting:?}");
    }
    let reseeded = cpu(&[], 2);
    assert_ne!(reseeded.fingerprint(), base.fingerprint());
    assert_eq!(reseeded.unseeded_fingerprint(), base.unseeded_fingerprint());
    // A table may be loaded in several runs of different lengths.
    assert_eq!(cpu(&[("rows", "1M")], 1).fingerprint(), base.fingerprint());
    assert_eq!(
        cpu(&[("hosts", "4k"), ("start", "2016-01-01T01:00:00+01:00")], 1).fingerprint(),
        base.fingerprint()
    );
}

#[test]
fn rows_are_time_major() {
    let workload = cpu(&[("hosts", "3"), ("interval", "1m")], 1);
    let batch = workload.row_batch(0, 4, 5);
    let minute = 60_000;
    let start = 1_451_606_400_000;
    assert_eq!(
        timestamps(&batch, 1),
        [
            start + minute,
            start + minute,
            start + 2 * minute,
            start + 2 * minute,
            start + 2 * minute
        ]
    );
    let hosts: Vec<String> = objects(&batch, 0)
        .iter()
        .map(|tags| tags["hostname"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(hosts, ["host_1", "host_2", "host_0", "host_1", "host_2"]);
}

#[test]
fn tags_are_those_of_the_original_and_stay_for_life() {
    let workload = cpu(&[], 1);
    let batch = workload.row_batch(0, 0, 8_000);
    let tags = objects(&batch, 0);
    assert_eq!(tags[..4_000], tags[4_000..]);
    let distinct = |name: &str| -> BTreeSet<&str> {
        tags.iter().map(|tags| tags[name].as_str().unwrap()).collect()
    };
    let sizes = [
        ("hostname", 4_000),
        ("region", 9),
        ("datacenter", 23),
        ("rack", 100),
        ("os", 3),
        ("arch", 2),
        ("team", 4),
        ("service", 20),
        ("service_version", 2),
        ("service_environment", 3),
    ];
    for (name, values) in sizes {
        assert_eq!(distinct(name).len(), values, "{name}");
    }
    assert_eq!(tags[0].as_object().unwrap().len(), sizes.len());
    for tags in &tags {
        let (region, datacenter) = (&tags["region"], tags["datacenter"].as_str().unwrap());
        assert_eq!(datacenter[..datacenter.len() - 1], *region.as_str().unwrap());
    }
    // Uniform over nine regions: 444 hosts each, within four deviations.
    for region in distinct("region") {
        let hosts = tags[..4_000].iter().filter(|tags| tags["region"] == region).count();
        assert!((364..=524).contains(&hosts), "{region}: {hosts}");
    }
}

#[test]
fn the_insert_stream_covers_the_rows_without_a_gap() {
    let workload = cpu(&[("batch", "7"), ("hosts", "5")], 1);
    let stream = workload.stream("insert").unwrap();
    assert_eq!((stream.unit, stream.arrivals), (Unit::Rows, Arrivals::Constant));
    let context = OpContext { first_row: 30 };
    let mut together: Vec<i64> = Vec::new();
    for index in 0..10 {
        let op = workload.op(&stream, index, &context);
        assert_eq!((op.rows(), workload.rows_per_op(op.id)), (7, 7));
        let OpBody::Insert(batch) = op.body else { panic!("not an insert") };
        assert_eq!(batch.first_row, 30 + 7 * index);
        together.extend(integers(&batch, 2));
    }
    assert_eq!(together, integers(&workload.row_batch(0, 30, 70), 2));
}

#[test]
fn dashboards_are_queried_by_their_weights() {
    let workload = cpu(&[], 1);
    let stream = workload.stream("dashboards").unwrap();
    assert_eq!((stream.unit, stream.arrivals), (Unit::Queries, Arrivals::Poisson));
    let weights: Vec<(&str, u32)> =
        stream.ops.iter().map(|(id, weight)| (workload.op_name(*id), *weight)).collect();
    assert_eq!(
        weights,
        [
            ("latest-metrics", 10),
            ("service", 9),
            ("recent-snapshot", 8),
            ("high-cpu-hosts", 7),
            ("max-user", 2),
            ("moving-average", 1)
        ]
    );
    let mut counts = [0_i64; 7];
    for index in 0..37_000 {
        let OpId(id) = workload.op(&stream, index, &OpContext::default()).id;
        counts[usize::from(id)] += 1;
    }
    for (id, weight) in &stream.ops {
        let requested = counts[usize::from(id.0)];
        let expected = i64::from(*weight) * 1_000;
        // Four deviations of a binomial count.
        assert!((requested - expected).pow(2) < 16 * expected, "{requested} for {expected}");
    }
}

fn parameters(op: &Op) -> &[Value] {
    match &op.body {
        OpBody::Query(values) => values,
        OpBody::Insert(_) => panic!("not a query"),
    }
}

#[test]
fn queries_select_hosts_in_the_middle_half() {
    for (hosts, least, most) in [("4000", 1_000, 3_000), ("8", 2, 6), ("1", 0, 0)] {
        let workload = cpu(&[("hosts", hosts)], 1);
        let stream = workload.stream("latest-metrics").unwrap();
        let requested: BTreeSet<u64> = (0..20_000)
            .map(|index| {
                match &parameters(&workload.op(&stream, index, &OpContext::default()))[0] {
                    Value::Text(name) => name.strip_prefix("host_").unwrap().parse().unwrap(),
                    other => panic!("{other:?}"),
                }
            })
            .collect();
        assert_eq!(requested.first(), Some(&least), "{hosts}");
        assert_eq!(requested.last(), Some(&most), "{hosts}");
    }
}

#[test]
fn recent_means_recent_in_the_data() {
    let workload = cpu(&[], 1);
    let stream = workload.stream("recent-snapshot").unwrap();
    // There are 400 ticks of ten seconds; the last one began 3,990 s after the first.
    let context = OpContext { first_row: 400 * 4_000 };
    let op = workload.op(&stream, 5, &context);
    let since = 1_451_606_400_000 + 3_990_000 - 300_000;
    assert_eq!(parameters(&op)[1], Value::TimestampMs(since));
    let empty = workload.op(&stream, 5, &OpContext::default());
    assert_eq!(parameters(&empty)[1], Value::TimestampMs(1_451_606_400_000 - 300_000));
}

#[test]
fn rows_to_load_come_from_a_parameter() {
    assert_eq!(cpu(&[], 1).rows_to_load(), 0);
    let workload = cpu(&[("rows", "2M")], 1);
    assert_eq!(workload.rows_to_load(), 2_000_000);
    assert_eq!(workload.op_name(workload.load_op().unwrap()), "insert");
    assert_eq!(workload.parameters()["rows"], "2000000");
}
