//! A session: the executor's end of a connection on its own thread. Must not execute statements.

use std::sync::Arc;

use highwater_model::op::BoundWorkload;
use highwater_model::outcome::Outcome;
use rusqlite::Connection;

use highwater_driver::contract::{BoxFuture, Connect, Encoder, Request, Session};
use highwater_driver::failure::{closed, gone};
use highwater_model::user_error::UserError;

use super::database::Database;
use super::statements::Statements;
use super::thread::{self, ConnectionThread, ConnectionWorker, RequestError};

type Response = (Request, Outcome);

/// One connection, prepared for a workload.
pub(super) struct SqliteSession {
    thread: ConnectionThread<Request, Response>,
}

impl SqliteSession {
    /// Opens the file and prepares the workload's statements.
    pub(super) async fn open(
        database: &Arc<Database>,
        connect: Connect,
    ) -> Result<Self, UserError> {
        let workload = connect.workload;
        let name = format!("sqlite-{}", connect.number);
        let serve = move |connection: &Connection,
                          worker: &mut ConnectionWorker<Request, Response>| {
            serve_requests(connection, worker, &workload);
        };
        let thread = thread::start(database, name, connect.timeline.as_ref(), serve).await?;
        Ok(Self { thread })
    }
}

fn serve_requests(
    connection: &Connection,
    worker: &mut ConnectionWorker<Request, Response>,
    workload: &BoundWorkload,
) {
    let (database, abandoned) = (Arc::clone(&worker.database), Arc::clone(&worker.abandoned));
    let prepared = Statements::prepare(connection, workload, &database, abandoned);
    let mut statements = match prepared {
        Ok(statements) => statements,
        Err(error) => return worker.refuse(error),
    };
    worker.ready(connection);
    while let Some((request, running)) = worker.next() {
        let outcome = statements.execute(&request.op);
        drop(running);
        worker.respond((request, outcome));
    }
}

impl Session for SqliteSession {
    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(NoWire)
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let sent = std::mem::replace(request, Request::empty());
            match self.thread.request(sent).await {
                Ok((returned, outcome)) => {
                    *request = returned;
                    outcome
                }
                Err(RequestError::NotSent(unsent)) => {
                    *request = unsent;
                    closed(&request.op)
                }
                Err(RequestError::NoResponse) => {
                    Outcome::unknown(gone("the session's thread ended before it answered"))
                }
            }
        })
    }
}

/// No wire form is needed: rows are bound from the op itself.
struct NoWire;

impl Encoder for NoWire {
    fn encode(&mut self, request: &mut Request) {
        request.bytes.clear();
    }
}
