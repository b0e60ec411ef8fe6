//! A connection under load: sends the encoded request, counts the response, and judges it.

use std::rc::Rc;
use std::task::{Context, Poll};

use highwater_driver::contract::{BoxFuture, Encoder, Request, Session};
use highwater_model::op::OpBody;
use highwater_model::outcome::Outcome;

use super::answer::Answer;
use super::encode::{BlockEncoder, Plan};
use super::outcome;
use super::wire::{Kind, Wire};

/// A session; see the module documentation.
pub(super) struct HttpSession {
    wire: Wire,
    plans: Rc<[Plan]>,
}

impl HttpSession {
    pub(super) fn new(wire: Wire, plans: Vec<Plan>) -> Self {
        Self { wire, plans: plans.into() }
    }

    async fn run(&mut self, request: &Request) -> Outcome {
        let op = &request.op;
        let plan = self.plans.get(usize::from(op.id.0));
        let kind = match &op.body {
            // Nothing to send.
            OpBody::Insert(batch) if batch.rows == 0 => return Outcome::applied(0),
            OpBody::Insert(_) if request.bytes.is_empty() => return outcome::unfit(op),
            OpBody::Insert(_) => Kind::Insert,
            OpBody::Query(_) if matches!(plan, Some(Plan::Query { inserts: 1.., .. })) => {
                Kind::Insert
            }
            OpBody::Query(_) => Kind::Statement,
        };
        let mut answer = Answer::default();
        match self.wire.exchange(kind, &request.bytes, &mut answer).await {
            Ok(()) => outcome::judge(op, plan, request.bytes.len(), answer),
            Err(lost) => outcome::lost(op, plan, answer, lost),
        }
    }
}

impl Session for HttpSession {
    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(BlockEncoder::new(&self.plans))
    }

    fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.wire.poll_closed(context)
    }

    fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
        Box::pin(self.run(request))
    }
}
