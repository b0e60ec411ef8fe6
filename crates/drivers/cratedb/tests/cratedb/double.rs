//! A server that responds to recorded requests like the real one.
//!
//! It notes a request that was not recorded, and [`Double::finish`] then fails the test.
#![expect(clippy::expect_used, reason = "a double that cannot start fails its test")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use flate2::read::GzDecoder;
use serde_json::Value;

/// A recorded request, with its response.
pub(crate) struct Recording {
    request: String,
    answer: Vec<u8>,
}

impl Recording {
    /// Reads the recording of that name.
    pub(crate) fn read(name: &str) -> Self {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cratedb/recordings");
        let text = std::fs::read_to_string(format!("{directory}/{name}.txt")).expect("a recording");
        let (request, answered) = text.split_once("\n<<< RESPONSE\n").expect("an answer");
        let (_, request) = request.split_once("\n\n").expect("a request");
        let (_, body) = request.split_once("\n\n").expect("the request's body");
        let (head, rest) = answered.split_once("\n\n").unwrap_or((answered, ""));
        let head = head.trim_end().replace('\n', "\r\n");
        Self {
            request: normal(body.trim()),
            answer: format!("{head}\r\n\r\n{}", rest.trim_end_matches('\n')).into_bytes(),
        }
    }

    /// The request's body.
    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.request).expect("a recorded request is JSON")
    }
}

/// The same request from another client: names without quotes and schema, no spaces.
fn normal(body: &str) -> String {
    let Ok(Value::Object(mut request)) = serde_json::from_str(body) else {
        return body.to_owned();
    };
    if let Some(Value::String(statement)) = request.get_mut("stmt") {
        *statement = statement.replace("doc.", "").replace(['"', ' ', '\n', ';'], "");
    }
    // Missing parameters are equivalent to none.
    if request.get("args") == Some(&Value::Array(Vec::new())) {
        request.remove("args");
    }
    Value::Object(request).to_string()
}

#[derive(Default)]
struct State {
    known: BTreeMap<String, Vec<Vec<u8>>>,
    /// Requests after which the connection is closed.
    closing: BTreeSet<String>,
    seen: Vec<String>,
    wrong: Vec<String>,
}

/// A running double.
pub(crate) struct Double {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Double {
    /// Starts a double with these recordings. Several responses to one request are each returned once, and the last one
    /// forever.
    pub(crate) fn start(names: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(Mutex::new(State::default()));
        let double = Self { port, state: Arc::clone(&state) };
        for name in names {
            double.learn(name);
        }
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                thread::spawn(move || serve(stream, &state));
            }
        });
        double
    }

    /// Adds a recording; replaces an existing response to the request.
    pub(crate) fn learn(&self, name: &str) {
        let recording = Recording::read(name);
        let mut state = self.state.lock().expect("a state");
        let answers = state.known.entry(recording.request).or_default();
        answers.push(recording.answer);
    }

    /// Closes the connection after this recording's request, without a response.
    pub(crate) fn close_after(&self, name: &str) {
        let request = Recording::read(name).request;
        self.state.lock().expect("a state").closing.insert(request);
    }

    pub(crate) fn url(&self) -> String {
        format!("crate://127.0.0.1:{}/doc", self.port)
    }

    /// Number of requests received.
    pub(crate) fn requests(&self) -> usize {
        self.state.lock().expect("a state").seen.len()
    }

    /// Requests without a response, or received before the response to the previous one.
    pub(crate) fn wrong(&self) -> Vec<String> {
        self.state.lock().expect("a state").wrong.clone()
    }

    /// Fails if a request was not recorded.
    pub(crate) fn finish(&self) {
        let wrong = self.wrong();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    while let Some(body) = request(&mut stream) {
        let request = normal(&body);
        let answer = {
            let mut state = state.lock().expect("a state");
            state.seen.push(request.clone());
            if is_pipelined(&stream) {
                state.wrong.push(format!("a request before the answer to {request}"));
            }
            if state.closing.contains(&request) {
                break;
            }
            let answer = state.known.get_mut(&request).and_then(|answers| {
                if answers.len() > 1 {
                    return Some(answers.remove(0));
                }
                answers.first().cloned()
            });
            if answer.is_none() {
                state.wrong.push(format!("not recorded: {request}"));
            }
            answer
        };
        let written = answer.map(|answer| stream.write_all(&answer));
        if !matches!(written, Some(Ok(()))) {
            break;
        }
    }
    drop(stream.shutdown(Shutdown::Both));
}

/// Whether bytes arrived before the last request was answered.
fn is_pipelined(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let waiting = stream.peek(&mut [0]);
    stream.set_nonblocking(false).expect("a socket");
    matches!(waiting, Ok(count) if count > 0)
        || matches!(waiting, Err(error) if error.kind() != ErrorKind::WouldBlock)
}

/// The body of the next request; `None` at the end, or if a client starts TLS.
fn request(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
        if head[0] != b'P' {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    let field = |name: &str| {
        let found = head.lines().find_map(|line| line.strip_prefix(name))?;
        Some(found.trim().to_owned())
    };
    let length = field("Content-Length:")?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    if field("Content-Encoding:").as_deref() == Some("gzip") {
        let mut text = String::new();
        GzDecoder::new(body.as_slice()).read_to_string(&mut text).ok()?;
        return Some(text);
    }
    String::from_utf8(body).ok()
}
