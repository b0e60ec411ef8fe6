//! A target whose sessions lose answers and whose tables are changed behind its back, between the
//! load and the audit.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use highwater_driver::{
    Admin, BoxFuture, Capabilities, Connect, Encoder, KeyCounts, KeySums, Lease, LeaseAction,
    RegistryEntry, Request, RowTaker, ServerAdmin, Session, TableAdmin, TableDescriber,
    TablePolicy, TableReader, Target, TargetError, TargetFacts, Timeline,
};
use highwater_model::op::{BoundTable, BoundWorkload, Op, PlaceholderStyle, Value};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};
use highwater_model::stored::KeyRange;
use highwater_model::units::Nanos;

/// Changes rows, once, when the load is over; it is told which ops are of unknown fate.
pub(crate) type Tamper = Box<dyn FnOnce(&BTreeSet<u64>) + Send>;

/// What is done to a target.
#[derive(Default)]
pub(crate) struct Faults {
    /// Ops, by index, that are applied and not acknowledged.
    pub(crate) lost_answers: BTreeSet<u64>,
    /// Ops, by index, that their client gives up and the database applies later.
    pub(crate) applied_late: BTreeSet<u64>,
    /// When the tables have been made, before the first row.
    pub(crate) made: Option<Box<dyn FnOnce() + Send>>,
    /// Ops, by index, that are acknowledged and not applied.
    pub(crate) not_applied: BTreeSet<u64>,
    /// The column, by position, whose checksums the target makes otherwise.
    pub(crate) other_sums_of: Option<usize>,
    /// Runs on a connection of its own.
    pub(crate) tamper: Option<Tamper>,
}

#[derive(Default)]
struct State {
    faults: Faults,
    late: Vec<Op>,
    unknown: BTreeSet<u64>,
    workload: Option<Arc<BoundWorkload>>,
}

/// The target.
pub(crate) struct Tampered {
    inner: Arc<dyn Target>,
    state: Arc<Mutex<State>>,
}

impl Tampered {
    pub(crate) fn target(inner: Arc<dyn Target>, faults: Faults) -> Arc<dyn Target> {
        let state = State {
            faults,
            ..State::default()
        };
        Arc::new(Self {
            inner,
            state: Arc::new(Mutex::new(state)),
        })
    }
}

impl Target for Tampered {
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
            let workload = Arc::clone(&connect.workload);
            self.state.lock().unwrap().workload = Some(workload);
            let session = Losing {
                inner: self.inner.connect(connect).await?,
                state: Arc::clone(&self.state),
            };
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }

    fn administer(
        &self,
        timeline: Rc<dyn Timeline>,
    ) -> BoxFuture<'_, Result<Box<dyn Admin>, TargetError>> {
        Box::pin(async move {
            let admin = Tampering {
                inner: self.inner.administer(Rc::clone(&timeline)).await?,
                target: Arc::clone(&self.inner),
                state: Arc::clone(&self.state),
                timeline,
            };
            Ok(Box::new(admin) as Box<dyn Admin>)
        })
    }
}

struct Losing {
    inner: Box<dyn Session>,
    state: Arc<Mutex<State>>,
}

fn lost() -> Outcome {
    Outcome::unknown(OpError {
        class: ErrorClass::Connection,
        code: None,
        message: "the answer was lost".to_owned(),
    })
}

impl Session for Losing {
    fn encoder(&self) -> Box<dyn Encoder> {
        self.inner.encoder()
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let index = request.op.index;
            if self
                .state
                .lock()
                .unwrap()
                .faults
                .not_applied
                .contains(&index)
            {
                return Outcome::answered(0, 0);
            }
            let (loses, late) = {
                let state = self.state.lock().unwrap();
                let faults = &state.faults;
                let loses = faults.lost_answers.contains(&index);
                (loses, faults.applied_late.contains(&index))
            };
            if late {
                let mut state = self.state.lock().unwrap();
                state.late.push(request.op.clone());
                state.unknown.insert(index);
                return lost();
            }
            let mut outcome = self.inner.execute(request).await;
            if loses && outcome.certainty == Certainty::Applied {
                outcome = lost();
            }
            if outcome.certainty == Certainty::Unknown {
                self.state.lock().unwrap().unknown.insert(index);
            }
            outcome
        })
    }
}

struct Tampering {
    inner: Box<dyn Admin>,
    target: Arc<dyn Target>,
    state: Arc<Mutex<State>>,
    timeline: Rc<dyn Timeline>,
}

impl Tampering {
    /// The database does what clients gave up, and then somebody changes rows.
    async fn strike(&mut self) -> Result<(), TargetError> {
        let (late, workload, tamper, unknown) = {
            let mut state = self.state.lock().unwrap();
            let late = std::mem::take(&mut state.late);
            let tamper = state.faults.tamper.take();
            (late, state.workload.clone(), tamper, state.unknown.clone())
        };
        if let Some(workload) = workload.filter(|_| !late.is_empty()) {
            let connect = Connect {
                workload,
                number: 99,
                attempt: 0,
                timeline: Rc::clone(&self.timeline),
            };
            let mut session = self.target.connect(connect).await?;
            let mut encoder = session.encoder();
            for op in late {
                let bytes = Vec::new();
                let mut request = Request { op, bytes };
                encoder.encode(&mut request);
                let outcome = session.execute(&mut request).await;
                assert!(outcome.is_success(), "{outcome:?}");
            }
        }
        if let Some(tamper) = tamper {
            tamper(&unknown);
        }
        Ok(())
    }
}

impl ServerAdmin for Tampering {
    fn facts(&mut self) -> BoxFuture<'_, Result<TargetFacts, TargetError>> {
        self.inner.facts()
    }

    fn quiesce(&mut self, deadline: Nanos) -> BoxFuture<'_, Result<bool, TargetError>> {
        Box::pin(async move {
            let quiet = self.inner.quiesce(deadline).await?;
            // The first call only asks whether it answers.
            if deadline > Nanos::ZERO {
                self.strike().await?;
            }
            Ok(quiet)
        })
    }
}

impl TableAdmin for Tampering {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> BoxFuture<'a, Result<Vec<RegistryEntry>, TargetError>> {
        Box::pin(async move {
            let notes = self.inner.create_tables(workload, policy).await?;
            let made = self.state.lock().unwrap().faults.made.take();
            if let Some(made) = made {
                made();
            }
            Ok(notes)
        })
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
        _workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>> {
        // Waiting for a counter to rest is another test's.
        Box::pin(std::future::ready(Ok(None)))
    }

    fn storage_bytes<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>> {
        self.inner.storage_bytes(workload)
    }
}

impl TableReader for Tampering {
    fn count_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> BoxFuture<'a, Result<KeyCounts, TargetError>> {
        self.inner.count_by_key(table, width)
    }

    fn sums_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> BoxFuture<'a, Result<KeySums, TargetError>> {
        let other = self.state.lock().unwrap().faults.other_sums_of;
        Box::pin(async move {
            let mut sums = self.inner.sums_by_key(table, width).await?;
            for bucket in &mut sums.buckets {
                if let Some(sum) = other.and_then(|at| bucket.sums.get_mut(at)) {
                    *sum = sum.wrapping_add(bucket.rows);
                }
            }
            Ok(sums)
        })
    }

    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> BoxFuture<'a, Result<(), TargetError>> {
        self.inner.read_rows(table, ranges, take)
    }

    fn condition(&self, table: &BoundTable, row: &[Value]) -> Option<String> {
        self.inner.condition(table, row)
    }
}

impl TableDescriber for Tampering {}
