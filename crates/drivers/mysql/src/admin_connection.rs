//! The connection around the load: runs one statement at a time in the text protocol and reads its
//! rows, no more of them than memory has room for. Must not know what the statements are for.

use std::io;
use std::rc::Rc;

use highwater_model::units::Nanos;

use super::connect::Opened;
use super::errors::{Failure, ServerError};
use super::options::Node;
use super::packet::{self, Reader};
use super::product::Product;
use super::wire::Connection;
use highwater_driver::contract::{TargetError, Timeline};
use highwater_driver::sql::answer_limit::{AnswerLimit, TOO_LONG};
use highwater_driver::sql::describe::{SqlQuery, Texts};
use highwater_driver::time_limit::{self, unanswered, within};

/// A row of a response as text, null as none.
type Row = Vec<Option<String>>;

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

    /// Runs a statement for its effect.
    pub(super) async fn run(&mut self, sql: &str) -> Result<(), TargetError> {
        self.texts(sql).await.map(drop)
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
        let read = each_row(&mut self.wire, sql, take).await;
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

/// Runs a statement on a connection to that server and reads its rows.
pub(super) async fn rows_of(
    connection: &mut Connection,
    node: &Node,
    sql: &str,
) -> Result<Texts, TargetError> {
    let mut rows = Vec::new();
    let mut limit = AnswerLimit::default();
    let mut take = |row: Row| {
        let fits = limit.takes(&row);
        rows.push(row);
        fits
    };
    let read = each_row(connection, sql, &mut take).await;
    read.map_err(|failure| failure.into_target_error(&node.shown))?;
    Ok(rows)
}

async fn each_row(
    connection: &mut Connection,
    sql: &str,
    take: &mut impl FnMut(Row) -> bool,
) -> Result<(), Failure> {
    let mut request = Vec::new();
    packet::query(&mut request, sql);
    connection.send(&request).await?;
    let head = connection.next().await?;
    let columns = match head.payload {
        [0x00, ..] => return Ok(()),
        [0xff, ..] => return Err(failure(head.sequence, head.payload)),
        payload => Reader(payload).lenenc().ok_or_else(cut_short)?,
    };
    // What describes them is followed by what ends it.
    for _ in 0..=columns {
        connection.next().await?;
    }
    loop {
        let message = connection.next().await?;
        match message.payload {
            [0xfe, ..] if message.payload.len() < 9 => return Ok(()),
            [0xff, ..] => return Err(failure(message.sequence, message.payload)),
            payload => {
                if !take(row(columns, payload)) {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, TOO_LONG).into());
                }
            }
        }
    }
}

fn failure(sequence: u8, payload: &[u8]) -> Failure {
    Failure::Server(ServerError::read(sequence, payload))
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the answer is cut short")
}

/// The values of a row in the text protocol; what is cut short stays null.
fn row(columns: u64, payload: &[u8]) -> Row {
    let mut reader = Reader(payload);
    (0..columns)
        .map(|_| {
            let value = reader.lenenc_bytes()?;
            Some(String::from_utf8_lossy(value).into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_short_ones_do_no_harm() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(row(3, b"\x017\xfb\x02ab"), [text("7"), None, text("ab")]);
        assert_eq!(row(2, b"\x017\x09ab"), [text("7"), None]);
        assert_eq!(row(1, b""), [None]);
    }
}
