//! The first bytes of what answers at an address where another protocol was expected, for an error
//! message, once at the first contact. Must not know a protocol, or be part of a measurement.

use std::rc::Rc;

use highwater_model::units::Nanos;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::contract::Timeline;
use crate::time_limit::ended;

/// How long an answer is waited for.
const LIMIT: Nanos = Nanos::SECOND;
/// The first bytes of the answer to a request, if one comes in time.
pub async fn first_bytes(
    host: &str,
    port: u16,
    request: &[u8],
    timeline: &Rc<dyn Timeline>,
) -> Option<Vec<u8>> {
    let exchange = async {
        let mut stream = TcpStream::connect((host, port)).await.ok()?;
        stream.write_all(request).await.ok()?;
        let mut bytes = vec![0; 5];
        let count = stream.read(&mut bytes).await.ok()?;
        bytes.truncate(count);
        Some(bytes)
    };
    ended(timeline, LIMIT, exchange).await.flatten()
}
