//! The reports of all seconds are complete: their sums equal the record, however slow an op was.

use std::cell::RefCell;
use std::rc::Rc;

use highwater_model::event::{Event, LATENCY_BOUNDS_NS, SecondProgress, StreamCounts};
use highwater_model::record::{IntervalRecord, RunRecord};
use highwater_model::units::Nanos;
use highwater_runner::request::Observer;

use crate::support::{Job, closed, one_node, open};

/// The reported seconds.
#[derive(Default)]
struct Seconds(RefCell<Vec<SecondProgress>>);

impl Observer for Seconds {
    fn event(&self, event: &Event) {
        if let Event::Second(second) = event {
            self.0.borrow_mut().push(second.clone());
        }
    }
}

/// The seconds of a run of one stream, each reported once, whose sums equal its record.
fn reported(job: &Job) -> Vec<SecondProgress> {
    let seconds = Rc::new(Seconds::default());
    let observer = Rc::clone(&seconds) as Rc<dyn Observer>;
    let record = job.run_watched(observer).record;
    let seconds = seconds.0.take();
    let numbers: Vec<u64> = seconds.iter().map(|second| second.second).collect();
    let expected: Vec<u64> = (1..).take(numbers.len()).collect();
    assert_eq!(numbers, expected);
    check_sums(&seconds, &record);
    seconds
}

#[track_caller]
fn check_sums(seconds: &[SecondProgress], record: &RunRecord) {
    let reported = |of: fn(&StreamCounts) -> u64| sum(seconds, of);
    let kept = |of: fn(&IntervalRecord) -> u64| record.intervals.iter().map(of).sum::<u64>();
    assert_eq!(reported(|of| of.offered), kept(|of| of.offered), "offered");
    assert_eq!(reported(|of| of.sent), kept(|of| of.sent), "sent");
    assert_eq!(reported(|of| of.dropped), kept(|of| of.dropped), "dropped");
    assert_eq!(reported(|of| of.acknowledged), kept(|of| of.acknowledged), "acknowledged");
    assert_eq!(reported(|of| of.rows_acknowledged), kept(|of| of.rows_acknowledged), "rows");
    // Every op of these runs is answered or dropped, and has a latency.
    let latencies = reported(|of| of.latency_up_to.last().copied().unwrap_or(0));
    assert_eq!(latencies, kept(|of| of.offered), "latencies");
    let dropped: u64 = seconds.iter().map(|second| second.dropped).sum();
    assert_eq!(dropped, kept(|of| of.dropped), "of all streams");
}

fn sum(seconds: &[SecondProgress], of: fn(&StreamCounts) -> u64) -> u64 {
    seconds.iter().map(|second| of(&second.streams[0].counts)).sum()
}

/// Ops that took longer than a second.
fn slow(of: &StreamCounts) -> u64 {
    let second = LATENCY_BOUNDS_NS.iter().position(|bound| *bound == Nanos::SECOND.0);
    let within = of.latency_up_to.get(second.unwrap()).copied();
    of.latency_up_to.last().copied().unwrap_or(0) - within.unwrap_or(0)
}

/// A hundred ops a second.
fn job(parameters: &str) -> Job {
    let target = one_node(&format!("service=constant&{parameters}"));
    Job::new(&target, &[("insert", open(1_000))])
}

/// A tenth of the ops end in the second after their own.
#[test]
fn ops_that_end_in_the_next_second_are_reported_with_it() {
    let seconds = reported(&job("cores=inf&request=100ms"));
    assert_eq!(sum(&seconds, |of| of.offered), 1_000);
    assert_eq!(sum(&seconds, slow), 0);
}

/// Ops intended in its first two seconds took longer than one.
#[test]
fn a_stall_of_three_seconds_is_in_the_reported_latencies() {
    let seconds = reported(&job("cores=inf&request=5ms&stall=5s+3s"));
    let slow = sum(&seconds, slow);
    // Histograms of seconds have two digits: the side of a latency near a bound is not exact.
    assert!(slow.abs_diff(200) <= 10, "{slow} slow ops");
    let p99 = seconds.iter().filter_map(|second| second.streams[0].p99_ns);
    let slowest = Nanos(p99.max().unwrap()).as_secs_f64();
    assert!((2.8..3.2).contains(&slowest), "{slowest} s");
}

/// Late ops end after the load, and the rest is dropped at its end.
#[test]
fn the_last_second_has_all_that_is_left() {
    let stalled = reported(&job("cores=inf&request=5ms&stall=8s+4s"));
    assert!(sum(&stalled, |of| of.dropped) > 0);
    let mut overloaded = job("cores=1&request=10ms");
    overloaded.streams = vec![("insert", vec![open(2_000)])];
    assert!(sum(&reported(&overloaded), |of| of.dropped) > 0);
    let mut slow_sessions = job("cores=inf&request=3s");
    slow_sessions.streams = vec![("insert", vec![closed(8)])];
    let seconds = reported(&slow_sessions);
    assert!(sum(&seconds, slow) >= 8 * 3);
}

/// Sixteen ops of the first step get their responses half a second into the second one, after a second and a half.
#[test]
fn slow_ops_of_a_phase_are_no_latency_of_the_next() {
    let mut steps = job("cores=inf&request=5ms&stall=9s+1500ms");
    steps.streams[0].1 = vec![open(1_000), open(2_000)];
    let seconds = reported(&steps);
    assert!(sum(&seconds, slow) > 0);
    let p99: Vec<_> = seconds
        .iter()
        .filter(|second| second.phase == "step 2")
        .filter_map(|second| second.streams[0].p99_ns)
        .collect();
    assert!(!p99.is_empty());
    assert!(p99.iter().all(|p99| *p99 < 700_000_000), "{p99:?}");
}
