//! A transaction as steps: its statements, pauses, and end, and which of them an op takes.
//!
//! Pure: a driver asks for the next step, and sends, waits, or ends as it says. Must not know how statements are sent.

use crate::op::{BoundStatement, Value};
use crate::units::Nanos;

/// A transaction in one dialect; the driver begins and ends it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoundTransaction {
    /// In the order of the file.
    pub steps: Vec<BoundStep>,
    /// How it ends.
    pub ending: Ending,
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ending {
    /// With COMMIT.
    #[default]
    Commits,
    /// With ROLLBACK.
    RollsBack,
    /// With ROLLBACK if the truth value at this position of the op's values is true, otherwise with COMMIT.
    RollsBackWhen(usize),
}

/// A step of a transaction, before its end.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundStep {
    /// Position of a truth value among the op's values: whether the step is taken. Without one it always is.
    pub when: Option<usize>,
    /// What it does.
    pub kind: StepKind,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum StepKind {
    /// Runs a statement.
    Statement(BoundStatement),
    /// Waits for the number of microseconds at this position of the op's values.
    Pause(usize),
}

/// The next step of a transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NextStep<'t> {
    /// Run the statement, whose position among the steps this is.
    Statement(usize, &'t BoundStatement),
    /// Wait this long.
    Pause(Nanos),
    /// End the transaction.
    End {
        /// By ROLLBACK instead of COMMIT.
        rolls_back: bool,
    },
}

impl BoundTransaction {
    /// These statements, each of which is always run.
    pub fn of_statements(statements: impl IntoIterator<Item = BoundStatement>) -> Self {
        let step = |statement| BoundStep { when: None, kind: StepKind::Statement(statement) };
        Self { steps: statements.into_iter().map(step).collect(), ending: Ending::Commits }
    }

    /// Its statements, with their positions among the steps.
    pub fn statements(&self) -> impl Iterator<Item = (usize, &BoundStatement)> {
        let steps = self.steps.iter().enumerate();
        steps.filter_map(|(position, step)| match &step.kind {
            StepKind::Statement(statement) => Some((position, statement)),
            StepKind::Pause(_) => None,
        })
    }

    /// Its steps for an op with these values.
    pub fn walk<'t>(&'t self, values: &'t [Value]) -> Walk<'t> {
        Walk { transaction: self, values, next: 0 }
    }

    /// Whether an op with these values ends with ROLLBACK.
    pub fn rolls_back(&self, values: &[Value]) -> bool {
        match self.ending {
            Ending::Commits => false,
            Ending::RollsBack => true,
            Ending::RollsBackWhen(position) => is_true(values, position),
        }
    }
}

/// The steps of one op.
#[derive(Debug)]
pub struct Walk<'t> {
    transaction: &'t BoundTransaction,
    values: &'t [Value],
    next: usize,
}

impl<'t> Walk<'t> {
    /// The op's values.
    pub fn values(&self) -> &'t [Value] {
        self.values
    }

    /// The next step; after the last one it is always the end.
    pub fn step(&mut self) -> NextStep<'t> {
        while let Some(step) = self.transaction.steps.get(self.next) {
            let position = self.next;
            self.next += 1;
            if step.when.is_some_and(|when| !is_true(self.values, when)) {
                continue;
            }
            return match &step.kind {
                StepKind::Statement(statement) => NextStep::Statement(position, statement),
                StepKind::Pause(value) => NextStep::Pause(micros(self.values.get(*value))),
            };
        }
        NextStep::End { rolls_back: self.transaction.rolls_back(self.values) }
    }
}

fn is_true(values: &[Value], position: usize) -> bool {
    values.get(position) == Some(&Value::Boolean(true))
}

/// A time that is below 0, or no number, is none.
fn micros(value: Option<&Value>) -> Nanos {
    let micros = match value {
        Some(Value::Integer(micros)) => u64::try_from(*micros).unwrap_or(0),
        _ => 0,
    };
    Nanos(micros.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(sql: &str) -> BoundStatement {
        BoundStatement { sql: sql.to_owned(), parameters: Vec::new(), values: Vec::new() }
    }

    fn taken(transaction: &BoundTransaction, values: &[Value]) -> String {
        let mut walk = transaction.walk(values);
        let mut taken = String::new();
        loop {
            match walk.step() {
                NextStep::Statement(position, statement) => {
                    taken.push_str(&format!("{position}:{} ", statement.sql));
                }
                NextStep::Pause(time) => taken.push_str(&format!("{} ns ", time.0)),
                NextStep::End { rolls_back } => {
                    return taken + if rolls_back { "ROLLBACK" } else { "COMMIT" };
                }
            }
        }
    }

    #[test]
    fn an_op_takes_the_steps_whose_conditions_are_true() {
        let mut transaction = BoundTransaction::of_statements(["a", "b"].map(statement));
        assert_eq!(taken(&transaction, &[]), "0:a 1:b COMMIT");
        transaction.steps.insert(1, BoundStep { when: Some(0), kind: StepKind::Pause(1) });
        transaction.steps[2].when = Some(2);
        transaction.ending = Ending::RollsBackWhen(0);
        let (yes, no) = (Value::Boolean(true), Value::Boolean(false));
        for (values, expected) in [
            ([yes.clone(), Value::Integer(7), no.clone()], "0:a 7000 ns ROLLBACK"),
            ([no.clone(), Value::Integer(7), yes.clone()], "0:a 2:b COMMIT"),
            ([yes.clone(), Value::Integer(-7), Value::Null], "0:a 0 ns ROLLBACK"),
            // One is not true, as in SQL.
            ([Value::Integer(1), Value::Null, yes], "0:a 2:b COMMIT"),
        ] {
            assert_eq!(taken(&transaction, &values), expected, "{values:?}");
        }
    }
}
