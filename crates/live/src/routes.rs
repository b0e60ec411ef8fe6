//! The routes of the page and their responses. Must not decide on access (`access`).

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::{self, Stream};
use highwater_model::control::{Command, Refusal};
use highwater_model::record::RecordRef;
use highwater_report::{self as report, LiveRights};

use crate::access::{Access, Refused};
use crate::metrics;
use crate::shared::Shared;

/// Loads only from this server; charts have no inline style.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// For a report with inline style and script; it must not load anything.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
                             script-src 'unsafe-inline'; img-src data: blob:; frame-ancestors 'none'";
const SCRIPT: &str = include_str!("live.js");
/// Moves the token from the URL to the login, and reloads the page.
const LOGIN_SCRIPT: &str = include_str!("login.js");

/// The page and everything that it loads.
pub(crate) fn page(shared: Arc<Shared>) -> Router {
    let open = shared.access.clone().map_or_else(Router::new, login_of);
    let seen = Router::new()
        .route("/", get(whole))
        .route("/live", get(live))
        .route("/live.css", get(|| async { style() }))
        .route("/live.js", get(|| async { live_script() }))
        .route("/metrics", get(scraped))
        .route("/control", post(control))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guard))
        .with_state(shared);
    with_headers(open.merge(seen))
}

/// Adds headers that restrict a browser to what the page needs.
pub(crate) fn with_headers(router: Router) -> Router {
    router.layer(middleware::map_response(secured))
}

/// Only the metrics.
pub(crate) fn metrics(shared: Arc<Shared>) -> Router {
    Router::new().route("/metrics", get(scraped)).with_state(shared)
}

async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let is_page = request.uri().path() == "/";
    match shared.access.as_ref().map(|access| access.look(request.headers())) {
        Some(Ok(())) => next.run(request).await,
        Some(Err(Refused::Token)) if is_page => token_page(),
        Some(Err(refused)) => refusal(refused),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

pub(crate) fn refusal(refused: Refused) -> Response {
    let why = match refused {
        Refused::Host => "another name was used for this address",
        Refused::Origin => "sent by a page of another site",
        Refused::Token => "the token is missing or wrong",
    };
    (StatusCode::FORBIDDEN, why).into_response()
}

/// An action that is not possible now, and why.
pub(crate) fn conflict(why: impl IntoResponse) -> Response {
    (StatusCode::CONFLICT, why).into_response()
}

/// The response after a form was processed.
pub(crate) fn to_the_list() -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
}

async fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // With no referrer at all, browsers send `null` as the origin of this page's forms.
        (REFERRER_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = HeaderValue::from_static(POLICY);
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(policy);
    response
}

/// The script that swaps the parts of a live page.
pub(crate) fn live_script() -> Response {
    script(SCRIPT)
}

fn script(text: &'static str) -> Response {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], text).into_response()
}

pub(crate) fn style() -> Response {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], report::live_style()).into_response()
}

/// The page for a browser without a token, or before its login.
pub(crate) fn token_page() -> Response {
    Html(
        "<!doctype html><title>Highwater</title><p>This page needs its token: open the whole URL that the command \
         printed.</p><script src=\"/login.js\"></script>",
    )
    .into_response()
}

/// Exchanges a token for a cookie.
pub(crate) fn login_of(access: Access) -> Router {
    Router::new()
        .route("/login.js", get(|| async { script(LOGIN_SCRIPT) }))
        .route("/login", post(login))
        .with_state(Arc::new(access))
}

async fn login(State(access): State<Arc<Access>>, headers: HeaderMap, token: String) -> Response {
    if let Err(refused) = access.is_own_page(&headers) {
        return refusal(refused);
    }
    match access.cookie(&token).map(HeaderValue::try_from) {
        Some(Ok(cookie)) => ([(SET_COOKIE, cookie)], "welcome").into_response(),
        _ => refusal(Refused::Token),
    }
}

async fn whole(State(shared): State<Arc<Shared>>) -> Response {
    if let Some(page) = shared.report.get() {
        shared.reports_sent.fetch_add(1, Ordering::Relaxed);
        return report_page(page.clone());
    }
    shared.fetched.store(true, Ordering::Relaxed);
    let watched = shared.watched();
    Html(report::live_page(&watched, shared.rights)).into_response()
}

/// The page of a result with one more text or link, and with the figures of its run as CSV, which need no server.
pub(crate) fn served_report(record: RecordRef<'_>, more: [String; 2]) -> String {
    let csv = report::results_csv(&record.measured_run());
    let csv: String = form_urlencoded::byte_serialize(csv.as_bytes()).collect();
    let csv = format!("data:text/csv;charset=utf-8,{}", csv.replace('+', "%20"));
    let name = if record.experiment().is_some() { "last-run.csv" } else { "results.csv" };
    report::html_with_links(record, &[more, [name.to_owned(), csv]])
}

/// A page with its own style and script.
pub(crate) fn report_page(page: String) -> Response {
    ([(CONTENT_SECURITY_POLICY, REPORT_POLICY)], Html(page)).into_response()
}

async fn scraped(State(shared): State<Arc<Shared>>) -> Response {
    let text = metrics::text(metrics::of_command(&shared.watched()));
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response()
}

/// The parts, each time they change; a slow client gets the latest parts and skips outdated ones.
async fn live(
    State(shared): State<Arc<Shared>>,
) -> Sse<impl Stream<Item = Result<Sent, Infallible>>> {
    let sent = stream::unfold(Some(shared.parts()), |parts| async {
        let mut parts = parts?;
        match parts.changed().await {
            Ok(()) => {
                let text = parts.borrow_and_update().to_string();
                let event = Sent::default().event("parts").data(text);
                Some((Ok(event), Some(parts)))
            }
            // The command is over.
            Err(_) => Some((Ok(Sent::default().event("over").data("over")), None)),
        }
    });
    Sse::new(sent).keep_alive(KeepAlive::default())
}

async fn control(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let json = headers.get(CONTENT_TYPE).is_some_and(|of| of == "application/json");
    if !json {
        // Forms of other sites cannot send this content type without a preflight request.
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json").into_response();
    }
    let command = match serde_json::from_slice::<Command>(&body) {
        Ok(command) => command,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let is_stop = command == Command::Stop;
    let held = match command {
        Command::Pause => Some(true),
        Command::Resume => Some(false),
        _ => None,
    };
    let may = match shared.rights {
        LiveRights::View => false,
        LiveRights::Trials => is_stop || held.is_some(),
        LiveRights::Control => true,
    };
    let Some(controller) = shared.controller.as_ref().filter(|_| may) else {
        return (StatusCode::FORBIDDEN, "this page may not do that").into_response();
    };
    if let Some(held) = held {
        let answer = controller.hold(held);
        shared.update();
        return match answer {
            Ok(()) if held => "pauses when this trial is over".into_response(),
            Ok(()) => "continues".into_response(),
            Err(why) => conflict(report::refusal(&why)),
        };
    }
    let answer = match controller.send(command) {
        Ok(reply) => reply.answer().await,
        Err(refusal) => Err(refusal),
    };
    match answer {
        Ok(done) => report::intervention(&done).into_response(),
        // An experiment only takes the interrupt.
        Err(Refusal::RunOver) if is_stop => "stopping".into_response(),
        Err(why) => conflict(report::refusal(&why)),
    }
}
