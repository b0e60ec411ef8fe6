//! Runs that end by their own stop rule, and sessions that start gradually.

use highwater_model::judgment::ObjectiveValue;
use highwater_model::record::{IncidentKind, RunRecord};
use insta::assert_snapshot;

use crate::called::{Place, record, split};

/// The record of a run that continues until its throughput is precise enough, and ends successfully.
fn run_until_known(place: &Place, length: &str) -> RunRecord {
    let called = place.typed(&format!("run sim: -d {length} --until ci95<20% --json"));
    assert_eq!(called.code, Some(0), "{called:?}");
    record(&called)
}

/// Measured time in nanoseconds.
fn measured_ns(record: &RunRecord) -> u64 {
    let mut phases = record.phases.iter();
    phases.find(|of| of.name == "measure").unwrap().duration_ns
}

/// Measured time in whole seconds.
fn measured_s(record: &RunRecord) -> u64 {
    measured_ns(record) / 1_000_000_000
}

/// The line of the summary with this prefix.
fn line<'a>(text: &'a str, begin: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(begin)).unwrap()
}

#[test]
fn a_run_stops_when_its_interval_is_narrow_and_not_before_its_minimum() {
    let place = Place::new().verbose();
    let early = run_until_known(&place, "60s");
    assert!((3..60).contains(&measured_s(&early)), "{:?}", early.phases);
    let ci = early.streams[0].throughput.ci95.unwrap();
    assert!(ci[1] - ci[0] < 0.42 * early.streams[0].throughput.rows_per_s);

    let later = run_until_known(&place, "40s..60s");
    assert_eq!(measured_s(&later), 40);
    let shown = place.call(&["show"]).stdout;
    assert_eq!(
        line(&shown, "note"),
        "note           measure ended after 40.2 s of 60 s: ci95<20% held"
    );
}

#[test]
fn a_run_stops_on_errors_and_reports_its_measurements() {
    let place = Place::new().verbose();
    // Twenty ops per second, of which one in 25 fails: few enough that the outcome is unambiguous.
    let called = place.typed("run -q sim:?fail=0.04 --rate 20k -d 60s --until errors>20");
    // Without a stated bound, 4% of failed ops are too many.
    assert_eq!(called.code, Some(1), "{called:?}");
    let note = line(&called.stdout, "note");
    assert!(note.ends_with(" of 60 s: errors>20 held"), "{note}");
    assert!(line(&called.stdout, "measurement").ends_with(" valid"));
    assert!(line(&called.stdout, "data").contains(" clean "));
}

#[test]
fn sessions_appear_at_their_rate_before_anything_counts() {
    let place = Place::new().verbose();
    let words = ["run", "sim:", "-c", "20", "--spawn-rate", "10", "-d", "4s"];
    let called = place.call(&words);
    assert_eq!(called.code, Some(0), "{called:?}");
    let plan = called.stdout.lines().find(|line| line.contains(" · plan ")).unwrap();
    assert!(plan.contains(" · ramp 2 s · warm-up 2 s · measured 4.00 s · "), "{plan}");
    let phases: Vec<&str> = called
        .stderr
        .lines()
        .skip_while(|line| !line.starts_with("second "))
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    assert_eq!(
        phases[..9],
        ["phase", "ramp", "ramp", "warm-up", "warm-up", "measure", "measure", "measure", "measure"]
    );
}

#[test]
fn meaningless_stop_rules_and_spawn_rates_are_rejected() {
    let place = Place::new().verbose();
    let said = |words: &[&str]| {
        let called = place.call(words);
        assert_eq!((called.code, place.runs().len()), (Some(2), 0), "{called:?}");
        called.stderr
    };
    assert_snapshot!(said(&["run", "sim:", "--rate", "1k", "--spawn-rate", "2"]), @"
    error: a spawn rate is for closed sessions, and every stream is open

    hint: leave --spawn-rate out, or give a stream a closed pace, such as `NAME@8c`
    ");
    let shares = split("run sqlite:a.db --share 1/2 --until errors>3");
    assert_snapshot!(said(&shares), @"
    error: --until: cannot be combined with --share: each share sees only its own results

    hint: remove --until, or use one load generator
    ");
}

#[test]
fn a_run_ends_when_its_objective_can_no_longer_be_met_and_states_it() {
    let place = Place::new();
    let load = "run sim: --batch 100 --rate 20k -q --abort-on-miss";
    let called = place.typed(&format!("{load} -d 10m --p99 insert<100us"));
    let note = line(&called.stdout, "note");
    assert!(note.contains("insert p99 ≤ 100 µs could no longer be met"), "{called:?}");
    let record = place.newest();
    assert_eq!(record.judgments.objective.value, ObjectiveValue::Missed);
    assert!(record.incidents.iter().any(|i| i.kind == IncidentKind::Hopeless));
    let lasted = measured_s(&record);
    assert!((5..60).contains(&lasted), "{lasted}");
    // An objective that is met ends nothing.
    let called = place.typed(&format!("{load} -d 20s --p99 10s"));
    assert_eq!(measured_ns(&place.newest()), 20_000_000_000, "{called:?}");
}

#[test]
fn an_objective_of_no_op_and_a_stop_without_an_objective_are_refused() {
    let place = Place::new();
    for (words, said) in [
        ("--p99 inserts<5ms", "an objective is about `inserts`"),
        ("--abort-on-miss", "--abort-on-miss: there is no objective"),
        ("--p99 5ms --p99 6ms", "every op has two bounds"),
        ("--p99 <5ms", "names no op"),
    ] {
        let called = place.typed(&format!("run sim: -q {words}"));
        assert_eq!(called.code, Some(2), "{called:?}");
        called.reports(said);
    }
}
