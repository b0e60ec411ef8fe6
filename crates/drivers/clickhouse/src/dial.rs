//! From an address to a stream that takes requests: TCP, and TLS above it. Must not send a request.

use highwater_driver::contract::TargetError;
use highwater_driver::http::HttpConnection;

use super::options::Node;

/// A connection of which nothing is known yet.
pub(super) async fn dial(node: &Node) -> Result<HttpConnection, TargetError> {
    let encrypted = node.tls.mode().kinds().first() == Some(&true);
    let (place, host) = (&node.shown, &node.host);
    let stream = node.tls.connect(place, host, node.port, encrypted).await?;
    Ok(HttpConnection::new(stream))
}
