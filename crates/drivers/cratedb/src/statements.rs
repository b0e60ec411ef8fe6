//! The statements of a workload in this database's dialect, with their JSON quoting done once.
//!
//! Must not handle values; see `encode`.

use highwater_model::literal::LiteralSql;
use highwater_model::op::{BoundOpKind, BoundTable, BoundWorkload};

use super::json;
use highwater_driver::sql::connection::insert_into;
use highwater_driver::sql::dialect::quoted;
use highwater_model::user_error::UserError;

/// Insert modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// One statement, and an array of values per row.
    Bulk,
    /// `INSERT … VALUES (…), (…)`.
    Values,
    /// `INSERT … SELECT … FROM UNNEST(…)`.
    Unnest,
}

impl Mode {
    /// The values of `--insert` in the order of the modes, the default first.
    pub(super) const NAMES: &[&str] = &["bulk", "values", "unnest"];

    /// The value of `--insert`.
    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Parses a value of `--insert`.
    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::Bulk, Self::Values, Self::Unnest].into_iter().find(|mode| mode.name() == name)
    }
}

/// How a session sends one op of the workload.
#[derive(Debug)]
pub(super) enum Plan {
    /// A query.
    Query {
        /// The body up to the end of the statement's text.
        head: Vec<u8>,
    },
    /// A query with its values in its text.
    Literal(LiteralSql),
    /// A batch insert.
    Insert(InsertPlan),
}

/// How batches are inserted.
#[derive(Debug)]
pub(super) struct InsertPlan {
    pub(super) mode: Mode,
    /// The body up to the end of the statement's text; for `values`, up to its rows.
    pub(super) head: Vec<u8>,
    /// The placeholders of one row, for `values`.
    pub(super) placeholders: Vec<u8>,
    /// The table has a primary key, so that there can be duplicates.
    pub(super) has_key: bool,
}

/// The plans of every op, in the workload's order.
pub(super) fn plans(workload: &BoundWorkload, mode: Mode) -> Result<Vec<Plan>, UserError> {
    let plan = |op: &highwater_model::op::BoundOp| match &op.kind {
        BoundOpKind::Query { sql, .. } => Ok(Plan::Query { head: head(sql) }),
        BoundOpKind::Literal(sql) => Ok(Plan::Literal(sql.clone())),
        BoundOpKind::Transaction(_) => Err(UserError::no_transactions(&op.name)),
        BoundOpKind::Insert { table, .. } => {
            let table = workload.tables.get(*table).ok_or_else(|| {
                UserError::usage(format!("op `{}` inserts into a table that is not there", op.name))
            })?;
            Ok(Plan::Insert(insert_plan(table, mode)))
        }
    };
    workload.ops.iter().map(plan).collect()
}

fn insert_plan(table: &BoundTable, mode: Mode) -> InsertPlan {
    let into = insert_into(table, quoted);
    let marks = vec!["?"; table.columns.len()].join(",");
    let text = match mode {
        Mode::Bulk => format!("{into} VALUES ({marks})"),
        Mode::Values => format!("{into} VALUES "),
        Mode::Unnest => format!("{into} (SELECT * FROM UNNEST({marks}))"),
    };
    InsertPlan {
        mode,
        head: head(&text),
        placeholders: format!("({marks})").into_bytes(),
        has_key: has_key(table),
    }
}

/// Whether the statements that create a table give it a primary key. One of the user's own tables, without such
/// statements, is assumed to have none: a duplicate is then not certain, and is looked up.
fn has_key(table: &BoundTable) -> bool {
    table.create.iter().any(|sql| sql.to_ascii_uppercase().contains("PRIMARY KEY"))
}

/// The body of a request up to the end of the statement's text.
pub(super) fn head(sql: &str) -> Vec<u8> {
    let mut head = b"{\"stmt\":\"".to_vec();
    json::put_escaped(&mut head, sql);
    head
}
