//! Records of version 1 still open: in `show`, in every format, in `compare`, `table` and `size`.
//!
//! The expected figures are read from the fixtures themselves, which the last version that wrote
//! `highwater-record/1` stored. Must not make a record anew.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use super::highwater;

fn fixture(name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/fixtures/version-1").join(name)
}

/// The record of a fixture as it was stored.
fn stored(name: &str) -> Value {
    let text = fs::read_to_string(fixture(name).join("record.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(record["schema"], "highwater-record/1");
    record
}

/// Exit code and output of the program, whose fixtures are named with an `@`.
fn call(words: &[&str]) -> (Option<i32>, String) {
    let directory = TempDir::new().unwrap();
    let mut command = highwater(&directory);
    for word in words {
        match word.strip_prefix('@') {
            Some(name) => command.arg(fixture(name)),
            None => command.arg(word),
        };
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("error:"), "{words:?}: {errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), text)
}

/// What `show` makes of a fixture, as a record of today.
fn shown(name: &str) -> (Option<i32>, Value) {
    let (code, json) = call(&["show", &format!("@{name}"), "--format", "json"]);
    let record: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(record["schema"], "highwater-record/2");
    (code, record)
}

/// The run of a record of today: of an experiment the last one.
fn run_of(record: &Value) -> &Value {
    if record["kind"] == "experiment" { &record["last_run"] } else { record }
}

/// The figures that no change of words may touch.
fn figures(record: &Value) -> Vec<Value> {
    let mut figures: Vec<Value> = record["results"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|result| {
            let keys = ["acknowledged", "errors", "latency_ns", "throughput", "windows"];
            keys.map(|key| result[key].clone())
        })
        .collect();
    let of_record = ["intervals", "phases", "availability", "workload", "labels"];
    figures.extend(of_record.map(|key| record[key].clone()));
    figures
}

/// The word of today for a judgment's value of version 1.
fn today(value: &Value) -> &str {
    match value.as_str().unwrap() {
        "sound" => "valid",
        "unsound" => "invalid",
        "unknown" => "inconclusive",
        "off" => "not_checked",
        "none" => "none_set",
        same => same,
    }
}

const RECORDS: [&str; 8] =
    ["steps", "share-1", "share-2", "merged", "find", "tune", "group/a/1", "import"];

#[test]
fn figures_and_judgments_of_version_1_are_kept() {
    for name in RECORDS {
        let before = stored(name);
        let (_, after) = shown(name);
        let kind = match name {
            "find" | "tune" => "experiment",
            "import" => "imported",
            _ => "run",
        };
        assert_eq!(after["kind"], kind, "{name}");
        for part in ["id", "started_at", "environment", "labels"] {
            assert_eq!(after[part], before[part], "{name}: {part}");
        }
        let judgments = &after["judgments"];
        let after = run_of(&after);
        assert_eq!(figures(after), figures(&before), "{name}");
        assert_eq!(after["plan"]["hash"], before["plan"]["hash"], "{name}");
        assert_eq!(after["plan"]["definition"], before["plan"]["intention"]);
        for judgment in ["measurement", "data", "objective"] {
            let old = &before["judgements"][judgment]["value"];
            let new = &judgments[judgment]["value"];
            assert_eq!(new, today(old), "{name}: {judgment}");
        }
        for (new, old) in
            after["results"].as_array().unwrap().iter().zip(before["results"].as_array().unwrap())
        {
            assert_eq!(new["session_wait_ns"], old["door_wait_ns"], "{name}");
        }
    }
}

#[test]
fn every_format_shows_a_record_of_version_1() {
    for name in RECORDS {
        for format in ["text", "csv", "html", "markdown"] {
            let (_, text) = call(&["show", &format!("@{name}"), "--format", format]);
            assert!(text.lines().count() > 1, "{name} as {format}: {text}");
        }
    }
}

#[test]
fn a_search_and_a_tuning_of_version_1_keep_probes_trials_and_ends() {
    let (before, (code, after)) = (stored("find"), shown("find"));
    assert_eq!(code, Some(0));
    let search = &after["question"]["search"];
    // Version 1 estimated nothing from all probes together.
    let mut outcome = before["search"]["outcome"].clone();
    outcome["mark"]["estimate"] = Value::Null;
    assert_eq!(search["outcome"], outcome);
    let verdicts = |search: &Value| -> Vec<String> {
        let verdicts = search["probes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|probe| probe["verdict"].as_str().unwrap().to_owned());
        verdicts.collect()
    };
    let today = |verdict: &String| match verdict.as_str() {
        "met" => "passed".to_owned(),
        "missed" => "failed".to_owned(),
        "not_shown" => "not_decided".to_owned(),
        same => same.to_owned(),
    };
    let old: Vec<String> = verdicts(&before).iter().map(today).collect();
    assert!(old.contains(&"passed".to_owned()), "{old:?}");
    assert_eq!(verdicts(search), old);
    let (before, (code, after)) = (stored("tune"), shown("tune"));
    assert_eq!(code, Some(0));
    let tune = &after["question"]["tune"];
    assert_eq!(tune["trials"], before["tune"]["cells"]);
    let best = |tune: &Value| tune["outcome"]["best"]["at"].clone();
    assert_eq!(best(tune), best(&before["tune"]));
    let gain = |tune: &Value, key: &str| tune["outcome"]["best"]["runner_up"][key].clone();
    assert_eq!(gain(tune, "is_significant"), gain(&before["tune"], "is_told"));
}

/// What was merged is drawn anew, its interval by today's rule; and audits that began at different times last from the
/// first begin to the last end.
fn without_intervals(record: &Value) -> Vec<Value> {
    let mut figures = figures(record);
    for figure in &mut figures {
        for phase in figure.as_array_mut().into_iter().flatten() {
            if phase["kind"] == "audit" {
                phase["duration_ns"] = Value::Null;
            }
        }
        if let Some(throughput) = figure.as_object_mut() {
            throughput.remove("ci95");
        }
    }
    figures
}

#[test]
fn shares_of_version_1_merge_to_what_they_merged_to() {
    let (code, json) = call(&["show", "@share-1", "@share-2", "--format", "json"]);
    let merged: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(without_intervals(&merged), without_intervals(&stored("merged")));
    let value = &stored("merged")["judgements"]["measurement"]["value"];
    assert_eq!(merged["judgments"]["measurement"]["value"], today(value));
    let expected = if today(value) == "valid" { 0 } else { 3 };
    assert_eq!(code, Some(expected));
}

#[test]
fn a_killed_run_of_version_1_is_put_together() {
    let (code, record) = shown("killed");
    assert_eq!(code, Some(130));
    assert_eq!(record["incidents"][0]["kind"], "killed");
    assert_eq!(record["audit"]["status"], "failed");
    let journal = fs::read_to_string(fixture("killed").join("intervals.jsonl")).unwrap();
    let acknowledged: u64 = journal
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .map(|line: Value| line["rows_acknowledged"].as_u64().unwrap())
        .sum();
    assert!(acknowledged > 0);
    assert_eq!(record["audit"]["acknowledged"], acknowledged);
}

#[test]
fn groups_tables_and_sizes_take_records_of_version_1() {
    let (_, text) = call(&["compare", "@group/a", "@group/b"]);
    assert!(text.contains("throughput"), "{text}");
    let (_, text) = call(&["table", "@tune", "--over", "batch_rows"]);
    assert!(text.contains("50"), "{text}");
    let (code, text) = call(&[
        "size",
        "3k",
        "--from",
        "@find",
        "--nodes",
        "3",
        "--assume",
        "cratedb-1m",
        "--json",
    ]);
    assert_eq!(code, Some(0));
    let plan: Value = serde_json::from_str(&text).unwrap();
    let before: Value =
        serde_json::from_str(&fs::read_to_string(fixture("size-plan.json")).unwrap()).unwrap();
    let measured = |plan: &Value| plan["needs"][0]["curve"][0]["measured_per_s"].as_f64();
    assert_eq!(measured(&plan), measured(&before));
}
