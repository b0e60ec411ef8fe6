//! Converts one second of one op between its four forms: counted, in the journal, in the record, and reported. Must not
//! count, or handle files.

use highwater_model::event::{LATENCY_BOUNDS_NS, StreamCounts};
use highwater_model::histogram::LatencyHistogram;
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::{Pace, PhaseKind, Unit};
use highwater_model::record::IntervalRecord;
use highwater_model::units::Nanos;

use crate::executor::Pass;
use crate::recorder::{Failures, IntervalDelta};
use crate::schedule::ScheduledPhase;
use crate::sessions::SessionBlock;
use crate::store::JournalLine;

/// The interval in a record, of a phase, stream and op.
pub(crate) fn interval_record(
    second: u64,
    names: [String; 3],
    delta: &IntervalDelta,
) -> IntervalRecord {
    let [phase, stream, op] = names;
    let finite = |q: f64| delta.latency.percentile(q).map(|percentile| percentile.ns);
    IntervalRecord {
        second,
        phase,
        stream,
        op,
        offered: delta.offered,
        sent: delta.sent,
        acknowledged: delta.acknowledged,
        rows_acknowledged: delta.rows_acknowledged,
        errors: delta.errors,
        rejected: delta.rejected,
        rows_refused: delta.rows_refused,
        dropped: delta.dropped,
        p50_ns: finite(0.5),
        p99_ns: finite(0.99),
        max_ns: delta.latency.summary().max,
    }
}

/// The interval in the journal.
pub(crate) fn journal_line(delta: &IntervalDelta, names: [String; 3]) -> JournalLine {
    let [phase, stream, op] = names;
    let latency = if delta.latency.is_empty() { String::new() } else { delta.latency.encode() };
    JournalLine {
        second: delta.second,
        phase,
        stream,
        op,
        offered: delta.offered,
        sent: delta.sent,
        rows_sent: delta.rows_sent,
        acknowledged: delta.acknowledged,
        rows_acknowledged: delta.rows_acknowledged,
        errors: delta.errors,
        partial: delta.partial,
        rows_refused: delta.rows_refused,
        dropped: delta.dropped,
        failures: delta.failures.records(),
        latency,
        max_ns: delta.latency.greatest().0,
        beyond: delta.latency.beyond(),
    }
}

/// The counts of a line of the journal.
pub(crate) fn delta_of(line: &JournalLine) -> IntervalDelta {
    let mut latency = LatencyHistogram::coarse();
    if let Ok(histogram) = LatencyHistogram::decode(&line.latency) {
        let is_known = line.max_ns > 0;
        let exact = Nanos(if is_known { line.max_ns } else { u64::MAX });
        latency.merge(&histogram.with_greatest(exact));
    }
    latency.record_beyond(line.beyond, Nanos::ZERO);
    IntervalDelta {
        offered: line.offered,
        sent: line.sent,
        rows_sent: line.rows_sent,
        acknowledged: line.acknowledged,
        rows_acknowledged: line.rows_acknowledged,
        errors: line.errors,
        partial: line.partial,
        rows_refused: line.rows_refused,
        dropped: line.dropped,
        failures: Failures::of_second(line.second, &line.failures),
        latency,
        ..IntervalDelta::new(line.second, 0)
    }
}

/// The reported counts of a stream.
pub(crate) fn counts(sum: &IntervalDelta) -> StreamCounts {
    let up_to = sum.latency.up_to(&LATENCY_BOUNDS_NS);
    StreamCounts {
        offered: sum.offered,
        sent: sum.sent,
        dropped: sum.dropped,
        acknowledged: sum.acknowledged,
        rows_acknowledged: sum.rows_acknowledged,
        rows_refused: sum.rows_refused,
        latency_up_to: if sum.latency.is_empty() { Vec::new() } else { up_to },
        latency_sum_ns: sum.latency.sum_ns(),
        service_up_to: sum.service.up_to(),
        service_sum_ns: sum.service.sum_ns,
        lag_up_to: sum.lag.up_to(),
        lag_sum_ns: sum.lag.sum_ns,
        failed: ErrorClass::ALL
            .into_iter()
            .zip(sum.failed)
            .filter(|(_, failed)| *failed > 0)
            .collect(),
    }
}

/// Names of the keys of a pass.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyNames {
    pub(super) phases: Vec<String>,
    /// Which phases are measured.
    pub(super) is_measured: Vec<bool>,
    pub(super) streams: Vec<StreamName>,
    /// Units per second that this share offers in each stream of each phase (outer); absent in closed load.
    pub(super) offered: Vec<Vec<Option<f64>>>,
    pub(super) ops: Vec<String>,
    /// When sessions appear.
    pub(super) blocks: Vec<SessionBlock>,
    /// When the pass began.
    pub(super) start: Nanos,
}

/// A stream of a pass.
#[derive(Debug, Clone)]
pub(super) struct StreamName {
    pub(super) name: String,
    pub(super) unit: Unit,
    /// Rows of an op that counts rows, else 1.
    pub(super) units_per_op: u64,
    /// It has a closed pace.
    pub(super) is_closed: bool,
}

/// Positions of a key's phase, stream and op.
pub(super) struct KeyPosition {
    pub(super) phase: usize,
    pub(super) stream: usize,
    pub(super) op: usize,
}

impl KeyNames {
    /// The names of a pass in its current state: a changed pace adds phases.
    pub(super) fn of_pass(pass: &Pass) -> Self {
        let phases = pass.schedule.all();
        let streams = pass.plan.streams.iter();
        let shares = pass.plan.share.of;
        let offered = |phase: &ScheduledPhase| {
            phase.paces.iter().map(|pace| offered(*pace, shares)).collect()
        };
        let is_measured = |phase: &ScheduledPhase| phase.kind == PhaseKind::Measure;
        let is_closed = |pace: &Pace| matches!(pace, Pace::Closed { .. });
        Self {
            offered: phases.iter().map(offered).collect(),
            is_measured: phases.iter().map(is_measured).collect(),
            phases: phases.into_iter().map(|phase| phase.name).collect(),
            streams: streams
                .map(|stream| StreamName {
                    name: stream.name.clone(),
                    unit: stream.unit,
                    units_per_op: stream.units_per_op,
                    is_closed: stream.paces.iter().any(is_closed),
                })
                .collect(),
            ops: pass.bound.ops.iter().map(|op| op.name.clone()).collect(),
            blocks: pass.sessions.blocks_from(0),
            start: pass.start,
        }
    }

    /// Open sessions of all streams at this time after the start of the pass.
    pub(super) fn sessions_at(&self, at: Nanos) -> u32 {
        let at = self.start.saturating_add(at);
        self.blocks.iter().map(|block| block.open_at(at)).fold(0, u32::saturating_add)
    }

    /// The phase, stream and op of a key.
    pub(super) fn split(&self, key: usize) -> KeyPosition {
        let (ops, streams) = (self.ops.len().max(1), self.streams.len().max(1));
        KeyPosition { phase: key / ops / streams, stream: key / ops % streams, op: key % ops }
    }

    /// The names of a key: of its phase, stream and op.
    pub(super) fn interval(&self, key: usize) -> [String; 3] {
        let key = self.split(key);
        let stream = &self.streams[key.stream].name;
        [&self.phases[key.phase], stream, &self.ops[key.op]].map(String::clone)
    }
}

/// This share's part of a pace's rate.
fn offered(pace: Pace, shares: u32) -> Option<f64> {
    match pace {
        Pace::Open { rate } => Some(rate.as_f64() / f64::from(shares.max(1))),
        Pace::Closed { .. } => None,
    }
}
