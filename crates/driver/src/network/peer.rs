//! The first bytes from an address that was expected to use another protocol, for an error message at the first
//! contact. Must not know a protocol, or be part of a measurement.

use std::rc::Rc;

use highwater_model::units::Nanos;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::contract::Timeline;
use crate::time_limit::ended;

/// Time limit for a response.
const LIMIT: Nanos = Nanos::SECOND;
/// The first bytes of the response to a request, if they arrive in time.
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
