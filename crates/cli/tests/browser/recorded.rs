//! A run's page shows the values of its record when the run has ended, and its charts move until
//! then.

use serde_json::Value;

use crate::chromium::{self, Browser};
use crate::page::Page;
use crate::pages::Pages;
use crate::watching::{REPORT, until};

const WIDE: (u32, u32) = (1280, 900);

/// The figures of an op so far, by column name, and the seconds of its phase.
const OPS: &str = "({ ...Object.fromEntries([...document.querySelector('#ops tbody tr')?.querySelectorAll('td') ?? []]\
     .map((cell) => [cell.dataset.label, cell.textContent])), \
     seconds: document.querySelector('#ops .term')?.textContent })";

/// The lines of the charts as drawn in a wide window.
const LINES: &str = "[...document.querySelectorAll('#more figure.chart svg.wide path.line')]\
     .map((path) => path.getAttribute('d'))";

/// Seconds after which the charts of a page that was just opened must have moved.
const SWAPS: u32 = 3;

/// Compares the charts with those some seconds later: each line must have changed.
pub(crate) fn charts_move(browser: &mut impl Page) {
    let first = browser.evaluate(LINES);
    let first = first.as_array().unwrap();
    assert!(first.len() > 1, "{first:?}");
    for _ in 0..SWAPS {
        let shown = browser.evaluate("document.querySelector('.status').textContent");
        browser.wait(&format!("document.querySelector('.status').textContent !== {shown}"));
    }
    let later = browser.evaluate(LINES);
    let still: Vec<_> = first
        .iter()
        .zip(later.as_array().unwrap())
        .filter(|(first, later)| first == later)
        .collect();
    assert!(still.is_empty(), "{still:?}");
}

/// A figure with its unit as a number.
fn number(text: &Value) -> f64 {
    let text = text.as_str().unwrap().replace(',', "");
    let number = text.split_whitespace().next().unwrap().parse();
    number.unwrap_or_else(|_| panic!("{text}"))
}

/// Sums a count of the record's intervals in seconds of its measured phase.
fn counted(record: &Value, name: &str, seconds: f64) -> f64 {
    let mut phases = record["phases"].as_array().unwrap().iter();
    let phase = phases.find(|phase| phase["kind"] == "measure").unwrap();
    let from = (phase["start_ns"].as_f64().unwrap() / 1e9).round();
    let intervals = record["intervals"].as_array().unwrap().iter();
    intervals
        .filter(|of| (from..from + seconds).contains(&of["second"].as_f64().unwrap()))
        .map(|of| of[name].as_f64().unwrap())
        .sum()
}

/// The answer at the address of the live page is that of the record in the end, and so are its failed ops.
pub(crate) fn end_is_recorded(browser: &mut impl Page, record: &Value) {
    let answer = browser.evaluate("document.querySelector('#answer').textContent");
    let mut phases = record["phases"].as_array().unwrap().iter();
    let phase = phases.rfind(|phase| phase["kind"] == "measure").unwrap();
    let mut results = record["streams"].as_array().unwrap().iter();
    let result = results.rfind(|of| of["phase"] == phase["name"]).unwrap();
    let rate = result["throughput"]["rows_per_s"].as_f64().unwrap();
    // It is rounded to whole rows per second, and to four digits.
    assert!((number(&answer) - rate).abs() <= 0.5 + rate * 1e-3, "{answer}: {rate}");
    let failed = browser.evaluate(
        "[...document.querySelectorAll('.keys div')].find((of) => of.textContent.startsWith('failed'))\
         .querySelector('.figure').textContent",
    );
    let results = record["results"].as_array().unwrap().iter();
    let measured = results.filter(|of| of["phase"].as_str().unwrap().starts_with("measure"));
    let all: u64 = measured
        .flat_map(|of| {
            of["errors"].as_object().unwrap().values().map(|count| count.as_u64().unwrap())
        })
        .sum();
    assert_eq!(format!("{:.0}", number(&failed)), all.to_string());
}

#[test]
fn figures_of_a_run_are_those_of_its_record_and_its_report_has_the_same_address() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    let words = "run sim:?clock=real&fail=0.2 -R 4k -d 15s --warm-up 2s --p99 5s --ui=0";
    let words: Vec<&str> = words.split(' ').collect();
    let (mut run, url) = pages.watched(&words);
    let mut browser = Browser::start(&program, WIDE, false);
    browser.visit(&url);
    browser.wait("Number(document.querySelector('.status')?.dataset.second) > 8");
    browser.wait("document.querySelector('#ops') && document.querySelector('#failures')");
    let shown = browser.evaluate(OPS);
    until(&mut browser, REPORT);
    run.wait().unwrap();
    let record = pages.record();
    // `In measure, 7 s so far.`
    let seconds: f64 =
        shown["seconds"].as_str().unwrap().split(' ').nth(2).unwrap().parse().unwrap();
    for (column, name) in [("requests", "sent"), ("failed", "errors")] {
        let (shown, counted) = (number(&shown[column]), counted(&record, name, seconds));
        // Ops that end in the second after the last may be known already, or not yet.
        assert!(
            shown > 0.0 && (shown - counted).abs() <= 4.0 + counted * 0.2,
            "{column}: {shown}, {counted}"
        );
    }
    end_is_recorded(&mut browser, &record);
    // The report has its figures as CSV, without the server.
    let csv = browser.evaluate(
        "(() => { const [link] = document.querySelectorAll('.links [download]'); \
         return link.download + decodeURIComponent(link.href.split(',')[1]); })()",
    );
    let csv = csv.as_str().unwrap();
    assert!(csv.starts_with("results.csvphase,stream,op,"), "{csv}");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
