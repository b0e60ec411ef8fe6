//! `--events`: the events of a running command as data.

use std::fs;

use serde_json::Value;

use crate::called::{Place, experiment, record};

/// The lines of a stream of events, each validated against the published schema.
fn events(text: &str) -> Vec<Value> {
    let schema = include_str!("../../../../docs/reference/event.schema.json");
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let check = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let errors = validator.iter_errors(&event).map(|error| error.to_string());
        assert_eq!(errors.collect::<Vec<_>>(), [""; 0], "{line}");
        event
    };
    text.lines().map(check).collect()
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|line| line["event"] == name).collect()
}

#[test]
fn every_second_of_a_run_is_an_event_and_together_they_are_its_record() {
    let place = Place::new();
    let called = place.typed("run sim: --rate 20k -d 5s --json --events events.ndjson");
    let run = record(&called);
    let events = events(&fs::read_to_string(place.path().join("events.ndjson")).unwrap());
    assert_eq!(events[0]["event"], "stream");
    assert_eq!(events[0]["schema"], "highwater-event/1");
    let begun = named(&events, "begun");
    assert_eq!(begun[0]["workload"], "cpu");
    assert!(begun[0]["directory"].as_str().unwrap().ends_with(&run.header.id));
    let last = events.last().unwrap();
    assert_eq!(last["event"], "ended");
    let judgments = serde_json::to_value(&run.judgments).unwrap();
    assert_eq!(last["judgments"], judgments);
    let seconds = named(&events, "second");
    let numbers = seconds.iter().map(|line| line["second"].as_u64().unwrap());
    assert!(numbers.eq(1..=seconds.len() as u64), "{seconds:?}");
    let rows: f64 =
        seconds.iter().map(|line| line["streams"][0]["units_per_s"].as_f64().unwrap()).sum();
    let recorded: u64 = run.intervals.iter().map(|i| i.rows_acknowledged).sum();
    assert!((rows / f64::from(u32::try_from(recorded).unwrap()) - 1.0).abs() < 0.01);
    let parts: Vec<&str> =
        named(&events, "part").iter().filter_map(|line| line["part"].as_str()).collect();
    assert_eq!(parts, ["audit"]);
}

/// A target that stalls during the warm-up affects no objective, then or later.
#[test]
fn objectives_are_followed_only_over_the_measured_phase() {
    let place = Place::new();
    let objectives = "--p95 500ms --errors 1% --min-rate 10k";
    let load = "--rate 20k --warm-up 4s -d 5s --json --events events";
    let called = place.typed(&format!("run cpu sim:?stall=1s+1s {load} {objectives}"));
    let run = record(&called);
    let before = run.intervals.iter().filter(|of| of.phase == "warm-up");
    let slowest = before.filter_map(|of| of.max_ns).max();
    assert!(slowest > Some(500_000_000), "{slowest:?}");
    let events = events(&fs::read_to_string(place.path().join("events")).unwrap());
    let seconds = named(&events, "second");
    for second in &seconds {
        let is_measured = second["phase"] == "measure";
        assert_eq!(second.get("objectives").is_some(), is_measured, "{second}");
    }
    let mut measured = seconds.iter().filter(|of| of["phase"] == "measure");
    let last = &measured.next_back().unwrap()["objectives"];
    let [p95, errors, rate] = [&last[0], &last[1], &last[2]];
    // Intended ops that are not finished are not counted, nor are earlier phases.
    let due = run.results.iter().find(|of| of.phase == "measure").unwrap();
    for part in [p95, errors] {
        assert_eq!(part["kind"], "part");
        assert_eq!(part["missed"], 0);
        let counted = part["counted"].as_u64().unwrap();
        assert!(counted <= due.offered && counted * 10 > due.offered * 9, "{last}");
    }
    let per_s = rate["per_s"].as_f64().unwrap();
    assert!((per_s / 20_000.0 - 1.0).abs() < 0.1, "{last}");
}

#[test]
fn events_on_standard_output_leave_the_summary_to_standard_error() {
    let place = Place::new();
    let load = "run sim: --rate 20k -d 3s -q --events";
    let called = place.typed(&format!("{load} -"));
    assert_eq!(named(&events(&called.stdout), "ended").len(), 1);
    assert!(called.stderr.contains("\nmeasurement "), "{called:?}");
    let both = place.typed(&format!("{load} - --json"));
    assert_eq!((both.code, both.stdout.as_str()), (Some(2), ""));
    assert!(both.stderr.contains("write events to a file"), "{both:?}");
    let nowhere = place.typed(&format!("{load} no/where"));
    assert_eq!((nowhere.code, place.runs().len()), (Some(2), 1));
    nowhere.reports("cannot write no/where");
}

#[test]
fn each_trial_of_a_search_begins_runs_and_ends() {
    let place = Place::new();
    place.typed("find cpu sim:?cores=1 --p99 50ms --quick -q --events events");
    let events = events(&fs::read_to_string(place.path().join("events")).unwrap());
    let record = experiment(&place.runs()[0]);
    let probes = &record.search().unwrap().probes;
    assert!(probes.len() > 3, "{probes:?}");
    for (name, times) in [
        ("trial", probes.len()),
        ("begun", probes.len()),
        ("probed", probes.len()),
        ("ended", probes.len() + 1),
    ] {
        assert_eq!(named(&events, name).len(), times, "{name}");
    }
    let last = events.last().unwrap();
    let directory = last["directory"].as_str().unwrap();
    assert!(directory.ends_with(&record.header.id), "{last}");
    let first = &named(&events, "trial")[0];
    assert_eq!(first["number"], 1);
    assert_eq!(first["trial"]["probe"]["purpose"], "estimate");
}
