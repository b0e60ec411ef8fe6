//! A run's page shows the values of its record when the run is over, and its charts move until then.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::chromium::{self, Browser};
use crate::page::Page;
use crate::pages::Pages;

const WIDE: (u32, u32) = (1280, 900);

/// The figures of the stream, by column name.
const FIGURES: &str = "Object.fromEntries([...document.querySelector('tr[data-stream=insert]')\
     .querySelectorAll('td')].map((cell) => [cell.dataset.label, cell.textContent]))";

/// The lines of the charts as drawn in a wide window.
const LINES: &str = "[...document.querySelectorAll('#parts figure.chart svg.wide path.line')]\
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

/// The figures of the stream on the final page are those of the record.
pub(crate) fn end_is_recorded(browser: &mut impl Page, record: &Value) {
    let shown = browser.evaluate(FIGURES);
    let number = |name: &str| -> f64 {
        let text = shown[name].as_str().unwrap().replace(',', "");
        let number = text.split_whitespace().next().unwrap().parse();
        number.unwrap_or_else(|_| panic!("{name}: {shown}"))
    };
    // Filling tables before is not part of the load.
    let mut seconds: BTreeMap<u64, f64> = BTreeMap::new();
    let (mut acknowledged, mut failed) = (0, 0);
    for of in record["intervals"].as_array().unwrap() {
        if of["stream"] == "insert" && of["phase"] != "load" {
            let rows = of["rows_acknowledged"].as_u64().unwrap();
            acknowledged += rows;
            failed += of["errors"].as_u64().unwrap();
            let second = of["second"].as_u64().unwrap();
            *seconds.entry(second).or_default() += f64::from(u32::try_from(rows).unwrap());
        }
    }
    let counted = ["acknowledged", "failed"].map(|name| format!("{:.0}", number(name)));
    assert_eq!(counted, [acknowledged, failed].map(|count| count.to_string()));

    // The rate is that of the seconds whose middle is in the last measured phase. A busy machine may report ops a
    // second late, which then count in the next one, so at either end a second may be one more or one less.
    let mut phases = record["phases"].as_array().unwrap().iter();
    let phase = phases.rfind(|phase| phase["kind"] == "measure").unwrap();
    let [start, length] = ["start_ns", "duration_ns"].map(|of| phase[of].as_f64().unwrap() / 1e9);
    let (from, to) = (start.round(), (start + length).round());
    let is_inside = |second: u64| {
        let middle = f64::from(u32::try_from(second).unwrap()) + 0.5;
        (from..to).contains(&middle)
    };
    let rows: f64 =
        seconds.iter().filter(|(second, _)| is_inside(**second)).map(|(_, rows)| rows).sum();
    let most = seconds.values().copied().fold(0.0, f64::max);
    let so_far = number("so far") * (to - from);
    assert!((so_far - rows).abs() <= most, "{shown}: {rows} rows from {from} s to {to} s");
    // The record's result has only its part of each second.
    let mut results = record["streams"].as_array().unwrap().iter();
    let result = results.rfind(|of| of["phase"] == phase["name"]).unwrap();
    let result = result["throughput"]["rows_per_s"].as_f64().unwrap() * length;
    let cut = (start - from).abs() + (start + length - to).abs();
    assert!((so_far - result).abs() <= (1.0 + cut) * most, "{shown}: {result} rows in {length} s");
}

#[test]
fn figures_at_the_end_of_a_run_are_those_of_its_record() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    let words = "run sim:?clock=real&fail=0.2 -R 4k -d 12s --warm-up 2s --p99 5s --ui=0";
    let words: Vec<&str> = words.split(' ').collect();
    let (mut run, url) = pages.watched(&words);
    let mut browser = Browser::start(&program, WIDE, false);
    browser.visit(&url);
    browser.wait("document.querySelector('#connection').textContent.startsWith('over')");
    run.wait().unwrap();
    let record = pages.record();
    end_is_recorded(&mut browser, &record);
    // A target with occasional failures has them in the text and in the comparison.
    let failed = browser.evaluate(&format!("{FIGURES}.failed"));
    assert_ne!(failed, json!("0"));
    assert_eq!(browser.complaints, Vec::<String>::new());
}
