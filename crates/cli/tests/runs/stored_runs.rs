//! `serve`: stored and running runs are listed, opened, compared, and removed.

use rustix::process::Signal;

use crate::called::{Place, split};
use crate::comparing_growths::grow;
use crate::pages::{events_of, expect, fetched, listed, serving, shown, stop};

/// Three stored runs: one that was killed, and two with a label each.
pub(crate) fn with_runs() -> (Place, [String; 3]) {
    let place = Place::new();
    for label in ["version=<i>1", "version=2"] {
        let called = place.call(&["run", "sim:", "-d", "20s", "--label", label, "-q"]);
        assert_eq!(called.code, Some(0), "{called:?}");
    }
    let killed = "highwater-runs/2020-01-01T00-00-00-killed";
    std::fs::create_dir(place.path().join(killed)).unwrap();
    place.file(&format!("{killed}/plan.json"), "{}");
    let ids: Vec<String> = place
        .runs()
        .iter()
        .map(|run| run.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    (place, ids.try_into().unwrap())
}

#[test]
fn stored_runs_are_listed_opened_and_compared() {
    let (place, [killed, first, second]) = with_runs();
    let (killed, first, second) = (killed.as_str(), first.as_str(), second.as_str());
    let (running, page) = serving(&place, "");
    let listed = fetched(page, "GET /", "");
    expect(&listed, 200, &[first, second, killed]);
    expect(&listed, 200, &["no record yet", "version=&lt;i&gt;1", "rows/s"]);
    let filtered = fetched(page, "GET /?label=version%3D2", "");
    // The IDs of two runs in the same second differ by a numeric suffix.
    let lists = |run: &str| filtered.contains(&format!("\"/run/{run}\""));
    assert!(lists(second) && !lists(first), "{filtered}");
    let opened = fetched(page, &format!("GET /run/{first}"), "");
    expect(&opened, 200, &["<svg"]);
    let compared = fetched(page, &format!("GET /compare?run={second}&run={first}"), "");
    expect(&compared, 200, &["Is B, "]);
    for nothing in ["run/..%2F..%2Fetc", "run/nosuch", "delete/nosuch"] {
        expect(&fetched(page, &format!("GET /{nothing}"), ""), 404, &[]);
    }
    // An impossible action is reported in the frame of the other pages, with a link back.
    let alone = fetched(page, &format!("GET /compare?run={first}"), "");
    expect(&alone, 400, &["To compare, choose from 2 to 100 runs in the list.", "id=\"runs\""]);
    let refused = fetched(page, "POST /delete", &format!("id={first}"));
    let back = ["<a href=\"/\">All runs</a>", "/live.css"];
    expect(&refused, 403, &back);
    expect(&fetched(page, "GET /run/nosuch", ""), 404, &back);
    expect(&fetched(page, "GET /nosuch/page", ""), 404, &back);
    expect(&compared, 200, &["<a href=\"/\">All runs</a>"]);
    // Runs are distinguished by their loads, and an ID has the time in the list.
    let time = first[..19].replace('T', " ");
    let (day, time) = time.split_at(10);
    expect(
        &listed,
        200,
        &["16 sessions, batch 1,000", &format!("{day}{}", time.replace('-', ":"))],
    );
    stop(running);
}

/// The name of the only run's directory, as soon as it exists.
fn only_id(place: &Place) -> String {
    let runs = place.runs();
    let [run] = &runs[..] else {
        panic!("{runs:?}");
    };
    run.file_name().unwrap().to_string_lossy().into_owned()
}

/// The text of a record of a run whose process has ended.
const KILLED: &str = "the program ended without writing its record";

#[test]
fn a_running_run_is_opened_by_serve_and_its_address_has_the_result_at_the_end() {
    let place = Place::new();
    let mut run = place.start(&split("run -R 20k -d 60s"));
    run.wait_for("  measure");
    let (server, page) = serving(&place, "");
    let id = only_id(&place);
    let address = format!("/run/{id}");
    let list = listed(page, "running: measure");
    assert!(list.contains(&format!("href=\"{address}\"")), "{list}");
    // State that only the run itself has is shown, too.
    for of_run in ["Running: measure", "open now", "<h2>Machines</h2>"] {
        shown(page, &address, of_run);
    }
    let opened = shown(page, &address, "CPU");
    expect(&opened, 200, &["· cpu", "id=\"parts\"", "/live.js"]);
    assert!(!opened.contains(KILLED), "{opened}");
    assert!(!opened.contains("id=\"stop\""), "it is not its command");
    expect(&fetched(page, "GET /live.js", ""), 200, &["EventSource"]);

    // The page has an event stream; its last event reloads the page.
    let live = format!("{address}/live");
    let mut events = events_of(page, &live);
    let mut wait_for = |said: &str| {
        let found = events.find(|line| line.contains(said));
        found.unwrap_or_else(|| panic!("`{said}` never came"))
    };
    wait_for("event: parts");
    wait_for("so far");
    run.signal(Signal::INT);
    wait_for("event: ended");
    assert_eq!(run.end().code, Some(130));
    let result = fetched(page, &format!("GET {address}"), "");
    expect(&result, 200, &["<svg", "you stopped the run"]);
    assert!(!result.contains(KILLED) && !result.contains("/live.js"));
    assert!(!listed(page, &address).contains("running: "));
    stop(server);
}

#[test]
fn a_killed_run_is_opened_as_such() {
    let place = Place::new();
    let mut run = place.start(&split("run -R 20k -d 60s"));
    run.wait_for("  measure");
    run.kill();
    let (server, page) = serving(&place, "");
    let address = format!("/run/{}", only_id(&place));
    let list = fetched(page, "GET /", "");
    let link = format!("href=\"{address}\"");
    expect(&list, 200, &["ended without a record", "run cpu", &link]);
    let opened = fetched(page, &format!("GET {address}"), "");
    expect(&opened, 200, &[KILLED]);
    stop(server);
}

#[test]
fn a_running_search_is_opened_with_its_trials() {
    let place = Place::new();
    let probes = "--start 20k --max 20k --probe 3s --confirm 3s --warm-up 0s --settle 0s";
    let words = format!("find cpu sim:?clock=real --p50 5s --budget 2m {probes}");
    let mut search = place.start(&split(&words));
    search.wait_for("probe 2: ");
    let (server, page) = serving(&place, "");
    let address = format!("/run/{}", only_id(&place));
    // No user stopped it, and there is nothing to resume.
    let so_far = place.call(&["show"]);
    assert!(so_far.stdout.contains("RUNNING"), "{so_far:?}");
    for wrong in ["--resume", "interrupted", "INCONCLUSIVE"] {
        assert!(!so_far.stdout.contains(wrong), "{wrong}: {so_far:?}");
    }
    let list = listed(page, "running trial ");
    assert!(!list.contains("inconclusive") && !list.contains("not decided"), "{list}");
    // The second probe is running, and the first one is already in the table.
    let opened = shown(page, &address, "id=\"probes\"");
    expect(&opened, 200, &["<h2>Probes</h2>", "/live.js"]);
    search.signal(Signal::INT);
    search.end();
    let result = fetched(page, &format!("GET {address}"), "");
    expect(&result, 200, &["<h2>Probes</h2>"]);
    assert!(!result.contains("/live.js"), "{result}");
    let ended = place.call(&["show"]);
    assert!(!ended.stdout.contains("RUNNING") && ended.stdout.contains("--resume"), "{ended:?}");
    stop(server);
}

#[test]
fn stored_growths_are_compared_size_by_size() {
    let place = Place::new();
    for row_ms in [7, 5] {
        grow(&place, "highwater-runs", row_ms, "--nodes 1,2 -d 20s");
    }
    let ids = place
        .runs()
        .into_iter()
        .map(|run| format!("run={}", run.file_name().unwrap().to_string_lossy()));
    let ids: Vec<String> = ids.collect();
    let (running, page) = serving(&place, "");
    let compared = fetched(page, &format!("GET /compare?{}", ids.join("&")), "");
    // 12 rows of 5 ms instead of 7 ms are 40% more.
    let more = ["B makes 4", "more than A at 1 and 2\u{a0}nodes"];
    expect(&compared, 200, &["<h2>Sizes</h2>", more[0], more[1]]);
    stop(running);
}

#[test]
fn a_stored_run_is_removed_when_that_is_allowed_and_confirmed() {
    let (place, [killed, first, _]) = with_runs();
    let (running, page) = serving(&place, "--allow-delete");
    let confirm = fetched(page, &format!("GET /delete/{first}"), "");
    expect(&confirm, 200, &["cannot be brought back"]);
    assert_eq!(place.runs().len(), 3, "nothing is removed before it is confirmed");
    let outside = fetched(page, "POST /delete", "id=..");
    expect(&outside, 409, &[]);
    let going_on = fetched(page, "POST /delete", &format!("id={killed}"));
    expect(&going_on, 409, &[]);
    let removed = fetched(page, "POST /delete", &format!("id={first}"));
    expect(&removed, 303, &[]);
    assert_eq!(place.runs().len(), 2);
    stop(running);
}
