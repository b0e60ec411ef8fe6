//! Output and stored files of runs: summary, progress, record; and the same from the record alone.

use std::fs;

use highwater_model::quantity::print_instant;
use insta::assert_snapshot;

use crate::called::{Place, Running, split};
use crate::shares::soon;

/// The text with everything that depends on this machine, the time of day, or the workload's version replaced by as
/// many placeholder characters.
fn timeless(text: &str) -> String {
    let begins = ["client ", "estimate: "];
    let varies = |line: &&str| {
        begins.iter().any(|begin| line.starts_with(begin)) || line.contains("highwater-runs/")
    };
    let hide = |c: char| if c.is_ascii_digit() { '#' } else { c };
    text.lines()
        .map(|line| {
            let line = match line.split_once("· plan ") {
                Some((before, after)) => format!("{before}· plan ######{}", &after[6..]),
                None => line.to_owned(),
            };
            match Some(line.as_str()).filter(varies) {
                Some(line) => hidden(line, hide),
                None => line + "\n",
            }
        })
        .collect()
}

fn hidden(line: &str, hide: impl Fn(char) -> char) -> String {
    // A hash also has letters.
    let line = match line.split_once("-cpu-") {
        Some((before, after)) => format!("{before}-cpu-######{}", &after[6..]),
        None => line.to_owned(),
    };
    line.chars().map(hide).collect::<String>() + "\n"
}

#[test]
fn the_summary_and_the_progress_of_a_simulated_run() {
    let place = Place::new().comparing_values();
    let words = ["run", "sim:", "--rate", "50k", "-d", "4s", "--p99", "50ms"];
    let called = place.call(&words);
    assert_snapshot!("summary", timeless(&called.stdout));
    assert_snapshot!("progress", timeless(&called.stderr));
    let full = place.call(&["show", "-v"]).stdout;
    assert_snapshot!("summary_in_full", timeless(&full));
}

/// A batch takes nine seconds: the lines before the first response would all be empty.
#[test]
fn seconds_without_a_response_are_one_line() {
    let place = Place::new();
    let load = "-c 1 --warm-up 0s -d 60s --timeout 2m";
    let called = place.typed(&format!("run sim:?service=constant&request=9s {load}"));
    let mut lines = called.stderr.lines();
    lines.find(|line| line.starts_with("second ")).expect(&called.stderr);
    let silence = lines.next().unwrap().trim();
    assert!(silence.starts_with("no response in this second"), "{silence}");
    let first = lines.find(|line| line.contains("  measure")).unwrap().trim();
    assert!(first.starts_with("10  measure"), "{first}");
    // One line for the seconds between two responses, regardless of their number.
    let silent = called.stderr.matches(silence).count();
    let responses = called.stderr.matches("  measure").count();
    assert!(silent <= responses + 1, "{called:?}");
}

#[test]
fn a_run_with_faults_reports_losses_and_advice() {
    let place = Place::new().comparing_values();
    let called = place.call(&["run", "-q", "sim:?drop=0.001", "--rate", "20k", "-d", "4s"]);
    assert_eq!(called.stderr, "");
    assert_snapshot!("summary_of_lost_rows", timeless(&called.stdout));
}

#[test]
fn the_embedded_database_is_run_and_audited_in_the_directory_of_the_run() {
    let place = Place::new();
    let called = place.call(&["run", "-d", "3s", "--warm-up", "1s"]);
    // The quality of the measurement on a busy machine does not matter here, but no row may be lost.
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    let run = &place.runs()[0];
    let shown = run.strip_prefix(place.path()).unwrap().display();
    let full = place.call(&["show", "-v"]).stdout;
    let first = full.lines().find(|line| line.starts_with("cpu → "));
    let first = first.unwrap();
    assert!(first.starts_with(&format!(
        "cpu → sqlite:{shown}/bench.db (removed after the audit)   SQLite 3."
    )));
    assert!(first.ends_with(" · WAL · synchronous=NORMAL · one writer"));
    let labels = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.split(' ').next())
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let labels = labels(&called.stdout);
    for label in ["load", "measurement", "data", "record", "next:"] {
        assert!(labels.iter().any(|l| l == label), "{label}: {labels:?}");
    }
    called.prints("\ndata           clean ");
    let seconds = called.stderr.lines().filter(|l| l.contains("  measure  "));
    assert!(seconds.count() >= 2, "{}", called.stderr);
    let mut files: Vec<String> = fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let kept = ["draft.json", "intervals.jsonl", "latency.hlog", "ledger.jsonl", "plan.json"];
    assert_eq!(files, [&kept[..], &["record.json", "report.html"]].concat());
}

#[test]
fn json_is_the_record_and_nothing_else_and_follows_its_schema() {
    let place = Place::new();
    let steps = split("--stream insert@10k --stream dashboards@20,40 --step 3s");
    let called = place.call(&[&["run", "sim:", "--json"], &steps[..]].concat());
    assert_eq!(called.stderr, "");
    let kept = fs::read_to_string(place.runs()[0].join("record.json")).unwrap();
    assert!(called.stdout == kept, "stdout is record.json, byte for byte");
    let schema = include_str!("../../../../docs/reference/record.schema.json");
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let record = serde_json::from_str(&kept).unwrap();
    let mistakes: Vec<String> =
        validator.iter_errors(&record).map(|error| error.to_string()).collect();
    assert_eq!(mistakes, [""; 0]);
}

#[test]
fn every_form_is_recreated_from_the_record_alone() {
    let place = Place::new();
    let run = place.call(&["run", "-q", "sim:", "--rate", "20k", "-d", "4s"]);
    let run_directory = place.runs().remove(0);
    // Only the record is copied, to a directory that belongs to the user alone.
    let elsewhere = Place::new();
    fs::create_dir_all(elsewhere.path().join("runs/one")).unwrap();
    elsewhere.file(
        "runs/one/record.json",
        &fs::read_to_string(run_directory.join("record.json")).unwrap(),
    );
    let here = |format: &str| place.call(&["show", "--format", format]).stdout;
    let there = |format: &str| {
        let words = ["show", "runs/one/record.json", "--format", format];
        elsewhere.call(&words).stdout
    };
    assert!(here("text") == run.stdout, "{}", here("text"));
    assert!(here("json") == fs::read_to_string(run_directory.join("record.json")).unwrap());
    for format in ["json", "csv"] {
        assert!(there(format) == here(format), "{format}");
    }
    let without_place = |text: &str| -> Vec<String> {
        let is_place = |line: &&str| line.starts_with("record ") || line.starts_with("report ");
        text.lines().filter(|line| !is_place(line)).map(str::to_owned).collect()
    };
    assert_eq!(without_place(&there("text")), without_place(&run.stdout));
}

#[test]
fn two_shares_are_one_run_again() {
    let place = Place::new();
    let at = print_instant(soon());
    let both = ["1/2", "2/2"].map(|share| {
        let load = "sqlite:both.db --rate 4k --rows 12k -d 60s --warm-up 0s -q";
        place.start(&split(&format!("run {load} --share {share} --start-at {at}")))
    });
    for called in both.map(Running::end) {
        assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    }
    let [first, second] = [0, 1].map(|at| place.runs()[at].display().to_string());
    let merged = place.call(&["show", &first, &second]);
    assert_eq!(merged.stderr, "");
    let lines: Vec<&str> = merged.stdout.lines().collect();
    // If there is much to report on a busy machine, the short summary omits the load.
    let full = place.call(&["show", "-v", &first, &second]);
    assert!(full.stdout.contains("\nopen, 4,000 rows/s"), "{full:?}");
    let rows = "all 12,000 acknowledged rows found";
    assert!(lines[0].ends_with(rows), "{}", merged.stdout);
    let data = "\ndata           clean ";
    assert!(merged.stdout.contains(data), "{}", merged.stdout);
    // What is shown is stored nowhere, so that no command can name it.
    assert!(!full.stdout.lines().any(|line| line.starts_with("next:") && line.contains("-merged")));
    let swapped = place.call(&["show", &second, &first]);
    assert_eq!(swapped.stdout, merged.stdout, "in any order");
    assert_eq!(place.call(&["show", &first, &first]).code, Some(2));
}

#[test]
fn a_table_is_filled_at_a_pace_or_at_full_speed_and_the_estimate_states_which() {
    for (pace, said) in
        [(&["--rate", "10k"][..], "about 2 s of simulated time"), (&[], "until its rows are there")]
    {
        let place = Place::new();
        let called = place.call(&[&["load", "cpu", "sim:", "--rows", "20k"], pace].concat());
        let said = format!("estimate: {said} · 20,000 rows · ");
        assert!(called.stderr.contains(&said), "{called:?}");
        assert!(called.stdout.contains("data           clean"), "{called:?}");
        assert_eq!(called.stdout.contains("10,000 rows/s"), !pace.is_empty());
    }
}

#[test]
fn a_printed_plan_connects_to_nothing_and_is_the_plan_of_the_run() {
    let place = Place::new();
    let words = ["--rate", "10k", "-d", "3s", "-q"];
    let url = "postgres://127.0.0.1:1/none";
    let plan = place.call(&[&["run", url, "--plan"], &words[..]].concat());
    assert_eq!((plan.code, plan.stderr.as_str()), (Some(0), ""));
    plan.prints("highwater-plan/1");
    let left_behind = fs::read_dir(place.path()).unwrap();
    assert_eq!(left_behind.count(), 0);
    let plan_of_sim = place.call(&[&["run", "sim:", "--plan"], &words[..]].concat());
    place.call(&[&["run", "sim:"], &words[..]].concat());
    let kept = fs::read_to_string(place.runs()[0].join("plan.json")).unwrap();
    assert_eq!(plan_of_sim.stdout, kept);
}
