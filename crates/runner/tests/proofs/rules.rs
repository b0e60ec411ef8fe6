//! The measuring rules, one test each.

use highwater_driver::clock::RealClock;
use highwater_model::judgment::{Measurement, ReasonCode};
use highwater_model::plan::{Arrivals, Pace, Share};
use highwater_model::record::{ResultRecord, RunRecord};
use highwater_model::units::{Nanos, Rate, Seed};
use highwater_runner::pacer::{Pacer, PacerPlan};

use crate::support::{Job, closed, measured, number, one_node, open, seconds};

fn phase<'a>(record: &'a RunRecord, name: &str) -> &'a ResultRecord {
    let mut results = record.results.iter();
    results.find(|result| result.phase == name).unwrap()
}

fn finished_in(result: &ResultRecord) -> u64 {
    result.windows.acknowledged.iter().sum()
}

#[test]
fn warm_up_is_left_out() {
    let target = one_node("cores=inf&service=constant&request=1ms&stall=1s+1s");
    let mut job = Job::new(&target, &[("insert", open(1_000))]);
    job.warm_up = Nanos::from_secs(3);
    job.step = Nanos::from_secs(5);
    let record = job.run().record;
    let result = measured(&record, "insert");
    assert_eq!((result.offered, result.acknowledged), (500, 500));
    assert_eq!(result.rows.acknowledged, 5_000);
    assert!(seconds(result.latency_ns.max) < 0.002, "the stall lay in the warm-up");
    assert!((result.throughput.rows_per_s - 1_000.0).abs() < 1e-9);
    assert_eq!(record.availability.dips, 0);
    assert!(seconds(phase(&record, "warm-up").latency_ns.max) > 0.9);
    assert_eq!(record.audit.acknowledged, 8_000, "the audit knows all phases");
}

/// Every response takes one second, and a hundred ops are intended each second.
fn a_second_late(warm_up: Nanos) -> RunRecord {
    let target = one_node("cores=inf&service=constant&request=1s");
    let mut job = Job::new(&target, &[("insert", open(1_000))]);
    job.sessions = 200;
    job.warm_up = warm_up;
    job.run().record
}

/// The warm-up's last ops get their responses in the first measured second, and those of the last measured second in
/// the drain.
#[test]
fn throughput_counts_by_finished() {
    let record = a_second_late(Nanos::from_secs(2));
    let result = measured(&record, "insert");
    assert_eq!((result.offered, result.acknowledged), (1_000, 1_000));
    assert_eq!(result.windows.acknowledged, [10; 100]);
    assert!((result.throughput.ops_per_s - 100.0).abs() < 1e-9);
    assert_eq!(finished_in(phase(&record, "warm-up")), 100);

    let record = a_second_late(Nanos::ZERO);
    let result = measured(&record, "insert");
    assert_eq!((result.offered, result.acknowledged), (1_000, 1_000));
    assert_eq!(finished_in(result), 900);
    assert!((result.throughput.ops_per_s - 90.0).abs() < 1e-9);
    let late = record.intervals.iter().find(|i| i.second == 10).unwrap();
    assert_eq!((late.offered, late.acknowledged), (0, 100), "the drain's second");
}

/// Ops intended in one step and answered in the next belong to the first by latency and counts, and to the second by
/// throughput.
#[test]
fn steps_do_not_blend() {
    let target = one_node("cores=inf&service=constant&request=1s&stall=19500ms+300ms");
    let mut job = Job::new(&target, &[("insert", open(1_000))]);
    job.streams[0].1 = vec![open(1_000), open(2_000), open(500)];
    job.sessions = 400;
    let record = job.run().record;
    let steps = ["step 1", "step 2", "step 3"].map(|name| phase(&record, name));
    assert_eq!(steps.map(|step| step.offered), [1_000, 2_000, 500]);
    assert_eq!(steps.map(|step| step.acknowledged), [1_000, 2_000, 500]);
    assert_eq!(steps.map(finished_in).iter().sum::<u64>(), 3_450);
    assert_eq!(finished_in(steps[0]), 900);
    // The stall delays ops in flight: 1.3 s for all intended from 18.5 s to 19.8 s, and the rest of the stall for those
    // intended during it. So 260 of step 2 get their responses in step 3.
    assert_eq!(finished_in(steps[1]), 100 + 2_000 - 260);
    assert_eq!(finished_in(steps[2]), 260 + 450);
    let slowest = steps.map(|step| seconds(step.latency_ns.max));
    assert!(slowest[0] < 1.01 && slowest[1] > 1.29 && slowest[2] < 1.01, "{slowest:?}");
}

/// Sessions = throughput × mean response, except for ops cut by the phase's ends.
#[test]
fn littles_law_holds_in_closed_load() {
    for service in ["constant", "exp", "lognormal:2"] {
        let target = one_node(&format!("cores=2&request=5ms&service={service}"));
        let record = Job::new(&target, &[("insert", closed(8))]).run().record;
        let sessions = record.streams[0].littles_law_sessions.unwrap();
        assert!((sessions - 8.0).abs() < 0.08, "{service}: {sessions} sessions");
        let reasons = &record.judgments.measurement.reasons;
        assert!(reasons.iter().all(|reason| reason.code != ReasonCode::LittlesLaw));
        let result = measured(&record, "insert");
        assert_eq!(result.latency_ns, result.service_ns, "{service}: closed load");
        assert_eq!(result.client_lag_ns.max, Some(0), "{service}");
    }
}

/// Gaps have a resolution of one millisecond, dips one of a second.
#[test]
fn a_stall_is_found_as_gap_and_dips() {
    for load in [closed(8), open(20_000)] {
        let target = one_node("cores=8&service=constant&request=1ms&stall=4s+2s");
        let mut job = Job::new(&target, &[("insert", load)]);
        job.sessions = 64;
        let record = job.run().record;
        let seen = &record.availability;
        let gap = Nanos(seen.longest_gap_ns).as_secs_f64();
        assert!((gap - 2.0).abs() <= 0.002, "{load:?}: gap of {gap} s");
        let start = Nanos(seen.longest_gap_start_ns).as_secs_f64();
        assert!((start - 4.0).abs() <= 0.002, "{load:?}: gap begins at {start} s");
        assert_eq!((seen.dips, seen.seconds_below_half), (2, 2), "{load:?}");
        assert_eq!(seen.recovery_ns, Some(0), "{load:?}");
        let recovery = seen.recovery.unwrap();
        assert_eq!(recovery.start_ns, seen.longest_gap_start_ns, "{load:?}");
        let again = recovery.rate_again_ns.unwrap();
        assert!(again.abs_diff(seen.longest_gap_ns) <= 100_000_000, "{recovery:?}");
    }
}

/// Two sessions with one core and no queue: one of them is rejected and retries.
#[test]
fn retries_are_counted_beside_the_ops() {
    let target = "sim:?nodes=1&shards=1&replicas=0&rtt=1ms&queue=0&cores=1&service=exp&request=5ms";
    let mut job = Job::new(target, &[("insert", closed(2))]);
    let without = job.run().record;
    let without = measured(&without, "insert");
    assert_eq!(without.retries, 0);
    let rejected = without.errors["rejected"];
    assert!(rejected > 0);
    assert_eq!(without.sent, without.acknowledged + rejected);

    job.retries = 2;
    let with = job.run().record;
    let with = measured(&with, "insert");
    let given_up = with.errors.get("rejected").copied().unwrap_or(0);
    assert_eq!(with.sent, with.acknowledged + given_up, "an op is sent once whatever its attempts");
    assert!(with.retries >= 2 * given_up, "who gave up had asked three times");
    assert!(with.retries > 2 * given_up, "some were served when asking again");
    let share = |part: u64, of: u64| number(part) / number(of);
    assert!(share(given_up, with.sent) < share(rejected, without.sent) / 2.0);
}

/// One core, always busy, and no queue: additional ops are rejected as soon as they are read, in a tenth of their work.
#[test]
fn retries_double_their_wait_up_to_a_second() {
    let target = one_node("cores=1&service=constant&request=20s").replace("queue=inf", "queue=0");
    let mut job = Job::new(&target, &[("insert", closed(2))]);
    job.retries = 9;
    job.step = Nanos::from_secs(23);
    let record = job.run().record;
    let result = measured(&record, "insert");
    assert_eq!((result.errors["rejected"], result.retries), (1, 9));
    // 10, 20, 40, … 640 ms, and twice a second, between ten rejections.
    let waited = seconds(result.error_latency_ns.max) - 20.0;
    assert!((waited - 3.27).abs() < 0.02, "{waited}");
}

/// Exactly the ops that the pacer determines, for any number of sessions. Counts of forty runs of Poisson arrivals have
/// their mean at rate × time, within four deviations.
#[test]
fn open_load_offers_every_arrival_of_its_pacer() {
    let lanes = Share::WHOLE.lanes();
    let mut total = 0;
    for seed in 30..70 {
        let target = one_node("cores=4&service=exp&query=20ms");
        let mut job = Job::new(&target, &[("dashboards", open(50))]);
        job.seed = seed;
        job.sessions = 1 + u32::try_from(seed).unwrap() % 7;
        let record = job.run().record;
        let plan = PacerPlan {
            pace: Pace::Open { rate: Rate::per_second(50) },
            arrivals: Arrivals::Poisson,
            units_per_op: 1,
            seed: Seed(seed),
            stream: "dashboards",
            phase: 0,
            limit_ops: None,
        };
        let mut pacer = Pacer::new(&plan, &lanes);
        let mut due = 0;
        while pacer.peek().unwrap().offset.unwrap() < Nanos::from_secs(10) {
            pacer.advance();
            due += 1;
        }
        let offered: u64 = record.results.iter().map(|result| result.offered).sum();
        assert_eq!(offered, due, "seed {seed}");
        total += offered;
    }
    let expected = 40.0 * 500.0_f64;
    assert!((number(total) - expected).abs() < 4.0 * expected.sqrt(), "{total}");
}

/// Ten minutes of simulated time are mere computation; on a real clock, this test would take ten minutes.
#[test]
fn ten_simulated_minutes_take_seconds() {
    let clock = RealClock::start();
    let target = one_node("cores=4&service=exp&request=5ms");
    let mut job = Job::new(&target, &[("insert", open(3_000))]);
    job.arrivals = Some(Arrivals::Poisson);
    job.step = Nanos::from_secs(600);
    let record = job.run().record;
    assert_eq!(
        record.phases[0].duration_ns,
        Nanos::from_secs(600).0,
        "the whole time was simulated"
    );
    // Expected 180,000; five deviations of a Poisson count.
    let offered = number(measured(&record, "insert").offered);
    assert!((offered - 180_000.0).abs() < 5.0 * 180_000.0_f64.sqrt());
    assert_eq!(record.judgments.measurement.value, Measurement::Valid);
    let real = clock.now();
    assert!(real < Nanos::from_secs(300), "the clock did not jump: {real:?}");
}
