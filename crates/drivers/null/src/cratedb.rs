//! The server's side of CrateDB's HTTP endpoint `_sql`: every statement succeeds.
//!
//! Reads every body completely, and responds like a real server, with the counts required for a success. Source of the
//! responses: `docs/reference/cratedb.md`, and a real server.
//!
//! A body is read as its bytes arrive, in pieces of any size, for the kind of the statement, and the number of rows
//! required for a success. It consists mostly of values, which are skipped by searching for three characters at memory
//! speed; only a piece with an escape or an array among its values is read byte by byte.

#[cfg(test)]
mod tests;

use memchr::{memchr, memchr_iter};

use super::conversation::{Responder, put};

/// The content type of every response.
const JSON: &str = "application/json; charset=UTF-8";
/// The entry of an applied row, with its separator.
const APPLIED: &[u8] = b"{\"rowcount\":1},";
/// The text before and after the entries.
const RESULTS: [&[u8]; 2] = [b"{\"cols\":[],\"duration\":0.1,\"results\":[", b"]}"];
/// One row for every query; also the health of a cluster of one node.
const ROW: &[u8] = b"{\"cols\":[\"a\",\"b\"],\"rows\":[[1,1]],\"rowcount\":1,\"duration\":0.1}";
/// The response to an unparsable body.
const NONSENSE: &[u8] =
    b"{\"error\":{\"message\":\"SQLParseException[the sink cannot read this]\",\"code\":4000}}";

/// The endpoint, on one connection.
#[derive(Debug, Default)]
pub(super) struct Endpoint {
    body: SqlBody,
    /// Entries for the largest number of rows of one request so far.
    entries: Vec<u8>,
}

impl Endpoint {
    fn entries(&mut self, rows: u64) -> &[u8] {
        let length = usize::try_from(rows).unwrap_or(0) * APPLIED.len();
        while self.entries.len() < length {
            self.entries.extend_from_slice(APPLIED);
        }
        // No comma after the last one.
        self.entries.get(..length.saturating_sub(1)).unwrap_or_default()
    }
}

impl Responder for Endpoint {
    fn take(&mut self, body: &[u8]) {
        self.body.take(body);
    }

    fn answer(&mut self, out: &mut Vec<u8>) {
        match self.body.finish() {
            BodySummary::Bulk(rows) => {
                let entries = self.entries(rows);
                put(out, "200 OK", JSON, &[RESULTS[0], entries, RESULTS[1]]);
            }
            BodySummary::Inserted(rows) => counted(out, rows),
            BodySummary::Done => counted(out, 1),
            BodySummary::Query => put(out, "200 OK", JSON, &[ROW]),
            BodySummary::Nonsense => put(out, "400 Bad Request", JSON, &[NONSENSE]),
        }
    }
}

/// A non-bulk response with its count.
fn counted(out: &mut Vec<u8>, rows: u64) {
    let body = format!("{{\"cols\":[],\"rows\":[[]],\"rowcount\":{rows},\"duration\":0.1}}");
    put(out, "200 OK", JSON, &[body.as_bytes()]);
}

/// The start of every body of Highwater's driver.
const PREFIX: &[u8] = b"{\"stmt\":\"";
/// The text between the columns and the rows of an insert.
const VALUES: &[u8] = b" VALUES ";
/// Maximum bytes kept of a statement, up to its rows.
const STATEMENT_BYTES_MAX: usize = 1024 * 1024;

/// The kind of a body's statement, and its number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodySummary {
    /// A statement with this many rows of arguments.
    Bulk(u64),
    /// An insert of this many rows.
    Inserted(u64),
    /// A query.
    Query,
    /// Any other statement.
    Done,
    /// Not a body of Highwater's driver.
    Nonsense,
}

/// The current position in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Prefix,
    Statement,
    /// After the statement, before its arguments.
    Between,
    Arguments,
    /// The rest is ignored.
    Rest,
}

/// The arrays that enclose the next byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Nest {
    depth: u32,
    in_text: bool,
    escaped: bool,
    /// Open objects.
    objects: u32,
    /// Arrays that have ended inside the outermost one.
    arrays: u64,
    /// Commas between the values of the first of them.
    commas: u64,
    /// Whether the first of them contains a value.
    filled: bool,
}

/// A body that is being read.
#[derive(Debug, Default)]
struct SqlBody {
    stage: Stage,
    /// Bytes of the prefix received.
    prefix: usize,
    statement: Vec<u8>,
    escaped: bool,
    /// Rows in parentheses after VALUES; absent before it.
    groups: Option<u64>,
    bulk: bool,
    nest: Nest,
}

impl SqlBody {
    /// The next piece.
    pub(super) fn take(&mut self, mut piece: &[u8]) {
        while let Some((first, rest)) = piece.split_first() {
            match self.stage {
                Stage::Prefix => self.prefix(*first),
                Stage::Statement => self.statement(*first),
                Stage::Between if *first == b'[' => {
                    self.stage = Stage::Arguments;
                    continue;
                }
                // The names of the arguments differ in their first letter.
                Stage::Between => self.bulk |= *first == b'b',
                Stage::Arguments => return self.arguments(piece),
                Stage::Rest => return,
            }
            piece = rest;
        }
    }

    /// The summary of the complete body; the next one may begin.
    fn finish(&mut self) -> BodySummary {
        let body = std::mem::take(self);
        let first = |word: &[u8]| {
            let text = body.statement.get(..word.len());
            text.is_some_and(|text| text.eq_ignore_ascii_case(word))
        };
        match body.stage {
            Stage::Prefix | Stage::Statement => BodySummary::Nonsense,
            _ if body.bulk => BodySummary::Bulk(body.nest.arrays),
            _ if first(b"INSERT") => BodySummary::Inserted(body.groups.unwrap_or_else(|| {
                let nest = body.nest;
                nest.commas + u64::from(nest.filled)
            })),
            _ if first(b"SELECT") || first(b"WITH") => BodySummary::Query,
            _ => BodySummary::Done,
        }
    }

    fn prefix(&mut self, byte: u8) {
        // After a mismatch, no later byte can match.
        match PREFIX.get(self.prefix) {
            Some(expected) if *expected == byte => self.prefix += 1,
            _ => self.prefix = usize::MAX,
        }
        if self.prefix == PREFIX.len() {
            self.stage = Stage::Statement;
        }
    }

    fn statement(&mut self, byte: u8) {
        if byte == b'"' && !self.escaped {
            self.stage = Stage::Between;
            return;
        }
        self.escaped = byte == b'\\' && !self.escaped;
        match &mut self.groups {
            Some(groups) => *groups += u64::from(byte == b'('),
            None if self.statement.len() < STATEMENT_BYTES_MAX => {
                self.statement.push(byte);
                if self.statement.ends_with(VALUES) {
                    self.groups = Some(0);
                }
            }
            None => {}
        }
    }

    fn arguments(&mut self, piece: &[u8]) {
        if self.bulk {
            let before = self.nest;
            if !self.nest.pass_over(piece) {
                self.nest = before;
                self.nest.read(piece, u64::MAX);
            }
        } else if self.groups.is_none() {
            // One array per column: the size of the first one is the number of rows.
            self.nest.read(piece, 1);
        } else {
            self.stage = Stage::Rest;
        }
        if self.nest.depth == 0 || (!self.bulk && self.nest.arrays > 0) {
            self.stage = Stage::Rest;
        }
    }
}

impl Nest {
    /// Counts the arrays that end in a piece without reading each byte; false if that is not possible, in which case
    /// the counts are invalid.
    ///
    /// Between the ends of two rows, an opening bracket other than the row's own belongs to an array among the values,
    /// or to a text: both are left to [`Nest::read`]. If the number of quotes is even, a closing bracket is not part of
    /// a text.
    fn pass_over(&mut self, mut piece: &[u8]) -> bool {
        if self.escaped || memchr(b'\\', piece).is_some() {
            return false;
        }
        loop {
            let end = memchr(b']', piece);
            let segment = end.map_or(piece, |end| piece.get(..end).unwrap_or_default());
            let opening = memchr_iter(b'[', segment).count();
            let expected = 2_u32.saturating_sub(self.depth);
            let opening = u32::try_from(opening).unwrap_or(u32::MAX);
            if opening > expected || (opening > 0 && self.in_text) {
                return false;
            }
            self.depth += opening;
            self.in_text ^= memchr_iter(b'"', segment).count() % 2 == 1;
            let Some(end) = end else {
                return true;
            };
            if !self.in_text {
                self.close();
                if self.depth == 0 {
                    return true;
                }
            }
            piece = piece.get(end + 1..).unwrap_or_default();
        }
    }

    /// Reads byte by byte, until this many arrays have ended.
    fn read(&mut self, piece: &[u8], enough: u64) {
        for byte in piece {
            if self.in_text {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
                continue;
            }
            let among_values = self.depth == 2 && self.objects == 0;
            self.filled |= among_values && !byte.is_ascii_whitespace() && *byte != b']';
            match byte {
                b'"' => self.in_text = true,
                b'[' => self.depth += 1,
                b'{' => self.objects += 1,
                b'}' => self.objects = self.objects.saturating_sub(1),
                b',' => self.commas += u64::from(among_values),
                b']' => {
                    self.close();
                    if self.depth == 0 || self.arrays >= enough {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    fn close(&mut self) {
        self.arrays += u64::from(self.depth == 2);
        self.depth = self.depth.saturating_sub(1);
    }
}
