//! The page of a one-hour record with ten ops: the time to generate it, its size, and the time to a browser's first
//! paint.
//!
//! The record is synthetic: only the amount of data matters. A browser must be installed (Debian: chromium).

#[path = "../../cli/tests/browser/chromium.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "what the tests of the pages use")]
mod chromium;

use std::error::Error;
use std::fs;

use highwater_bench::figures::{self, Budget, Figure, median};
use highwater_bench::meters::thread_cpu;
use highwater_import::{Format, Import, Stamp, plan, record};
use highwater_model::record::{RunRecord, TelemetrySample};
use highwater_model::target_telemetry::{
    SeriesKind, TargetTelemetry, TelemetrySeries, TelemetrySource, names,
};
use highwater_report as report;

const SECONDS: u64 = 3_600;
const OPS: u64 = 10;
/// Ops of each kind per second: enough for a p99 of every second.
const OPS_PER_S: u64 = 120;
const ROUNDS: usize = 7;
/// Start of the record, seconds since 1970.
const START_S: u64 = 1_763_600_000;
/// Size of the window: width and height, pixels.
const WINDOW: (u32, u32) = (1_280, 900);
const FIRST_PAINT: &str = "new Promise(done => { const look = () => { \
    const paint = performance.getEntriesByType('paint').find(p => p.name === 'first-paint'); \
    paint ? done(paint.startTime) : setTimeout(look, 20); }; look(); })";

fn main() -> Result<(), Box<dyn Error>> {
    let record = hour()?;
    let mut making = Vec::new();
    let mut page = String::new();
    for _ in 0..ROUNDS {
        let before = thread_cpu();
        page = report::html(&record);
        making.push(thread_cpu().saturating_sub(before).as_secs_f64());
    }
    let program = chromium::program().ok_or("chromium is not installed")?;
    let place = tempfile::tempdir()?;
    let path = place.path().join("report.html");
    fs::write(&path, &page)?;
    let mut browser = chromium::Browser::start(&program, WINDOW, false);
    let mut paints = Vec::new();
    for _ in 0..ROUNDS {
        browser.open(&path);
        let paint = browser.evaluate(FIRST_PAINT).as_f64();
        paints.push(paint.ok_or("the browser tells no first paint")?);
    }
    let bytes = u32::try_from(page.len())?;
    let figures = [
        Figure::new("making the page", "CPU s", median(&making)).budget(Budget::AtMost(2.0)),
        Figure::new("the page", "MB", f64::from(bytes) / 1e6).budget(Budget::AtMost(2.0)),
        Figure::new("first paint after opening the file", "ms", median(&paints))
            .budget(Budget::AtMost(1_000.0)),
    ];
    let remark = format!(
        "A record of {SECONDS} s with {OPS} ops of {OPS_PER_S} a second each, telemetry of the load \
         generator and of a target with three nodes; medians of {ROUNDS}. The browser is Debian's \
         Chromium without a window, its network off; it and the page share the machine."
    );
    figures::print(&figures, &remark)
}

/// Ten scripts at a rate, imported from a generated transaction log and converted to a Highwater run.
fn hour() -> Result<RunRecord, Box<dyn Error>> {
    let format = Format::PgbenchLog;
    let mut import = Import::new(format);
    import.begin(format)?;
    let mut draw = 1_u64;
    for second in 0..SECONDS {
        for number in 0..OPS * OPS_PER_S {
            // A linear congruential generator (Knuth's MMIX) is enough to vary the times.
            draw = draw
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let op = number % OPS;
            let spread = (draw >> 33) % 2_000;
            let slow = if (draw >> 20).is_multiple_of(200) { 20 } else { 1 };
            let time = (900 + 150 * op + spread) * slow;
            let micros = number * 1_000_000 / (OPS * OPS_PER_S);
            let line = format!(
                "{} {} {time} {op} {} {micros:06} {}",
                number % 16,
                second * OPS_PER_S + number,
                START_S + second,
                spread / 10
            );
            import.line(&line)?;
        }
    }
    let imported = import.end()?;
    let stamp = Stamp {
        id: "one-hour".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Stamp::default()
    };
    let mut record = record(&imported, plan(&imported), &stamp).run;
    record.telemetry = (1..=SECONDS).map(own).collect();
    record.target_telemetry = Some(target());
    record.judgments = highwater_analysis::judge(&record);
    Ok(record)
}

/// A varying value between 0 and 1.
fn moving(second: u64, by: u64) -> f64 {
    f64::from(u32::try_from(second * by % 97).unwrap_or(0)) / 97.0
}

fn own(second: u64) -> TelemetrySample {
    TelemetrySample {
        time_ns: second * 1_000_000_000,
        client_cores: 0.5 + moving(second, 7) / 4.0,
        embedded_cores: 0.0,
        machine_cpu_fraction: Some(0.3 + moving(second, 11) / 4.0),
        steal_fraction: Some(0.0),
        rss_bytes: 40_000_000 + second * 100,
    }
}

/// Three nodes with the metrics that most targets report.
fn target() -> TargetTelemetry {
    let figures = [
        (names::CPU_BUSY, "share"),
        (names::HEAP_USED, "share"),
        (names::QUEUE, "1"),
        (names::DISK_BUSY, "share"),
    ];
    let series = (1..=3).flat_map(|node: u64| {
        figures.iter().map(move |(name, unit)| TelemetrySeries {
            source: "target".to_owned(),
            name: (*name).to_owned(),
            unit: (*unit).to_owned(),
            node: Some(format!("n{node}")),
            kind: SeriesKind::Level,
            values: (0..=SECONDS).map(|s| Some(moving(s, 3 + node))).collect(),
        })
    });
    TargetTelemetry {
        interval_ns: 1_000_000_000,
        times_ns: (0..=SECONDS).map(|s| s * 1_000_000_000).collect(),
        sources: vec![TelemetrySource {
            name: "target".to_owned(),
            readings: SECONDS + 1,
            ..TelemetrySource::default()
        }],
        series: series.collect(),
        series_left_out: 0,
    }
}
