//! The live page of a real run in a real browser: its figures move, its controls work, and the record has the figures
//! that it showed.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::chromium::{self, Browser};
use crate::firefox::{self, Firefox};
use crate::page::Page;
use crate::pages::{self, Pages};
use crate::recorded;

const WIDE: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (390, 844);

/// Maximum pixels from the top to the figure, and minimum size of its letters.
const NEAR_TOP: f64 = 600.0;
const LARGE: f64 = 28.0;

/// Rows of the batches that may be counted in the second before theirs, or after it.
const EDGE_ROWS: f64 = 3_000.0;

/// The interim figure of a measured phase, its position, and its size.
const SO_FAR: &str = "(() => { const of = document.querySelector('#answer'); \
     const box = of.getBoundingClientRect(); return { text: of.textContent, \
     second: Number(document.querySelector('.status').dataset.second), top: box.top + scrollY, \
     bottom: box.bottom + scrollY, left: box.left, right: box.right, height: box.height, \
     size: parseFloat(getComputedStyle(of).fontSize) }; })()";

/// The interim figure is near the top, large, and whole; returns it and the second of the run.
fn large_so_far(browser: &mut impl Page, width: u32) -> [f64; 2] {
    browser.wait("document.querySelector('.status b').textContent === 'Running: measure'");
    let seen = browser.evaluate(SO_FAR);
    let number = |name: &str| seen[name].as_f64().unwrap();
    assert!(number("top") > 0.0 && number("bottom") <= NEAR_TOP, "{seen}");
    assert!(number("size") >= LARGE && number("height") >= LARGE, "{seen}");
    assert!(number("left") >= 0.0 && number("right") <= f64::from(width), "{seen}");
    let text = seen["text"].as_str().unwrap().replace(',', "");
    [text.parse().unwrap(), number("second")]
}

/// The interim rate at a second of the run is that of the record, from the start of its first measured phase.
fn is_recorded(record: &Value, [so_far, second]: [f64; 2]) {
    let phases = record["phases"].as_array().unwrap();
    let phase = phases.iter().find(|phase| phase["name"] == "measure");
    let from = (phase.unwrap()["start_ns"].as_f64().unwrap() / 1e9).round();
    let intervals = record["intervals"].as_array().unwrap().iter();
    let rows_until = |end: f64| -> f64 {
        intervals
            .clone()
            .filter(|of| (from..end).contains(&of["second"].as_f64().unwrap()))
            .map(|of| of["rows_acknowledged"].as_f64().unwrap())
            .sum()
    };
    // A second is shown when the next one is reported, and a batch that ends between two may be counted in either.
    let [before, until] = [second - 1.0, second].map(|end| (rows_until(end), end - from));
    let least = (before.0 - EDGE_ROWS) / until.1;
    let most = (until.0 / until.1).max(before.0 / before.1) + EDGE_ROWS / before.1;
    assert!(
        so_far > 0.99 * least && so_far < 1.01 * most,
        "{so_far} at {second} s: {} to {}",
        rows_until(second - 1.0),
        rows_until(second)
    );
}

/// The page of the result has come to the address of the live page.
pub(crate) const REPORT: &str =
    "!document.querySelector('#parts') && !!document.documentElement?.dataset.ready";

/// Whether the page shows this text anywhere.
fn shows(browser: &mut impl Page, text: &str) {
    browser.wait(&format!("document.body.textContent.includes({})", json!(text)));
}

#[test]
fn a_run_is_watched_changed_and_stopped_in_a_browser() {
    if let Some(program) = chromium::program() {
        watched_changed_and_stopped(|size, dark| Browser::start(&program, size, dark));
    }
}

#[test]
#[ignore = "long: Firefox"]
fn long_a_run_is_watched_changed_and_stopped_in_firefox() {
    if let Some(program) = firefox::program() {
        watched_changed_and_stopped(|size, dark| Firefox::start(&program, size, dark));
    }
}

fn watched_changed_and_stopped<P: Page>(start: impl Fn((u32, u32), bool) -> P) {
    let pages = Pages::new();
    let words: Vec<&str> = "run -R 20k -d 5m --p99 5s --ui=0 --ui-control".split(' ').collect();
    let (mut run, url) = pages.watched(&[&words[..], &["--label", "x=<b id=stolen>"]].concat());
    let mut browser = start(WIDE, false);
    browser.visit(&url);
    browser.wait("document.querySelector('.lead')?.textContent === 'so far' && document.querySelectorAll('svg.wide path.line').length > 1");
    recorded::charts_move(&mut browser);

    // Interim judgments appear within five seconds of measurement; the host's telemetry appears at once.
    shows(&mut browser, "after the load");
    browser.wait("document.querySelectorAll('#machines .cell').length > 1");
    browser.wait("document.querySelector('svg.wide path.band')");

    let mut other = start(PHONE, true);
    other.visit(&url);
    other.wait("document.querySelector('.lead')");
    other.wait("document.querySelectorAll('#machines .cell').length > 1");
    shows(&mut other, "after the load");
    let fits = other.evaluate("document.documentElement.scrollWidth <= innerWidth");
    assert_eq!(fits, json!(true), "no sideways scrolling on a phone");
    let shown = [large_so_far(&mut browser, WIDE.0), large_so_far(&mut other, PHONE.0)];
    if let Some(axe) = pages::axe() {
        accessible(&mut browser, &axe);
        accessible(&mut other, &axe);
    }

    let change = |browser: &mut P, pace: &str| {
        browser.evaluate(&format!(
            "(() => {{ document.querySelector('#pace').value = '{pace}'; \
             document.querySelector('#change').click(); return 0; }})()"
        ));
    };
    change(&mut browser, "lots");
    browser.wait("document.querySelector('#said').textContent.startsWith('lots is no number')");
    change(&mut browser, "10k");
    browser.wait("document.querySelector('#said').textContent.includes('measure-2')");
    // Each change, with its sender, is at its time in every chart, also in the other browser.
    other.wait("document.querySelectorAll('.hero svg.narrow .names .note').length > 1");
    shows(&mut other, "insert: 10,000 rows/s (page)");
    // A ramp of a rate is a phase for each of its steps, from the current one on.
    browser.wait("document.querySelector('#top [data-stream]').value === '10,000'");
    browser.evaluate("(() => { document.querySelector('#ramp').value = '2'; return 0; })()");
    change(&mut browser, "20k");
    browser.wait("document.querySelector('#said').textContent.includes('to 20,000 rows/s')");
    other.evaluate("(() => { document.querySelector('#note').value = '<b id=stolen>vacuum</b>'; document.querySelector('#keep-note').click(); return 0; })()");
    shows(&mut browser, "<b id=stolen>vacuum</b>");
    assert_eq!(other.complaints(), [""; 0]);
    // A browser that disconnects changes nothing.
    drop(other);
    browser.evaluate("(() => { document.querySelector('#stop').click(); return 0; })()");
    until(&mut browser, REPORT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_eq!(browser.evaluate("document.querySelector('#stolen')"), Value::Null);
    assert_eq!(browser.complaints(), [""; 0]);

    let record = pages.record();
    recorded::end_is_recorded(&mut browser, &record);
    for shown in shown {
        is_recorded(&record, shown);
    }
    let changes: Vec<&Value> =
        record["interventions"].as_array().unwrap().iter().map(|done| &done["change"]).collect();
    assert_eq!(changes, ["pace", "pace", "pace", "note", "stop"]);
    let paces = record["interventions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|done| (done["by"].as_str().unwrap(), done["to"]["open"]["rate"].as_u64()));
    let paces: Vec<_> = paces.collect();
    let from_page = |per_s: u64| ("page", Some(per_s * 1_000_000));
    assert_eq!(paces[..3], [from_page(10_000), from_page(15_000), from_page(20_000)]);
    let judged = browser.evaluate("document.querySelector('.judgments').textContent");
    let judged = judged.as_str().unwrap().to_lowercase();
    let data = record["judgments"]["data"]["value"].as_str().unwrap();
    assert!(judged.contains(data), "{judged}: {data}");
}

#[test]
fn sessions_are_added_one_by_one_from_a_browser() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    let words: Vec<&str> = "run -c 4 -d 5m --warm-up 0s --ui=0 --ui-control".split(' ').collect();
    let (mut run, url) = pages.watched(&words);
    let mut browser = Browser::start(&program, WIDE, false);
    browser.visit(&url);
    browser.wait("document.querySelector('.lead')");
    // The unit follows from the stream, and sessions may start gradually.
    browser.wait("document.querySelector('#pace-kind').value === 'sessions'");
    browser.wait("document.querySelector('#ramp-unit').textContent === 'a second'");
    let change = |browser: &mut Browser, [sessions, ramp]: [&str; 2]| {
        browser.evaluate(&format!(
            "(() => {{ document.querySelector('#pace').value = '{sessions}'; \
             document.querySelector('#ramp').value = '{ramp}'; \
             document.querySelector('#change').click(); return 0; }})()"
        ));
    };
    let says = |browser: &mut Browser, said: &str| {
        browser.wait(&format!(
            "document.querySelector('#said').textContent.includes({})",
            json!(said)
        ));
    };
    change(&mut browser, ["2.5", ""]);
    says(&mut browser, "2.5 is no number of sessions");
    change(&mut browser, ["10", "3"]);
    says(&mut browser, "4 sessions to 10 sessions, as phase measure-2, 3 per second");
    browser.wait("document.querySelector('.status b').textContent === 'Running: measure-2'");
    // The control has the new number, too.
    browser.wait("document.querySelector('#pace').value === '10'");
    browser.evaluate("(() => { document.querySelector('#stop').click(); return 0; })()");
    until(&mut browser, REPORT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_eq!(browser.complaints, Vec::<String>::new());

    let record = pages.report().with_file_name("record.json");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(record).unwrap()).unwrap();
    let done = &record["interventions"][0];
    let sessions = |number: u32| json!({"closed": {"sessions": number}});
    assert_eq!(done["phase"], "measure-2", "{done}");
    assert_eq!((&done["from"], &done["to"]), (&sessions(4), &sessions(10)));
    assert_eq!(done["ramp_per_s"], json!(3.0));
    let names: Vec<&str> = record["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| phase["name"].as_str().unwrap())
        .collect();
    assert!(names.starts_with(&["measure", "measure-2-ramp", "measure-2"]), "{names:?}");
    let measured: Vec<(&Value, &Value)> = record["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stream| (&stream["phase"], &stream["sessions"]))
        .collect();
    let (first, second) = (json!("measure"), json!("measure-2"));
    assert_eq!(measured, [(&first, &json!(4)), (&second, &json!(10))]);
}

#[test]
fn a_run_of_the_store_is_followed_in_a_browser_until_its_result_exists() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    let words: Vec<&str> = "run -R 20k -d 5m --ui=0".split(' ').collect();
    let (mut run, _) = pages.watched(&words);
    let (mut serve, url) = pages.watched(&["serve", "--listen", "0"]);
    let mut browser = Browser::start(&program, WIDE, false);
    for look in 0.. {
        assert!(look < LOOKS_MAX, "it never begins");
        browser.visit(&url);
        let runs = "document.querySelector('#runs')?.textContent.includes('running: measure')";
        if browser.evaluate(runs) == json!(true) {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    browser.evaluate("(() => { document.querySelector('#runs th a').click(); return 0; })()");
    until(&mut browser, "!!document.querySelector('.lead')");
    // It updates without being reloaded.
    browser.evaluate(
        "(() => { window.first = document.querySelector('.status').textContent; return 0; })()",
    );
    browser.wait("document.querySelector('.status').textContent !== window.first");
    if let Some(axe) = pages::axe() {
        accessible(&mut browser, &axe);
    }
    let process = Pid::from_raw(run.id().try_into().unwrap()).unwrap();
    kill_process(process, Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    until(
        &mut browser,
        "!document.querySelector('#parts') && !!document.body?.textContent.includes('you stopped the run')",
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
    serve.kill().unwrap();
    serve.wait().unwrap();
}

#[test]
fn a_group_is_paused_and_resumed_in_a_browser_and_its_runs_fall_on_the_page() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    let words = [
        "run",
        "-R",
        "2k",
        "-d",
        "4s",
        "--warm-up",
        "0s",
        "--repeat",
        "2",
        "--settle",
        "0s",
        "--ui=0",
        "--ui-control",
    ];
    let (mut run, url) = pages.watched(&words);
    let mut browser = Browser::start(&program, WIDE, false);
    browser.visit(&url);
    let click = "(() => { document.querySelector('#pause').click(); return 0; })()";
    browser.wait("document.querySelector('#pause')?.textContent === 'Pause'");
    browser.evaluate(click);
    browser.wait("document.querySelector('#pause').textContent === 'Resume'");
    shows(&mut browser, "paused between two trials");
    shows(&mut browser, "1 run of 1 variant");
    // A new browser sees the same.
    let mut other = Browser::start(&program, PHONE, true);
    other.visit(&url);
    other.wait("document.querySelector('#pause')?.textContent === 'Resume'");
    let fits = other.evaluate("document.documentElement.scrollWidth <= innerWidth");
    assert_eq!(fits, json!(true), "no sideways scrolling on a phone");
    if let Some(axe) = pages::axe() {
        accessible(&mut browser, &axe);
    }
    other.evaluate(click);
    browser.wait("document.querySelector('#pause').textContent === 'Pause'");
    until(&mut browser, REPORT);
    shows(&mut browser, "2\u{a0}runs of 1 variant");
    assert!(run.wait().unwrap().code().is_some_and(|code| code < 4));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// A test with more checks of a live page has failed: they take at least a minute.
const LOOKS_MAX: u32 = 3_000;
const BETWEEN_LOOKS: std::time::Duration = std::time::Duration::from_millis(20);

/// Waits for a live page from outside, because a wait inside a page ends with it.
pub(crate) fn until(browser: &mut impl Page, condition: &str) {
    for _ in 0..LOOKS_MAX {
        if browser.evaluate_unless_left(condition) == Ok(json!(true)) {
            return;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    panic!("never: {condition}");
}

#[test]
fn a_run_is_started_from_the_form_in_a_browser() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    let (mut serve, url) = pages.watched(&["serve", "--listen", "0", "--allow-start"]);
    let mut browser = Browser::start(&program, PHONE, true);
    browser.visit(&url);
    // The token is in the fragment, and a page that only differs in it is not reloaded.
    let (home, _) = url.split_once('#').unwrap();
    browser.wait("!!document.querySelector('#start')");
    browser.evaluate("(() => { document.querySelector('#start').click(); return 0; })()");
    until(&mut browser, "!!document.querySelector('[name=more]')");
    if let Some(axe) = pages::axe() {
        accessible(&mut browser, &axe);
    }
    browser.evaluate(
        "(() => { document.querySelector('[name=target]').value = 'sim:'; \
         document.querySelector('[name=more]').value = \"--label 'x=<b id=stolen>'\"; \
         document.querySelector('button[value=show]').click(); return 0; })()",
    );
    until(&mut browser, "!!document.querySelector('#command')?.textContent.includes('stolen')");
    let command = browser.evaluate("document.querySelector('#command').textContent");
    let expected = "highwater run --out=highwater-runs --quiet cpu sim: --label 'x=<b id=stolen>'";
    assert_eq!(command, json!(expected));
    let fits = browser.evaluate("document.documentElement.scrollWidth <= innerWidth");
    assert_eq!(fits, json!(true), "no sideways scrolling on a phone");
    browser
        .evaluate("(() => { document.querySelector('button[value=start]').click(); return 0; })()");
    // Its live page, or the list if it has ended before.
    let arrived = "location.pathname.startsWith('/run/') || document.body?.textContent.includes('Started here')";
    until(&mut browser, arrived);
    for look in 0.. {
        assert!(look < LOOKS_MAX, "it does not end");
        browser.visit(home);
        let is_over = "document.body.textContent.includes('ended with exit code 0')";
        if browser.evaluate(is_over) == json!(true) {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    assert_eq!(browser.evaluate("document.querySelector('#stolen')"), Value::Null);
    assert_eq!(browser.complaints, Vec::<String>::new());
    serve.kill().unwrap();
    serve.wait().unwrap();
}

pub(crate) fn accessible(browser: &mut impl Page, axe: &str) {
    // The checker is not part of the page, and the policy blocks foreign scripts, so the debugger injects it.
    browser.evaluate(&format!("{axe}; 0"));
    let found = browser.evaluate(
        "axe.run().then((found) => found.violations.filter((one) => ['serious', 'critical'].includes(one.impact))\
         .map((one) => one.id + ': ' + one.nodes[0].html))",
    );
    assert_eq!(found, json!([]));
}

/// Maximum height of the header, which stays on top: an eighth of a phone's screen.
const HEADER_MAX: f64 = 106.0;
/// Screen sizes on which each page is checked.
const SCREENS: [(u32, u32); 2] = [(1280, 800), (390, 844)];

/// Texts that are cut off at the right of the screen, other than in a box that scrolls; the answer, and where it ends.
const SEEN: &str = "(() => { const box = document.querySelector(ANSWER)?.getBoundingClientRect(); return { \
     header: document.querySelector('header').getBoundingClientRect().height, \
     bottom: box?.bottom, text: document.querySelector(ANSWER)?.textContent, \
     wide: document.documentElement.scrollWidth > innerWidth, raw: RAW.filter((text) => \
     document.body.textContent.includes(text)) }; })()";
/// Words that no reader understands, or that are not true during a run.
const RAW: &str = "['closed, ', 'NONE YET', 'The run is over', 'at most', 'compiled by']";

/// Each page has its answer on the first screen, in 600 pixels, and nothing is wider than the screen.
#[track_caller]
fn answers_first(program: &std::path::Path, url: &str, ready: &str, answer: &str) {
    for (size, dark) in SCREENS.into_iter().zip([false, true]) {
        let mut browser = Browser::start(program, size, dark);
        browser.visit(url);
        browser.wait(ready);
        let look = SEEN.replace("RAW", RAW).replace("ANSWER", &json!(answer).to_string());
        let seen = browser.evaluate(&look);
        assert!(
            seen["bottom"].as_f64().is_some_and(|bottom| bottom <= NEAR_TOP),
            "{size:?}: {seen}"
        );
        assert!(seen["header"].as_f64().is_some_and(|height| height <= HEADER_MAX), "{seen}");
        assert_eq!((&seen["wide"], &seen["raw"]), (&json!(false), &json!([])), "{size:?}: {seen}");
        if let Some(axe) = pages::axe() {
            accessible(&mut browser, &axe);
        }
        assert_eq!(browser.complaints, Vec::<String>::new(), "{size:?}");
    }
}

#[test]
fn searches_growths_and_lists_answer_on_the_first_screen_too() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    let looked_at = |words: &str, ready: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let (mut run, url) = pages.watched(&words);
        answers_first(&program, &url, ready, "#answer, .interval b");
        run.kill().unwrap();
        run.wait().unwrap();
    };
    let sim = "sim:?clock=real";
    let tried = "/^Trying .*probe \\d+ of about \\d+/.test(document.querySelector('.interval b')?.textContent)";
    looked_at(&format!("find cpu {sim} --p99 50ms --ui=0 --ui-control"), tried);
    let sizes = format!("{sim}&nodes={{nodes}}&shards=60&replicas=0");
    let measured = "document.querySelector('.interval b')?.textContent.startsWith('Measuring') && \
                    document.querySelector('#scale svg.wide')";
    looked_at(&format!("scale cpu {sizes} --nodes 1..4 --each run -d 10s --ui=0"), measured);
    pages.call(&["run", "cpu", "sim:", "-d", "20s", "-q"]);
    let (mut serve, url) = pages.watched(&["serve", "--listen", "0"]);
    let listed = "document.querySelector('#runs .answers b')";
    answers_first(&program, &url, listed, "#runs tbody tr:first-child .judged");
    // Compared runs are named by the time at which each began and what differs, not by IDs.
    pages.call(&["run", "cpu", "sim:", "-d", "20s", "-q", "--label", "build=new"]);
    let mut browser = Browser::start(&program, SCREENS[1], false);
    browser.visit(&url);
    browser.wait("document.querySelector('#runs')?.textContent.includes('build=new')");
    // The newest two; the search and the growth are there, too.
    browser.evaluate(
        "(() => { [...document.querySelectorAll('#runs [name=run]')].slice(0, 2).forEach((box) => { box.click(); }); \
         document.querySelector('form[action=\"/compare\"] button').click(); return 0; })()",
    );
    until(&mut browser, "!!document.querySelector('h1')?.textContent.startsWith('Is B')");
    let asked = browser.evaluate("document.querySelector('h1').textContent");
    let asked = asked.as_str().unwrap();
    assert!(asked.contains("build=new") && !asked.contains("-cpu-"), "{asked}");
    let fits = browser.evaluate("document.documentElement.scrollWidth <= innerWidth");
    assert_eq!(fits, json!(true), "{asked}");
    serve.kill().unwrap();
    serve.wait().unwrap();
}
