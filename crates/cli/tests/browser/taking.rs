//! Exporting from a page: figures, a drawing, paper; and text from a server has no effect.

use serde_json::{Value, json};

use crate::chromium::{self, Browser};
use crate::pages::Pages;

const WIDE: (u32, u32) = (1280, 900);

/// A short run with errors, so that the record contains text from a server.
const RUN: &[&str] = &[
    "run",
    "cpu",
    "sim:?fail=0.05",
    "--stream",
    "insert@20k",
    "--stream",
    "dashboards@40,80",
    "--step",
    "6s",
    "-q",
];

/// Ends a script and an attribute; its execution would be detected.
const HOSTILE: &str = "</script><script>window.stolen = 1</script>\
                       <img src=x onerror='window.stolen = 1'>\"'><b id=stolen>";

/// Stores what buttons would put into the clipboard and into files, for the test.
const KEEP: &str = "(() => { \
     Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { \
     window.copied = text; } } }); \
     const make = URL.createObjectURL.bind(URL); \
     URL.createObjectURL = (blob) => { window.saved = blob; return make(blob); }; \
     HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; }; return 0; })()";

#[test]
fn figures_a_drawing_and_a_printed_page_can_be_exported() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    pages.call(RUN);
    let record = pages.call(&["show", "--format", "json"]);
    let record: Value = serde_json::from_str(&record).unwrap();
    let mut browser = Browser::start(&program, WIDE, true);
    browser.open(&pages.report());
    browser.evaluate(KEEP);
    copies_what_is_plotted(&mut browser, &record);
    zooms_with_the_pointer(&mut browser);
    switches_a_series(&mut browser);
    let svg = saves_a_drawing(&mut browser);
    assert_eq!(browser.complaints, Vec::<String>::new());
    goes_to_paper(&mut browser);
    reads_elsewhere(&program, &pages.page("saved.svg", &svg));
}

/// The CSV of a chart has a line for each second, with the figures of the record.
fn copies_what_is_plotted(browser: &mut Browser, record: &Value) {
    press_button(browser, "#throughput-rows", "Copy as CSV");
    let text = browser.evaluate("window.copied");
    let lines: Vec<&str> = text.as_str().unwrap().lines().collect();
    assert_eq!(lines[0], "series,part,seconds,low,rows/s");
    let copied: Vec<(f64, f64)> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("insert,acknowledged,"))
        .map(|line| {
            let (at, value) = line.split_once(",,").unwrap();
            (at.parse().unwrap(), value.parse().unwrap())
        })
        .collect();
    let inserted: Vec<&Value> = record["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|interval| interval["stream"] == "insert")
        .collect();
    assert!(copied.len() >= 12, "{text}");
    for (at, value) in copied {
        let of_second = inserted.iter().filter(|interval| {
            let second = interval["second"].as_f64().unwrap();
            (at - second - 0.5).abs() < 1e-6 && interval["phase"] != "drain"
        });
        let rows: f64 =
            of_second.map(|interval| interval["rows_acknowledged"].as_f64().unwrap()).sum();
        assert!((value - rows).abs() < 0.5, "second {at}: {value} of {rows}");
    }
    let words = browser.evaluate("document.querySelector('#throughput-rows .tools').textContent");
    assert!(words.as_str().unwrap().starts_with("Copied"), "{words}");
}

fn press_button(browser: &mut Browser, chart: &str, text: &str) {
    browser.evaluate(&format!(
        "(async () => {{ const all = [...document.querySelectorAll('{chart} .tools button')]; \
         all.find((button) => button.textContent === '{text}').click(); \
         await new Promise((done) => setTimeout(done, 0)); return 0; }})()"
    ));
}

/// A drag zooms all charts over time; the button resets the zoom.
fn zooms_with_the_pointer(browser: &mut Browser) {
    const SHOWN: &str = "[...document.querySelectorAll('#throughput-rows, #latency')].map((chart) => \
         chart.querySelector('svg.wide .inner').getAttribute('viewBox').split(' ')[2])";
    const TICKS: &str = "[...document.querySelectorAll('#latency svg.wide .x-ticks text')]\
         .map((text) => text.textContent)";
    let whole = browser.evaluate(SHOWN);
    let ticks = browser.evaluate(TICKS);
    let place = browser.evaluate(
        "(() => { const plot = document.querySelector('#throughput-rows .plot'); \
         plot.scrollIntoView(); const box = plot.getBoundingClientRect(); \
         return [box.left + 0.4 * box.width, box.left + 0.7 * box.width, \
         Math.min(innerHeight - 20, box.top + 0.6 * box.height)]; })()",
    );
    let at = |n: usize| place[n].as_f64().unwrap();
    browser.drag([at(0), at(2)], [at(1), at(2)]);
    let part = browser.evaluate(SHOWN);
    // 0.3 of the drawing, which contains the plot.
    let expected = browser.evaluate(
        "(() => { const svg = document.querySelector('#throughput-rows svg.wide'); \
         return 0.3 * svg.viewBox.baseVal.width / Number(svg.dataset.width); })()",
    );
    let expected = expected.as_f64().unwrap();
    for chart in [0, 1] {
        let width = |of: &Value| -> f64 { of[chart].as_str().unwrap().parse().unwrap() };
        let share = width(&part) / width(&whole);
        assert!((share - expected).abs() < 0.02, "{share}, {expected}");
    }
    assert_ne!(browser.evaluate(TICKS), ticks);
    press_button(browser, "#throughput-rows", "Show all");
    assert_eq!(browser.evaluate(SHOWN), whole);
    assert_eq!(browser.evaluate(TICKS), ticks);
}

/// With only the keyboard: a switch removes its lines from the drawing and from the readout.
fn switches_a_series(browser: &mut Browser) {
    const CLICK: &str = "document.querySelector('#latency .legend button').click()";
    const STATE: &str = "(() => { const chart = document.querySelector('#latency'); \
         const drawn = [...chart.querySelectorAll('svg.wide [data-name]')].filter((of) => \
         getComputedStyle(of).display !== 'none'); \
         return [drawn.length, chart.querySelectorAll('.readout span').length, \
         chart.querySelector('.legend button').getAttribute('aria-pressed')]; })()";
    browser.evaluate("document.querySelector('#latency .plot').focus()");
    browser.press("End");
    let before = browser.evaluate(STATE);
    assert_eq!(before[2], "true");
    // The crosshair stays, and no longer reads out that series.
    browser.evaluate(CLICK);
    let read = browser.evaluate(STATE);
    assert!(read[1].as_u64() < before[1].as_u64(), "{before} {read}");
    browser.evaluate(CLICK);
    assert_eq!(browser.evaluate(STATE), before);
    browser.evaluate("document.querySelector('#latency .legend button').focus()");
    browser.press("Enter");
    let hidden = browser.evaluate(STATE);
    assert_eq!(hidden[2], "false");
    assert!(hidden[0].as_u64() < before[0].as_u64(), "{before} {hidden}");
    browser.press("Enter");
    assert_eq!(browser.evaluate(STATE)[0], before[0]);
    // Folded parts open with their own key.
    let open = "document.querySelector('details').open";
    browser.evaluate("document.querySelector('summary').focus()");
    assert_eq!(browser.evaluate(open), json!(false));
    browser.press("Enter");
    assert_eq!(browser.evaluate(open), json!(true));
    browser.press("Enter");
}

/// The content that the button saves, as text.
fn saves_a_drawing(browser: &mut Browser) -> String {
    press_button(browser, "#latency", "Download SVG");
    assert_eq!(browser.evaluate("window.savedAs"), "latency.svg");
    assert_eq!(browser.evaluate("window.saved.type"), "image/svg+xml");
    let svg = browser.evaluate("window.saved.text()");
    svg.as_str().unwrap().to_owned()
}

/// Opened on its own, the drawing has the same colors as in the page, and loads nothing.
fn reads_elsewhere(program: &std::path::Path, svg: &std::path::Path) {
    let mut browser = Browser::start(program, WIDE, false);
    browser.go(svg);
    let seen = browser.evaluate(
        "(() => { const style = (of) => getComputedStyle(document.querySelector(of)); \
         const box = document.querySelector('.line').getBoundingClientRect(); \
         return { root: document.documentElement.nodeName, \
         broken: document.querySelectorAll('parsererror').length, \
         page: style('rect').fill, line: style('.line').stroke, area: style('.line').fill, \
         text: style('text').fill, size: style('text').fontSize, wide: box.width > 300, \
         texts: document.querySelectorAll('text').length > 8, \
         links: document.querySelectorAll('[href], image, style, script').length }; })()",
    );
    assert_eq!(
        seen,
        json!({
            "root": "svg", "broken": 0, "page": "rgb(15, 19, 24)", "line": "rgb(79, 157, 240)",
            "area": "none", "text": "rgb(177, 187, 199)", "size": "12px", "wide": true,
            "texts": true, "links": 0
        })
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// On paper: light on any screen, without interactive controls, and unfolded.
fn goes_to_paper(browser: &mut Browser) {
    const SEEN: &str = "(() => { const seen = (of) => [...document.querySelectorAll(of)].filter((one) => \
         one.checkVisibility({ contentVisibilityAuto: true }) && one.getClientRects().length > 0).length; \
         return [seen('.tools, .acts, .unfold, .readout, .skip'), \
         seen('.body, .folded') === document.querySelectorAll('.body, .folded').length, \
         getComputedStyle(document.body).backgroundColor]; })()";
    let dark = json!([0, false, "rgb(15, 19, 24)"]);
    let screen = browser.evaluate(SEEN);
    assert!(screen[0].as_u64() > Some(5), "{screen}");
    assert_eq!([&screen[1], &screen[2]], [&dark[1], &dark[2]]);
    browser.media("print");
    assert_eq!(browser.evaluate(SEEN), json!([0, true, "rgb(255, 255, 255)"]));
    browser.media("");
    assert_eq!(browser.evaluate(SEEN), screen);
    // In browsers where no style can unfold parts, the print event does it.
    let folded = "[...document.querySelectorAll('details')].every((of) => of.open)";
    for (event, open) in [("beforeprint", true), ("afterprint", false)] {
        browser.evaluate(&format!("window.dispatchEvent(new Event('{event}'))"));
        assert_eq!(browser.evaluate(folded), json!(open));
    }
}

/// The page is as light or dark as the reader's screen, or as the reader switches it.
#[test]
fn the_page_is_dark_if_the_reader_prefers_it() {
    const STATE: &str = "[document.querySelector('.theme').textContent, \
         getComputedStyle(document.body).backgroundColor, \
         getComputedStyle(document.querySelector('svg.wide .line.c0')).stroke]";
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    pages.call(RUN);
    let light = json!(["Dark", "rgb(252, 252, 250)", "rgb(20, 102, 184)"]);
    let dark = json!(["Light", "rgb(15, 19, 24)", "rgb(79, 157, 240)"]);
    for (is_dark, [first, second]) in [(false, [&light, &dark]), (true, [&dark, &light])] {
        let mut browser = Browser::start(&program, WIDE, is_dark);
        browser.open(&pages.report());
        for expected in [first, second, first] {
            assert_eq!(browser.evaluate(STATE), *expected);
            browser.evaluate("document.querySelector('.theme').focus()");
            browser.press("Enter");
        }
        assert_eq!(browser.complaints, Vec::<String>::new());
    }
}

/// All text in a record is plain text on its page: nothing of it runs, and all of it is shown.
#[test]
fn text_from_a_server_is_inert_in_a_browser() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    pages.call(RUN);
    let record = pages.report().with_file_name("record.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let mut hostile: Value = serde_json::from_str(&text).unwrap();
    poison(&mut hostile);
    std::fs::write(&record, hostile.to_string()).unwrap();
    let page = pages.call(&["show", "--format", "html"]);
    let mut browser = Browser::start(&program, WIDE, false);
    browser.open(&pages.page("hostile.html", &page));
    browser.unfold();
    let seen = browser.evaluate(
        "new Promise((done) => setTimeout(() => done([window.stolen === undefined, \
         document.querySelectorAll('img, #stolen').length, \
         document.documentElement.dataset.ready === \
         String(document.querySelectorAll('figure.chart').length)]), 200))",
    );
    assert_eq!(seen, json!([true, 0, true]));
    let shown = browser.evaluate("document.querySelector('main').innerText");
    assert!(shown.as_str().unwrap().matches(HOSTILE).count() >= 3);
    // Also the names of lines under the crosshair.
    browser.evaluate("document.querySelector('#latency .plot').focus()");
    browser.press("End");
    browser.press("ArrowLeft");
    let read = browser.evaluate("document.querySelector('#latency .readout').textContent");
    assert!(read.as_str().unwrap().contains("window.stolen"), "{read}");
    assert_eq!(browser.evaluate("window.stolen === undefined"), json!(true));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Names of ops, errors, versions: everything that comes from a target or a file.
fn poison(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(poison),
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), &mut *value) {
                    ("op", Value::String(op)) if op != "insert" => {
                        *op = format!("{op}{HOSTILE}");
                    }
                    ("version", Value::String(version)) if version.starts_with("sim") => {
                        HOSTILE.clone_into(version);
                    }
                    ("error_examples", Value::Object(examples)) => {
                        for example in examples.values_mut() {
                            *example = json!(HOSTILE);
                        }
                    }
                    _ => poison(value),
                }
            }
        }
        _ => {}
    }
}
