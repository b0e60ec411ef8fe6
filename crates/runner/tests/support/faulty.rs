//! A target with faults that the simulated cluster does not have, wrapped around one.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use highwater_driver::{Admin, BoxFuture, Connect, Encoder, Request, Response, Session, Timeline};
use highwater_model::op::BoundTable;
use highwater_model::outcome::{ErrorClass, OpError, Outcome};
use highwater_model::stored::KeyRange;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::hooked::{AdminHooks, HookedAdmin, Hooks};

/// Its faults, and counts of its requests.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Of each session's ops of a round, this many at its end fail for lack of resources.
    pub(crate) exhausted: u64,
    /// Ops of a round; 0: no op fails.
    pub(crate) round: u64,
    /// How this many rows fail, instead.
    pub(crate) fails_with: Option<fn(u64) -> Outcome>,
    /// The audit's query is refused.
    pub(crate) refuses_to_count: bool,
    /// This many requests for sums or counts are refused for lack of memory before one is answered.
    pub(crate) sums_refused: AtomicU64,
    /// The same for requests for rows: after all of them were sent.
    pub(crate) reads_refused: AtomicU64,
    /// Keys of a table below an end that one statement can sum; others run out of memory.
    pub(crate) room: Option<(u64, u64)>,
    /// A count of the whole table has no room either.
    pub(crate) refuses_whole_counts: bool,
    /// Number of times that one was requested.
    pub(crate) whole_counts: AtomicU64,
    /// Slices of the requested sums.
    pub(crate) slices_requested: Mutex<Vec<Option<KeyRange>>>,
    /// A statement is running forever.
    pub(crate) never_quiet: bool,
    /// This many requests to end leases are ignored.
    pub(crate) leases_kept: AtomicU64,
    /// A session is closed this long after it was opened.
    pub(crate) closes_after: Option<Nanos>,
    /// Only the session of this number is closed, and it can never reconnect.
    pub(crate) closes_for_good: Option<u32>,
    /// Maximum concurrent sessions.
    pub(crate) sessions_max: Option<u64>,
    /// Open sessions.
    pub(crate) open: Arc<AtomicU64>,
    /// How often the permanently closed session connected.
    pub(crate) let_in: AtomicU64,
    /// Sessions opened.
    pub(crate) opened: AtomicU64,
    /// How often the size of the tables was queried.
    pub(crate) sizes_requested: AtomicU64,
}

impl Hooks for Arc<Faults> {
    fn opened(
        &self,
        connect: &Connect,
        inner: Box<dyn Session>,
    ) -> Result<Box<dyn Session>, UserError> {
        let (timeline, number) = (Rc::clone(&connect.timeline), connect.number);
        let closes = self.closes_for_good.is_none_or(|only| only == number);
        if self.closes_for_good == Some(number) && self.let_in.fetch_add(1, Ordering::Relaxed) > 0 {
            return Err(UserError::unreachable("this one is not let in again"));
        }
        let place = Place::take(&self.open);
        let open = self.open.load(Ordering::Relaxed);
        if self.sessions_max.is_some_and(|most| open > most) {
            return Err(UserError::unreachable("too many clients already"));
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        let closes_at =
            self.closes_after.filter(|_| closes).map(|life| timeline.now().saturating_add(life));
        Ok(Box::new(FaultySession {
            inner,
            faults: Arc::clone(self),
            requests: 0,
            closes: closes_at.map(|at| (at, timeline.sleep_until(at))),
            timeline,
            _place: place,
        }))
    }

    fn administers(&self, inner: Box<dyn Admin>, _: &Rc<dyn Timeline>) -> Box<dyn Admin> {
        let hooks = Arc::clone(self);
        Box::new(HookedAdmin { inner, hooks })
    }
}

struct FaultySession {
    inner: Box<dyn Session>,
    faults: Arc<Faults>,
    requests: u64,
    /// When it is closed.
    closes: Option<(Nanos, BoxFuture<'static, ()>)>,
    timeline: Rc<dyn Timeline>,
    _place: Place,
}

/// One of the target's session places.
struct Place(Arc<AtomicU64>);

impl Place {
    fn take(open: &Arc<AtomicU64>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Session for FaultySession {
    fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.closes {
            Some((at, _)) if *at <= self.timeline.now() => Poll::Ready(()),
            Some((_, sleep)) => sleep.as_mut().poll(context),
            None => Poll::Pending,
        }
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        self.inner.encoder()
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        let (exhausted, round) = (self.faults.exhausted, self.faults.round);
        let fails = round > 0 && self.requests % round >= round - exhausted;
        self.requests += 1;
        if self.closes.as_ref().is_some_and(|(at, _)| *at <= self.timeline.now()) {
            let error = error(ErrorClass::Connection, "the server closed the connection");
            let outcome =
                Outcome { session_usable: false, ..Outcome::refused(request.op.rows(), error) };
            return Box::pin(std::future::ready(outcome));
        }
        if !fails {
            return self.inner.execute(request);
        }
        let rows = request.op.rows();
        let outcome = match self.faults.fails_with {
            Some(fails_with) => fails_with(rows),
            None => Outcome::refused(rows, error(ErrorClass::Resource, "no space left on device")),
        };
        Box::pin(std::future::ready(outcome))
    }
}

impl AdminHooks for Arc<Faults> {
    fn quiesced(&mut self, _: Nanos, quiet: bool) -> Response<'_, bool> {
        Box::pin(std::future::ready(Ok(quiet && !self.never_quiet)))
    }

    fn ends_leases(&self) -> bool {
        !is_one_left(&self.leases_kept)
    }

    fn size(&self) -> Option<u64> {
        Some(self.sizes_requested.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn refuses_sums(&self, table: &BoundTable, width: u64) -> Option<UserError> {
        if width == u64::MAX {
            // One sum has room almost everywhere.
            self.whole_counts.fetch_add(1, Ordering::Relaxed);
            return self.refuses_whole_counts.then(no_room);
        }
        self.slices_requested.lock().unwrap().push(table.slice);
        if self.refuses_to_count {
            return Some(UserError::new(UserErrorKind::Statement, "it does not count"));
        }
        let slice = table.slice.unwrap_or(KeyRange::ALL);
        let is_too_wide =
            |(keys, end): (u64, u64)| slice.end.min(end).saturating_sub(slice.first) > keys;
        let refused = self.room.is_some_and(is_too_wide);
        (refused || is_one_left(&self.sums_refused)).then(no_room)
    }

    /// They are returned a second time.
    fn refuses_rows(&self) -> Option<UserError> {
        is_one_left(&self.reads_refused).then(no_room)
    }
}

/// Takes one planned rejection, if any is left.
fn is_one_left(refusals: &AtomicU64) -> bool {
    let left = refusals.load(Ordering::Relaxed);
    refusals.store(left.saturating_sub(1), Ordering::Relaxed);
    left > 0
}

fn no_room() -> UserError {
    UserError::new(UserErrorKind::Exhausted, "CircuitBreakingException")
}

/// An error of this class, without a code.
pub(crate) fn error(class: ErrorClass, message: &str) -> OpError {
    OpError { class, code: None, message: message.to_owned() }
}

/// Rows that a target rejects at this moment.
pub(crate) fn refused(rows: u64) -> Outcome {
    Outcome::refused(rows, error(ErrorClass::Unavailable, "come again"))
}

/// Half of the rows are stored, and the others rejected.
pub(crate) fn in_half(rows: u64) -> Outcome {
    let refused = rows / 2;
    Outcome {
        rows_refused: refused,
        error: Some(error(ErrorClass::Rejected, "the queue is full")),
        ..Outcome::applied(rows - refused)
    }
}

/// Rows of unknown outcome, on a session that stays usable.
pub(crate) fn unknown(_: u64) -> Outcome {
    Outcome {
        session_usable: true,
        ..Outcome::unknown(error(ErrorClass::Unavailable, "come again"))
    }
}
