//! Estimates by table: what is planned, what fits, when to stop.

use std::collections::BTreeMap;

use highwater_model::display::span;
use highwater_model::plan::{
    Arrivals, AuditLevel, AuditPlan, RetryPlan, Share, SteadinessRule, StopRule,
};
use highwater_model::units::{Nanos, Rate, Seed};
use highwater_workload::{WorkloadSpec, builtin};

use super::*;
use crate::planner::{self, PaceInput, PlanInput, StreamInput};

const GB: u64 = 1_000_000_000;

fn workload(rows: &str) -> Workload {
    let spec = WorkloadSpec::parse(builtin("cpu").unwrap().text).unwrap();
    let settings = [("batch", "100"), ("rows", rows)];
    let settings: BTreeMap<String, String> =
        settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    spec.instantiate(&settings, Seed(1)).unwrap()
}

/// One second of warm-up, and ten measured seconds per pace.
fn plan(workload: &Workload, stream: &str, paces: &[PaceInput], rows: Option<u64>) -> Plan {
    let input = PlanInput {
        literals: false,
        streams: vec![StreamInput {
            name: Some(stream.to_owned()),
            paces: paces.to_vec(),
            think: None,
        }],
        sessions: None,
        arrivals: Some(Arrivals::Constant),
        spawn_rate: None,
        warm_up: Nanos::from_secs(1),
        until_steady: false,
        step: Nanos::from_secs(10),
        stop: StopRule { rows, ..StopRule::default() },
        objectives: Vec::new(),
        steadiness: SteadinessRule::default(),
        retry: RetryPlan { attempts: 0, backoff: Nanos::ZERO, reconnect_limit: Nanos::ZERO },
        timeout: Nanos::MAX,
        audit: AuditPlan { level: AuditLevel::Off, limit: Nanos::MAX },
        share: Share::WHOLE,
    };
    planner::plan(workload, &input, 8).unwrap()
}

fn open(rate: u64) -> PaceInput {
    PaceInput::Open(Rate::per_second(rate))
}

#[test]
fn rows_follow_from_rates_limits_and_loaded_rows() {
    let closed = PaceInput::Closed(Some(4));
    for (to_load, first_row, stream, paces, limit, expected) in [
        ("0", 0, "insert", &[open(1_000)][..], None, Some(11_000)),
        // The first pace also applies to the warm-up.
        ("0", 0, "insert", &[open(1_000), open(2_000)], None, Some(31_000)),
        ("500", 0, "insert", &[open(1_000)], None, Some(11_500)),
        // Existing rows are not loaded again.
        ("500", 200, "insert", &[open(1_000)], None, Some(11_300)),
        ("500", 900, "insert", &[open(1_000)], None, Some(11_000)),
        ("500", 0, "dashboards", &[open(1_000)], None, Some(500)),
        ("0", 0, "insert", &[open(1_000)], Some(300), Some(1_300)),
        ("0", 0, "insert", &[closed], None, None),
        // The warm-up is not limited.
        ("0", 0, "insert", &[closed], Some(300), None),
    ] {
        let workload = workload(to_load);
        let plan = plan(&workload, stream, paces, limit);
        let input = EstimateInput {
            plan: &plan,
            workload: &workload,
            first_row,
            filled: first_row,
            stored: None,
            space: None,
        };
        let estimate = estimate(&input);
        assert_eq!(estimate.rows, expected, "{to_load} {first_row} {stream} {paces:?} {limit:?}");
    }
}

#[test]
fn the_time_is_that_of_the_pace_until_the_rows_are_there() {
    let closed = PaceInput::Closed(Some(4));
    for (pace, limit, fills, expected) in [
        (open(1_000), None, false, Some("11 s")),
        (open(1_000), Some(300), false, Some("1.3 s")),
        (open(1_000), Some(1_000_000), false, Some("11 s")),
        (closed, Some(300), false, Some("11 s")),
        // 2,000 of the 5,000 rows exist.
        (open(1_000), Some(5_000), true, Some("4 s")),
        // The default limit of a year is not an estimate.
        (open(1_000), Some(1_002_000), true, Some("16 min 41 s")),
        (closed, Some(5_000), true, None),
    ] {
        let workload = workload("0");
        let mut plan = plan(&workload, "insert", &[pace], limit);
        plan.stop.fills = fills;
        let input = EstimateInput {
            plan: &plan,
            workload: &workload,
            first_row: 0,
            filled: 2_000,
            stored: None,
            space: None,
        };
        let length = estimate(&input).duration_ns.map(span);
        assert_eq!(length.as_deref(), expected);
    }
}

fn estimated(stored: Option<(u64, u64)>, free: u64, total: u64) -> EstimateRecord {
    let workload = workload("0");
    let plan = plan(&workload, "insert", &[open(100_000)], None);
    estimate(&EstimateInput {
        plan: &plan,
        workload: &workload,
        first_row: 0,
        filled: 0,
        stored,
        space: Some(DiskSpace { place: "here".to_owned(), free_bytes: free, total_bytes: total }),
    })
}

#[test]
fn bytes_are_those_of_the_values_until_enough_rows_were_measured() {
    let of = |stored| {
        let estimate = estimated(stored, GB, GB);
        (estimate.bytes_per_row.unwrap(), estimate.bytes_per_row_measured)
    };
    let (values, measured) = of(None);
    // A time and ten integers of eight bytes, and an object of ten texts.
    assert!((200..500).contains(&values) && !measured, "{values}");
    assert_eq!(of(Some((100, 5_000))), (values, false));
    assert_eq!(of(Some((10_000, 1_234_567))), (124, true));
}

#[test]
fn a_run_that_cannot_fit_beside_the_reserve_is_rejected() {
    // 1.1 million rows of 100 bytes are 110 MB; a twentieth of a gigabyte is kept free.
    let measured = Some((1_000_000, 100_000_000));
    for (free, fits) in [(GB, true), (160_000_000, true), (159_999_999, false), (0, false)] {
        let checked = check(&estimated(measured, free, GB));
        assert_eq!(checked.is_ok(), fits, "{free}");
        if let Err(error) = checked {
            assert!(error.message.contains("110 MB to here"), "{error}");
            assert!(error.hint.unwrap().contains("--no-disk-guard"));
        }
    }
}

#[test]
fn the_reserve_is_a_part_of_the_disk_with_room_for_a_checkpoint_but_never_much() {
    for (total, expected) in [
        (0, 0),
        (20, 5),
        (32 << 20, 8 << 20),
        (160 << 20, 16 << 20),
        (20 * GB, GB),
        (1_000 * GB, 1 << 30),
    ] {
        assert_eq!(reserve(total), expected);
    }
}

#[test]
fn a_run_stops_before_the_next_looks_would_find_the_reserve_used() {
    for (free, before, stops) in [
        (100, 100, false),
        (51, 51, false),
        (50, 50, true),
        // 10 per check: two more would leave 60, or 50.
        (80, 90, false),
        (70, 80, true),
        // Something else freed space.
        (80, 70, false),
        (0, 0, true),
    ] {
        // A disk with a reserve of 50 MiB.
        let [now, before] = [free, before].map(|free| space(free, 1_000));
        assert_eq!(must_stop(&now, &before), stops, "{now:?} after {before:?}");
    }
}

#[test]
fn a_node_that_leaves_with_its_disk_does_not_stop_a_run() {
    let three = space(600, 3_000);
    assert!(!must_stop(&space(400, 2_000), &three));
    assert!(must_stop(&space(400, 3_000), &three), "the same by rows");
    assert!(must_stop(&space(100, 2_000), &three), "full all the same");
    // Briefly, the node is counted but its disk is not.
    let of = |nodes: &str, free| DiskSpace {
        place: format!("the disks of {nodes} nodes"),
        ..space(free, 2_000)
    };
    assert!(!must_stop(&of("2", 400), &of("3", 600)));
}

/// In MiB.
fn space(free: u64, total: u64) -> DiskSpace {
    DiskSpace { place: String::new(), free_bytes: free << 20, total_bytes: total << 20 }
}

#[test]
fn a_disk_that_a_second_could_fill_is_looked_at_more_often() {
    for (free, total, millis) in [
        (30 << 20, 30 << 20, 20),
        (1 << 30, 1 << 30, 237),
        (100 << 30, 1 << 40, 1_000),
        (0, 30 << 20, 20),
    ] {
        let space = DiskSpace { place: String::new(), free_bytes: free, total_bytes: total };
        assert_eq!(pause(&space).0 / 1_000_000, millis, "{free} of {total}");
    }
}
