//! Shared by all drivers with a network: streams, TLS with libpq's settings, and short texts.
//!
//! Must not know a protocol or a server, or read a clock.

mod attempts;
mod buffered;
mod peer;
mod sslmode;
mod stream;
mod tls;

use std::io;

use highwater_model::user_error::UserError;
use tokio::net::TcpStream;

pub use attempts::{AttemptError, by_kind, no_tls};
pub use buffered::BufferedStream;
pub use peer::first_bytes;
pub use sslmode::{SslMode, is_loopback};
pub use stream::Stream;
pub use tls::{Tls, TlsFiles};

/// Maximum bytes kept of a server's message.
const MESSAGE_BYTES_MAX: usize = 300;

/// An I/O error on one line, in clearer words than the system's.
pub fn describe(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return "the server closed the connection".to_owned();
    }
    one_line(&error.to_string())
}

/// The error of an interrupted exchange with a server.
pub fn lost(place: &str, error: &io::Error) -> UserError {
    UserError::unreachable(format!("{place}: {}", describe(error)))
}

/// The error of bytes that violate a protocol.
pub fn invalid(cause: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}

/// No server was reachable, or it closed the new connection; `place` names it.
pub fn unreachable(place: &str, error: &io::Error) -> UserError {
    lost(place, error).with_hint("is the server running, and are host and port right?")
}

/// A TCP connection that sends written bytes at once.
pub async fn connect_tcp(place: &str, host: &str, port: u16) -> Result<TcpStream, UserError> {
    let connected = async {
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    connected.await.map_err(|error| unreachable(place, &error))
}

/// Text on one line, truncated at a character boundary.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > MESSAGE_BYTES_MAX {
            break;
        }
    }
    if line.len() > MESSAGE_BYTES_MAX {
        line.truncate(line.floor_char_boundary(MESSAGE_BYTES_MAX));
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_server_become_one_bounded_line() {
        assert_eq!(one_line(" a\n b\t"), "a b");
        assert_eq!(one_line(""), "");
        let long = one_line(&"ä".repeat(1000));
        assert!(long.len() <= MESSAGE_BYTES_MAX + '…'.len_utf8());
    }
}
