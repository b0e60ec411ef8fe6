//! Tests of the bounded state of a long run.

use std::collections::BTreeMap;

use highwater_model::event::{StreamCounts, StreamProgress, WarningKind};
use highwater_model::numbers::to_f64;
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Unit;

use super::*;
use crate::tests::{begun, second as second_of, stream};

fn second(second: u64, phase: &str, units_per_s: f64, p99_ns: u64) -> Event {
    let stream = StreamProgress {
        offered_per_s: Some(2.0 * units_per_s),
        p50_ns: Some(p99_ns / 2),
        p99_ns: Some(p99_ns),
        errors: 3,
        rejected: 2,
        counts: StreamCounts {
            offered: 10,
            sent: 9,
            dropped: 1,
            acknowledged: 6,
            rows_acknowledged: 600,
            latency_up_to: vec![1; 19],
            latency_sum_ns: 5,
            service_up_to: vec![1; 19],
            failed: BTreeMap::from([(ErrorClass::Rejected, 2)]),
            ..StreamCounts::default()
        },
        ..stream("insert", Unit::Rows, units_per_s)
    };
    Event::Second(second_of(second, phase, vec![stream]))
}

#[test]
fn a_day_of_seconds_is_as_small_as_ten_minutes_and_loses_nothing() {
    let mut watched = WatchedPage::default();
    watched.event(&begun(Vec::new()));
    let day = 24 * 3_600;
    let mut most = 0;
    for s in 1..=day {
        let phase = if s <= 60 { "warm-up" } else { "measure" };
        let p99 = if s == 5_000 { 9_000_000 } else { 1_000_000 };
        watched.event(&second(s, phase, 100.0, p99));
        most = most.max(watched.run.seconds.slots.len());
    }
    assert!(most <= 600, "{most} slots");
    let slots = &watched.run.seconds.slots;
    assert!(slots.len() >= 300, "{}", slots.len());
    let units: f64 = slots.iter().map(|slot| slot.streams[0].units).sum();
    let seconds: u64 = slots.iter().map(|slot| slot.seconds).sum();
    assert_eq!(seconds, day);
    assert!((units - 100.0 * to_f64(day)).abs() < 1e-6, "{units}");
    // The slowest second is not averaged away, and phases are not joined.
    let p99 = slots.iter().map(|slot| slot.streams[0].p99_ns);
    assert_eq!(p99.filter(|p99| *p99 == Some(9_000_000)).count(), 1);
    let warm_up = slots.iter().filter(|slot| slot.phase == "warm-up");
    assert_eq!(warm_up.map(|slot| slot.seconds).sum::<u64>(), 60);
    assert_eq!(watched.totals.streams[0].rows_acknowledged, 600 * day);
    let rejected = watched.totals.streams[0].failed[ErrorClass::Rejected as usize];
    assert_eq!(rejected, 2 * day);
    assert_eq!(watched.totals.streams[0].service.up_to[18], day);
    assert_eq!(watched.totals.streams[0].failed_otherwise, day);
}

#[test]
fn phases_without_end_do_not_undo_the_bound() {
    let mut watched = WatchedPage::default();
    for s in 1..20_000 {
        watched.event(&second(s, &format!("step {s}"), 1.0, 1));
    }
    assert!(watched.run.seconds.slots.len() <= 600);
}

#[test]
fn a_trial_begins_anew_and_counters_continue() {
    let mut watched = WatchedPage::default();
    for _ in 0..3 {
        watched.event(&begun(Vec::new()));
        watched.event(&second(1, "measure", 100.0, 1));
    }
    assert_eq!(watched.run.seconds.slots.len(), 1);
    assert_eq!(watched.totals.streams[0].offered, 30);
}

#[test]
fn seconds_of_filling_tables_are_separate_from_later_ones() {
    let mut watched = WatchedPage::default();
    watched.event(&begun(Vec::new()));
    watched.event(&Event::Load(LoadBounds::default()));
    for s in 1..=90 {
        watched.event(&second(s, "load", 100.0, 1));
    }
    watched.event(&Event::Load(LoadBounds::default()));
    assert_eq!(watched.run.last, None);
    watched.event(&second(1, "measure", 100.0, 1));
    let slots = &watched.run.seconds.slots;
    let phases: Vec<_> = slots.iter().map(|slot| slot.phase.as_str()).collect();
    assert_eq!((phases, slots[0].from_s), (vec!["measure"], 0));
    assert_eq!(watched.totals.streams[0].offered, 910, "counters go on");
}

#[test]
fn lists_keep_their_last_entries() {
    let mut watched = WatchedPage::default();
    for number in 0..1_000 {
        watched.event(&Event::Warning {
            kind: WarningKind::FileNotWritten,
            message: format!("message {number}"),
        });
    }
    assert_eq!(watched.notes.len(), LINES_MAX);
    assert!(watched.notes.back().unwrap().contains("message 999"));
}
