//! The measured phases of a record, stream by stream, with the figures that rules need.
//!
//! Only reads and adds up figures; must not judge.

use std::collections::BTreeMap;
use std::fmt;

use crate::backlog::{Backlog, backlog};
use highwater_model::display::ratio;
use highwater_model::histogram::{LatencyHistogram, LatencySummary};
use highwater_model::numbers::{len_to_f64, to_f64};
use highwater_model::plan::{Arrivals, PhaseKind, StreamPlan, Unit};
use highwater_model::record::{PhaseRecord, ResultRecord, RunRecord, StreamRecord, WINDOW_NS};
use highwater_model::units::Nanos;

/// A shorter phase has fewer than 30 windows of 100 ms, and its start and end have too much weight.
pub const SHORTEST_PHASE_NS: u64 = 3_000_000_000;
/// Largest accepted deviation from Little's law, as a fraction: the boundaries of a phase split ops.
const TOLERANCE: f64 = 0.05;

/// One stream in one measured phase.
#[derive(Debug)]
pub struct MeasuredStream<'a> {
    /// The phase.
    pub phase: &'a PhaseRecord,
    /// The stream over all its ops.
    pub stream: &'a StreamRecord,
    /// Its definition in the plan.
    pub plan: Option<&'a StreamPlan>,
    /// Its ops.
    pub results: Vec<&'a ResultRecord>,
    /// Whether the record has several measured phases, so that a name must say which.
    several: bool,
    /// Whether the plan's number of rows may have ended the phase, so that no op was intended in its last
    /// part.
    by_rows: bool,
}

/// All streams of all measured phases, in the order of the record's phases.
pub fn measured_streams(record: &RunRecord) -> Vec<MeasuredStream<'_>> {
    let phases: Vec<&PhaseRecord> =
        record.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).collect();
    let mut measured = Vec::new();
    for phase in &phases {
        let streams = record.streams.iter();
        for stream in streams.filter(|stream| stream.phase == phase.name) {
            let results = record.results.iter();
            let plans = &record.plan.definition.streams;
            measured.push(MeasuredStream {
                phase,
                stream,
                plan: plans.iter().find(|plan| plan.name == stream.stream),
                results: results
                    .filter(|r| r.phase == phase.name && r.stream == stream.stream)
                    .collect(),
                several: phases.len() > 1,
                by_rows: record.plan.definition.stop.rows.is_some()
                    && planned_length(record, phase) > Some(phase.duration_ns),
            });
        }
    }
    measured
}

/// Planned length of the phase.
fn planned_length(record: &RunRecord, phase: &PhaseRecord) -> Option<u64> {
    let mut planned = record.plan.definition.phases.iter();
    let planned = planned.find(|planned| planned.name == phase.name);
    planned.map(|planned| planned.duration.0)
}

/// Its name in reasons: `insert`, or `step 2 insert`.
impl fmt::Display for MeasuredStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.several {
            write!(f, "{} ", self.phase.name)?;
        }
        f.write_str(&self.stream.stream)
    }
}

impl MeasuredStream<'_> {
    /// The name of one of its ops in reasons.
    pub fn place_of(&self, result: &ResultRecord) -> String {
        if result.op == self.stream.stream {
            self.to_string()
        } else {
            format!("{self} {}", result.op)
        }
    }

    /// Length of the phase, seconds.
    pub fn seconds(&self) -> f64 {
        Nanos(self.phase.duration_ns).as_secs_f64()
    }

    /// Seconds in which ops were intended: those of the phase. A phase that is ended by a number of rows ends with
    /// the last response; then those before the last window with an intended op.
    pub(super) fn seconds_due(&self) -> f64 {
        let offered = self.results.iter().map(|result| &result.windows.offered);
        let last = |counts: &Vec<u64>| counts.iter().rposition(|due| *due > 0);
        let windows = offered.filter_map(last).max().filter(|_| self.by_rows);
        let due = windows.map(|windows| len_to_f64(windows) * Nanos(WINDOW_NS).as_secs_f64());
        due.map_or(self.seconds(), |due| due.min(self.seconds()))
    }

    /// Units of one op: rows of a batch, or 1.
    pub fn units_per_op(&self) -> u64 {
        match self.stream.unit {
            Unit::Rows => self.plan.map_or(1, |plan| plan.units_per_op.max(1)),
            Unit::Queries | Unit::Transactions => 1,
        }
    }

    /// Whether arrivals followed a rate.
    pub fn is_open(&self) -> bool {
        self.stream.planned_rate.is_some()
    }

    /// Intended ops.
    pub fn offered(&self) -> u64 {
        self.results.iter().map(|result| result.offered).sum()
    }

    /// Acknowledged ops, whenever their response came.
    pub fn acknowledged(&self) -> u64 {
        self.results.iter().map(|result| result.acknowledged).sum()
    }

    /// Whether its phase is long enough to be judged.
    pub(super) fn is_long(&self) -> bool {
        self.phase.duration_ns >= SHORTEST_PHASE_NS
    }

    /// Ops acknowledged within the phase, whenever they were intended.
    pub fn answered(&self) -> u64 {
        self.results.iter().map(|result| result.answered.ops).sum()
    }

    /// Intended units.
    pub fn units_offered(&self) -> f64 {
        to_f64(self.offered().saturating_mul(self.units_per_op()))
    }

    /// The rate that throughput is compared with, units per second: the planned rate, or the offered rate of random
    /// arrivals, whose number differs from the mean; absent in closed load.
    pub fn due_rate(&self) -> Option<f64> {
        let planned = self.stream.planned_rate?;
        let is_known = self.is_drawn() && self.seconds() > 0.0;
        Some(if is_known { self.units_offered() / self.seconds() } else { planned })
    }

    /// Whether its arrivals are random, so that their number differs from the mean.
    pub fn is_drawn(&self) -> bool {
        let poisson = self.plan.is_some_and(|plan| plan.arrivals == Arrivals::Poisson);
        poisson && self.is_open() && self.offered() > 0
    }

    /// Whether all intended ops were acknowledged, and none had to wait for the next phase to be sent.
    pub fn is_acknowledged_whole(&self) -> bool {
        self.acknowledged() == self.offered() && !self.results.iter().any(|result| result.backlog)
    }

    /// The planned rate of one of its ops, units per second: the stream's rate times the op's weight, or times its
    /// fraction of the offered ops if the record has no weights.
    pub fn planned_rate_of(&self, result: &ResultRecord) -> Option<f64> {
        let weights = &self.stream.weights;
        let of_op = weights.get(&result.op).copied();
        let all: u64 = weights.values().map(|weight| u64::from(*weight)).sum();
        let part = match of_op {
            Some(weight) => ratio(u64::from(weight), all),
            None => ratio(result.offered, self.offered()),
        };
        Some(self.stream.planned_rate? * part)
    }

    /// Growth of the number of ops in flight or waiting over the phase; absent in closed load, and if it is not
    /// significant.
    pub(super) fn backlog_growth(&self) -> Option<f64> {
        let latency_s = self.mean_seconds(|result| result.latency_ns.mean).unwrap_or(0.0);
        self.backlog()?.growth(latency_s * self.stream.throughput.ops_per_s)
    }

    /// How the number of outstanding ops changed; absent in closed load, in phases that are too short, and if the
    /// record lacks the times of failures.
    pub(super) fn backlog(&self) -> Option<Backlog> {
        let count = usize::try_from(self.phase.duration_ns / WINDOW_NS).ok()?;
        let (mut due, mut ended) = (vec![0; count], vec![0; count]);
        for result in &self.results {
            let windows = &result.windows;
            if windows.failed.is_empty() && result.failed_ops() > 0 {
                return None;
            }
            add_windows(&mut due, &windows.offered);
            add_windows(&mut ended, &windows.acknowledged);
            add_windows(&mut ended, &windows.failed);
        }
        self.is_open().then(|| backlog(&due, &ended)).flatten()
    }

    /// Acknowledged units per second, by the time of the response.
    pub fn units_per_s(&self) -> f64 {
        match self.stream.unit {
            Unit::Rows => self.stream.throughput.rows_per_s,
            Unit::Queries | Unit::Transactions => self.stream.throughput.ops_per_s,
        }
    }

    /// The same for each op, by name; empty if there is only one.
    pub fn per_s_by_op(&self) -> BTreeMap<String, f64> {
        if self.results.len() < 2 {
            return BTreeMap::new();
        }
        let by_op = self.results.iter().map(|result| {
            let per_s = match self.stream.unit {
                Unit::Rows => result.throughput.rows_per_s,
                Unit::Queries | Unit::Transactions => result.throughput.ops_per_s,
            };
            (result.op.clone(), per_s)
        });
        by_op.collect()
    }

    /// Latency of all its ops together; absent without ops, and if the record has no distributions that can
    /// be merged.
    pub fn latency(&self) -> Option<LatencySummary> {
        if let [one] = self.results[..] {
            return Some(one.latency_ns.clone());
        }
        let mut all = LatencyHistogram::fine();
        for result in &self.results {
            let stored = &result.histograms.latency;
            all.merge(&LatencyHistogram::of_summary(stored, &result.latency_ns).ok()?);
        }
        (!self.results.is_empty()).then(|| all.summary())
    }

    /// The greatest value among its ops, such as of a percentile; absent if no op has it.
    pub fn greatest(&self, of: impl Fn(&ResultRecord) -> Option<u64>) -> Option<u64> {
        self.results.iter().filter_map(|result| of(result)).max()
    }

    /// Whether the p99 of one of its ops is a lower bound, because it falls among failed ops.
    pub fn p99_at_least(&self) -> bool {
        let mut bounds = self.results.iter().flat_map(|result| &result.latency_ns.at_least);
        bounds.any(|name| name == "p99")
    }

    /// Mean of the given latencies, weighted by acknowledged ops, seconds; absent if an op has
    /// none, such as one that never ended.
    pub fn mean_seconds(&self, of: impl Fn(&ResultRecord) -> Option<u64>) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0_u64);
        for result in self.results.iter().filter(|r| r.acknowledged > 0) {
            sum += to_f64(of(result)?) / 1e9 * to_f64(result.acknowledged);
            count += result.acknowledged;
        }
        (count > 0).then(|| sum / to_f64(count))
    }
}

fn add_windows(sums: &mut [u64], counts: &[u64]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum = sum.saturating_add(*count);
    }
}

/// Sessions that Little's law expects in closed load: throughput × (mean latency + mean client lag + think
/// time). Absent in open load, and if an op failed or never ended, because no mean includes its time.
///
/// J. D. C. Little, "A Proof for the Queuing Formula L = λW", Operations Research 9(3), 1961.
pub fn littles_law_sessions(measured: &MeasuredStream<'_>) -> Option<f64> {
    let failed: u64 = measured
        .results
        .iter()
        .map(|result| {
            let unanswered = result.offered.saturating_sub(result.acknowledged);
            unanswered + result.errors.values().sum::<u64>() + result.retries
        })
        .sum();
    if measured.is_open() || failed > 0 || measured.seconds() <= 0.0 {
        return None;
    }
    let latency = measured.mean_seconds(|result| result.latency_ns.mean)?;
    let lag = measured.mean_seconds(|result| Some(result.client_lag_ns.mean.unwrap_or(0)))?;
    let throughput = measured.stream.throughput.ops_per_s;
    let think = measured.plan.and_then(|plan| plan.think);
    let think = think.map_or(0.0, Nanos::as_secs_f64);
    Some(throughput * (latency + lag + think))
}

/// Allowed deviation of the sessions expected by Little's law, as a fraction of the actual sessions, for a
/// number of ops in flight at a boundary of the phase (one per session) and a number of ops:
/// [`TOLERANCE`], plus the ops in flight, plus random variation (two standard errors of a mean of
/// latencies whose standard deviation equals their mean).
pub(super) fn littles_law_tolerance(in_flight: u64, ops: u64) -> f64 {
    let ops = to_f64(ops.max(1));
    TOLERANCE + to_f64(in_flight) / ops + 2.0 / ops.sqrt()
}
