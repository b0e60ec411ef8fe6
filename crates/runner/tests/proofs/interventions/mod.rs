//! Commands to a running run: a changed pace begins a separate phase, with its own results.
//!
//! A user who reacts to the report of a second does so a quarter of a second after its end; a pace changes a tenth of a
//! second later.

use std::sync::Arc;

use highwater_analysis as analysis;
use highwater_model::control::{Change, Command, Refusal};
use highwater_model::judgment::{Measurement, ReasonCode};
use highwater_model::plan::{Arrivals, Pace, Unit};
use highwater_model::record::{
    IncidentKind, InterventionRecord, ResultRecord, RunRecord, StreamRecord,
};
use highwater_model::units::{Nanos, Rate};
use highwater_runner::control::WAITING_MAX;
use highwater_runner::planner::PaceInput;
use highwater_runner::run::RunEnding;

use crate::support::{At, Commanded, Job, closed, exit_code, one_node, open, seconds};

mod ramps;
mod refusals;
mod shares;

/// From the end of a second to the pace change that its report causes.
const LEAD_MS: u64 = 350;

fn rate(stream: &str, per_s: f64) -> Command {
    let stream = stream.to_owned();
    Command::Rate { stream, per_s }
}

fn sessions(stream: &str, sessions: u32) -> Command {
    let stream = stream.to_owned();
    Command::Sessions { stream, sessions, ramp_per_s: None }
}

fn note(text: &str) -> Command {
    let text = text.to_owned();
    Command::Note { text }
}

/// A hundred batches a second, each taking 5 ms, with unlimited cores.
fn steady() -> Job {
    let target = one_node("cores=inf&service=constant&request=5ms");
    Job::new(&target, &[("insert", open(1_000))])
}

/// Name, start, and length of each phase with a pace, in milliseconds.
fn phases(record: &RunRecord) -> Vec<(&str, u64, u64)> {
    let phases = record
        .phases
        .iter()
        .filter(|phase| phase.name != "drain")
        .filter(|phase| phase.name != "audit");
    phases.map(|p| (p.name.as_str(), p.start_ns / 1_000_000, p.duration_ns / 1_000_000)).collect()
}

fn result<'a>(record: &'a RunRecord, phase: &str, stream: &str) -> &'a ResultRecord {
    let mut results = record.results.iter();
    let found = results.find(|r| r.phase == phase && r.stream == stream);
    found.unwrap_or_else(|| panic!("{phase} {stream}: {:?}", record.phases))
}

fn stream<'a>(record: &'a RunRecord, phase: &str) -> &'a StreamRecord {
    let mut streams = record.streams.iter();
    streams.find(|stream| stream.phase == phase).unwrap()
}

/// All counts are consistent: by phase, by second, and in the table.
#[track_caller]
fn check_totals(record: &RunRecord) {
    let sum = |of: fn(&ResultRecord) -> u64| record.results.iter().map(of).sum::<u64>();
    let by_second: u64 = record.intervals.iter().map(|i| i.offered).sum();
    assert_eq!(sum(|r| r.offered), by_second);
    let by_second: u64 = record.intervals.iter().map(|i| i.acknowledged).sum();
    assert_eq!(sum(|r| r.acknowledged), by_second);
    assert_eq!(sum(|r| r.offered), sum(|r| r.sent) + sum(|r| r.dropped));
    let audit = &record.audit;
    assert_eq!(sum(|r| r.rows.acknowledged), audit.acknowledged);
    assert_eq!((audit.found, audit.missing), (audit.acknowledged, 0));
}

fn open_at(per_second: u64) -> Pace {
    let rate = Rate::per_second(per_second);
    Pace::Open { rate }
}

#[test]
fn a_changed_rate_begins_a_phase_whose_results_are_its_own() {
    let job = steady();
    let Commanded { end, answers, events, .. } =
        job.run_commanded(&[(At::Second(4), rate("insert", 2_000.0))]);
    let record = &end.record;
    assert_eq!(
        phases(record),
        [("measure", 0, 4_000 + LEAD_MS), ("measure-2", 4_000 + LEAD_MS, 6_000 - LEAD_MS)]
    );
    // A batch is intended when its tenth row has arrived: after 9 ms and every 10 ms, after 4.5 ms and every 5 ms.
    let [first, second] = ["measure", "measure-2"].map(|phase| result(record, phase, "insert"));
    assert_eq!((first.offered, first.acknowledged), (435, 435));
    assert_eq!((second.offered, second.acknowledged), (1_130, 1_130));
    // The response to a phase's last op arrives later: in the other phase, or in the drain.
    assert_eq!((first.answered.ops, second.answered.ops), (434, 1 + 1_129));
    check_totals(record);
    let planned = ["measure", "measure-2"].map(|phase| stream(record, phase).planned_rate);
    assert_eq!(planned, [Some(1_000.0), Some(2_000.0)]);
    let steps: Vec<_> = record.phases.iter().map(|phase| phase.step).collect();
    assert_eq!(steps[..2], [Some(0), None], "a pace of the plan, and none of it");
    let done = InterventionRecord {
        by: None,
        time_ns: Nanos::from_millis(4_000 + LEAD_MS).0,
        phase: "measure-2".to_owned(),
        change: Change::Pace {
            stream: "insert".to_owned(),
            unit: Unit::Rows,
            from: open_at(1_000),
            to: open_at(2_000),
            ramp_per_s: None,
        },
    };
    assert_eq!(record.interventions, std::slice::from_ref(&done));
    assert_eq!(events, std::slice::from_ref(&done));
    assert_eq!(answers, [Ok(done)]);
    assert_eq!(record.plan, job.run().record.plan, "the plan and its hash stay");
    assert_eq!(end.ended, RunEnding::Complete);
    assert_eq!(exit_code(&end), 0, "{:?}", record.judgments);
}

/// One core serves 100 ops per second: at 50 per second there is no wait, at 200 the wait grows.
#[test]
fn latencies_of_an_overload_stay_in_its_phase() {
    let target = one_node("cores=1&service=constant&request=10ms");
    let mut job = Job::new(&target, &[("insert", open(500))]);
    job.step = Nanos::from_secs(20);
    let commands =
        [(At::Second(6), rate("insert", 2_000.0)), (At::Second(12), rate("insert", 500.0))];
    let record = job.run_commanded(&commands).end.record;
    let [before, overload, after] =
        ["measure", "measure-2", "measure-3"].map(|phase| result(&record, phase, "insert"));
    assert!(seconds(before.latency_ns.max) < 0.0101, "{:?}", before.latency_ns);
    assert!(seconds(overload.latency_ns.p50) > 1.0);
    assert!(overload.dropped > 0 && overload.backlog);
    assert!(!before.backlog && !after.backlog);
    // Sixteen ops were in flight when the overload ended: later ops wait for those, and no longer.
    assert!(seconds(after.latency_ns.max) < 0.18, "{:?}", after.latency_ns);
    assert!(seconds(after.latency_ns.p90) < 0.0101, "{:?}", after.latency_ns);
    check_totals(&record);
}

/// Each session does a hundred ops a second.
#[test]
fn closed_sessions_grow_beyond_those_of_the_plan_and_shrink() {
    let target = one_node("cores=inf&service=constant&request=10ms");
    let job = Job::new(&target, &[("insert", closed(2))]);
    let commands =
        [(At::Second(3), sessions("insert", 40)), (At::Second(6), sessions("insert", 1))];
    let Commanded { end, .. } = job.run_commanded(&commands);
    let record = &end.record;
    assert_eq!(
        phases(record),
        [("measure", 0, 3_350), ("measure-2", 3_350, 3_000), ("measure-3", 6_350, 3_650)]
    );
    let expected = [("measure", 2, 2 * 335), ("measure-2", 40, 40 * 300), ("measure-3", 1, 365)];
    for (phase, sessions, ops) in expected {
        let (counted, stream) = (result(record, phase, "insert"), stream(record, phase));
        assert_eq!((counted.offered, counted.acknowledged), (ops, ops), "{phase}");
        assert_eq!((stream.sessions, stream.working), (sessions, Some(sessions)), "{phase}");
    }
    assert_eq!(record.target.hosts[0].sessions, 40, "opened once, and kept");
    check_totals(record);
    // Forty ops were in flight when only one session continued: the check of Little's law includes them.
    let little = stream(record, "measure-3").littles_law_sessions.unwrap();
    assert!((little - (365.0 + 39.0) / 365.0).abs() < 0.01, "{little}");
    assert_eq!(exit_code(&end), 0, "{:?}", record.judgments);
}

#[test]
fn a_change_in_the_warm_up_applies_to_measured_phases() {
    let mut job = steady();
    job.warm_up = Nanos::from_secs(3);
    let record = job.run_commanded(&[(At::Second(1), rate("insert", 2_000.0))]).end.record;
    assert_eq!(
        phases(&record),
        [("warm-up", 0, 1_350), ("warm-up-2", 1_350, 1_650), ("measure-2", 3_000, 10_000)]
    );
    assert_eq!(record.interventions[0].phase, "warm-up-2");
    assert_eq!(result(&record, "measure-2", "insert").offered, 2_000);
    let streams: Vec<&str> = record.streams.iter().map(|s| s.phase.as_str()).collect();
    assert_eq!(streams, ["measure-2"], "warm-up is in no result");
    check_totals(&record);
}

/// The stepped stream resumes its plan at the next step; the other one has no other planned pace.
#[test]
fn a_change_holds_until_the_plan_changes_the_stream_itself() {
    let target = one_node("cores=inf&service=constant&request=5ms&query=5ms");
    let mut job = Job::new(&target, &[("insert", open(1_000)), ("dashboards", open(50))]);
    job.streams[0].1 = vec![open(1_000), open(2_000), open(3_000)];
    let commands =
        [(At::Second(4), rate("insert", 500.0)), (At::Second(14), rate("dashboards", 80.0))];
    let record = job.run_commanded(&commands).end.record;
    let planned: Vec<_> = record
        .streams
        .iter()
        .map(|s| (s.phase.as_str(), s.stream.as_str(), s.planned_rate.unwrap()))
        .collect();
    let pairs: Vec<_> = planned.chunks(2).map(|two| (two[0].0, two[0].2, two[1].2)).collect();
    assert_eq!(
        pairs,
        [
            ("step 1", 1_000.0, 50.0),
            ("step 1-2", 500.0, 50.0),
            ("step 2", 2_000.0, 50.0),
            ("step 2-3", 2_000.0, 80.0),
            ("step 3-3", 3_000.0, 80.0),
        ]
    );
    check_totals(&record);
}

/// Both arrive at the same moment, so there is one new phase.
#[test]
fn two_changes_at_once_begin_one_phase() {
    let target = one_node("cores=inf&service=constant&request=5ms&query=5ms");
    let mut job = Job::new(&target, &[("insert", open(1_000)), ("dashboards", open(50))]);
    job.arrivals = Some(Arrivals::Constant);
    let commands =
        [(At::Second(4), rate("insert", 2_000.0)), (At::Second(4), rate("dashboards", 100.0))];
    let record = job.run_commanded(&commands).end.record;
    assert_eq!(phases(&record), [("measure", 0, 4_350), ("measure-2", 4_350, 5_650)]);
    let done: Vec<_> = record.interventions.iter().map(|done| done.phase.as_str()).collect();
    assert_eq!(done, ["measure-2", "measure-2"]);
    assert_eq!(result(&record, "measure-2", "insert").offered, 1_130);
    let queries = record
        .results
        .iter()
        .filter(|r| (r.phase.as_str(), r.stream.as_str()) == ("measure-2", "dashboards"));
    assert_eq!(queries.map(|result| result.offered).sum::<u64>(), 565);
    check_totals(&record);
}

/// A second is too short to judge; a sufficiently long phase is judged.
#[test]
fn a_phase_that_changes_cut_short_does_not_spoil_the_others() {
    let commands =
        [(At::Second(4), rate("insert", 2_000.0)), (At::Second(5), rate("insert", 3_000.0))];
    let record = steady().run_commanded(&commands).end.record;
    assert_eq!(
        phases(&record),
        [("measure", 0, 4_350), ("measure-2", 4_350, 1_000), ("measure-3", 5_350, 4_650)]
    );
    let judged = &record.judgments.measurement;
    assert_eq!(judged.value, Measurement::Valid, "{judged:?}");
    let codes: Vec<_> = judged.reasons.iter().map(|reason| reason.code).collect();
    assert_eq!(codes, [ReasonCode::TooShort], "it is said all the same");
    // A phase that the plan makes short is not exempt.
    let mut short = steady();
    short.step = Nanos::from_secs(2);
    let judged = short.run_commanded(&[(At::Second(1), note("short"))]).end.record.judgments;
    assert_eq!(judged.measurement.value, Measurement::Inconclusive);
    check_totals(&record);
}

#[test]
fn a_stop_by_command_is_the_stop_of_the_user() {
    let job = steady();
    for times in [1, 2] {
        let commands: Vec<_> = (0..times).map(|_| (At::Second(4), Command::Stop)).collect();
        let mut commanded = job.run_commanded(&commands).end.record;
        let interrupted = job.run_interrupted(At::Second(4), times).record;
        let stops = std::mem::take(&mut commanded.interventions);
        let stop = InterventionRecord {
            by: None,
            time_ns: Nanos::from_millis(4_250).0,
            phase: "measure".to_owned(),
            change: Change::Stop,
        };
        assert_eq!(stops, vec![stop; times as usize]);
        let kinds: Vec<_> = commanded.incidents.iter().map(|incident| incident.kind).collect();
        assert_eq!(kinds, [IncidentKind::Interrupted]);
        commanded.header.clone_from(&interrupted.header);
        commanded.clients.clone_from(&interrupted.clients);
        commanded.telemetry.clone_from(&interrupted.telemetry);
        assert_eq!(commanded, interrupted);
    }
}

#[test]
fn a_note_is_kept_with_its_time_and_changes_nothing() {
    let job = steady();
    let commands =
        [(At::Second(2), note("switched to RocksDB ")), (At::Audit, note("no load any more"))];
    let mut noted = job.run_commanded(&commands).end.record;
    let notes = std::mem::take(&mut noted.interventions);
    let times: Vec<_> = notes
        .iter()
        .map(|done| (done.time_ns / 1_000_000, done.phase.as_str(), &done.change))
        .collect();
    let text = |text: &str| Change::Note { text: text.to_owned() };
    assert_eq!(times[0], (2_250, "measure", &text("switched to RocksDB")));
    assert_eq!((times[1].1, times[1].2), ("audit", &text("no load any more")));
    assert!(times[1].0 >= 10_000);
    let plain = job.run().record;
    noted.header.clone_from(&plain.header);
    noted.clients.clone_from(&plain.clients);
    noted.telemetry.clone_from(&plain.telemetry);
    assert_eq!(noted, plain);
}

/// Poisson arrivals of a changed rate: 5.65 s at 200 ops/s are 1,130, with a standard deviation of √1,130 = 34.
#[test]
fn random_arrivals_have_the_changed_rate() {
    let mut job = steady();
    job.arrivals = Some(Arrivals::Poisson);
    let record = job.run_commanded(&[(At::Second(4), rate("insert", 2_000.0))]).end.record;
    let offered = result(&record, "measure-2", "insert").offered;
    assert!(offered.abs_diff(1_130) < 4 * 34, "{offered}");
    check_totals(&record);
}

/// An open stream of the plan becomes a closed one with more sessions than it had, and then continues as before.
#[test]
fn an_open_stream_can_be_closed_for_a_time() {
    let mut job = steady();
    job.sessions = 4;
    let commands =
        [(At::Second(3), sessions("insert", 8)), (At::Second(6), rate("insert", 1_000.0))];
    let record = job.run_commanded(&commands).end.record;
    let open: Vec<_> = record.results.iter().map(|r| (r.phase.as_str(), r.open)).collect();
    assert_eq!(open, [("measure", true), ("measure-2", false), ("measure-3", true)]);
    // Each session does 200 ops a second; ops in flight at an end get their responses in the next phase.
    let closed = result(&record, "measure-2", "insert");
    assert!(closed.offered.abs_diff(8 * 600) <= 8, "{}", closed.offered);
    assert_eq!(stream(&record, "measure-3").planned_rate, Some(1_000.0));
    check_totals(&record);
}
