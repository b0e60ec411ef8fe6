//! A session: the executor's side of a connection on its own thread.

use std::sync::Arc;

use highwater_core::model::op::{BoundWorkload, Op, OpBody, OpId};
use highwater_core::model::outcome::{ErrorClass, Outcome};
use rusqlite::Connection;

use crate::contract::{BoxFuture, Connect, Encoder, Request, Session, TargetError};

use super::error::misfit;
use super::statements::Statements;
use super::target::Database;
use super::thread::{self, ConnectionThread, ConnectionWorker, Lost};

type Answer = (Request, Outcome);

/// One connection, prepared for a workload.
pub(super) struct SqliteSession {
    thread: ConnectionThread<Request, Answer>,
}

impl SqliteSession {
    /// Opens the file and prepares the workload's statements.
    pub(super) async fn open(
        database: &Arc<Database>,
        connect: Connect,
    ) -> Result<Self, TargetError> {
        let workload = connect.workload;
        let name = format!("sqlite-{}", connect.number);
        let serve = move |connection: &Connection, desk: &mut ConnectionWorker<Request, Answer>| {
            answer_requests(connection, desk, &workload);
        };
        let thread = thread::start(database, name, connect.timeline.as_ref(), serve).await?;
        Ok(Self { thread })
    }
}

fn answer_requests(
    connection: &Connection,
    desk: &mut ConnectionWorker<Request, Answer>,
    workload: &BoundWorkload,
) {
    let database = Arc::clone(desk.database());
    let prepared = Statements::prepare(connection, workload, &database, desk.abandoned());
    let mut statements = match prepared {
        Ok(statements) => statements,
        Err(error) => return desk.refuse(error),
    };
    desk.ready(connection);
    while let Some((request, running)) = desk.next() {
        let outcome = statements.execute(&request.op);
        drop(running);
        desk.answer((request, outcome));
    }
}

impl Session for SqliteSession {
    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(NoWire)
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match self.thread.ask(std::mem::replace(request, nothing())).await {
                Ok((answered, outcome)) => {
                    *request = answered;
                    outcome
                }
                Err(Lost::NotAsked(unasked)) => {
                    *request = unasked;
                    let error = misfit(ErrorClass::Connection, "the session is closed");
                    let mut outcome = Outcome::refused(request.op.rows(), error);
                    outcome.session_usable = false;
                    outcome
                }
                Err(Lost::Unanswered) => Outcome::unknown(misfit(
                    ErrorClass::Connection,
                    "the session's thread ended before it answered",
                )),
            }
        })
    }
}

/// Stands in while the request is with the thread; allocates nothing.
const fn nothing() -> Request {
    Request {
        op: Op {
            id: OpId(0),
            index: 0,
            body: OpBody::Query(Vec::new()),
        },
        bytes: Vec::new(),
    }
}

/// There is no wire: rows are bound from the op itself.
struct NoWire;

impl Encoder for NoWire {
    fn encode(&mut self, request: &mut Request) {
        request.bytes.clear();
    }
}
