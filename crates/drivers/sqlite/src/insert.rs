//! Batch inserts: rows of a columnar batch bound to prepared statements.
//!
//! Must not begin or end transactions; the caller does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use highwater_model::op::{BoundTable, ColumnData, Dictionary, RowBatch};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Statement};

use super::settings::InsertMode;
use highwater_driver::sql::preparing::insert_into;
use highwater_driver::sql::quoting::quoted;

/// Maximum prepared statements by row count: full ones, and the last of a batch.
const KEPT_STATEMENTS: usize = 2;

/// Why a batch was not inserted.
pub(super) enum Failure {
    /// SQLite rejected it.
    Sql(rusqlite::Error),
    /// The op was abandoned.
    Abandoned,
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// An insert op, prepared.
pub(super) struct Insert<'c> {
    connection: &'c Connection,
    abandoned: Arc<AtomicBool>,
    columns: usize,
    // `INSERT INTO t (a, b) VALUES `
    head: String,
    // `(?,?)`
    row: String,
    // At least 1.
    rows_per_statement: usize,
    // (rows, statement), the latest used last; at most KEPT_STATEMENTS.
    statements: Vec<(usize, Statement<'c>)>,
}

impl<'c> Insert<'c> {
    /// Prepares the statement of a single row, which also checks table and columns.
    pub(super) fn prepare(
        connection: &'c Connection,
        table: &BoundTable,
        mode: InsertMode,
        abandoned: Arc<AtomicBool>,
    ) -> rusqlite::Result<Self> {
        let columns = table.columns.len();
        let rows_per_statement = match mode {
            InsertMode::Prepared => 1,
            InsertMode::Values => {
                let variables = connection.limit(Limit::SQLITE_LIMIT_VARIABLE_NUMBER)?;
                (usize::try_from(variables).unwrap_or(0) / columns.max(1)).max(1)
            }
        };
        let mut insert = Self {
            connection,
            abandoned,
            columns,
            head: format!("{} VALUES ", insert_into(table, quoted)),
            row: format!("({})", vec!["?"; columns].join(",")),
            rows_per_statement,
            statements: Vec::with_capacity(KEPT_STATEMENTS),
        };
        insert.statement(1)?;
        Ok(insert)
    }

    /// Whether the batch has the table's shape.
    pub(super) fn check(&self, batch: &RowBatch) -> Result<(), String> {
        if batch.columns.len() != self.columns {
            return Err(format!(
                "the batch has {} columns, the table {}",
                batch.columns.len(),
                self.columns
            ));
        }
        let misfit = |column: &ColumnData| match column {
            ColumnData::Integer(v) | ColumnData::TimestampMs(v) => v.len() != batch.rows,
            ColumnData::Float(v) => v.len() != batch.rows,
            ColumnData::Boolean(v) => v.len() != batch.rows,
            ColumnData::Text(v) => v.len() != batch.rows,
            ColumnData::TextDictionary(d) | ColumnData::ObjectDictionary(d) => {
                d.codes.len() != batch.rows || d.codes.iter().any(|c| entry(d, *c).is_none())
            }
        };
        match batch.columns.iter().position(misfit) {
            Some(column) => {
                Err(format!("column {column} of the batch has not a value for each row"))
            }
            None => Ok(()),
        }
    }

    /// Inserts the rows of a checked batch; returns SQLite's row count.
    pub(super) fn apply(&mut self, batch: &RowBatch) -> Result<u64, Failure> {
        let mut applied = 0;
        let mut first = 0;
        while first < batch.rows {
            if self.abandoned.load(Ordering::Acquire) {
                return Err(Failure::Abandoned);
            }
            let rows = self.rows_per_statement.min(batch.rows - first);
            let statement = self.statement(rows)?;
            let mut place = 1;
            for row in first..first + rows {
                for column in &batch.columns {
                    bind(statement, place, column, row)?;
                    place += 1;
                }
            }
            applied += statement.raw_execute()? as u64;
            first += rows;
        }
        Ok(applied)
    }

    fn statement(&mut self, rows: usize) -> rusqlite::Result<&mut Statement<'c>> {
        let found = self.statements.iter().position(|(n, _)| *n == rows);
        let position = if let Some(position) = found {
            position
        } else {
            let values = vec![self.row.as_str(); rows].join(",");
            let statement = self.connection.prepare(&format!("{}{values}", self.head))?;
            if self.statements.len() == KEPT_STATEMENTS {
                self.statements.remove(0);
            }
            self.statements.push((rows, statement));
            self.statements.len() - 1
        };
        Ok(&mut self.statements[position].1)
    }
}

fn bind(
    statement: &mut Statement<'_>,
    place: usize,
    column: &ColumnData,
    row: usize,
) -> rusqlite::Result<()> {
    match column {
        ColumnData::Integer(v) | ColumnData::TimestampMs(v) => {
            statement.raw_bind_parameter(place, v[row])
        }
        ColumnData::Float(v) => statement.raw_bind_parameter(place, v[row]),
        ColumnData::Boolean(v) => statement.raw_bind_parameter(place, v[row]),
        ColumnData::Text(v) => statement.raw_bind_parameter(place, &*v[row]),
        ColumnData::TextDictionary(d) | ColumnData::ObjectDictionary(d) => {
            statement.raw_bind_parameter(place, entry(d, d.codes[row]))
        }
    }
}

fn entry(dictionary: &Dictionary, code: u32) -> Option<&str> {
    let position = usize::try_from(code).ok()?;
    dictionary.values.get(position).map(|value| &**value)
}
