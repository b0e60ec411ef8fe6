//! `--ui` of `load`, `tune`, and `scale`: each opens a page about the command.

use crate::called::{Place, split};
use crate::pages::{fetched, served};

/// A cluster with a low rate per node, because the number of rows determines the test's time.
const TARGET: &str = "sim:?nodes={nodes}&cores=1&queue=inf&request=0&row=7ms&shards=12&replicas=0";

/// Watches the page of a command until it ends; each of these texts must appear once.
#[track_caller]
fn check(line: &str, expected: &[&str]) {
    let place = Place::new();
    let mut running = place.start(&split(&format!("{line} --ui=0")));
    let page = served(&mut running, "page");
    let mut missing: Vec<&str> = expected.to_vec();
    let mut last = String::new();
    // Until nothing listens any more.
    loop {
        let shown = fetched(page, "GET /", "");
        if shown.is_empty() {
            break;
        }
        missing.retain(|said| !shown.contains(said));
        last = shown;
    }
    let ended = running.end();
    assert!(ended.code.is_some_and(|code| code < 4), "{ended:?}");
    assert!(missing.is_empty(), "never {missing:?}, at last: {last}");
    assert!(!last.contains("id=\"stop\""), "nobody said that it may");
}

#[test]
fn a_load_is_shown_until_its_rows_are_stored() {
    // Enough rows that the load and the audit last many fetches; the report, which comes last, stays.
    let all = ["data-stream=\"insert\"", "of 2,000,000 rows", "All 2,000,000 acknowledged rows"];
    check("load cpu sim: --rows 2M", &all);
}

#[test]
fn a_tuning_is_seen_with_its_configurations() {
    let one = TARGET.replace("{nodes}", "1");
    check(
        &format!("tune cpu {one} --over batch=1,12 -c 16 --probe 5s --warm-up 1s --settle 1s"),
        &["<h2>Trials</h2>", "<h2>Configurations</h2>"],
    );
}

#[test]
fn a_growth_is_seen_with_its_sizes() {
    check(
        &format!(
            "scale cpu {TARGET} --nodes 1,2 --each run --batch 12 -c 16n -d 10s --warm-up 1s --settle 1s"
        ),
        &["<h2>Trials</h2>", "<h2>Growth</h2>"],
    );
}
