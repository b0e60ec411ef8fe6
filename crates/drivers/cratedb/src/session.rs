//! A connection under load: sends the encoded request, reads the response, and judges it.
//!
//! The connection is moved into the future of an op, and returns only if it is still in sync with the server. So an
//! abandoned op closes its connection, and its response cannot be mistaken for the next one's.

use std::rc::Rc;
use std::task::Poll;

use highwater_driver::contract::{BoxFuture, Encoder, Request, Session, Timeline};
use highwater_driver::failure::{ServerMessage, broken, closed, not_applied};
use highwater_driver::http::HttpConnection;
use highwater_driver::time_limit::UnderWay;
use highwater_model::op::{BoundOpKind, BoundWorkload, Op, OpBody};
use highwater_model::outcome::Outcome;
use highwater_model::user_error::{RefusedStatement, UserError};

use super::answer::{Answer, Reason};
use super::encode::{BodyEncoder, Mode, Plan};
use super::judge::{self, Context};
use super::options::Node;
use super::query::{self, Failure};
use super::stability;

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
        let polled = stability::poll(connection, &self.node).await;
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

const EXPLAIN: &str = "EXPLAIN ";

/// A schema, a relation or a column is unknown.
const UNKNOWN: [i64; 3] = [4041, 4043, 4045];
/// Prefix of the text of a syntax error; its code is also used for values that do not fit.
const SYNTAX_ERROR: &str = "ParsingException[line ";

/// Fails with a statement that the target cannot parse, or that refers to missing names. Other errors of a statement
/// without its values do not apply to the statement with them.
pub(super) async fn check(
    connection: &mut HttpConnection,
    node: &Node,
    workload: &BoundWorkload,
) -> Result<(), UserError> {
    for (op, bound) in workload.ops.iter().enumerate() {
        let BoundOpKind::Query { sql, .. } = &bound.kind else {
            continue;
        };
        let place = format!("op `{}`", bound.name);
        match query::rows(connection, node, &format!("{EXPLAIN}{sql}")).await {
            Err(Failure::Server(error)) if is_of_statement(&error.reason) => {
                let refused = RefusedStatement {
                    op,
                    statement: 0,
                    position: position(&error.reason.text, sql),
                };
                return Err(error.into_target_error(&place).about(refused));
            }
            Ok(_) | Err(Failure::Server(_)) => {}
            Err(failure @ Failure::Io(_)) => return Err(failure.into_target_error(&place)),
        }
    }
    Ok(())
}

fn is_of_statement(reason: &Reason) -> bool {
    UNKNOWN.contains(&reason.code) || reason.text.starts_with(SYNTAX_ERROR)
}

/// Number of characters before a syntax error, which the target reports as line and column of the sent text, both from
/// 1.
fn position(text: &str, sql: &str) -> Option<usize> {
    let mut numbers = text.strip_prefix(SYNTAX_ERROR)?.split(':');
    let line: usize = numbers.next()?.parse().ok()?;
    let column: usize = numbers.next()?.parse().ok()?;
    let before = sql.split_inclusive('\n').take(line.checked_sub(1)?);
    let before: usize = before.map(|line| line.chars().count()).sum();
    let shift = if line == 1 { EXPLAIN.len() } else { 0 };
    (before + column).checked_sub(1 + shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, sql: &str, expected: Option<usize>) {
        assert_eq!(position(text, sql), expected, "{text}");
    }

    #[test]
    fn the_place_of_a_syntax_error_is_one_in_the_statement_itself() {
        let sql = "SELECT a\nFORM t";
        check("ParsingException[line 1:9: no viable]", sql, Some(0));
        check("ParsingException[line 1:16: no viable]", sql, Some(7));
        check("ParsingException[line 2:6: mismatched]", sql, Some(14));
        check("ParsingException[line 1:3: before it]", sql, None);
        check("SQLParseException[Cannot cast]", sql, None);
        check("ColumnUnknownException[Column nope unknown]", sql, None);
    }
}
