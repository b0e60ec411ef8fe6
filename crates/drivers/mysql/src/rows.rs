//! Runs a statement in the text protocol, and reads its rows. Must not know their purpose.

use std::io;

use super::errors::{Failure, ServerError};
use super::packet::{self, Reader};
use super::wire::Connection;
use highwater_driver::network::invalid;
use highwater_driver::sql::connection::{Row, TextWire};

impl TextWire for Connection {
    type Error = ServerError;

    async fn each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Row) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut request = Vec::new();
        packet::query(&mut request, sql);
        self.stream.send(&request).await?;
        let head = self.next().await?;
        let columns = match head.payload {
            [0x00, ..] => return Ok(()),
            [0xff, ..] => return Err(ServerError::failure(head.sequence, head.payload)),
            payload => {
                let columns = Reader(payload).lenenc();
                columns.ok_or_else(|| invalid("the answer is cut short"))?
            }
        };
        // Column definitions, and the end packet.
        for _ in 0..=columns {
            self.next().await?;
        }
        loop {
            let message = self.next().await?;
            match message.payload {
                [0xfe, ..] if message.payload.len() < 9 => return Ok(()),
                [0xff, ..] => return Err(ServerError::failure(message.sequence, message.payload)),
                payload => take(row(columns, payload))?,
            }
        }
    }

    fn is_encrypted(&self) -> bool {
        self.stream.stream().is_encrypted()
    }
}

/// The values of a row in the text protocol; truncated ones stay null.
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
