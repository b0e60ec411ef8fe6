//! The worker, one per session: the only code that waits, calls, and measures times.
//!
//! There is one implementation for every pace, stop rule, and driver. It claims an op, prepares it, waits until its
//! intended time, executes it, and records its outcome with its three times. In closed load, it prepares the next op
//! while it awaits the response to the last one, so that preparation adds no pause for the target.
//!
//! Think time is the pause of a closed session between a response and its next op.

mod connecting;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::{Either, select};
use tokio::sync::watch;

use highwater_driver::{Encoder, Request, Session, Target, Timeline};
use highwater_model::op::{BoundWorkload, Op, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};
use highwater_model::plan::RetryPlan;
use highwater_model::units::Nanos;

use crate::executor::ThreadRecord;
use crate::ledger::{Ledger, ReplacingWrite};
use crate::recorder::FinishedOp;
use crate::schedule::Schedule;
use crate::sessions::Refusals;
use crate::source::{Claim, Feed, Source, Ticket, inserts_into};
use crate::time_limits::Watch;

pub(crate) use self::connecting::ReconnectOrder;

/// Maximum wait between two attempts of an op.
const RETRY_BACKOFF_MAX: Nanos = Nanos::SECOND;

/// The context of one session.
pub(crate) struct Worker {
    pub(crate) timeline: Rc<dyn Timeline>,
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) source: Arc<Source>,
    pub(crate) feed: Arc<dyn Feed>,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) bound: Arc<BoundWorkload>,
    pub(crate) record: Rc<RefCell<ThreadRecord>>,
    pub(crate) watch: Rc<Watch>,
    pub(crate) retry: RetryPlan,
    /// Shared by the sessions of this thread.
    pub(crate) reconnect_order: Rc<ReconnectOrder>,
    pub(crate) timeout: Nanos,
    /// Position of the stream.
    pub(crate) stream: usize,
    /// Number within the stream, and within the run.
    pub(crate) slot: u32,
    pub(crate) number: u32,
    /// Not before this time.
    pub(crate) begin: Nanos,
    /// Closed pace without think time: the next op is prepared ahead.
    pub(crate) ahead: bool,
    /// Pauses of a closed session.
    pub(crate) think: Option<Think>,
    /// Position of the first key of (phase, this stream), and of each later op.
    pub(crate) keys: Rc<dyn Fn(usize, usize) -> usize>,
}

/// A connection and what belongs to it.
struct ConnectedSession {
    session: Box<dyn Session>,
    encoder: Box<dyn Encoder>,
    host: usize,
    since: Nanos,
    free: Nanos,
    refusals: Refusals,
    /// The memory of the previous request: a session needs two, whatever its number of ops.
    spare: Request,
}

/// An op that is prepared and encoded.
struct PreparedOp {
    ticket: Ticket,
    request: Request,
    /// Why it cannot be sent, if so.
    failure: Option<OpError>,
}

/// The result of waiting for an op's intended time.
enum Due {
    /// It is time; this is the current time.
    Now(Nanos),
    /// Its phase ended first.
    Never,
    /// The target closed the session.
    Closed,
}

/// The target closed an idle session.
struct ClosedByTarget;

impl Worker {
    /// Works until the source has no more ops, or the target is lost.
    pub(crate) async fn work(self) {
        if !self.begins().await {
            return;
        }
        let mut changed = self.schedule.subscribe();
        let mut connected: Option<ConnectedSession> = None;
        let mut ready: Option<PreparedOp> = None;
        let mut has_worked = false;
        loop {
            if connected.is_none() {
                connected = self.connect(has_worked).await;
            }
            let Some(link) = connected.as_mut() else {
                break;
            };
            if self.pause(link, &mut changed).await.is_err() {
                self.rest_after(link.since).await;
                connected = None;
                continue;
            }
            let prepared = match ready.take() {
                Some(prepared) => prepared,
                None => match self.source.claim(self.slot, self.timeline.now()) {
                    Claim::End => break,
                    Claim::Idle(until) => {
                        if self.idle(link, until, &mut changed).await.is_err() {
                            self.rest_after(link.since).await;
                            connected = None;
                        }
                        continue;
                    }
                    Claim::Dropped(ticket) => {
                        self.record_dropped(&ticket);
                        continue;
                    }
                    Claim::Op(ticket) => {
                        let request = std::mem::replace(&mut link.spare, Request::empty());
                        self.prepare(link.encoder.as_mut(), ticket, request)
                    }
                },
            };
            let session = link.session.as_mut();
            let due = self.wait_until_due(&prepared.ticket, session, &mut changed);
            let now = match due.await {
                Due::Now(now) => now,
                Due::Never => {
                    self.source.finished();
                    self.note_not_sent(prepared.ticket.index);
                    link.spare = prepared.request;
                    continue;
                }
                Due::Closed => {
                    self.source.give_back(prepared.ticket);
                    self.rest_after(link.since).await;
                    connected = None;
                    continue;
                }
            };
            self.note_working(&mut has_worked);
            if !self.perform(link, prepared, now, &mut ready).await {
                connected = None;
            }
        }
        if let Some(prepared) = ready {
            self.source.finished();
            self.note_not_sent(prepared.ticket.index);
        }
    }

    /// Waits for its start; false if the load ends first, planned or not.
    async fn begins(&self) -> bool {
        let mut changed = self.schedule.subscribe();
        loop {
            let (now, end) = (self.timeline.now(), self.schedule.end());
            if self.begin <= now {
                return true;
            }
            if end <= now {
                return false;
            }
            self.wait_until(self.begin.min(end), Some(&mut changed)).await;
        }
    }

    /// Waits while the session has no part in the load; fails if the target closes the session meanwhile.
    async fn idle(
        &self,
        link: &mut ConnectedSession,
        until: Nanos,
        changed: &mut watch::Receiver<u64>,
    ) -> Result<(), ClosedByTarget> {
        let waited = self.wait_open(until, link.session.as_mut(), changed).await;
        let now = self.timeline.now();
        if let Some(think) = &self.think {
            // The schedule may have changed, so that it works earlier than planned.
            think.begin_after(until.min(now));
        }
        if self.ahead {
            // The session had no op to send: the pause is not client lag.
            link.free = now;
        }
        waited
    }

    fn note_working(&self, has_worked: &mut bool) {
        if !std::mem::replace(has_worked, true) {
            self.record.borrow_mut().worked[self.stream].working += 1;
        }
    }

    /// Records the rows of an op that was claimed and will not be sent.
    fn note_not_sent(&self, index: u64) {
        if let Some(table) = inserts_into(&self.bound, self.feed.op_id(index)) {
            let (first, rows) = self.feed.rows(index);
            self.record.borrow_mut().ledgers[table].not_sent(first, rows);
        }
    }

    fn prepare(
        &self,
        encoder: &mut dyn Encoder,
        ticket: Ticket,
        mut request: Request,
    ) -> PreparedOp {
        let failure = self.feed.fill(ticket.index, &mut request.op).err();
        encoder.encode(&mut request);
        let class = ErrorClass::Data;
        let failure = failure.map(|message| OpError { class, code: None, message });
        PreparedOp { ticket, request, failure }
    }

    /// Executes an op, with the plan's retries, and records it. False: the session is gone.
    async fn perform(
        &self,
        link: &mut ConnectedSession,
        mut prepared: PreparedOp,
        started: Nanos,
        ready: &mut Option<PreparedOp>,
    ) -> bool {
        let ticket = prepared.ticket;
        let op = usize::from(prepared.request.op.id.0);
        let (_, rows) = self.feed.rows(ticket.index);
        let intended = ticket.intended.unwrap_or(started);
        let mut retries = 0;
        let mut from = started;
        let mut reported = 0;
        let (outcome, finished) = loop {
            let deadline = from.saturating_add(self.timeout);
            let mut outcome = match prepared.failure.take() {
                Some(error) => {
                    // Other sessions of this thread also get their turn.
                    tokio::task::yield_now().await;
                    Outcome::refused(rows, error)
                }
                None => self.execute(link, &mut prepared.request, deadline, ready).await,
            };
            if matches!(prepared.request.op.body, OpBody::Query(_)) {
                reported = outcome.rows_applied;
                outcome = outcome.of_rows(rows);
            }
            let finished = self.timeline.now();
            if !self.is_tried_again(&outcome, retries) {
                break (outcome, finished);
            }
            let wait = Nanos(self.retry.backoff.0 << retries.min(20)).min(RETRY_BACKOFF_MAX);
            self.timeline.sleep_until(finished.saturating_add(wait)).await;
            retries += 1;
            from = self.timeline.now();
        };
        self.source.finished();
        let mut record = self.record.borrow_mut();
        record.recorder.record(&FinishedOp {
            key: (self.keys)(ticket.phase, op),
            intended,
            free: link.free,
            closed: ticket.intended.is_none(),
            started,
            finished,
            phase_start: ticket.phase_start,
            finished_in: self.finished_in(&ticket, op, finished),
            rows,
            retries,
            outcome: &outcome,
        });
        let write = ReplacingWrite { started, finished, rows, reported };
        self.note(&mut record.ledgers, &prepared.request.op, write, &outcome);
        let host = &mut record.hosts[link.host];
        host.failed += u64::from(!outcome.is_success());
        if outcome.is_acknowledged() {
            host.acknowledged += 1;
            record.acknowledged_at = Some(finished);
        }
        link.free = finished;
        drop(record);
        if let Some(think) = &self.think {
            think.pause_from(finished);
        }
        if let Some(error) = link.refusals.note(&outcome, &self.bound, op) {
            self.time_out(error);
        }
        link.spare = prepared.request;
        outcome.session_usable
    }

    /// Whether an unsuccessful op is retried.
    fn is_tried_again(&self, outcome: &Outcome, retries: u32) -> bool {
        let error = outcome.error.as_ref();
        outcome.certainty == Certainty::NotApplied
            && outcome.session_usable
            && error.is_some_and(|error| error.class.is_transient())
            && retries < self.retry.attempts
            && !self.schedule.is_aborted()
    }

    /// Records the outcome of an op's rows in the ledger of their table.
    fn note(&self, ledgers: &mut [Ledger], op: &Op, write: ReplacingWrite, outcome: &Outcome) {
        if let Some(replaced) = self.feed.replaced(op) {
            let ledger = &mut ledgers[replaced.table];
            ledger.note_replaced(&replaced, write, outcome);
        } else if let Some(table) = inserts_into(&self.bound, op.id) {
            let batch = match &op.body {
                OpBody::Insert(batch) => Some(batch),
                OpBody::Query(_) => None,
            };
            let (first, _) = self.feed.rows(op.index);
            ledgers[table].note(first, write.rows, batch, outcome);
        }
    }

    /// The key and the start of the phase in which an op finished: usually its own.
    fn finished_in(&self, ticket: &Ticket, op: usize, finished: Nanos) -> Option<(usize, Nanos)> {
        let (phase, start) = if finished < self.source.phase_end(ticket) {
            (ticket.phase, ticket.phase_start)
        } else {
            self.schedule.phase_at(finished)?
        };
        Some(((self.keys)(phase, op), start))
    }

    /// One attempt, abandoned at the deadline. In closed load the next op is prepared meanwhile.
    async fn execute(
        &self,
        link: &mut ConnectedSession,
        request: &mut Request,
        deadline: Nanos,
        ready: &mut Option<PreparedOp>,
    ) -> Outcome {
        let ConnectedSession { session, encoder, spare, .. } = link;
        let mut execution = session.execute(request);
        let mut first = self.ahead && ready.is_none();
        let outcome = self.guarded(deadline, |context| {
            let outcome = execution.as_mut().poll(context);
            if outcome.is_pending() && std::mem::take(&mut first) {
                // The request is in flight: time to prepare the next one.
                *ready = self.claim_ahead(encoder.as_mut(), spare);
                return execution.as_mut().poll(context);
            }
            outcome
        });
        let outcome = outcome.await;
        outcome.unwrap_or_else(|| {
            Outcome::unknown(OpError {
                class: ErrorClass::Timeout,
                code: None,
                message: "timed out without a response".to_owned(),
            })
        })
    }

    /// Polls until completion; `None` if the watchdog ends it, at the deadline or because the run has
    /// ended.
    async fn guarded<T>(
        &self,
        deadline: Nanos,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Option<T> {
        self.watch.expired.set(false);
        self.watch.deadline.set(Some(deadline));
        let answer = poll_fn(|context| {
            if let Poll::Ready(answer) = poll(context) {
                return Poll::Ready(Some(answer));
            }
            if self.watch.expired.get() {
                return Poll::Ready(None);
            }
            match &mut *self.watch.waker.borrow_mut() {
                // Usually the same one, which is then not cloned.
                Some(waker) => waker.clone_from(context.waker()),
                waker @ None => *waker = Some(context.waker().clone()),
            }
            Poll::Pending
        })
        .await;
        self.watch.deadline.set(None);
        answer
    }

    fn claim_ahead(&self, encoder: &mut dyn Encoder, spare: &mut Request) -> Option<PreparedOp> {
        match self.source.claim(self.slot, self.timeline.now()) {
            Claim::Op(ticket) => {
                let request = std::mem::replace(spare, Request::empty());
                Some(self.prepare(encoder, ticket, request))
            }
            Claim::Dropped(ticket) => {
                self.record_dropped(&ticket);
                None
            }
            Claim::Idle(_) | Claim::End => None,
        }
    }

    fn record_dropped(&self, ticket: &Ticket) {
        let op = usize::from(self.feed.op_id(ticket.index).0);
        let intended = ticket.intended.unwrap_or(ticket.phase_start);
        let key = (self.keys)(ticket.phase, op);
        self.record.borrow_mut().recorder.record_dropped(
            key,
            intended,
            ticket.phase_start,
            self.timeline.now(),
        );
        self.note_not_sent(ticket.index);
    }

    /// Waits for an op's intended time while the session is open.
    async fn wait_until_due(
        &self,
        ticket: &Ticket,
        session: &mut dyn Session,
        changed: &mut watch::Receiver<u64>,
    ) -> Due {
        let Some(intended) = ticket.intended else {
            let now = self.timeline.now();
            let is_in_time = now < self.source.phase_end(ticket);
            return if is_in_time { Due::Now(now) } else { Due::Never };
        };
        while self.source.is_due(ticket) {
            let now = self.timeline.now();
            if intended <= now {
                return Due::Now(now);
            }
            if self.wait_open(intended, session, changed).await.is_err() {
                return Due::Closed;
            }
        }
        Due::Never
    }

    /// Waits until this time, or until the schedule changes; fails if the target closes the session meanwhile, so that
    /// it is reopened before the next op.
    async fn wait_open(
        &self,
        until: Nanos,
        session: &mut dyn Session,
        changed: &mut watch::Receiver<u64>,
    ) -> Result<(), ClosedByTarget> {
        let closed = poll_fn(|context| session.poll_closed(context));
        let wait = std::pin::pin!(self.wait_until(until, Some(changed)));
        match select(wait, closed).await {
            Either::Left(((), _)) => Ok(()),
            Either::Right(((), _)) => Err(ClosedByTarget),
        }
    }

    /// Waits until this time, or until the schedule changes.
    async fn wait_until(&self, until: Nanos, changed: Option<&mut watch::Receiver<u64>>) {
        let sleep = self.timeline.sleep_until(until);
        match changed {
            None => sleep.await,
            Some(changed) => {
                let change = std::pin::pin!(changed.changed());
                if let Either::Right((Err(_), sleep)) = select(sleep, change).await {
                    sleep.await;
                }
            }
        }
    }
}

impl Worker {
    /// Waits until the end of the session's pause or of the load; fails if the target closes the session
    /// meanwhile.
    ///
    /// A pause is neither session wait nor client lag: the session is idle for its next op when the pause
    /// ends.
    async fn pause(
        &self,
        link: &mut ConnectedSession,
        changed: &mut watch::Receiver<u64>,
    ) -> Result<(), ClosedByTarget> {
        let Some(think) = &self.think else {
            return Ok(());
        };
        let until = think.resumes();
        loop {
            let end = until.min(self.schedule.end());
            if self.timeline.now() >= end {
                break;
            }
            self.wait_open(end, link.session.as_mut(), changed).await?;
        }
        link.free = link.free.max(until);
        Ok(())
    }
}

/// The pauses of a session.
#[derive(Debug)]
pub(crate) struct Think {
    /// Time from a response to the next op.
    pause: Nanos,
    /// Time before its first op; below `pause`.
    offset: Nanos,
    /// End of the current pause.
    resumes: Cell<Nanos>,
}

impl Think {
    /// The pauses of session number `session` of all shares, which starts at `begin`.
    ///
    /// Sessions that all began at once would send in bursts. So each begins at its own offset within the pause: the
    /// fractional part of its number times the golden ratio, which spreads any number of sessions evenly (H. Weyl,
    /// "Über die Gleichverteilung von Zahlen mod. Eins", Mathematische Annalen 77, 1916).
    pub(crate) fn new(pause: Nanos, session: u32, begin: Nanos) -> Self {
        const GOLDEN_RATIO: u32 = 0x9E37_79B9; // times 2⁻³²
        let part = u128::from(session.wrapping_mul(GOLDEN_RATIO));
        let offset = (u128::from(pause.0) * part) >> 32;
        let offset = Nanos(u64::try_from(offset).unwrap_or(u64::MAX));
        Self { pause, offset, resumes: Cell::new(begin.saturating_add(offset)) }
    }

    /// End of the current pause.
    fn resumes(&self) -> Nanos {
        self.resumes.get()
    }

    /// A session without a part in the load until then begins at its offset within the pause.
    fn begin_after(&self, until: Nanos) {
        self.resumes.set(until.saturating_add(self.offset));
    }

    /// The pause after a response.
    fn pause_from(&self, finished: Nanos) {
        self.resumes.set(finished.saturating_add(self.pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the three-distance theorem, the offsets of n sessions have gaps of at most three lengths; for the golden
    /// ratio, the widest is below 1.9 / n of the whole.
    #[test]
    fn any_number_of_sessions_is_spread_evenly_over_the_pause() {
        let pause = Nanos::from_secs(10);
        for sessions in [1_u32, 2, 5, 50, 1_000, 4_097] {
            let places =
                (0..sessions).map(|session| Think::new(pause, session, Nanos::ZERO).offset.0);
            let mut places: Vec<u64> = places.collect();
            places.sort_unstable();
            places.push(pause.0 + places[0]);
            let widest = places.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(widest * u64::from(sessions) <= 19 * pause.0 / 10, "{sessions}: {widest}");
        }
    }
}
