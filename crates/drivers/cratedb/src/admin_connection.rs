//! The connection before and after the load: runs one statement at a time, and reads its rows. Must not know the
//! purpose of statements.

use std::rc::Rc;

use highwater_model::units::Nanos;

use super::options::Node;
use super::query;
use highwater_driver::contract::Timeline;
use highwater_driver::http::HttpConnection;
use highwater_driver::sql::dialect::quoted;
use highwater_driver::sql_query::{SqlQuery, Texts};
use highwater_driver::time_limit::{self, unanswered, within};
use highwater_model::user_error::UserError;

/// First pause between two polls of a busy server.
pub(super) const PAUSE_MIN: Nanos = Nanos::from_millis(10);
/// Longest pause between two polls.
pub(super) const PAUSE_MAX: Nanos = Nanos::from_millis(250);

/// See the module documentation.
pub(super) struct AdminConnection {
    pub(super) http: HttpConnection,
    pub(super) node: Node,
    /// The insert mode, for the facts.
    pub(super) insert: &'static str,
    pub(super) timeline: Rc<dyn Timeline>,
    /// The last statement got no complete response.
    unanswered: bool,
}

impl AdminConnection {
    pub(super) fn new(
        http: HttpConnection,
        node: Node,
        insert: &'static str,
        timeline: Rc<dyn Timeline>,
    ) -> Self {
        Self { http, node, insert, timeline, unanswered: false }
    }

    /// Runs a fast statement, and reads its rows.
    pub(super) async fn rows(&mut self, sql: &str) -> Result<Texts, UserError> {
        let limit = time_limit::of_response(self.node.connect_timeout);
        self.rows_within(limit, sql).await
    }

    /// Runs a statement that may read a whole table; the caller sets the time limit.
    pub(super) async fn long_rows(&mut self, sql: &str) -> Result<Texts, UserError> {
        if std::mem::replace(&mut self.unanswered, true) {
            return Err(unanswered(&self.node.shown));
        }
        let read = query::rows(&mut self.http, &self.node, sql).await;
        self.unanswered = false;
        read.map_err(|failure| failure.into_target_error(&self.node.shown))
    }

    async fn rows_within(&mut self, limit: Nanos, sql: &str) -> Result<Texts, UserError> {
        let (timeline, place) = (Rc::clone(&self.timeline), self.node.shown.clone());
        within(&timeline, limit, &place, self.long_rows(sql)).await
    }

    /// Makes writes to a table visible.
    pub(super) async fn refresh(&mut self, table: &str) -> Result<(), UserError> {
        let refresh = format!("REFRESH TABLE {}", quoted(table));
        self.long_rows(&refresh).await.map(drop)
    }

    pub(super) async fn pause(&self, pause: Nanos) {
        self.timeline.sleep_until(self.timeline.now().saturating_add(pause)).await;
    }
}

impl SqlQuery for AdminConnection {
    async fn texts(&mut self, sql: &str) -> Result<Texts, UserError> {
        let limit = time_limit::of_long_response(self.node.connect_timeout);
        self.rows_within(limit, sql).await
    }

    async fn quick_texts(&mut self, sql: &str) -> Result<Texts, UserError> {
        self.rows(sql).await
    }
}
