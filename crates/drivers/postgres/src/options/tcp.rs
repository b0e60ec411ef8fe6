//! libpq's options for TCP connections. Must not connect.

use std::io;
use std::time::Duration;

use highwater_model::user_error::UserError;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// How a lost peer is detected; absent values mean the system's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct TcpOptions {
    /// Whether an idle connection is probed.
    keepalives: bool,
    /// Seconds without traffic before the first probe.
    idle: Option<u64>,
    /// Seconds between two probes.
    interval: Option<u64>,
    /// Probes without a response after which the connection is lost.
    count: Option<u32>,
    /// Maximum time for which sent bytes may be unacknowledged.
    user_timeout: Option<Duration>,
}

impl TcpOptions {
    /// The given options; 0 means the system's default, as in libpq.
    pub(super) fn of_settings(given: impl Fn(&str) -> Option<String>) -> Result<Self, UserError> {
        let number = |name: &str| -> Result<Option<u64>, UserError> {
            let Some(text) = given(name) else {
                return Ok(None);
            };
            // libpq treats a negative number as 0.
            let value = text.trim().parse::<i32>().map_err(|_| {
                UserError::usage(format!("`{name}={text}` is not a whole number"))
                    .with_hint("0 is the default of the operating system")
            })?;
            Ok(u64::try_from(value).ok().filter(|value| *value > 0))
        };
        let count = number("keepalives_count")?;
        Ok(Self {
            keepalives: given("keepalives").is_none() || number("keepalives")?.is_some(),
            idle: number("keepalives_idle")?,
            interval: number("keepalives_interval")?,
            count: count.and_then(|count| u32::try_from(count).ok()),
            user_timeout: number("tcp_user_timeout")?.map(Duration::from_millis),
        })
    }

    /// Applies them to a connection.
    pub(in super::super) fn apply(self, stream: &TcpStream) -> io::Result<()> {
        let socket = SockRef::from(stream);
        if self.user_timeout.is_some() {
            socket.set_tcp_user_timeout(self.user_timeout)?;
        }
        if !self.keepalives {
            return Ok(());
        }
        let mut keepalive = TcpKeepalive::new();
        if let Some(seconds) = self.idle {
            keepalive = keepalive.with_time(Duration::from_secs(seconds));
        }
        if let Some(seconds) = self.interval {
            keepalive = keepalive.with_interval(Duration::from_secs(seconds));
        }
        if let Some(count) = self.count {
            keepalive = keepalive.with_retries(count);
        }
        socket.set_tcp_keepalive(&keepalive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Result<TcpOptions, UserError> {
        TcpOptions::of_settings(|name| {
            let mut pairs = pairs.iter();
            let found = pairs.find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        })
    }

    #[tokio::test]
    async fn what_is_given_is_set_on_the_socket() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connect = async || {
            let address = listener.local_addr().unwrap();
            TcpStream::connect(address).await.unwrap()
        };
        let given = [
            ("keepalives_idle", "7"),
            ("keepalives_interval", "3"),
            ("keepalives_count", "4"),
            ("tcp_user_timeout", "9000"),
        ];
        let stream = connect().await;
        options(&given).unwrap().apply(&stream).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(7));
        let interval = socket.tcp_keepalive_interval().unwrap();
        assert_eq!(interval, Duration::from_secs(3));
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 4);
        let timeout = socket.tcp_user_timeout().unwrap();
        assert_eq!(timeout, Some(Duration::from_secs(9)));
        let stream = connect().await;
        options(&[("keepalives", "0")]).unwrap().apply(&stream).unwrap();
        assert!(!SockRef::from(&stream).keepalive().unwrap());
        assert!(options(&[("keepalives_idle", "soon")]).is_err());
    }
}
