//! Each rule with telemetry that must and must not trigger it, on both sides of its bound.

use super::super::findings;
use super::*;
use crate::fixture;
use highwater_model::target_telemetry::SeriesKind;

const NONE: [&str; 0] = [];

fn add_levels(record: &mut RunRecord, name: &str, node: &str, value: impl Fn(u32) -> f64) {
    fixture::add_series(record, (name, Some(node), SeriesKind::Level), value);
}

fn add_counts(record: &mut RunRecord, name: &str, node: &str, value: impl Fn(u32) -> f64) {
    fixture::add_series(record, (name, Some(node), SeriesKind::Count), value);
}

fn reported_of(mut record: RunRecord, change: impl FnOnce(&mut RunRecord)) -> Vec<&'static str> {
    change(&mut record);
    findings(&record).iter().map(|found| found.code).collect()
}

fn codes_after(change: impl FnOnce(&mut RunRecord)) -> Vec<&'static str> {
    reported_of(fixture::closed(), change)
}

/// A CPU busy enough that no rule reports an idle target.
fn cpu(record: &mut RunRecord, busy: f64) {
    add_levels(record, "cpu_busy", "n1", |_| busy);
}

#[test]
fn a_disk_at_its_limit_is_reported_if_cpu_is_left() {
    let disk = |disk: f64, busy: f64| {
        codes_after(|record| {
            cpu(record, busy);
            add_levels(record, "disk_busy", "sda", |_| disk);
        })
    };
    assert_eq!(disk(0.91, 0.6), ["disk_limits"]);
    assert_eq!(disk(0.89, 0.6), NONE);
    assert_eq!(disk(0.95, 0.71), NONE, "both are busy");
    let warming = |second: u32| if second <= 2 { 1.0 } else { 0.5 };
    let in_warm_up = codes_after(|record| {
        cpu(record, 0.6);
        add_levels(record, "disk_busy", "sda", warming);
    });
    assert_eq!(in_warm_up, NONE, "the warm-up is not measured");
}

#[test]
fn too_many_parts_from_the_setting_on_or_if_inserts_are_delayed() {
    let parts = |most: f64, limit: Option<&str>, delayed: f64| {
        codes_after(|record| {
            cpu(record, 0.9);
            let settings = &mut record.target.settings;
            settings.extend(limit.map(|limit| (PARTS_LIMIT.to_owned(), limit.to_owned())));
            let peak = |value: f64| move |second| if second == 8 { value } else { 0.0 };
            add_levels(record, names::PARTS_OF_PARTITION, "n1", peak(most));
            add_levels(record, names::DELAYED_INSERTS, "n1", peak(delayed));
        })
    };
    assert_eq!(parts(150.0, Some("150"), 0.0), ["too_many_parts"]);
    assert_eq!(parts(149.0, Some("150"), 0.0), NONE);
    // A table may have its own limit.
    assert_eq!(parts(20.0, Some("150"), 1.0), ["too_many_parts"]);
    assert_eq!(parts(900.0, None, 0.0), NONE, "nobody knows the limit");
    // As given by the user, and as reported by the target, no matter who created the table.
    for (of_tables, of_given) in
        [(None, Some("300")), (Some("300"), None), (Some("300"), Some("9"))]
    {
        let of_table = |most: f64| {
            codes_after(move |record| {
                cpu(record, 0.9);
                let given = [("", Some("150")), ("with.", of_given), ("table.", of_tables)];
                for (origin, limit) in given {
                    let name = format!("{origin}{PARTS_LIMIT}");
                    record.target.settings.extend(limit.map(|limit| (name, limit.to_owned())));
                }
                add_levels(record, names::PARTS_OF_PARTITION, "n1", move |_| most);
            })
        };
        assert_eq!(of_table(299.0), NONE, "their own limit is in force");
        assert_eq!(of_table(300.0), ["too_many_parts"]);
    }
    let warming_up = codes_after(|record| {
        cpu(record, 0.9);
        let early = |second| if second <= 1 { 9.0 } else { 0.0 };
        add_levels(record, names::PARTS_OF_PARTITION, "n1", early);
        add_levels(record, names::DELAYED_INSERTS, "n1", early);
    });
    assert_eq!(warming_up, NONE);
}

#[test]
fn a_node_above_its_share_is_reported() {
    let nodes = |busy: [f64; 3]| {
        codes_after(|record| {
            for (number, busy) in busy.into_iter().enumerate() {
                add_levels(record, "cpu_busy", &format!("n{number}"), |_| busy);
            }
        })
    };
    assert_eq!(nodes([0.9, 0.4, 0.4]), ["unequal_nodes"]);
    assert_eq!(nodes([0.8, 0.5, 0.5]), NONE);
    assert_eq!(nodes([0.49, 0.1, 0.1]), ["few_sessions"], "not busy at all");
    let only_node = codes_after(|record| cpu(record, 0.9));
    assert_eq!(only_node, NONE);
    let of_two_sources = codes_after(|record| {
        cpu(record, 0.9);
        add_levels(record, "cpu_busy", "this machine", |_| 0.1);
        let codes_after = record.target_telemetry.as_mut().unwrap();
        "host".clone_into(&mut codes_after.series[1].source);
    });
    assert_eq!(of_two_sources, NONE, "another source tells of no node");
}

#[test]
fn waiting_for_locks_is_reported_from_a_tenth_of_the_sessions_on() {
    let locks = |waiting: f64, sessions: u32| {
        codes_after(|record| {
            record.streams[0].sessions = sessions;
            add_levels(record, "lock_waits", "n1", |_| waiting);
        })
    };
    assert_eq!(locks(1.0, 4), ["locks"]);
    assert_eq!(locks(0.9, 4), NONE);
    assert_eq!(locks(3.9, 40), NONE);
}

#[test]
fn advice_on_lock_waits_follows_the_most_frequent_wait() {
    let hint = |kind: Option<&'static str>, of_kind: f64| {
        let mut record = fixture::closed();
        add_levels(&mut record, names::LOCK_WAITS, "n1", |_| 8.0);
        if let Some(kind) = kind {
            add_levels(&mut record, kind, "n1", move |_| of_kind);
        }
        let found = findings(&record);
        let locks = found.into_iter().find(|found| found.code == "locks");
        locks.map_or("", |found| found.hint)
    };
    let of_rows = hint(Some(names::LOCK_WAITS_ROW), 7.0);
    assert!(of_rows.contains("more keys"), "{of_rows}");
    let of_file = hint(Some(names::LOCK_WAITS_EXTEND), 7.0);
    assert!(of_file.contains("larger batches") && of_file.contains("do not help"), "{of_file}");
    let of_table = hint(Some(names::LOCK_WAITS_TABLE), 7.0);
    assert!(of_table.contains("locks the whole table"), "{of_table}");
    for unknown in [hint(None, 0.0), hint(Some(names::LOCK_WAITS_ROW), 4.0)] {
        assert!(!unknown.contains("keys"), "{unknown}");
    }
}

/// Ops per second of the fixture's run, by its seconds.
fn seconds(record: &mut RunRecord, acknowledged: impl Fn(u64) -> u64) {
    let pattern = record.intervals[0].clone();
    record.intervals = (2..12)
        .map(|second| highwater_model::record::IntervalRecord {
            second,
            acknowledged: acknowledged(second),
            ..pattern.clone()
        })
        .collect();
}

#[test]
fn checkpoints_are_reported_if_less_is_acknowledged_during_them() {
    let checkpoints = |during: u64, from: u32| {
        codes_after(|record| {
            seconds(record, |second| if second >= 7 { during } else { 100 });
            // A sample at the end of a second describes that second.
            let blocks = |second: u32| f64::from(u8::from(second > from)) * 50.0;
            add_counts(record, "checkpoint_blocks", "n1", blocks);
        })
    };
    assert_eq!(checkpoints(79, 7), ["checkpoints_slow"]);
    assert_eq!(checkpoints(81, 7), NONE);
    assert_eq!(checkpoints(79, 9), NONE, "too few samples");
}

#[test]
fn checkpoints_in_measured_phases_are_found_by_the_best_available_figure() {
    let slow_from = |second: u64| if second >= 7 { 50 } else { 100 };
    let begun = |second: u32| f64::from(u8::from(second > 7));
    let number_alone = codes_after(|record| {
        seconds(record, slow_from);
        add_counts(record, "checkpoints", "n1", begun);
    });
    assert_eq!(number_alone, ["checkpoints_slow"]);
    // A checkpoint begins in each second, but blocks are written in some seconds only.
    let both = |blocks: fn(u32) -> f64, number: fn(u32) -> f64| {
        codes_after(|record| {
            seconds(record, slow_from);
            add_counts(record, "checkpoints", "n1", number);
            add_counts(record, "checkpoint_blocks", "n1", blocks);
        })
    };
    assert_eq!(both(begun, |_| 1.0), ["checkpoints_slow"]);
    assert_eq!(both(|_| 0.0, begun), NONE);
    // The warm-up is not measured: without it there are four seconds of checkpoints.
    let early = codes_after(|record| {
        let pattern = record.intervals[0].clone();
        let interval = |second| highwater_model::record::IntervalRecord {
            second,
            acknowledged: if second < 6 { 50 } else { 100 },
            ..pattern.clone()
        };
        record.intervals = (0..12).map(interval).collect();
        add_counts(record, "checkpoint_blocks", "n1", |second| f64::from(u8::from(second <= 6)));
    });
    assert_eq!(early, NONE);
    let beside_a_load = codes_after(|record| {
        seconds(record, slow_from);
        let of_load = record.intervals[5..].iter().map(|measured| {
            let mut interval = measured.clone();
            "load".clone_into(&mut interval.phase);
            interval
        });
        let of_load: Vec<_> = of_load.collect();
        record.intervals.extend(of_load);
        record.phases.push(highwater_model::record::PhaseRecord {
            name: "load".to_owned(),
            kind: highwater_model::plan::PhaseKind::Load,
            ..record.phases[0].clone()
        });
        add_counts(record, "checkpoint_blocks", "n1", begun);
    });
    // Loading the tables is not measured.
    assert_eq!(beside_a_load, ["checkpoints_slow"]);
}

#[test]
fn a_full_network_is_reported_and_loopback_is_none() {
    let network = |node: &str, carried: f64| {
        let node = node.to_owned();
        codes_after(move |record| add_counts(record, "net_received", &node, |_| carried))
    };
    assert_eq!(network("eth0", 118e6), ["network_limits"]);
    assert_eq!(network("eth0", 1.2e9), ["network_limits"]);
    assert_eq!(network("eth0", 111e6), NONE);
    assert_eq!(network("eth0", 126e6), NONE, "faster than that speed");
    assert_eq!(network("lo", 118e6), NONE);
    let sent = codes_after(|record| add_counts(record, "net_sent", "eth0", |_| 118e6));
    assert_eq!(sent, ["network_limits"]);
}

#[test]
fn a_queue_that_grows_is_reported() {
    let queue =
        |value: fn(u32) -> f64| codes_after(|record| add_levels(record, "queue", "n1", value));
    assert_eq!(queue(|second| f64::from(second) * 4.0), ["growing_queue"]);
    assert_eq!(queue(|_| 50.0), NONE, "long, but not growing");
    assert_eq!(queue(|second| f64::from(second) * 0.5), NONE, "short");
}

#[test]
fn rejections_that_no_client_heard_of_are_reported_and_miss_an_objective_of_none() {
    use crate::judge;
    use highwater_model::judgment::ObjectiveValue;
    use highwater_model::plan::Objective;
    let rejecting = |pieces: f64, max_ppm: u32| {
        let mut record = fixture::closed();
        record.plan.definition.objectives = vec![Objective::Rejected { max_ppm }];
        add_counts(&mut record, "rejected", "n1", |second| if second == 5 { pieces } else { 0.0 });
        record
    };
    let codes = |record: RunRecord| reported_of(record, |_| ());
    assert_eq!(codes(rejecting(7.0, 0)), ["rejected_inside"]);
    assert_eq!(codes(rejecting(0.0, 0)), NONE);
    let mut seen_by_clients = rejecting(7.0, 0);
    seen_by_clients.results[0].errors.insert("rejected".to_owned(), 1);
    assert_eq!(codes(seen_by_clients), NONE, "its clients know");
    let value = |record: &RunRecord| judge(record).objective.value;
    assert_eq!(value(&rejecting(7.0, 0)), ObjectiveValue::Missed);
    assert_eq!(value(&rejecting(0.0, 0)), ObjectiveValue::Met);
    // They are not a fraction of ops.
    assert_eq!(value(&rejecting(7.0, 1_000)), ObjectiveValue::Met);
    let said = &judge(&rejecting(7.0, 0)).objective.reasons[0].evidence;
    assert!(said.contains("7 tasks internally"), "{said}");
}

#[test]
fn stolen_cpu_is_reported() {
    let stolen = |share: f64| {
        codes_after(|record| {
            cpu(record, 0.8);
            add_levels(record, "cpu_steal", "host", |_| share);
        })
    };
    assert_eq!(stolen(0.051), ["cpu_stolen"]);
    assert_eq!(stolen(0.04), NONE);
}

#[test]
fn sessions_are_too_few_if_nothing_of_the_target_is_busy() {
    let idle = |busy: f64, name: &'static str, value: f64| {
        move |record: &mut RunRecord| {
            cpu(record, busy);
            add_levels(record, name, "n1", |_| value);
        }
    };
    assert_eq!(codes_after(idle(0.4, "queue", 0.0)), ["few_sessions"]);
    assert_eq!(codes_after(idle(0.5, "queue", 0.0)), NONE, "busy");
    // Sessions wait for something unnamed, the disk is busy, sessions wait for the disk, or for each other.
    for (name, value) in
        [("queue", 0.2), ("disk_busy", 0.6), ("disk_waits", 1.0), ("lock_waits", 0.5)]
    {
        assert_eq!(codes_after(idle(0.4, name, value)), NONE, "{name}");
    }
    let open = reported_of(fixture::open_gate(), idle(0.4, "queue", 0.0));
    assert_eq!(open, NONE, "the rate says what there is to do");
    let client = |record: &mut RunRecord| {
        idle(0.4, "queue", 0.0)(record);
        record.clients[0].cpu_fraction = 0.9;
    };
    assert_eq!(codes_after(client), NONE, "the load generator is");
}

#[test]
fn relaxed_durability_is_reported_with_the_setting() {
    let with = |name: &'static str, value: &'static str| {
        codes_after(move |record| {
            let settings = &mut record.target.settings;
            settings.insert(name.to_owned(), value.to_owned());
        })
    };
    let (relaxed, translog) = ("durability.relaxed", "with.translog.durability");
    assert_eq!(with(relaxed, "fsync=off"), ["durability_relaxed"]);
    assert_eq!(with(relaxed, ""), NONE);
    assert_eq!(with(translog, "ASYNC"), ["durability_relaxed"]);
    assert_eq!(with(translog, "REQUEST"), NONE);
    let of_table = |value: &'static str| {
        codes_after(move |record| {
            let settings = &mut record.target.settings;
            for (name, value) in [(relaxed, "fsync=off"), ("with.fsync", value)] {
                settings.insert(name.to_owned(), value.to_owned());
            }
        })
    };
    assert_eq!(of_table("off"), ["durability_relaxed"]);
    assert_eq!(of_table("on"), NONE, "the table's own setting is in force");
}
