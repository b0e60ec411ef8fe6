//! The connection around the load: runs one statement at a time in the text protocol and reads its
//! rows, no more of them than memory has room for. Must not know what the statements are for.

use std::rc::Rc;

use highwater_model::units::Nanos;

use super::connect::Opened;
use super::errors::Failure;
use super::options::Node;
use super::product::Product;
use super::rows::{self, Row};
use super::wire::Connection;
use highwater_driver::contract::{TargetError, Timeline};
use highwater_driver::sql::answer_limit::AnswerLimit;
use highwater_driver::sql::describe::{SqlQuery, Texts};
use highwater_driver::time_limit::{self, unanswered, within};

/// See the module.
pub(super) struct AdminConnection {
    wire: Connection,
    pub(super) product: Product,
    pub(super) node: Node,
    /// The insert mode, for the facts.
    pub(super) insert: &'static str,
    timeline: Rc<dyn Timeline>,
    /// The last statement got no whole response.
    unanswered: bool,
}

impl AdminConnection {
    pub(super) fn new(
        opened: Opened,
        node: Node,
        insert: &'static str,
        timeline: Rc<dyn Timeline>,
    ) -> Self {
        Self {
            wire: opened.connection,
            product: opened.product,
            node,
            insert,
            timeline,
            unanswered: false,
        }
    }

    pub(super) fn place(&self) -> &str {
        &self.node.shown
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.wire.is_encrypted()
    }

    /// Runs a statement that is quickly answered, and reads its rows.
    pub(super) async fn rows(&mut self, sql: &str) -> Result<Texts, TargetError> {
        let limit = time_limit::of_response(self.node.login.connect_timeout);
        self.rows_within(limit, sql).await
    }

    /// Runs a statement that may read a whole table; whoever calls it has a time limit.
    pub(super) async fn long_rows(&mut self, sql: &str) -> Result<Texts, TargetError> {
        let mut rows = Vec::new();
        let mut limit = AnswerLimit::default();
        self.each_row(sql, &mut |row| {
            let fits = limit.takes(&row);
            rows.push(row);
            fits
        })
        .await?;
        Ok(rows)
    }

    /// Hands over every row of a response as it comes; false of `take` ends the connection.
    pub(super) async fn each_row(
        &mut self,
        sql: &str,
        take: &mut impl FnMut(Row) -> bool,
    ) -> Result<(), TargetError> {
        if std::mem::replace(&mut self.unanswered, true) {
            return Err(unanswered(&self.node.shown));
        }
        let read = rows::each_row(&mut self.wire, sql, take).await;
        self.unanswered = matches!(read, Err(Failure::Io(_)));
        read.map_err(|failure| failure.into_target_error(&self.node.shown))
    }

    async fn rows_within(&mut self, limit: Nanos, sql: &str) -> Result<Texts, TargetError> {
        let (timeline, place) = (Rc::clone(&self.timeline), self.node.shown.clone());
        within(&timeline, limit, &place, self.long_rows(sql)).await
    }
}

impl SqlQuery for AdminConnection {
    async fn texts(&mut self, sql: &str) -> Result<Texts, TargetError> {
        let limit = time_limit::of_long_response(self.node.login.connect_timeout);
        self.rows_within(limit, sql).await
    }
}
