//! `highwater compare` of growths of simulated clusters with known capacity: the verdict per size, and the gate.

use crate::called::{Called, Place};

/// A cluster with `row_ms` milliseconds of work per row, for batches of 12 rows.
fn target(row_ms: u32) -> String {
    format!(
        "sim:?nodes={{nodes}}&cores=1&queue=inf&request=0&row={row_ms}ms&shards=12&replicas=0&service=constant"
    )
}

/// Measures the growth of a cluster into a store with this name.
#[track_caller]
pub(crate) fn grow(place: &Place, out: &str, row_ms: u32, more: &str) {
    let load = "--each run --batch 12 -c 16n --warm-up 2s --settle 1s -q";
    let target = target(row_ms);
    let called = place.typed(&format!("scale cpu {target} -o {out} {load} {more}"));
    assert!(place.path().join(out).exists(), "{called:?}");
}

#[track_caller]
fn expect(called: &Called, code: i32, all: &[&str]) {
    assert_eq!(called.code, Some(code), "{called:?}");
    for said in all {
        assert!(called.stdout.contains(said), "{said}: {}", called.stdout);
    }
}

/// Two growths of one cluster, and one of a cluster in which each row takes 5 ms instead of 7, which is 40% more.
#[test]
fn growths_are_compared_size_by_size_in_every_format_and_gated() {
    let place = Place::new();
    grow(&place, "a", 7, "--nodes 1..3 -d 20s");
    grow(&place, "same", 7, "--nodes 1,2 -d 20s");
    grow(&place, "faster", 5, "--nodes 1,2,4 -d 20s");
    size_by_size(&place);
    in_every_format(&place);
    the_gate_is_about_sizes_that_are_worse(&place);
}

fn size_by_size(place: &Place) {
    let same = place.call(&["compare", "a", "same"]);
    let first = "B makes no more or less than the noise explains at 1 and 2 nodes";
    expect(&same, 0, &[first, "only in A      3 nodes: "]);
    assert!(same.stdout.starts_with(first), "{}", same.stdout);

    let faster = place.call(&["compare", "a", "faster"]);
    let only = ["only in A      3 nodes: ", "only in B      4 nodes: "];
    expect(&faster, 0, &only);
    let first = faster.stdout.lines().next().unwrap();
    let middle = first.strip_prefix("B makes ");
    let middle = middle.and_then(|rest| rest.strip_suffix(" more than A at 1 and 2 nodes"));
    let numbers = middle.unwrap_or_else(|| panic!("{first}"));
    let numbers = numbers.split(" to ").map(|number| number.trim_end_matches('%'));
    for number in numbers {
        let percent: f64 = number.parse().unwrap();
        assert!((percent - 40.0).abs() < 4.0, "{first}");
    }
}

fn the_gate_is_about_sizes_that_are_worse(place: &Place) {
    let better = ["compare", "a", "faster", "--fail-if-worse", "5%"];
    expect(&place.call(&better), 0, &["better"]);
    let slower = place.call(&["compare", "faster", "a", "--fail-if-worse", "5%"]);
    expect(&slower, 1, &[" less than A at 1 and 2 nodes", "worse"]);
    // Nothing was shown to be worse, or to be equal.
    let gate = ["compare", "a", "same", "--fail-if-worse", "5%"];
    expect(&place.call(&gate), 3, &["not distinguished"]);
    let allowed = [&gate[..], &["--allow-unknown"]].concat();
    expect(&place.call(&allowed), 0, &[]);
    // Unless the threshold is larger than the differences between measurements.
    let wide = ["compare", "a", "same", "--fail-if-worse", "30%"];
    let equal = "B makes as much as A at 1 and 2 nodes";
    expect(&place.call(&wide), 0, &[equal]);
}

fn in_every_format(place: &Place) {
    let markdown = place.call(&["compare", "a", "faster", "--format", "markdown"]);
    let table = "| nodes | A rows/s |";
    expect(&markdown, 0, &["## B makes ", table, "- only in B: 4 nodes"]);
    let page = place.call(&["compare", "a", "faster", "--format", "html"]);
    let chart = "Throughput against nodes";
    expect(&page, 0, &["<h2>Sizes</h2>", chart, "<dt>differs</dt>"]);
    let all = place.call(&["compare", "a", "same", "faster", "-v"]);
    let said = ["\nB makes no more or less", "differs        target: "];
    expect(&all, 0, &said);
    // Once in the summary, and once in the details of each.
    assert_eq!(all.stdout.matches("\nbasis ").count(), 3, "{all:?}");
    let primary = place.call(&["compare", "a", "same", "--primary", "p99"]);
    assert_eq!(primary.code, Some(2), "{primary:?}");
    primary.reports("the figure of each size");
}

#[test]
fn growths_that_answer_different_questions_get_no_verdict() {
    let place = Place::new().verbose();
    grow(&place, "a", 7, "--nodes 1,2 -d 20s");
    grow(&place, "bound", 7, "--nodes 1,2 -d 20s --p99 1h");
    let called = place.call(&["compare", "a", "bound", "--fail-if-worse", "5%"]);
    let no_verdict = "no verdict: A and B answer different questions";
    expect(&called, 3, &[no_verdict, "OTHER QUESTION: objective: – against p99 ≤ "]);

    grow(&place, "longer", 7, "--nodes 1,2 -d 30s");
    let called = place.call(&["compare", "a", "longer"]);
    let length = format!("{no_verdict}: length 20 s against 30 s");
    expect(&called, 0, &[&length, "OTHER QUESTION: length: 20 s against 30 s"]);
}
