//! Reading a page: looking at every chart, pointing at it, and using only the keyboard.

use serde_json::json;

use crate::chromium::{self, Browser};
use crate::pages::{Pages, axe};

const WIDE: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (390, 844);

/// An open run with two streams in steps, with errors: it has every kind of chart of a run.
const RUN: &[&str] = &[
    "run",
    "cpu",
    "sim:?fail=0.01",
    "--stream",
    "insert@20k",
    "--stream",
    "dashboards@40,80",
    "--step",
    "20s",
    "--p99",
    "60ms",
    "-q",
];

/// A tuning of two axes: distant numbers, and adjacent numbers.
const TUNE: &[&str] = &[
    "tune",
    "cpu",
    "sim:?queue=inf&row=1ms&request=5ms&shards=12&replicas=0",
    "--over",
    "batch=4,64,1024",
    "--over",
    "sim.nodes=1..2",
    "-c",
    "16",
    "--probe",
    "5s",
    "-q",
];

/// Nothing was fetched, and no errors occurred.
fn is_quiet(browser: &Browser) {
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Every label outside the plot of a visible chart is completely inside its drawing.
fn no_label_is_cut(browser: &mut Browser) {
    let cut = browser.evaluate(
        "[...document.querySelectorAll('figure.chart svg.wide, figure.chart svg.narrow')].flatMap(\
         drawing => { const all = drawing.getBoundingClientRect(); return all.width === 0 ? [] : \
         [...drawing.querySelectorAll('text')].filter(text => !text.closest('svg.inner')).filter(\
         text => { const box = text.getBoundingClientRect(); return box.width > 0 && \
         (box.left < all.left - 1 || box.right > all.right + 1); }).map(text => \
         `${drawing.closest('figure').id}: ${text.textContent}, ${text.getBoundingClientRect().left} of ${all.left}, ${text.getBoundingClientRect().right} of ${all.right}`); })",
    );
    assert_eq!(cut, json!([]));
}

/// The page of a run, opened from its file with the network off.
#[test]
fn every_chart_is_drawn_and_the_crosshair_shows_the_value_under_it() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    pages.call(RUN);
    let mut browser = Browser::start(&program, WIDE, false);
    browser.open(&pages.report());
    browser.unfold();
    let charts = browser.evaluate("document.querySelectorAll('figure.chart').length");
    assert!(charts.as_u64().unwrap() >= 6, "{charts}");
    assert_eq!(
        browser.evaluate("document.documentElement.dataset.ready"),
        json!(charts.to_string())
    );
    // Each chart has visible lines or marks.
    let empty = browser.evaluate(
        "[...document.querySelectorAll('figure.chart')].filter(figure => ![...figure.querySelectorAll(\
         'svg.wide .line, svg.wide .bars, svg.wide .glyph, svg.wide .band')].some(path => \
         path.getBoundingClientRect().width > 50)).map(figure => figure.id)",
    );
    assert_eq!(empty, json!([]));
    points_at_a_value(&mut browser);
    reads_by_keys(&mut browser);
    uses_keys(&mut browser);
    is_quiet(&browser);
}

/// The pointer is over a second of the first chart: the readout equals its data.
fn points_at_a_value(browser: &mut Browser) {
    const CHART: &str = "document.querySelector('#throughput-rows')";
    browser.evaluate(&format!("{CHART}.scrollIntoView()"));
    let place = browser.evaluate(&format!(
        "(() => {{ const svg = {CHART}.querySelector('svg.wide'); const box = svg.getBoundingClientRect(); \
         const scale = box.width / svg.viewBox.baseVal.width; const data = \
         JSON.parse({CHART}.querySelector('.data').textContent); const series = data.series.at(-1); \
         const n = 17; const x = series.x || data.series[0].x; \
         const part = (x[n] - data.x.from) / (data.x.to - data.x.from); \
         return {{ x: box.left + (Number(svg.dataset.left) + part * Number(svg.dataset.width)) * scale, \
         y: box.top + box.height / 2, value: series.y[n], at: x[n], name: series.name }}; }})()"
    ));
    let number = |name: &str| place[name].as_f64().unwrap();
    browser.point(number("x"), number("y"));
    let read = browser.evaluate(&format!("{CHART}.querySelector('.readout').textContent"));
    let read = read.as_str().unwrap();
    let value =
        browser.evaluate(&format!("Math.round({}).toLocaleString('en-US')", number("value")));
    let second = format!("0:{:02.0}", number("at").floor());
    assert!(read.starts_with(&second), "{read} at {place}");
    assert!(
        read.contains(&format!("insert acknowledged {} rows/s", value.as_str().unwrap())),
        "{read}"
    );
    // The charts over time share one crosshair.
    let others = browser.evaluate(
        "[...document.querySelectorAll('figure.chart')].filter(figure => \
         figure.querySelector('.wide .cross[d]')).length",
    );
    assert!(others.as_u64().unwrap() >= 4, "{others}");
    // After a key press, the crosshair stays when the pointer leaves.
    browser.evaluate("document.querySelector('#latency .plot').focus({ preventScroll: true })");
    browser.press("Home");
    browser.point(1.0, 1.0);
    let read = browser.evaluate("document.querySelector('#latency .readout').textContent");
    assert!(read.as_str().unwrap().contains("insert"), "{read}");
    browser.evaluate("document.activeElement.blur()");
}

/// Tab reaches every control; arrows move the crosshair, plus zooms, a switch hides a line.
fn uses_keys(browser: &mut Browser) {
    // Folded controls are reached after unfolding.
    browser.unfold();
    let expected = browser.evaluate(
        "[...document.querySelectorAll('a, button, summary, [tabindex=\"0\"]')].filter(element => \
         element.getClientRects().length > 0).length",
    ).as_u64().unwrap();
    browser.evaluate(
        "window.reached = new Set(); document.activeElement.blur(); window.scrollTo(0, 0)",
    );
    for _ in 0..expected + 5 {
        browser.press("Tab");
        browser.evaluate("window.reached.add(document.activeElement); 0");
    }
    let missed = browser.evaluate(
        "[...document.querySelectorAll('a, button, summary, [tabindex=\"0\"]')].filter(element => \
         element.getClientRects().length > 0 && !window.reached.has(element))\
         .map(element => element.outerHTML.slice(0, 80))",
    );
    assert_eq!(missed, json!([]));
    let focus = "document.querySelector('#latency .plot').focus()";
    browser.evaluate(focus);
    browser.press("ArrowRight");
    let read = "document.querySelector('#latency .readout').textContent";
    let first = browser.evaluate(read);
    browser.press("ArrowRight");
    let second = browser.evaluate(read);
    assert!(first != second && second.as_str().unwrap().contains("insert"), "{first} {second}");
    // Back to the start; one key each for the ends of the axis.
    browser.press("ArrowLeft");
    assert_eq!(browser.evaluate(read), first);
    browser.press("End");
    assert_ne!(browser.evaluate(read), first);
    browser.press("Home");
    assert_eq!(browser.evaluate(read), first);
    let box_of = "document.querySelector('#latency svg.wide .inner').getAttribute('viewBox')";
    let whole = browser.evaluate(box_of);
    browser.press("+");
    assert_ne!(browser.evaluate(box_of), whole);
    browser.press("0");
    assert_eq!(browser.evaluate(box_of), whole);
    let hidden = browser.evaluate(
        "(() => { const button = document.querySelector('#latency .legend button'); button.click(); \
         return [button.getAttribute('aria-pressed'), getComputedStyle(document.querySelector(\
         '#latency svg.wide [data-name][data-on=\"false\"]')).display]; })()",
    );
    assert_eq!(hidden, json!(["false", "none"]));
    let csv = browser.evaluate("document.querySelectorAll('.tools button').length");
    assert!(csv.as_u64().unwrap() >= 12, "{csv}");
}

/// Every chart can be focused, and reads out the values at the crosshair after an arrow key.
fn reads_by_keys(browser: &mut Browser) {
    let charts = browser.evaluate("document.querySelectorAll('figure.chart').length");
    for chart in 0..charts.as_u64().unwrap() {
        let of = format!("document.querySelectorAll('figure.chart')[{chart}]");
        browser.evaluate(&format!("{of}.querySelector('.plot').focus()"));
        browser.press("Home");
        browser.press("ArrowRight");
        let read = browser.evaluate(&format!(
            "[{of}.id, {of}.querySelector('.readout').textContent, \
             {of}.querySelectorAll('.readout span').length]"
        ));
        assert!(
            read[1].as_str().is_some_and(|read| !read.is_empty()) && read[2].as_u64() > Some(0),
            "{read}"
        );
    }
}

#[test]
fn the_page_is_accessible_on_a_wide_screen_in_light_colors() {
    keeps_no_reader_out(WIDE, false);
}

#[test]
fn the_page_is_accessible_on_a_phone_in_dark_colors() {
    keeps_no_reader_out(PHONE, true);
}

/// No violation that axe-core calls serious or critical, and nothing wider than the screen.
fn keeps_no_reader_out(size: (u32, u32), dark: bool) {
    let (Some(program), Some(axe)) = (chromium::program(), axe()) else {
        return;
    };
    let pages = Pages::new();
    pages.call(RUN);
    let mut browser = Browser::start(&program, size, dark);
    browser.open(&pages.report());
    browser.unfold();
    let wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert!(wide.as_i64().unwrap() <= 0, "{size:?}: {wide} pixels too wide");
    browser.evaluate(&format!("{axe}; 0"));
    let faults = browser.evaluate(
        "axe.run().then(result => result.violations.filter(fault => \
         ['serious', 'critical'].includes(fault.impact)).map(fault => fault.id + ': ' + \
         fault.nodes.slice(0, 3).map(node => node.html.slice(0, 120)).join(' | ')))",
    );
    assert_eq!(faults, json!([]), "{size:?} dark: {dark}");
    no_label_is_cut(&mut browser);
    is_quiet(&browser);
}

/// Searches, tunings, comparisons and plans have pages too.
#[test]
#[ignore = "long: a search, a tuning and two groups of runs"]
fn long_every_kind_of_page_is_drawn_without_a_fault() {
    let Some(program) = chromium::program() else {
        return;
    };
    let pages = Pages::new();
    pages.call(&["find", "cpu", "sim:", "--p99", "60ms", "--quick", "-q"]);
    let search = pages.report();
    pages.call(TUNE);
    let tuning = pages.report();
    pages.call(&["run", "cpu", "sim:", "-d", "20s", "-q", "-o", "a"]);
    pages.call(&["run", "cpu", "sim:", "-d", "20s", "-q", "-o", "b", "--seed", "42"]);
    let compared = pages.call(&["compare", "a", "b", "--format", "html"]);
    let compared = pages.page("compared.html", &compared);
    pages.call(&["size", "1M", "--assume", "cratedb-1m", "--html", "size.html"]);
    let sized = search.ancestors().nth(3).unwrap().join("size.html");
    for (page, chart) in [
        (search, "probes-achieved"),
        (tuning, "axis-1"),
        (compared, "overlaid-rows"),
        (sized, "growth-0"),
    ] {
        let mut browser = Browser::start(&program, WIDE, false);
        browser.open(&page);
        browser.unfold();
        let drawn =
            format!("document.querySelector('#{chart} svg.wide').getBoundingClientRect().width");
        assert!(browser.evaluate(&drawn).as_f64().unwrap() > 500.0);
        reads_by_keys(&mut browser);
        no_label_is_cut(&mut browser);
        is_quiet(&browser);
        let mut phone = Browser::start(&program, PHONE, true);
        phone.open(&page);
        phone.unfold();
        no_label_is_cut(&mut phone);
        is_quiet(&phone);
    }
}
