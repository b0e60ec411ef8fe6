//! Serves connections within bounds: their number, the time for a request's head and body, the time for a reader that
//! does not read, and the memory of each. Must not depend on the served content.

use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;

/// Maximum concurrent connections; further ones are closed immediately.
const CONNECTIONS_MAX: usize = 256;
/// Timeout for the head of a request, including the next one on the same connection.
const HEAD: Duration = Duration::from_secs(10);
/// Timeout for the body of a request, after its head.
const BODY: Duration = Duration::from_secs(10);
/// Maximum bytes of a body.
const BODY_MAX: usize = 16 * 1_024;
/// Timeout for a reader that does not read; a browser reconnects, and gets the current state.
const WRITE: Duration = Duration::from_secs(15);
/// Maximum headers of a request.
const HEADERS_MAX: usize = 64;
/// Maximum bytes buffered per client: the head of its request, and unsent data in addition to the piece that is being
/// sent.
const CLIENT_BYTES_MAX: usize = 64 * 1_024;
/// Pause after the system rejected a connection, for example because no file descriptors are left.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections until it is dropped.
#[expect(clippy::disallowed_methods, reason = "browsers live on the real clock")]
pub(crate) async fn serve(listener: StdListener, router: Router) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let router = router.layer(middleware::from_fn(whole_body));
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        if let Ok(place) = Arc::clone(&room).try_acquire_owned() {
            tokio::spawn(connection(stream, router.clone(), place));
        }
    }
}

/// Forwards a request when its body is complete, so that no handler waits for a missing one.
async fn whole_body(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(BODY, to_bytes(body, BODY_MAX)).await {
        Ok(Ok(body)) => next.run(Request::from_parts(head, Body::from(body))).await,
        Ok(Err(_)) => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
    }
}

async fn connection(stream: TcpStream, router: Router, place: OwnedSemaphorePermit) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(HEADERS_MAX)
        .max_buf_size(CLIENT_BYTES_MAX)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    // A broken connection only concerns its client.
    let _ = served.await;
    drop(place);
}
