//! A course that changes, one that does not, and what is told of the time of the change.

use super::super::findings;
use super::*;
use crate::analysis::synthetic::Noise;
use crate::model::record::{IntervalRecord, RunRecord};
use crate::model::target_telemetry::{SeriesKind, TargetTelemetry, TelemetrySeries};
use crate::report::fixture;

const S: u64 = 1_000_000_000;

/// Ten minutes; ops of 1,000 rows each second around a level, and their median latency.
fn course(
    mut record: RunRecord,
    ops: impl Fn(u64) -> f64,
    p50_ms: impl Fn(u64) -> f64,
) -> RunRecord {
    let phase = record
        .phases
        .iter_mut()
        .find(|phase| phase.name == "measure")
        .unwrap();
    phase.duration_ns = 600 * S;
    let mut noise = Noise::new(7);
    let pattern = record.intervals[0].clone();
    record.intervals = (0..600)
        .map(|t| {
            let around =
                |level: f64, noise: &mut Noise| whole(level * (1.0 + 0.03 * noise.normal()));
            let acknowledged = around(ops(t), &mut noise);
            IntervalRecord {
                second: 2 + t,
                acknowledged,
                rows_acknowledged: 1_000 * acknowledged,
                p50_ns: Some(around(p50_ms(t) * 1e6, &mut noise)),
                ..pattern.clone()
            }
        })
        .collect();
    record
}

fn tell(record: &mut RunRecord, name: &str, value: impl Fn(u64) -> f64) {
    let telemetry = record
        .target_telemetry
        .get_or_insert_with(|| TargetTelemetry {
            interval_ns: S,
            times_ns: (0..=602).map(|second| second * S).collect(),
            ..TargetTelemetry::default()
        });
    telemetry.series.push(TelemetrySeries {
        source: "target".to_owned(),
        name: name.to_owned(),
        unit: "share".to_owned(),
        node: Some("n1".to_owned()),
        kind: SeriesKind::Level,
        values: (0..=602).map(|second| Some(value(second))).collect(),
    });
}

fn of_course(record: &RunRecord) -> Vec<Told> {
    let codes = ["throughput_changed", "latency_changed", "regular_slowdowns"];
    let told = findings(record).into_iter();
    told.filter(|told| codes.contains(&told.code)).collect()
}

#[test]
fn a_fall_for_good_is_dated_and_explained_by_what_moved_then() {
    let closed = fixture::closed();
    let mut record = course(closed, |t| if t < 400 { 1_000.0 } else { 250.0 }, |_| 4.0);
    tell(&mut record, "disk_credit", |s| {
        if s < 402 {
            1.0 - 0.0025 * f64::from(u32::try_from(s).unwrap())
        } else {
            0.0
        }
    });
    tell(&mut record, "disk_busy", |s| f64::from(u8::from(s >= 402)));
    tell(
        &mut record,
        "cpu_busy",
        |s| if s < 402 { 0.97 } else { 0.25 },
    );
    tell(&mut record, "memory_used", |_| 0.5);
    let told = of_course(&record);
    let [told] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert!(
        told.sentence.starts_with("throughput fell by 75"),
        "{told:?}"
    );
    assert!(told.sentence.contains("at 402 s, from "), "{told:?}");
    for part in ["disk_busy of n1 0 % → 100 %", "cpu_busy of n1 97", "→ 25"] {
        assert!(told.evidence.contains(part), "{part}: {told:?}");
    }
    assert!(!told.evidence.contains("memory_used"), "{told:?}");
    assert!(told.hint.contains("the disk became the limit"));
}

#[test]
fn a_course_without_a_change_is_not_told_nor_is_a_small_one() {
    let flat = course(fixture::closed(), |_| 1_000.0, |_| 4.0);
    assert_eq!(of_course(&flat), []);
    let small = course(
        fixture::closed(),
        |t| if t < 300 { 1_000.0 } else { 960.0 },
        |_| 4.0,
    );
    assert_eq!(of_course(&small), []);
    let larger = course(
        fixture::closed(),
        |t| if t < 300 { 1_000.0 } else { 930.0 },
        |_| 4.0,
    );
    assert_eq!(of_course(&larger)[0].code, "throughput_changed");
    assert!(
        of_course(&larger)[0]
            .evidence
            .contains("no telemetry moved then")
    );
}

#[test]
fn latency_is_looked_at_in_open_load_only() {
    let slower = |t: u64| if t < 200 { 4.0 } else { 9.0 };
    let open = course(fixture::open_gate(), |_| 1_000.0, slower);
    let told = of_course(&open);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0]
            .sentence
            .starts_with("the median latency rose by 12"),
        "{told:?}"
    );
    assert!(told[0].sentence.contains("at 202 s"), "{told:?}");
    assert_eq!(
        of_course(&course(fixture::closed(), |_| 1_000.0, slower)),
        []
    );
}

#[test]
fn slowdowns_that_come_again_are_told_with_their_distance() {
    let beats = |depth: f64| {
        let ops = move |t: u64| {
            if t % 30 < 3 {
                1_000.0 * (1.0 - depth)
            } else {
                1_000.0
            }
        };
        of_course(&course(fixture::closed(), ops, |_| 4.0))
    };
    let told = beats(0.3);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].code, "regular_slowdowns");
    assert!(told[0].sentence.contains("about every 30 s"), "{told:?}");
    assert_eq!(beats(0.06), [], "not deep");
}

#[test]
fn short_phases_have_no_course() {
    let mut record = course(
        fixture::closed(),
        |t| if t < 100 { 1_000.0 } else { 250.0 },
        |_| 4.0,
    );
    let phase = record
        .phases
        .iter_mut()
        .find(|phase| phase.name == "measure")
        .unwrap();
    phase.duration_ns = 200 * S;
    assert_eq!(of_course(&record), []);
}
