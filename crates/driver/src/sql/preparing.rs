//! Statements of a workload that a session prepares: their identity, for errors, and the text of an insert. Must not
//! send a statement.

use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::user_error::RefusedStatement;
use highwater_model::user_error::{UserError, UserErrorKind};

use crate::failure::{Failure, ServerMessage};

/// The identity of a prepared statement.
pub struct Place {
    /// For display.
    pub text: String,
    /// Position of the op.
    pub op: usize,
    /// Position of the statement in the op.
    statement: usize,
}

impl Place {
    /// The op with this position and name; `target` names the server.
    pub fn of_op(target: &str, op: usize, name: &str) -> Self {
        Self { text: format!("{target}: op `{name}`"), op, statement: 0 }
    }

    /// A statement of the op, by its position.
    #[must_use]
    pub fn statement(&self, position: usize) -> Self {
        Self {
            text: format!("{}, statement {}", self.text, position + 1),
            op: self.op,
            statement: position,
        }
    }

    /// The server rejected it, or the connection was lost.
    pub fn failed<E: ServerMessage>(&self, failure: Failure<E>) -> UserError {
        let position = failure.position();
        let error = failure.into_target_error(&self.text);
        error.about(self.refused(position))
    }

    /// The server's interpretation differs from the workload's intention.
    pub fn misunderstood(&self, cause: &str) -> UserError {
        let kind = UserErrorKind::Preparation(self.refused(None));
        UserError::new(kind, format!("{}: {cause}", self.text))
    }

    /// The statement has `found` placeholders, and its workload `given` parameters; `placeholder` is the dialect's form
    /// of one.
    pub fn miscounted(&self, found: usize, given: usize, placeholder: &str) -> UserError {
        self.misunderstood(&format!(
            "the statement has {found} placeholders, the workload gives {given} parameters"
        ))
        .with_hint(format!("write a parameter as `:name`, not as `{placeholder}`"))
    }

    /// The table that the op inserts into.
    pub fn table<'w>(
        &self,
        workload: &'w BoundWorkload,
        table: usize,
    ) -> Result<&'w BoundTable, UserError> {
        workload.tables.get(table).ok_or_else(|| {
            let place = &self.text;
            UserError::usage(format!("{place} inserts into a table that is not there"))
        })
    }

    fn refused(&self, position: Option<usize>) -> RefusedStatement {
        RefusedStatement { op: self.op, statement: self.statement, position }
    }
}

/// The names of a table's columns, quoted by `quote`.
pub fn column_names(table: &BoundTable, quote: impl Fn(&str) -> String) -> String {
    table.columns.iter().map(|column| quote(&column.name)).collect::<Vec<String>>().join(", ")
}

/// An insert up to its columns.
pub fn insert_into(table: &BoundTable, quote: impl Fn(&str) -> String) -> String {
    let columns = column_names(table, &quote);
    format!("INSERT INTO {} ({columns})", quote(&table.name))
}
