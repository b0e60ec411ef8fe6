//! The keys of a pass, phase by phase: a changed pace adds phases while it goes on. Must not count anything.

use std::sync::Arc;

use highwater_model::plan::{Pace, PhaseKind, Plan, StreamPlan, Unit};

use super::key_plan::KeyPlan;
use super::key_stats::RowWait;
use crate::schedule::{Schedule, ScheduledPhase};

/// Where the keys of a pass come from.
#[derive(Debug, Clone)]
pub(crate) struct PhaseKeys {
    /// The plan.
    pub(crate) plan: Arc<Plan>,
    /// Its phases, and those that were added.
    pub(crate) schedule: Arc<Schedule>,
    /// Ops of the workload.
    pub(crate) ops: usize,
}

impl PhaseKeys {
    /// All keys as they stand: phase by phase, in each stream by stream, and in those op by op.
    pub(crate) fn all(&self) -> Vec<KeyPlan> {
        let phases = self.schedule.all();
        phases.iter().flat_map(|phase| self.of(phase)).collect()
    }

    fn of(&self, phase: &ScheduledPhase) -> Vec<KeyPlan> {
        let mut keys = Vec::with_capacity(self.plan.streams.len() * self.ops);
        for (stream, planned) in self.plan.streams.iter().enumerate() {
            let row_wait = row_wait(planned, phase.paces[stream]);
            keys.extend((0..self.ops).map(|op| KeyPlan {
                phase: phase.number,
                stream,
                op,
                measured: phase.kind == PhaseKind::Measure,
                row_wait,
            }));
        }
        keys
    }
}

fn row_wait(planned: &StreamPlan, pace: Pace) -> Option<RowWait> {
    match pace {
        Pace::Open { rate } if planned.unit == Unit::Rows => Some(RowWait {
            rows: planned.units_per_op,
            rate,
        }),
        _ => None,
    }
}
