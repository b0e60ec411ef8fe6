//! Latency: a table of the ops with their percentiles and in open load its components, failed ops, and the sizes of
//! responses.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{ABSENT, bytes, count, foreign, percent_of, plain, rate, ratio};
use highwater_model::histogram::LatencySummary;
use highwater_model::numbers::round_to_u64;
use highwater_model::plan::{Objective, Unit};
use highwater_model::record::{ImportRecord, MissingField};
use highwater_model::record::{MeasuredRun, ResultRecord, RunRecord};

use crate::answer::plural;
use crate::blocks::{Block, Section, Table};
use crate::kinds::import;
use crate::layout::{self, Remark, Row, headed, list, or_absent};
use crate::plots;

/// Maximum characters of the target's text about an error.
const EXAMPLE: usize = 120;
/// What the words of the table mean, in every load and in each kind of load.
const PERCENTILES: &str = "A percentile is the latency that this part of the ops did not exceed; p50 is the median. It \
                           needs enough ops and is left out without them; ≥ marks ops that failed or never ended.";
const OPEN: &str = "Open load: ops are sent at a rate, whatever the target does. Service time counts from the sending, \
                    latency from the intended time; session wait is how long an op waited for a free session.";
const CLOSED: &str = "Closed load: each session sends its next op when the previous one completes, so no op waits, and \
                      latency is the service time.";

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
    /// The first cells of a row, if the table has their columns: phase, stream and op, and the rates.
    fn cells(self, names: [&str; 3], rates: [&str; 2]) -> Vec<String> {
        let [phase, stream, op] = names;
        let cells = [(self.phase, phase), (self.stream, stream), (true, op)]
            .into_iter()
            .chain(rates.map(|of| (self.rates, of)));
        cells.filter(|(has, _)| *has).map(|(_, cell)| cell.to_owned()).collect()
    }
}

/// The latency of each op, and the failed ops; absent if nothing was measured.
pub(super) fn section(
    record: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
) -> Option<Section> {
    let (rows, words) = table(record, measured)?;
    let open = measured.iter().any(MeasuredStream::is_open);
    let kind = match record.origin {
        Some(origin) => import::begin(origin.begin).1,
        None if open => OPEN,
        None => CLOSED,
    };
    let notes = Remark::listed("errors", failures(measured)).collect();
    Some(Section {
        id: "latency-of-ops",
        title: "Latency",
        lead: slowest(measured),
        blocks: vec![
            Block::Table(Table { notes, ..Table::new("Latency of each op", rows, words) }),
            Block::Term(format!("{PERCENTILES} {kind}")),
            Block::Charts(plots::distributions(record)),
        ],
    })
}

/// The head and a row for each op, and the number of columns with words; absent if nothing was measured.
fn table(record: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Option<(Vec<Row>, usize)> {
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
    let mut cells = columns.cells(["phase", "stream", "op"], ["planned/s", "acked/s"]);
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
    let mut cells = columns.cells(names, [&planned, &rate(reached(stream, result))]);
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
        Some(origin) => Some(import::begin(origin.begin).0),
        None => (!result.open).then_some("closed load: latency = service time"),
    };
    let backlog = result.backlog.then_some("percentiles of a backlog");
    Row::new(cells).remark(list(begins.into_iter().chain(backlog), " · "))
}

fn reached(stream: &MeasuredStream<'_>, result: &ResultRecord) -> f64 {
    match stream.stream.unit {
        Unit::Rows => result.throughput.rows_per_s,
        Unit::Queries | Unit::Transactions => result.throughput.ops_per_s,
    }
}

fn row_latency(columns: Columns, summary: &LatencySummary) -> Row {
    let mut cells = columns.cells(["", "", "row latency"], ["", ""]);
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

/// `2.31 ms`, `≥ 2.31 ms`, or `–` if there are too few samples.
pub(crate) fn figure(summary: &LatencySummary, name: &str, value: Option<u64>) -> String {
    let is_bound = summary.at_least.iter().any(|other| other == name);
    or_absent(value, |ns| layout::latency(ns, is_bound))
}

/// Failed ops by op and cause, most frequent first: `put: 2,558 of 25,000 (10.2%) failed: 23514 …`.
pub(super) fn failures(measured: &[MeasuredStream<'_>]) -> Vec<String> {
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

/// The slowest op by its p99, otherwise by its maximum.
fn slowest(measured: &[MeasuredStream<'_>]) -> String {
    let all = || {
        measured
            .iter()
            .flat_map(|stream| stream.results.iter().map(move |result| (stream, *result)))
    };
    let of = |result: &ResultRecord| result.latency_ns.p99.or(result.latency_ns.max);
    let slowest = all().filter_map(|(stream, result)| Some((of(result)?, stream, result)));
    let Some((_, stream, result)) = slowest.max_by_key(|(ns, ..)| *ns) else {
        return "not measured".to_owned();
    };
    let shown = [
        ("p50", result.latency_ns.p50),
        ("p99", result.latency_ns.p99),
        ("max", result.latency_ns.max),
    ];
    let shown = shown.into_iter().filter(|(_, ns)| ns.is_some());
    let shown = shown.map(|(name, ns)| format!("{name} {}", figure(&result.latency_ns, name, ns)));
    let which = if all().count() > 1 { "slowest op: " } else { "" };
    let place = foreign(&stream.place_of(result), EXAMPLE);
    format!("{which}{place} {}", list(shown, ", "))
}

/// Amount of returned data; absent if nothing was returned.
pub(crate) fn responses(measured: &[MeasuredStream<'_>]) -> Option<Section> {
    let head = "op | responses | bytes per response | rows per response | bytes per second";
    let of_streams = measured.iter().flat_map(|stream| {
        stream
            .results
            .iter()
            .filter(|r| r.response_bytes > 0)
            .map(move |result| answer(stream, result))
    });
    let rows = headed(head, of_streams);
    let ops = rows.len() - 1;
    (ops > 0).then(|| Section {
        id: "answers",
        title: "Response sizes",
        lead: format!("of {}", plural(ops, "op")),
        blocks: vec![
            Block::table("Sizes of responses", rows, 1),
            Block::Term(
                "A response of an unexpected size is a sign of a query that finds nothing, or too much."
                    .to_owned(),
            ),
        ],
    })
}

fn answer(stream: &MeasuredStream<'_>, result: &ResultRecord) -> Row {
    let acknowledged = result.acknowledged;
    let rows = (acknowledged > 0).then(|| ratio(result.response_rows, acknowledged));
    let seconds = round_to_u64(stream.seconds().max(1.0));
    Row::new([
        stream.place_of(result),
        count(acknowledged),
        or_absent(result.response_bytes.checked_div(acknowledged), bytes),
        or_absent(rows, plain),
        bytes(result.response_bytes / seconds.max(1)),
    ])
}
