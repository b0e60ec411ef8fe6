//! A connection under load: writes the encoded op, counts the response, judges failures.
//!
//! The connection is moved into the future of an op, and returns only if it is still in sync with the server. So an
//! abandoned op closes its connection, and its response cannot be mistaken for the next one's.

use std::rc::Rc;
use std::task::{Context, Poll};

use highwater_driver::contract::{BoxFuture, Encoder, Request, Session};
use highwater_driver::outcomes::closed;
use highwater_model::op::{Op, OpBody};
use highwater_model::outcome::Outcome;

use super::answer::Answer;
use super::encode::{Mode, Plan, WireEncoder};
use super::outcome::{judge, lost};
use super::packet;
use super::transaction;
use super::wire::Connection;

/// A session; see the module documentation.
pub(super) struct WireSession {
    /// `None` during an op, and permanently after one was abandoned or lost.
    connection: Option<Connection>,
    plans: Rc<[Plan]>,
}

impl WireSession {
    pub(super) fn new(connection: Connection, plans: Vec<Plan>) -> Self {
        Self { connection: Some(connection), plans: plans.into() }
    }

    async fn run(&mut self, request: &Request) -> Outcome {
        let (op, bytes) = (&request.op, request.bytes.as_slice());
        let Some(mut connection) = self.connection.take() else {
            return closed(op);
        };
        let mut outcome = match (self.plans.get(usize::from(op.id.0)), &op.body) {
            // Nothing to send.
            (_, OpBody::Insert(batch)) if batch.rows == 0 => Outcome::applied(0),
            (Some(Plan::Transaction(_)), _) => {
                transaction::of_statements(&mut connection, op, bytes).await
            }
            (Some(Plan::Insert(plan)), _) if plan.mode == Mode::LoadData => {
                load_data(&mut connection, op, bytes).await
            }
            (Some(Plan::Insert(_)), _) => match packet::commands(bytes).count() {
                1 => one(&mut connection, op, bytes, Answer::default()).await,
                commands => transaction::of_batch(&mut connection, op, bytes, commands).await,
            },
            _ => one(&mut connection, op, bytes, Answer::default()).await,
        };
        // An early response leaves the rest of its request unsent.
        outcome.session_usable &= connection.stream.is_sent_whole();
        if outcome.session_usable {
            self.connection = Some(connection);
        }
        outcome
    }
}

/// One command, continuing an existing response.
async fn one(connection: &mut Connection, op: &Op, bytes: &[u8], mut answer: Answer) -> Outcome {
    match connection.exchange(bytes, 1, &mut answer).await {
        Ok(()) => judge(op, answer),
        Err(error) => lost(op, answer, &error, connection.stream.is_sent_whole()),
    }
}

/// The statement, and the lines when the server requests them. The server drops unterminated lines, so that an
/// incomplete request changes nothing.
async fn load_data(connection: &mut Connection, op: &Op, bytes: &[u8]) -> Outcome {
    let statement = packet::first(bytes);
    let (statement, lines) = bytes.split_at_checked(statement).unwrap_or((bytes, &[]));
    let mut answer = Answer::default();
    if let Err(error) = connection.exchange(statement, 1, &mut answer).await {
        return lost(op, answer, &error, false);
    }
    if !answer.wants_rows {
        return judge(op, answer);
    }
    one(connection, op, lines, answer).await
}

impl Session for WireSession {
    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(WireEncoder { plans: Rc::clone(&self.plans) })
    }

    fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.connection {
            Some(connection) => connection.poll_closed(context),
            None => Poll::Pending,
        }
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        Box::pin(self.run(request))
    }
}
