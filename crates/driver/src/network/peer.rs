//! The first bytes of what answers at an address where another protocol was expected, for an error
//! message, once at the first contact. Must not know a protocol, or be part of a measurement.

use std::rc::Rc;

use futures_util::future::{Either, select};
use highwater_model::units::Nanos;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::contract::Timeline;

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
    let limit = timeline.sleep_until(timeline.now().saturating_add(LIMIT));
    match select(std::pin::pin!(exchange), limit).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => None,
    }
}
