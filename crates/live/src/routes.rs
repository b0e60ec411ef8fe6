//! The routes of the page and their responses, and access control: which requests may view the page, and which may send
//! to it.
//!
//! On loopback, all local users have access, unless the page can start commands. Pages of other sites that are open in
//! a browser have no access, even with DNS rebinding. On other addresses, and for a page that starts commands, a token
//! is required. It is in the URL's fragment, which browsers do not send, and it is never logged or stored.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::{self, Stream};

use highwater_model::control::{Command, Refusal};
use highwater_model::record::RecordRef;
use highwater_report as report;
use highwater_report::LiveRights;

use crate::metrics;
use crate::server::{ServerState, lock};

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
pub(crate) fn page(shared: Arc<ServerState>) -> Router {
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
pub(crate) fn metrics(shared: Arc<ServerState>) -> Router {
    Router::new().route("/metrics", get(scraped)).with_state(shared)
}

async fn guard(State(shared): State<Arc<ServerState>>, request: Request, next: Next) -> Response {
    let is_page = request.uri().path() == "/";
    match shared.access.as_ref().map(|access| access.look(request.headers())) {
        Some(Ok(())) => next.run(request).await,
        Some(Err(RequestRefusal::Token)) if is_page => token_page(),
        Some(Err(refused)) => refusal(refused),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

pub(crate) fn refusal(refused: RequestRefusal) -> Response {
    let why = match refused {
        RequestRefusal::Host => "another name was used for this address",
        RequestRefusal::Origin => "sent by a page of another site",
        RequestRefusal::Token => "the token is missing or wrong",
    };
    (StatusCode::FORBIDDEN, why).into_response()
}

/// An action that is not possible now, and why.
pub(crate) fn conflict(why: impl IntoResponse) -> Response {
    (StatusCode::CONFLICT, why).into_response()
}

/// The response after a form was processed.
pub(crate) fn to(place: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, place)]).into_response()
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
        _ => refusal(RequestRefusal::Token),
    }
}

async fn whole(State(shared): State<Arc<ServerState>>) -> Response {
    if let Some(page) = shared.report.get() {
        shared.reports_sent.fetch_add(1, Ordering::Relaxed);
        return report_page(page.clone());
    }
    let watched = shared.followed();
    Html(report::live_page(&watched, shared.rights)).into_response()
}

/// The page of a result with one more text or link, and with its figures, or those of its trials, as CSV, which need no server.
pub(crate) fn served_report(record: RecordRef<'_>, more: [String; 2]) -> String {
    let (name, csv) = match record.experiment() {
        Some(_) => ("trials.csv", report::csv(record)),
        None => ("results.csv", report::results_csv(&record.measured_run())),
    };
    let csv: String = form_urlencoded::byte_serialize(csv.as_bytes()).collect();
    let csv = format!("data:text/csv;charset=utf-8,{}", csv.replace('+', "%20"));
    report::html_with_links(record, &[more, [name.to_owned(), csv]])
}

/// A page with its own style and script.
pub(crate) fn report_page(page: String) -> Response {
    ([(CONTENT_SECURITY_POLICY, REPORT_POLICY)], Html(page)).into_response()
}

async fn scraped(State(shared): State<Arc<ServerState>>) -> Response {
    let text = metrics::text(metrics::of_command(&lock(&shared.watched)));
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response()
}

/// The parts, each time they change; a slow client gets the latest parts and skips outdated ones.
async fn live(
    State(shared): State<Arc<ServerState>>,
) -> Sse<impl Stream<Item = Result<Sent, Infallible>>> {
    let sent = stream::unfold(Some(shared.parts()), |parts| async {
        let mut parts = parts?;
        match parts.changed().await {
            Ok(()) => {
                let text = parts.borrow_and_update().to_string();
                let event = Sent::default().event("parts").data(text);
                Some((Ok(event), Some(parts)))
            }
            // The command has ended.
            Err(_) => Some((Ok(Sent::default().event("over").data("over")), None)),
        }
    });
    Sse::new(sent).keep_alive(KeepAlive::default())
}

async fn control(
    State(shared): State<Arc<ServerState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
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

/// Name of the cookie that holds the token.
const COOKIE_NAME: &str = "highwater";
/// Random bytes of a token.
const TOKEN_BYTES: usize = 24;

/// Requirements for a request.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    address: SocketAddr,
    /// Absent on loopback, unless it is required there, too.
    token: Option<Token>,
}

/// Printed only in the URL for the user.
#[derive(Clone, PartialEq, Eq)]
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestRefusal {
    /// It names another host, which was made to resolve to this address.
    Host,
    /// It comes from a page of another site.
    Origin,
    /// It has no token, or a wrong one.
    Token,
}

impl Access {
    /// Access to a page at this address; with `always_token`, a token is required on loopback, too.
    ///
    /// # Errors
    /// If the system provides no random bytes.
    pub(crate) fn to(address: SocketAddr, always_token: bool) -> io::Result<Self> {
        let token =
            if address.ip().is_loopback() && !always_token { None } else { Some(Token::random()?) };
        Ok(Self { address, token })
    }

    /// URL of the page, including the token; for the user only.
    pub(crate) fn url(&self) -> String {
        let address = self.address;
        match &self.token {
            None => format!("http://{address}/"),
            Some(Token(token)) => format!("http://{address}/#token={token}"),
        }
    }

    /// Whether a request may view the page.
    pub(crate) fn look(&self, headers: &HeaderMap) -> Result<(), RequestRefusal> {
        self.is_own_page(headers)?;
        match &self.token {
            None => Ok(()),
            Some(token) => match cookie(headers) {
                Some(given) if token.is(given) => Ok(()),
                _ => Err(RequestRefusal::Token),
            },
        }
    }

    /// Whether a request comes from this server's page, or from no page.
    pub(crate) fn is_own_page(&self, headers: &HeaderMap) -> Result<(), RequestRefusal> {
        let host = text(headers, &HOST).ok_or(RequestRefusal::Host)?;
        if self.address.ip().is_loopback() && !self.is_ours(host) {
            return Err(RequestRefusal::Host);
        }
        match headers.get(ORIGIN) {
            None => Ok(()),
            Some(origin) if origin.as_bytes() == format!("http://{host}").as_bytes() => Ok(()),
            Some(_) => Err(RequestRefusal::Origin),
        }
    }

    /// The cookie header that authorizes a browser with this token.
    fn cookie(&self, given: &str) -> Option<String> {
        let token = self.token.as_ref().filter(|token| token.is(given))?;
        let Token(token) = token;
        Some(format!("{COOKIE_NAME}={token}; HttpOnly; SameSite=Strict; Path=/"))
    }

    fn is_ours(&self, host: &str) -> bool {
        let port = self.address.port();
        host == self.address.to_string() || host == format!("localhost:{port}")
    }
}

impl Token {
    fn random() -> io::Result<Self> {
        random_digits::<TOKEN_BYTES>().map(Self)
    }

    /// Constant-time for all tokens of the same length.
    fn is(&self, given: &str) -> bool {
        let differences =
            self.0.bytes().zip(given.bytes()).fold(0, |all, (ours, theirs)| all | (ours ^ theirs));
        self.0.len() == given.len() && differences == 0
    }
}

/// Random bytes, printed as two hexadecimal digits each.
///
/// # Errors
/// If the system provides none.
pub(crate) fn random_digits<const BYTES: usize>() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let mut pairs =
        text(headers, &COOKIE)?.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[track_caller]
    fn check(access: &Access, given: &[(HeaderName, &str)], expected: Result<(), RequestRefusal>) {
        assert_eq!(access.look(&headers(given)), expected, "{given:?}");
    }

    #[test]
    fn on_loopback_only_our_own_names_and_pages_are_let_in() {
        let access = Access::to("127.0.0.1:4790".parse().unwrap(), false).unwrap();
        assert_eq!(access.url(), "http://127.0.0.1:4790/");
        check(&access, &[(HOST, "127.0.0.1:4790")], Ok(()));
        check(&access, &[(HOST, "localhost:4790")], Ok(()));
        let own = [(HOST, "localhost:4790"), (ORIGIN, "http://localhost:4790")];
        check(&access, &own, Ok(()));
        check(&access, &[], Err(RequestRefusal::Host));
        for host in [
            "evil.example",
            "evil.example:4790",
            "localhost",
            "127.0.0.1:80",
            "localhost:4790.evil.example",
        ] {
            check(&access, &[(HOST, host)], Err(RequestRefusal::Host));
        }
        for origin in
            ["http://evil.example", "null", "https://localhost:4790", "http://127.0.0.1:4790"]
        {
            let given = [(HOST, "localhost:4790"), (ORIGIN, origin)];
            check(&access, &given, Err(RequestRefusal::Origin));
        }
    }

    #[test]
    fn elsewhere_a_token_is_needed_and_its_cookie_lets_in() {
        let access = Access::to("192.0.2.1:4790".parse().unwrap(), false).unwrap();
        let url = access.url();
        let token = url.split_once("#token=").unwrap().1;
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        check(&access, &[(HOST, "db7:4790")], Err(RequestRefusal::Token));
        let wrong = format!("{COOKIE_NAME}={}", "0".repeat(token.len()));
        let short = format!("{COOKIE_NAME}={}", &token[1..]);
        for cookie in [wrong, short] {
            let given = [(HOST, "db7:4790"), (COOKIE, cookie.as_str())];
            check(&access, &given, Err(RequestRefusal::Token));
        }
        assert_eq!(access.cookie("0"), None);
        let set = access.cookie(token).unwrap();
        let given = format!("other=1; {}", set.split(';').next().unwrap());
        check(&access, &[(HOST, "db7:4790"), (COOKIE, &given)], Ok(()));
        let from_elsewhere =
            [(HOST, "db7:4790"), (COOKIE, given.as_str()), (ORIGIN, "http://evil.example")];
        check(&access, &from_elsewhere, Err(RequestRefusal::Origin));
        assert!(!format!("{access:?}").contains(token), "nothing prints it");
        let other = Access::to("192.0.2.1:4790".parse().unwrap(), false).unwrap();
        assert_ne!(other.url(), url, "each page has its own");
    }

    #[test]
    fn on_loopback_a_page_that_starts_commands_needs_a_token_and_our_own_names() {
        let access = Access::to("127.0.0.1:4790".parse().unwrap(), true).unwrap();
        let url = access.url();
        let set = access.cookie(url.split_once("#token=").unwrap().1).unwrap();
        let cookie = set.split(';').next().unwrap();
        check(&access, &[(HOST, "127.0.0.1:4790")], Err(RequestRefusal::Token));
        let given = [(HOST, "127.0.0.1:4790"), (COOKIE, cookie)];
        check(&access, &given, Ok(()));
        let renamed = [(HOST, "evil.example:4790"), (COOKIE, cookie)];
        check(&access, &renamed, Err(RequestRefusal::Host));
    }
}
