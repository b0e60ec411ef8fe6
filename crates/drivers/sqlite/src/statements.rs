//! The statements of a session, prepared once, and the execution of ops and batches.
//!
//! Runs on the session's own thread. Must not use channels, or wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use highwater_driver::sql::connection::insert_into;
use highwater_driver::sql::dialect::quoted;
use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::op::{
    BoundOpKind, BoundTable, BoundWorkload, ColumnData, Dictionary, Op, OpBody, RowBatch, Value,
};
use highwater_model::outcome::{ErrorClass, OpError, Outcome};
use highwater_model::transaction::{BoundTransaction, NextStep};
use highwater_model::user_error::RefusedStatement;
use highwater_model::user_error::UserError;
use rusqlite::limits::Limit;
use rusqlite::types::{Null, ValueRef};
use rusqlite::{Connection, Statement};

use super::database::Database;
use super::error::{is_unclear, misfit, op_error, preparation_error, statement_error};
use super::settings::InsertMode;

/// Everything that a session may execute.
pub(super) struct Statements<'c> {
    transactions: Transactions<'c>,
    ops: Vec<PreparedOp<'c>>,
}

/// The connection, with its statements for beginning and ending a transaction.
struct Transactions<'c> {
    connection: &'c Connection,
    database: &'c Database,
    abandoned: Arc<AtomicBool>,
    begin: Statement<'c>,
    begin_reading: Statement<'c>,
    commit: Statement<'c>,
}

enum PreparedOp<'c> {
    Insert(Insert<'c>),
    Query(Query<'c>),
    /// Prepared again for each op.
    Literal(LiteralSql),
    Transaction(StepQueries<'c>),
}

/// A transaction and its statements.
struct StepQueries<'c> {
    transaction: BoundTransaction,
    /// For each of its steps, its statement if it is one.
    queries: Vec<Option<Query<'c>>>,
    /// For each of its steps, the columns of its answer and the positions of their values.
    columns: Vec<Vec<(usize, usize)>>,
}

/// A statement's response.
struct ReadRows {
    rows: u64,
    /// Size of the values.
    bytes: u64,
    /// Values of the last row, each with its position in the op.
    taken: Vec<(usize, Value)>,
}

struct Query<'c> {
    statement: Statement<'c>,
    writes: bool,
}

impl<'c> Statements<'c> {
    /// Prepares every op of the workload.
    pub(super) fn prepare(
        connection: &'c Connection,
        workload: &BoundWorkload,
        database: &'c Database,
        abandoned: Arc<AtomicBool>,
    ) -> Result<Self, UserError> {
        let fixed = |sql| {
            connection
                .prepare(sql)
                .map_err(|error| statement_error("cannot prepare a transaction", &error))
        };
        let mut ops = Vec::with_capacity(workload.ops.len());
        for (number, op) in workload.ops.iter().enumerate() {
            let what = format!("op `{}`", op.name);
            let place = |statement| RefusedStatement { op: number, statement, position: None };
            ops.push(match &op.kind {
                BoundOpKind::Insert { table, .. } => {
                    let table = workload.tables.get(*table).ok_or_else(|| {
                        UserError::statement(format!(
                            "{what} inserts into table {table}, which is not there"
                        ))
                    })?;
                    let mode = database.settings.insert;
                    let insert = Insert::prepare(connection, table, mode, Arc::clone(&abandoned))
                        .map_err(|error| preparation_error(&what, place(0), &error))?;
                    PreparedOp::Insert(insert)
                }
                BoundOpKind::Query { sql, parameters } => {
                    let count = parameters.len();
                    PreparedOp::Query(Query::prepare(connection, sql, count, &what, place(0))?)
                }
                BoundOpKind::Literal(sql) => PreparedOp::Literal(sql.clone()),
                BoundOpKind::Transaction(transaction) => {
                    let mut all: Vec<_> = transaction.steps.iter().map(|_| None).collect();
                    let mut columns = vec![Vec::new(); all.len()];
                    for (position, bound) in transaction.statements() {
                        let (sql, count) = (&bound.sql, bound.parameters.len());
                        let query = Query::prepare(connection, sql, count, &what, place(position));
                        let query = query?;
                        if let Some(answer) = &transaction.steps[position].answer {
                            let names = query.statement.column_names();
                            let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
                            columns[position] = answer.places(&names).map_err(|why| {
                                UserError::statement(format!("{what}: {why}"))
                                    .about(place(position))
                            })?;
                        }
                        all[position] = Some(query);
                    }
                    PreparedOp::Transaction(StepQueries {
                        transaction: transaction.clone(),
                        queries: all,
                        columns,
                    })
                }
            });
        }
        let transactions = Transactions {
            connection,
            database,
            abandoned,
            begin: fixed("BEGIN IMMEDIATE")?,
            begin_reading: fixed("BEGIN")?,
            commit: fixed("COMMIT")?,
        };
        Ok(Self { transactions, ops })
    }

    /// Executes one op, until it completes or is abandoned.
    pub(super) fn execute(&mut self, op: &Op) -> Outcome {
        let transactions = &mut self.transactions;
        match (self.ops.get_mut(usize::from(op.id.0)), &op.body) {
            (Some(PreparedOp::Insert(insert)), OpBody::Insert(batch)) => {
                transactions.insert(insert, batch)
            }
            (Some(PreparedOp::Transaction(steps)), OpBody::Query(values)) => {
                transactions.several(steps, values)
            }
            (Some(PreparedOp::Query(query)), OpBody::Query(values)) => {
                transactions.query(query, values)
            }
            (Some(PreparedOp::Literal(sql)), OpBody::Query(values)) => {
                let mut text = String::new();
                sql.write(values, LiteralStyle::Milliseconds, &mut text);
                match transactions.connection.prepare(&text) {
                    Ok(statement) => transactions.query(&mut Query::new(statement), &[]),
                    Err(error) => Outcome::refused(0, op_error(&error)),
                }
            }
            _ => {
                let message = format!("op {} is not what the session prepared", op.id.0);
                Outcome::refused(op.rows(), misfit(ErrorClass::Statement, message))
            }
        }
    }
}

impl<'c> Transactions<'c> {
    fn insert(&mut self, insert: &mut Insert<'c>, batch: &RowBatch) -> Outcome {
        let rows = batch.rows as u64;
        if let Err(message) = insert.check(batch) {
            return Outcome::refused(rows, misfit(ErrorClass::Data, message));
        }
        if rows == 0 {
            return Outcome::applied(0);
        }
        let _writer = self.database.writer_lock.acquire();
        if self.abandoned.load(Ordering::Acquire) {
            return Outcome::unknown(op_abandoned());
        }
        if let Err(error) = self.begin.raw_execute() {
            return Outcome::refused(rows, op_error(&error));
        }
        let applied = match insert.apply(batch) {
            Ok(applied) => applied,
            Err(failure) => return self.roll_back(rows, failure, false),
        };
        match self.commit.raw_execute() {
            Ok(_) => applied_of(rows, applied),
            Err(error) => self.roll_back(rows, Failure::Sql(error), true),
        }
    }

    /// Runs the statements of a transaction one after the other. A transaction that may write
    /// acquires the writer lock first, as an insert does; one that only reads does not.
    fn several(&mut self, steps: &mut StepQueries<'c>, values: &[Value]) -> Outcome {
        let StepQueries { transaction, queries, columns } = steps;
        let writes = queries.iter().flatten().any(|query| query.writes);
        let _writer = writes.then(|| self.database.writer_lock.acquire());
        if self.abandoned.load(Ordering::Acquire) {
            return Outcome::unknown(op_abandoned());
        }
        let begin = if writes { &mut self.begin } else { &mut self.begin_reading };
        if let Err(error) = begin.raw_execute() {
            return Outcome::refused(0, op_error(&error));
        }
        let mut outcome = Outcome::answered(0, 0);
        let mut walk = transaction.walk(values);
        let rolls_back = loop {
            let (position, bound, answer) = match walk.step() {
                Ok(NextStep::Statement(position, bound, answer)) => (position, bound, answer),
                Ok(NextStep::Pause(pause)) => {
                    std::thread::sleep(Duration::from_nanos(pause.0));
                    continue;
                }
                Ok(NextStep::End { rolls_back }) => break rolls_back,
                Err(why) => return self.roll_back(0, Failure::Answer(why), false),
            };
            let Some(Some(query)) = queries.get_mut(position) else {
                continue;
            };
            if self.abandoned.load(Ordering::Acquire) {
                return self.roll_back(0, Failure::Abandoned, false);
            }
            let taken = answer.and_then(|_| columns.get(position)).map(Vec::as_slice);
            let read = match query.read(bound.values_of(walk.values()), taken) {
                Ok(read) => read,
                Err(error) => return self.roll_back(0, Failure::Sql(error), false),
            };
            outcome.response_rows += read.rows;
            outcome.response_bytes += read.bytes;
            if let Some(answer) = answer {
                let known = answer.check_rows(read.rows).and_then(|()| walk.answer(read.taken));
                if let Err(why) = known {
                    return self.roll_back(0, Failure::Answer(why), false);
                }
            }
            if query.writes {
                outcome.rows_applied += self.connection.changes();
            }
        };
        if rolls_back {
            return match self.connection.execute_batch("ROLLBACK") {
                Ok(()) => outcome.as_rolled_back(),
                Err(error) => Outcome::unknown(op_error(&error)),
            };
        }
        match self.commit.raw_execute() {
            Ok(_) => outcome,
            Err(error) => self.roll_back(0, Failure::Sql(error), true),
        }
    }

    /// Rolls the transaction back; the outcome is unknown if that may have failed.
    fn roll_back(&self, rows: u64, failure: Failure, committing: bool) -> Outcome {
        // SQLite itself rolls back after some errors, such as a full disk.
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            return Outcome::unknown(op_error(&error));
        }
        match failure {
            Failure::Abandoned => Outcome::unknown(op_abandoned()),
            Failure::Answer(why) => Outcome::refused(rows, misfit(ErrorClass::Data, why)),
            Failure::Sql(error) if committing && is_unclear(&error) => {
                Outcome::unknown(op_error(&error))
            }
            Failure::Sql(error) => Outcome::refused(rows, op_error(&error)),
        }
    }

    /// Runs a query, which must not leave a transaction open: that would prevent all others from writing. A query that
    /// writes first acquires the writer lock.
    fn query(&self, query: &mut Query<'c>, values: &[Value]) -> Outcome {
        let _writer = query.writes.then(|| self.database.writer_lock.acquire());
        if query.writes && self.abandoned.load(Ordering::Acquire) {
            return Outcome::unknown(op_abandoned());
        }
        let mut outcome = query.run(values.iter());
        if query.writes && outcome.is_success() {
            outcome.rows_applied = self.connection.changes();
        }
        if self.connection.is_autocommit() {
            return outcome;
        }
        match self.connection.execute_batch("ROLLBACK") {
            Ok(()) => {
                let message = "the statement leaves a transaction open; it was rolled back";
                Outcome::refused(0, misfit(ErrorClass::Statement, message))
            }
            Err(error) => Outcome::unknown(op_error(&error)),
        }
    }
}

impl<'c> Query<'c> {
    fn prepare(
        connection: &'c Connection,
        sql: &str,
        parameters: usize,
        what: &str,
        place: RefusedStatement,
    ) -> Result<Self, UserError> {
        let statement =
            connection.prepare(sql).map_err(|error| preparation_error(what, place, &error))?;
        let used = statement.parameter_count();
        if used > parameters {
            let error = UserError::statement(format!(
                "{what}: the statement has {used} placeholders, the workload gives {parameters} \
                 parameters"
            ))
            .with_hint("write a parameter as `:name`, not as `$1` or `?`");
            return Err(error.about(place));
        }
        Ok(Self::new(statement))
    }

    fn new(statement: Statement<'c>) -> Self {
        let writes = !statement.readonly();
        Self { statement, writes }
    }

    fn run<'v>(&mut self, values: impl Iterator<Item = &'v Value>) -> Outcome {
        match self.read(values, None) {
            Ok(read) => Outcome::answered(read.rows, read.bytes),
            // SQLite undoes a single failed statement, except for errors below it.
            Err(error) if self.writes && is_unclear(&error) => Outcome::unknown(op_error(&error)),
            Err(error) => Outcome::refused(0, op_error(&error)),
        }
    }

    /// Reads the whole response: rows, the size of their values, and the values in some columns of the last row.
    fn read<'v>(
        &mut self,
        values: impl Iterator<Item = &'v Value>,
        taken: Option<&[(usize, usize)]>,
    ) -> rusqlite::Result<ReadRows> {
        for (value, place) in values.zip(1..=self.statement.parameter_count()) {
            let statement = &mut self.statement;
            match value {
                Value::Null => statement.raw_bind_parameter(place, Null)?,
                Value::Integer(v) | Value::TimestampMs(v) => {
                    statement.raw_bind_parameter(place, v)?;
                }
                Value::Float(v) => statement.raw_bind_parameter(place, v)?,
                Value::Boolean(v) => statement.raw_bind_parameter(place, v)?,
                Value::Text(v) => statement.raw_bind_parameter(place, &**v)?,
            }
        }
        let columns = self.statement.column_count();
        let mut found = self.statement.raw_query();
        let (mut rows, mut bytes, mut taken_values) = (0, 0, Vec::new());
        while let Some(row) = found.next()? {
            rows += 1;
            for column in 0..columns {
                bytes += size_of_value(row.get_ref(column)?);
            }
            if let Some(taken) = taken {
                let value = |(column, position): &(usize, usize)| {
                    Ok((*position, value_of(row.get_ref(*column)?)))
                };
                taken_values = taken.iter().map(value).collect::<rusqlite::Result<_>>()?;
            }
        }
        Ok(ReadRows { rows, bytes, taken: taken_values })
    }
}

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Float(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Value::Text(String::from_utf8_lossy(bytes).into())
        }
    }
}

/// Numbers count 8 bytes, text its length in UTF-8, null nothing.
const fn size_of_value(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Null => 0,
        ValueRef::Integer(_) | ValueRef::Real(_) => 8,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
    }
}

fn applied_of(rows: u64, applied: u64) -> Outcome {
    if applied == rows {
        return Outcome::applied(rows);
    }
    // The table's own `ON CONFLICT IGNORE` drops rows without an error.
    let applied = applied.min(rows);
    Outcome {
        rows_refused: rows - applied,
        error: Some(misfit(
            ErrorClass::Constraint,
            "the table ignored rows that a constraint refuses",
        )),
        ..Outcome::applied(applied)
    }
}

fn op_abandoned() -> OpError {
    misfit(ErrorClass::Timeout, "the op was abandoned")
}

/// Maximum prepared statements by row count: full ones, and the last of a batch.
const KEPT_STATEMENTS: usize = 2;

/// Why a batch was not inserted.
pub(super) enum Failure {
    /// SQLite rejected it.
    Sql(rusqlite::Error),
    /// The op was abandoned.
    Abandoned,
    /// An answer is not what later steps use.
    Answer(String),
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
        let misfit = |column: &ColumnData| match column.values() {
            ColumnData::Integer(v) | ColumnData::TimestampMs(v) => v.len() != batch.rows,
            ColumnData::Float(v) => v.len() != batch.rows,
            ColumnData::Boolean(v) => v.len() != batch.rows,
            ColumnData::Text(v) => v.len() != batch.rows,
            ColumnData::TextDictionary(d) | ColumnData::ObjectDictionary(d) => {
                d.codes.len() != batch.rows || d.codes.iter().any(|c| entry(d, *c).is_none())
            }
            ColumnData::Nullable(..) => true,
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
        ColumnData::Nullable(..) if column.is_null(row) => {
            statement.raw_bind_parameter(place, rusqlite::types::Null)
        }
        ColumnData::Nullable(values, _) => bind(statement, place, values, row),
    }
}

fn entry(dictionary: &Dictionary, code: u32) -> Option<&str> {
    let position = usize::try_from(code).ok()?;
    dictionary.values.get(position).map(|value| &**value)
}
