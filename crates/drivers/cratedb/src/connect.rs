//! Opens a connection that the server accepts: TCP, TLS, login, cluster health.
//!
//! HTTP has no start-up exchange, so a first health check shows whether the password is right, and whether the node has
//! loaded its tables. Must not run a workload's statements.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use highwater_model::units::Nanos;

use super::options::Node;
use super::query::{Failure, ServerError};
use super::stability;
use super::stability::Health;
use highwater_driver::contract::Timeline;
use highwater_driver::http::HttpConnection;
use highwater_driver::network::first_bytes;
use highwater_driver::time_limit;
use highwater_model::user_error::{UserError, UserErrorKind};

/// The request by which a client of the PostgreSQL protocol checks for TLS; the response is a letter.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// Pause between two polls of an unhealthy cluster.
const PAUSE: Nanos = Nanos::from_millis(100);

/// Connects within the node's time limit.
///
/// After instability, it waits within the same limit until the cluster is normal: a node that has just started has none
/// of its tables yet, and returns errors about missing tables.
pub(super) async fn open(
    node: &Node,
    timeline: &Rc<dyn Timeline>,
) -> Result<HttpConnection, UserError> {
    let bound = node.connect_timeout;
    let limit = timeline.now().saturating_add(bound);
    let opening = open_unbounded(node, timeline, limit);
    // The wait inside ends at the limit in any case; this limits the rest.
    let bound = Nanos(bound.0.saturating_mul(2));
    time_limit::connected(timeline, bound, &node.shown, opening).await
}

/// The error of a first contact; if another protocol answers, it names it.
pub(super) async fn explained(
    error: UserError,
    node: &Node,
    timeline: &Rc<dyn Timeline>,
) -> UserError {
    if error.kind == UserErrorKind::Unreachable
        && let Some(answer) = first_bytes(&node.host, node.port, &TLS_REQUEST, timeline).await
        && (answer == b"S" || answer == b"N")
    {
        let place = &node.shown;
        let cause = "a server with the PostgreSQL protocol answers there, not HTTP";
        return UserError::unreachable(format!("{place}: {cause}"))
            .with_hint("give CrateDB's HTTP port (mostly 4200), or a target `postgres://…`");
    }
    error
}

async fn open_unbounded(
    node: &Node,
    timeline: &Rc<dyn Timeline>,
    limit: Nanos,
) -> Result<HttpConnection, UserError> {
    let begun = timeline.now();
    let (mut connection, first) = first_answer(node).await?;
    let mut health = first;
    loop {
        let now = timeline.now();
        let well = match &health {
            Ok(state) => {
                node.stability.record_health(*state, now);
                node.stability.is_stable(begun)
            }
            Err(Failure::Server(ServerError { status: 401, .. }) | Failure::Io(_)) => false,
            Err(_) => {
                node.stability.record_instability(now);
                false
            }
        };
        let timed_out = now >= limit;
        match health {
            Ok(state) if well || timed_out || state.severity <= 1 => return Ok(connection),
            Err(Failure::Server(error)) if error.is_of_a_start() && !timed_out => {}
            Err(failure) => return Err(failure.into_target_error(&node.shown)),
            Ok(_) => {}
        }
        timeline.sleep_until(now.saturating_add(PAUSE)).await;
        health = stability::poll(&mut connection, node).await;
    }
}

/// Tries the kinds of connection that the mode allows, with a health check on each.
async fn first_answer(node: &Node) -> Result<(HttpConnection, Result<Health, Failure>), UserError> {
    let kinds = node.tls.mode().kinds();
    // Each session reuses the result of the first one.
    let skipped = usize::from(kinds.len() > 1 && node.second_kind.load(Ordering::Relaxed));
    let mut failed = None;
    for (position, encrypted) in kinds.iter().enumerate().skip(skipped) {
        let (place, tls) = (&node.shown, &node.tls);
        let opening = async {
            let stream = tls.connect(place, &node.host, node.port, *encrypted).await?;
            let mut connection = HttpConnection::new(stream);
            // A TLS port does not respond to a plain request, or not in HTTP.
            match stability::poll(&mut connection, node).await {
                Err(failure @ Failure::Io(_)) => Err(failure.into_target_error(place)),
                health => Ok((connection, health)),
            }
        };
        match opening.await {
            Ok(opened) => {
                node.second_kind.store(position > 0, Ordering::Relaxed);
                return Ok(opened);
            }
            // If TLS was optional, the error of the plain connection counts.
            Err(error) if failed.is_none() || !encrypted => failed = Some(error),
            Err(_) => {}
        }
    }
    Err(failed.unwrap_or_else(|| UserError::unreachable(format!("{}: not tried", node.shown))))
}
