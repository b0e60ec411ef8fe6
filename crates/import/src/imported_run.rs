//! What another tool reported, in the words of this project: counts, latencies and times, before it
//! is a record.
//!
//! Nothing here is computed beyond units: a figure that was not reported is absent.

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
    /// As its output says.
    pub version: Option<String>,
    /// The workload, in the tool's words.
    pub workload: String,
    /// What is counted.
    pub unit: Unit,
    /// Rows of an op that writes, else 1.
    pub units_per_op: u64,
    /// Who set the pace.
    pub pace: ImportedPace,
    /// The requested rate, in units per second.
    pub rate: Option<Rate>,
    /// Sessions that sent ops.
    pub sessions: Option<u32>,
    /// Where latency begins.
    pub begin: LatencyBegin,
    /// The whole second at which time 0 is, since 1970.
    pub started: Option<Nanos>,
    /// When the first op was intended, from time 0.
    pub start: Nanos,
    /// How long was measured.
    pub duration: Nanos,
    /// How long the user planned to measure, if reported.
    pub planned: Option<Nanos>,
    /// Other settings that are reported.
    pub settings: BTreeMap<String, String>,
    /// Kinds of ops, at least one.
    pub ops: Vec<ParsedOp>,
    /// Seconds of ops; phase and stream are empty.
    pub intervals: Vec<IntervalRecord>,
    /// Absent if no times of single responses are reported.
    pub availability: Option<AvailabilityRecord>,
    /// What else is not reported.
    pub missing_fields: BTreeSet<MissingField>,
    /// What changes the figures: the files hold a part of what was measured, or contradict each other.
    pub caveats: Vec<String>,
    /// Other sentences for a reader.
    pub notes: Vec<String>,
}

impl ImportedRun {
    /// The run of a tool that reports neither its pace nor its units: its ops are queries.
    pub(super) fn new(tool: &'static str) -> Self {
        Self { tool, units_per_op: 1, ..Self::default() }
    }

    /// The run of a tool whose ops wait for their time where it sends at a rate; without one an op begins
    /// when its session is free, and there is no waiting before.
    pub(super) fn paced(tool: &'static str, waits: bool) -> Self {
        let (pace, begin) = if waits {
            (ImportedPace::Open, LatencyBegin::Intended)
        } else {
            (ImportedPace::Closed, LatencyBegin::Sent)
        };
        Self { pace, begin, ..Self::new(tool) }
    }

    /// Its only phase, under that name.
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

/// Figures that can be lower bounds, and the ops that each needs.
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
    /// Its name; that of the stream where it is empty.
    pub name: String,
    /// Ops that were sent.
    pub sent: u64,
    /// Ops that succeeded.
    pub acknowledged: u64,
    /// Ops that were intended and never sent.
    pub dropped: u64,
    /// Further attempts.
    pub retries: u64,
    /// Failed ops by class.
    pub errors: BTreeMap<String, u64>,
    /// The tool's words for a class of errors.
    pub examples: BTreeMap<String, String>,
    /// Ops per second, where the tool prints them; else they follow from count and duration.
    pub ops_per_s: Option<f64>,
    /// Latency of ops that succeeded, with dropped ones as +∞.
    pub latency: ParsedLatency,
    /// From the sending, where that is another time.
    pub service: ParsedLatency,
    /// Ops that succeeded, per 100 ms from the start on.
    pub windows: Vec<u64>,
}

impl ParsedOp {
    /// So many ops that were all acknowledged.
    pub(super) fn acknowledged(count: u64) -> Self {
        Self { sent: count, acknowledged: count, ..Self::default() }
    }
}

/// A distribution, or what is printed of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedLatency {
    /// Count, mean and percentiles.
    pub summary: LatencySummary,
    /// As records keep it; empty where there are only the figures of the summary.
    pub histogram: String,
}

impl ParsedLatency {
    /// All of a distribution, with its exact mean and greatest value if available.
    pub fn full(histogram: &LatencyHistogram, mean: Option<u64>, max: Option<u64>) -> Self {
        let mut summary = histogram.summary();
        if summary.beyond == 0 {
            summary.mean = mean.or(summary.mean);
            summary.max = max.or(summary.max);
        }
        Self { summary, histogram: histogram.encode() }
    }

    /// The figures that were printed of `count` ops, nothing in between. A percentile that needs
    /// more ops is left out; if `beyond` ops never ended, each is a lower bound.
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
