//! Names of the keys by which executors count: phase, stream, and op. Must not count.

use highwater_model::plan::{Pace, PhaseKind, Unit};
use highwater_model::units::Nanos;

use crate::executor::Pass;
use crate::schedule::ScheduledPhase;
use crate::sessions::SessionBlock;

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
