//! Warm-ups that continue until throughput is steady: they wait for a cold target, end at their limit if it stays cold,
//! and cost little for a steady one.
//!
//! The check happens a quarter of a second after each second, and the next phase begins a tenth of a second later.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use highwater_model::event::Event;
use highwater_model::plan::Arrivals;
use highwater_model::record::{PhaseRecord, RunRecord};
use highwater_model::units::Nanos;
use highwater_runner::request::Observer;

use crate::support::faulty::{Faults, in_half};
use crate::support::{At, Job, closed, one_node, open};

/// The reported ends of warm-ups.
#[derive(Default)]
struct Reported(RefCell<Vec<(u64, bool)>>);

impl Observer for Reported {
    fn event(&self, event: &Event) {
        if let Event::WarmedUp { took, steady } = event {
            self.0.borrow_mut().push((took.0, *steady));
        }
    }
}

/// Four sessions with one core, whose ops take 5 ms each once it is warm: 200 ops a second.
fn job(parameters: &str, most_s: u64) -> Job {
    let target = one_node(&format!("cores=1&service=constant&request=5ms&{parameters}"));
    let mut job = Job::new(&target, &[("insert", closed(4))]);
    job.until_steady = true;
    job.warm_up = Nanos::from_secs(most_s);
    job
}

/// Its record, whose warm-up was reported as recorded.
fn ran(job: &Job) -> RunRecord {
    let reported = Rc::new(Reported::default());
    let observer = Rc::clone(&reported) as Rc<dyn Observer>;
    let record = job.run_watched(observer).record;
    let phase = warm_up(&record);
    let expected = (phase.duration_ns, phase.steady.unwrap());
    assert_eq!(reported.0.take(), [expected]);
    record
}

fn warm_up(record: &RunRecord) -> &PhaseRecord {
    let mut phases = record.phases.iter();
    phases.find(|phase| phase.name == "warm-up").unwrap()
}

fn is_noted(record: &RunRecord) -> bool {
    record.notes.iter().any(|note| note.code == "not_warm")
}

fn acknowledged_per_s(record: &RunRecord) -> f64 {
    record.streams[0].throughput.ops_per_s
}

/// A hundred ops a second, which are steady; in every other two seconds half of their rows are stored.
#[test]
fn rows_must_be_steady_where_ops_are_acknowledged_in_part() {
    let is_steady = [0, 200].map(|exhausted| {
        let fails_with = Some(in_half as fn(u64) -> _);
        let faults = Faults { exhausted, round: 400, fails_with, ..Faults::default() };
        let mut job = job("", 20);
        job.streams = vec![("insert", vec![open(1_000)])];
        (job.sessions, job.arrivals) = (1, Some(Arrivals::Constant));
        let record = job.run_faulty(&Arc::new(faults)).record;
        warm_up(&record).steady
    });
    assert_eq!(is_steady, [Some(true), Some(false)]);
}

/// Ops take four times as long at first, and become faster for 20 s. From 40 s on, the second half of the warm-up
/// contains none of that; before 20 s, the change over it is at least 40%.
#[test]
fn a_cold_start_is_waited_out() {
    let record = ran(&job("warm=20s:4", 120));
    let phase = warm_up(&record);
    let took = Nanos(phase.duration_ns).as_secs_f64();
    assert!((20.0..42.0).contains(&took), "{took}");
    assert_eq!(phase.steady, Some(true));
    assert!(!is_noted(&record), "{:?}", record.notes);
    let measured = record.phases.iter().find(|phase| phase.name == "measure");
    let measured = measured.unwrap();
    assert_eq!(measured.start_ns, phase.start_ns + phase.duration_ns);
    assert_eq!(measured.duration_ns, 10 * Nanos::SECOND.0);
    // None of it is missing at the start, and the target has reached its full speed.
    let per_s = acknowledged_per_s(&record);
    assert!((per_s - 200.0).abs() < 1.0, "{per_s}");
}

/// Over the second half of its 20 s it speeds up by a sixth, and is far from done.
#[test]
fn a_target_that_does_not_become_steady_ends_the_warm_up_at_its_limit_with_a_note() {
    let record = ran(&job("warm=60s:4", 20));
    let phase = warm_up(&record);
    assert_eq!(phase.duration_ns, 20 * Nanos::SECOND.0);
    assert_eq!(phase.steady, Some(false));
    assert!(is_noted(&record), "{:?}", record.notes);
    let text = highwater_report::text(&record);
    assert!(text.contains(" · warm-up 20.0 s, NOT STEADY by then · "), "{text}");
}

/// The second half of six seconds has the thirty windows of 100 ms that any interval needs.
#[test]
fn a_steady_target_costs_six_seconds() {
    let record = ran(&job("", 120));
    assert_eq!(warm_up(&record).duration_ns, 6_350_000_000);
    let text = highwater_report::text(&record);
    assert!(text.contains(" · warm-up 6.35 s until steady · "), "{text}");
}

/// An open load of a tenth of the capacity is steady although its ops speed up.
#[test]
fn throughput_decides_and_an_open_load_that_is_kept_up_with_is_steady() {
    let mut job = job("warm=20s:4", 120);
    job.streams[0].1 = vec![open(200)];
    let record = ran(&job);
    assert_eq!(warm_up(&record).steady, Some(true));
    assert!(warm_up(&record).duration_ns < 10 * Nanos::SECOND.0);
}

#[test]
fn every_stream_must_be_steady() {
    let mut job = job("warm=60s:4&query=5ms", 20);
    let (inserts, queries) = (vec![closed(4)], vec![open(1)]);
    job.streams = vec![("insert", inserts), ("dashboards", queries)];
    assert_eq!(warm_up(&ran(&job)).steady, Some(false));
}

#[test]
fn a_target_that_acknowledges_nothing_is_not_steady() {
    let job = job("stall=0s+1h", 20);
    let record = ran(&job);
    assert_eq!(warm_up(&record).steady, Some(false));
}

#[test]
fn a_warm_up_ended_by_the_user_has_no_note() {
    let record = job("warm=60s:4", 120).run_interrupted(At::Second(5), 1).record;
    assert_eq!(warm_up(&record).steady, None);
    assert!(!is_noted(&record), "{:?}", record.notes);
}
