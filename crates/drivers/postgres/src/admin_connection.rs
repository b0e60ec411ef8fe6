//! The connection around the load: runs one statement at a time in the text protocol and reads its
//! rows, no more of them than memory has room for. Must not know what the statements are for.

use std::io;
use std::rc::Rc;

use postgres_protocol::escape::escape_identifier;

use highwater_model::op::BoundTable;
use highwater_model::units::Nanos;

use super::connect::Opened;
use super::message;
use super::options::Node;
use super::wire::Connection;
use highwater_driver::contract::{TargetError, Timeline};
use highwater_driver::sql::answer_limit::{AnswerLimit, TOO_LONG};
use highwater_driver::sql::describe::{SqlQuery, Texts};
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::time_limit::{self, unanswered, within};

/// See the module.
pub(super) struct AdminConnection {
    pub(super) wire: Connection,
    dialect: Dialect,
    pub(super) node: Node,
    /// The insert mode, for the facts.
    insert: &'static str,
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
            dialect: opened.dialect,
            node,
            insert,
            timeline,
            unanswered: false,
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(super) fn place(&self) -> &str {
        &self.node.shown
    }

    pub(super) fn insert(&self) -> &'static str {
        self.insert
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
        if std::mem::replace(&mut self.unanswered, true) {
            return Err(unanswered(&self.node.shown));
        }
        let read = rows_of(&mut self.wire, &self.node, sql).await;
        self.unanswered = false;
        read
    }

    async fn rows_within(&mut self, limit: Nanos, sql: &str) -> Result<Texts, TargetError> {
        let (timeline, place) = (Rc::clone(&self.timeline), self.node.shown.clone());
        within(&timeline, limit, &place, self.long_rows(sql)).await
    }

    /// Prepares for reading a whole table: settings, and what was written becomes visible.
    pub(super) async fn make_visible(&mut self, table: &BoundTable) -> Result<(), TargetError> {
        if let Some(statement) = self.dialect.before_full_scan() {
            self.rows(statement).await?;
        }
        match self.dialect.refresh(&escape_identifier(&table.name)) {
            Some(statement) => self.long_rows(&statement).await.map(drop),
            None => Ok(()),
        }
    }
}

impl SqlQuery for AdminConnection {
    async fn texts(&mut self, sql: &str) -> Result<Texts, TargetError> {
        let limit = time_limit::of_long_response(self.node.login.connect_timeout);
        self.rows_within(limit, sql).await
    }

    async fn quick_texts(&mut self, sql: &str) -> Result<Texts, TargetError> {
        self.rows(sql).await
    }
}

/// Runs a statement on a connection to that server and reads its rows.
pub(super) async fn rows_of(
    connection: &mut Connection,
    node: &Node,
    sql: &str,
) -> Result<Texts, TargetError> {
    let mut request = Vec::new();
    message::query(&mut request, sql);
    let mut rows = Vec::new();
    let mut limit = AnswerLimit::default();
    let exchanged = connection.request_while(&request, |message| {
        if message.tag != b'D' {
            return Ok(());
        }
        let row = row(message.body);
        if !limit.takes(&row) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, TOO_LONG));
        }
        rows.push(row);
        Ok(())
    });
    let exchanged = exchanged.await;
    exchanged.map_err(|failure| failure.into_target_error(&node.shown))?;
    Ok(rows)
}

/// The values of a data row in text format; what is cut short stays null.
pub(super) fn row(body: &[u8]) -> Vec<Option<String>> {
    let Some((count, mut rest)) = body.split_first_chunk::<2>() else {
        return Vec::new();
    };
    (0..u16::from_be_bytes(*count))
        .map(|_| {
            let (length, after) = rest.split_first_chunk::<4>()?;
            rest = after;
            let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
            let (value, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(String::from_utf8_lossy(value).into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_rows_are_read_and_short_ones_do_no_harm() {
        let body = [
            &3u16.to_be_bytes()[..],
            &1i32.to_be_bytes(),
            b"7",
            &(-1i32).to_be_bytes(),
            &9i32.to_be_bytes(),
            b"ab",
        ]
        .concat();
        assert_eq!(row(&body), vec![Some("7".to_owned()), None, None]);
        assert_eq!(row(&[0]), Vec::<Option<String>>::new());
    }
}
