//! Sends rows as the load does: by the same session, encoder and op. Must not know which rows.

use std::collections::BTreeSet;
use std::rc::Rc;

use highwater_driver::{Encoder, Request, Session, Timeline};
use highwater_model::op::{Op, OpBody, OpId, RowBatch};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};
use highwater_model::units::Nanos;

/// What became of a batch.
pub(super) enum Sent {
    /// All of its rows are stored.
    Stored,
    /// A value does not fit its column, in the target's words; none of its rows is stored.
    Refused(String),
    /// Anything else, about which the load may say more, and why.
    Unclear(Option<OpError>),
}

/// A session that sends a bounded number of rows.
pub(super) struct Writer {
    session: Box<dyn Session>,
    encoder: Box<dyn Encoder>,
    request: Request,
    /// Rows that may still be sent; none on a session that ended.
    left: usize,
    /// Rows of the table that were sent.
    sent: BTreeSet<u64>,
    timeline: Rc<dyn Timeline>,
    /// Nothing is sent from then on.
    end: Nanos,
}

impl Writer {
    /// A writer with a limit of rows and of time.
    pub(super) fn new(
        session: Box<dyn Session>,
        rows: usize,
        timeline: &Rc<dyn Timeline>,
        time: Nanos,
    ) -> Self {
        Self {
            end: timeline.now().saturating_add(time),
            timeline: Rc::clone(timeline),
            encoder: session.encoder(),
            session,
            request: Request::empty(),
            left: rows,
            sent: BTreeSet::new(),
        }
    }

    /// Begins with another table.
    pub(super) fn begin(&mut self) {
        self.sent.clear();
    }

    /// The first row from `first` on that was not sent.
    pub(super) fn fresh(&self, first: u64) -> Option<u64> {
        (first..=u64::MAX).find(|row| !self.sent.contains(row))
    }

    /// Sends a batch.
    pub(super) async fn send(&mut self, op: OpId, batch: RowBatch) -> Sent {
        let is_late = self.timeline.now() >= self.end;
        let Some(left) = self.left.checked_sub(batch.rows).filter(|_| !is_late) else {
            return Sent::Unclear(None);
        };
        self.left = left;
        self.sent.extend((batch.first_row..).take(batch.rows));
        let rows = batch.rows as u64;
        // No op of the load has this index.
        self.request.op = Op { id: op, index: u64::MAX, body: OpBody::Insert(batch) };
        self.encoder.encode(&mut self.request);
        let outcome = self.session.execute(&mut self.request).await;
        if !outcome.session_usable {
            self.left = 0;
        }
        judged(outcome, rows)
    }
}

fn judged(outcome: Outcome, rows: u64) -> Sent {
    let is_certain = outcome.certainty != Certainty::Unknown && outcome.rows_unknown == 0;
    match outcome.error {
        None if is_certain && outcome.rows_applied == rows => Sent::Stored,
        Some(error)
            if is_certain && outcome.rows_applied == 0 && error.class == ErrorClass::Data =>
        {
            Sent::Refused(error.message)
        }
        error => Sent::Unclear(error),
    }
}

#[cfg(test)]
mod tests {
    use highwater_driver::BoxFuture;
    use highwater_driver::clock::SimulatedTimeline;

    use super::*;

    /// Stores everything, each statement in so much time.
    struct Stores(Rc<dyn Timeline>, Nanos);

    struct NoText;

    impl Encoder for NoText {
        fn encode(&mut self, _: &mut Request) {}
    }

    impl Session for Stores {
        fn encoder(&self) -> Box<dyn Encoder> {
            Box::new(NoText)
        }

        fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
            Box::pin(async {
                self.0.sleep_until(self.0.now().saturating_add(self.1)).await;
                Outcome::applied(request.op.rows())
            })
        }
    }

    /// Batches of 30 rows that are sent, of a thousand rows in a second.
    fn batches(each: Nanos) -> usize {
        let simulated = SimulatedTimeline::new();
        let timeline: Rc<dyn Timeline> = Rc::new(simulated.clone());
        let sent = simulated.block_on(async move {
            let session = Box::new(Stores(Rc::clone(&timeline), each));
            let mut writer = Writer::new(session, 1_000, &timeline, Nanos::SECOND);
            for sent in 0..100 {
                let batch = RowBatch { first_row: 30 * sent as u64, rows: 30, columns: Vec::new() };
                if !matches!(writer.send(OpId(0), batch).await, Sent::Stored) {
                    return sent;
                }
            }
            100
        });
        sent.unwrap()
    }

    #[test]
    fn no_more_rows_are_sent_than_may_be_and_none_after_the_end() {
        assert_eq!(batches(Nanos::from_millis(1)), 33);
        assert_eq!(batches(Nanos::from_millis(400)), 3);
    }
}
