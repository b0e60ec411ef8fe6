//! A target whose sessions lose responses, and whose tables are changed between the load and the audit without the
//! run's knowledge.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use highwater_driver::{
    Admin, BoxFuture, Connect, Encoder, KeySums, Request, Response, Session, Target, Timeline,
};
use highwater_model::op::{BoundWorkload, Op};
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::support::faulty::error;
use crate::support::hooked::{AdminHooks, Hooked, HookedAdmin, Hooks};

/// Changes rows, once, after the load; receives the ops of unknown outcome.
pub(crate) type Tamper = Box<dyn FnOnce(&BTreeSet<u64>) + Send>;

/// Faults of a target.
#[derive(Default)]
pub(crate) struct Faults {
    /// Ops, by index, that are applied and not acknowledged.
    pub(crate) lost_answers: BTreeSet<u64>,
    /// Ops, by index, that time out and that the database applies later.
    pub(crate) applied_late: BTreeSet<u64>,
    /// Runs when the tables have been created, before the first row.
    pub(crate) made: Option<Box<dyn FnOnce() + Send>>,
    /// Ops, by index, that are acknowledged and not applied.
    pub(crate) not_applied: BTreeSet<u64>,
    /// The column, by position, whose checksums the target computes differently.
    pub(crate) other_sums_of: Option<usize>,
    /// Runs on a separate connection.
    pub(crate) tamper: Option<Tamper>,
}

#[derive(Default)]
struct State {
    faults: Faults,
    late: Vec<Op>,
    unknown: BTreeSet<u64>,
    workload: Option<Arc<BoundWorkload>>,
}

/// The target with these faults.
pub(crate) fn tampered(inner: Arc<dyn Target>, faults: Faults) -> Arc<dyn Target> {
    let state = State { faults, ..State::default() };
    let hooks = Tampered { target: Arc::clone(&inner), state: Arc::new(Mutex::new(state)) };
    Arc::new(Hooked { inner, hooks })
}

struct Tampered {
    target: Arc<dyn Target>,
    state: Arc<Mutex<State>>,
}

impl Hooks for Tampered {
    fn opened(
        &self,
        connect: &Connect,
        inner: Box<dyn Session>,
    ) -> Result<Box<dyn Session>, UserError> {
        let state = Arc::clone(&self.state);
        state.lock().unwrap().workload = Some(Arc::clone(&connect.workload));
        Ok(Box::new(Losing { inner, state }))
    }

    fn administers(&self, inner: Box<dyn Admin>, timeline: &Rc<dyn Timeline>) -> Box<dyn Admin> {
        let hooks = Tampering {
            target: Arc::clone(&self.target),
            state: Arc::clone(&self.state),
            timeline: Rc::clone(timeline),
        };
        Box::new(HookedAdmin { inner, hooks })
    }
}

struct Losing {
    inner: Box<dyn Session>,
    state: Arc<Mutex<State>>,
}

fn lost() -> Outcome {
    Outcome::unknown(error(ErrorClass::Connection, "the answer was lost"))
}

impl Session for Losing {
    fn encoder(&self) -> Box<dyn Encoder> {
        self.inner.encoder()
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let index = request.op.index;
            let (loses, late) = {
                let state = self.state.lock().unwrap();
                let faults = &state.faults;
                if faults.not_applied.contains(&index) {
                    return Outcome::answered(0, 0);
                }
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
    target: Arc<dyn Target>,
    state: Arc<Mutex<State>>,
    timeline: Rc<dyn Timeline>,
}

impl Tampering {
    /// The database applies timed-out ops, and then rows are changed.
    async fn strike(&self) -> Result<(), UserError> {
        let (late, workload, tamper, unknown) = {
            let mut state = self.state.lock().unwrap();
            let late = std::mem::take(&mut state.late);
            let tamper = state.faults.tamper.take();
            (late, state.workload.clone(), tamper, state.unknown.clone())
        };
        if let Some(workload) = workload.filter(|_| !late.is_empty()) {
            let connect =
                Connect { workload, number: 99, attempt: 0, timeline: Rc::clone(&self.timeline) };
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

impl AdminHooks for Tampering {
    fn quiesced(&mut self, deadline: Nanos, quiet: bool) -> Response<'_, bool> {
        Box::pin(async move {
            // The first call only checks for a response.
            if deadline > Nanos::ZERO {
                self.strike().await?;
            }
            Ok(quiet)
        })
    }

    fn made(&self) {
        let made = self.state.lock().unwrap().faults.made.take();
        if let Some(made) = made {
            made();
        }
    }

    /// Waiting for a counter to become constant is tested elsewhere.
    fn has_counter(&self) -> bool {
        false
    }

    fn summed(&self, sums: &mut KeySums) {
        let other = self.state.lock().unwrap().faults.other_sums_of;
        for bucket in &mut sums.buckets {
            if let Some(sum) = other.and_then(|at| bucket.sums.get_mut(at)) {
                *sum = sum.wrapping_add(bucket.rows);
            }
        }
    }
}
