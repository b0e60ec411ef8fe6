//! A connection under load: writes the encoded op, counts the response, judges failures; ops of several statements
//! send each after the response to the previous one.
//!
//! The connection is moved into the future of an op, and returns only if it is still in sync with the server. So an
//! abandoned op closes its connection, and its response cannot be mistaken for the next one's.

use std::rc::Rc;
use std::task::{Context, Poll};

use highwater_driver::contract::{BoxFuture, Encoder, Request, Session, Timeline};
use highwater_driver::failure::closed;
use highwater_model::op::{Op, OpBody, Value};
use highwater_model::outcome::{ErrorClass, OpError, Outcome};
use highwater_model::transaction::NextStep;

use super::answer::{Answer, judge, lost};
use super::encode::{CLOSE, COMMIT, Mode, Plan, ROLLBACK, TransactionPlan, WireEncoder};
use super::errors::Judgment;
use super::wire;
use super::wire::Connection;

/// A session; see the module documentation.
pub(super) struct WireSession {
    /// `None` during an op, and permanently after one was abandoned or lost.
    connection: Option<Connection>,
    plans: Rc<[Plan]>,
    timeline: Rc<dyn Timeline>,
}

impl WireSession {
    pub(super) fn new(
        connection: Connection,
        plans: Vec<Plan>,
        timeline: Rc<dyn Timeline>,
    ) -> Self {
        Self { connection: Some(connection), plans: plans.into(), timeline }
    }

    async fn run(&mut self, request: &Request) -> Outcome {
        let (op, bytes) = (&request.op, request.bytes.as_slice());
        let Some(mut connection) = self.connection.take() else {
            return closed(op);
        };
        let mut outcome = match (self.plans.get(usize::from(op.id.0)), &op.body) {
            // Nothing to send.
            (_, OpBody::Insert(batch)) if batch.rows == 0 => Outcome::applied(0),
            (Some(Plan::Transaction(plan)), OpBody::Query(values)) => {
                transact(&mut connection, request, plan, values, self.timeline.as_ref()).await
            }
            (Some(Plan::Insert(plan)), _) if plan.mode == Mode::LoadData => {
                load_data(&mut connection, op, bytes).await
            }
            (Some(Plan::Insert(_)), _) => match wire::commands(bytes).count() {
                1 => one(&mut connection, op, bytes, Answer::default()).await,
                commands => of_batch(&mut connection, op, bytes, commands).await,
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
    let statement = wire::first(bytes);
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

/// Takes the steps of a transaction one by one.
async fn transact(
    connection: &mut Connection,
    request: &Request,
    plan: &TransactionPlan,
    values: &[Value],
    timeline: &dyn Timeline,
) -> Outcome {
    let op = &request.op;
    let mut walk = plan.transaction.walk(values);
    let mut answer = Answer::default();
    let mut encoded = wire::commands(&request.bytes);
    let mut bytes = Vec::new();
    // None is BEGIN.
    let mut step = None;
    loop {
        match step {
            Some(NextStep::End { rolls_back: false }) => {
                return commit(connection, op, answer, &[COMMIT]).await;
            }
            Some(NextStep::Pause(pause)) => {
                timeline.sleep_until(timeline.now().saturating_add(pause)).await;
            }
            _ => {
                let command = encoded.next().unwrap_or_else(|| {
                    bytes.clear();
                    if let Some(step) = step {
                        plan.write(&mut bytes, step, walk.values());
                    }
                    &bytes
                });
                let before = answer.rows;
                let is_answer = matches!(step, Some(NextStep::Statement(_, _, Some(_))));
                answer.last_row = is_answer.then(Vec::new);
                if let Err(error) = connection.exchange(command, 1, &mut answer).await {
                    return lost(op, answer, &error, false);
                }
                if let Some(error) = answer.error.take() {
                    let Judgment { class, closes, .. } = error.judge();
                    return not_continued(connection, answer, error.into_op_error(class), closes)
                        .await;
                }
                let row = answer.last_row.take();
                if let Some(NextStep::Statement(position, _, Some(taken))) = step {
                    let rows = answer.rows - before;
                    let read = taken.check_rows(rows).and_then(|()| {
                        let Some(row) = row.filter(|_| rows > 0) else {
                            return walk.answer(Vec::new());
                        };
                        let columns = plan.values_of(position, &row);
                        walk.answer(columns.ok_or("a row is none of its columns")?)
                    });
                    if let Err(why) = read {
                        return not_continued(connection, answer, data_error(why), false).await;
                    }
                }
            }
        }
        if let Some(NextStep::End { .. }) = step {
            return judge(op, answer).as_rolled_back();
        }
        step = match walk.step() {
            Ok(step) => Some(step),
            Err(why) => return not_continued(connection, answer, data_error(why), false).await,
        };
    }
}

fn data_error(message: String) -> OpError {
    OpError { class: ErrorClass::Data, code: None, message }
}

/// It failed before its end, and is rolled back.
async fn not_continued(
    connection: &mut Connection,
    answer: Answer,
    error: OpError,
    closes: bool,
) -> Outcome {
    let mut outcome = Outcome::refused(0, error);
    (outcome.response_rows, outcome.response_bytes) = (answer.rows, answer.bytes);
    outcome.session_usable = !closes && end(connection, &[ROLLBACK]).await;
    outcome
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
            let is_sent = connection.stream.sent() >= wire::first(&request);
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
        wire::query(&mut request, sql);
    }
    request
}
