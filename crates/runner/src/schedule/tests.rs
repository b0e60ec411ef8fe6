//! Phases by table: times, paces, and names.

use std::collections::BTreeMap;

use highwater_model::plan::{
    Arrivals, AuditLevel, AuditPlan, PLAN_SCHEMA, PhasePlan, RetryPlan, Share, SteadinessRule,
    StopRule, StreamPlan, Unit, WorkloadPlan,
};
use highwater_model::units::Seed;

use super::*;

/// A closed stream with the same sessions in all phases, and one with different sessions in the last: `w` of 10 ns, `a`
/// of 20 ns, and `b` of 30 ns.
fn plan() -> Plan {
    let phases = [("w", 10, 0), ("a", 20, 0), ("b", 30, 1)];
    let phases = phases.into_iter().map(|(name, length, step)| PhasePlan {
        name: name.to_owned(),
        kind: PhaseKind::Measure,
        step,
        duration: Nanos(length),
        until_steady: false,
    });
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        workload: WorkloadPlan {
            name: "cpu".to_owned(),
            version: 1,
            fingerprint: String::new(),
            parameters: BTreeMap::new(),
            rows_to_load: 0,
            load_batch: 1,
            distinct_rows: None,
            literals: false,
        },
        seed: Seed(1),
        streams: vec![stream(&[1]), stream(&[10, 20])],
        phases: phases.collect(),
        faults: Vec::new(),
        stop: StopRule::default(),
        objectives: Vec::new(),
        steadiness: SteadinessRule::default(),
        retry: RetryPlan { attempts: 0, backoff: Nanos::ZERO, reconnect_limit: Nanos::ZERO },
        timeout: Nanos::SECOND,
        drain_limit: Nanos::SECOND,
        audit: AuditPlan { level: AuditLevel::Off, limit: Nanos::ZERO },
        share: Share::WHOLE,
    }
}

fn stream(paces: &[u32]) -> StreamPlan {
    StreamPlan {
        name: "s".to_owned(),
        unit: Unit::Queries,
        units_per_op: 1,
        paces: paces.iter().map(|pace| sessions(*pace)).collect(),
        sessions: 1,
        arrivals: Arrivals::Constant,
        spawn_rate: None,
        think: None,
    }
}

fn sessions(sessions: u32) -> Pace {
    Pace::Closed { sessions }
}

fn times(schedule: &Schedule) -> Vec<(u64, u64)> {
    schedule.in_order().into_iter().map(|p| (p.times.start.0, p.times.end.0)).collect()
}

/// Names, starts, and paces of all phases that run.
#[track_caller]
fn check(schedule: &Schedule, expected: &[(&str, u64, [u32; 2])]) {
    let phases = schedule.in_order();
    let found: Vec<_> = phases
        .iter()
        .map(|phase| {
            let [Pace::Closed { sessions: a }, Pace::Closed { sessions: b }] = phase.paces[..]
            else {
                panic!("{phase:?}");
            };
            (phase.name.as_str(), phase.times.start.0, [a, b])
        })
        .collect();
    assert_eq!(found, expected);
    for (phase, next) in phases.iter().zip(&phases[1..]) {
        assert_eq!(phase.times.end, next.times.start);
        assert_eq!(schedule.after(phase.number), Some(next.number));
    }
    for phase in &phases {
        let at = phase.times.start;
        assert_eq!(schedule.phase_at(at), Some((phase.number, at)));
        assert_eq!(phase.times.end.saturating_sub(at), phase.length);
        let is_planned = !phase.name.contains('-');
        assert_eq!(phase.step.is_some(), is_planned, "{phase:?}");
    }
}

#[test]
fn ending_a_phase_early_moves_the_later_ones_up() {
    let schedule = Schedule::new(Nanos(5), &plan());
    assert_eq!(times(&schedule), [(5, 15), (15, 35), (35, 65)]);
    schedule.end_phase(1, Nanos(20), EarlyEnd::Rows);
    assert_eq!(times(&schedule), [(5, 15), (15, 20), (20, 50)]);
    schedule.end_phase(1, Nanos(99), EarlyEnd::Predicate);
    assert_eq!(times(&schedule)[1], (15, 20), "a phase is never prolonged");
    let early: Vec<_> = schedule.all().iter().map(|phase| phase.early).collect();
    assert_eq!(early, [None, Some(EarlyEnd::Rows), None]);
    schedule.stop(Nanos(30));
    assert_eq!(times(&schedule), [(5, 15), (15, 20), (20, 30)]);
    assert_eq!(schedule.version(), 2);
}

#[test]
fn a_changed_pace_holds_until_the_plan_itself_changes_it() {
    let plan = plan();
    let schedule = Schedule::new(Nanos::ZERO, &plan);
    let begun = schedule.change_pace(&plan, 1, sessions(7), Nanos(4)).unwrap();
    assert_eq!((begun.name.as_str(), begun.from), ("w-2", sessions(10)));
    check(
        &schedule,
        &[("w", 0, [1, 10]), ("w-2", 4, [1, 7]), ("a-2", 10, [1, 7]), ("b", 30, [1, 20])],
    );
    let begun = schedule.change_pace(&plan, 0, sessions(3), Nanos(25)).unwrap();
    assert_eq!((begun.name.as_str(), begun.from), ("a-3", sessions(1)));
    let changed = [
        ("w", 0, [1, 10]),
        ("w-2", 4, [1, 7]),
        ("a-2", 10, [1, 7]),
        ("a-3", 25, [3, 7]),
        ("b-3", 30, [3, 20]),
    ];
    check(&schedule, &changed);
    // Back to the plan's pace: the rest of the phase is still not a phase of the plan; the next one is.
    schedule.change_pace(&plan, 0, sessions(1), Nanos(27)).unwrap();
    let back = [("a-4", 27, [1, 7]), ("b", 30, [1, 20])];
    check(&schedule, &[&changed[..4], &back].concat());
}

#[test]
fn changes_at_the_same_time_begin_one_phase() {
    let plan = plan();
    let schedule = Schedule::new(Nanos::ZERO, &plan);
    for (stream, pace, name) in [(0, 2, "w-2"), (1, 7, "w-2"), (0, 3, "w-2")] {
        let begun = schedule.change_pace(&plan, stream, sessions(pace), Nanos(4));
        assert_eq!(begun.unwrap().name, name);
    }
    let begun = schedule.change_pace(&plan, 0, sessions(4), Nanos(10));
    assert_eq!(begun.unwrap().name, "a-2");
    let begun = schedule.change_pace(&plan, 0, sessions(5), Nanos(30));
    assert_eq!(begun.unwrap().name, "b-2");
    check(
        &schedule,
        &[("w", 0, [1, 10]), ("w-2", 4, [3, 7]), ("a-2", 10, [4, 7]), ("b-2", 30, [5, 20])],
    );
}

#[test]
fn ineffective_late_or_too_frequent_changes_leave_the_schedule_unchanged() {
    let plan = plan();
    let schedule = Schedule::new(Nanos::ZERO, &plan);
    let change = |pace, at| schedule.change_pace(&plan, 0, sessions(pace), Nanos(at));
    assert_eq!(change(1, 4), Err(NoChange::Same));
    assert_eq!(change(2, 60), Err(NoChange::Over));
    assert_eq!(schedule.all().len(), 3);
    let mut plan = plan.clone();
    plan.phases[0].duration = Nanos(1_000);
    let schedule = Schedule::new(Nanos::ZERO, &plan);
    for at in 1..=u64::from(Schedule::CHANGES_MAX) {
        let pace = sessions(2 + u32::try_from(at % 2).unwrap());
        schedule.change_pace(&plan, 0, pace, Nanos(at)).unwrap();
    }
    let before = schedule.in_order();
    let more = schedule.change_pace(&plan, 0, sessions(9), Nanos(500));
    assert_eq!(more, Err(NoChange::TooMany));
    assert_eq!(schedule.in_order(), before);
}

#[test]
fn a_stop_ends_phases_of_a_changed_pace_as_well() {
    let plan = plan();
    let schedule = Schedule::new(Nanos::ZERO, &plan);
    schedule.change_pace(&plan, 0, sessions(2), Nanos(15)).unwrap();
    schedule.end_phase(schedule.in_order()[2].number, Nanos(20), EarlyEnd::Predicate);
    assert_eq!(times(&schedule), [(0, 10), (10, 15), (15, 20), (20, 50)]);
    schedule.stop(Nanos(17));
    assert_eq!(times(&schedule), [(0, 10), (10, 15), (15, 17), (17, 17)]);
    assert_eq!(schedule.end(), Nanos(17));
    assert_eq!(schedule.phase_at(Nanos(17)), None);
}
