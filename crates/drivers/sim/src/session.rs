//! A connection to the simulated cluster: submits an op, then waits until its response is due.
//!
//! The shared state of the simulated cluster is accessed here. Must not decide outcomes; see `cluster`.

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use highwater_driver::contract::{BoxFuture, Encoder, Request, Session, Timeline};
use highwater_model::op::{BoundOpKind, BoundWorkload, Op, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};
use highwater_model::transaction::NextStep;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::cluster::{Cluster, SimOp, SimResponse, Work, cut_off};
use super::parameters::SimParameters;

/// One connection.
pub(super) struct SimSession {
    cluster: Arc<Mutex<Cluster>>,
    /// Notified of each action on the cluster.
    changed: Arc<Notify>,
    /// Per op of the workload, the number of the table that it fills, or `None` for a query.
    tables: Vec<Option<usize>>,
    workload: Arc<BoundWorkload>,
    timeline: Rc<dyn Timeline>,
    /// False while an op is in flight, so that abandoning it also ends the session.
    usable: bool,
}

impl SimSession {
    pub(super) fn new(
        cluster: Arc<Mutex<Cluster>>,
        changed: Arc<Notify>,
        tables: Vec<Option<usize>>,
        workload: Arc<BoundWorkload>,
        timeline: Rc<dyn Timeline>,
    ) -> Self {
        Self { cluster, changed, tables, workload, timeline, usable: true }
    }

    /// The pauses of a transaction together, and whether it ends with ROLLBACK.
    fn ordered(&self, op: &Op) -> (Nanos, bool) {
        let kind = self.workload.ops.get(usize::from(op.id.0)).map(|op| &op.kind);
        let (Some(BoundOpKind::Transaction(transaction)), OpBody::Query(values)) = (kind, &op.body)
        else {
            return (Nanos::ZERO, false);
        };
        let mut walk = transaction.walk(values);
        let mut pauses = Nanos::ZERO;
        loop {
            match walk.step() {
                Ok(NextStep::Statement(..)) => {}
                Ok(NextStep::Pause(pause)) => pauses = pauses.saturating_add(pause),
                Ok(NextStep::End { rolls_back }) => return (pauses, rolls_back),
                Err(_) => return (pauses, false),
            }
        }
    }

    /// Submits an op as soon as no node keeps it waiting.
    async fn submit(&self, op: &SimOp) -> SimResponse {
        loop {
            let changed = self.changed.notified();
            let submitted = lock(&self.cluster).submit(self.timeline.now(), op);
            match submitted {
                Ok(response) => return response,
                Err(until) => self.wait(until, changed).await,
            }
        }
    }

    /// The outcome of an op, when its response is due; actions may postpone it, or cut it off.
    async fn answered(&self, response: SimResponse, pauses: Nanos) -> Outcome {
        let Some(ticket) = response.ticket else {
            self.timeline.sleep_until(response.at.saturating_add(pauses)).await;
            return response.outcome;
        };
        loop {
            let changed = self.changed.notified();
            let due = lock(&self.cluster).outages.as_ref().and_then(|of| of.due(ticket));
            let Some(due) = due.map(|due| due.saturating_add(pauses)) else {
                return cut_off("the node went down");
            };
            if due <= self.timeline.now() {
                lock(&self.cluster).deliver(ticket);
                return response.outcome;
            }
            self.wait(due, changed).await;
        }
    }

    async fn wait(&self, until: Nanos, changed: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = changed => {}
            () = self.timeline.sleep_until(until) => {}
        }
    }

    /// The op in the cluster's form; `None` if the workload has no such op.
    fn sim_op(&self, op: &Op) -> Option<SimOp> {
        let table = self.tables.get(usize::from(op.id.0))?;
        let work = match (&op.body, table) {
            (OpBody::Insert(batch), Some(table)) => {
                Work::Insert { table: *table, first_row: batch.first_row, rows: op.rows() }
            }
            (OpBody::Query(_), None) => Work::Query,
            _ => return None,
        };
        Some(SimOp { position: op.id.0, index: op.index, work })
    }
}

impl Session for SimSession {
    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(NoWire)
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if !self.usable {
                return gone(request.op.rows());
            }
            let Some(op) = self.sim_op(&request.op) else {
                return not_prepared(request.op.rows());
            };
            let (pauses, rolls_back) = self.ordered(&request.op);
            self.usable = false;
            let now = self.timeline.now();
            let sent = lock(&self.cluster).sent(now, request.op.rows());
            if sent > now {
                self.timeline.sleep_until(sent).await;
            }
            let now = self.timeline.now();
            let unlocked = lock(&self.cluster).unlocked(now, &op);
            if unlocked > now {
                self.timeline.sleep_until(unlocked).await;
            }
            let response = self.submit(&op).await;
            let outcome = self.answered(response, pauses).await;
            self.usable = outcome.session_usable;
            if rolls_back { outcome.as_rolled_back() } else { outcome }
        })
    }
}

/// No wire form is needed.
struct NoWire;

impl Encoder for NoWire {
    fn encode(&mut self, request: &mut Request) {
        request.bytes.clear();
    }
}

/// Nothing was sent: an earlier op lost the connection or was abandoned.
fn gone(rows: u64) -> Outcome {
    let error = OpError {
        class: ErrorClass::Connection,
        code: None,
        message: "the session was lost with an earlier op".to_owned(),
    };
    Outcome {
        certainty: Certainty::NotApplied,
        session_usable: false,
        ..Outcome::refused(rows, error)
    }
}

fn not_prepared(rows: u64) -> Outcome {
    let error = OpError {
        class: ErrorClass::Statement,
        code: Some("not_prepared".to_owned()),
        message: "the workload has no such op".to_owned(),
    };
    Outcome::refused(rows, error)
}

/// The only insert mode of the model.
pub(super) const INSERT_MODE: &str = "bulk";

/// The cluster as seen by connections other than those of the load, on the run's timeline.
pub(super) struct ClusterView {
    pub(super) parameters: Arc<SimParameters>,
    pub(super) cluster: Arc<Mutex<Cluster>>,
    pub(super) timeline: Rc<dyn Timeline>,
}

impl ClusterView {
    pub(super) fn alive(&self) -> Result<MutexGuard<'_, Cluster>, UserError> {
        alive(&self.cluster, self.timeline.now())
    }
}

/// The cluster, unless it is down.
pub(super) fn alive(
    cluster: &Mutex<Cluster>,
    now: Nanos,
) -> Result<MutexGuard<'_, Cluster>, UserError> {
    let cluster = lock(cluster);
    if cluster.is_dead(now) {
        return Err(UserError::unreachable(
            "target `sim:` is down, as its parameter `die` or the actions on it demand",
        )
        .with_hint("give `die` a later time, or start a node again"));
    }
    Ok(cluster)
}

/// A panic elsewhere must not hide the counts, so poison is ignored.
pub(super) fn lock(cluster: &Mutex<Cluster>) -> MutexGuard<'_, Cluster> {
    cluster.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn no_table(name: &str) -> UserError {
    UserError::new(
        UserErrorKind::MissingTable,
        format!("target `sim:`: table `{name}` does not exist"),
    )
}
