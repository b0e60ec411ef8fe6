//! A proxy on loopback that reads PostgreSQL's wire protocol, and damages one batch.
//!
//! It knows only where messages, requests, and responses end, and which requests insert rows. Must not know the audit's
//! expected findings.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// The table whose batches are counted.
const TABLE: &str = "meters";
/// Prefix of its rows' texts, and the distance of their last digit.
const TEXT: &[u8] = b"note ";
const LAST_DIGIT: usize = 10;
/// Codes at the position of the protocol version in a first message.
const CANCEL: u32 = 80_877_102;
const ENCRYPT: u32 = 80_877_103;

/// Number of the first batch before the load begins: it is never damaged.
const BEFORE: u64 = 1 << 32;

/// What happens to a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireFault {
    /// Answered like the previous one, and never forwarded.
    Swallowed,
    /// Answered before half of it was forwarded; then both connections end, with the next batch in flight.
    AnsweredThenLost,
    /// Answered before it was forwarded, which happens before the next one.
    AnsweredEarly,
    /// Forwarded after its client has timed out and all others are answered.
    AppliedLate,
    /// Forwarded twice, and answered once.
    Duplicated,
    /// The last digit of a text is changed.
    ByteChanged,
    /// Both connections end in the middle of one of its messages.
    Cut,
    /// The row count in the response is one too low.
    CountForged,
}

impl WireFault {
    pub(crate) const ALL: [Self; 8] = [
        Self::Swallowed,
        Self::AnsweredThenLost,
        Self::AnsweredEarly,
        Self::AppliedLate,
        Self::Duplicated,
        Self::ByteChanged,
        Self::Cut,
        Self::CountForged,
    ];
}

/// The fault, and its batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned {
    pub(crate) fault: WireFault,
    /// In order of arrival, from 0; not the first one.
    pub(crate) batch: u64,
    /// Number of batches of the run.
    pub(crate) batches: u64,
}

/// The proxy; it ends when dropped.
pub(crate) struct WireProxy {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    planned: Planned,
    server: u16,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Batches received.
    arrived: u64,
    /// Batches whose response was returned.
    answered: u64,
    /// The last of those responses.
    answer: Vec<u8>,
    ended: bool,
}

impl WireProxy {
    /// Starts in front of a server at a port of this machine.
    pub(crate) fn start(server: u16, planned: Planned) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            planned,
            server,
            state: Mutex::new(State { arrived: BEFORE, ..State::default() }),
            changed: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&accepting);
                if shared.state.lock().unwrap().ended {
                    return;
                }
                // A conversation ends with either side, or with the fault.
                thread::spawn(move || drop(converse(client, &shared)));
            }
        });
        Self { port, shared }
    }

    /// Starts counting batches: the canary before the load is not counted.
    pub(crate) fn beginner(&self) -> Box<dyn FnOnce() + Send> {
        let shared = Arc::clone(&self.shared);
        Box::new(move || {
            let mut state = shared.state.lock().unwrap();
            (state.arrived, state.answered) = (0, 0);
        })
    }

    /// Batches received.
    pub(crate) fn arrived(&self) -> u64 {
        self.shared.state.lock().unwrap().arrived
    }
}

impl Drop for WireProxy {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap().ended = true;
        self.shared.changed.notify_all();
        // Wakes the accepting thread.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

/// The messages that a client sends before it waits for a response.
#[derive(Default)]
struct Request {
    bytes: Vec<u8>,
    /// Start of each message.
    messages: Vec<usize>,
    is_batch: bool,
    ends_conversation: bool,
}

impl Request {
    /// The middle of the middle message.
    fn middle(&self) -> usize {
        let half = self.bytes.len() / 2;
        let behind = self.messages.partition_point(|start| *start <= half);
        let end = self.messages.get(behind).copied();
        self.messages[behind - 1].midpoint(end.unwrap_or(self.bytes.len()))
    }
}

struct Conversation<'a> {
    client: TcpStream,
    server: TcpStream,
    shared: &'a Shared,
    /// Names of prepared statements that insert into the table.
    inserts: BTreeSet<Vec<u8>>,
    /// A batch that was answered but not yet forwarded.
    held: Option<Request>,
}

fn converse(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", shared.server))?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    let first = loop {
        let first = read_first(&mut client)?;
        if code(&first) != ENCRYPT {
            break first;
        }
        client.write_all(b"N")?;
    };
    let mut conversation =
        Conversation { client, server, shared, inserts: BTreeSet::new(), held: None };
    conversation.server.write_all(&first)?;
    if code(&first) == CANCEL {
        return Ok(());
    }
    conversation.pass_answer()?;
    loop {
        let request = conversation.read_request()?;
        if request.is_batch {
            if !conversation.pass_batch(request)? {
                return Ok(());
            }
        } else {
            conversation.server.write_all(&request.bytes)?;
            if request.ends_conversation {
                return Ok(());
            }
            conversation.pass_answer()?;
        }
    }
}

impl Conversation<'_> {
    fn read_request(&mut self) -> io::Result<Request> {
        let mut request = Request::default();
        loop {
            let start = request.bytes.len();
            let tag = read_message(&mut self.client, &mut request.bytes)?;
            request.messages.push(start);
            let body = &request.bytes[start + 5..];
            let ends = match tag {
                b'P' => {
                    let (name, rest) = split_text(body);
                    let sql = String::from_utf8_lossy(split_text(rest).0);
                    if sql.starts_with("INSERT INTO") && sql.contains(TABLE) {
                        self.inserts.insert(name.to_vec());
                    }
                    false
                }
                b'B' => {
                    let statement = split_text(split_text(body).1).0;
                    request.is_batch |= self.inserts.contains(statement);
                    false
                }
                b'Q' => {
                    let sql = String::from_utf8_lossy(split_text(body).0);
                    let copies = sql.starts_with("COPY") && sql.contains("FROM STDIN");
                    request.is_batch = copies && sql.contains(TABLE);
                    !copies
                }
                b'S' | b'c' => true,
                b'X' => {
                    request.ends_conversation = true;
                    true
                }
                _ => false,
            };
            if ends {
                return Ok(request);
            }
        }
    }

    /// Forwards a batch, or applies the fault to it; false if the conversation ends with it.
    fn pass_batch(&mut self, mut request: Request) -> io::Result<bool> {
        if let Some(held) = self.held.take() {
            self.exchange(&held.bytes)?;
        }
        let (number, answer_before) = {
            let mut state = self.shared.state.lock().unwrap();
            state.arrived += 1;
            (state.arrived - 1, state.answer.clone())
        };
        let fault = self.shared.planned.fault;
        if number != self.shared.planned.batch {
            let answer = self.exchange(&request.bytes)?;
            return self.answer(answer);
        }
        match fault {
            WireFault::Swallowed => self.answer(answer_before),
            WireFault::AnsweredThenLost => {
                self.server.write_all(&request.bytes[..request.middle()])?;
                self.answer(answer_before)?;
                self.read_request()?;
                self.shared.state.lock().unwrap().arrived += 1;
                Ok(false)
            }
            WireFault::AnsweredEarly => {
                self.held = Some(request);
                self.answer(answer_before)
            }
            WireFault::AppliedLate => {
                self.wait_until_given_up();
                self.exchange(&request.bytes)?;
                Ok(false)
            }
            WireFault::Duplicated => {
                self.exchange(&request.bytes)?;
                let answer = self.exchange(&request.bytes)?;
                self.answer(answer)
            }
            WireFault::ByteChanged => {
                let texts = request.bytes.windows(TEXT.len());
                let text = texts.into_iter().position(|bytes| bytes == TEXT).unwrap();
                let digit = &mut request.bytes[text + LAST_DIGIT];
                assert!(digit.is_ascii_digit(), "{digit}");
                *digit = if *digit == b'1' { b'2' } else { b'1' };
                let answer = self.exchange(&request.bytes)?;
                self.answer(answer)
            }
            WireFault::Cut => {
                self.server.write_all(&request.bytes[..request.middle()])?;
                Ok(false)
            }
            WireFault::CountForged => {
                let answer = self.exchange(&request.bytes)?;
                self.answer(with_one_row_fewer(&answer))
            }
        }
    }

    /// Waits until the client has closed its side, and all other batches are answered.
    fn wait_until_given_up(&mut self) {
        drop(self.client.read(&mut [0]));
        let others = self.shared.planned.batches - 1;
        let state = self.shared.state.lock().unwrap();
        let waits = |state: &mut State| state.answered < others && !state.ended;
        drop(self.shared.changed.wait_while(state, waits).unwrap());
    }

    /// Sends to the server; returns its complete response.
    fn exchange(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        self.server.write_all(request)?;
        read_answer(&mut self.server)
    }

    fn pass_answer(&mut self) -> io::Result<()> {
        let answer = read_answer(&mut self.server)?;
        self.client.write_all(&answer)
    }

    /// Answers a batch.
    fn answer(&mut self, answer: Vec<u8>) -> io::Result<bool> {
        self.client.write_all(&answer)?;
        let mut state = self.shared.state.lock().unwrap();
        state.answered += 1;
        state.answer = answer;
        self.shared.changed.notify_all();
        Ok(true)
    }
}

/// Up to and including the message that the server is ready.
fn read_answer(server: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    while read_message(server, &mut answer)? != b'Z' {}
    Ok(answer)
}

/// Appends a message; returns its tag.
fn read_message(from: &mut TcpStream, to: &mut Vec<u8>) -> io::Result<u8> {
    let start = to.len();
    to.resize(start + 5, 0);
    from.read_exact(&mut to[start..])?;
    let length = u32::from_be_bytes(to[start + 1..].try_into().unwrap());
    to.resize(start + 1 + usize::try_from(length).unwrap(), 0);
    from.read_exact(&mut to[start + 5..])?;
    Ok(to[start])
}

/// A client's message without a tag.
fn read_first(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut first = vec![0; 4];
    client.read_exact(&mut first)?;
    let length = u32::from_be_bytes(first[..].try_into().unwrap());
    first.resize(usize::try_from(length).unwrap(), 0);
    client.read_exact(&mut first[4..])?;
    Ok(first)
}

fn code(first: &[u8]) -> u32 {
    u32::from_be_bytes(first[4..8].try_into().unwrap())
}

/// A zero-terminated text, and the rest.
fn split_text(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap();
    (&bytes[..end], &bytes[end + 1..])
}

/// The first row count in a response, decremented; its length is unchanged.
fn with_one_row_fewer(answer: &[u8]) -> Vec<u8> {
    let mut forged = answer.to_vec();
    let mut start = 0;
    while answer[start] != b'C' {
        let length = u32::from_be_bytes(answer[start + 1..start + 5].try_into().unwrap());
        start += 1 + usize::try_from(length).unwrap();
    }
    let tag = split_text(&answer[start + 5..]).0;
    let text = std::str::from_utf8(tag).unwrap();
    let count = text.rsplit(' ').next().unwrap();
    let fewer = count.parse::<u64>().unwrap() - 1;
    let end = start + 5 + tag.len();
    let digits = format!("{fewer:0width$}", width = count.len());
    forged[end - count.len()..end].copy_from_slice(digits.as_bytes());
    forged
}
