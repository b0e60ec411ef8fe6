//! The sessions of a pass: those of its plan, and those added for a changed pace. A session that is no longer needed
//! stays open and idle. Must not run sessions.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_model::plan::Plan;
use highwater_model::units::Nanos;

use crate::planner::sessions_of;

/// Sessions of a stream that open together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionBlock {
    /// Position of the stream.
    pub(crate) stream: usize,
    /// Their numbers within the stream.
    pub(crate) slots: Range<u32>,
    /// The number of the first one in the pass.
    pub(crate) first_number: u32,
    /// When they start; absent if the plan sets it per session.
    pub(crate) begin: Option<Appearance>,
}

/// When sessions outside the plan start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Appearance {
    /// The first one.
    pub(crate) first: Nanos,
    /// Time between one and the next.
    pub(crate) apart: Nanos,
}

impl SessionBlock {
    /// Number of its sessions at a time; those of the plan count from the start.
    pub(crate) fn open_at(&self, at: Nanos) -> u32 {
        let all = self.slots.end - self.slots.start;
        match self.begin {
            None => all,
            Some(begin) if at < begin.first => 0,
            Some(begin) => {
                let passed = at.saturating_sub(begin.first).0;
                let behind_first = passed.checked_div(begin.apart.0);
                let open = behind_first.map_or(u64::from(all), |behind| behind.saturating_add(1));
                u32::try_from(open).map_or(all, |open| open.min(all))
            }
        }
    }

    /// When one of its sessions starts; absent if the plan sets it.
    pub(crate) fn begin_of(&self, slot: u32) -> Option<Nanos> {
        let begin = self.begin?;
        let before = u64::from(slot.saturating_sub(self.slots.start));
        let behind = Nanos(begin.apart.0.saturating_mul(before));
        Some(begin.first.saturating_add(behind))
    }
}

/// All sessions of a pass, shared by its executors. Blocks are only appended.
#[derive(Debug)]
pub(crate) struct Sessions(Mutex<Vec<SessionBlock>>);

impl Sessions {
    /// The sessions of this share of a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let sessions = Self(Mutex::default());
        for stream in 0..plan.streams.len() {
            sessions.raise(stream, sessions_of(plan, stream), None);
        }
        sessions
    }

    /// Raises a stream's number of sessions, if it has fewer.
    pub(crate) fn raise(&self, stream: usize, sessions: u32, begin: Option<Appearance>) {
        let mut blocks = self.lock();
        let there = of_stream(&blocks, stream);
        if there < sessions {
            let first_number = all(&blocks);
            blocks.push(SessionBlock { stream, slots: there..sessions, first_number, begin });
        }
    }

    /// Sessions of a stream.
    pub(crate) fn of(&self, stream: usize) -> u32 {
        of_stream(&self.lock(), stream)
    }

    /// Sessions of all streams together.
    pub(crate) fn all(&self) -> u32 {
        all(&self.lock())
    }

    /// The blocks from this position on.
    pub(crate) fn blocks_from(&self, known: usize) -> Vec<SessionBlock> {
        self.lock().get(known..).unwrap_or_default().to_vec()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SessionBlock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn all(blocks: &[SessionBlock]) -> u32 {
    blocks.iter().map(|block| block.slots.end - block.slots.start).sum()
}

fn of_stream(blocks: &[SessionBlock], stream: usize) -> u32 {
    let mut of_it = blocks.iter().rev().filter(|block| block.stream == stream);
    of_it.next().map_or(0, |last| last.slots.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(apart_ms: u64) -> SessionBlock {
        SessionBlock {
            stream: 0,
            slots: 2..5,
            first_number: 2,
            begin: Some(Appearance {
                first: Nanos::from_secs(1),
                apart: Nanos::from_millis(apart_ms),
            }),
        }
    }

    #[test]
    fn sessions_appear_together_or_one_by_one() {
        let open = |block: &SessionBlock, ms| block.open_at(Nanos::from_millis(ms));
        let together = block(0);
        assert_eq!([999, 1_000, 5_000].map(|ms| open(&together, ms)), [0, 3, 3]);
        let apart = block(200);
        let at = [999, 1_000, 1_199, 1_200, 1_400, 9_000].map(|ms| open(&apart, ms));
        assert_eq!(at, [0, 1, 1, 2, 3, 3]);
        assert_eq!(apart.begin_of(4), Some(Nanos::from_millis(1_400)));
        let of_plan = SessionBlock { begin: None, ..block(0) };
        assert_eq!((open(&of_plan, 0), of_plan.begin_of(2)), (3, None));
    }
}
