//! The connection before and after the load: runs one statement at a time, and reads its rows within a memory limit and
//! a time limit.
//!
//! Must not know the purpose of statements, or how a wire is read.

use std::io;
use std::rc::Rc;

use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::answer_limit::{AnswerLimit, TOO_LONG};
use crate::contract::Timeline;
use crate::failure::{Failure, ServerMessage};
use crate::network::invalid;
use crate::sql_query::{SqlQuery, Texts};
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
