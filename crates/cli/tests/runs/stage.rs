//! A server that takes part in a whole run by replaying a recorded conversation.
//!
//! A tape contains every request of a run and every response of a real server, byte by byte. A request that is not on
//! the tape is noted, and fails the test at its [`Stage::finish`]. With a real server's address in [`LIVE`], the same
//! tests use that server, and the tapes are rewritten.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Variable with the HTTP address of a real server, such as `127.0.0.1:4200`.
const LIVE: &str = "HIGHWATER_RECORD_FROM";
/// Minimum duration of an insert, so that a few of them fill a measured phase.
const INSERT_PAUSE: Duration = Duration::from_millis(100);

/// The response to a statement without rows.
const DONE: &str = r#"{"cols":[],"rows":[[]],"rowcount":1,"duration":1.0}"#;
/// Placeholder for the token of a lease that is not known yet.
const UNKNOWN_TOKEN: &str = "no token";

const REQUEST: &str = ">>> REQUEST\n";
const RESPONSE: &str = "\n<<< RESPONSE\n";

#[derive(Clone)]
struct Exchange {
    request: String,
    answer: String,
}

/// Events during the run.
#[derive(Default, Clone)]
pub(crate) struct Script {
    /// A real server executes this statement, in which `SCHEMA` is the run's schema, before the insert with this
    /// number; on a tape, this has already happened.
    pub(crate) before_insert: Option<(u64, &'static str)>,
    /// The server dies when the insert with this number arrives.
    pub(crate) dies_at_insert: Option<u64>,
    /// Inserts are acknowledged immediately as fully stored, including those that are not on the tape.
    pub(crate) stores_all: bool,
}

struct State {
    script: Script,
    schema: String,
    /// A real server.
    live: Option<String>,
    tape: Vec<Exchange>,
    /// On a tape: after the last replayed exchange.
    position: usize,
    inserts: u64,
    /// The canary runs: its inserts are not those of the load.
    trying: bool,
    /// Lease tokens of the recorded run and of this one, of equal length.
    recorded_token: String,
    token: String,
    wrong: Vec<String>,
    open: Vec<TcpStream>,
    dead: bool,
}

/// The server.
pub(crate) struct Stage {
    tape: PathBuf,
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Stage {
    /// Replays the tape with this name.
    pub(crate) fn start(name: &str, script: Script) -> Self {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/tapes");
        let tape = PathBuf::from(format!("{directory}/{name}.txt"));
        let live = std::env::var(LIVE).ok();
        let exchanges = match &live {
            Some(_) => Vec::new(),
            None => read(&fs::read_to_string(&tape).unwrap()),
        };
        let state = Arc::new(Mutex::new(State {
            script,
            schema: schema_of(name),
            live,
            recorded_token: exchanges
                .iter()
                .find_map(|exchange| lease_token(&exchange.request))
                .unwrap_or(UNKNOWN_TOKEN)
                .to_owned(),
            token: UNKNOWN_TOKEN.to_owned(),
            tape: exchanges,
            position: 0,
            inserts: 0,
            trying: false,
            wrong: Vec::new(),
            open: Vec::new(),
            dead: false,
        }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepting = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.lock().unwrap().dead {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let state = Arc::clone(&accepting);
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { tape, port, state }
    }

    /// The URL for a run.
    pub(crate) fn url(&self) -> String {
        let state = self.state.lock().unwrap();
        format!("crate://127.0.0.1:{}/{}", self.port, state.schema)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Number of received inserts.
    pub(crate) fn inserts(&self) -> u64 {
        self.state.lock().unwrap().inserts
    }

    /// Fails if a request was received that is not on the tape; writes the tape if it was recorded to its end.
    pub(crate) fn finish(self) {
        let state = self.state.lock().unwrap();
        assert!(state.wrong.is_empty(), "{}", state.wrong.join("\n"));
        if state.live.is_some() && !state.dead {
            let written = state.tape.iter().map(|exchange| {
                let Exchange { request, answer } = exchange;
                format!("{REQUEST}{request}{RESPONSE}{}\n", answer.replace("\r\n", "\n"))
            });
            fs::write(&self.tape, written.collect::<String>()).unwrap();
        }
    }
}

/// The token of the lease that a request acquires: its fourth value.
fn lease_token(request: &str) -> Option<&str> {
    let (_, values) = request.split_once("INSERT INTO highwater_leases")?;
    let (_, values) = values.split_once("VALUES (")?;
    let token = values.split(", ").nth(3)?;
    Some(token.trim_matches('\''))
}

/// A request without its variable parts: the token and the owner of its lease.
fn same_for_all(request: &str, token: &str) -> String {
    let whole = match lease_token(request) {
        Some(_) => request.split(token).next().unwrap_or_default(),
        None => request,
    };
    whole.replace(token, UNKNOWN_TOKEN)
}

/// A separate schema for each tape, and a shared one for the shares of a plan.
fn schema_of(tape: &str) -> String {
    let name = tape.trim_end_matches(|c: char| c == '-' || c.is_ascii_digit());
    name.replace('-', "_")
}

fn read(tape: &str) -> Vec<Exchange> {
    let exchanges = tape.split(REQUEST).skip(1).map(|exchange| {
        let (request, answer) = exchange.split_once(RESPONSE).unwrap();
        let answer = answer.strip_suffix('\n').unwrap();
        let (head, body) = answer.split_once("\n\n").unwrap();
        Exchange {
            request: request.to_owned(),
            answer: format!("{}\r\n\r\n{body}", head.replace('\n', "\r\n")),
        }
    });
    exchanges.collect()
}

/// The outcome of a request.
enum Played {
    Answer(String),
    Forward(String),
    Nothing,
}

impl Played {
    /// A response with this body.
    fn answer(body: &str) -> Self {
        let length = body.len();
        Self::Answer(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"))
    }
}

impl State {
    /// A try of the audit begins with a mark in the table list, and ends with the table.
    fn note_trying(&mut self, request: &str) {
        self.trying |= request.contains("'canary of ");
        self.trying &= !request.contains("DROP TABLE");
    }

    /// The response to a heartbeat: the lease exists.
    fn beat(&self, request: &str) -> Played {
        let is_read = |exchange: &&Exchange| {
            exchange.request == request && exchange.answer.contains(&self.recorded_token)
        };
        let read = self.tape.iter().find(is_read);
        let answer = match read {
            Some(read) => read.answer.replace(&self.recorded_token, &self.token),
            None => return Played::answer(DONE),
        };
        Played::Answer(answer)
    }

    /// The response to a stored insert; absent for another request.
    fn stored(&self, request: &str, is_insert: bool) -> Option<Played> {
        if !self.script.stores_all
            || !request.contains("INSERT INTO")
            || lease_token(request).is_some()
        {
            return None;
        }
        let rows = request.matches("],[").count() + 1;
        let results = vec![r#"{"rowcount":1}"#; rows].join(",");
        let bulk = format!(r#"{{"cols":[],"duration":1.0,"results":[{results}]}}"#);
        Some(Played::answer(if is_insert { &bulk } else { DONE }))
    }

    fn play(&mut self, request: &str, is_insert: bool) -> Played {
        if is_insert {
            self.inserts += 1;
            if self.script.dies_at_insert == Some(self.inserts) {
                self.dead = true;
                for stream in &self.open {
                    drop(stream.shutdown(Shutdown::Both));
                }
                return Played::Nothing;
            }
        }
        if let Some(live) = &self.live {
            if let Some((_, statement)) =
                self.script.before_insert.filter(|(number, _)| is_insert && *number == self.inserts)
            {
                let statement = statement.replace("SCHEMA", &self.schema);
                let body = format!("{{\"stmt\":\"{}\"}}", statement.replace('"', "\\\""));
                let mut stream = TcpStream::connect(live).unwrap();
                let answer = ask(&mut stream, &head_of(&body), &body).unwrap();
                assert!(answer.starts_with("HTTP/1.1 200"), "{statement}: {answer}");
            }
            return Played::Forward(live.clone());
        }
        if let Some(stored) = self.stored(request, is_insert) {
            return stored;
        }
        if let Some(token) = lease_token(request) {
            token.clone_into(&mut self.token);
        }
        let (recorded, token) = (self.recorded_token.clone(), self.token.clone());
        let expected = same_for_all(request, &token);
        let same = |exchange: &Exchange| same_for_all(&exchange.request, &recorded) == expected;
        let (played, rest) = self.tape.split_at(self.position);
        // Requests beyond the recorded number get the last response again.
        let next = rest.iter().position(same).map(|at| self.position + at);
        let Some(at) = next.or_else(|| played.iter().rposition(same)) else {
            self.wrong.push(format!("not on the tape: {request}"));
            return Played::Nothing;
        };
        self.position = self.position.max(at + 1);
        Played::Answer(self.tape[at].answer.replace(&recorded, &token))
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let Ok(clone) = stream.try_clone() else {
        return;
    };
    state.lock().unwrap().open.push(clone);
    let mut upstream: Option<TcpStream> = None;
    let mut is_heart = false;
    let pauses = !state.lock().unwrap().script.stores_all;
    while let Some((head, request)) = message(&mut stream) {
        let is_insert = {
            let mut state = state.lock().unwrap();
            state.note_trying(&request);
            request.contains("\"bulk_args\"") && !state.trying
        };
        // A heartbeat comes when it comes, and is on no tape.
        is_heart |= request.contains("UPDATE highwater_leases");
        if is_insert && pauses {
            thread::sleep(INSERT_PAUSE);
        }
        let played = match state.lock() {
            Ok(state) if is_heart && state.live.is_none() => state.beat(&request),
            Ok(mut state) => state.play(&request, is_insert),
            Err(_) => break,
        };
        let answer = match played {
            Played::Answer(answer) => answer,
            Played::Nothing => break,
            Played::Forward(live) => {
                let upstream = upstream.get_or_insert_with(|| TcpStream::connect(&live).unwrap());
                let Some(answer) = ask(upstream, &head, &request) else {
                    break;
                };
                if !is_heart {
                    state.lock().unwrap().tape.push(Exchange { request, answer: answer.clone() });
                }
                answer
            }
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            break;
        }
    }
    drop(stream.shutdown(Shutdown::Both));
    if state.lock().unwrap().dead
        && let Ok(address) = stream.local_addr()
    {
        // Wakes the accepting thread, so that it closes the port.
        drop(TcpStream::connect(address));
    }
}

fn head_of(body: &str) -> String {
    format!(
        "POST /_sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    )
}

/// Sends a message and reads its response.
fn ask(stream: &mut TcpStream, head: &str, body: &str) -> Option<String> {
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let (head, body) = message(stream)?;
    Some(format!("{head}{body}"))
}

/// Head and body of the next request or response; absent at the end, or if it is not HTTP.
fn message(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
        if !b"PH".contains(&head[0]) {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    })?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).ok()?))
}
