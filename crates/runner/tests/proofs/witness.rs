//! A target that records the outcome of every batch: the client's view, and the model's. From these follow the audit's
//! expected findings, without the ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use highwater_driver::{BoxFuture, Connect, Encoder, Request, Session};
use highwater_driver_sim::{PlantedFaults, SimTarget};
use highwater_model::op::OpBody;
use highwater_model::outcome::{Certainty, Outcome};
use highwater_model::user_error::UserError;

use crate::support::hooked::Hooks;

/// A batch, after its last attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) rows: u64,
    /// The client's view.
    pub(crate) answer: Answer,
    /// Whether the model applied it.
    pub(crate) applied: bool,
    /// Faults that the model planted when applying it.
    pub(crate) dropped: u64,
    pub(crate) duplicated: u64,
    pub(crate) altered: u64,
}

/// A client's view of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Applied,
    Refused,
    /// Or the client got no response before its timeout.
    Unknown,
}

/// The observations of a run.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// By the first row.
    pub(crate) batches: BTreeMap<u64, Batch>,
    /// Sessions that sent an op.
    pub(crate) worked: BTreeSet<u32>,
}

/// Observes the model under the fault injection.
pub(crate) struct Witness {
    pub(crate) model: Arc<SimTarget>,
    pub(crate) seen: Arc<Mutex<Seen>>,
}

impl Hooks for Witness {
    fn opened(
        &self,
        connect: &Connect,
        inner: Box<dyn Session>,
    ) -> Result<Box<dyn Session>, UserError> {
        Ok(Box::new(Watched {
            number: connect.number,
            inner,
            model: Arc::clone(&self.model),
            seen: Arc::clone(&self.seen),
        }))
    }
}

struct Watched {
    number: u32,
    inner: Box<dyn Session>,
    model: Arc<SimTarget>,
    seen: Arc<Mutex<Seen>>,
}

impl Session for Watched {
    fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.inner.poll_closed(context)
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        self.inner.encoder()
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        let OpBody::Insert(batch) = &request.op.body else {
            return self.inner.execute(request);
        };
        let (first, rows) = (batch.first_row, request.op.rows());
        let (model, seen) = (&self.model, &self.seen);
        seen.lock().unwrap().worked.insert(self.number);
        let mut op = self.inner.execute(request);
        let mut begun = false;
        Box::pin(std::future::poll_fn(move |context| {
            let before = model.planted();
            let polled = op.as_mut().poll(context);
            let mut seen = seen.lock().unwrap();
            // The model decides everything about an op on arrival, which is at the first poll.
            if !std::mem::replace(&mut begun, true) {
                let reached = polled.is_pending();
                let batch = batch_of(rows, before, model.planted(), reached);
                seen.batches.insert(first, batch);
            }
            if let (Poll::Ready(outcome), Some(batch)) = (&polled, seen.batches.get_mut(&first)) {
                batch.answer = match outcome.certainty {
                    Certainty::Applied => Answer::Applied,
                    Certainty::NotApplied => Answer::Refused,
                    Certainty::Unknown => Answer::Unknown,
                };
            }
            polled
        }))
    }
}

/// A batch that just arrived at the model, or that never `reached` it.
fn batch_of(rows: u64, before: PlantedFaults, now: PlantedFaults, reached: bool) -> Batch {
    let turned_away = now.failed_ops + now.rejected_ops > before.failed_ops + before.rejected_ops;
    Batch {
        rows,
        answer: Answer::Unknown,
        applied: reached && !turned_away,
        dropped: now.dropped_rows - before.dropped_rows,
        duplicated: now.duplicated_rows - before.duplicated_rows,
        altered: now.altered_rows - before.altered_rows,
    }
}
