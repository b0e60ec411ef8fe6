//! The keys of a pass, phase by phase: a changed pace adds phases while it goes on. Must not count anything.

use std::sync::Arc;

use highwater_model::plan::{Pace, Plan, StreamPlan, Unit};

use super::key_stats::RowWait;
use crate::schedule::Schedule;

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
    /// All keys as they stand: phase by phase, in each stream by stream, and in those op by op. Of each, how its
    /// rows wait for their batch.
    pub(crate) fn all(&self) -> Vec<Option<RowWait>> {
        let mut keys = Vec::new();
        for phase in self.schedule.all() {
            for (planned, pace) in self.plan.streams.iter().zip(phase.paces) {
                keys.extend(std::iter::repeat_n(row_wait(planned, pace), self.ops));
            }
        }
        keys
    }
}

fn row_wait(planned: &StreamPlan, pace: Pace) -> Option<RowWait> {
    match pace {
        Pace::Open { rate } if planned.unit == Unit::Rows => {
            Some(RowWait { rows: planned.units_per_op, rate })
        }
        _ => None,
    }
}
