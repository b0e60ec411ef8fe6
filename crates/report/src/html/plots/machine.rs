//! CPU and memory of the load generator, on the time axis of the run.

use highwater_model::numbers::to_f64;
use highwater_model::record::{RunRecord, TelemetrySample};
use highwater_model::units::Nanos;

use super::super::chart::{Axis, Chart, Point, Quantity, Series, Shape};
use super::timeline::Timeline;

/// A telemetry figure with its name and color.
type Figure = (&'static str, usize, fn(&TelemetrySample, f64) -> Option<f64>);

/// CPU and memory of the load generator; empty if nothing was sampled during the load.
pub(in crate::html) fn machine(record: &RunRecord) -> Vec<Chart> {
    let Some(timeline) = Timeline::of(record) else {
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
        "Of {cores} cores. A load generator that is busy measures itself: what this program takes \
         shall stay well below all of them."
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
    let about = "Resident memory of the load generator; it shall not grow with the run.".to_owned();
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
            Series::new(name, Shape::Line, *color, points)
        })
        .filter(|series| series.points.iter().any(|point| point.y.is_some()))
        .collect();
    let thinned = timeline.thinning.note("the greatest value of them");
    let about = of.about + &thinned;
    timeline.chart(Chart { about, ..of }, series)
}
