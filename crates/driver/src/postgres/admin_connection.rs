//! The connection around the load: runs one statement at a time in the text protocol and reads its
//! rows. Must not know what the statements are for.

use postgres_protocol::escape::escape_identifier;

use highwater_core::model::op::BoundTable;

use super::connect::Opened;
use super::message;
use super::options::Node;
use super::wire::Connection;
use crate::contract::TargetError;
use crate::sql::describe::{SqlQuery, Texts};
use crate::sql::dialect::Dialect;

/// See the module.
pub(super) struct AdminConnection {
    pub(super) wire: Connection,
    dialect: Dialect,
    pub(super) node: Node,
    /// The insert mode, for the facts.
    insert: &'static str,
}

impl AdminConnection {
    pub(super) fn new(opened: Opened, node: Node, insert: &'static str) -> Self {
        Self {
            wire: opened.connection,
            dialect: opened.dialect,
            node,
            insert,
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

    /// Runs a statement for its effect.
    pub(super) async fn run(&mut self, sql: &str) -> Result<(), TargetError> {
        self.rows(sql).await.map(drop)
    }

    /// Runs a statement and reads its rows.
    pub(super) async fn rows(&mut self, sql: &str) -> Result<Texts, TargetError> {
        rows_of(&mut self.wire, &self.node, sql).await
    }

    /// Prepares for reading a whole table: settings, and what was written becomes visible.
    pub(super) async fn make_visible(&mut self, table: &BoundTable) -> Result<(), TargetError> {
        if let Some(statement) = self.dialect.before_full_scan() {
            self.rows(statement).await?;
        }
        match self.dialect.refresh(&escape_identifier(&table.name)) {
            Some(statement) => self.run(&statement).await,
            None => Ok(()),
        }
    }
}

impl SqlQuery for AdminConnection {
    async fn texts(&mut self, sql: &str) -> Result<Texts, TargetError> {
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
    let exchanged = connection.request(&request, |message| {
        if message.tag == b'D' {
            rows.push(row(message.body));
        }
    });
    let exchanged = exchanged.await;
    exchanged.map_err(|failure| failure.into_target_error(&node.shown))?;
    Ok(rows)
}

/// The first value of the first row as a number; 0 where there is none.
pub(super) fn number(rows: &Texts) -> u64 {
    rows.first()
        .and_then(|row| row.first())
        .and_then(|value| value.as_deref()?.parse().ok())
        .unwrap_or(0)
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
        assert_eq!(number(&vec![vec![Some("42".to_owned())]]), 42);
        assert_eq!(number(&Vec::new()), 0);
    }
}
