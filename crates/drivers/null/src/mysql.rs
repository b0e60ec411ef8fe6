//! The server's side of the MySQL wire protocol: every statement succeeds.
//!
//! Packets are processed as they arrive, in pieces of any size; their content is skipped, except for the rows that a
//! success must count. Source: MariaDB documentation, "Client/Server Protocol". Must not store the rows of an insert.

use std::collections::HashMap;

use memchr::{memchr, memchr_iter, memchr2, memchr3, memmem};

use super::conversation::Messages;

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
            0x03 => match values(body) {
                Some(values) => Command::Insert(ValueRows::from_beginning(values)),
                None => Command::Execute(effect(body), false),
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
            Command::Execute(Effect::Facts, _) => answer.text_row(&FACTS),
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

/// The end of a response without rows: the session's state, which commits each statement.
const AUTOCOMMIT: [u8; 2] = [2, 0];
/// Server capabilities: found rows, long flags, a database, local files, protocol 4.1, transactions, the hashed
/// password, several results, methods by name, attributes, and passwords of any length. No TLS, no compression.
const CAPABILITIES: u32 = 0x003e_a28e;
/// The collation ids of utf8mb4 and of binary data.
const UTF8MB4: u8 = 45;
const BINARY: u8 = 63;
/// Column types.
const LONGLONG: u8 = 8;
const VAR_STRING: u8 = 253;
/// Used for hashing the password; any password is accepted.
const NONCE: &[u8] = b"highwater's own sink";

/// The packets of a response; their sequence numbers follow that of the command.
struct Answer<'o> {
    out: &'o mut Vec<u8>,
    sequence: u8,
}

impl<'o> Answer<'o> {
    /// After a packet of the client with that sequence number.
    fn after(sequence: u8, out: &'o mut Vec<u8>) -> Self {
        Self { out, sequence }
    }

    fn packet(&mut self, parts: &[&[u8]]) {
        self.sequence = self.sequence.wrapping_add(1);
        put(self.out, self.sequence, parts);
    }

    /// Success; this many rows were written.
    fn done(&mut self, rows: u64) {
        // A number of eight bytes; no insert id, and no warnings.
        self.packet(&[&[0, 0xfe], &rows.to_le_bytes(), &[0], &AUTOCOMMIT, &[0, 0]]);
    }

    /// One row of these texts, each shorter than 251 bytes.
    fn text_row(&mut self, values: &[&str]) {
        self.head(values.len(), VAR_STRING);
        let mut row = Vec::new();
        for value in values {
            row.push(u8::try_from(value.len()).unwrap_or(0));
            row.extend_from_slice(value.as_bytes());
        }
        self.packet(&[&row]);
        self.end_of_packets();
    }

    /// One row with this number, as the result of a prepared statement.
    fn binary_row(&mut self, value: i64) {
        self.head(1, LONGLONG);
        // It begins with a zero, and the null bitmap.
        self.packet(&[&[0, 0], &value.to_le_bytes()]);
        self.end_of_packets();
    }

    fn head(&mut self, columns: usize, kind: u8) {
        self.packet(&[&[u8::try_from(columns).unwrap_or(0)]]);
        self.columns(columns, kind);
    }

    fn columns(&mut self, count: usize, kind: u8) {
        for _ in 0..count {
            self.packet(&[
                // Catalog; schema, table, and original table; name and original name; 12 bytes follow.
                b"\x03def\0\0\0\x01n\0\x0c",
                &[BINARY, 0, 20, 0, 0, 0, kind],
                &[0; 5],
            ]);
        }
        if count > 0 {
            self.end_of_packets();
        }
    }

    fn end_of_packets(&mut self) {
        self.packet(&[&[0xfe, 0, 0], &AUTOCOMMIT]);
    }

    /// A statement was prepared with this id.
    fn prepared(&mut self, number: u32, columns: u16, parameters: u16) {
        self.packet(&[
            &[0],
            &number.to_le_bytes(),
            &columns.to_le_bytes(),
            &parameters.to_le_bytes(),
            &[0, 0, 0],
        ]);
        self.columns(usize::from(parameters), VAR_STRING);
        self.columns(usize::from(columns), LONGLONG);
    }

    /// Requests the lines of LOAD DATA.
    fn ask_for_lines(&mut self) {
        self.packet(&[b"\xfbhighwater"]);
    }
}

/// Writes the server's greeting.
fn greet(out: &mut Vec<u8>) {
    let [a, b, c, d] = CAPABILITIES.to_le_bytes();
    let (first, second) = NONCE.split_at(8);
    let length = u8::try_from(NONCE.len() + 1).unwrap_or(0);
    let version = [FACTS[0].as_bytes(), &[0]].concat();
    put(
        out,
        0,
        &[
            &[10],
            &version,
            // The connection id.
            &[1, 0, 0, 0],
            first,
            &[0, a, b, UTF8MB4],
            &AUTOCOMMIT,
            &[c, d, length],
            &[0; 10],
            second,
            b"\0mysql_native_password\0",
        ],
    );
}

/// A packet of these parts.
fn put(out: &mut Vec<u8>, sequence: u8, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let [a, b, c, ..] = length.to_le_bytes();
    out.extend_from_slice(&[a, b, c, sequence]);
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Rows seen so far.
#[derive(Debug, Default)]
struct ValueRows {
    /// Rows begun.
    rows: u64,
    place: Place,
}

/// Position at the end of the last piece.
#[derive(Debug, Default, Clone, Copy)]
enum Place {
    /// Before a row, or between two.
    #[default]
    Between,
    /// Within this many additional parentheses of a row.
    Row(u32),
    /// In a text there.
    Text(u32),
    /// After a backslash there.
    Escaped(u32),
    /// After the last row.
    Over,
}

impl ValueRows {
    /// From the start of a text.
    fn from_beginning(beginning: &[u8]) -> Self {
        let mut rows = Self::default();
        rows.take(beginning);
        rows
    }

    /// The next piece.
    fn take(&mut self, mut piece: &[u8]) {
        while let Some(first) = piece.first() {
            let (next, passed) = match self.place {
                Place::Between => {
                    let next = match first {
                        b'(' => {
                            self.rows += 1;
                            Place::Row(0)
                        }
                        b',' | b' ' | b'\n' | b'\r' | b'\t' => Place::Between,
                        _ => Place::Over,
                    };
                    (next, 1)
                }
                Place::Row(depth) => match memchr3(b'(', b')', b'\'', piece) {
                    Some(at) => {
                        let next = match piece.get(at) {
                            Some(b'(') => Place::Row(depth.saturating_add(1)),
                            Some(b')') => depth.checked_sub(1).map_or(Place::Between, Place::Row),
                            _ => Place::Text(depth),
                        };
                        (next, at + 1)
                    }
                    None => return,
                },
                Place::Text(depth) => match memchr2(b'\'', b'\\', piece) {
                    Some(at) if piece.get(at) == Some(&b'\\') => (Place::Escaped(depth), at + 1),
                    // The second quote of a doubled one starts a text again.
                    Some(at) => (Place::Row(depth), at + 1),
                    None => return,
                },
                Place::Escaped(depth) => (Place::Text(depth), 1),
                Place::Over => return,
            };
            self.place = next;
            piece = piece.get(passed..).unwrap_or_default();
        }
    }
}

/// The response to a driver's query for version, product, and maximum bytes of a statement: the default of the
/// simulated server.
const FACTS: [&str; 3] = ["10.11.0-MariaDB", "Highwater's own sink", "16777216"];
/// The setting that identifies that query.
const FACTS_SETTING: &str = "@@max_allowed_packet";

/// The result of executing a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// This many rows were written.
    Applied(u64),
    /// One row of one column.
    Answered,
    /// One row of [`FACTS`].
    Facts,
    /// The rows follow.
    AsksForLines,
}

/// A statement to prepare.
#[derive(Debug, PartialEq, Eq)]
struct Statement {
    effect: Effect,
    /// Number of values in its execution.
    parameters: u16,
}

impl Statement {
    /// Parses its text.
    fn read(sql: &[u8]) -> Self {
        let effect = match values(sql) {
            Some(rows) => Effect::Applied(ValueRows::from_beginning(rows).rows),
            None => effect(sql),
        };
        Self { effect, parameters: placeholders(sql) }
    }
}

/// The effect of a statement without rows in its text.
fn effect(sql: &[u8]) -> Effect {
    let is = |words: &[&str]| words.iter().any(|word| begins_with(sql, word));
    if is(&["SELECT", "WITH", "SHOW", "("]) {
        let text = String::from_utf8_lossy(sql);
        return if text.contains(FACTS_SETTING) { Effect::Facts } else { Effect::Answered };
    }
    if is(&["LOAD DATA"]) { Effect::AsksForLines } else { Effect::Applied(0) }
}

/// The text after `VALUES` in a statement that writes rows.
fn values(sql: &[u8]) -> Option<&[u8]> {
    if !["INSERT", "REPLACE"].iter().any(|word| begins_with(sql, word)) {
        return None;
    }
    let mut quoted = false;
    for (at, byte) in sql.iter().enumerate() {
        match byte {
            b'`' => quoted = !quoted,
            b' ' | b')' | b'\n' if !quoted => {
                let word = sql.get(at + 1..).unwrap_or_default();
                let rows = word.get("VALUES".len()..).unwrap_or_default();
                let ends = rows.first().is_some_and(|next| b" (\n".contains(next));
                if ends && begins_exactly(word, "VALUES") {
                    return Some(rows);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a statement begins with that word.
fn begins_with(sql: &[u8], word: &str) -> bool {
    begins_exactly(sql.trim_ascii_start(), word)
}

fn begins_exactly(sql: &[u8], word: &str) -> bool {
    let first = sql.get(..word.len());
    first.is_some_and(|first| first.eq_ignore_ascii_case(word.as_bytes()))
}

/// Number of question marks outside texts, quoted names, and comments.
fn placeholders(sql: &[u8]) -> u16 {
    let mut count: u16 = 0;
    let mut rest = sql;
    while let Some(first) = rest.first() {
        let length = match first {
            b'\'' | b'"' | b'`' => quoted(rest, *first),
            b'#' => line(rest),
            b'-' if rest.starts_with(b"-- ") => line(rest),
            b'/' if rest.starts_with(b"/*") => {
                memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2)
            }
            b'?' => {
                count = count.saturating_add(1);
                1
            }
            _ => 1,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    count
}

/// Length in bytes of a quoted part, including both quotes. In a text, a backslash escapes the next byte.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate().skip(1) {
        match *byte {
            _ if escaped => escaped = false,
            b'\\' if quote != b'`' => escaped = true,
            byte if byte == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length in bytes up to the end of the line.
fn line(rest: &[u8]) -> usize {
    memchr(b'\n', rest).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_row_is_the_content_of_outer_parentheses() {
        for (text, rows) in [
            ("(1)", 1),
            (" (1,'a'),\n(2,NULL)", 2),
            ("(1,'(,''(\\'(')", 1),
            ("(1,((2)),f(3)),(4)", 2),
            ("(?) ON DUPLICATE KEY UPDATE v = VALUES(v)", 1),
            ("('\\\\'),('x')", 2),
            ("", 0),
            ("SELECT (1)", 0),
        ] {
            assert_eq!(ValueRows::from_beginning(text.as_bytes()).rows, rows, "{text}");
        }
    }

    proptest! {
        #[test]
        fn rows_are_counted_wherever_the_text_is_cut(
            texts in proptest::collection::vec("[a()'\\\\,]{0,8}", 0..20),
            piece in 1_usize..9,
        ) {
            let row = |text: &String| {
                let escaped = text.replace('\\', "\\\\").replace('\'', "\\'");
                format!("(1,'{escaped}',(2))")
            };
            let all: Vec<String> = texts.iter().map(row).collect();
            let mut seen = ValueRows::default();
            for piece in all.join(",").as_bytes().chunks(piece) {
                seen.take(piece);
            }
            prop_assert_eq!(seen.rows, texts.len() as u64);
        }
    }

    #[test]
    fn a_statement_is_known_by_its_first_words_and_its_rows() {
        for (sql, effect, parameters) in [
            ("SELECT ?, '?', `?` -- ?", Effect::Answered, 1),
            ("\n with x AS (SELECT 1) SELECT 2", Effect::Answered, 0),
            ("INSERT INTO `values (` (`a?`, `b`) VALUES (?,?)", Effect::Applied(1), 2),
            (
                "insert into kv (k, v)\nvalues (?, ?), (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)",
                Effect::Applied(2),
                4,
            ),
            ("INSERT INTO t (a, values_b) VALUES (1, 2)", Effect::Applied(1), 0),
            ("REPLACE INTO t VALUES (1)", Effect::Applied(1), 0),
            ("INSERT INTO t SELECT ?", Effect::Applied(0), 1),
            ("UPDATE t SET a = ? /* ? */", Effect::Applied(0), 1),
            ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", Effect::AsksForLines, 0),
            ("SELECT version(), @@max_allowed_packet", Effect::Facts, 0),
            ("SET autocommit = 0", Effect::Applied(0), 0),
            ("", Effect::Applied(0), 0),
        ] {
            let expected = Statement { effect, parameters };
            assert_eq!(Statement::read(sql.as_bytes()), expected, "{sql}");
        }
    }
}
