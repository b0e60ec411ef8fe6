//! Fetches pages of the program over HTTP, and waits until they contain a text.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::Signal;

use crate::called::{Place, Running, split};

/// The address of a server, from the program's output.
pub(crate) fn served(running: &mut Running, what: &str) -> SocketAddr {
    let line = running.wait_for(&format!("{what}: http://"));
    let address = line.split("//").nth(1).and_then(|rest| rest.split('/').next());
    address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

/// The tokens of pages that require one.
static TOKENS: Mutex<BTreeMap<SocketAddr, String>> = Mutex::new(BTreeMap::new());

/// The header that authorizes a browser, with its line end; empty for a page without a token.
pub(crate) fn cookie(at: SocketAddr) -> String {
    let tokens = TOKENS.lock().unwrap();
    tokens.get(&at).map(|token| format!("Cookie: highwater={token}\r\n")).unwrap_or_default()
}

/// The response to a request; empty if nothing listens any more.
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

/// Fails if a response does not have this status, or does not contain all of these texts.
#[track_caller]
pub(crate) fn expect(response: &str, status: u16, all: &[&str]) {
    let begin = format!("HTTP/1.1 {status}");
    let says = all.iter().all(|said| response.contains(said));
    assert!(response.starts_with(&begin) && says, "{all:?}: {response}");
}

/// Starts a server, and returns the address of its page.
pub(crate) fn serving(place: &Place, more: &str) -> (Running, SocketAddr) {
    serving_knowing(place, more, &[])
}

/// The same with these variables in its environment.
pub(crate) fn serving_knowing(
    place: &Place,
    more: &str,
    variables: &[(&str, &str)],
) -> (Running, SocketAddr) {
    let words = format!("serve --listen 0 {more}");
    let mut running = place.start_knowing(&split(&words), variables);
    let line = running.wait_for("page: http://");
    let (page, token) = line.split_once("//").unwrap().1.split_once('/').unwrap();
    let page = page.parse().unwrap();
    if let Some(token) = token.strip_prefix("#token=") {
        TOKENS.lock().unwrap().insert(page, token.to_owned());
    }
    (running, page)
}

/// Ctrl-C ends a server cleanly.
#[track_caller]
pub(crate) fn stop(server: Running) {
    server.signal(Signal::INT);
    assert_eq!(server.end().code, Some(0));
}

/// The response to a form sent by a browser.
pub(crate) fn sent(at: SocketAddr, path: &str, fields: &[(&str, &str)]) -> String {
    let escaped =
        |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
    fetched(at, &format!("POST {path}"), &pairs.collect::<Vec<_>>().join("&"))
}

/// A test with more checks of a page has failed: they take at least a minute.
const LOOKS_MAX: u32 = 3_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Waits for a list of runs with this text.
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

/// Waits for a page with this text.
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
