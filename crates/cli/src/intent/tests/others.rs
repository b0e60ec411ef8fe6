//! `show`, `check`, and commands that print no settings.

use super::*;
use crate::commands::check::{CheckIntent, CheckSubject};
use crate::commands::compare::{self, CompareIntent};
use crate::commands::run::RepeatIntent;
use crate::commands::show::{Format, ShowIntent};
use crate::exit::render;

#[test]
fn show_takes_runs_and_a_format() {
    let show = |words| {
        let (_, layers) = layers(&Sources { words, ..Sources::default() })?;
        ShowIntent::resolve(&layers)
    };
    let settings = show("show|a|b/record.json|--format|csv|-o|runs").unwrap();
    assert_eq!(settings.runs, ["a", "b/record.json"]);
    assert_eq!(settings.format, Format::Csv);
    assert_eq!(settings.out, Path::new("runs"));
    assert_eq!(show("show").unwrap().format, Format::Text);
    assert_snapshot!(render(&show("show|--format|pdf").unwrap_err()), @"
    error: --format: `pdf` is not a format

    hint: there are `text`, `json`, `csv`, `telemetry-csv`, `html`, `markdown` and `junit`
    ");
}

#[test]
fn check_takes_targets_or_a_workload_file() {
    let check = |words, environment| {
        let (_, layers) = layers(&Sources { words, environment, file: "" })?;
        CheckIntent::resolve(&layers).map(|settings| settings.subject)
    };
    assert_eq!(
        check("check|my.toml|a.csv", &[]).unwrap(),
        CheckSubject::Files { names: vec!["my.toml".to_owned(), "a.csv".to_owned()], model: None }
    );
    for (words, expected) in
        [("check|db://h1|db://h2", vec!["db://h1", "db://h2"]), ("check", vec!["db://h"])]
    {
        let subject = check(words, &[("HIGHWATER_TARGET", "db://h")]).unwrap();
        let CheckSubject::Target { urls, .. } = subject else {
            panic!("{words} names targets");
        };
        let urls: Vec<String> = urls.iter().map(ToString::to_string).collect();
        assert_eq!(urls, expected);
    }
    assert_snapshot!(render(&check("check|my.toml|db://h", &[]).unwrap_err()), @"
    error: TARGET: `my.toml` is not a URL

    hint: a target's URL begins with one of `db:`, `file:`
    ");
}

#[test]
fn a_comparison_has_a_difference_that_matters_and_perhaps_a_gate() {
    let compare = |words| {
        let (_, layers) = layers(&Sources { words, ..Sources::default() })?;
        CompareIntent::resolve(&layers)
    };
    for (words, threshold, gate) in [
        ("compare|a|b", 0.05, false),
        ("compare|a|b|--threshold|2%", 0.02, false),
        ("compare|a|b|--fail-if-worse|10%", 0.1, true),
        // The gate has its own threshold.
        ("compare|a|b|--threshold|2%|--fail-if-worse|10%", 0.1, true),
    ] {
        let settings = compare(words).unwrap();
        assert!((settings.threshold - threshold).abs() < 1e-9, "{words}");
        assert_eq!(settings.gate, gate, "{words}");
        assert_eq!(settings.groups, ["a", "b"]);
        assert_eq!(settings.format, compare::Format::Text);
    }
    let chosen = compare("compare|a|b|--primary|insert p99|--allow-unknown").unwrap();
    assert_eq!(chosen.primary.as_deref(), Some("insert p99"));
    assert!(chosen.allow_unknown);
    assert!(compare("compare").is_err());
    assert!(compare("compare|a|b|--threshold|0%").is_err());
}

#[test]
fn variants_run_in_the_given_order() {
    let repeat = |words: &str| {
        let (_, layers) = layers(&Sources {
            words: format!("run|cpu|db://h|{words}").trim_end_matches('|'),
            ..Sources::default()
        })?;
        RepeatIntent::resolve(&layers)
    };
    let made = |words: &str| -> Vec<(String, String, Option<String>)> {
        let settings = repeat(words).unwrap();
        let made =
            settings.variants.into_iter().map(|v| (v.name, v.targets[0].to_string(), v.command));
        made.collect()
    };
    let named = |name: &str, target: &str, command: Option<&str>| {
        (name.to_owned(), target.to_owned(), command.map(str::to_owned))
    };
    assert_eq!(made("--repeat|3"), [named("a", "db://h", None)]);
    assert_eq!(
        made("--interleave|db://g"),
        [named("a", "db://h", None), named("b", "db://g", None)]
    );
    assert_eq!(
        made("--variant|wal=./on x|--variant|mem=./off"),
        [named("wal", "db://h", Some("./on x")), named("mem", "db://h", Some("./off"))]
    );
    assert!(repeat("").unwrap().is_plain());
    for words in
        ["--dry-run", "--resume|a", "--repeat|2", "--interleave|db://g", "--variant|x=./on"]
    {
        assert!(!repeat(words).unwrap().is_plain(), "{words}");
    }
    for (words, message) in [
        ("--variant|x=a|--variant|x=b", "given twice"),
        ("--variant|../x=a", "is not a name"),
        ("--variant|x=a|--interleave|db://g", "cannot be combined with --variant"),
        ("--settle|1s", "are of several runs"),
        ("--budget|1h", "are of several runs"),
        ("--repeat|2|--share|1/2|--start-at|+10s", "cannot be combined with several runs"),
    ] {
        let failure = render(&repeat(words).unwrap_err());
        assert!(failure.contains(message), "{words}: {failure}");
    }
}

#[test]
fn debug_output_of_settings_hides_passwords() {
    let settings = run("db://u:geheim@h/n");
    assert_eq!(settings.targets[0].password.as_ref().unwrap().reveal(), "geheim");
    assert!(!format!("{settings:?}").contains("geheim"));
}
