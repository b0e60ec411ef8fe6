//! Asks pages of the program over HTTP, and waits until they say something.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::Signal;

use crate::called::{Place, Running, split};

/// Where something is served, as the program says it.
pub(crate) fn served(running: &mut Running, what: &str) -> SocketAddr {
    let line = running.wait_for(&format!("{what}: http://"));
    let address = line.split("//").nth(1).and_then(|rest| rest.split('/').next());
    address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

/// The tokens of pages that need one.
static TOKENS: Mutex<BTreeMap<SocketAddr, String>> = Mutex::new(BTreeMap::new());

/// The header that lets a browser in, with the end of its line; empty for a page that needs none.
pub(crate) fn cookie(at: SocketAddr) -> String {
    let tokens = TOKENS.lock().unwrap();
    tokens.get(&at).map(|token| format!("Cookie: highwater={token}\r\n")).unwrap_or_default()
}

/// The response to a request; empty where nobody listens any more.
pub(crate) fn fetched(at: SocketAddr, line: &str, body: &str) -> String {
    let mut response = String::new();
    if let Ok(mut stream) = TcpStream::connect(at) {
        let length = body.len();
        let cookie = cookie(at);
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {at}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             {cookie}Connection: close\r\n\r\n{body}"
        );
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.read_to_string(&mut response);
    }
    response
}

/// Fails where a response has not this status, or says not all of these.
#[track_caller]
pub(crate) fn expect(response: &str, status: u16, all: &[&str]) {
    let begin = format!("HTTP/1.1 {status}");
    let says = all.iter().all(|said| response.contains(said));
    assert!(response.starts_with(&begin) && says, "{all:?}: {response}");
}

/// Starts a server, and returns where its page is.
pub(crate) fn serving(place: &Place, more: &str) -> (Running, SocketAddr) {
    let mut running = place.start(&split(&format!("serve --listen 0 {more}")));
    let line = running.wait_for("page: http://");
    let (page, token) = line.split_once("//").unwrap().1.split_once('/').unwrap();
    let page = page.parse().unwrap();
    if let Some(token) = token.strip_prefix("#token=") {
        TOKENS.lock().unwrap().insert(page, token.to_owned());
    }
    (running, page)
}

/// Ctrl-C ends a server in order.
#[track_caller]
pub(crate) fn stop(server: Running) {
    server.signal(Signal::INT);
    assert_eq!(server.end().code, Some(0));
}

/// What a browser sends for a form.
pub(crate) fn sent(at: SocketAddr, path: &str, fields: &[(&str, &str)]) -> String {
    let escaped =
        |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
    fetched(at, &format!("POST {path}"), &pairs.collect::<Vec<_>>().join("&"))
}

/// A test that looks so often at a page has failed: a minute at least.
const LOOKS_MAX: u32 = 3_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A list of runs that says this, waited for.
pub(crate) fn listed(at: SocketAddr, said: &str) -> String {
    shown(at, "/", said)
}

/// The lines of an event stream, until it ends.
pub(crate) fn events_of(at: SocketAddr, path: &str) -> impl Iterator<Item = String> {
    let mut stream = TcpStream::connect(at).unwrap();
    let cookie = cookie(at);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n{cookie}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream).lines().map_while(Result::ok)
}

/// A page that says this, waited for.
pub(crate) fn shown(at: SocketAddr, path: &str, said: &str) -> String {
    let mut page = String::new();
    for _ in 0..LOOKS_MAX {
        page = fetched(at, &format!("GET {path}"), "");
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        if page.contains(said) {
            return page;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    panic!("never `{said}`: {page}");
}
