//! The sessions of a pass: those of its plan, and those added for a changed pace. A session that is no longer needed
//! stays open and idle. Must not run sessions.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_model::op::BoundWorkload;
use highwater_model::outcome::{ErrorClass, OpError, Outcome};
use highwater_model::plan::Plan;
use highwater_model::units::Nanos;
use highwater_model::user_error::{RefusedStatement, UserError, UserErrorKind};

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
    pub(crate) fn in_stream(&self, stream: usize) -> u32 {
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

/// Maximum consecutive ops refused for lack of disk or memory.
const OUT_OF_RESOURCES_MAX: u32 = 10;
/// Maximum consecutive ops with a refused statement, if fewer than [`ANSWERED_MAX`] other ops were answered before.
const STATEMENTS_MAX: u32 = 100;
const ANSWERED_MAX: u32 = 10;

/// Consecutive refusals of a session.
#[derive(Default)]
pub(crate) struct Refusals {
    out_of_resources: u32,
    statements: u32,
    /// Ops with another outcome, up to [`ANSWERED_MAX`].
    answered: u32,
}

impl Refusals {
    /// Counts the outcome of an op; returns why the run must end, if it must.
    pub(crate) fn note(
        &mut self,
        outcome: &Outcome,
        workload: &BoundWorkload,
        op: usize,
    ) -> Option<UserError> {
        let class = outcome.error.as_ref().map(|error| error.class);
        if class != Some(ErrorClass::Resource) {
            self.out_of_resources = 0;
        }
        if class != Some(ErrorClass::Statement) {
            self.statements = 0;
            self.answered = (self.answered + 1).min(ANSWERED_MAX);
        }
        let error = outcome.error.as_ref()?;
        match error.class {
            ErrorClass::Resource => {
                self.out_of_resources += 1;
                (self.out_of_resources == OUT_OF_RESOURCES_MAX).then(|| out_of_resources(error))
            }
            // The audit judges Highwater's own tables, which requires the run to continue.
            ErrorClass::Statement if workload.tables.is_empty() => {
                self.statements += 1;
                let ends = self.statements == STATEMENTS_MAX && self.answered < ANSWERED_MAX;
                ends.then(|| always_refused(error, workload, op))
            }
            _ => None,
        }
    }
}

fn out_of_resources(error: &OpError) -> UserError {
    UserError::refused(format!("the target is out of resources: {}", error.message))
        .with_hint("free disk or memory on the target, or plan fewer rows")
}

fn always_refused(error: &OpError, workload: &BoundWorkload, op: usize) -> UserError {
    let name = workload.ops.get(op).map_or("", |op| op.name.as_str());
    let code = error.code.as_ref().map(|code| format!(" ({code})"));
    let message = format!(
        "op `{name}`: the target refused it {STATEMENTS_MAX} times in a row: {}{}",
        error.message,
        code.unwrap_or_default()
    );
    let refused = RefusedStatement { op, statement: 0, position: None };
    UserError::new(UserErrorKind::Preparation(refused), message)
        .with_hint("every op sends the statement again: write one that can be repeated")
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

    fn noted(outcomes: impl IntoIterator<Item = Option<ErrorClass>>) -> Option<usize> {
        let workload = BoundWorkload { tables: Vec::new(), ops: Vec::new(), rows: None };
        let mut refusals = Refusals::default();
        outcomes.into_iter().position(|class| {
            let outcome = match class {
                None => Outcome::answered(1, 1),
                Some(class) => {
                    Outcome::refused(1, OpError { class, code: None, message: String::new() })
                }
            };
            refusals.note(&outcome, &workload, 0).is_some()
        })
    }

    #[test]
    fn a_statement_that_is_refused_from_the_begin_ends_the_run() {
        let refused = || std::iter::repeat_n(Some(ErrorClass::Statement), 150);
        assert_eq!(noted(refused()), Some(99));
        assert_eq!(noted([None].into_iter().chain(refused())), Some(100));
        let later = std::iter::repeat_n(None, 10).chain(refused());
        assert_eq!(noted(later), None);
        let now_and_then = refused().take(99).chain([None]).chain(refused().take(99));
        assert_eq!(noted(now_and_then), None);
    }

    #[test]
    fn a_target_without_resources_ends_the_run_after_ten_ops() {
        assert_eq!(noted(std::iter::repeat_n(Some(ErrorClass::Resource), 20)), Some(9));
    }
}
