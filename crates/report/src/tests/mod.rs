//! Fixtures for tests of several reports: seconds of a load, and a check for text.

use highwater_model::event::{Event, LoadBounds, SecondProgress, StreamCounts, StreamProgress};
use highwater_model::plan::{Objective, Unit};
use highwater_model::units::Nanos;

/// A second of a closed stream of which only the rate is known.
pub(crate) fn stream(name: &str, unit: Unit, units_per_s: f64) -> StreamProgress {
    StreamProgress {
        stream: name.to_owned(),
        unit,
        offered_per_s: None,
        units_per_s,
        p50_ns: None,
        p99_ns: None,
        p99_at_least: false,
        max_ns: None,
        recent: None,
        errors: 0,
        rejected: 0,
        counts: StreamCounts::default(),
    }
}

/// A second of these streams, with 8 sessions.
pub(crate) fn second(second: u64, phase: &str, streams: Vec<StreamProgress>) -> SecondProgress {
    SecondProgress {
        second,
        phase: phase.to_owned(),
        errors: streams.iter().map(|stream| stream.errors).sum(),
        streams,
        dropped: 0,
        sessions: 8,
        ..SecondProgress::default()
    }
}

/// The start of a run on a simulated cluster.
pub(crate) fn begun(objectives: Vec<Objective>) -> Event {
    Event::Begun {
        directory: "runs/1".to_owned(),
        workload: "cpu".to_owned(),
        urls: vec!["sim:".to_owned()],
        target: "simulated cluster".to_owned(),
        simulated: true,
        phases: Vec::new(),
        objectives,
        settings_file: None,
    }
}

/// A load that only its duration ends.
pub(crate) fn lasting(seconds: u64) -> LoadBounds {
    LoadBounds { length: Some(Nanos::from_secs(seconds)), ..LoadBounds::default() }
}

/// An objective for the 99th percentile of all ops.
pub(crate) fn p99(max_ms: u64) -> Objective {
    Objective::Latency { quantile_ppm: 990_000, max: Nanos::from_millis(max_ms), op: None }
}

#[track_caller]
pub(crate) fn assert_says(text: &str, all: &[&str]) {
    for said in all {
        assert!(text.contains(said), "`{said}` is not in:\n{text}");
    }
}
