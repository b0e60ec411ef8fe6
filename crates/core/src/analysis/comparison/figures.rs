//! The figures of a run that can be compared, matched by name between two groups.

use crate::analysis::judge::{MeasuredStream, measured_streams};
use crate::analysis::tuning::server_cpu_per_row;
use crate::model::plan::Unit;
use crate::model::record::RunRecord;
use crate::model::search::SearchOutcome;
use crate::model::tune::{TuneFigure, TuneOutcome, TuneRecord};

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// As with throughput.
    More,
    /// As with latency.
    Less,
}

/// A figure by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Phase, stream and op, as far as they tell; may be empty.
    pub place: String,
    /// `throughput`, `p99` …
    pub name: &'static str,
    /// `rows/s`, `queries/s`, `ns`, `bytes`.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
}

/// Figures that every run of both groups has and that are above 0 in all of them, with their
/// values.
pub(super) fn figures(a: &[&RunRecord], b: &[&RunRecord]) -> Vec<(Figure, Vec<f64>, Vec<f64>)> {
    let told = |runs: &[&RunRecord]| -> Vec<Vec<(Figure, f64)>> {
        runs.iter().map(|record| of_record(record)).collect()
    };
    let (a, b) = (told(a), told(b));
    let Some(first) = a.first() else {
        return Vec::new();
    };
    let names = first.iter().map(|(figure, _)| figure.clone());
    names
        .filter_map(|figure| {
            let values = |runs: &[Vec<(Figure, f64)>]| -> Option<Vec<f64>> {
                runs.iter()
                    .map(|run| {
                        let found = run.iter().find(|(other, _)| *other == figure)?;
                        (found.1 > 0.0).then_some(found.1)
                    })
                    .collect()
            };
            let (a, b) = (values(&a)?, values(&b)?);
            Some((figure, a, b))
        })
        .collect()
}

/// A search has one figure, its mark, a tuning that of its best cell; a run its throughputs and
/// percentiles.
fn of_record(record: &RunRecord) -> Vec<(Figure, f64)> {
    if let Some(search) = &record.search {
        let Some(SearchOutcome::Mark(mark)) = &search.outcome else {
            return Vec::new();
        };
        let figure = figure(
            search.stream.clone(),
            "mark",
            per_s(search.unit),
            Better::More,
        );
        return vec![(figure, mark.confirmed)];
    }
    if let Some(tune) = &record.tune {
        return best_cell(tune).into_iter().collect();
    }
    let mut figures = Vec::new();
    for stream in measured_streams(record) {
        figures.extend(of_stream(&stream));
    }
    let gap = record.availability.longest_gap_ns;
    figures.push((
        figure(String::new(), "longest gap", "ns", Better::Less),
        float(gap),
    ));
    if let Some(bytes) = record.target.disk_bytes_per_row {
        let name = figure(String::new(), "disk per row", "bytes", Better::Less);
        figures.push((name, bytes));
    }
    if let Some(seconds) = server_cpu_per_row(record) {
        let name = figure(String::new(), "server cpu per row", "ns", Better::Less);
        figures.push((name, seconds * 1e9));
    }
    figures
}

fn best_cell(tune: &TuneRecord) -> Option<(Figure, f64)> {
    let Some(TuneOutcome::Best(best)) = &tune.outcome else {
        return None;
    };
    let (name, unit, better, value) = match tune.by {
        TuneFigure::Throughput => ("best cell", per_s(tune.unit), Better::More, best.figure),
        TuneFigure::ServerCpuPerRow => ("best cpu per row", "ns", Better::Less, best.figure * 1e9),
        TuneFigure::DiskBytesPerRow => ("best disk per row", "bytes", Better::Less, best.figure),
    };
    Some((figure(tune.stream.clone(), name, unit, better), value))
}

fn of_stream(stream: &MeasuredStream<'_>) -> Vec<(Figure, f64)> {
    let unit = per_s(stream.stream.unit);
    let throughput = figure(stream.place(), "throughput", unit, Better::More);
    let mut figures = vec![(throughput, stream.units_per_s())];
    for result in &stream.results {
        let latency = &result.latency_ns;
        let percentiles = [
            ("p50", latency.p50),
            ("p95", latency.p95),
            ("p99", latency.p99),
            ("p999", latency.p999),
        ];
        // A lower bound is no value to compare.
        let known = percentiles
            .into_iter()
            .filter(|(name, _)| latency.at_least.iter().all(|bound| bound != name));
        figures.extend(known.filter_map(|(name, value)| {
            let name = if name == "p999" { "p99.9" } else { name };
            let figure = figure(stream.place_of(result), name, "ns", Better::Less);
            Some((figure, float(value?)))
        }));
    }
    figures
}

const fn per_s(unit: Unit) -> &'static str {
    match unit {
        Unit::Rows => "rows/s",
        Unit::Queries => "queries/s",
    }
}

const fn figure(place: String, name: &'static str, unit: &'static str, better: Better) -> Figure {
    Figure {
        place,
        name,
        unit,
        better,
    }
}

#[expect(clippy::cast_precision_loss, reason = "statistics only")]
fn float(number: u64) -> f64 {
    number as f64
}
