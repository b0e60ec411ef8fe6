//! A connection under load: sends the encoded request, counts the response, and judges it. Checks its statements before
//! the load.

use std::rc::Rc;
use std::task::{Context, Poll};

use highwater_driver::contract::{BoxFuture, Encoder, Request, Session};
use highwater_driver::sql::connection::{Place, TextWire};
use highwater_model::literal::LiteralStyle;
use highwater_model::op::{BoundOpKind, BoundWorkload, ColumnType, OpBody, Value};
use highwater_model::outcome::Outcome;
use highwater_model::user_error::UserError;

use super::answer::Answer;
use super::encode::{BlockEncoder, Plan};
use super::wire::{Kind, Wire};
use super::{dialect, errors};

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
            OpBody::Insert(_) if request.bytes.is_empty() => return errors::unfit(op),
            OpBody::Insert(_) => Kind::Insert,
            OpBody::Query(_) if matches!(plan, Some(Plan::Query { inserts: 1.., .. })) => {
                Kind::Insert
            }
            OpBody::Query(_) => Kind::Statement,
        };
        let mut answer = Answer::default();
        match self.wire.exchange(kind, &request.bytes, &mut answer).await {
            Ok(()) => errors::judge(op, plan, request.bytes.len(), answer),
            Err(lost) => errors::lost(op, plan, answer, lost),
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

/// Fails with a query that the server cannot parse, or that refers to missing names. One value of each type represents
/// those of the load.
pub(super) async fn check(wire: &mut Wire, workload: &BoundWorkload) -> Result<(), UserError> {
    let shown = wire.node().shown.clone();
    for (number, op) in workload.ops.iter().enumerate() {
        let BoundOpKind::Query { sql, parameters } = &op.kind else {
            continue;
        };
        if !is_plain_select(sql) {
            continue;
        }
        let values: Vec<Value> = parameters.iter().map(|kind| example(*kind)).collect();
        let mut text = String::from("DESCRIBE TABLE (");
        let (cut, _) = dialect::cut(sql);
        cut.write(&values, LiteralStyle::Numbers, &mut text);
        // A comment may end the statement.
        text.push_str("\n)");
        let described = wire.each_row(&text, &mut |_| Ok(())).await;
        let place = Place::of_op(&shown, number, &op.name);
        described.map_err(|failure| place.failed(failure))?;
    }
    Ok(())
}

/// Whether a statement may be placed in parentheses.
fn is_plain_select(sql: &str) -> bool {
    let first = dialect::first_word(sql);
    let begins = |word: &str| first.eq_ignore_ascii_case(word);
    let mut words = sql.split_whitespace();
    let formats = words.any(|word| word.eq_ignore_ascii_case("FORMAT"));
    (begins("SELECT") || begins("WITH")) && !formats
}

fn example(kind: ColumnType) -> Value {
    match kind {
        ColumnType::Integer | ColumnType::Bigint => Value::Integer(1),
        ColumnType::Float => Value::Float(1.0),
        ColumnType::Boolean => Value::Boolean(true),
        ColumnType::Timestamp => Value::TimestampMs(1),
        ColumnType::Text | ColumnType::Object => Value::Text("1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_allowed_in_parentheses_are_checked() {
        for (sql, expected) in [
            ("SELECT 1", true),
            ("  with 1 AS x SELECT x", true),
            ("SHOW TABLES", false),
            ("SELECT 1 FORMAT JSON", false),
            ("INSERT INTO t VALUES (1)", false),
        ] {
            assert_eq!(is_plain_select(sql), expected, "{sql}");
        }
    }
}
