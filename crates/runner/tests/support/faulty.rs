//! A target with faults that the simulated cluster does not make, around one that it is.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use highwater_driver::{
    Admin, BoxFuture, Capabilities, Connect, Encoder, KeyCounts, KeySums, Lease, LeaseAction,
    RegistryEntry, Request, RowTaker, ServerAdmin, Session, TableAdmin, TableDescriber,
    TablePolicy, TableReader, Target, TargetError, TargetErrorKind, TargetFacts, Timeline,
};
use highwater_model::op::{BoundTable, BoundWorkload, PlaceholderStyle};
use highwater_model::outcome::{ErrorClass, OpError, Outcome};
use highwater_model::stored::KeyRange;
use highwater_model::units::Nanos;

/// What is wrong with it, and what it was asked.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Of each session's ops of a round, so many at its end fail for want of resources.
    pub(crate) exhausted: u64,
    /// Ops of a round; 0: no op fails.
    pub(crate) round: u64,
    /// How so many rows fail, instead.
    pub(crate) fails_with: Option<fn(u64) -> Outcome>,
    /// The audit's question is refused.
    pub(crate) refuses_to_count: bool,
    /// So many requests for sums or counts are refused for want of memory before one is answered.
    pub(crate) sums_refused: AtomicU64,
    /// The same of requests for rows: after all of them were sent.
    pub(crate) reads_refused: AtomicU64,
    /// Key expressions of the checksums that were asked for.
    pub(crate) keys_requested: Mutex<Vec<String>>,
    /// Something is at work for ever.
    pub(crate) never_quiet: bool,
    /// A session is closed so long after it was opened.
    pub(crate) closes_after: Option<Nanos>,
    /// Only the session of this number is, and it is never let in again.
    pub(crate) closes_for_good: Option<u32>,
    /// Sessions that it has at one time, at most.
    pub(crate) sessions_max: Option<u64>,
    /// Sessions that it has.
    pub(crate) open: Arc<AtomicU64>,
    /// How often the session that is closed for good was let in.
    pub(crate) let_in: AtomicU64,
    /// Sessions that were opened.
    pub(crate) opened: AtomicU64,
    /// How often the size of the tables was asked.
    pub(crate) sizes_requested: AtomicU64,
}

/// The target.
pub(crate) struct Faulty {
    pub(crate) inner: Arc<dyn Target>,
    pub(crate) faults: Arc<Faults>,
}

impl Target for Faulty {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn placeholders(&self) -> PlaceholderStyle {
        self.inner.placeholders()
    }

    fn urls(&self) -> Vec<String> {
        self.inner.urls()
    }

    fn host_of(&self, number: u32, attempt: u32) -> usize {
        self.inner.host_of(number, attempt)
    }

    fn connect(&self, connect: Connect) -> BoxFuture<'_, Result<Box<dyn Session>, TargetError>> {
        Box::pin(async move {
            let timeline = Rc::clone(&connect.timeline);
            let number = connect.number;
            let inner = self.inner.connect(connect).await?;
            let faults = Arc::clone(&self.faults);
            let closes = faults.closes_for_good.is_none_or(|only| only == number);
            if faults.closes_for_good == Some(number)
                && faults.let_in.fetch_add(1, Ordering::Relaxed) > 0
            {
                return Err(TargetError::unreachable("this one is not let in again"));
            }
            let place = Place::take(&faults.open);
            let open = faults.open.load(Ordering::Relaxed);
            if faults.sessions_max.is_some_and(|most| open > most) {
                return Err(TargetError::unreachable("too many clients already"));
            }
            faults.opened.fetch_add(1, Ordering::Relaxed);
            let closes_at = faults
                .closes_after
                .filter(|_| closes)
                .map(|life| timeline.now().saturating_add(life));
            let session: Box<dyn Session> = Box::new(FaultySession {
                inner,
                faults,
                requests: 0,
                closes: closes_at.map(|at| (at, timeline.sleep_until(at))),
                timeline,
                _place: place,
            });
            Ok(session)
        })
    }

    fn administer(
        &self,
        timeline: Rc<dyn Timeline>,
    ) -> BoxFuture<'_, Result<Box<dyn Admin>, TargetError>> {
        Box::pin(async move {
            let inner = self.inner.administer(timeline).await?;
            let faults = Arc::clone(&self.faults);
            let admin: Box<dyn Admin> = Box::new(FaultyAdmin { inner, faults });
            Ok(admin)
        })
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

/// One of the sessions that the target has.
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
        if self
            .closes
            .as_ref()
            .is_some_and(|(at, _)| *at <= self.timeline.now())
        {
            let error = OpError {
                class: ErrorClass::Connection,
                code: None,
                message: "the server closed the connection".to_owned(),
            };
            let mut outcome = Outcome::refused(request.op.rows(), error);
            outcome.session_usable = false;
            return Box::pin(async move { outcome });
        }
        if !fails {
            return self.inner.execute(request);
        }
        let rows = request.op.rows();
        if let Some(fails_with) = self.faults.fails_with {
            return Box::pin(async move { fails_with(rows) });
        }
        let error = OpError {
            class: ErrorClass::Resource,
            code: None,
            message: "no space left on device".to_owned(),
        };
        Box::pin(async move { Outcome::refused(rows, error) })
    }
}

struct FaultyAdmin {
    inner: Box<dyn Admin>,
    faults: Arc<Faults>,
}

impl ServerAdmin for FaultyAdmin {
    fn facts(&mut self) -> BoxFuture<'_, Result<TargetFacts, TargetError>> {
        self.inner.facts()
    }

    fn quiesce(&mut self, deadline: Nanos) -> BoxFuture<'_, Result<bool, TargetError>> {
        Box::pin(async move {
            let quiet = self.inner.quiesce(deadline).await?;
            Ok(quiet && !self.faults.never_quiet)
        })
    }
}

impl TableAdmin for FaultyAdmin {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> BoxFuture<'a, Result<Vec<RegistryEntry>, TargetError>> {
        self.inner.create_tables(workload, policy)
    }

    fn update_registry<'a>(
        &'a mut self,
        notes: &'a [RegistryEntry],
    ) -> BoxFuture<'a, Result<(), TargetError>> {
        self.inner.update_registry(notes)
    }

    fn leases<'a>(
        &'a mut self,
        action: LeaseAction<'a>,
    ) -> BoxFuture<'a, Result<Vec<Lease>, TargetError>> {
        self.inner.leases(action)
    }

    fn rows_inserted<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>> {
        self.inner.rows_inserted(workload)
    }

    fn storage_bytes<'a>(
        &'a mut self,
        _workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>> {
        let requests = self.faults.sizes_requested.fetch_add(1, Ordering::Relaxed) + 1;
        Box::pin(async move { Ok(Some(requests)) })
    }
}

impl TableReader for FaultyAdmin {
    fn count_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> BoxFuture<'a, Result<KeyCounts, TargetError>> {
        if let Some(error) = self.faults.refusal(table) {
            return Box::pin(async { Err(error) });
        }
        self.inner.count_by_key(table, width)
    }

    fn sums_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> BoxFuture<'a, Result<KeySums, TargetError>> {
        if let Some(error) = self.faults.refusal(table) {
            return Box::pin(async { Err(error) });
        }
        self.inner.sums_by_key(table, width)
    }

    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> BoxFuture<'a, Result<(), TargetError>> {
        Box::pin(async move {
            let fails = is_one_left(&self.faults.reads_refused);
            self.inner.read_rows(table, ranges, take).await?;
            // After all rows have been taken: they come a second time.
            if fails { Err(no_room()) } else { Ok(()) }
        })
    }
}

impl TableDescriber for FaultyAdmin {}

impl Faults {
    /// Why sums or counts are refused.
    fn refusal(&self, table: &BoundTable) -> Option<TargetError> {
        self.keys_requested.lock().unwrap().push(table.key.clone());
        if self.refuses_to_count {
            return Some(TargetError {
                kind: TargetErrorKind::Statement,
                ..TargetError::usage("it does not count")
            });
        }
        is_one_left(&self.sums_refused).then(no_room)
    }
}

/// Takes one refusal, if any is left.
fn is_one_left(refusals: &AtomicU64) -> bool {
    let left = refusals.load(Ordering::Relaxed);
    refusals.store(left.saturating_sub(1), Ordering::Relaxed);
    left > 0
}

fn no_room() -> TargetError {
    TargetError::unreachable("CircuitBreakingException")
}
