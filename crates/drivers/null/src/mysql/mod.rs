//! The server's side of the MySQL wire protocol: every statement succeeds.
//!
//! Packets are processed as they arrive, in pieces of any size; their content is skipped, except for the rows that a
//! success must count. Source: MariaDB documentation, "Client/Server Protocol". Must not store the rows of an insert.

use std::collections::HashMap;

use memchr::memchr_iter;

use super::framing::Messages;
use answer::{Answer, greet};
use statement::{Effect, Statement};
use value_rows::ValueRows;

mod answer;
mod statement;
mod value_rows;

/// Length and sequence number.
const HEADER: usize = 4;
/// Payload of a packet that continues in the next one.
const PAYLOAD_MAX: usize = 0xff_ffff;
/// Bytes kept from the start of a command: everything other than rows is shorter.
const COMMAND_BYTES: usize = 64 * 1024;

/// The current input.
#[derive(Debug, Default)]
enum Stage {
    /// The reply to the greeting.
    #[default]
    Login,
    /// A command; `None` until its start has arrived.
    Command(Option<Command>),
    /// The lines of LOAD DATA; this many rows have arrived.
    Lines(u64),
}

/// A command, with its kind of response.
#[derive(Debug)]
enum Command {
    /// INSERT with its rows in the text.
    Insert(ValueRows),
    /// Any other statement, and whether it was prepared.
    Execute(Effect, bool),
    Prepare(Statement),
    Close(u32),
    Ping,
    Quit,
    /// A command that Highwater's driver does not send.
    Other,
}

/// One connection.
#[derive(Default)]
pub(super) struct Server {
    stage: Stage,
    sequence: u8,
    /// The current packet is empty; it continues in the next one.
    is_empty: bool,
    goes_on: bool,
    statements: HashMap<u32, Effect>,
    last_statement: u32,
}

impl Server {
    fn command(&self, beginning: &[u8]) -> Command {
        let Some((kind, body)) = beginning.split_first() else {
            return Command::Other;
        };
        let number = || body.first_chunk().map_or(0, |id| u32::from_le_bytes(*id));
        match *kind {
            0x01 => Command::Quit,
            0x03 => match statement::values(body) {
                Some(values) => Command::Insert(ValueRows::of(values)),
                None => Command::Execute(statement::effect(body), false),
            },
            0x0e => Command::Ping,
            0x16 => Command::Prepare(Statement::read(body)),
            0x17 => match self.statements.get(&number()) {
                Some(effect) => Command::Execute(*effect, true),
                None => Command::Other,
            },
            0x19 => Command::Close(number()),
            _ => Command::Other,
        }
    }

    /// The packet is complete, and is the last one; false if the connection ends.
    fn answer(&mut self, out: &mut Vec<u8>) -> bool {
        let mut answer = Answer::after(self.sequence, out);
        let stage = std::mem::replace(&mut self.stage, Stage::Command(None));
        let command = match stage {
            Stage::Login => {
                answer.done(0);
                return true;
            }
            Stage::Lines(rows) if self.is_empty => {
                answer.done(rows);
                return true;
            }
            lines @ Stage::Lines(_) => {
                self.stage = lines;
                return true;
            }
            Stage::Command(command) => command.unwrap_or(Command::Other),
        };
        match command {
            Command::Insert(rows) => answer.done(rows.rows),
            Command::Execute(Effect::Applied(rows), _) => answer.done(rows),
            Command::Execute(Effect::Answered, false) => answer.text_row(&["1"]),
            Command::Execute(Effect::Answered, true) => answer.binary_row(1),
            Command::Execute(Effect::Facts, _) => answer.text_row(&statement::FACTS),
            Command::Execute(Effect::AsksForLines, _) => {
                answer.ask_for_lines();
                self.stage = Stage::Lines(0);
            }
            Command::Prepare(statement) => {
                self.last_statement = self.last_statement.wrapping_add(1);
                let number = self.last_statement;
                let columns = u16::from(statement.effect == Effect::Answered);
                answer.prepared(number, columns, statement.parameters);
                self.statements.insert(number, statement.effect);
            }
            Command::Close(number) => {
                self.statements.remove(&number);
            }
            Command::Ping => answer.done(0),
            Command::Quit | Command::Other => return false,
        }
        true
    }
}

impl Messages for Server {
    fn greet(&mut self, answer: &mut Vec<u8>) {
        greet(answer);
    }

    fn head_bytes(&self) -> usize {
        HEADER
    }

    fn head(&mut self, head: &[u8]) -> Option<(usize, usize)> {
        let [a, b, c, sequence] = *head.first_chunk::<HEADER>()?;
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        let continues = std::mem::replace(&mut self.goes_on, length == PAYLOAD_MAX);
        self.sequence = sequence;
        // The packet after a full one may be empty.
        self.is_empty = length == 0 && !continues;
        let needed = match self.stage {
            Stage::Command(_) if !continues => length.min(COMMAND_BYTES),
            _ => 0,
        };
        Some((needed, length))
    }

    fn body(&mut self, kept: &[u8], _answer: &mut Vec<u8>) -> bool {
        if let Stage::Command(None) = self.stage {
            self.stage = Stage::Command(Some(self.command(kept)));
        }
        true
    }

    fn pass(&mut self, piece: &[u8]) {
        match &mut self.stage {
            Stage::Command(Some(Command::Insert(rows))) => rows.take(piece),
            // A line end within a value is escaped.
            Stage::Lines(rows) => *rows += memchr_iter(b'\n', piece).count() as u64,
            Stage::Login | Stage::Command(_) => {}
        }
    }

    fn end(&mut self, answer: &mut Vec<u8>) -> bool {
        self.goes_on || self.answer(answer)
    }
}
