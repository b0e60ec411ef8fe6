//! Which sessions a pass has: those of its plan, and those that a changed pace needs besides. A session that is
//! not needed any more stays open and idle. What must not be here: what sessions do.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_model::plan::Plan;
use highwater_model::units::Nanos;

use crate::planner::sessions_of;

/// Sessions of a stream that are opened together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionBlock {
    /// Position of the stream.
    pub(crate) stream: usize,
    /// Their numbers within the stream.
    pub(crate) slots: Range<u32>,
    /// The number of the first one within the pass.
    pub(crate) first_number: u32,
    /// When all of them appear; absent where the plan says that of each.
    pub(crate) begin: Option<Nanos>,
}

/// All sessions of a pass, shared by its executors. Blocks are only added.
#[derive(Debug)]
pub(crate) struct Sessions(Mutex<Vec<SessionBlock>>);

impl Sessions {
    /// Those of this share of a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let sessions = Self(Mutex::default());
        for stream in 0..plan.streams.len() {
            sessions.raise(stream, sessions_of(plan, stream), None);
        }
        sessions
    }

    /// A stream is to have so many, if it has fewer.
    pub(crate) fn raise(&self, stream: usize, sessions: u32, begin: Option<Nanos>) {
        let mut blocks = self.lock();
        let there = of_stream(&blocks, stream);
        if there < sessions {
            let first_number = all(&blocks);
            blocks.push(SessionBlock {
                stream,
                slots: there..sessions,
                first_number,
                begin,
            });
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

    /// The blocks behind the first ones.
    pub(crate) fn blocks_from(&self, known: usize) -> Vec<SessionBlock> {
        self.lock().get(known..).unwrap_or_default().to_vec()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SessionBlock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn all(blocks: &[SessionBlock]) -> u32 {
    blocks
        .iter()
        .map(|block| block.slots.end - block.slots.start)
        .sum()
}

fn of_stream(blocks: &[SessionBlock], stream: usize) -> u32 {
    let mut of_it = blocks.iter().rev().filter(|block| block.stream == stream);
    of_it.next().map_or(0, |last| last.slots.end)
}
