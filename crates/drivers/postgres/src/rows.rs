//! Runs a statement in the text protocol, and reads its rows. Must not know their purpose.

use std::io;

use super::errors::{Failure, ServerError};
use super::message;
use super::wire::Connection;
use highwater_driver::sql::connection::{Row, TextWire};

impl TextWire for Connection {
    type Error = ServerError;

    async fn each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Row) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut request = Vec::new();
        message::query(&mut request, sql);
        let exchanged = self.request(&request, |message| match message.tag {
            b'D' => take(row(message.body)),
            _ => Ok(()),
        });
        exchanged.await
    }

    fn is_encrypted(&self) -> bool {
        self.is_encrypted()
    }
}

/// The values of a data row in text format; truncated ones stay null.
fn row(body: &[u8]) -> Row {
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
