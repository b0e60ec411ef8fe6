//! The top of each kind of page: the answer is large, near the top, and as in the record. No figure is broken across
//! lines and no table is cut off, on any width of screen.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::chromium::{self, Browser};
use crate::pages::Pages;

/// Width and height of a desktop and of a phone.
const SCREENS: [(u32, u32); 2] = [(1280, 800), (390, 844)];
/// Maximum pixels from the top to the answer, and minimum size of its letters.
const NEAR_TOP: f64 = 600.0;
const LARGE: f64 = 28.0;
/// Maximum height of a plain run's page when it opens, in screens.
const SCREENS_MAX: f64 = 5.0;

/// The answer's text, position, and size.
const ANSWER: &str = "(() => { const of = document.querySelector('#answer'); \
     const box = of.getBoundingClientRect(); return { text: of.textContent, top: box.top, \
     bottom: box.bottom, left: box.left, right: box.right, height: box.height, \
     size: parseFloat(getComputedStyle(of).fontSize) }; })()";

/// Figures whose digits, or whose unit after a no-break space, are on more than one line; hashes are ignored.
const BROKEN: &str = "(() => { const broken = []; \
     const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); \
     for (let node = texts.nextNode(); node; node = texts.nextNode()) { \
       const of = node.parentElement; \
       if (of.closest('pre, code, script, style, svg') || !of.checkVisibility()) continue; \
       if (/^[0-9a-f]{32,}$/.test(node.data.trim())) continue; \
       for (const found of node.data.matchAll(/\\d[\\d,.]*\\d(\\u00a0[^\\s]+)?/g)) { \
         const range = document.createRange(); range.setStart(node, found.index); \
         range.setEnd(node, found.index + found[0].length); \
         const lines = [...range.getClientRects()].filter(box => box.width > 0); \
         if (new Set(lines.map(box => Math.round(box.top))).size > 1) \
           broken.push(`${found[0]} of ${node.data.slice(0, 80)}`); } } return broken; })()";

/// Tables that extend beyond their edge, and anything that makes the page wider than the screen.
const CUT_OFF: &str = "(() => { const tables = [...document.querySelectorAll('.table')].filter(of => \
     of.checkVisibility() && of.scrollWidth > of.clientWidth + 1).map(of => \
     `${of.getAttribute('aria-label')}: ${of.scrollWidth} of ${of.clientWidth}`); \
     const wide = document.documentElement.scrollWidth - innerWidth; \
     return wide > 0 ? [...tables, `page: ${wide} too wide`] : tables; })()";

/// Elements of a first screen that are missing or outside it; the limit is optional.
const FIRST_SCREEN: &str = "(() => { const all = { question: 'h1', answer: '#answer', limit: '.limit', \
     measurement: '.judgments li:nth-child(1)', data: '.judgments li:nth-child(2)', \
     objective: '.judgments li:nth-child(3)', chart: '.hero figure, .hero table' }; \
     return Object.entries(all).map(([name, selector]) => [name, document.querySelector(selector)])\
     .filter(([name, of]) => of || name !== 'limit')\
     .map(([name, of]) => [name, of && of.getBoundingClientRect().top])\
     .filter(([name, top]) => top === null || top < 0 || top >= innerHeight); })()";

/// Unformatted backquotes, and percentages with a space, in visible text.
const ILL_SET: &str = "(() => { const found = []; \
     const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); \
     for (let node = texts.nextNode(); node; node = texts.nextNode()) { \
       if (node.parentElement.closest('pre, code, script, style')) continue; \
       if (/`|\\d[ \\u00a0]%/.test(node.data)) found.push(node.data.slice(0, 120)); } return found; })()";

/// The layout of the first row of the latency table, and whether its cells are preceded by their names.
const LATENCY_ROW: &str = "(() => { const row = document.querySelector('#latency-of-ops tbody tr'); \
     const cell = row.querySelector('td'); return [getComputedStyle(row).display, \
     getComputedStyle(cell, '::before').content !== 'none']; })()";

/// Visible small multiples, each with its line.
const MULTIPLES: &str = "[...document.querySelectorAll('#machines .multiples .cell')].filter(cell => \
     cell.querySelector('svg path') && cell.getBoundingClientRect().height > 20).length";

/// Charts with lines named at their ends, and those of them with a legend for lines nevertheless.
const NAMED_AT_ENDS: &str = "[...document.querySelectorAll('figure.chart')].filter(chart => \
     chart.querySelector('.end')).map(chart => \
     [chart.id, [...chart.querySelectorAll('.legend:not(.ends) li')].filter(entry => \
     !entry.querySelector('.swatch .glyph')).map(entry => entry.textContent)])";

/// Width of the mark of a gap in the chart above the folds.
const GAP: &str = "document.querySelector('.hero svg.wide .gap')?.getBoundingClientRect().width";

/// Texts that call a figure measured, for pages whose figures were published by others.
const MEASURED: &str = "(() => { const found = []; \
     const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); \
     for (let node = texts.nextNode(); node; node = texts.nextNode()) \
       if (!node.parentElement.closest('script, style') && /\\bmeasured\\b/i.test(\
         node.data.replace(/(not|nothing was) measured/g, ''))) \
         found.push(node.data); return found; })()";

/// A page with the answer in its record.
struct Answered {
    kind: &'static str,
    page: PathBuf,
    answer: String,
}

/// `120,000`, as pages print a rate.
fn grouped(value: &Value) -> String {
    let whole = format!("{:.0}", value.as_f64().unwrap());
    let mut text = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn record(pages: &Pages) -> Value {
    let text = pages.call(&["show", "--format", "json"]);
    serde_json::from_str(&text).unwrap()
}

/// A run with the question in its own terms, and its record.
fn run(pages: &Pages) -> Answered {
    run_on(pages, "run", "sim:")
}

/// A run whose target stalled, as after a fault.
fn stalled(pages: &Pages) -> Answered {
    run_on(pages, "a run with a stall", "sim:?stall=12s+4s")
}

fn run_on(pages: &Pages, kind: &'static str, target: &str) -> Answered {
    pages.call(&["run", "cpu", target, "--rate", "20k", "-d", "30s", "--p99", "60ms", "-q"]);
    let record = record(pages);
    let stream = record["streams"].as_array().unwrap();
    let stream = stream.iter().find(|of| of["phase"] == "measure").unwrap();
    Answered { kind, page: pages.report(), answer: grouped(&stream["throughput"]["rows_per_s"]) }
}

fn find(pages: &Pages) -> Answered {
    pages.experiment(&[
        "find",
        "cpu",
        "sim:?nodes=1&replicas=0",
        "--p99",
        "60ms",
        "--probe",
        "5s",
        "--confirm",
        "5s",
        "-q",
    ]);
    let record = record(pages);
    Answered {
        kind: "find",
        page: pages.report(),
        answer: grouped(&record["question"]["search"]["outcome"]["mark"]["confirmed"]),
    }
}

fn tune(pages: &Pages) -> Answered {
    pages.experiment(&[
        "tune",
        "cpu",
        "sim:?nodes=1&replicas=0",
        "--over",
        "batch=100,1000",
        "--over",
        "sessions=4,16",
        "--probe",
        "3s",
        "-q",
    ]);
    let record = record(pages);
    let tune = &record["question"]["tune"];
    let at = tune["outcome"]["best"]["at"].as_array().unwrap();
    let axes = tune["axes"].as_array().unwrap();
    let values = axes.iter().zip(at).map(|(axis, at)| {
        let value = &axis["values"][usize::try_from(at.as_u64().unwrap()).unwrap()];
        format!("{} {}", axis["name"].as_str().unwrap(), value.as_str().unwrap())
    });
    Answered { kind: "tune", page: pages.report(), answer: values.collect::<Vec<_>>().join(", ") }
}

fn scale(pages: &Pages) -> Answered {
    pages.experiment(&[
        "scale",
        "cpu",
        "sim:?nodes={nodes}&replicas=0",
        "--nodes",
        "1,2,3",
        "--each",
        "run",
        "-d",
        "5s",
        "-q",
    ]);
    let record = record(pages);
    let trials = record["question"]["scale"]["trials"].as_array().unwrap();
    let largest = trials.iter().max_by_key(|of| of["size"]["nodes"].as_u64());
    Answered {
        kind: "scale",
        page: pages.report(),
        answer: grouped(&largest.unwrap()["figures"]["per_s"]),
    }
}

/// Two groups of runs: the difference equals that of the text.
fn compare(pages: &Pages) -> Answered {
    for (nodes, out) in [("sim:?nodes=3", "a"), ("sim:?nodes=2", "b")] {
        for seed in ["1", "2", "3"] {
            pages.experiment(&["run", "cpu", nodes, "-d", "5s", "-q", "-o", out, "--seed", seed]);
        }
    }
    let text = pages.call(&["compare", "a", "b"]);
    let page = pages.call(&["compare", "a", "b", "--format", "html"]);
    Answered {
        kind: "compare",
        page: pages.page("compared.html", &page),
        answer: difference(&text),
    }
}

/// `b is worse than a   insert throughput -32.8%   …`, from the summary.
fn difference(summary: &str) -> String {
    let throughput = summary.split("throughput ").nth(1).unwrap();
    throughput.split_whitespace().next().unwrap().to_owned()
}

/// Two growths, of clusters with different milliseconds of work per row.
fn growths(pages: &Pages) -> Answered {
    for (row, out) in [("7ms", "a"), ("5ms", "b")] {
        let target = format!(
            "sim:?nodes={{nodes}}&cores=1&queue=inf&request=0&row={row}&shards=12&replicas=0&service=constant"
        );
        let load = "--each run --batch 12 -c 16n --nodes 1,2 -d 5s --settle 1s -q";
        let load: Vec<&str> = load.split(' ').collect();
        pages.experiment(&[&["scale", "cpu", &target, "-o", out], &load[..]].concat());
    }
    let page = pages.call(&["compare", "a", "b", "--format", "html"]);
    let table = pages.call(&["compare", "a", "b", "--format", "markdown"]);
    // `| nodes | A rows/s | B rows/s | change |`: both sizes gain, and the answer is the one with the larger gain.
    let rows = ["| 1 |", "| 2 |"].map(|nodes| {
        let row = table.lines().find(|line| line.starts_with(nodes));
        let change = row.unwrap().split('|').nth(4).unwrap();
        change.replace([' ', '\u{a0}'], "")
    });
    let gain = |change: &String| change.trim_matches(['+', '%']).parse::<f64>().unwrap();
    let most = rows.into_iter().max_by(|a, b| gain(a).total_cmp(&gain(b)));
    Answered {
        kind: "compared growths",
        page: pages.page("compared.html", &page),
        answer: most.unwrap(),
    }
}

/// Two targets in turn: the difference equals that of the text.
fn group(pages: &Pages) -> Answered {
    let words = ["--interleave", "sim:?nodes=2", "--repeat", "2", "-d", "5s", "-q"];
    let text = pages.experiment(&[&["run", "cpu", "sim:?nodes=3"], &words[..]].concat());
    Answered { kind: "a group", page: pages.report(), answer: difference(&text) }
}

/// The record of another tool.
fn import(pages: &Pages) -> Answered {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/src/samples");
    let files = ["pgbench-rate.log", "pgbench-rate.out"].map(|name| format!("{samples}/{name}"));
    pages.call(&["import", &files[0], &files[1]]);
    let record = record(pages);
    let throughput = &record["streams"][0]["throughput"];
    Answered {
        kind: "import",
        page: pages.report(),
        answer: highwater_model::display::rate(throughput["ops_per_s"].as_f64().unwrap()),
    }
}

fn size(pages: &Pages) -> Answered {
    let plan =
        pages.call(&["size", "1M", "--assume", "cratedb-1m", "--json", "--html", "size.html"]);
    let plan: Value = serde_json::from_str(&plan).unwrap();
    Answered {
        kind: "size",
        page: pages.file("size.html"),
        answer: plan["nodes"]["planned"].to_string(),
    }
}

/// On a desktop and on a phone: the figure of the record is near the top, large, on one line, and whole, and the page
/// is not cut off, folded or not.
fn shows_its_answer(program: &Path, answered: &Answered) {
    for screen in SCREENS {
        let about = format!("{} at {screen:?}", answered.kind);
        let mut browser = Browser::start(program, screen, false);
        browser.open(&answered.page);
        let seen = browser.evaluate(ANSWER);
        let number = |name: &str| seen[name].as_f64().unwrap();
        // The unit is next to the figure.
        let figure = |text: &str| text.trim_end_matches('%').to_owned();
        let shown = seen["text"].as_str().unwrap();
        assert_eq!(figure(shown), figure(&answered.answer), "{about}");
        assert!(number("top") > 0.0 && number("bottom") <= NEAR_TOP, "{about}: {seen}");
        assert!(number("size") >= LARGE && number("height") >= LARGE, "{about}: {seen}");
        let width = f64::from(screen.0);
        assert!(number("left") >= 0.0 && number("right") <= width, "{about}: {seen}");
        assert_eq!(browser.evaluate(FIRST_SCREEN), json!([]), "{about}");
        assert_eq!(browser.evaluate(ILL_SET), json!([]), "{about}");
        assert_eq!(browser.evaluate(BROKEN), json!([]), "{about}");
        assert_eq!(browser.evaluate(CUT_OFF), json!([]), "{about}");
        let folded = browser.evaluate("document.querySelectorAll('details[open]').length");
        assert_eq!(folded, json!(0), "{about}");
        browser.unfold();
        assert_eq!(browser.evaluate(BROKEN), json!([]), "{about}, unfolded");
        assert_eq!(browser.evaluate(CUT_OFF), json!([]), "{about}, unfolded");
        assert_eq!(browser.complaints, Vec::<String>::new(), "{about}");
    }
}

#[test]
fn a_plain_run_answers_first_and_is_a_few_screens_long() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    let answered = run(&pages);
    shows_its_answer(&program, &answered);
    let mut browser = Browser::start(&program, SCREENS[0], false);
    browser.open(&answered.page);
    let keys = browser.evaluate("document.querySelector('.keys').getBoundingClientRect().bottom");
    let first_screen = f64::from(SCREENS[0].1);
    assert!(keys.as_f64().unwrap() <= first_screen, "key figures: {keys}");
    let height = browser.evaluate("document.documentElement.scrollHeight");
    let screens = height.as_f64().unwrap() / f64::from(SCREENS[0].1);
    assert!(screens <= SCREENS_MAX, "{screens} screens");

    browser.unfold();
    assert_eq!(browser.evaluate(LATENCY_ROW), json!(["table-row", false]));
    let multiples = browser.evaluate(MULTIPLES);
    assert!(multiples.as_u64() > Some(0), "{multiples}");
    let named = browser.evaluate(NAMED_AT_ENDS);
    let named = named.as_array().unwrap();
    assert!(named.iter().any(|chart| chart[0] == "throughput-rows"), "{named:?}");
    assert!(named.iter().all(|chart| chart[1] == json!([])), "{named:?}");
    let mut phone = Browser::start(&program, SCREENS[1], false);
    phone.open(&answered.page);
    phone.unfold();
    assert_eq!(phone.evaluate(LATENCY_ROW), json!(["grid", true]));
}

#[test]
fn a_stall_is_marked_in_the_chart_above_the_folds() {
    let Some(program) = chromium::program() else {
        return;
    };
    let mut browser = Browser::start(&program, SCREENS[0], false);
    let mut mark = |make: fn(&Pages) -> Answered| {
        let pages = Pages::new();
        browser.open(&make(&pages).page);
        browser.evaluate(GAP).as_f64()
    };
    // Four of thirty seconds, in a chart that is almost as wide as the page.
    let marked = mark(stalled).unwrap();
    assert!((80.0..200.0).contains(&marked), "{marked}");
    assert_eq!(mark(run), None);
}

#[test]
fn published_figures_are_never_called_measured() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    let mut browser = Browser::start(&program, SCREENS[0], false);
    browser.open(&size(&pages).page);
    browser.unfold();
    let is_published = browser.evaluate(
        "['.hero', '#growth', '.judgments'].map(part => \
         document.querySelector(part).textContent.includes('published'))",
    );
    assert_eq!(is_published, json!([true, true, true]));
    assert_eq!(browser.evaluate(MEASURED), json!([]));
}

/// The checks of a plain run's page for a page of another kind.
fn answers_first(make: fn(&Pages) -> Answered) {
    if let Some(program) = chromium::program() {
        shows_its_answer(&program, &make(&Pages::new()));
    }
}

#[test]
fn a_run_with_a_stall_answers_first() {
    answers_first(stalled);
}

#[test]
fn a_search_answers_first() {
    answers_first(find);
}

#[test]
fn a_tuning_answers_first() {
    answers_first(tune);
}

#[test]
fn a_growth_answers_first() {
    answers_first(scale);
}

#[test]
fn a_group_answers_first() {
    answers_first(group);
}

#[test]
fn a_comparison_answers_first() {
    answers_first(compare);
}

#[test]
fn a_comparison_of_growths_answers_first() {
    answers_first(growths);
}

#[test]
fn a_plan_of_a_cluster_answers_first() {
    answers_first(size);
}

#[test]
fn an_import_answers_first() {
    answers_first(import);
}

/// The documents' pictures of a page, on a desktop and on a phone: copy them from the printed directory to
/// `docs/guide`.
#[test]
#[ignore = "long: makes the pictures of the documents"]
fn long_pictures_of_a_page_are_taken() {
    const RUN: &[&str] =
        &["run", "cpu", "sim:", "--rate", "100k", "-d", "2m", "--p99", "80ms", "-q"];
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    pages.call(RUN);
    for (name, screen) in [("report-light.png", SCREENS[0]), ("report-phone.png", SCREENS[1])] {
        let mut browser = Browser::start(&program, screen, false);
        browser.open(&pages.report());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, browser.picture()).unwrap();
        println!("{}", path.display());
    }
}
