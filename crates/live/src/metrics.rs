//! The state of a command, and the newest answers of a store, as metrics: one description for all formats, and
//! OpenMetrics text for scrapers.
//!
//! Must not count anything itself, read a file, or judge. Labels are bounded by the plan (streams, error classes, names
//! of phases, and objectives), by the record (telemetry series), and by a number of questions.

use std::fmt;

use highwater_analysis::telemetry::values_of;
use highwater_model::event::LATENCY_BOUNDS_NS;
use highwater_model::judgment::{Measurement, ObjectiveValue};
use highwater_model::numbers::to_f64;
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Objective;
use highwater_model::quantity::parse_instant;
use highwater_model::target_telemetry::{SeriesKind, TargetTelemetry};
use highwater_report::{
    HistoryRow, ObjectiveFigures, Stage, StreamTotals, TimesTotal, WatchedPage, WatchedRun,
    objective_figures,
};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

/// Prefix of all names.
pub(crate) const PREFIX: &str = "highwater";
/// Maximum age of a telemetry value, in samples: slow sources pause between two polls, and a node that has left must
/// not keep its last value.
const SAMPLES_LOOKED_AT: usize = 15;

/// Distinguishes metrics with the same name.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub(crate) name: &'static str,
    pub(crate) value: String,
}

/// Metrics with the same name.
#[derive(Debug)]
pub(crate) struct Family {
    /// Without prefix, unit, and the suffix that a format adds to counters.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) points: Points,
}

/// Type and values of a family's metrics.
#[derive(Debug)]
pub(crate) enum Points {
    /// Always 1; the labels hold the information.
    Info(Vec<Label>),
    Gauges(Vec<Point<f64>>),
    Counters(Vec<Point<u64>>),
    /// Seconds, by [`highwater_model::event::LATENCY_BOUNDS_NS`].
    Times(Vec<Point<TimesTotal>>),
}

/// One metric.
#[derive(Debug)]
pub(crate) struct Point<T> {
    pub(crate) labels: Vec<Label>,
    pub(crate) value: T,
}

impl Label {
    pub(crate) fn new(name: &'static str, value: &str) -> Self {
        let value = value.to_owned();
        Self { name, value }
    }
}

impl Family {
    pub(crate) fn new(name: &'static str, help: &'static str, points: Points) -> Self {
        Self { name, help, points }
    }

    pub(crate) fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        let labels = Vec::new();
        Self::new(name, help, Points::Gauges(vec![Point { labels, value }]))
    }
}

/// Counter of a stream: name, help, and value.
type Counter = (&'static str, &'static str, fn(&StreamTotals) -> u64);

const COUNTERS: &[Counter] = &[
    ("ops_offered", "Ops that were due, counted when they are over", |of| of.offered),
    ("ops_sent", "Ops that were sent", |of| of.sent),
    ("ops_dropped", "Ops that were due and never sent", |of| of.dropped),
    ("ops_acknowledged", "Ops that the target acknowledged", |of| of.acknowledged),
    ("rows_acknowledged", "Rows that the target acknowledged", |of| of.rows_acknowledged),
    ("rows_refused", "Rows that the target said it did not store", |of| of.rows_refused),
];

/// Times of a stream: name, help, and values.
type Times = (&'static str, &'static str, fn(&StreamTotals) -> &TimesTotal);

const TIMES: &[Times] = &[
    (
        "latency",
        "From the time an op was due to its response, counted when it ends; ops that never ended are above all bounds, and not in the sum",
        |of| &of.latency,
    ),
    (
        "service_time",
        "From the time an op was sent to its response, of ops that were acknowledged",
        |of| &of.service,
    ),
    ("client_lag", "How late the load generator sent ops that a session was free for", |of| {
        &of.lag
    }),
];

/// All metrics of a running command.
pub(crate) fn of_command(watched: &WatchedPage) -> Vec<Family> {
    let mut families = state(watched);
    families.extend(objectives(&watched.run));
    families.push(telemetry(&watched.run.telemetry));
    let streams = &watched.totals.streams;
    families.extend(COUNTERS.iter().map(|&(name, help, of)| {
        let points = of_streams(streams, |stream| Some(of(stream)));
        Family::new(name, help, Points::Counters(points))
    }));
    families.push(found(watched.totals.rows_found));
    families.push(failures(streams));
    families.extend(TIMES.iter().map(|&(name, help, of)| {
        let points = of_streams(streams, |stream| Some(of(stream).clone()));
        Family::new(name, help, Points::Times(points))
    }));
    families
}

/// A point for each stream with a value.
fn of_streams<T>(
    streams: &[StreamTotals],
    of: impl Fn(&StreamTotals) -> Option<T>,
) -> Vec<Point<T>> {
    streams
        .iter()
        .filter_map(|stream| {
            let labels = vec![Label::new("stream", &stream.stream)];
            of(stream).map(|value| Point { labels, value })
        })
        .collect()
}

fn state(watched: &WatchedPage) -> Vec<Family> {
    let run = &watched.run;
    let about = vec![
        Label::new("workload", &run.workload),
        Label::new("target", &run.target),
        Label::new("version", env!("CARGO_PKG_VERSION")),
    ];
    let last = run.last.as_ref();
    let phase = match (&run.stage, last) {
        (Stage::Before, _) => "before",
        (Stage::Paused, _) => "paused",
        (Stage::Load(_), Some(last)) => &last.phase,
        (Stage::Load(_) | Stage::Part(_), _) => "load",
        (Stage::Audit(_), _) => "audit",
        (Stage::Over, _) => "over",
    };
    let phase = Point { labels: vec![Label::new("phase", phase)], value: 1.0 };
    let offered = of_streams(&watched.totals.streams, |stream| stream.offered_per_s);
    vec![
        Family::new("run", "What runs", Points::Info(about)),
        Family::new("phase", "The current phase", Points::Gauges(vec![phase])),
        Family::gauge(
            "sessions",
            "Sessions that are open",
            last.map_or(0.0, |last| f64::from(last.sessions)),
        ),
        Family::gauge(
            "elapsed",
            "Seconds since the first phase began",
            last.map_or(0.0, |last| to_f64(last.second)),
        ),
        Family::new(
            "offered_rate",
            "Units per second that the plan offers in this second",
            Points::Gauges(offered),
        ),
        allowed(&run.objectives),
    ]
}

/// A figure of an objective: name, help, and value.
type ObjectiveFigure = (&'static str, &'static str, fn(&ObjectiveFigures) -> Option<f64>);

const OBJECTIVES: &[ObjectiveFigure] = &[
    (
        "objective_allowed",
        "What an objective allows: at most this part of ops, rows or CPU, of a throughput at least so many units per second",
        |of| Some(of.allowed),
    ),
    ("objective_measured", "The same as it was measured in the measured phase so far", |of| {
        of.measured
    }),
    (
        "objective_used",
        "The part of what an objective allows that is used up so far; above 1 it is missed",
        |of| of.used,
    ),
];

/// State of each objective; nothing is measured outside measured phases.
fn objectives(run: &WatchedRun) -> Vec<Family> {
    let figures = objective_figures(&run.objectives, run.last.as_ref());
    let families = OBJECTIVES.iter().map(|&(name, help, of)| {
        let points = figures.iter().filter_map(|figures| {
            let labels =
                vec![Label::new("objective", &figures.objective), Label::new("kind", figures.kind)];
            of(figures).map(|value| Point { labels, value })
        });
        Family::new(name, help, Points::Gauges(points.collect()))
    });
    families.collect()
}

/// The latest telemetry of the target and its host, unless older than a few samples; as many series as in a record.
fn telemetry(said: &TargetTelemetry) -> Family {
    let points = said.series.iter().filter_map(|series| {
        let values = values_of(said, series);
        let value = values.iter().rev().take(SAMPLES_LOOKED_AT).flatten().next();
        let per_s = match series.kind {
            SeriesKind::Level => "",
            SeriesKind::Count => "/s",
        };
        let labels = vec![
            Label::new("source", &series.source),
            Label::new("name", &series.name),
            Label::new("unit", &format!("{}{per_s}", series.unit)),
            Label::new("node", series.node.as_deref().unwrap_or_default()),
        ];
        value.map(|&value| Point { labels, value })
    });
    Family::new(
        "telemetry",
        "What target and host said of themselves last; counts per second",
        Points::Gauges(points.collect()),
    )
}

/// The label is `percentile="0.99"` because `quantile` is reserved for summaries. An objective for one op or stream
/// names it.
fn allowed(objectives: &[Objective]) -> Family {
    let points = objectives.iter().filter_map(|objective| {
        let Objective::Latency { quantile_ppm, max, op } = objective else {
            return None;
        };
        let percentile = f64::from(*quantile_ppm) / 1e6;
        let mut labels = vec![Label::new("percentile", &percentile.to_string())];
        labels.extend(op.as_ref().map(|op| Label::new("op", op)));
        let value = to_f64(max.0) / 1e9;
        Some(Point { labels, value })
    });
    Family::new(
        "objective_latency_seconds",
        "Greatest latency that an objective allows, in seconds",
        Points::Gauges(points.collect()),
    )
}

/// For all streams together, because an audit covers tables.
fn found(rows: u64) -> Family {
    let labels = Vec::new();
    let points = vec![Point { labels, value: rows }];
    Family::new(
        "rows_found",
        "Rows that audits found, added when a run is over",
        Points::Counters(points),
    )
}

/// Every class of every stream, so that the first failure appears as a change.
fn failures(streams: &[StreamTotals]) -> Family {
    let points = streams.iter().flat_map(|stream| {
        let failed = ErrorClass::ALL.into_iter().map(ErrorClass::name).zip(stream.failed);
        let failed = failed.chain([("other", stream.failed_otherwise)]);
        failed.map(move |(class, value)| Point {
            labels: vec![Label::new("stream", &stream.stream), Label::new("class", class)],
            value,
        })
    });
    Family::new(
        "ops_failed",
        "Ops that failed, by the class of their error",
        Points::Counters(points.collect()),
    )
}

/// Maximum number of questions; with more, the most recently answered ones.
const QUESTIONS_MAX: usize = 200;

/// Runs of one kind, with one workload, on one target.
struct Question<'a> {
    newest: &'a HistoryRow,
    runs: u32,
}

/// The metrics of these runs, which are sorted newest first.
pub(crate) fn of_store(rows: &[HistoryRow]) -> Vec<Family> {
    let questions = questions(rows);
    let each = |name, help, value: fn(&Question<'_>) -> Option<f64>| {
        let points = questions.iter().filter_map(|question| {
            Some(Point { value: value(question)?, labels: row_labels(question.newest) })
        });
        Family::new(name, help, Points::Gauges(points.collect()))
    };
    vec![
        each("stored_runs", "Runs in the store that are over", |of| Some(f64::from(of.runs))),
        each("stored_started_timestamp_seconds", "When the newest of them began", |of| {
            let started = parse_instant(&of.newest.started_at).ok()?;
            Some(to_f64(started.0) / 1e9)
        }),
        each(
            "stored_answer",
            "The answer of the newest one: units per second, or sessions",
            |of| of.newest.answer.map(|answer| answer.value),
        ),
        each("stored_answer_low", "Where it lies at least", |of| {
            Some(of.newest.answer?.interval?[0])
        }),
        each("stored_answer_high", "Where it lies at most", |of| {
            Some(of.newest.answer?.interval?[1])
        }),
        each(
            "stored_measurement_valid",
            "Whether the measurement of the newest one is valid",
            |of| {
                let judged = of.newest.judgments.as_ref()?;
                let is_valid = judged.measurement.value == Measurement::Valid;
                Some(if is_valid { 1.0 } else { 0.0 })
            },
        ),
        each(
            "stored_objective_met",
            "Whether the newest one met its objective; absent where it had none, or that is not known",
            |of| match of.newest.judgments.as_ref()?.objective.value {
                ObjectiveValue::Met => Some(1.0),
                ObjectiveValue::Missed => Some(0.0),
                _ => None,
            },
        ),
    ]
}

/// Only finished runs: the answer of a running search may change.
fn questions(rows: &[HistoryRow]) -> Vec<Question<'_>> {
    let mut questions: Vec<Question<'_>> = Vec::new();
    let over = rows.iter().filter(|row| row.judgments.is_some() && row.progress.is_none());
    for row in over {
        let same = |question: &Question<'_>| row.is_same_question(question.newest);
        match questions.iter().position(same) {
            Some(at) => questions[at].runs += 1,
            None if questions.len() < QUESTIONS_MAX => {
                questions.push(Question { newest: row, runs: 1 });
            }
            None => {}
        }
    }
    questions
}

fn row_labels(row: &HistoryRow) -> Vec<Label> {
    vec![
        Label::new("kind", row.kind.name()),
        Label::new("workload", &row.workload),
        Label::new("target", &row.target),
        Label::new("unit", row.unit_name()),
    ]
}

/// Content type of a response.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text of these metrics.
pub(crate) fn text(families: Vec<Family>) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Snapshot(families)));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct Snapshot(Vec<Family>);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Self(families) = self;
        families.iter().try_for_each(|family| one(family, &mut encoder))
    }
}

#[expect(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime")]
fn one(family: &Family, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
    let (unit, kind) = match &family.points {
        Points::Info(_) => (None, MetricType::Info),
        Points::Gauges(_) => (None, MetricType::Gauge),
        Points::Counters(_) => (None, MetricType::Counter),
        Points::Times(_) => (Some(Unit::Seconds), MetricType::Histogram),
    };
    let mut metrics = encoder.encode_descriptor(family.name, family.help, unit.as_ref(), kind)?;
    match &family.points {
        Points::Info(labels) => metrics.encode_info(&escaped(labels)),
        Points::Gauges(points) => {
            each_point(&mut metrics, points, |metric, value| metric.encode_gauge(value))
        }
        Points::Counters(points) => each_point(&mut metrics, points, |metric, value| {
            metric.encode_counter::<NoLabelSet, u64, u64>(value, None)
        }),
        Points::Times(points) => each_point(&mut metrics, points, |metric, times| {
            let count = times.up_to.last().copied().unwrap_or(0);
            let buckets = buckets(&times.up_to);
            metric.encode_histogram::<NoLabelSet>(sum_s(times), count, &buckets, None)
        }),
    }
}

fn each_point<T>(
    metrics: &mut MetricEncoder<'_>,
    points: &[Point<T>],
    encode: impl Fn(&mut MetricEncoder<'_>, &T) -> Result<(), fmt::Error>,
) -> Result<(), fmt::Error> {
    for point in points {
        let labels = escaped(&point.labels);
        // Without labels there are no braces.
        if labels.is_empty() {
            encode(metrics, &point.value)?;
        } else {
            encode(&mut metrics.encode_family(&labels)?, &point.value)?;
        }
    }
    Ok(())
}

/// Sum of times in seconds.
#[expect(clippy::cast_precision_loss, reason = "a sum of seconds")]
pub(crate) fn sum_s(times: &TimesTotal) -> f64 {
    times.sum_ns as f64 / 1e9
}

/// The encoder does not escape label values.
fn escaped(labels: &[Label]) -> Vec<(&'static str, String)> {
    let escaped = labels.iter().map(|Label { name, value }| {
        let backslashes = value.replace('\\', "\\\\");
        let quotes = backslashes.replace('"', "\\\"");
        (*name, quotes.replace('\n', "\\n"))
    });
    escaped.collect()
}

/// Counts per bucket: the encoder accumulates them itself, and identifies the last bucket by its bound.
fn buckets(up_to: &[u64]) -> Vec<(f64, u64)> {
    LATENCY_BOUNDS_NS
        .iter()
        .map(|bound| to_f64(*bound) / 1e9)
        .chain([f64::MAX])
        .zip(apart(up_to))
        .collect()
}

/// Counts between each bound and the one before.
pub(crate) fn apart(up_to: &[u64]) -> impl Iterator<Item = u64> {
    let before = std::iter::once(0).chain(up_to.iter().copied());
    up_to.iter().zip(before).map(|(now, before)| now - before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_model::judgment::Judgments;
    use highwater_model::plan::Unit;
    use highwater_report::{HistoryAnswer, HistoryKind, HistoryProgress};

    fn row(workload: &str, value: f64) -> HistoryRow {
        HistoryRow {
            started_at: "1970-01-01T00:01:40Z".to_owned(),
            kind: HistoryKind::Run,
            workload: workload.to_owned(),
            target: "a \"model\"".to_owned(),
            answer: Some(HistoryAnswer {
                value,
                interval: Some([value - 1.0, value + 1.0]),
                unit: Some(Unit::Rows),
            }),
            judgments: Some(Judgments::default()),
            ..HistoryRow::without_record(String::new())
        }
    }

    #[test]
    fn each_question_shows_its_newest_answer_and_how_many_there_are() {
        let going_on =
            HistoryRow { progress: Some(HistoryProgress::default()), ..row("cpu", 99.0) };
        let text = text(of_store(&[
            going_on,
            row("cpu", 20.0),
            row("kv", 5.0),
            row("cpu", 10.0),
            HistoryRow::without_record("killed".to_owned()),
        ]));
        let labels = |workload: &str| {
            format!(r#"{{kind="run",workload="{workload}",target="a \"model\"",unit="rows"}}"#)
        };
        for line in [
            format!("highwater_stored_runs{} 2.0\n", labels("cpu")),
            format!("highwater_stored_answer{} 20.0\n", labels("cpu")),
            format!("highwater_stored_answer_low{} 19.0\n", labels("cpu")),
            format!("highwater_stored_answer{} 5.0\n", labels("kv")),
            format!("highwater_stored_started_timestamp_seconds{} 100.0\n", labels("kv")),
            format!("highwater_stored_measurement_valid{} 0.0\n", labels("kv")),
        ] {
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("99.0"), "what goes on has no answer: {text}");
        assert!(!text.contains("stored_objective_met{"), "{text}");
    }

    #[test]
    fn questions_are_bounded() {
        let rows: Vec<HistoryRow> = (0..1_000).map(|n| row(&n.to_string(), 1.0)).collect();
        assert_eq!(questions(&rows).len(), QUESTIONS_MAX);
    }
}
