//! Consecutive refusals of one session that end the run: more load does not help a target without disk or memory, or a
//! statement that always fails. Must not end the run itself.

use highwater_model::op::BoundWorkload;
use highwater_model::outcome::{ErrorClass, OpError, Outcome};
use highwater_model::user_error::{RefusedStatement, UserError, UserErrorKind};

/// Maximum consecutive ops refused for lack of disk or memory.
const OUT_OF_RESOURCES_MAX: u32 = 10;
/// Maximum consecutive ops with a refused statement, if fewer than [`ANSWERED_MAX`] other ops were answered before.
const STATEMENTS_MAX: u32 = 100;
const ANSWERED_MAX: u32 = 10;

/// Consecutive refusals of a session.
#[derive(Default)]
pub(crate) struct Refusals {
    out_of_resources: u32,
    statements: u32,
    /// Ops with another outcome, up to [`ANSWERED_MAX`].
    answered: u32,
}

impl Refusals {
    /// Counts the outcome of an op; returns why the run must end, if it must.
    pub(crate) fn note(
        &mut self,
        outcome: &Outcome,
        workload: &BoundWorkload,
        op: usize,
    ) -> Option<UserError> {
        let class = outcome.error.as_ref().map(|error| error.class);
        if class != Some(ErrorClass::Resource) {
            self.out_of_resources = 0;
        }
        if class != Some(ErrorClass::Statement) {
            self.statements = 0;
            self.answered = (self.answered + 1).min(ANSWERED_MAX);
        }
        let error = outcome.error.as_ref()?;
        match error.class {
            ErrorClass::Resource => {
                self.out_of_resources += 1;
                (self.out_of_resources == OUT_OF_RESOURCES_MAX).then(|| out_of_resources(error))
            }
            // The audit judges Highwater's own tables, which requires the run to continue.
            ErrorClass::Statement if workload.tables.is_empty() => {
                self.statements += 1;
                let ends = self.statements == STATEMENTS_MAX && self.answered < ANSWERED_MAX;
                ends.then(|| always_refused(error, workload, op))
            }
            _ => None,
        }
    }
}

fn out_of_resources(error: &OpError) -> UserError {
    UserError::refused(format!("the target is out of resources: {}", error.message))
        .with_hint("free disk or memory on the target, or plan fewer rows")
}

fn always_refused(error: &OpError, workload: &BoundWorkload, op: usize) -> UserError {
    let name = workload.ops.get(op).map_or("", |op| op.name.as_str());
    let code = error.code.as_ref().map(|code| format!(" ({code})"));
    let message = format!(
        "op `{name}`: the target refused it {STATEMENTS_MAX} times in a row: {}{}",
        error.message,
        code.unwrap_or_default()
    );
    let refused = RefusedStatement { op, statement: 0, position: None };
    UserError::new(UserErrorKind::Preparation(refused), message)
        .with_hint("every op sends the statement again: write one that can be repeated")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(outcomes: impl IntoIterator<Item = Option<ErrorClass>>) -> Option<usize> {
        let workload = BoundWorkload { tables: Vec::new(), ops: Vec::new(), rows: None };
        let mut refusals = Refusals::default();
        outcomes.into_iter().position(|class| {
            let outcome = match class {
                None => Outcome::answered(1, 1),
                Some(class) => {
                    Outcome::refused(1, OpError { class, code: None, message: String::new() })
                }
            };
            refusals.note(&outcome, &workload, 0).is_some()
        })
    }

    #[test]
    fn a_statement_that_is_refused_from_the_begin_ends_the_run() {
        let refused = || std::iter::repeat_n(Some(ErrorClass::Statement), 150);
        assert_eq!(noted(refused()), Some(99));
        assert_eq!(noted([None].into_iter().chain(refused())), Some(100));
        let later = std::iter::repeat_n(None, 10).chain(refused());
        assert_eq!(noted(later), None);
        let now_and_then = refused().take(99).chain([None]).chain(refused().take(99));
        assert_eq!(noted(now_and_then), None);
    }

    #[test]
    fn a_target_without_resources_ends_the_run_after_ten_ops() {
        assert_eq!(noted(std::iter::repeat_n(Some(ErrorClass::Resource), 20)), Some(9));
    }
}
