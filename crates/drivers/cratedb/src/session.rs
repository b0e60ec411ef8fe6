//! A connection under load: sends the encoded request, reads the response, and judges it.
//!
//! The connection is moved into the future of an op, and returns only if it is still in sync with the server. So an
//! abandoned op closes its connection, and its response cannot be mistaken for the next one's.

use std::rc::Rc;
use std::task::Poll;

use highwater_model::op::{Op, OpBody};
use highwater_model::outcome::Outcome;

use super::answer::Answer;
use super::encode::BodyEncoder;
use super::health;
use super::judge::{self, Context};
use super::options::Node;
use super::query;
use super::statements::{Mode, Plan};
use highwater_driver::contract::{BoxFuture, Encoder, Request, Session, Timeline};
use highwater_driver::http::HttpConnection;
use highwater_driver::lingering::UnderWay;
use highwater_driver::outcomes::{broken, closed, not_applied};

/// A session; see the module documentation.
pub(super) struct HttpSession {
    /// `None` during an op, and permanently after one was abandoned or lost.
    connection: Option<HttpConnection>,
    node: Node,
    plans: Rc<[Plan]>,
    /// The head of the current request.
    head: Vec<u8>,
    timeline: Rc<dyn Timeline>,
}

impl HttpSession {
    pub(super) fn new(
        connection: HttpConnection,
        node: Node,
        plans: Vec<Plan>,
        timeline: Rc<dyn Timeline>,
    ) -> Self {
        Self { connection: Some(connection), node, plans: plans.into(), head: Vec::new(), timeline }
    }

    async fn run(&mut self, request: &Request) -> Outcome {
        let op = &request.op;
        let Some(mut connection) = self.connection.take() else {
            return closed(op);
        };
        // Only bulk mode can represent an insert without rows.
        if request.bytes.is_empty() && op.rows() == 0 {
            self.connection = Some(connection);
            return Outcome::applied(0);
        }
        query::finish_head(&mut self.head, &self.node, request.bytes.len());
        let started = self.timeline.now();
        let mut answer = Answer::default();
        let (stability, timeline) = (&self.node.stability, &self.timeline);
        let under_way = UnderWay::new(|| stability.record_abandoned(timeline.now()));
        let exchanged = connection.exchange(&self.head, &request.bytes, &mut answer).await;
        let mut usable = match exchanged {
            Ok(usable) => {
                under_way.ended();
                usable
            }
            Err(error) => {
                self.node.stability.record_instability(self.timeline.now());
                return lost(op, &error, connection.all_sent());
            }
        };
        let mut context = self.context(op, self.node.stability.is_stable(started));
        if usable && context.stable && judge::depends_on_stability(&answer, context) {
            usable = self.check_health(&mut connection).await;
            context.stable = self.node.stability.is_stable(started);
        }
        let mut outcome = judge::judge(&answer, context);
        if usable {
            self.connection = Some(connection);
        }
        outcome.session_usable = usable;
        outcome
    }

    /// Polls the cluster's health, unless another session has just done so; false if the connection
    /// was lost.
    async fn check_health(&self, connection: &mut HttpConnection) -> bool {
        if !self.node.stability.may_check(self.timeline.now()) {
            return true;
        }
        let polled = health::poll(connection, &self.node).await;
        let now = self.timeline.now();
        match polled {
            Ok(health) => {
                self.node.stability.record_health(health, now);
                true
            }
            Err(failure) => {
                self.node.stability.record_instability(now);
                matches!(failure, query::Failure::Server(_))
            }
        }
    }

    fn context(&self, op: &Op, stable: bool) -> Context {
        let plan = self.plans.get(usize::from(op.id.0));
        let (bulk, has_key) = match plan {
            Some(Plan::Insert(plan)) => (plan.mode == Mode::Bulk, plan.has_key),
            _ => (false, false),
        };
        Context {
            rows: op.rows(),
            insert: matches!(op.body, OpBody::Insert(_)),
            bulk,
            has_key,
            stable,
        }
    }
}

impl Session for HttpSession {
    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(BodyEncoder::new(&self.plans, self.node.gzip))
    }

    fn poll_closed(&mut self, context: &mut std::task::Context<'_>) -> Poll<()> {
        match &mut self.connection {
            Some(connection) => connection.poll_closed(context),
            None => Poll::Pending,
        }
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        Box::pin(self.run(request))
    }
}

/// The connection was lost before the end of the response.
fn lost(op: &Op, error: &std::io::Error, all_sent: bool) -> Outcome {
    if all_sent {
        return Outcome::unknown(broken(error));
    }
    // The server knows the request's length, and did not receive all of it.
    not_applied(op, broken(error))
}
