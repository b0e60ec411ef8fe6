//! What scrapers read: counters, gauges and latencies of a run in OpenMetrics.
//!
//! Must not count anything itself. Labels are streams, classes of errors and names of phases: as many as a plan
//! has.

use std::fmt;

use highwater_model::event::LATENCY_BOUNDS_NS;
use highwater_model::numbers::to_f64;
use highwater_model::plan::Objective;
use highwater_report::{Stage, StreamTotals, Watched};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

/// What a response says that it is.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The counters of a stream: name, help, and how many.
type Counter = (&'static str, &'static str, fn(&StreamTotals) -> u64);

const COUNTERS: [Counter; 6] = [
    ("ops_offered", "Ops that were due", |of| of.offered),
    ("ops_sent", "Ops that were sent", |of| of.sent),
    ("ops_dropped", "Ops that were due and never sent", |of| {
        of.dropped
    }),
    (
        "ops_acknowledged",
        "Ops that the target acknowledged",
        |of| of.acknowledged,
    ),
    (
        "rows_acknowledged",
        "Rows that the target acknowledged",
        |of| of.rows_acknowledged,
    ),
    (
        "rows_refused",
        "Rows that the target said it did not store",
        |of| of.rows_refused,
    ),
];

type Labels<const N: usize> = [(&'static str, String); N];

/// Everything that is known of what goes on.
pub(crate) fn text(watched: &Watched) -> String {
    let mut registry = Registry::with_prefix("highwater");
    registry.register_collector(Box::new(Snapshot(watched.clone())));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct Snapshot(Watched);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Self(watched) = self;
        state(watched, &mut encoder)?;
        for (name, help, of) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for stream in &watched.totals.streams {
                let labels = [("stream", escaped(&stream.stream))];
                let mut one = family.encode_family(&labels)?;
                one.encode_counter::<NoLabelSet, u64, u64>(&of(stream), None)?;
            }
        }
        failures(&watched.totals.streams, &mut encoder)?;
        latencies(&watched.totals.streams, &mut encoder)
    }
}

fn state(watched: &Watched, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
    let run = &watched.run;
    let about: Labels<3> = [
        ("workload", escaped(&run.workload)),
        ("target", escaped(&run.target)),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let mut info = encoder.encode_descriptor("run", "What runs", None, MetricType::Info)?;
    info.encode_info(&about)?;
    let last = run.last.as_ref();
    let phase = match (&run.stage, last) {
        (Stage::Before, _) => "before",
        (Stage::Load(_), Some(last)) => &last.phase,
        (Stage::Load(_) | Stage::Part(_), _) => "load",
        (Stage::Audit(_), _) => "audit",
        (Stage::Over, _) => "over",
    };
    let phase = [("phase", escaped(phase))];
    gauge(encoder, "phase", "The phase that goes on", &[(phase, 1.0)])?;
    let sessions = last.map_or(0.0, |last| f64::from(last.sessions));
    let none: Labels<0> = [];
    gauge(
        encoder,
        "sessions",
        "Sessions that are open",
        &[(none.clone(), sessions)],
    )?;
    let second = last.map_or(0.0, |last| to_f64(last.second));
    let help = "Seconds since the first phase began";
    gauge(encoder, "elapsed", help, &[(none, second)])?;
    let streams = watched.totals.streams.iter();
    let offered: Vec<_> = streams
        .filter_map(|of| Some(([("stream", escaped(&of.stream))], of.offered_per_s?)))
        .collect();
    let help = "Units per second that the plan offers in this second";
    gauge(encoder, "offered_rate", help, &offered)?;
    allowed(&run.objectives, encoder)
}

/// `0.99` under a name of its own: `quantile` is for summaries. An objective about one op or stream names it.
fn allowed(
    objectives: &[Objective],
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), fmt::Error> {
    let help = "Greatest latency that an objective allows, in seconds";
    let name = "objective_latency_seconds";
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for objective in objectives {
        let Objective::Latency {
            quantile_ppm,
            max,
            op,
        } = objective
        else {
            continue;
        };
        let percentile = f64::from(*quantile_ppm) / 1e6;
        let percentile = ("percentile", percentile.to_string());
        let seconds = to_f64(max.0) / 1e9;
        match op {
            None => family
                .encode_family(&[percentile])?
                .encode_gauge(&seconds)?,
            Some(op) => {
                let labels = [percentile, ("op", escaped(op))];
                family.encode_family(&labels)?.encode_gauge(&seconds)?;
            }
        }
    }
    Ok(())
}

fn gauge<const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: &[(Labels<N>, f64)],
) -> Result<(), fmt::Error>
where
    Labels<N>: EncodeLabelSet,
{
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        // Without labels there are no braces.
        if labels.is_empty() {
            family.encode_gauge(value)?;
        } else {
            family.encode_family(labels)?.encode_gauge(value)?;
        }
    }
    Ok(())
}

fn failures(
    streams: &[StreamTotals],
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), fmt::Error> {
    let help = "Ops that failed: rejected for lack of capacity, or otherwise";
    let mut family = encoder.encode_descriptor("ops_failed", help, None, MetricType::Counter)?;
    for stream in streams {
        for (class, failed) in [
            ("rejected", stream.rejected),
            ("other", stream.failed_otherwise),
        ] {
            let labels = [
                ("stream", escaped(&stream.stream)),
                ("class", class.to_owned()),
            ];
            let mut one = family.encode_family(&labels)?;
            one.encode_counter::<NoLabelSet, u64, u64>(&failed, None)?;
        }
    }
    Ok(())
}

fn latencies(
    streams: &[StreamTotals],
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), fmt::Error> {
    let help = "From the time an op was due to its response; ops that never ended are above all bounds, and not in \
                the sum";
    let unit = Unit::Seconds;
    let kind = MetricType::Histogram;
    let mut family = encoder.encode_descriptor("latency", help, Some(&unit), kind)?;
    for stream in streams {
        let labels = [("stream", escaped(&stream.stream))];
        let mut one = family.encode_family(&labels)?;
        let sum = sum_s(stream.latency_sum_ns);
        let buckets = buckets(&stream.latency_up_to);
        let count = stream.latency_up_to.last().copied().unwrap_or(0);
        one.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a sum of seconds")]
fn sum_s(ns: u128) -> f64 {
    ns as f64 / 1e9
}

/// The encoder writes values of labels as they are.
fn escaped(label: &str) -> String {
    let backslashes = label.replace('\\', "\\\\");
    backslashes.replace('"', "\\\"").replace('\n', "\\n")
}

/// The encoder adds buckets up itself, and knows the last one by its bound.
fn buckets(up_to: &[u64]) -> Vec<(f64, u64)> {
    let bounds = LATENCY_BOUNDS_NS.iter().map(|bound| to_f64(*bound) / 1e9);
    let bounds = bounds.chain([f64::MAX]);
    let before = std::iter::once(0).chain(up_to.iter().copied());
    let counts = up_to.iter().zip(before).map(|(now, before)| now - before);
    bounds.zip(counts).collect()
}
