//! A connection to the simulated cluster: asks, then waits until the answer is due.

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use highwater_core::model::op::{Op, OpBody};
use highwater_core::model::outcome::{Certainty, ErrorClass, OpError, Outcome};

use super::cluster::{Ask, Cluster, Work};
use super::lock;
use crate::contract::{BoxFuture, Encoder, Request, Session, Timeline};

/// One connection.
pub(super) struct SimSession {
    cluster: Arc<Mutex<Cluster>>,
    /// Per op of the workload, the number of the table it fills, or nothing for a query.
    tables: Vec<Option<usize>>,
    timeline: Rc<dyn Timeline>,
    /// False while an op is on its way, so that an abandoned one takes the session with it.
    usable: bool,
}

impl SimSession {
    pub(super) fn new(
        cluster: Arc<Mutex<Cluster>>,
        tables: Vec<Option<usize>>,
        timeline: Rc<dyn Timeline>,
    ) -> Self {
        Self {
            cluster,
            tables,
            timeline,
            usable: true,
        }
    }

    /// What the op asks, or nothing if the workload has no such op.
    fn ask_of(&self, op: &Op) -> Option<Ask> {
        let table = self.tables.get(usize::from(op.id.0))?;
        let work = match (&op.body, table) {
            (OpBody::Insert(batch), Some(table)) => Work::Insert {
                table: *table,
                first_row: batch.first_row,
                rows: op.rows(),
            },
            (OpBody::Query(_), None) => Work::Query,
            _ => return None,
        };
        Some(Ask {
            op: op.id.0,
            index: op.index,
            work,
        })
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
            let Some(ask) = self.ask_of(&request.op) else {
                return not_prepared(request.op.rows());
            };
            self.usable = false;
            let answer = lock(&self.cluster).ask(self.timeline.now(), &ask);
            self.timeline.sleep_until(answer.at).await;
            self.usable = answer.outcome.session_usable;
            answer.outcome
        })
    }
}

/// There is no wire, hence no wire form.
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
