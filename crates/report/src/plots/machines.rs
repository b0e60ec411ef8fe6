//! The load on the machines: the load generator from its own samples, the target from its telemetry.

use highwater_analysis::telemetry::{TimeRange, mean, measured};
use highwater_model::display::foreign;
use highwater_model::numbers::to_f64;
use highwater_model::record::{RunRecord, TelemetrySample};
use highwater_model::target_telemetry::{
    SeriesKind, TargetTelemetry, TelemetrySeries, names, units,
};
use highwater_model::units::Nanos;

use super::timeline::Timeline;
use crate::chart::{Axis, Chart, Point, Quantity, Series, Shape, values};

/// A telemetry figure with its name and color.
type Figure = (&'static str, usize, fn(&TelemetrySample, f64) -> Option<f64>);

/// CPU and memory of the load generator; empty if nothing was sampled during the load.
pub(crate) fn machine(record: &RunRecord) -> Vec<Chart> {
    let Some(timeline) = Timeline::from_record(record) else {
        return Vec::new();
    };
    [cpu(&timeline), memory(&timeline)].into_iter().flatten().collect()
}

fn cpu(timeline: &Timeline<'_>) -> Option<Chart> {
    let figures: [Figure; 4] = [
        ("this program", 0, |sample, _| Some(sample.client_cores)),
        ("embedded database", 1, |sample, _| {
            (sample.embedded_cores > 0.0).then_some(sample.embedded_cores)
        }),
        ("whole machine", 2, |sample, cores| Some(sample.machine_cpu_fraction? * cores)),
        ("stolen by the hypervisor", 3, |sample, cores| {
            Some(sample.steal_fraction? * cores).filter(|stolen| *stolen > 0.0)
        }),
    ];
    let cores = cores(timeline);
    let about = format!(
        "Of {cores} cores. If this program uses most of them, the run shows its limit, not the \
         target's."
    );
    chart(
        timeline,
        Chart {
            id: "load-generator-cpu".to_owned(),
            title: "CPU of the load generator, cores".to_owned(),
            about,
            y: Axis::from_zero("cores", Quantity::Number, [cores].into_iter()),
            ..Chart::default()
        },
        &figures,
    )
}

/// Cores of all load generators.
fn cores(timeline: &Timeline<'_>) -> f64 {
    let cores = timeline.record.clients.iter().map(|client| client.cores);
    f64::from(cores.sum::<u32>())
}

fn memory(timeline: &Timeline<'_>) -> Option<Chart> {
    let figures: [Figure; 1] = [("this program", 0, |sample, _| Some(to_f64(sample.rss_bytes)))];
    let values = timeline.record.telemetry.iter().map(|sample| to_f64(sample.rss_bytes));
    let about =
        "Resident memory of the load generator; it should not grow during a run.".to_owned();
    chart(
        timeline,
        Chart {
            id: "load-generator-memory".to_owned(),
            title: "Memory of the load generator".to_owned(),
            about,
            y: Axis::from_zero("bytes", Quantity::Bytes, values),
            ..Chart::default()
        },
        &figures,
    )
}

/// A chart with one line per figure; `of` has its texts and its vertical axis. A point shows the largest value of its
/// seconds.
fn chart(timeline: &Timeline<'_>, of: Chart, figures: &[Figure]) -> Option<Chart> {
    let cores = cores(timeline);
    let series: Vec<Series> = figures
        .iter()
        .map(|(name, color, figure)| {
            let mut values: Vec<Option<f64>> = vec![None; timeline.thinning.points()];
            for sample in &timeline.record.telemetry {
                // A sample belongs to the second that ends with it.
                let second = sample.time_ns.div_ceil(Nanos::SECOND.0).saturating_sub(1);
                if let Some(point) = timeline.thinning.point_of(second) {
                    let value = figure(sample, cores);
                    values[point] = [values[point], value].into_iter().flatten().reduce(f64::max);
                }
            }
            let points = timeline.points(&values, |value, _| Point::new(0.0, *value));
            let mean = mean_while_measured(timeline.record, |sample| figure(sample, cores));
            Series { mean, ..Series::new(name, Shape::Line, *color, points) }
        })
        .filter(|series| series.points.iter().any(|point| point.y.is_some()))
        .collect();
    let thinned = timeline.thinning.note("the greatest value of them");
    let about = of.about + &thinned;
    timeline.chart(Chart { about, ..of }, series)
}

/// The mean of the load generator's samples that end in the measured phases.
fn mean_while_measured(
    record: &RunRecord,
    figure: impl Fn(&TelemetrySample) -> Option<f64>,
) -> Option<f64> {
    let range = measured(record)?;
    let is_in =
        |sample: &&TelemetrySample| range.from_ns < sample.time_ns && sample.time_ns <= range.to_ns;
    let samples = record.telemetry.iter().filter(is_in).filter_map(figure);
    let (sum, number) = samples.fold((0.0, 0.0), |(sum, number), of| (sum + of, number + 1.0));
    (number > 0.0).then(|| sum / number)
}

/// Maximum number of charts; the record has all series.
const CHARTS_MAX: usize = 16;
/// Lines of a chart that are visible at first.
const LINES_SHOWN: usize = 8;
/// Maximum points of a small multiple of a running run, which is sent each second.
const SMALL_POINTS_MAX: usize = 240;
/// Maximum characters of a name from the target.
const WORDS: usize = 60;

/// Names with the same meaning for every source, in drawing order, with their titles.
const TITLES: &[(&str, &str)] = &[
    (names::CPU_BUSY, "CPU"),
    (names::CPU_OF_SERVER, "CPU of the database's processes"),
    (names::CPU_OF_LOAD_GENERATOR, "CPU of the load generator"),
    (names::CPU_THROTTLED, "CPU quota used up"),
    (names::CPU_STEAL, "CPU stolen by the hypervisor"),
    (names::CPU_IOWAIT, "CPU idle while a disk was waited for"),
    (names::LOAD, "Load average"),
    (names::HEAP_USED, "Heap used"),
    (names::MEMORY_USED, "Memory used"),
    (names::ACTIVE, "Work in execution"),
    (names::QUEUE, "Work waiting in a queue"),
    (names::REJECTED, "Work rejected, per second"),
    (names::LOCK_WAITS, "Sessions waiting for a lock"),
    (names::DISK_WAITS, "Sessions waiting for a disk"),
    (names::CHECKPOINTS, "Checkpoints, per second"),
    (names::LOG_WRITTEN, "Log written, per second"),
    (names::DISK_READ, "Disk read, per second"),
    (names::DISK_WRITTEN, "Disk written, per second"),
    (names::DISK_BUSY, "Disk busy"),
    (names::DISK_FREE, "Disk free"),
    (names::NET_RECEIVED, "Network received, per second"),
    (names::NET_SENT, "Network sent, per second"),
];

/// A chart for each figure with values, except rejections; empty if nothing was polled.
pub(crate) fn target(record: &RunRecord) -> Vec<Chart> {
    of_record(record, "target", |name| name != names::REJECTED)
}

/// The target's own count of rejections, next to the errors that the load generator received.
pub(super) fn rejections(record: &RunRecord) -> Vec<Chart> {
    of_record(record, "target-rejected", |name| name == names::REJECTED)
}

/// All figures of a running run, over the time so far.
pub(crate) fn target_so_far(telemetry: &TargetTelemetry) -> Vec<Chart> {
    let mut telemetry = telemetry.clone();
    while telemetry.times_ns.len() > SMALL_POINTS_MAX {
        telemetry.halve();
    }
    let end = telemetry.times_ns.last().copied().map(Nanos);
    let x = Axis::between("", Quantity::Time, 0.0, end.unwrap_or_default().as_secs_f64());
    let blank = Chart { x, ..Chart::default() };
    charts((&telemetry, None), &blank, "target", |_| true)
}

fn of_record(record: &RunRecord, id: &str, selected: fn(&str) -> bool) -> Vec<Chart> {
    let (Some(telemetry), Some(timeline)) =
        (&record.target_telemetry, Timeline::from_record(record))
    else {
        return Vec::new();
    };
    let blank = timeline.blank(Chart::default());
    charts((telemetry, measured(record)), &blank, id, selected)
}

/// Telemetry, and the time over which means are taken; without one it is all time.
type Measured<'a> = (&'a TargetTelemetry, Option<TimeRange>);

/// `blank` has the time axis, and the background of all lines.
fn charts(
    (telemetry, range): Measured<'_>,
    blank: &Chart,
    id: &str,
    selected: fn(&str) -> bool,
) -> Vec<Chart> {
    let titled = TITLES.iter().map(|(name, _)| *name);
    let mut figures: Vec<[&str; 2]> = Vec::new();
    let others = telemetry.series.iter().map(|series| series.name.as_str());
    for name in titled.chain(others).filter(|name| selected(name)) {
        for series in telemetry.series.iter().filter(|s| s.name == name) {
            let figure = [name, series.source.as_str()];
            if says_anything(series) && !figures.contains(&figure) {
                figures.push(figure);
            }
        }
    }
    figures
        .into_iter()
        .take(CHARTS_MAX)
        .enumerate()
        .map(|(number, figure)| Chart {
            id: format!("{id}-{number}"),
            ..of_telemetry(blank, (telemetry, range), figure)
        })
        .collect()
}

/// A series of zeros is not drawn.
fn says_anything(series: &TelemetrySeries) -> bool {
    series.values.iter().flatten().any(|value| *value != 0.0)
}

/// The figure with this name and source.
fn of_telemetry(blank: &Chart, of: Measured<'_>, figure: [&str; 2]) -> Chart {
    let ([name, source], telemetry) = (figure, of.0);
    let of_figure =
        telemetry.series.iter().filter(|series| series.name == name && series.source == source);
    let lines: Vec<&TelemetrySeries> = of_figure.collect();
    let counted = lines.iter().any(|series| series.kind == SeriesKind::Count);
    let unit = lines.first().map_or("", |series| series.unit.as_str());
    let series: Vec<Series> = lines
        .iter()
        .enumerate()
        .map(|(number, series)| line(&blank.x, of, number, series))
        .collect();
    let (quantity, suffix) = match (unit, counted) {
        (units::SHARE, false) => (Quantity::Share, String::new()),
        ("bytes", false) => (Quantity::Bytes, "bytes".to_owned()),
        ("bytes", true) => (Quantity::Bytes, "bytes/s".to_owned()),
        (_, true) => (Quantity::Number, "per second".to_owned()),
        (_, false) => (Quantity::Number, String::new()),
    };
    let title = TITLES.iter().find(|(titled, _)| *titled == name);
    let title = title.map_or_else(|| foreign(name, WORDS), |(_, title)| (*title).to_owned());
    let y = Axis::from_zero(suffix, quantity, values(&series));
    Chart {
        title: format!("{}: {title}", foreign(source, WORDS)),
        about: format!("Reported by {}.", foreign(source, WORDS)),
        y,
        series,
        ..blank.clone()
    }
}

/// Converts counts to rates; samples before the first op are not on the axis.
fn line(
    time: &Axis,
    (telemetry, range): Measured<'_>,
    number: usize,
    series: &TelemetrySeries,
) -> Series {
    let mut points = Vec::new();
    let mut before: Option<u64> = None;
    for (at_ns, value) in telemetry.times_ns.iter().zip(&series.values) {
        let passed = before.map(|before| Nanos(at_ns.saturating_sub(before)).as_secs_f64());
        before = Some(*at_ns);
        let value = match (series.kind, passed) {
            (SeriesKind::Level, _) => *value,
            (SeriesKind::Count, Some(passed)) if passed > 0.0 => value.map(|v| v / passed),
            (SeriesKind::Count, _) => None,
        };
        let at = Nanos(*at_ns).as_secs_f64();
        if at <= time.to {
            points.push(Point::new(at, value));
        }
    }
    let node = series.node.as_ref().unwrap_or(&series.source);
    Series {
        on: number < LINES_SHOWN,
        mean: range.and_then(|range| mean(telemetry, series, range)),
        ..Series::new(&foreign(node, WORDS), Shape::Line, number, points)
    }
}
