//! The state of a command as metrics: one description for all formats.
//!
//! Must not count anything itself, or depend on a format. Labels are bounded by the plan (streams, error classes, names
//! of phases, and objectives) and by the record (telemetry series).

use highwater_analysis::telemetry::values_of;
use highwater_model::numbers::to_f64;
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Objective;
use highwater_model::target_telemetry::{SeriesKind, TargetTelemetry};
use highwater_report::{
    ObjectiveFigures, RunWatched, Stage, StreamTotals, TimesTotal, Watched, objective_figures,
};

/// Prefix of all names.
pub(crate) const PREFIX: &str = "highwater";
/// Maximum age of a telemetry value, in samples: slow sources pause between two polls, and a node that is gone must not
/// keep its last value.
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
pub(crate) fn of_command(watched: &Watched) -> Vec<Family> {
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

fn state(watched: &Watched) -> Vec<Family> {
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
        Family::new("phase", "The phase that goes on", Points::Gauges(vec![phase])),
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
fn objectives(run: &RunWatched) -> Vec<Family> {
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
