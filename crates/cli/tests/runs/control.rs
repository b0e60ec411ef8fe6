//! `--control`: commands to a running run.

use std::fs;
use std::fs::OpenOptions;
use std::io::Write;

use highwater_model::record::{Change, RunRecord};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::called::{Place, split};

/// The commands in the documents.
const COMMANDS: &str = r#"{"command":"note","text":"the vacuum begins"}
{"command":"rate","stream":"insert","per_s":10000}

{"command":"rate","stream":"inserts","per_s":10000}
{"command":"faster"}
"#;

fn stored(place: &Place) -> RunRecord {
    let [run] = &place.runs()[..] else {
        panic!("{:?}", place.runs());
    };
    let record = highwater_runner::record::read(run).unwrap();
    record.into_run().unwrap()
}

fn phases(record: &RunRecord) -> Vec<&str> {
    record.phases.iter().map(|phase| phase.name.as_str()).collect()
}

#[test]
fn a_file_of_commands_is_executed_and_rejected_commands_are_reported() {
    let place = Place::new().verbose();
    place.file("commands.ndjson", COMMANDS);
    let words = split("run -R 20k -d 2s --warm-up 0s --no-telemetry");
    let called =
        place.call(&[&words[..], &["--control", "commands.ndjson", "--events", "e"]].concat());
    let record = stored(&place);
    assert_eq!(phases(&record), ["measure", "measure-2", "drain", "audit"], "{called:?}");
    let rates = record.streams.iter().map(|stream| stream.planned_rate);
    assert_eq!(rates.collect::<Vec<_>>(), [Some(20_000.0), Some(10_000.0)]);
    let [note, rate] = &record.interventions[..] else {
        panic!("{:?}", record.interventions);
    };
    assert!(matches!(&note.change, Change::Note { text } if text == "the vacuum begins"));
    assert_eq!(rate.phase, "measure-2");
    for words in [
        "--control, line 4: the run has no such stream; its streams are insert",
        "--control, line 5: unknown variant `faster`",
        "insert from 20,000 rows/s to 10,000 rows/s, as phase measure-2",
    ] {
        assert!(called.stderr.contains(words), "{called:?}");
    }
    let changed = called.stdout.lines().filter(|line| line.starts_with("changed"));
    assert_eq!(changed.count(), 2, "{called:?}");
    let events = fs::read_to_string(place.path().join("e")).unwrap();
    let done = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["event"] == "intervention");
    let done: Vec<Value> = done.collect();
    assert_eq!(done[0]["text"], "the vacuum begins");
    assert_eq!(done[1]["phase"], "measure-2");
}

#[test]
fn commands_are_read_from_a_pipe_with_successive_writers() {
    let place = Place::new();
    let pipe = place.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut running = place.start(&split("run -c 2 --think 20ms -d 60s --control pipe"));
    running.wait_for("  measure");
    for line in
        [r#"{"command":"sessions","stream":"insert","sessions":3}"#, r#"{"command":"stop"}"#]
    {
        let mut pipe = OpenOptions::new().write(true).open(&pipe).unwrap();
        writeln!(pipe, "{line}").unwrap();
        running.wait_for("at ");
    }
    assert_eq!(running.end().code, Some(130));
    let record = stored(&place);
    assert_eq!(record.interventions.len(), 2);
    assert!(matches!(record.interventions[1].change, Change::Stop));
}

#[test]
fn the_published_schema_describes_commands() {
    let schema = include_str!("../../../../docs/reference/control.schema.json");
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let valid: Vec<bool> = COMMANDS
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| validator.is_valid(&serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(valid, [true, true, true, false]);
}

#[test]
fn commands_are_for_one_run_and_come_from_what_is_there() {
    let place = Place::new();
    let nowhere = place.call(&["run", "sim:", "--control", "nowhere"]);
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
    assert!(nowhere.stderr.contains("mkfifo"), "{nowhere:?}");
    let several = place.call(&["run", "sim:", "--repeat", "2", "--control", "-"]);
    assert_eq!(several.code, Some(2), "{several:?}");
    assert!(several.stderr.contains("--control"), "{several:?}");
    assert!(place.runs().iter().all(|run| !run.join("record.json").exists()));
}
