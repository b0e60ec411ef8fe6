//! A statement in the text protocol, and the rows of its answer. Must not know what they are for.

use std::io;

use super::errors::{Failure, ServerError};
use super::options::Node;
use super::packet::{self, Reader};
use super::wire::Connection;
use highwater_driver::contract::TargetError;
use highwater_driver::sql::answer_limit::{AnswerLimit, TOO_LONG};
use highwater_driver::sql::describe::Texts;

/// A row of a response as text, null as none.
pub(super) type Row = Vec<Option<String>>;

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

/// Hands over every row of the answer to a statement as it comes; false of `take` ends with an error, and
/// with a connection out of step.
pub(super) async fn each_row(
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
