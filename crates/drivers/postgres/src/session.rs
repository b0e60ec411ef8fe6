//! A connection under load: writes the encoded op, counts the response, judges failures; ops of several statements
//! send each after the response to the previous one.
//!
//! The connection is moved into the future of an op, and returns only if it is still in sync with the server. So an
//! abandoned op closes its connection, and its response cannot be mistaken for the next one's.

use std::rc::Rc;
use std::task::{Context, Poll};

use highwater_driver::contract::{BoxFuture, Encoder, Request, Session, Timeline};
use highwater_driver::failure::{self, closed, gone};
use highwater_driver::network::describe;
use highwater_model::op::{BoundOpKind, BoundWorkload, Op, OpBody, OpId, Value};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};
use highwater_model::transaction::NextStep;

use super::encode::{Mode, Plan, TransactionPlan, WireEncoder, parse_values};
use super::errors::Failure;
use super::wire;
use super::wire::{Answer, Connection, judge, lost};
use crate::product::Product;

/// Maximum prepared statements for `values`, by row count; the oldest is closed first.
const VALUES_STATEMENTS_MAX: usize = 16;

/// A session; see the module documentation.
pub(super) struct WireSession {
    /// `None` during an op, and permanently after one was abandoned or lost.
    connection: Option<Connection>,
    product: Product,
    plans: Rc<[Plan]>,
    timeline: Rc<dyn Timeline>,
    /// (op, rows) of the statements prepared for `values`, oldest first.
    prepared: Vec<(u16, usize)>,
}

impl WireSession {
    pub(super) fn new(
        connection: Connection,
        product: Product,
        plans: Vec<Plan>,
        timeline: Rc<dyn Timeline>,
    ) -> Self {
        Self {
            connection: Some(connection),
            product,
            plans: plans.into(),
            timeline,
            prepared: Vec::new(),
        }
    }

    async fn run(&mut self, request: &Request) -> Outcome {
        let op = &request.op;
        let Some(mut connection) = self.connection.take() else {
            return closed(op);
        };
        if let (Some(Plan::Transaction(plan)), OpBody::Query(values)) =
            (self.plans.get(usize::from(op.id.0)), &op.body)
        {
            let done = self.transact(&mut connection, request, plan, values).await;
            if done.session_usable {
                self.connection = Some(connection);
            }
            return done;
        }
        let mut answer = Answer::default();
        let prepared = match &op.body {
            OpBody::Insert(batch) => {
                self.prepare_values(&mut connection, op.id, batch.rows, &mut answer).await
            }
            OpBody::Query(_) => Ok(()),
        };
        let exchanged = match prepared {
            Ok(()) if answer.error.is_none() => {
                connection.exchange(&request.bytes, &mut answer).await
            }
            // Nothing of the op itself was sent.
            failed => return self.not_started(connection, op, answer, failed),
        };
        if let Err(error) = exchanged {
            return lost(op, answer, &error, connection.nothing_sent());
        }
        let usable = match answer.status {
            b'I' => true,
            _ if !self.product.dialect().rolls_back => true,
            _ => roll_back(&mut connection).await,
        };
        if usable && !answer.is_fatal() {
            self.connection = Some(connection);
        }
        let mut outcome = judge(op, answer, self.product);
        outcome.session_usable = self.connection.is_some();
        outcome
    }

    /// Takes the steps of a transaction one by one. The connection is in sync with the server if the outcome reports a
    /// usable session.
    async fn transact(
        &self,
        connection: &mut Connection,
        request: &Request,
        plan: &TransactionPlan,
        values: &[Value],
    ) -> Outcome {
        let (op, product) = (&request.op, self.product);
        let mut walk = plan.transaction.walk(values);
        let mut answer = Answer::default();
        let mut encoded = wire::requests(&request.bytes);
        let mut bytes = Vec::new();
        // None is BEGIN.
        let mut step = None;
        loop {
            if let Some(NextStep::Pause(pause)) = step {
                self.timeline.sleep_until(self.timeline.now().saturating_add(pause)).await;
            } else {
                let next = encoded.next().unwrap_or_else(|| {
                    bytes.clear();
                    if let Some(step) = step {
                        plan.write(&mut bytes, step, walk.values());
                    }
                    &bytes
                });
                let taken = match step {
                    Some(NextStep::Statement(position, _, Some(taken))) => Some((position, taken)),
                    _ => None,
                };
                let before = answer.rows;
                answer.last_row = taken.map(|_| Vec::new());
                let commits = step == Some(NextStep::End { rolls_back: false });
                let exchanged = connection.exchange(next, &mut answer).await;
                match exchanged {
                    Ok(()) if answer.error.is_none() => {}
                    Ok(()) if commits => break,
                    Err(error) if commits => {
                        return lost(op, answer, &error, connection.nothing_sent());
                    }
                    failed => {
                        return not_begun_to_commit(connection, product, answer, failed).await;
                    }
                }
                if let Some((position, taken)) = taken {
                    let row = answer.last_row.take().unwrap_or_default();
                    let columns = plan.columns.get(position).map(Vec::as_slice).unwrap_or_default();
                    let rows = answer.rows - before;
                    let read = taken.check_rows(rows).and_then(|()| {
                        walk.answer(if rows > 0 { values_of(&row, columns) } else { Vec::new() })
                    });
                    if let Err(why) = read {
                        return not_continued(connection, product, answer, why).await;
                    }
                }
            }
            if let Some(NextStep::End { .. }) = step {
                break;
            }
            step = match walk.step() {
                Ok(step) => Some(step),
                Err(why) => return not_continued(connection, product, answer, why).await,
            };
        }
        let usable = ends_in_step(connection, product, &answer).await;
        let mut outcome = judge(op, answer, product);
        if step == Some(NextStep::End { rolls_back: true }) {
            outcome = outcome.as_rolled_back();
        }
        outcome.session_usable = usable;
        outcome
    }

    /// Prepares for the batch sizes that the workload announces, so that the first op's time does not include
    /// preparing. Other sizes are prepared when they occur.
    pub(super) async fn prepare_ahead(&mut self, workload: &BoundWorkload) -> Result<(), Failure> {
        let Some(mut connection) = self.connection.take() else {
            return Ok(());
        };
        for (id, op) in (0_u16..).zip(&workload.ops) {
            let BoundOpKind::Insert { batch, .. } = op.kind else {
                continue;
            };
            let rows = usize::try_from(batch).unwrap_or(usize::MAX);
            let mut answer = Answer::default();
            self.prepare_values(&mut connection, OpId(id), rows, &mut answer).await?;
            if let Some(error) = answer.error {
                return Err(Failure::Server(error));
            }
        }
        self.connection = Some(connection);
        Ok(())
    }

    /// Prepares the statements for this number of rows, if the op needs them.
    async fn prepare_values(
        &mut self,
        connection: &mut Connection,
        id: OpId,
        batch: usize,
        answer: &mut Answer,
    ) -> std::io::Result<()> {
        let plan = match self.plans.get(usize::from(id.0)) {
            Some(Plan::Insert(plan)) if plan.mode == Mode::Values && plan.last_parse.is_none() => {
                plan
            }
            _ => return Ok(()),
        };
        let piece = plan.rows_per_statement();
        let whole = if batch >= piece { piece } else { 0 };
        for rows in [whole, batch % piece] {
            let needed = (id.0, rows);
            if rows == 0 || self.prepared.contains(&needed) {
                continue;
            }
            let mut bytes = Vec::new();
            if self.prepared.len() >= VALUES_STATEMENTS_MAX {
                let (old_op, old_rows) = self.prepared.remove(0);
                if let Some(Plan::Insert(old)) = self.plans.get(usize::from(old_op)) {
                    wire::close(&mut bytes, &old.statement_for(old_rows));
                }
            }
            parse_values(&mut bytes, plan, rows);
            bytes.extend_from_slice(&wire::SYNC);
            connection.exchange(&bytes, answer).await?;
            if answer.error.is_some() {
                return Ok(());
            }
            self.prepared.push(needed);
        }
        Ok(())
    }

    /// The statement could not be prepared: the op was not sent.
    fn not_started(
        &mut self,
        connection: Connection,
        op: &Op,
        answer: Answer,
        failed: std::io::Result<()>,
    ) -> Outcome {
        if failed.is_ok() && answer.error.is_some() && !answer.is_fatal() {
            self.connection = Some(connection);
        }
        let error = match (answer.error, failed) {
            (Some(error), _) => error.into_op_error(),
            (None, Err(error)) => gone(&describe(&error)),
            (None, Ok(())) => gone("the statement was not prepared"),
        };
        let mut outcome = Outcome::refused(op.rows(), error);
        outcome.session_usable = self.connection.is_some();
        outcome
    }
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

/// It ended before COMMIT was sent.
async fn not_begun_to_commit(
    connection: &mut Connection,
    product: Product,
    answer: Answer,
    failed: std::io::Result<()>,
) -> Outcome {
    let usable = failed.is_ok() && ends_in_step(connection, product, &answer).await;
    let (rows, bytes) = (answer.rows, answer.bytes);
    let (error, certainty) = match (answer.error, failed) {
        (Some(error), _) => {
            let certainty = error.certainty_before_commit();
            (error.into_op_error(), certainty)
        }
        (None, Err(error)) => (gone(&describe(&error)), Certainty::NotApplied),
        (None, Ok(())) => (gone("the server said nothing"), Certainty::NotApplied),
    };
    let mut outcome = failure::failed(0, certainty, error);
    outcome.response_rows = rows;
    outcome.response_bytes = bytes;
    outcome.session_usable = usable;
    outcome
}

/// It cannot go on after an answer, for this reason, and is rolled back.
async fn not_continued(
    connection: &mut Connection,
    product: Product,
    answer: Answer,
    why: String,
) -> Outcome {
    let error = OpError { class: ErrorClass::Data, code: None, message: why };
    let mut outcome = failure::failed(0, Certainty::NotApplied, error);
    outcome.response_rows = answer.rows;
    outcome.response_bytes = answer.bytes;
    outcome.session_usable = ends_in_step(connection, product, &answer).await;
    outcome
}

/// Columns of a data row, each with the position of its value.
fn values_of(row: &[u8], columns: &[(usize, usize)]) -> Vec<(usize, Value)> {
    let value = |(column, position): &(usize, usize)| {
        let text = wire::text_of(row, *column);
        (*position, text.map_or(Value::Null, |text| Value::Text(text.into())))
    };
    columns.iter().map(value).collect()
}

/// Whether the connection is usable after that response: no transaction is open.
async fn ends_in_step(connection: &mut Connection, product: Product, answer: &Answer) -> bool {
    let ended = answer.status == b'I';
    !answer.is_fatal() && (ended || (product.dialect().rolls_back && roll_back(connection).await))
}

/// Ends a transaction that a failure left open; returns whether the connection is usable again.
pub(super) async fn roll_back(connection: &mut Connection) -> bool {
    let mut bytes = Vec::new();
    wire::query(&mut bytes, "ROLLBACK");
    let mut answer = Answer::default();
    let ended = connection.exchange(&bytes, &mut answer).await;
    ended.is_ok() && answer.error.is_none() && answer.status == b'I'
}
