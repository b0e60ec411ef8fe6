//! Groups of runs through the program: stored, shown again, and resumed.

use std::fs;
use std::path::Path;

use highwater_model::group::{GroupOutcome, GroupRecord};
use highwater_model::record::Record;
use highwater_runner::record;
use rustix::process::Signal;

use crate::called::{Place, experiment, split};

fn group(directory: &Path) -> GroupRecord {
    experiment(directory).group().unwrap().clone()
}

/// Closed load on simulated clusters of three nodes and of one, in turn.
const TWO: &str =
    "run cpu sim:?replicas=0 --interleave sim:?nodes=1&replicas=0 --repeat 2 --batch 100 -d 20s";

#[test]
fn a_group_is_printed_kept_and_shown_again_in_every_form() {
    let place = Place::new().verbose();
    let called = place.typed(TWO);
    assert_eq!(called.code, Some(0), "{called:?}");
    for said in ["run 1: a, 1 of 2", "run 3: b, 2 of 2"] {
        assert!(called.stderr.contains(said), "{called:?}");
    }
    let runs = place.runs();
    assert_eq!(runs.len(), 1, "runs are kept below the group");
    let directory = runs[0].to_str().unwrap();
    let shown = place.call(&["show"]);
    assert_eq!((shown.code, &shown.stdout), (called.code, &called.stdout));
    let verdict = "\nWORSE · worse: ";
    assert!(called.stdout.contains(verdict), "{called:?}");
    let json = place.call(&["show", "--format", "json"]).stdout;
    let stored = fs::read_to_string(runs[0].join("record.json")).unwrap();
    assert_eq!(json, stored);
    let Ok(Record::Experiment(parsed)) = highwater_model::json::parse(&json) else {
        panic!("{json}");
    };
    assert_eq!(parsed.group().unwrap().trials.len(), 4);
    for name in ["variant", "repeat"] {
        assert!(!parsed.header.labels.contains_key(name), "{name}");
    }
    let page = place.call(&["show", "--format", "html"]).stdout;
    assert_eq!(page, fs::read_to_string(runs[0].join("report.html")).unwrap());
    assert!(page.contains("id=\"runs\"") && page.contains("class=\"verdict bad\""));
    let markdown = place.call(&["show", "--format", "markdown"]).stdout;
    assert!(markdown.contains("## WORSE"), "{markdown}");

    // `compare` accepts the whole group, a variant of it, or runs of it.
    let whole = place.call(&["compare", directory, "--fail-if-worse", "5%"]);
    assert_eq!(whole.code, Some(1), "{whole:?}");
    let [a, b] = ["a", "b"].map(|variant| format!("{directory}/{variant}"));
    let named = place.call(&["compare", &a, &b, "--fail-if-worse", "5%"]);
    assert_eq!(named, whole);
    let other = place.call(&["compare", &a, &format!("{directory}/c")]);
    assert_eq!(other.code, Some(2), "{other:?}");
    let of_a = format!("{directory}/probes/001-a,{directory}/probes/004-a");
    let same = place.call(&["compare", &a, &of_a, "--fail-if-worse", "5%"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    let table = place.call(&["table", directory, "--over", "nodes"]);
    assert_eq!(table.code, Some(0), "{table:?}");
}

#[test]
fn a_group_as_json_is_its_record() {
    let place = Place::new().verbose();
    let called = place.call(&["run", "cpu", "sim:", "--repeat", "2", "-d", "5s", "--json"]);
    let stored = fs::read_to_string(place.runs()[0].join("record.json")).unwrap();
    assert_eq!(called.stdout, stored);
}

#[test]
fn a_dry_run_of_a_group_lists_its_runs_and_starts_nothing() {
    let place = Place::new().verbose();
    let variants = ["--variant", "old=touch old", "--variant", "new=touch new"];
    let words = split("run cpu sim: --repeat 3 -d 60s --dry-run");
    let called = place.call(&[&words[..], &variants].concat());
    assert_eq!(called.code, Some(0), "{called:?}");
    insta::assert_snapshot!(called.stdout);
    let within = place.call(&[&words[..], &variants, &["--budget", "5m"]].concat());
    assert!(within.stdout.contains("in all 5 min, the budget"), "{within:?}");
    assert!(!place.path().join("old").exists(), "no command is run");
    assert!(place.runs().is_empty());
    let short = place.call(&[&words[..], &["--budget", "30s"]].concat());
    assert_eq!(short.code, Some(2), "{short:?}");
    assert!(short.stderr.contains("not one trial of"), "{short:?}");
}

#[test]
fn a_budget_ends_a_group_with_the_runs_that_fit() {
    let place = Place::new().verbose();
    let words = ["run", "cpu", "sim:", "--repeat", "9", "-d", "10s", "-q"];
    let called = place.call(&[&words[..], &["--budget", "40s"]].concat());
    assert_eq!(called.code, Some(3), "{called:?}");
    let group = group(&place.runs()[0]);
    assert_eq!(group.outcome, Some(GroupOutcome::BudgetSpent));
    assert!((2..=3).contains(&group.trials.len()), "{called:?}");
    assert!(called.stdout.contains("larger --budget"), "{called:?}");
}

const SHORT: &str = "--batch 100 -c 2 --rate 5k -d 500ms --warm-up 200ms --settle 10ms";

#[test]
fn a_stopped_group_continues_with_the_command_that_it_prints() {
    let place = Place::new().verbose();
    let words = ["run", "cpu", "sqlite:", "--repeat", "2"];
    let variants = ["--variant", "one=echo 1 >> order", "--variant", "two=echo 2 >> order"];
    let short = split(SHORT);
    let mut running = place.start(&[&words[..], &variants, &short].concat());
    running.wait_for("run 3: ");
    running.signal(Signal::INT);
    let stopped_call = running.end();
    assert_eq!(stopped_call.code, Some(130), "{stopped_call:?}");
    let stopped = place.runs().pop().unwrap();
    let shown = place.call(&["show"]);
    assert_eq!((shown.code, &shown.stdout), (Some(130), &stopped_call.stdout));
    assert_eq!(group(&stopped).outcome, Some(GroupOutcome::Interrupted));

    let command = stopped_call.proposed();
    let other = place.shell(&format!("{command} --seed 7"));
    assert_eq!((other.code, place.runs().len()), (Some(2), 1), "{other:?}");
    let differs = "--seed was not given, and is 7";
    assert!(other.stderr.contains(differs), "{other:?}");
    let edited = place.shell(&command.replace("echo 1", "echo 3"));
    assert!(edited.stderr.contains("--variant was one=echo 1 >> order"), "{edited:?}");

    let called = place.shell(command);
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    assert!(called.stderr.contains("2 runs are resumed"), "{called:?}");
    let ended = place.runs().into_iter().find(|run| *run != stopped);
    let ended = ended.unwrap();
    let whole = group(&ended);
    assert_eq!(whole.outcome, Some(GroupOutcome::Complete));
    let order: Vec<(usize, u32)> = whole.trials.iter().map(|t| (t.variant, t.round)).collect();
    assert_eq!(order, [(0, 1), (1, 1), (1, 2), (0, 2)]);
    let here = whole.trials.iter().map(|trial| trial.run.starts_with("probes/"));
    assert_eq!(here.collect::<Vec<_>>(), [false, false, true, true]);
    for trial in &whole.trials {
        assert!(record::read(&ended.join(&trial.run)).is_ok(), "{trial:?}");
    }
    let order = fs::read_to_string(place.path().join("order")).unwrap();
    assert_eq!(order, "1\n2\n2\n2\n1\n", "the run that was stopped is made again");

    // A larger number of runs resumes a group that was complete.
    let resume = ["--repeat", "3", "--resume", ended.to_str().unwrap(), "-q"];
    let words = [&words[..3], &variants, &short, &resume].concat();
    let more = place.call(&words);
    assert!(matches!(more.code, Some(0 | 3)), "{more:?}");
    let longest = place.runs().into_iter().map(|run| group(&run).trials.len());
    assert_eq!(longest.max(), Some(6));
}

#[test]
fn a_command_that_fails_ends_a_group_whose_runs_can_be_resumed() {
    let place = Place::new().verbose();
    let words = ["run", "cpu", "sim:", "-d", "5s", "-q", "--repeat", "2"];
    let variants = ["--variant", "a=test ! -e broken", "--variant", "b=touch broken"];
    let words = [&words[..], &variants].concat();
    let failed = place.call(&words);
    assert_eq!(failed.code, Some(2), "{failed:?}");
    let stopped = place.runs().pop().unwrap();
    let before = group(&stopped);
    assert_eq!((before.trials.len(), before.outcome), (3, None));
    let kept = fs::read_dir(stopped.join("probes")).unwrap().count();
    assert_eq!(kept, 3, "what was not begun leaves nothing");
    fs::remove_file(place.path().join("broken")).unwrap();
    let resume = ["--resume", stopped.to_str().unwrap()];
    let called = place.call(&[&words[..], &resume].concat());
    assert_eq!(called.code, Some(0), "{called:?}");
}

#[test]
fn ctrl_c_while_a_variant_is_configured_stops_a_group_that_can_be_resumed() {
    let place = Place::new().verbose();
    let words = ["run", "cpu", "sim:", "-d", "5s", "--repeat", "2"];
    // As when the terminal signals all processes, and the shell fails; once, before the second run of this variant.
    let stops = "test ! -e made || { rm made; kill -INT $PPID; exit 1; }; touch made";
    let (first, second) = ("one=true".to_owned(), format!("two={stops}"));
    let stopped_call =
        place.call(&[&words[..], &["--variant", &first, "--variant", &second]].concat());
    assert_eq!(stopped_call.code, Some(130), "{stopped_call:?}");
    assert!(!stopped_call.stderr.contains("the command ended with"), "{stopped_call:?}");
    let stopped = place.runs().pop().unwrap();
    let before = group(&stopped);
    assert_eq!((before.trials.len(), before.outcome), (2, Some(GroupOutcome::Interrupted)));
    let kept = fs::read_dir(stopped.join("probes")).unwrap().count();
    assert_eq!(kept, 2, "what was not begun leaves nothing");
    let called = place.shell(stopped_call.proposed());
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(called.stderr.contains("2 runs are resumed"), "{called:?}");
    let ended = place.runs().into_iter().find(|run| *run != stopped);
    assert_eq!(group(&ended.unwrap()).trials.len(), 4);

    // Before the first measurement, nothing is stored.
    let runs = place.runs();
    place.file("made", "");
    let called = place.call(&[&words[..], &["--variant", &second, "--variant", &first]].concat());
    assert_eq!(called.code, Some(130), "{called:?}");
    let said = "interrupted while the command of a variant ran";
    assert!(called.stderr.contains(said), "{called:?}");
    assert_eq!(place.runs(), runs);
}

/// The content of all files in a directory, as one text.
fn kept(directory: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &kept(&path);
        } else {
            text += &String::from_utf8_lossy(&fs::read(&path).unwrap());
        }
    }
    text
}

#[test]
fn a_password_in_the_command_of_a_variant_is_never_kept() {
    let place = Place::new().verbose();
    let words = ["run", "cpu", "sim:", "-d", "5s", "--repeat", "1"];
    let variants = [
        "--variant",
        "a=PASSWORD=geheim true",
        "--variant",
        "b=true --password geheim -pgeheim",
        "--events",
        "events.ndjson",
    ];
    let called = place.call(&[&words[..], &variants].concat());
    assert!(!called.stdout.contains("geheim") && !called.stderr.contains("geheim"));
    assert!(called.stdout.contains("PASSWORD=***"), "{called:?}");
    let kept = kept(place.path());
    assert!(kept.contains("PASSWORD=***") && !kept.contains("geheim"));
    let again = place.call(&[&words[..], &["--variant", "a=PASSWORD=*** sh"]].concat());
    assert_eq!(again.code, Some(2), "{again:?}");
}
