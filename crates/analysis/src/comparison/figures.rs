//! The figures of a run that can be compared, matched by name between two groups.

use crate::growth;
use crate::judge::shares::{failed_ops, offered};
use crate::judge::{MeasuredStream, measured_streams};
use crate::tuning::server_cpu_per_row;
use highwater_model::group::{Better, Figure, Sample, SampledFigure, Scale};
use highwater_model::numbers::to_f64;
use highwater_model::plan::{Objective, Unit};
use highwater_model::record::{ImportedPace, MissingField};
use highwater_model::record::{MeasuredRun, Question, RecordRef, ResultRecord};
use highwater_model::scale::ScaleRecord;
use highwater_model::search::{SearchOutcome, SearchRecord};
use highwater_model::target_telemetry::units;
use highwater_model::tune::{TuneFigure, TuneOutcome, TuneRecord};

/// The figure of a search, and of each size of a growth.
const MARK: &str = "mark";
/// The figure by which searches are compared if not all of them have a mark.
pub const ESTIMATE: &str = "estimate";
/// The figure of a stream in closed load.
const THROUGHPUT: &str = "throughput";

/// The smallest difference that matters on a scale; `ratio` is that of figures compared by ratio.
///
/// If one op in a thousand fails, the finest percentile compared has no finite value. A second counts as a whole, and a
/// run of some minutes has too few seconds to show less than one in a hundred.
pub(super) const fn practical(scale: Scale, ratio: f64) -> f64 {
    match scale {
        Scale::Ratio => ratio,
        Scale::ShareOfOps => 0.001,
        Scale::ShareOfSeconds => 0.01,
    }
}

/// A figure's value in one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Value {
    /// +∞ if the percentile falls among failed ops.
    pub(super) value: f64,
    /// Number of ops or seconds that a fraction refers to; 1 for any other figure.
    pub(super) of: f64,
}

/// A figure with its values in the runs of each group.
pub(super) type FigureOfBoth = (Figure, [Vec<Value>; 2]);

/// Figures present in every run of both groups, with their values; figures compared by ratio are above 0 in all
/// runs. A group lacks a percentile if it is not finite in every run of the group; if both groups lack it, it is
/// left out.
pub(super) fn figures(a: &[&Sample], b: &[&Sample]) -> Vec<FigureOfBoth> {
    let Some(first) = a.first() else {
        return Vec::new();
    };
    let has_mark = |run: &&Sample| run.figures.iter().any(|of| of.figure.name == MARK);
    let all_marked = a.iter().chain(b).all(has_mark);
    first
        .figures
        .iter()
        .map(|sampled| sampled.figure.clone())
        .filter(|figure| !(all_marked && figure.name == ESTIMATE))
        .filter_map(|figure| {
            let values = |runs: &[&Sample]| -> Option<Vec<Value>> {
                runs.iter()
                    .map(|run| {
                        let mut figures = run.figures.iter();
                        let sampled = figures.find(|sampled| sampled.figure == figure)?;
                        let of = sampled.of;
                        let value = if sampled.at_least { f64::INFINITY } else { sampled.value };
                        let is_compared = figure.scale.is_share() || value > 0.0;
                        is_compared.then_some(Value { value, of })
                    })
                    .collect()
            };
            let values = [values(a)?, values(b)?];
            let is_in_one = values.iter().any(|of_group| is_finite(of_group));
            is_in_one.then_some((figure, values))
        })
        .collect()
}

/// Whether a group has a figure: it is finite in all of its runs.
pub(super) fn is_finite(of_group: &[Value]) -> bool {
    of_group.iter().all(|value| value.value.is_finite())
}

/// Name of the figure that a record is about: throughput in closed load; in open load the objective's percentile, or
/// p99. A search or a tuning has only one figure.
pub(super) fn question(record: RecordRef<'_>) -> Option<String> {
    if record.experiment().is_some() {
        return Some(sampled(record).into_iter().next()?.figure.name);
    }
    let run = record.measured_run();
    let mut streams = run.streams.iter();
    let is_open = streams.any(|stream| stream.planned_rate.is_some())
        || run.origin.is_some_and(|origin| origin.pace == ImportedPace::Open);
    let name =
        if is_open { objective_percentile(&run.plan.definition.objectives) } else { THROUGHPUT };
    Some(name.to_owned())
}

/// Position of the figure that is tested first: the named one, with or without its place (the first of several places);
/// otherwise the figure that the runs of A are about, or throughput if not all runs have it.
pub(super) fn primary(
    a: &[&Sample],
    of_both: &[FigureOfBoth],
    named: Option<&str>,
) -> Option<usize> {
    let at = |is: &dyn Fn(&Figure) -> bool| of_both.iter().position(|(figure, _)| is(figure));
    if let Some(named) = named {
        return at(&|figure| figure.full_name() == named)
            .or_else(|| at(&|figure| figure.name == named));
    }
    let question = a.first()?.primary.as_deref().unwrap_or(THROUGHPUT);
    let names = [question, ESTIMATE, THROUGHPUT];
    names.into_iter().find_map(|name| at(&|figure| figure.name == name))
}

/// The objective's percentile as figures are named, or the next one that is compared.
fn objective_percentile(objectives: &[Objective]) -> &'static str {
    let quantile = objectives.iter().find_map(Objective::quantile_ppm);
    match quantile.unwrap_or(990_000) {
        ..=500_000 => "p50",
        500_001..=950_000 => "p95",
        950_001..=990_000 => "p99",
        _ => "p99.9",
    }
}

/// The figures of a record. A search has its mark, a tuning the rate of its best configuration; a run its throughputs,
/// percentiles, failed ops, availability, and cost per row.
pub(super) fn sampled(record: RecordRef<'_>) -> Vec<SampledFigure> {
    match record.experiment().map(|experiment| &experiment.question) {
        Some(Question::Search(search)) => marks(search),
        Some(Question::Tune(tune)) => best_configuration(tune).into_iter().collect(),
        // A group's runs are compared individually.
        Some(Question::Group(_)) => Vec::new(),
        Some(Question::Scale(scale)) => marks_by_size(scale),
        None => of_run(&record.measured_run()),
    }
}

/// A figure for each size that counts.
fn marks_by_size(scale: &ScaleRecord) -> Vec<SampledFigure> {
    let sizes = growth::counted(scale).map(|trial| {
        let nodes = trial.size.nodes;
        let plural = if nodes == 1 { "" } else { "s" };
        let place = format!("{nodes} node{plural} {}", scale.stream);
        let figure = figure(place, MARK, &per_s(scale.unit), Better::More);
        plain(figure, trial.figures.per_s)
    });
    sizes.collect()
}

/// The mark and the estimate of a search, if it has them.
fn marks(search: &SearchRecord) -> Vec<SampledFigure> {
    let (mark, estimate) = match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => (Some(mark.confirmed), mark.estimate),
        Some(SearchOutcome::NoMark(no_mark)) => (None, no_mark.estimate),
        None => (None, None),
    };
    let unit = per_s(search.unit);
    let sampled = |name, value: Option<f64>| {
        let figure = figure(search.stream.clone(), name, &unit, Better::More);
        value.map(|value| plain(figure, value))
    };
    let estimate = estimate.map(|found| found.value);
    [sampled(MARK, mark), sampled(ESTIMATE, estimate)].into_iter().flatten().collect()
}

fn of_run(record: &MeasuredRun<'_>) -> Vec<SampledFigure> {
    let mut figures = Vec::new();
    for stream in measured_streams(record) {
        figures.extend(of_stream(&stream));
        let results = stream.results.iter();
        figures.extend(results.filter_map(|result| failed(record, &stream, result)));
    }
    figures.extend(of_availability(record));
    let less = |name, unit| figure(String::new(), name, unit, Better::Less);
    if let Some(bytes) = record.target.disk_bytes_per_row {
        figures.push(plain(less("disk per row", "bytes"), bytes));
    }
    if let Some(seconds) = server_cpu_per_row(record) {
        figures.push(plain(less("server CPU per row", "ns"), seconds * 1e9));
    }
    figures
}

/// The fraction of ops that failed or were never sent, as objectives count it; absent if a tool does not distinguish
/// them.
fn failed(
    record: &MeasuredRun<'_>,
    stream: &MeasuredStream<'_>,
    result: &ResultRecord,
) -> Option<SampledFigure> {
    let needed = [MissingField::Offered, MissingField::Acknowledged, MissingField::Errors];
    if needed.into_iter().any(|what| leaves_out(record, what)) {
        return None;
    }
    let of_ops = [failed_ops(result), offered(result)];
    share(stream.place_of(result), "failed", Scale::ShareOfOps, of_ops)
}

/// Gaps and seconds of all ops together.
fn of_availability(record: &MeasuredRun<'_>) -> Vec<SampledFigure> {
    if leaves_out(record, MissingField::Availability) {
        return Vec::new();
    }
    let seen = &record.availability;
    let gap = figure(String::new(), "longest gap", "ns", Better::Less);
    let mut figures = vec![plain(gap, to_f64(seen.longest_gap_ns))];
    let seconds: u64 = seen.acknowledged_per_s.iter().map(|_| 1).sum();
    let shares =
        [("seconds without a response", seen.dips), ("slow seconds", seen.seconds_below_half)];
    figures.extend(shares.into_iter().filter_map(|(name, part)| {
        let of_seconds = [part, seconds];
        share(String::new(), name, Scale::ShareOfSeconds, of_seconds)
    }));
    figures
}

fn leaves_out(record: &MeasuredRun<'_>, what: MissingField) -> bool {
    record.origin.is_some_and(|origin| origin.leaves_out(what))
}

fn best_configuration(tune: &TuneRecord) -> Option<SampledFigure> {
    let Some(TuneOutcome::Best(best)) = &tune.outcome else {
        return None;
    };
    let per_s = per_s(tune.unit);
    let (name, unit, better, value) = match tune.by {
        TuneFigure::Throughput => ("best configuration", &*per_s, Better::More, best.figure),
        TuneFigure::ServerCpuPerRow => ("best cpu per row", "ns", Better::Less, best.figure * 1e9),
        TuneFigure::DiskBytesPerRow => ("best disk per row", "bytes", Better::Less, best.figure),
    };
    let figure = figure(tune.stream.clone(), name, unit, better);
    Some(plain(figure, value))
}

fn of_stream(stream: &MeasuredStream<'_>) -> Vec<SampledFigure> {
    let unit = per_s(stream.stream.unit);
    let throughput = figure(stream.to_string(), THROUGHPUT, &unit, Better::More);
    let mut figures = vec![plain(throughput, stream.units_per_s())];
    for result in &stream.results {
        let latency = &result.latency_ns;
        let percentiles = [
            ("p50", latency.p50),
            ("p95", latency.p95),
            ("p99", latency.p99),
            ("p999", latency.p999),
        ];
        figures.extend(percentiles.into_iter().filter_map(|(name, value)| {
            let at_least = latency.at_least.iter().any(|bound| bound == name);
            let name = if name == "p999" { "p99.9" } else { name };
            let figure = figure(stream.place_of(result), name, "ns", Better::Less);
            Some(SampledFigure { at_least, ..plain(figure, to_f64(value?)) })
        }));
    }
    figures
}

fn per_s(unit: Unit) -> String {
    format!("{}/s", unit.name())
}

fn plain(figure: Figure, value: f64) -> SampledFigure {
    SampledFigure { figure, value, of: 1.0, at_least: false }
}

fn figure(place: String, name: &str, unit: &str, better: Better) -> Figure {
    Figure { place, name: name.to_owned(), unit: unit.to_owned(), better, scale: Scale::Ratio }
}

/// A fraction of a whole; absent if the whole is 0.
fn share(place: String, name: &str, scale: Scale, parts: [u64; 2]) -> Option<SampledFigure> {
    let [part, of] = parts.map(to_f64);
    let figure = Figure { scale, ..figure(place, name, units::SHARE, Better::Less) };
    (of > 0.0).then(|| SampledFigure { of, ..plain(figure, part / of) })
}
