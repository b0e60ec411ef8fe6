//! Groups of runs through the program: how they are made, what is said of them, and the gate.

use std::fs;
use std::path::PathBuf;

use crate::called::Place;

/// Closed load on simulated clusters of three nodes and of one, in turn.
fn two_clusters(place: &Place) -> [String; 2] {
    let called = place.call(&[
        "run",
        "cpu",
        "sim:?replicas=0",
        "--interleave",
        "sim:?nodes=1&replicas=0",
        "--repeat",
        "3",
        "-d",
        "20s",
        "-q",
    ]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(
        called.stdout.contains("worse: insert throughput"),
        "{}",
        called.stdout
    );
    let group = &place.runs()[0];
    let runs = |variant: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(group.join(variant)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    for variant in ["a", "b"] {
        assert_eq!(runs(variant).len(), 3);
        for run in runs(variant) {
            assert!(run.join("report.html").exists());
        }
    }
    ["a", "b"].map(|variant| group.join(variant).display().to_string())
}

#[test]
fn a_slower_target_is_worse_and_the_gate_says_so() {
    let place = Place::new();
    let [a, b] = two_clusters(&place);
    let compared = place.call(&["compare", &a, &b, "--fail-if-worse", "5%"]);
    assert_eq!(compared.code, Some(1), "{compared:?}");
    assert!(
        compared.stdout.contains("\nverdict        WORSE"),
        "{}",
        compared.stdout
    );
    assert!(
        compared.stdout.contains("setting nodes: 3 against 1"),
        "{}",
        compared.stdout
    );
    let back = place.call(&["compare", &b, &a, "--fail-if-worse", "5%"]);
    assert_eq!(back.code, Some(0), "{back:?}");
    let without = place.call(&["compare", &a, &b, "--format", "markdown"]);
    assert_eq!(without.code, Some(0));
    assert!(without.stdout.starts_with("## WORSE"), "{}", without.stdout);
    let page = place.call(&["compare", &a, &b, "--format", "html"]);
    assert!(page.stdout.contains("id=\"overlaid-rows\""));
}

#[test]
fn one_run_against_one_passes_no_gate_and_other_questions_neither() {
    let place = Place::new();
    for out in ["one", "two"] {
        place.call(&["run", "cpu", "sim:", "-d", "20s", "-q", "-o", out]);
    }
    let called = place.call(&["compare", "one", "two", "--fail-if-worse", "5%"]);
    assert_eq!(called.code, Some(3), "{called:?}");
    assert!(called.stdout.contains("cannot tell") && called.stdout.contains("--repeat "));
    place.call(&[
        "run", "cpu", "sim:", "-d", "20s", "-q", "-o", "other", "--batch", "100",
    ]);
    let called = place.call(&["compare", "one", "other", "--fail-if-worse", "5%"]);
    assert_eq!(called.code, Some(3), "{called:?}");
    assert!(
        called.stdout.contains("OTHER QUESTION: plan"),
        "{}",
        called.stdout
    );
}

#[test]
fn a_variant_is_brought_about_by_a_command_of_the_user() {
    let place = Place::new();
    let run = |second: &str| {
        place.call(&[
            "run",
            "cpu",
            "sim:",
            "-d",
            "5s",
            "-q",
            "--repeat",
            "2",
            "--variant",
            "one=echo one >> order",
            "--variant",
            second,
        ])
    };
    let called = run("two=echo two >> order");
    assert_eq!(called.code, Some(0), "{called:?}");
    let order = fs::read_to_string(place.path().join("order")).unwrap();
    assert_eq!(order, "one\ntwo\ntwo\none\n");
    let failed = run("two=exit 7");
    assert_eq!(failed.code, Some(2), "{failed:?}");
    assert!(failed.stderr.contains("--variant two") && failed.stderr.contains("exit status: 7"));
}

#[test]
fn mistakes_of_a_comparison_have_a_cause_and_a_hint() {
    let place = Place::new();
    let said = |words: &[&str]| {
        let called = place.call(words);
        assert_eq!(called.code, Some(2), "{called:?}");
        called.stderr
    };
    insta::assert_snapshot!(said(&["compare", "one"]), @"
    error: compare needs at least two runs, or groups of runs

    hint: name them, the one that the others are compared with first
    ");
    insta::assert_snapshot!(said(&["compare", "one", "two", "--fail-if-worse", "0%"]), @"
    error: a difference that matters is above 0 %

    hint: such as 5%
    ");
    insta::assert_snapshot!(said(&["run", "--repeat", "2", "--json"]), @"
    error: --json and --share belong to one run, not to several

    hint: each run leaves its record.json in the group's directory
    ");
}

/// What the system starts for a page is on the path, as anyone's is.
#[test]
fn the_page_of_a_run_is_shown_in_the_browser() {
    let place = Place::new();
    place.call(&["run", "cpu", "sim:", "-d", "5s", "-q"]);
    let page = place.runs()[0].join("report.html");
    fs::remove_file(&page).unwrap();
    let browser = "mkdir -p bin; printf '#!/bin/sh\\necho \"$1\" > shown.part; mv shown.part shown\\n' \
                   > bin/xdg-open; chmod +x bin/xdg-open; PATH=\"$PWD/bin:$PATH\"; export PATH";
    let called = place.after(browser, &["show", "--open"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(page.exists() && called.stdout.trim_end().ends_with("report.html"));
    let shown = place.path().join("shown");
    while !shown.exists() {
        std::thread::yield_now();
    }
    let shown = fs::read_to_string(shown).unwrap();
    assert!(shown.trim_end().ends_with("report.html"), "{shown}");
}
