//! The live page in a real browser beside a real run: its figures move, its controls do what they say, and the
//! record has what it showed.

use serde_json::{Value, json};

use crate::chromium::{self, Browser};
use crate::pages::{self, Pages};

const WIDE: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (390, 844);

/// Whether the page shows this somewhere.
fn shows(browser: &mut Browser, text: &str) {
    browser.wait(&format!(
        "document.body.textContent.includes({})",
        json!(text)
    ));
}

#[test]
fn a_run_is_watched_changed_and_stopped_in_a_browser() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    let words = [
        "run",
        "-R",
        "20k",
        "-d",
        "5m",
        "--p99",
        "5s",
        "--label",
        "x=<b id=stolen>",
        "--ui=0",
        "--ui-control",
    ];
    let (mut run, url) = pages.watched(&words);
    let mut browser = Browser::start(&program, WIDE, false);
    browser.visit(&url);
    browser.wait("document.querySelector('#so-far') && document.querySelectorAll('svg.wide path.line').length > 1");
    let first = browser.evaluate("document.querySelector('#parts').textContent");
    browser.wait(&format!(
        "document.querySelector('#parts').textContent !== {first}"
    ));

    let mut other = Browser::start(&program, PHONE, true);
    other.visit(&url);
    other.wait("document.querySelector('#so-far')");
    let fits = other.evaluate("document.documentElement.scrollWidth <= innerWidth");
    assert_eq!(fits, json!(true), "no sideways scrolling on a phone");
    if let Some(axe) = pages::axe() {
        accessible(&mut browser, &axe);
    }

    browser.evaluate("(() => { document.querySelector('#pace').value = '10,000'; document.querySelector('#change').click(); return 0; })()");
    browser.wait("document.querySelector('#said').textContent.includes('measure-2')");
    shows(&mut other, "measure-2");
    other.evaluate("(() => { document.querySelector('#note').value = '<b id=stolen>vacuum</b>'; document.querySelector('#keep-note').click(); return 0; })()");
    shows(&mut browser, "<b id=stolen>vacuum</b>");
    assert_eq!(other.complaints, Vec::<String>::new());
    // A browser that goes away changes nothing.
    drop(other);
    browser.evaluate("(() => { document.querySelector('#stop').click(); return 0; })()");
    browser.wait("document.querySelector('#connection').textContent.startsWith('over')");
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_eq!(
        browser.evaluate("document.querySelector('#stolen')"),
        Value::Null
    );
    assert_eq!(browser.complaints, Vec::<String>::new());

    let record = pages.report().with_file_name("record.json");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(record).unwrap()).unwrap();
    let changes = record["interventions"].as_array().unwrap().iter();
    let changes: Vec<&Value> = changes.map(|done| &done["change"]).collect();
    assert_eq!(changes, ["pace", "note", "stop"]);
    let judged = browser.evaluate("document.querySelector('.judged').textContent");
    let judged = judged.as_str().unwrap().to_lowercase();
    let data = record["judgments"]["data"]["value"].as_str().unwrap();
    assert!(judged.contains(data), "{judged}: {data}");
}

fn accessible(browser: &mut Browser, axe: &str) {
    // The checker is no part of the page, and its policy refuses foreign scripts: it comes over the debugger.
    browser.evaluate(&format!("{axe}; 0"));
    let found = browser.evaluate(
        "axe.run().then((found) => found.violations.filter((one) => ['serious', 'critical'].includes(one.impact))\
         .map((one) => one.id + ': ' + one.nodes[0].html))",
    );
    assert_eq!(found, json!([]));
}
