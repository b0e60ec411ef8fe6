//! Think time: the pause of a closed session between a response and its next op.
//!
//! With a constant service time S and a pause Z, a session sends an op every S + Z, so that n sessions without queueing
//! do n / (S + Z) ops a second, each in S.

use std::sync::Arc;

use highwater_model::control::Command;
use highwater_model::judgment::Measurement;
use highwater_model::record::RunRecord;
use highwater_model::units::{Nanos, Rate};
use highwater_runner::ceilings;

use crate::support::{At, Job, closed, measured, number, one_node, seconds};

/// Twenty sessions that send 10 ms of work to a node and pause for 990 ms.
fn thinking(cores: &str) -> Job {
    let target = one_node(&format!("cores={cores}&service=constant&query=10ms&request=0"));
    let mut job = Job::new(&target, &[("latest-metrics", closed(20))]);
    job.think = Some(Nanos::from_millis(990));
    job
}

fn acknowledged(record: &RunRecord) -> u64 {
    measured(record, "latest-metrics").acknowledged
}

#[test]
fn each_session_pauses_between_a_response_and_its_next_op() {
    let record = thinking("inf").run().record;
    // Twenty ops a second; at either end of the ten seconds, one op of each session is cut.
    assert!(acknowledged(&record).abs_diff(200) <= 20, "{}", acknowledged(&record));
    let result = measured(&record, "latest-metrics");
    assert!((seconds(result.latency_ns.max) - 0.010).abs() < 1e-4);
    assert_eq!(result.client_lag_ns.max, Some(0), "a pause is no lag");
    assert_eq!(result.session_wait_ns.max, Some(0), "a pause is no wait");
}

/// Sessions, throughput, latency, and think time agree (Little's law); otherwise, the measurement would be invalid.
#[test]
fn a_measurement_with_pauses_is_valid() {
    let mut job = thinking("inf");
    job.step = Nanos::from_secs(60);
    let record = job.run().record;
    let judged = &record.judgments.measurement;
    assert_eq!(judged.value, Measurement::Valid, "{:?}", judged.reasons);
}

/// Twenty simultaneous ops would wait for one core for up to 200 ms; spread over the pause, none waits for another.
#[test]
fn sessions_begin_spread_over_the_pause() {
    let record = thinking("1").run().record;
    let latency = seconds(measured(&record, "latest-metrics").latency_ns.max);
    assert!((latency - 0.010).abs() < 1e-4, "{latency}");
    let windows = &measured(&record, "latest-metrics").windows.acknowledged;
    // The gaps between the offsets are at most 1.9 twentieths of the pause: there are no 200 ms without an op.
    assert!(windows[1..].windows(2).all(|pair| pair[0] + pair[1] > 0), "{windows:?}");
}

/// A stalled target delays the next op of a closed session; the pause follows the late response.
#[test]
fn the_pause_begins_with_the_response() {
    let target = one_node("cores=inf&service=constant&query=1s&request=0");
    let mut job = Job::new(&target, &[("latest-metrics", closed(10))]);
    job.think = Some(Nanos::from_secs(1));
    job.step = Nanos::from_secs(100);
    let record = job.run().record;
    // An op every two seconds per session, instead of every second.
    assert!(acknowledged(&record).abs_diff(500) <= 10, "{}", acknowledged(&record));
}

#[test]
fn the_load_ends_while_sessions_pause() {
    let mut job = thinking("inf");
    job.think = Some(Nanos::from_secs(3_600));
    let end = job.run();
    let last = end.record.phases.last().unwrap();
    assert!(last.start_ns + last.duration_ns < Nanos::from_secs(60).0, "{last:?}");
    // In ten seconds of an hour, one session has begun: the first.
    assert_eq!(acknowledged(&end.record), 1);
}

/// Sessions added by a later step also begin within a pause of it.
#[test]
fn steps_of_more_sessions_have_their_throughput() {
    let mut job = thinking("inf");
    job.streams[0].1 = vec![closed(10), closed(20), closed(40)];
    job.step = Nanos::from_secs(20);
    let record = job.run().record;
    let per_s: Vec<f64> = record.streams.iter().map(|stream| stream.throughput.ops_per_s).collect();
    for (found, sessions) in per_s.iter().zip([10.0, 20.0, 40.0]) {
        // One op of each session is cut at either end.
        assert!((found - sessions).abs() <= sessions / 20.0 + 0.1, "{per_s:?}");
    }
    let judged = &record.judgments.measurement;
    assert_eq!(judged.value, Measurement::Valid, "{:?}", judged.reasons);
}

#[test]
fn shares_together_send_the_ops_of_one_load_generator() {
    let root = tempfile::tempdir().unwrap();
    let target = thinking("inf").open_target(root.path());
    let parts = [1, 2].map(|index| {
        // The second one begins when the first has ended, on the tables created by the first.
        let part = thinking("inf").share_of(index, 2);
        acknowledged(&part.run_on(Arc::clone(&target), root.path()).record)
    });
    assert!(parts.iter().all(|ops| ops.abs_diff(100) <= 10), "{parts:?}");
}

#[test]
fn sessions_that_appear_one_by_one_pause_as_well() {
    let mut job = thinking("inf");
    job.spawn_rate = Some(Rate::per_second(10));
    let record = job.run().record;
    let result = measured(&record, "latest-metrics");
    assert!((number(result.acknowledged) - 200.0).abs() <= 20.0);
}

/// Sessions that were stopped return at their new time, not at the planned one.
#[test]
fn sessions_that_come_back_pause_and_work_as_before() {
    let mut job = thinking("inf");
    job.step = Nanos::from_secs(30);
    let to = |sessions| Command::Sessions {
        stream: "latest-metrics".to_owned(),
        sessions,
        ramp_per_s: None,
    };
    let commands = [(At::Second(10), to(5)), (At::Second(20), to(20))];
    let record = job.run_commanded(&commands).end.record;
    let rates: Vec<f64> = record.streams.iter().map(|stream| stream.throughput.ops_per_s).collect();
    for (found, sessions) in rates.iter().zip([20.0, 5.0, 20.0]) {
        // One op of each session is cut at either end.
        assert!((found - sessions).abs() <= sessions / 10.0 + 0.5, "{rates:?}");
    }
}

/// The rate of pausing sessions depends on their pauses, not on the speed of the load generator.
#[test]
fn a_sink_that_was_measured_with_pauses_is_no_ceiling_of_the_machine() {
    let ceiling = |think| {
        let mut job = thinking("inf");
        job.think = think;
        let mut record = job.run().record;
        record.target.sink = true;
        ceilings::of_record(&record).map(|ceiling| ceiling.ops_per_s)
    };
    // Twenty sessions of 10 ms each.
    let without = ceiling(None).unwrap();
    assert!((without - 2_000.0).abs() < 20.0, "{without}");
    assert_eq!(ceiling(Some(Nanos::from_millis(990))), None);
}
