//! The server's side of the PostgreSQL wire protocol, version 3: every statement succeeds.
//!
//! Messages are processed as they arrive, in pieces of any size; their content is skipped, except for the counts
//! required for a success, and the rows of a COPY. Source: PostgreSQL documentation, "Message Flow".

use std::collections::HashMap;
use std::sync::Arc;

use highwater_model::op::ColumnType;

use super::conversation::{Messages, WorkloadTables};

/// Code of a request for TLS, and of one for GSSAPI encryption.
const ENCRYPTION_REQUESTS: [u32; 2] = [80_877_103, 80_877_104];
/// Bytes read of a Bind: the statement's name, and the size of the first array.
const BIND_BYTES: usize = 512;
/// Maximum bytes of a message that is kept.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The version reported at start-up.
const SERVER_VERSION: &str = "16.0";
/// Type of an undeclared parameter: text.
const TEXT: u32 = 25;

/// The result of executing a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Effect {
    /// This many rows were inserted.
    Inserted(u64),
    /// The number of inserted rows is the size of the first array.
    InsertedArray,
    /// One row of one column.
    Answered,
    /// Neither rows nor a count.
    #[default]
    Done,
}

/// A prepared statement.
#[derive(Debug)]
struct Statement {
    effect: Effect,
    /// Types of its parameters.
    types: Vec<u32>,
}

/// One connection.
#[derive(Default)]
pub(super) struct Server {
    tables: Arc<WorkloadTables>,
    started: bool,
    tag: u8,
    statements: HashMap<Vec<u8>, Statement>,
    bound: Effect,
    copy: Option<CopyRows>,
}

impl Server {
    pub(super) fn new(tables: Arc<WorkloadTables>) -> Self {
        Self { tables, ..Self::default() }
    }

    fn start(&mut self, body: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(code) = body.first_chunk() else {
            return false;
        };
        let code = u32::from_be_bytes(*code);
        if ENCRYPTION_REQUESTS.contains(&code) {
            out.push(b'N');
            return true;
        }
        // Anything but version 3 is a cancel request, or invalid.
        if code >> 16 != 3 {
            return false;
        }
        self.started = true;
        put(out, b'R', &[&0_u32.to_be_bytes()]);
        for (name, value) in [
            ("server_version", SERVER_VERSION),
            ("client_encoding", "UTF8"),
            ("integer_datetimes", "on"),
        ] {
            put(out, b'S', &[name.as_bytes(), &[0], value.as_bytes(), &[0]]);
        }
        put(out, b'K', &[&[0; 8]]);
        ready(out);
        true
    }

    fn message(&mut self, body: &[u8], out: &mut Vec<u8>) -> bool {
        match self.tag {
            b'Q' => self.query(body, out),
            b'P' => {
                self.parse(body);
                put(out, b'1', &[]);
            }
            b'B' => {
                self.bound = self.bind(body);
                put(out, b'2', &[]);
            }
            b'D' => self.describe(body, out),
            b'E' => complete(out, self.bound),
            b'C' => {
                self.statements.remove(cstr(body.get(1..).unwrap_or_default()).0);
                put(out, b'3', &[]);
            }
            b'S' => ready(out),
            b'c' => {
                let rows = self.copy.take().map_or(0, |copy| copy.rows);
                put(out, b'C', &[format!("COPY {rows}\0").as_bytes()]);
                ready(out);
            }
            b'X' => return false,
            // COPY data are counted as they arrive; Flush requests data that are sent anyway.
            _ => {}
        }
        true
    }

    /// A simple query: the load uses it for COPY.
    fn query(&mut self, body: &[u8], out: &mut Vec<u8>) {
        let sql = String::from_utf8_lossy(cstr(body).0);
        if is(&sql, "COPY") {
            let binary = sql.to_ascii_uppercase().contains("BINARY");
            self.copy = Some(CopyRows::new(binary));
            let names = sql.split(')').next().unwrap_or_default();
            let columns = names.matches(',').count() + 1;
            let format = u8::from(binary);
            let count = u16::try_from(columns).unwrap_or(u16::MAX).to_be_bytes();
            let formats = [0, format].repeat(columns);
            put(out, b'G', &[&[format], &count, &formats]);
            return;
        }
        let effect = effect_of(&sql);
        if effect == Effect::Answered {
            put(out, b'T', &[ROW_DESCRIPTION]);
        }
        complete(out, effect);
        ready(out);
    }

    fn parse(&mut self, body: &[u8]) {
        let (name, rest) = cstr(body);
        let (sql, rest) = cstr(rest);
        let sql = String::from_utf8_lossy(sql);
        let (declared, _) = rest.get(2..).unwrap_or_default().as_chunks::<4>();
        let mut types: Vec<u32> = declared
            .iter()
            .map(|oid| match u32::from_be_bytes(*oid) {
                0 => TEXT,
                oid => oid,
            })
            .collect();
        if types.is_empty() && is(&sql, "INSERT") {
            types = self.column_types(&sql);
        }
        let effect = effect_of(&sql);
        self.statements.insert(name.to_vec(), Statement { effect, types });
    }

    /// Types of the parameters of an INSERT that declares none: those of the table's columns.
    fn column_types(&self, sql: &str) -> Vec<u32> {
        let tables = self.tables.get();
        let into = sql.split_once(" (").map_or(sql, |(into, _)| into);
        let named = |name: &str| into.ends_with(&format!(" \"{}\"", name.replace('"', "\"\"")));
        let found = tables.iter().find(|table| named(&table.name));
        let columns = found.map_or(&[][..], |table| &table.columns);
        columns.iter().map(|column| type_of(column.kind)).collect()
    }

    fn bind(&self, body: &[u8]) -> Effect {
        let (_, rest) = cstr(body);
        let (name, rest) = cstr(rest);
        match self.statements.get(name).map(|statement| statement.effect) {
            Some(Effect::InsertedArray) => Effect::Inserted(first_array(rest).unwrap_or(0)),
            Some(effect) => effect,
            None => Effect::Done,
        }
    }

    fn describe(&self, body: &[u8], out: &mut Vec<u8>) {
        let name = cstr(body.get(1..).unwrap_or_default()).0;
        let Some(statement) = self.statements.get(name) else {
            return put(out, b'n', &[]);
        };
        let count = u16::try_from(statement.types.len()).unwrap_or(u16::MAX);
        let types: Vec<u8> = statement.types.iter().flat_map(|oid| oid.to_be_bytes()).collect();
        put(out, b't', &[&count.to_be_bytes(), &types]);
        if statement.effect == Effect::Answered {
            put(out, b'T', &[ROW_DESCRIPTION]);
        } else {
            put(out, b'n', &[]);
        }
    }
}

impl Messages for Server {
    fn head_bytes(&self) -> usize {
        if self.started { 5 } else { 4 }
    }

    /// Tag and length, or the length alone before start-up.
    fn head(&mut self, head: &[u8]) -> Option<(usize, usize)> {
        let (tag, length) = head.split_last_chunk()?;
        self.tag = tag.first().copied().unwrap_or(0);
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(0);
        let body = length.checked_sub(4)?;
        let needed = match self.tag {
            b'd' => 0,
            b'B' => body.min(BIND_BYTES),
            _ => body,
        };
        (needed <= MESSAGE_BYTES_MAX).then_some((needed, body))
    }

    fn body(&mut self, kept: &[u8], answer: &mut Vec<u8>) -> bool {
        if self.started { self.message(kept, answer) } else { self.start(kept, answer) }
    }

    fn pass(&mut self, piece: &[u8]) {
        if let Some(copy) = self.copy.as_mut().filter(|_| self.tag == b'd') {
            copy.take(piece);
        }
    }
}

/// One column, an integer, as text.
const ROW_DESCRIPTION: &[u8] = b"\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";

/// Whether a statement begins with that word.
fn is(sql: &str, word: &str) -> bool {
    let first = sql.trim_start().get(..word.len());
    first.is_some_and(|first| first.eq_ignore_ascii_case(word))
}

fn effect_of(sql: &str) -> Effect {
    if is(sql, "INSERT") {
        return match sql.split_once(" VALUES ") {
            Some((_, rows)) => Effect::Inserted(rows.matches('(').count() as u64),
            None => Effect::InsertedArray,
        };
    }
    if is(sql, "SELECT") || is(sql, "WITH") { Effect::Answered } else { Effect::Done }
}

/// The type of a column, as a server describes it.
const fn type_of(kind: ColumnType) -> u32 {
    match kind {
        ColumnType::Integer => 23,
        ColumnType::Bigint => 20,
        ColumnType::Float => 701,
        ColumnType::Boolean => 16,
        ColumnType::Timestamp => 1184,
        ColumnType::Text => TEXT,
        ColumnType::Object => 3802,
    }
}

/// Number of elements in the first array of a Bind, starting at its formats.
fn first_array(rest: &[u8]) -> Option<u64> {
    let (formats, rest) = rest.split_first_chunk::<2>()?;
    let rest = rest.get(2 * usize::from(u16::from_be_bytes(*formats))..)?;
    // Number of parameters; length, dimensions, nulls, and type of the first one; then its size.
    let dimensions = u32::from_be_bytes(*rest.get(6..)?.first_chunk()?);
    if dimensions == 0 {
        return Some(0);
    }
    let size = u32::from_be_bytes(*rest.get(18..)?.first_chunk()?);
    Some(size.into())
}

/// Text up to a zero byte, and what follows it.
fn cstr(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    let (text, rest) = bytes.split_at(end);
    (text, rest.get(1..).unwrap_or_default())
}

fn complete(out: &mut Vec<u8>, effect: Effect) {
    match effect {
        Effect::Inserted(rows) => put(out, b'C', &[format!("INSERT 0 {rows}\0").as_bytes()]),
        Effect::Answered => {
            put(out, b'D', &[&[0, 1, 0, 0, 0, 1, b'1']]);
            put(out, b'C', &[b"SELECT 1\0"]);
        }
        Effect::InsertedArray | Effect::Done => put(out, b'C', &[b"DONE\0"]),
    }
}

fn ready(out: &mut Vec<u8>) {
    put(out, b'Z', &[b"I"]);
}

/// A message of these parts.
fn put(out: &mut Vec<u8>, tag: u8, parts: &[&[u8]]) {
    let length: usize = 4 + parts.iter().map(|part| part.len()).sum::<usize>();
    out.push(tag);
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Signature, flags and extension length of binary COPY.
const HEADER_BYTES: usize = 19;

/// Rows seen so far.
#[derive(Debug, Default)]
pub(super) struct CopyRows {
    /// Rows begun (binary) or ended (text).
    pub(super) rows: u64,
    binary: Option<Binary>,
}

/// Position in the binary format at the end of the last piece.
#[derive(Debug, Default)]
struct Binary {
    /// Bytes to skip.
    skip: usize,
    /// Remaining fields of the current row.
    fields: u16,
    /// The start of a number.
    part: [u8; 4],
    filled: usize,
}

impl CopyRows {
    /// For a COPY in that format.
    pub(super) fn new(binary: bool) -> Self {
        Self {
            rows: 0,
            binary: binary.then_some(Binary { skip: HEADER_BYTES, ..Binary::default() }),
        }
    }

    /// The next piece of the data.
    pub(super) fn take(&mut self, piece: &[u8]) {
        self.rows += if let Some(binary) = &mut self.binary {
            binary.take(piece)
        } else {
            piece.split(|byte| *byte == b'\n').skip(1).count() as u64
        };
    }
}

impl Binary {
    /// Rows that begin in this piece.
    fn take(&mut self, mut piece: &[u8]) -> u64 {
        let mut rows = 0;
        while !piece.is_empty() {
            if self.skip > 0 {
                let passed = self.skip.min(piece.len());
                self.skip -= passed;
                piece = &piece[passed..];
                continue;
            }
            let needed = if self.fields == 0 { 2 } else { 4 };
            let taken = (needed - self.filled).min(piece.len());
            self.part[self.filled..self.filled + taken].copy_from_slice(&piece[..taken]);
            self.filled += taken;
            piece = &piece[taken..];
            if self.filled < needed {
                break;
            }
            self.filled = 0;
            if self.fields == 0 {
                let [high, low, ..] = self.part;
                let fields = i16::from_be_bytes([high, low]);
                // Minus one ends the data.
                self.fields = u16::try_from(fields).unwrap_or(0);
                rows += u64::from(fields >= 0);
            } else {
                self.fields -= 1;
                // Minus one is a null.
                self.skip = usize::try_from(i32::from_be_bytes(self.part)).unwrap_or(0);
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rows of fields; a field without bytes is null.
    fn encoded(rows: &[Vec<Option<Vec<u8>>>]) -> Vec<u8> {
        let mut bytes = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
        for row in rows {
            bytes.extend(u16::try_from(row.len()).unwrap().to_be_bytes());
            for field in row {
                let length = field.as_ref().map_or(-1, |f| i32::try_from(f.len()).unwrap());
                bytes.extend(length.to_be_bytes());
                bytes.extend(field.iter().flatten());
            }
        }
        bytes.extend((-1_i16).to_be_bytes());
        bytes
    }

    proptest! {
        #[test]
        fn rows_are_counted_wherever_the_data_are_cut(
            rows in proptest::collection::vec(
                proptest::collection::vec(
                    proptest::option::of(proptest::collection::vec(any::<u8>(), 0..9)), 1..5),
                0..20),
            piece in 1_usize..40,
        ) {
            let mut seen = CopyRows::new(true);
            for piece in encoded(&rows).chunks(piece) {
                seen.take(piece);
            }
            prop_assert_eq!(seen.rows, rows.len() as u64);
        }
    }

    #[test]
    fn lines_are_the_rows_of_the_text_format() {
        let mut seen = CopyRows::new(false);
        for piece in [&b"1\ta\\nb\n2\t"[..], b"b", b"\n3\tc\n"] {
            seen.take(piece);
        }
        assert_eq!(seen.rows, 3);
    }
}
