//! A transaction as steps: its statements, pauses, and end, and which of them an op takes.
//!
//! Pure: a driver asks for the next step, and sends, waits, or ends as it says. Must not know how statements are sent.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::op::{BoundStatement, Value};
use crate::units::Nanos;

/// A transaction in one dialect; the driver begins and ends it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoundTransaction {
    /// In the order of the file.
    pub steps: Vec<BoundStep>,
    /// How it ends.
    pub ending: Ending,
    /// Computes the values that depend on answers; none if no value does.
    pub later: Option<LaterValues>,
}

/// Sets the values of an op that follow from the answer to the statement at a position: those of its columns, none if the
/// statement was not run, and then those that are computed from them. The error says which cannot be computed, and why.
pub type SetLater =
    dyn Fn(usize, Vec<(usize, Value)>, &mut [Value]) -> Result<(), String> + Send + Sync;

/// Computes values that depend on answers.
#[derive(Clone)]
pub struct LaterValues(pub Arc<SetLater>);

impl fmt::Debug for LaterValues {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LaterValues")
    }
}

impl PartialEq for LaterValues {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The columns of a statement's answer that become values of the op.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerColumns {
    /// The name of a column in the answer, and the position of its value.
    pub columns: Vec<(String, usize)>,
    /// Any number of rows is good: the last one counts, and without any the values stay. Otherwise it must be one.
    pub any_rows: bool,
}

impl AnswerColumns {
    /// For a statement that returns these columns: the position of a column, and that of its value.
    ///
    /// # Errors
    ///
    /// If a column is missing: a lower-case fragment.
    pub fn places(&self, returned: &[String]) -> Result<Vec<(usize, usize)>, String> {
        let place = |(name, value): &(String, usize)| {
            let column = returned.iter().position(|column| column == name);
            let names: Vec<String> = returned.iter().map(|name| format!("`{name}`")).collect();
            let returned = match names.as_slice() {
                [] => "it returns no columns".to_owned(),
                names => format!("it returns {}", names.join(", ")),
            };
            column.map(|column| (column, *value)).ok_or_else(|| {
                format!("the statement returns no column `{name}` for a later value; {returned}")
            })
        };
        self.columns.iter().map(place).collect()
    }

    /// Whether an answer of this many rows is good; the error is a lower-case fragment.
    ///
    /// # Errors
    ///
    /// If it must have one row, and has another number of them.
    pub fn check_rows(&self, rows: u64) -> Result<(), String> {
        if self.any_rows || rows == 1 {
            return Ok(());
        }
        Err(format!("expected one row, got {rows}"))
    }
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
    /// What later steps use of its answer, if it is a statement.
    pub answer: Option<AnswerColumns>,
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
    /// Run the statement, whose position among the steps this is; if later steps use its answer, call [`Walk::answer`]
    /// with it.
    Statement(usize, &'t BoundStatement, Option<&'t AnswerColumns>),
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
        let step = |statement| BoundStep {
            when: None,
            kind: StepKind::Statement(statement),
            answer: None,
        };
        Self { steps: statements.into_iter().map(step).collect(), ..Self::default() }
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
        Walk { transaction: self, values: Cow::Borrowed(values), next: 0 }
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
    values: Cow<'t, [Value]>,
    next: usize,
}

impl<'t> Walk<'t> {
    /// The op's values so far.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Takes the columns of an answer to the last statement, each with the position of its value.
    ///
    /// # Errors
    ///
    /// If a value that follows from them cannot be computed: a lower-case fragment.
    pub fn answer(&mut self, columns: Vec<(usize, Value)>) -> Result<(), String> {
        match &self.transaction.later {
            Some(later) => later.0(self.next.saturating_sub(1), columns, self.values.to_mut()),
            None => Ok(()),
        }
    }

    /// The next step; after the last one it is always the end.
    ///
    /// # Errors
    ///
    /// If a value that depends on answers cannot be computed: a lower-case fragment.
    pub fn step(&mut self) -> Result<NextStep<'t>, String> {
        while let Some(step) = self.transaction.steps.get(self.next) {
            let position = self.next;
            self.next += 1;
            let answer = step.answer.as_ref();
            if step.when.is_some_and(|when| !is_true(&self.values, when)) {
                if answer.is_some() {
                    self.answer(Vec::new())?;
                }
                continue;
            }
            return Ok(match &step.kind {
                StepKind::Statement(statement) => NextStep::Statement(position, statement, answer),
                StepKind::Pause(value) => NextStep::Pause(micros(self.values.get(*value))),
            });
        }
        Ok(NextStep::End { rolls_back: self.transaction.rolls_back(&self.values) })
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
            match walk.step().unwrap() {
                NextStep::Statement(position, statement, _) => {
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
    fn an_answer_has_the_columns_and_rows_that_later_steps_use() {
        let columns = vec![("b".to_owned(), 7), ("a".to_owned(), 2)];
        let answer = AnswerColumns { columns, any_rows: false };
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(answer.places(&names(&["a", "x", "b"])), Ok(vec![(2, 7), (0, 2)]));
        for (returned, expected) in [
            (&["a", "B"][..], "no column `b` for a later value; it returns `a`, `B`"),
            (&[], "no column `b` for a later value; it returns no columns"),
        ] {
            let found = answer.places(&names(returned)).unwrap_err();
            assert_eq!(found, format!("the statement returns {expected}"));
        }
        assert_eq!(answer.check_rows(1), Ok(()));
        assert_eq!(answer.check_rows(0), Err("expected one row, got 0".to_owned()));
        let any = AnswerColumns { any_rows: true, ..answer };
        assert_eq!((any.check_rows(0), any.check_rows(9)), (Ok(()), Ok(())));
    }

    #[test]
    fn an_op_takes_the_steps_whose_conditions_are_true() {
        let mut transaction = BoundTransaction::of_statements(["a", "b"].map(statement));
        assert_eq!(taken(&transaction, &[]), "0:a 1:b COMMIT");
        let pause = BoundStep { when: Some(0), kind: StepKind::Pause(1), answer: None };
        transaction.steps.insert(1, pause);
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
