//! Events of a run, made again from its files by somebody who is not its observer: they leave nothing out.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use highwater_model::control::Command;
use highwater_model::event::{Event, Part, SecondProgress};
use highwater_model::record::RunRecord;
use highwater_model::units::Nanos;
use highwater_runner::record::EventsSoFar;

use crate::support::{At, Job, one_node, open};

/// A run whose rate changes at 4.35 s: its record.
fn changed(root: &Path) -> RunRecord {
    let job = Job::new(
        &one_node("cores=inf&service=constant&request=5ms"),
        &[("insert", open(1_000))],
    );
    let change = Command::Rate {
        stream: "insert".to_owned(),
        per_s: 2_000.0,
    };
    let target = job.open_target(root);
    job.run_commanded_on(target, root, &[(At::Second(4), change)])
        .end
        .record
}

fn seconds(events: &[Event]) -> Vec<&SecondProgress> {
    let events = events.iter();
    let seconds = events.filter_map(|event| match event {
        Event::Second(second) => Some(second),
        _ => None,
    });
    seconds.collect()
}

#[test]
fn files_show_all_that_the_record_has_second_by_second() {
    let root = tempfile::tempdir().unwrap();
    let record = changed(root.path());
    let events = EventsSoFar::of(&root.path().join("test")).read();
    let [Event::Begun { workload, .. }, Event::Load(bounds), ..] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(workload, "cpu");
    assert_eq!(bounds.length, Some(Nanos::from_secs(10)));
    let interventions = |event: &&Event| matches!(event, Event::Intervention(_));
    assert_eq!(events.iter().filter(interventions).count(), 1);
    let is_audited = |event: &Event| matches!(event, Event::Part(Part::Audit { .. }));
    assert!(events.iter().any(is_audited), "{events:?}");
    let seconds = seconds(&events);
    let numbers: Vec<u64> = seconds.iter().map(|of| of.second).collect();
    // An op that was due in the last second may have ended behind it.
    let all: Vec<u64> = (1..=11).collect();
    assert!([&all[..10], &all].contains(&&numbers[..]), "{numbers:?}");
    let phases: Vec<&str> = seconds.iter().map(|of| of.phase.as_str()).collect();
    assert_eq!(phases[..4], ["measure"; 4]);
    assert_eq!(phases[5..10], ["measure-2"; 5]);
    let of = |number: usize| &seconds[number].streams[0];
    assert_eq!(of(0).offered_per_s, Some(1_000.0));
    assert_eq!(of(9).offered_per_s, Some(2_000.0));
    assert!(of(9).p99_ns.is_some(), "{:?}", of(9));
    let counts = seconds.iter().map(|second| &second.streams[0].counts);
    let sums = counts.fold([0; 3], |[offered, acknowledged, rows], of| {
        [
            offered + of.offered,
            acknowledged + of.acknowledged,
            rows + of.rows_acknowledged,
        ]
    });
    let recorded = record.intervals.iter();
    let recorded = recorded.fold([0; 3], |[offered, acknowledged, rows], of| {
        [
            offered + of.offered,
            acknowledged + of.acknowledged,
            rows + of.rows_acknowledged,
        ]
    });
    assert_eq!(sums, recorded);
}

/// Whoever looks often sees the same events as who looks once, however the lines come in; and no second twice.
#[test]
fn a_journal_that_grows_byte_by_byte_shows_the_same_events() {
    let root = tempfile::tempdir().unwrap();
    changed(root.path());
    let whole = root.path().join("test");
    let at_once = EventsSoFar::of(&whole).read();
    let copy = tempfile::tempdir().unwrap();
    let mut growing = EventsSoFar::of(copy.path());
    assert_eq!(growing.read(), [], "its target has not answered");
    fs::copy(whole.join("draft.json"), copy.path().join("draft.json")).unwrap();
    let journal = fs::read(whole.join("intervals.jsonl")).unwrap();
    let mut file = File::create(copy.path().join("intervals.jsonl")).unwrap();
    let mut seen = growing.read();
    assert!(matches!(seen[..], [Event::Begun { .. }]), "{seen:?}");
    for bytes in journal.chunks(777) {
        file.write_all(bytes).unwrap();
        seen.extend(growing.read());
    }
    assert!(
        seconds(&seen).len() < seconds(&at_once).len(),
        "the last seconds may not be over"
    );
    fs::copy(whole.join("ledger.jsonl"), copy.path().join("ledger.jsonl")).unwrap();
    seen.extend(growing.read());
    assert_eq!(growing.read(), [], "nothing twice");
    // Where they are is all that differs.
    let without_place = |events: &[Event]| {
        let is_ended = |event: &&Event| !matches!(event, Event::Begun { .. } | Event::Ended { .. });
        let events = events.iter().filter(is_ended);
        events.cloned().collect::<Vec<_>>()
    };
    assert_eq!(without_place(&seen), without_place(&at_once));
}
