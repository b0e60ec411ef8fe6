//! The steps of a transaction as a file describes them, and in one dialect.
//!
//! A step may have a condition, a parameter that is computed with the op, or from the answers of earlier statements: what
//! an op does follows from seed, index, and answers. Must not read files.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use highwater_model::op::{BoundStatement, PlaceholderStyle, Value};
use highwater_model::transaction::{
    AnswerColumns, BoundStep, BoundTransaction, Ending, LaterValues, StepKind,
};
use highwater_model::units::Seed;

use super::definition::QueryParameter;
use super::expression::Inputs;
use super::generators::parameters::ParameterGenerator;
use super::instance::values;
use super::ops::not_computed;
use super::random::Draws;
use super::sql::Sql;

/// A step; `S` is its statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step<S = Sql> {
    /// Position of the parameter with the truth value for which it is taken; always without one.
    pub(super) when: Option<usize>,
    pub(super) action: Action<S>,
    /// What later steps use of a statement's answer.
    pub(super) answer: Option<Answer>,
}

/// The answer of a statement whose columns are values of later steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Answer {
    /// Position of the parameter, and the column that is its value.
    pub(super) columns: Vec<(usize, String)>,
    /// Any number of rows is good, and the last one counts.
    pub(super) any_rows: bool,
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
            (when, Action::Statement(sql)) if self.answer.is_some() => {
                (when, sql, &self.answer).serialize(serializer)
            }
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
    let all_kept: Vec<QueryParameter>;
    let parameters = if depends_on_answers(parameters) {
        // As in `Workload::op`.
        let kept = |of: &QueryParameter| QueryParameter { count: of.count.max(1), ..of.clone() };
        all_kept = parameters.iter().map(kept).collect();
        &all_kept
    } else {
        parameters
    };
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
        let answer = step.answer.as_ref().map(|answer| AnswerColumns {
            columns: answer
                .columns
                .iter()
                .map(|(parameter, column)| (column.clone(), begin(*parameter)))
                .collect(),
            any_rows: answer.any_rows,
        });
        transaction.steps.push(BoundStep { when, kind, answer });
    }
    if depends_on_answers(parameters) {
        transaction.later = Some(later(steps, parameters));
    }
    transaction
}

/// Whether values of the op depend on answers.
pub(super) fn depends_on_answers(parameters: &[QueryParameter]) -> bool {
    parameters.iter().any(|parameter| parameter.late)
}

/// For each parameter, the step after whose answer its value is known; none if it is known with the op.
pub(super) fn known_after(steps: &[Step], parameters: &[QueryParameter]) -> Vec<Option<usize>> {
    let mut after: Vec<Option<usize>> = Vec::with_capacity(parameters.len());
    for (position, parameter) in parameters.iter().enumerate() {
        after.push(match &parameter.generator {
            ParameterGenerator::Answer(_) => steps.iter().position(|step| {
                let columns = step.answer.iter().flat_map(|answer| &answer.columns);
                columns.into_iter().any(|(of, _)| *of == position)
            }),
            ParameterGenerator::Computed(computed) => {
                let used = computed.expression().variables();
                used.into_iter().filter_map(|used| *after.get(used)?).max()
            }
            _ => None,
        });
    }
    after
}

/// Computes the values that depend on answers. Their random numbers follow from the op's last value.
fn later(steps: &[Step], parameters: &[QueryParameter]) -> LaterValues {
    let after = known_after(steps, parameters);
    let begins: Vec<usize> = (0..parameters.len())
        .map(|position| values(parameters).take_while(|(of, _)| *of < position).count())
        .collect();
    let parameters = parameters.to_vec();
    LaterValues(Arc::new(move |step, columns, values: &mut [Value]| {
        let is_next = |position: usize| after.get(position) == Some(&Some(step));
        let seed = match values.last() {
            Some(Value::Integer(seed)) => Seed(seed.cast_unsigned()),
            _ => Seed(0),
        };
        for (position, parameter) in parameters.iter().enumerate() {
            if let ParameterGenerator::Answer(answer) = &parameter.generator
                && let Some(earlier) = answer.otherwise()
                && is_next(position)
            {
                let earlier = begins.get(earlier).and_then(|begin| values.get(*begin)).cloned();
                let slot = begins.get(position).and_then(|begin| values.get_mut(*begin));
                if let (Some(earlier), Some(slot)) = (earlier, slot) {
                    *slot = earlier;
                }
            }
        }
        for (position, value) in columns {
            if let Some(slot) = values.get_mut(position) {
                *slot = value;
            }
        }
        for (position, parameter) in parameters.iter().enumerate() {
            let ParameterGenerator::Computed(computed) = &parameter.generator else {
                continue;
            };
            if !is_next(position) {
                continue;
            }
            let draws = Draws::new(seed, &[&parameter.name]);
            let value = computed.expression().evaluate(&Inputs {
                values: &*values,
                begins: &begins,
                seed,
                draws: &draws,
                index: 0,
            });
            let value = value.map_err(|why| not_computed(&parameter.name, &why))?;
            if let Some(slot) = begins.get(position).and_then(|begin| values.get_mut(*begin)) {
                *slot = value;
            }
        }
        Ok(())
    }))
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
