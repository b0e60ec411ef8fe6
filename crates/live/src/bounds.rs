//! Serves connections within bounds: their number, the time for a request's head and for its body, the time for a
//! reader that takes nothing, and the memory of each. Must not know what is served.

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

/// Connections at once; more are closed at once.
const CONNECTIONS_MAX: usize = 256;
/// For the head of a request, also of the next one on the same connection.
const HEAD: Duration = Duration::from_secs(10);
/// For the body of a request, from its head on.
const BODY: Duration = Duration::from_secs(10);
/// Bytes of a body.
const BODY_MAX: usize = 16 * 1_024;
/// For a reader that takes nothing: a browser connects anew, and gets what is then to be seen.
const WRITE: Duration = Duration::from_secs(15);
/// Headers of a request.
const HEADERS_MAX: usize = 64;
/// Bytes that are kept of a client: of its request's head, and of what it has not taken yet, besides the one piece that
/// is being sent.
const CLIENT_BYTES_MAX: usize = 64 * 1_024;
/// After the system refused a connection, as without any file descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts until it is dropped.
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

/// Passes a request on when its body is there, so that no one waits for what never comes.
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
    // A connection that breaks is its reader's business.
    let _ = served.await;
    drop(place);
}
