//! From an address to a stream that takes requests: TCP, and TLS above it. Must not send a request.

use highwater_driver::contract::TargetError;
use highwater_driver::http::HttpConnection;
use highwater_driver::network::{Stream, connect_tcp};

use super::options::Node;

/// A connection of which nothing is known yet.
pub(super) async fn dial(node: &Node) -> Result<HttpConnection, TargetError> {
    let stream = connect_tcp(&node.shown, &node.host, node.port).await?;
    let encrypted = node.tls.mode().kinds().first() == Some(&true);
    if !encrypted {
        return Ok(HttpConnection::new(Stream::Tcp(stream)));
    }
    let stream = node.tls.handshake(&node.shown, &node.host, stream).await?;
    Ok(HttpConnection::new(Stream::Tls(Box::new(stream))))
}
