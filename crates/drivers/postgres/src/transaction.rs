//! A transaction of several statements: each is sent after the response to the previous one, as in an application.
//!
//! Before COMMIT, any failure means *not applied*. From the first byte of COMMIT on, a missing response means
//! *unknown*.

use highwater_model::op::Op;
use highwater_model::outcome::{Certainty, Outcome};

use super::answer::Answer;
use super::message;
use super::outcome::{judge, lost};
use super::wire::Connection;
use highwater_driver::network::describe;
use highwater_driver::outcomes::{self, gone};
use highwater_driver::sql::dialect::Dialect;

/// Sends the requests of a transaction one by one; the last one is COMMIT. The connection is in sync with the server if
/// the outcome reports a usable session.
pub(super) async fn run(
    connection: &mut Connection,
    dialect: Dialect,
    op: &Op,
    bytes: &[u8],
) -> Outcome {
    let mut answer = Answer::default();
    let mut requests = message::requests(bytes).peekable();
    while let Some(request) = requests.next() {
        let commits = requests.peek().is_none();
        let exchanged = connection.exchange(request, &mut answer).await;
        match exchanged {
            Ok(()) if answer.error.is_none() => {}
            Ok(()) if commits => break,
            Err(error) if commits => {
                return lost(op, answer, &error, connection.nothing_sent());
            }
            failed => return not_begun_to_commit(connection, dialect, answer, failed).await,
        }
    }
    let usable = ends_in_step(connection, dialect, &answer).await;
    let mut outcome = judge(op, answer, dialect);
    outcome.session_usable = usable;
    outcome
}

/// It ended before COMMIT was sent.
async fn not_begun_to_commit(
    connection: &mut Connection,
    dialect: Dialect,
    answer: Answer,
    failed: std::io::Result<()>,
) -> Outcome {
    let usable = failed.is_ok() && ends_in_step(connection, dialect, &answer).await;
    let (rows, bytes) = (answer.rows, answer.bytes);
    let (error, certainty) = match (answer.error, failed) {
        (Some(error), _) => {
            let certainty = error.certainty_before_commit();
            (error.into_op_error(), certainty)
        }
        (None, Err(error)) => (gone(&describe(&error)), Certainty::NotApplied),
        (None, Ok(())) => (gone("the server said nothing"), Certainty::NotApplied),
    };
    let mut outcome = outcomes::failed(0, certainty, error);
    outcome.response_rows = rows;
    outcome.response_bytes = bytes;
    outcome.session_usable = usable;
    outcome
}

/// Whether the connection is usable after that response: no transaction is open.
async fn ends_in_step(connection: &mut Connection, dialect: Dialect, answer: &Answer) -> bool {
    let ended = answer.status == b'I';
    !answer.is_fatal() && (ended || (dialect.rolls_back() && roll_back(connection).await))
}

/// Ends a transaction that a failure left open; returns whether the connection is usable again.
pub(super) async fn roll_back(connection: &mut Connection) -> bool {
    let mut bytes = Vec::new();
    message::query(&mut bytes, "ROLLBACK");
    let mut answer = Answer::default();
    let ended = connection.exchange(&bytes, &mut answer).await;
    ended.is_ok() && answer.error.is_none() && answer.status == b'I'
}
