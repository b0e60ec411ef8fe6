//! The report of another tool in the terms of this project: counts, latencies, and times, before it becomes a record.
//!
//! Must compute only unit conversions: a figure that was not reported is absent.

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::histogram::{LatencyHistogram, LatencySummary};
use highwater_model::import_record::{ImportedPace, LatencyBegin, MissingField};
use highwater_model::plan::{PhaseKind, Unit};
use highwater_model::record::{AvailabilityRecord, IntervalRecord, PhaseRecord};
use highwater_model::units::{Nanos, Rate};

/// Everything that the files of one run report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedRun {
    /// The tool's own name.
    pub tool: &'static str,
    /// Version, as in its output.
    pub version: Option<String>,
    /// The workload, in the tool's words.
    pub workload: String,
    /// Unit of the counts.
    pub unit: Unit,
    /// Rows of a writing op, otherwise 1.
    pub units_per_op: u64,
    /// Open or closed load.
    pub pace: ImportedPace,
    /// The requested rate, in units per second.
    pub rate: Option<Rate>,
    /// Sessions that sent ops.
    pub sessions: Option<u32>,
    /// Definition of latency.
    pub begin: LatencyBegin,
    /// Time 0, in whole seconds since 1970.
    pub started: Option<Nanos>,
    /// When the first op was intended, from time 0.
    pub start: Nanos,
    /// Measured time.
    pub duration: Nanos,
    /// Planned time, if reported.
    pub planned: Option<Nanos>,
    /// Other settings that are reported.
    pub settings: BTreeMap<String, String>,
    /// Kinds of ops, at least one.
    pub ops: Vec<ParsedOp>,
    /// Seconds of ops; phase and stream are empty.
    pub intervals: Vec<IntervalRecord>,
    /// Absent if no times of single responses are reported.
    pub availability: Option<AvailabilityRecord>,
    /// Other fields that are not reported.
    pub missing_fields: BTreeSet<MissingField>,
    /// Problems that affect the figures: the files hold only a part of the measurement, or contradict each other.
    pub caveats: Vec<String>,
    /// Other notes for a reader.
    pub notes: Vec<String>,
}

impl ImportedRun {
    /// A run of a tool that reports neither its pace nor its unit: its ops are queries.
    pub(super) fn new(tool: &'static str) -> Self {
        Self { tool, units_per_op: 1, ..Self::default() }
    }

    /// A run of a tool whose ops have an intended start if it sends at a rate (`waits`); otherwise an op begins when
    /// its session is idle, without waiting.
    pub(super) fn paced(tool: &'static str, waits: bool) -> Self {
        let (pace, begin) = if waits {
            (ImportedPace::Open, LatencyBegin::Intended)
        } else {
            (ImportedPace::Closed, LatencyBegin::Sent)
        };
        Self { pace, begin, ..Self::new(tool) }
    }

    /// Its only phase, with this name.
    pub(super) fn phase(&self, name: &str) -> PhaseRecord {
        PhaseRecord {
            name: name.to_owned(),
            kind: PhaseKind::Measure,
            step: Some(0),
            start_ns: self.start.0,
            duration_ns: self.duration.0,
            steady: None,
        }
    }
}

/// Figures that can be lower bounds, and the number of ops that each needs.
const FIGURES: [(&str, u64); 7] = [
    ("p50", 10),
    ("p90", 10),
    ("p95", 20),
    ("p99", 100),
    ("p999", 1_000),
    ("p9999", 10_000),
    ("max", 1),
];

/// One kind of op.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedOp {
    /// Name; empty for the stream's name.
    pub name: String,
    /// Ops that were sent.
    pub sent: u64,
    /// Ops that succeeded.
    pub acknowledged: u64,
    /// Ops that were intended and never sent.
    pub dropped: u64,
    /// Retries.
    pub retries: u64,
    /// Failed ops by class.
    pub errors: BTreeMap<String, u64>,
    /// The tool's text for a class of errors.
    pub examples: BTreeMap<String, String>,
    /// Ops per second, if printed by the tool; otherwise count divided by duration.
    pub ops_per_s: Option<f64>,
    /// Latency of ops that succeeded, with dropped ones as +∞.
    pub latency: ParsedLatency,
    /// Time from the sending, if it differs from the latency.
    pub service: ParsedLatency,
    /// Ops that succeeded, per 100 ms from the start on.
    pub windows: Vec<u64>,
}

impl ParsedOp {
    /// `count` ops, all of them acknowledged.
    pub(super) fn acknowledged(count: u64) -> Self {
        Self { sent: count, acknowledged: count, ..Self::default() }
    }
}

/// A distribution, or its printed figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedLatency {
    /// Count, mean and percentiles.
    pub summary: LatencySummary,
    /// Encoded as in records; empty if only the figures of the summary are known.
    pub histogram: String,
}

impl ParsedLatency {
    /// A full distribution, with its exact mean and maximum if available.
    pub fn full(histogram: &LatencyHistogram, mean: Option<u64>, max: Option<u64>) -> Self {
        let mut summary = histogram.summary();
        if summary.beyond == 0 {
            summary.mean = mean.or(summary.mean);
            summary.max = max.or(summary.max);
        }
        Self { summary, histogram: histogram.encode() }
    }

    /// The printed figures of `count` ops, without a distribution. A percentile that needs more ops is omitted; if
    /// `beyond` ops never ended, each figure is a lower bound.
    pub fn figures(count: u64, beyond: u64, printed: &[(&str, Option<u64>)]) -> Self {
        let of = |name: &str| {
            let (_, found) = printed.iter().find(|(other, _)| *other == name)?;
            let needed = FIGURES.iter().find(|(other, _)| *other == name);
            found.filter(|_| count >= needed.map_or(1, |(_, ops)| *ops))
        };
        let bounds =
            FIGURES.iter().map(|(name, _)| *name).filter(|name| beyond > 0 && of(name).is_some());
        let summary = LatencySummary {
            count: count.saturating_add(beyond),
            beyond,
            waited: None,
            mean: of("mean").filter(|_| beyond == 0),
            p50: of("p50"),
            p90: of("p90"),
            p95: of("p95"),
            p99: of("p99"),
            p999: of("p999"),
            p9999: of("p9999"),
            max: of("max"),
            at_least: bounds.map(str::to_owned).collect(),
        };
        Self { summary, histogram: String::new() }
    }
}
