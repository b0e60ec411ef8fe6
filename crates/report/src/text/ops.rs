//! The table of ops: percentiles, and in open load their components.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{ABSENT, count, duration, foreign, percent_of, rate};
use highwater_model::histogram::LatencySummary;
use highwater_model::import_record::{ImportRecord, LatencyBegin, MissingField};
use highwater_model::plan::{Objective, Unit};
use highwater_model::record::{MeasuredRun, ResultRecord, RunRecord};

use crate::layout::{Row, aligned, labeled, list, or_absent};

/// Maximum characters of the target's text about an error.
const EXAMPLE: usize = 120;

/// Which columns a table has.
#[derive(Debug, Clone, Copy)]
struct Columns {
    /// Several measured phases.
    phase: bool,
    /// Streams with names other than those of their ops.
    stream: bool,
    /// Several rows, with rates that the counts above do not show.
    rates: bool,
    /// Any open load.
    open: bool,
    /// Rows for row latencies.
    row_latency: bool,
}

impl Columns {
    /// The first cells of a row, as far as the table has their columns: phase, stream and op, and the rates.
    fn of(self, names: [&str; 3], rates: [&str; 2]) -> Vec<String> {
        let [phase, stream, op] = names;
        let cells = [(self.phase, phase), (self.stream, stream), (true, op)]
            .into_iter()
            .chain(rates.map(|of| (self.rates, of)));
        cells.filter(|(has, _)| *has).map(|(_, cell)| cell.to_owned()).collect()
    }
}

pub(super) fn lines(record: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Vec<String> {
    let Some((rows, words)) = table(record, measured) else {
        return Vec::new();
    };
    let mut lines = aligned(&rows, words);
    let labels = std::iter::once("errors").chain(std::iter::repeat(""));
    let failures = failures(measured).into_iter().zip(labels);
    lines.extend(failures.map(|(text, label)| labeled(label, &text)));
    lines
}

/// The head and a row for each op, and the number of columns with words; absent if nothing was measured.
pub(crate) fn table(
    record: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
) -> Option<(Vec<Row>, usize)> {
    if measured.iter().all(|stream| stream.results.is_empty()) {
        return None;
    }
    let columns = columns(record, measured);
    let mut rows = vec![header(columns)];
    for stream in measured {
        for result in &stream.results {
            rows.push(row(columns, stream, result, record.origin));
            let of_rows = result.row_latency_ns.iter().filter(|_| columns.row_latency);
            rows.extend(of_rows.map(|latency| row_latency(columns, latency)));
        }
    }
    let words = 1 + usize::from(columns.phase) + usize::from(columns.stream);
    Some((rows, words))
}

fn columns(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Columns {
    let first = measured.first().map_or("", |stream| &stream.phase.name);
    let phase = measured.iter().any(|stream| stream.phase.name != first);
    let results = || measured.iter().flat_map(|stream| &stream.results);
    let mut objectives = record.plan.definition.objectives.iter();
    let bounds_rows = objectives.any(|of| matches!(of, Objective::RowLatency { .. }));
    Columns {
        phase,
        stream: results().any(|result| result.stream != result.op),
        rates: results().count() > 1,
        open: results().any(|result| result.open),
        row_latency: bounds_rows || !phase,
    }
}

fn header(columns: Columns) -> Row {
    let mut cells = columns.of(["phase", "stream", "op"], ["planned/s", "acked/s"]);
    cells.extend(["p50", "p95", "p99", "p99.9", "max"].map(str::to_owned));
    if columns.open {
        cells.extend(["service p99", "session wait p99"].map(str::to_owned));
    }
    cells.push("errors".to_owned());
    Row::new(cells)
}

fn row(
    columns: Columns,
    stream: &MeasuredStream<'_>,
    result: &ResultRecord,
    imported: Option<&ImportRecord>,
) -> Row {
    let names = [&result.phase, &result.stream, &result.op].map(String::as_str);
    let planned = or_absent(stream.planned_rate_of(result), rate);
    let mut cells = columns.of(names, [&planned, &rate(reached(stream, result))]);
    cells.extend(percentiles(&result.latency_ns));
    if columns.open {
        let [service, wait] = if result.open {
            [&result.service_ns, &result.session_wait_ns].map(|s| figure(s, "p99", s.p99))
        } else {
            [String::new(), String::new()]
        };
        cells.extend([service, wait]);
    }
    cells.push(match imported {
        Some(origin) if origin.leaves_out(MissingField::Errors) => ABSENT.to_owned(),
        _ => count(result.failed_ops()),
    });
    let begins = match imported {
        Some(origin) if origin.leaves_out(MissingField::Latency) => None,
        Some(origin) => Some(begin(origin.begin)),
        None => (!result.open).then_some("closed load: latency = service time"),
    };
    let backlog = result.backlog.then_some("percentiles of a backlog");
    Row::new(cells).remark(list(begins.into_iter().chain(backlog), " · "))
}

/// Where another tool's latency begins.
const fn begin(begin: LatencyBegin) -> &'static str {
    match begin {
        LatencyBegin::Intended => "from the intended start",
        LatencyBegin::Sent => "service time",
        LatencyBegin::NotReported => "where latency begins is not reported",
    }
}

fn reached(stream: &MeasuredStream<'_>, result: &ResultRecord) -> f64 {
    match stream.stream.unit {
        Unit::Rows => result.throughput.rows_per_s,
        Unit::Queries => result.throughput.ops_per_s,
    }
}

fn row_latency(columns: Columns, summary: &LatencySummary) -> Row {
    let mut cells = columns.of(["", "", "row latency"], ["", ""]);
    cells.extend(percentiles(summary));
    Row::new(cells)
}

fn percentiles(summary: &LatencySummary) -> [String; 5] {
    [
        figure(summary, "p50", summary.p50),
        figure(summary, "p95", summary.p95),
        figure(summary, "p99", summary.p99),
        figure(summary, "p999", summary.p999),
        figure(summary, "max", summary.max),
    ]
}

/// `2.31 ms`, `≥ 2.31 ms`, or `–` where there are too few samples.
pub(crate) fn figure(summary: &LatencySummary, name: &str, value: Option<u64>) -> String {
    let is_bound = summary.at_least.iter().any(|other| other == name);
    let sign = if is_bound { "≥ " } else { "" };
    or_absent(value, |ns| format!("{sign}{}", duration(ns)))
}

/// Failed ops by op and cause, most frequent first: `put: 2,558 of 25,000 (10.2%) failed: 23514 …`.
pub(crate) fn failures(measured: &[MeasuredStream<'_>]) -> Vec<String> {
    let mut all: Vec<(u64, String)> = Vec::new();
    for stream in measured {
        for result in &stream.results {
            let mut line = |count: u64, class: &str, cause: &str| {
                let place = foreign(&stream.place_of(result), EXAMPLE);
                let of = [count, result.sent].map(highwater_model::display::count);
                let share = percent_of(count, result.sent);
                let cause = foreign(cause, EXAMPLE);
                let [partial, of_class] =
                    [&result.partial, &result.errors].map(|by_class| by_class.get(class).copied());
                let how = match partial {
                    None | Some(0) => "failed",
                    _ if partial == of_class => "failed in part",
                    _ => "failed as a whole or in part",
                };
                let text = format!("{place}: {} of {} ({share}) {how}: {cause}", of[0], of[1]);
                all.push((count, text));
            };
            for failure in &result.failures {
                line(failure.count, &failure.class, &failure.cause());
            }
            // From another tool, or from before messages were counted.
            let classes = result.errors.iter().filter(|(_, number)| **number > 0);
            for (class, number) in classes.filter(|_| result.failures.is_empty()) {
                let example = result.error_examples.get(class);
                let example =
                    example.map_or_else(String::new, |example| format!(", such as “{example}”"));
                line(*number, class, &format!("{class}{example}"));
            }
        }
    }
    all.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    all.into_iter().map(|(_, text)| text).collect()
}
