//! The steps of a transaction as a file describes them, and in one dialect.
//!
//! A step may have a condition, a parameter that is computed with the op; so which steps an op takes is known from seed
//! and index. Must not read files.

use serde::{Serialize, Serializer};

use highwater_model::op::{BoundStatement, PlaceholderStyle};
use highwater_model::transaction::{BoundStep, BoundTransaction, Ending, StepKind};

use super::definition::QueryParameter;
use super::instance::values;
use super::sql::Sql;

/// A step; `S` is its statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step<S = Sql> {
    /// Position of the parameter with the truth value for which it is taken; always without one.
    pub(super) when: Option<usize>,
    pub(super) action: Action<S>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action<S = Sql> {
    Statement(S),
    /// Waits for the microseconds of the parameter at this position.
    Pause(usize),
    /// Ends the transaction without effect; only the last step.
    RollBack,
}

impl Step {
    /// Its statement, if it is one.
    pub(super) fn statement(&self) -> Option<&Sql> {
        match &self.action {
            Action::Statement(sql) => Some(sql),
            Action::Pause(_) | Action::RollBack => None,
        }
    }
}

impl Serialize for Step {
    /// A statement without a condition is its text.
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        match (self.when, &self.action) {
            (None, Action::Statement(sql)) => sql.serialize(serializer),
            (when, Action::Statement(sql)) => (when, sql).serialize(serializer),
            (when, Action::Pause(value)) => (when, "pause", value).serialize(serializer),
            (when, Action::RollBack) => (when, "rollback").serialize(serializer),
        }
    }
}

/// The steps with the statements of a dialect.
pub(super) fn bound(
    steps: &[Step],
    parameters: &[QueryParameter],
    style: PlaceholderStyle,
) -> BoundTransaction {
    // A parameter's first value among those of the op.
    let begin = |position: usize| values(parameters).take_while(|(of, _)| *of < position).count();
    let mut transaction = BoundTransaction::default();
    for step in steps {
        let when = step.when.map(begin);
        let kind = match &step.action {
            Action::Statement(sql) => StepKind::Statement(bound_statement(sql, parameters, style)),
            Action::Pause(value) => StepKind::Pause(begin(*value)),
            Action::RollBack => {
                transaction.ending = when.map_or(Ending::RollsBack, Ending::RollsBackWhen);
                continue;
            }
        };
        transaction.steps.push(BoundStep { when, kind });
    }
    transaction
}

/// A statement of a transaction with its own placeholders, and the positions of their values among the op's.
fn bound_statement(
    sql: &Sql,
    parameters: &[QueryParameter],
    style: PlaceholderStyle,
) -> BoundStatement {
    let used = values(parameters).enumerate().filter(|(_, (parameter, _))| sql.uses(*parameter));
    let (values, types) = used.map(|(place, (_, kind))| (place, kind)).unzip();
    let counts = sql.counts(parameters.iter().map(|parameter| parameter.count));
    BoundStatement { sql: sql.with_placeholders(style, &counts), parameters: types, values }
}
