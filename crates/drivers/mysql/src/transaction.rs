//! Ops of several commands in one transaction: a batch whose rows are sent at once, and statements each of which waits
//! for the response to the previous one, as in an application.
//!
//! Before COMMIT, any failure means *not applied*. From the last byte of COMMIT on, a missing response means *unknown*.
//! Every error is followed by a ROLLBACK: the server may have ended the transaction, or kept the work before the error.

use highwater_model::op::Op;
use highwater_model::outcome::Outcome;

use super::answer::Answer;
use super::encode::{CLOSE, COMMIT};
use super::errors::Judgment;
use super::outcome::{judge, lost};
use super::packet;
use super::wire::Connection;

const ROLLBACK: &str = "ROLLBACK";

/// Sends all commands of a batch at once, and the end of the transaction after their responses.
pub(super) async fn of_batch(
    connection: &mut Connection,
    op: &Op,
    bytes: &[u8],
    commands: usize,
) -> Outcome {
    let mut answer = Answer::default();
    if let Err(error) = connection.exchange(bytes, commands, &mut answer).await {
        // Without COMMIT, nothing is stored.
        return lost(op, answer, &error, false);
    }
    if let Some(error) = answer.error {
        let Judgment { class, closes, .. } = error.judge();
        // Without a transaction, each row was committed separately.
        if answer.error_at == 0 {
            return Outcome::unknown(error.into_op_error(class));
        }
        let mut outcome = Outcome::refused(op.rows(), error.into_op_error(class));
        let is_ended = !closes && end(connection, &[ROLLBACK, CLOSE]).await;
        outcome.session_usable = is_ended;
        return outcome;
    }
    commit(connection, op, answer, &[COMMIT, CLOSE]).await
}

/// Sends the commands of a transaction one by one; the last one is COMMIT.
pub(super) async fn of_statements(connection: &mut Connection, op: &Op, bytes: &[u8]) -> Outcome {
    let mut answer = Answer::default();
    let mut requests = packet::commands(bytes).peekable();
    while let Some(request) = requests.next() {
        if requests.peek().is_none() {
            break;
        }
        if let Err(error) = connection.exchange(request, 1, &mut answer).await {
            return lost(op, answer, &error, false);
        }
        if let Some(error) = answer.error {
            let Judgment { class, closes, .. } = error.judge();
            let mut outcome = Outcome::refused(0, error.into_op_error(class));
            (outcome.response_rows, outcome.response_bytes) = (answer.rows, answer.bytes);
            outcome.session_usable = !closes && end(connection, &[ROLLBACK]).await;
            return outcome;
        }
    }
    commit(connection, op, answer, &[COMMIT]).await
}

/// Sends COMMIT with the commands after it.
async fn commit(
    connection: &mut Connection,
    op: &Op,
    mut answer: Answer,
    commands: &[&str],
) -> Outcome {
    let request = queries(commands);
    let before = answer.done;
    let exchanged = connection.exchange(&request, commands.len(), &mut answer).await;
    let is_answered = answer.done > before;
    match (exchanged, &answer.error) {
        (Ok(()), None) => judge(op, answer),
        // The commit succeeded; only the commands after it failed.
        (_, None) if is_answered => unusable(judge(op, answer)),
        (_, Some(_)) if is_answered && answer.error_at > before => {
            answer.error = None;
            unusable(judge(op, answer))
        }
        (Ok(()), Some(error)) => {
            let Judgment { class, closes, .. } = error.judge();
            if closes {
                // A transaction that is still open, or in an unknown state.
                return Outcome::unknown(error.clone().into_op_error(class));
            }
            unusable(judge(op, answer))
        }
        (Err(error), _) => {
            let is_sent = connection.stream.sent() >= packet::first(&request);
            lost(op, answer, &error, is_sent)
        }
    }
}

fn unusable(mut outcome: Outcome) -> Outcome {
    outcome.session_usable = false;
    outcome
}

/// Ends a failed transaction; returns whether the connection is usable again.
async fn end(connection: &mut Connection, commands: &[&str]) -> bool {
    let mut answer = Answer::default();
    let request = queries(commands);
    let ended = connection.exchange(&request, commands.len(), &mut answer);
    ended.await.is_ok() && answer.error.is_none()
}

fn queries(commands: &[&str]) -> Vec<u8> {
    let mut request = Vec::new();
    for sql in commands {
        packet::query(&mut request, sql);
    }
    request
}
