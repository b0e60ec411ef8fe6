//! Groups of runs through the program: their creation, comparison, and the gate.

use std::fs;
use std::path::Path;

use highwater_model::record::RunRecord;

use crate::called::{Place, experiment, split};

/// Closed load on simulated clusters of three nodes and of one, in turn.
fn two_clusters(place: &Place) -> [String; 2] {
    let called = place
        .typed("run cpu sim:?replicas=0 --interleave sim:?nodes=1&replicas=0 --batch 100 --repeat 3 -d 20s -q");
    assert_eq!(called.code, Some(0), "{called:?}");
    called.prints("worse: insert throughput");
    let group = &place.runs()[0];
    for (variant, nodes) in [("a", "3"), ("b", "1")] {
        let records = records(group, variant);
        assert_eq!(records.len(), 3);
        let mut throughputs: Vec<f64> = Vec::new();
        for record in records {
            assert_eq!(record.target.settings["nodes"], nodes, "{variant}");
            throughputs.push(record.streams[0].throughput.rows_per_s);
        }
        throughputs.sort_by(f64::total_cmp);
        throughputs.dedup();
        assert_eq!(throughputs.len(), 3, "each run has chances of its own");
    }
    ["a", "b"].map(|variant| group.join(variant).display().to_string())
}

/// The records of a variant in the order of their runs; each has a page next to it.
fn records(group: &Path, variant: &str) -> Vec<RunRecord> {
    let of_group = experiment(group);
    let of_group = of_group.group().unwrap();
    let mut variants = of_group.variants.iter();
    let at = variants.position(|of| of.name == variant).unwrap();
    let runs = of_group.complete(at).map(|trial| {
        let run = group.join(&trial.run);
        assert!(run.join("report.html").exists());
        let text = fs::read_to_string(run.join("record.json")).unwrap();
        highwater_model::json::parse(&text).unwrap().into_run().unwrap()
    });
    runs.collect()
}

#[test]
fn a_slower_target_is_worse_and_fails_the_gate() {
    let place = Place::new().verbose();
    let [a, b] = two_clusters(&place);
    let compared = place.call(&["compare", &a, &b, "--fail-if-worse", "5%"]);
    assert_eq!(compared.code, Some(1), "{compared:?}");
    compared.prints("\nWORSE · worse: ");
    compared.prints("setting nodes: 3 against 1");
    let back = place.call(&["compare", &b, &a, "--fail-if-worse", "5%"]);
    assert_eq!(back.code, Some(0), "{back:?}");
    // One worse group is enough, at any position.
    for groups in [[&a, &b, &a], [&a, &a, &b]] {
        let words = groups.map(String::as_str);
        let words = [&["compare"][..], &words, &["--fail-if-worse", "5%"]].concat();
        assert_eq!(place.call(&words).code, Some(1), "{words:?}");
    }
    // The loss with one node is far less than 99% of the rate, but latencies grow without a bound, so only those can
    // still be worse.
    let loose = place.call(&["compare", &a, &b, "--fail-if-worse", "99%"]);
    loose.prints("differences below 99% count as equal");
    let throughput = loose.stdout.lines().find(|l| l.starts_with("insert     throughput"));
    assert!(!throughput.unwrap().contains("worse"), "{}", loose.stdout);
    let without = place.call(&["compare", &a, &b, "--format", "markdown"]);
    assert_eq!(without.code, Some(0));
    assert!(without.stdout.starts_with("## WORSE"), "{}", without.stdout);
    let page = place.call(&["compare", &a, &b, "--format", "html"]);
    assert!(page.stdout.contains("id=\"overlaid-rows\""));
}

/// At a rate that both can sustain, so that throughput does not differ.
#[test]
fn a_target_that_fails_more_often_is_worse_at_the_same_rate() {
    let place = Place::new().verbose();
    let targets = ["run", "cpu", "sim:", "--interleave", "sim:?fail=0.01"];
    let rest = ["--rate", "2k", "--batch", "100", "--repeat", "6", "-d", "60s", "-q"];
    let called = place.call(&[&targets[..], &rest].concat());
    called.prints("worse: insert failed");
    let group = &place.runs()[0];
    let [a, b] = ["a", "b"].map(|variant| group.join(variant).display().to_string());
    let gated = |a: &str, b: &str| place.call(&["compare", a, b, "--fail-if-worse", "50%"]);
    assert_eq!(gated(&a, &b).code, Some(1));
    let back = gated(&b, &a);
    assert_eq!(back.code, Some(0), "{back:?}");
    assert!(back.stdout.contains("better: insert failed"));
    // There are no failures, and every second has responses.
    let row = |name: &str| {
        // Below the answer, which also contains the figure.
        let mut rows = back.stdout.lines().skip_while(|line| !line.starts_with("of "));
        let line = rows.find(|line| line.contains(name));
        line.unwrap_or_else(|| panic!("{name}: {}", back.stdout))
    };
    assert!(row(" failed ").contains(" 0% "), "{}", row(" failed "));
    assert!(row("seconds without a response").contains("0%"));
}

#[test]
fn one_run_against_one_passes_no_gate_and_other_questions_neither() {
    let place = Place::new().verbose();
    for out in ["one", "two"] {
        place.call(&["run", "cpu", "sim:", "-d", "20s", "--batch", "50", "-q", "-o", out]);
    }
    let called = place.call(&["compare", "one", "two", "--fail-if-worse", "5%"]);
    assert_eq!(called.code, Some(3), "{called:?}");
    assert!(called.stdout.contains("inconclusive") && called.stdout.contains("--repeat "));
    let gate = ["compare", "one", "two", "--fail-if-worse", "5%"];
    let allowed = place.call(&[&gate[..], &["--allow-unknown"]].concat());
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    let named = place.call(&["compare", "one", "two", "--primary", "p42"]);
    assert_eq!(named.code, Some(2), "{named:?}");
    named.reports("use one of these: insert throughput, ");
    // Also for several runs, each with an interval.
    place.call(&["run", "cpu", "sim:", "-d", "20s", "--batch", "50", "-q", "-o", "one"]);
    for _ in 0..2 {
        place.typed("run cpu sim: -d 20s -q -o other --batch 20");
    }
    let called = place.call(&["compare", "one", "other", "--fail-if-worse", "5%"]);
    assert_eq!(called.code, Some(3), "{called:?}");
    called.prints("OTHER QUESTION: parameter batch: 50 against 20");
}

/// Other rows of the same kind, which is the purpose of repeats.
#[test]
fn runs_with_different_seeds_have_the_same_question() {
    let place = Place::new().verbose();
    for (out, seed) in [("a", "1"), ("b", "2"), ("a", "3"), ("b", "4")] {
        let run = ["run", "cpu", "sim:", "-d", "5s", "-q", "-o", out];
        let called = place.call(&[&run[..], &["--seed", seed]].concat());
        assert_eq!(called.code, Some(0), "{called:?}");
    }
    let compared = place.call(&["compare", "a", "b"]).stdout;
    assert!(!compared.contains("OTHER QUESTION"), "{compared}");
    assert!(compared.contains("seed: 1, 3 against 2, 4"), "{compared}");
}

#[test]
fn the_exit_code_of_several_runs_is_that_of_the_worst() {
    let place = Place::new().verbose();
    let words = ["run", "cpu", "sim:", "--rate", "20k", "-d", "5s", "-q"];
    let run = |more: &[&str]| place.call(&[&words[..], &["--repeat", "2"], more].concat());
    assert_eq!(run(&[]).code, Some(0));
    let missed = run(&["--p99", "1ms"]);
    assert_eq!(missed.code, Some(1), "{missed:?}");
}

/// A variant's name, and a command that logs it with the number of finished runs.
fn noting(variant: &str) -> String {
    format!(
        "{variant}=echo $(find highwater-runs -path '*/probes/*/record.json' | wc -l) {variant} >> order"
    )
}

#[test]
fn a_variant_is_brought_about_by_a_command_of_the_user() {
    let place = Place::new().verbose();
    let words = split("run cpu sim: -d 5s -q --repeat 2");
    let run = |second: &str| {
        let variants = ["--variant", &noting("one"), "--variant", second];
        place.call(&[&words[..], &variants].concat())
    };
    let called = run(&noting("two"));
    assert_eq!(called.code, Some(0), "{called:?}");
    let order = fs::read_to_string(place.path().join("order")).unwrap();
    assert_eq!(order, "0 one\n1 two\n2 two\n3 one\n");
    for variant in ["one", "two"] {
        let records = records(&place.runs()[0], variant);
        let labels: Vec<String> = records
            .iter()
            .map(|r| [&r.header.labels["variant"], &r.header.labels["repeat"]])
            .map(|[v, r]| format!("{v} {r}"))
            .collect();
        assert_eq!(labels, [format!("{variant} 1"), format!("{variant} 2")]);
    }
    let failed = run("two=exit 7");
    assert_eq!(failed.code, Some(2), "{failed:?}");
    assert!(failed.stderr.contains("--variant two") && failed.stderr.contains("exit status: 7"));
}

#[test]
fn mistakes_of_a_comparison_have_a_cause_and_a_hint() {
    let place = Place::new().verbose();
    let said = |words: &[&str]| {
        let called = place.call(words);
        assert_eq!(called.code, Some(2), "{called:?}");
        called.stderr
    };
    place.call(&["run", "cpu", "sim:", "-d", "1s", "-q", "-o", "one"]);
    insta::assert_snapshot!(said(&["compare", "one"]), @"
    error: compare needs at least two runs, or groups of runs

    hint: name them, the baseline first
    ");
    insta::assert_snapshot!(said(&["compare", "one", "two", "--fail-if-worse", "0%"]), @"
    error: the threshold is not above 0%

    hint: set it to, for example, 5%
    ");
    let share = ["--repeat", "2", "--share", "1/2", "--start-at", "+10s"];
    insta::assert_snapshot!(said(&[&["run"][..], &share].concat()), @"
    error: --share cannot be combined with several runs

    hint: start each load generator once for each run
    ");
    insta::assert_snapshot!(said(&["run", "--budget", "1h"]), @"
    error: --budget and --settle are of several runs

    hint: add --repeat, such as --repeat 5
    ");
}

/// The program that opens a page is found on the path, which the test controls.
#[test]
fn the_page_of_a_run_is_shown_in_the_browser() {
    let place = Place::new().verbose();
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
        crate::called::before_the_next_look();
    }
    let shown = fs::read_to_string(shown).unwrap();
    assert!(shown.trim_end().ends_with("report.html"), "{shown}");
}
