//! The source of a stream's ops, shared by all its sessions.
//!
//! An idle session claims the next arrival in order of intended time, on whichever thread it runs. So a stream behaves
//! as one first-come-first-served queue with one server per session. No request queue needs a bound: the intended but
//! unclaimed arrivals *are* the queue. An arrival still unclaimed at the end of its phase is handed out as dropped. The
//! content of an op is a pure function of its index.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use highwater_model::op::{BoundOpKind, BoundWorkload, Op, OpBody, OpId, RowBatch};
use highwater_model::plan::{LANES, Pace, PhaseKind, Plan};
use highwater_model::units::Nanos;
use highwater_workload::{OpContext, ReplacedKeys, StreamSpec, Workload};

use crate::pacer::{Arrival, Pacer, PacerPlan};
use crate::schedule::{EarlyEnd, PhaseTimes, Schedule, ScheduledPhase, SessionRamp};

/// A stream of a plan.
#[derive(Debug, Clone)]
pub struct SourcePlan {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Position in [`Plan::streams`].
    pub stream: usize,
    /// Total ops of all shares in each measured phase, if the stop rule limits rows.
    pub limit_ops: Option<u64>,
}

/// An op that a session has claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// Number of its phase in the schedule.
    pub phase: usize,
    /// Number of the op in its stream.
    pub index: u64,
    /// Intended time; `None` in closed load: now.
    pub intended: Option<Nanos>,
    /// Start of its phase.
    pub phase_start: Nanos,
    /// End of its phase when the op was claimed.
    pub phase_end: Nanos,
    /// Version of the schedule at that time.
    pub version: u64,
}

/// The result of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Run this op, not before its intended time.
    Op(Ticket),
    /// This op was intended in a phase that has ended, and was never sent: count it.
    Dropped(Ticket),
    /// Nothing to do before this time, unless the schedule changes.
    Idle(Nanos),
    /// There are no more ops.
    End,
}

/// One stream's ops, issued one by one.
#[derive(Debug)]
pub struct Source {
    plan: SourcePlan,
    lanes: Vec<u32>,
    schedule: Arc<Schedule>,
    state: Mutex<State>,
    in_flight: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// Its number in the schedule; `None` after the last one.
    phase: Option<usize>,
    times: PhaseTimes,
    version: u64,
    pacer: Pacer,
    pace: Pace,
    /// Sessions of the stream that start or end in this phase.
    ramp: Option<SessionRamp>,
    /// Ops issued so far, per lane; an op's index continues from phase to phase.
    issued: Vec<u64>,
    /// Returned before they were sent, in order of intended time: at most one per session.
    returned: VecDeque<Ticket>,
}

impl Source {
    /// The source of a stream for this plan's share.
    pub fn new(plan: SourcePlan, schedule: Arc<Schedule>) -> Self {
        let lanes = plan.plan.share.lanes();
        let first = schedule.first().and_then(|first| schedule.phase(first));
        let none = PhaseTimes { start: Nanos::MAX, end: Nanos::MAX };
        let pace = first.as_ref().map(|phase| phase.paces[plan.stream]);
        let pace = pace.unwrap_or_else(|| plan.plan.pace(plan.stream, 0));
        let state = State {
            phase: first.as_ref().map(|phase| phase.number),
            times: first.as_ref().map_or(none, |phase| phase.times),
            version: schedule.version(),
            pacer: pacer_of(&plan, first.as_ref(), pace, &lanes),
            pace,
            ramp: None,
            issued: vec![0; lanes.len()],
            returned: VecDeque::new(),
        };
        Self { plan, lanes, schedule, state: Mutex::new(state), in_flight: AtomicU64::new(0) }
    }

    /// The next op for session `slot` (its number within the stream) at time `now`.
    pub fn claim(&self, slot: u32, now: Nanos) -> Claim {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claim) = self.claim_returned(&mut state, now) {
            return claim;
        }
        loop {
            let Some(phase) = state.phase else {
                return Claim::End;
            };
            self.refresh(&mut state, phase);
            if now < state.times.start {
                return Claim::Idle(state.times.start);
            }
            let over = now >= state.times.end;
            let Some(arrival) = state.pacer.peek() else {
                if over {
                    self.next_phase(&mut state, phase);
                    continue;
                }
                if self.in_flight.load(Ordering::Acquire) == 0 {
                    drop(state);
                    self.schedule.end_phase(phase, now, EarlyEnd::Rows);
                    return Claim::Idle(now);
                }
                return Claim::Idle(state.times.end);
            };
            let intended = arrival.offset.map(|offset| state.times.start.saturating_add(offset));
            let behind_end = intended.map_or(over, |at| at >= state.times.end);
            if behind_end && over {
                self.next_phase(&mut state, phase);
            } else if behind_end {
                return Claim::Idle(state.times.end);
            } else if intended.is_none() && slot >= self.active_sessions(&state, now) {
                return Claim::Idle(self.admitted(&state, slot));
            } else {
                let ticket = self.issue(&mut state, phase, arrival, intended);
                return self.hand_out(ticket, over);
            }
        }
    }

    /// Returned ops come before all unclaimed ones, because their intended time is earlier.
    fn claim_returned(&self, state: &mut State, now: Nanos) -> Option<Claim> {
        let at = state.returned.iter().position(|ticket| self.is_due(ticket))?;
        let ticket = state.returned.remove(at)?;
        let over = now >= self.phase_end(&ticket);
        Some(self.hand_out(ticket, over))
    }

    /// Turns a ticket into a claim; after the end of its phase it is dropped.
    fn hand_out(&self, ticket: Ticket, over: bool) -> Claim {
        if over {
            return Claim::Dropped(ticket);
        }
        if self.is_limited() {
            self.in_flight.fetch_add(1, Ordering::AcqRel);
        }
        Claim::Op(ticket)
    }

    /// Takes back an op of an open load whose session was closed before it could send it: another session may become
    /// idle before this one has reconnected.
    pub fn give_back(&self, ticket: Ticket) {
        self.finished();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let later = |other: &Ticket| other.intended > ticket.intended;
        let at = state.returned.iter().position(later);
        let at = at.unwrap_or(state.returned.len());
        state.returned.insert(at, ticket);
    }

    /// Indexes of returned ops that were never intended, because their phase ended first. Call it after the run.
    pub fn never_due(&self) -> Vec<u64> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.returned.iter().map(|ticket| ticket.index).collect()
    }

    /// The session has finished its op, or returned it unsent.
    pub fn finished(&self) {
        if self.is_limited() {
            self.in_flight.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Whether a phase can end by using up its ops. Only then are ops in flight counted, because all threads would
    /// write to that counter at every op.
    fn is_limited(&self) -> bool {
        self.plan.limit_ops.is_some()
    }

    /// Whether a claimed op that was not started is still to be sent: its phase may have ended.
    pub fn is_due(&self, ticket: &Ticket) -> bool {
        let due = ticket.intended.unwrap_or(ticket.phase_start);
        due < self.phase_end(ticket)
    }

    /// The current end of an op's phase.
    pub fn phase_end(&self, ticket: &Ticket) -> Nanos {
        if self.schedule.version() == ticket.version {
            return ticket.phase_end;
        }
        let times = self.schedule.times(ticket.phase);
        times.map_or(Nanos::ZERO, |times| times.end)
    }

    /// An upper bound above the index of every issued op.
    pub fn end(&self) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        greatest(&self.lanes, &state.issued).map_or(0, |index| index + 1)
    }

    /// Indexes below the highest issued one that were not issued, because each lane advances at its own rate.
    /// Ascending. Call it after the run.
    pub fn skipped(&self) -> Vec<u64> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        skipped(&self.lanes, &state.issued)
    }

    /// Closed sessions of this share in this phase, now.
    fn active_sessions(&self, state: &State, now: Nanos) -> u32 {
        let share = &self.plan.plan.share;
        match (state.pace, state.ramp) {
            (Pace::Open { .. }, _) => u32::MAX,
            (Pace::Closed { .. }, Some(ramp)) => share.part_of(ramp.at(now)),
            (Pace::Closed { sessions }, None) => share.part_of(sessions),
        }
    }

    /// When a session that has no part in this phase yet gets one, unless something changes.
    fn admitted(&self, state: &State, slot: u32) -> Nanos {
        let share = &self.plan.plan.share;
        let ramp = state.ramp.filter(SessionRamp::grows);
        let at = ramp.and_then(|ramp| Some(ramp.reaches(share.whole_of(slot, ramp.to)?)));
        at.unwrap_or(state.times.end)
    }

    fn refresh(&self, state: &mut State, phase: usize) {
        let version = self.schedule.version();
        if version != state.version {
            state.version = version;
            if let Some(times) = self.schedule.times(phase) {
                state.times = times;
            }
        }
    }

    fn next_phase(&self, state: &mut State, phase: usize) {
        let next = self.schedule.after(phase);
        let next = next.and_then(|next| self.schedule.phase(next));
        state.phase = next.as_ref().map(|next| next.number);
        if let Some(next) = next {
            state.times = next.times;
            state.pace = next.paces[self.plan.stream];
            state.ramp = next.ramp.filter(|ramp| ramp.stream == self.plan.stream);
            state.pacer = pacer_of(&self.plan, Some(&next), state.pace, &self.lanes);
        }
    }

    fn issue(
        &self,
        state: &mut State,
        phase: usize,
        arrival: Arrival,
        intended: Option<Nanos>,
    ) -> Ticket {
        state.pacer.advance();
        let round = state.issued[arrival.lane];
        state.issued[arrival.lane] += 1;
        Ticket {
            phase,
            index: index_of(self.lanes[arrival.lane], round),
            intended,
            phase_start: state.times.start,
            phase_end: state.times.end,
            version: state.version,
        }
    }
}

fn pacer_of(
    source: &SourcePlan,
    phase: Option<&ScheduledPhase>,
    pace: Pace,
    lanes: &[u32],
) -> Pacer {
    let stream = &source.plan.streams[source.stream];
    let kind = phase.map(|phase| phase.kind);
    let limited = matches!(kind, Some(PhaseKind::Measure | PhaseKind::Load));
    Pacer::new(
        &PacerPlan {
            pace,
            arrivals: stream.arrivals,
            units_per_op: stream.units_per_op,
            seed: source.plan.seed,
            stream: &stream.name,
            phase: phase.map_or(0, |phase| phase.number),
            limit_ops: source.limit_ops.filter(|_| limited),
        },
        lanes,
    )
}

fn index_of(lane: u32, round: u64) -> u64 {
    round * u64::from(LANES) + u64::from(lane)
}

/// The highest issued index.
fn greatest(lanes: &[u32], issued: &[u64]) -> Option<u64> {
    lanes
        .iter()
        .zip(issued)
        .filter(|(_, issued)| **issued > 0)
        .map(|(lane, issued)| index_of(*lane, issued - 1))
        .max()
}

fn skipped(lanes: &[u32], issued: &[u64]) -> Vec<u64> {
    let Some(greatest) = greatest(lanes, issued) else {
        return Vec::new();
    };
    let mut skipped: Vec<u64> = lanes
        .iter()
        .copied()
        .zip(issued.iter().copied())
        .flat_map(|(lane, issued)| {
            let left = (issued..).map(move |round| index_of(lane, round));
            left.take_while(|index| *index < greatest)
        })
        .collect();
    skipped.sort_unstable();
    skipped
}

/// Generates ops by index.
pub(crate) trait Feed: Send + Sync {
    /// Generates the op with this index, reusing the memory of another op. The error says why it cannot be sent.
    fn fill(&self, index: u64, op: &mut Op) -> Result<(), String>;
    /// The id of an op, without generating it.
    fn op_id(&self, index: u64) -> OpId;
    /// First row and number of rows that the op writes, without generating it.
    fn rows(&self, index: u64) -> (u64, u64);
    /// The keys that this op writes, if rows replace each other.
    fn replaced(&self, op: &Op) -> Option<ReplacedKeys>;
}

/// The ops of a stream.
pub(crate) struct StreamFeed {
    /// The workload.
    pub(crate) workload: Arc<Workload>,
    /// The stream.
    pub(crate) stream: StreamSpec,
    /// Rows that existed before the stream began.
    pub(crate) context: OpContext,
}

impl Feed for StreamFeed {
    fn fill(&self, index: u64, op: &mut Op) -> Result<(), String> {
        self.workload.fill_op(&self.stream, index, &self.context, op)
    }

    fn op_id(&self, index: u64) -> OpId {
        self.workload.op_id(&self.stream, index)
    }

    fn rows(&self, index: u64) -> (u64, u64) {
        let rows = self.workload.rows_per_op(self.op_id(index));
        let before = self.workload.rows_before(&self.stream, index);
        (self.context.first_row.saturating_add(before), rows)
    }

    fn replaced(&self, op: &Op) -> Option<ReplacedKeys> {
        self.workload.replaced_keys(op, self.rows(op.index).0)
    }
}

/// The batches that fill the first table before the first phase.
pub(crate) struct LoadFeed {
    /// The workload.
    pub(crate) workload: Arc<Workload>,
    /// The insert op.
    pub(crate) op: OpId,
    /// Index of the first row.
    pub(crate) first: u64,
    /// Rows per batch; the last one may be shorter.
    pub(crate) batch: u64,
    /// Total rows.
    pub(crate) rows: u64,
}

impl Feed for LoadFeed {
    fn fill(&self, index: u64, op: &mut Op) -> Result<(), String> {
        let (first, rows) = self.rows(index);
        let rows = usize::try_from(rows).unwrap_or(0);
        op.id = self.op;
        op.index = index;
        if let OpBody::Insert(batch) = &mut op.body {
            self.workload.fill_row_batch(0, first, rows, batch);
        } else {
            op.body = OpBody::Insert(self.workload.row_batch(0, first, rows));
        }
        Ok(())
    }

    fn op_id(&self, _index: u64) -> OpId {
        self.op
    }

    fn rows(&self, index: u64) -> (u64, u64) {
        let skipped = index.saturating_mul(self.batch);
        let first = self.first.saturating_add(skipped);
        (first, self.batch.min(self.rows.saturating_sub(skipped)))
    }

    fn replaced(&self, op: &Op) -> Option<ReplacedKeys> {
        self.workload.replaced_keys(op, self.rows(op.index).0)
    }
}

/// The ops of another feed, with new rows that have numbers but no values. Generating values would dominate the cost of
/// a run against a model that ignores them.
pub(crate) struct NumberedRows {
    /// Source of everything else.
    pub(crate) feed: Arc<dyn Feed>,
    /// Which ops insert.
    pub(crate) bound: Arc<BoundWorkload>,
}

impl Feed for NumberedRows {
    fn fill(&self, index: u64, op: &mut Op) -> Result<(), String> {
        let id = self.feed.op_id(index);
        if inserts_into(&self.bound, id).is_none() {
            return self.feed.fill(index, op);
        }
        let (first_row, rows) = self.feed.rows(index);
        op.id = id;
        op.index = index;
        op.body = OpBody::Insert(RowBatch {
            first_row,
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
            columns: Vec::new(),
        });
        Ok(())
    }

    fn op_id(&self, index: u64) -> OpId {
        self.feed.op_id(index)
    }

    fn rows(&self, index: u64) -> (u64, u64) {
        self.feed.rows(index)
    }

    fn replaced(&self, op: &Op) -> Option<ReplacedKeys> {
        self.feed.replaced(op)
    }
}

/// The table that an op writes to.
pub(crate) fn inserts_into(bound: &BoundWorkload, op: OpId) -> Option<usize> {
    match bound.ops.get(usize::from(op.0))?.kind {
        BoundOpKind::Insert { table, .. } => Some(table),
        BoundOpKind::Query { .. } | BoundOpKind::Literal(_) | BoundOpKind::Transaction(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use highwater_model::op::PlaceholderStyle;
    use highwater_model::units::Seed;
    use highwater_workload::{WorkloadSpec, builtin};

    use super::*;

    #[test]
    fn ops_skipped_by_lanes_are_named() {
        assert_eq!(skipped(&[0, 1, 2], &[2, 1, 0]), [2]);
        assert_eq!(skipped(&[0, 1], &[1, 3]), [64, 128]);
        assert!(skipped(&[0, 1], &[0, 0]).is_empty());
        assert!(skipped(&[0, 1, 2], &[5, 5, 5]).is_empty());
    }

    #[test]
    fn rows_without_values_have_their_numbers_and_queries_stay_as_they_are() {
        let spec = WorkloadSpec::parse(builtin("cpu").unwrap().text).unwrap();
        let workload = Arc::new(spec.instantiate(&BTreeMap::new(), Seed(7)).unwrap());
        let dialects = ["postgresql".to_owned()];
        let bound = workload.bind(&dialects, PlaceholderStyle::Dollar).unwrap();
        let bound = Arc::new(bound);
        let mut inserts = 0;
        for stream in workload.streams() {
            let feed: Arc<dyn Feed> = Arc::new(StreamFeed {
                workload: Arc::clone(&workload),
                stream: stream.clone(),
                context: OpContext { first_row: 300 },
            });
            let numbered = NumberedRows { feed: Arc::clone(&feed), bound: Arc::clone(&bound) };
            let (mut with, mut without) = (empty(), empty());
            for index in 0..20 {
                feed.fill(index, &mut with).unwrap();
                numbered.fill(index, &mut without).unwrap();
                if let OpBody::Insert(batch) = &mut with.body {
                    assert!(!std::mem::take(&mut batch.columns).is_empty());
                    inserts += 1;
                }
                assert_eq!(with, without);
            }
        }
        assert!(inserts >= 20, "{inserts}");
    }

    fn empty() -> Op {
        Op { id: OpId(0), index: 0, body: OpBody::Query(Vec::new()) }
    }
}
