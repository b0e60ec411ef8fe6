//! The connection before and after the load: runs one statement at a time, and reads its rows within a memory limit and
//! a time limit.
//!
//! Must not know the purpose of statements, or how a wire is read.

use std::io;
use std::rc::Rc;

use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::units::Nanos;
use highwater_model::user_error::{RefusedStatement, UserError, UserErrorKind};

use crate::contract::Timeline;
use crate::failure::{Failure, ServerMessage};
use crate::network::invalid;
use crate::time_limit::{self, unanswered, within};

/// A row of a response as text; null is `None`.
pub type Row = Vec<Option<String>>;

/// The driver's part: a wire that runs a statement in its text protocol.
#[expect(async_fn_in_trait, reason = "a connection stays on its thread")]
pub trait TextWire {
    /// An error of its server.
    type Error: ServerMessage;

    /// Passes on every row of the response as it arrives. An error of `take` stops reading, and leaves the connection
    /// out of sync.
    async fn each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Row) -> io::Result<()>,
    ) -> Result<(), Failure<Self::Error>>;

    /// Whether the connection is protected against eavesdropping.
    fn is_encrypted(&self) -> bool;
}

/// Stored rows, up to the response limit.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) rows: Texts,
    limit: AnswerLimit,
}

impl Kept {
    pub(super) fn take(&mut self, row: Row) -> io::Result<()> {
        if !self.limit.takes(&row) {
            return Err(invalid(TOO_LONG));
        }
        self.rows.push(row);
        Ok(())
    }
}

/// Runs a statement on a wire, and reads its rows; `place` names the server.
pub async fn rows_of(wire: &mut impl TextWire, place: &str, sql: &str) -> Result<Texts, UserError> {
    let mut kept = Kept::default();
    let read = wire.each_row(sql, &mut |row| kept.take(row)).await;
    read.map_err(|failure| failure.into_target_error(place))?;
    Ok(kept.rows)
}

/// See the module documentation.
pub struct SqlConnection<W> {
    wire: W,
    place: String,
    connect_timeout: Nanos,
    timeline: Rc<dyn Timeline>,
    /// The last statement got no complete response.
    unanswered: bool,
}

impl<W: TextWire> SqlConnection<W> {
    /// From an open wire to the server at `place`; time limits are multiples of `connect_timeout`.
    pub fn new(wire: W, place: String, connect_timeout: Nanos, timeline: Rc<dyn Timeline>) -> Self {
        Self { wire, place, connect_timeout, timeline, unanswered: false }
    }

    /// The URL for display.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Whether the connection is protected against eavesdropping.
    pub fn is_encrypted(&self) -> bool {
        self.wire.is_encrypted()
    }

    /// The run's time.
    pub fn now(&self) -> Nanos {
        self.timeline.now()
    }

    /// Waits.
    pub async fn pause(&self, pause: Nanos) {
        let end = self.now().saturating_add(pause);
        self.timeline.sleep_until(end).await;
    }

    /// Runs a fast statement, and reads its rows.
    pub async fn rows(&mut self, sql: &str) -> Result<Texts, UserError> {
        let limit = time_limit::of_response(self.connect_timeout);
        self.rows_within(limit, sql).await
    }

    /// Runs a statement that may read a whole table; the caller sets the time limit.
    pub async fn long_rows(&mut self, sql: &str) -> Result<Texts, UserError> {
        let mut kept = Kept::default();
        self.each_row(sql, &mut |row| kept.take(row)).await?;
        Ok(kept.rows)
    }

    /// Passes on every row of a response as it arrives; an error of `take` ends the connection.
    pub async fn each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Row) -> io::Result<()>,
    ) -> Result<(), UserError> {
        if std::mem::replace(&mut self.unanswered, true) {
            return Err(unanswered(&self.place));
        }
        let read = self.wire.each_row(sql, take).await;
        self.unanswered = matches!(read, Err(Failure::Io(_)));
        read.map_err(|failure| failure.into_target_error(&self.place))
    }

    async fn rows_within(&mut self, limit: Nanos, sql: &str) -> Result<Texts, UserError> {
        let (timeline, place) = (Rc::clone(&self.timeline), self.place.clone());
        within(&timeline, limit, &place, self.long_rows(sql)).await
    }
}

impl<W: TextWire> SqlQuery for SqlConnection<W> {
    async fn texts(&mut self, sql: &str) -> Result<Texts, UserError> {
        let limit = time_limit::of_long_response(self.connect_timeout);
        self.rows_within(limit, sql).await
    }

    async fn quick_texts(&mut self, sql: &str) -> Result<Texts, UserError> {
        self.rows(sql).await
    }
}

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

/// Maximum rows of a response: an audit has one for 100,000 rows or more.
const ROWS_MAX: usize = 250_000;
/// Maximum bytes of a response, including the overhead of storing it.
const BYTES_MAX: usize = 128 * 1024 * 1024;

/// Error text if a response is too long.
pub const TOO_LONG: &str =
    "a response has more than 250,000 rows or 128 MiB, which no answer to Highwater has";

/// The remaining capacity for a response.
#[derive(Debug)]
pub struct AnswerLimit {
    rows: usize,
    bytes: usize,
}

impl Default for AnswerLimit {
    /// The limit at the start of a response.
    fn default() -> Self {
        Self { rows: ROWS_MAX, bytes: BYTES_MAX }
    }
}

impl AnswerLimit {
    /// Whether a row of this size still fits.
    pub fn takes(&mut self, row: &[Option<String>]) -> bool {
        let texts: usize = row.iter().flatten().map(String::len).sum();
        let bytes = texts + size_of_val(row) + size_of::<Vec<Option<String>>>();
        let left = self.rows.checked_sub(1).zip(self.bytes.checked_sub(bytes));
        if let Some((rows, bytes)) = left {
            (self.rows, self.bytes) = (rows, bytes);
        }
        left.is_some()
    }
}

/// Rows of a response as text; null is `None`.
pub type Texts = Vec<Vec<Option<String>>>;

/// A connection that runs one statement at a time.
#[expect(async_fn_in_trait, reason = "a connection stays on its thread")]
pub trait SqlQuery {
    /// Runs a statement and returns its rows.
    async fn texts(&mut self, sql: &str) -> Result<Texts, UserError>;
    /// The same for a fast statement, with a shorter time limit if there is one.
    async fn quick_texts(&mut self, sql: &str) -> Result<Texts, UserError> {
        self.texts(sql).await
    }
}

/// The first values of a row; null and missing values are empty.
pub fn values<const N: usize>(row: impl IntoIterator<Item = Option<String>>) -> [String; N] {
    let mut row = row.into_iter();
    std::array::from_fn(|_| row.next().flatten().unwrap_or_default())
}

/// Pairs of names and values, from rows that have both.
pub fn pairs(rows: Texts) -> impl Iterator<Item = (String, String)> {
    rows.into_iter().filter_map(|row| match <[_; 2]>::try_from(row) {
        Ok([Some(name), Some(value)]) => Some((name, value)),
        _ => None,
    })
}

/// The first value that is not null.
pub fn first_value(rows: Texts) -> Option<String> {
    rows.into_iter().flatten().flatten().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_bytes_are_bounded() {
        let mut limit = AnswerLimit::default();
        let taken = (0..2 * ROWS_MAX).filter(|_| limit.takes(&[])).count();
        assert_eq!(taken, ROWS_MAX);
        let long = [Some("x".repeat(BYTES_MAX / 4))];
        let mut limit = AnswerLimit::default();
        assert_eq!((0..10).filter(|_| limit.takes(&long)).count(), 3);
    }
}
