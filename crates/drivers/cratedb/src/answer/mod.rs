//! Reads a response of `/_sql` as it arrives: counts, and per row of a bulk request whether it was
//! applied. Decodes no value of a row; only the list of rows that were not applied grows with the
//! response.
//!
//! Must not interpret error codes; see `errors`.

use highwater_driver::http::Sink;
use highwater_driver::network::one_line;
use serde::Deserialize;

/// The entry of an applied row: nearly all of them.
const APPLIED: &[u8] = b"{\"rowcount\":1}";
/// Maximum nesting of containers; the server does not send deeper values.
const DEPTH_MAX: usize = 128;
/// Maximum bytes kept of a message.
const TEXT_BYTES_MAX: usize = 400;
/// Maximum number of rows that were not applied.
const UNAPPLIED_MAX: usize = 1_000_000;
/// Maximum different reasons in one response; a server uses a handful.
const REASONS_MAX: usize = 64;
/// Maximum bytes read of an error response: the server echoes what it cannot parse.
const ERROR_BYTES_MAX: u64 = 1024 * 1024;

/// A row that was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnappliedRow {
    /// Its position in the batch.
    pub(super) row: u32,
    /// The server's count, such as -2.
    pub(super) count: i64,
    /// Position in [`Answer::reasons`]; `None` if the server gives no reason.
    pub(super) reason: Option<usize>,
}

/// An error code with its text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub(super) struct Reason {
    /// CrateDB's error code, such as 4091; 0 if missing.
    pub(super) code: i64,
    /// The start of the text.
    #[serde(rename = "message")]
    pub(super) text: String,
}

/// The content of a response.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// HTTP status; 0 until received.
    pub(super) status: u16,
    /// Bytes of the body.
    pub(super) bytes: u64,
    /// Rows of the response.
    pub(super) rows: u64,
    /// Columns of the response.
    pub(super) columns: u64,
    /// The count of a non-bulk request.
    pub(super) rowcount: Option<i64>,
    /// Entries of `results`.
    pub(super) entries: u64,
    /// Entries whose row was applied.
    pub(super) applied: u64,
    /// Entries whose row was not.
    pub(super) unapplied: Vec<UnappliedRow>,
    /// Different reasons (code and kind of exception), in order of appearance, with the first
    /// text of each.
    pub(super) reasons: Vec<Reason>,
    /// Why the whole request failed.
    pub(super) error: Option<Reason>,
    /// The text of a non-JSON response.
    plain: Vec<u8>,
    scan: Scan,
}

/// Relevant keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Key {
    #[default]
    Other,
    Columns,
    Rows,
    Rowcount,
    Results,
    Error,
    Code,
    Message,
}

/// The token of the next byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Lex {
    #[default]
    Between,
    Text,
    /// After a backslash.
    Escape,
    /// This many hexadecimal digits of a character remain.
    Unicode(u8),
    /// A number or a literal.
    Word,
}

#[derive(Debug, Default)]
struct Scan {
    lex: Lex,
    /// Whether each open container is an object.
    objects: Vec<bool>,
    /// The current key of each of the first four containers.
    keys: [Key; 4],
    /// The next text is a key.
    at_key: bool,
    /// The relevant part of the current text or word.
    token: Vec<u8>,
    character: u32,
    /// Whether the first value began, and ended.
    begun: bool,
    whole: bool,
    wrong: bool,
    entry: Entry,
    top: Reason,
    has_error: bool,
}

/// An entry of `results`.
#[derive(Debug, Default)]
struct Entry {
    count: Option<i64>,
    reason: Option<Reason>,
}

impl Sink for Answer {
    fn status(&mut self, status: u16) {
        self.status = status;
    }

    fn body(&mut self, bytes: &[u8]) -> bool {
        self.bytes += bytes.len() as u64;
        let is_error = self.status != 200;
        if is_error {
            append(&mut self.plain, bytes);
        }
        if !self.scan.wrong {
            self.read(bytes);
        }
        !is_error || self.bytes <= ERROR_BYTES_MAX
    }
}

impl Answer {
    /// Whether a complete JSON object was received.
    pub(super) fn is_whole(&self) -> bool {
        self.scan.whole && !self.scan.wrong
    }

    /// The text of a non-JSON response, one line.
    pub(super) fn plain_text(&self) -> String {
        one_line(&String::from_utf8_lossy(&self.plain))
    }

    fn read(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.scan.lex {
                Lex::Between => {
                    if byte == b'{' && self.is_at_entry() {
                        let left = self.take_applied(bytes);
                        if left.len() < bytes.len() {
                            bytes = left;
                            continue;
                        }
                    }
                    self.between(byte);
                    if self.scan.wrong {
                        return;
                    }
                    bytes = rest;
                }
                Lex::Text => bytes = self.text(bytes),
                Lex::Escape => {
                    self.escape(byte);
                    bytes = rest;
                }
                Lex::Unicode(left) => {
                    self.unicode(byte, left);
                    bytes = rest;
                }
                Lex::Word => {
                    if matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace() {
                        self.word();
                        self.scan.lex = Lex::Between;
                    } else {
                        self.keep(&[byte]);
                        bytes = rest;
                    }
                }
            }
        }
    }

    /// Whether the next value is an entry of `results`.
    fn is_at_entry(&self) -> bool {
        self.scan.objects.len() == 2 && self.scan.keys[0] == Key::Results
    }

    /// Counts the entries of applied rows at the start of `bytes`; returns the rest.
    fn take_applied<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        while let Some(rest) = bytes.strip_prefix(APPLIED) {
            self.entries += 1;
            self.applied += 1;
            bytes = rest.strip_prefix(b",").unwrap_or(rest);
        }
        bytes
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => self.open(byte == b'{'),
            b'}' | b']' => self.close(byte == b'}'),
            b'"' => {
                self.count_element();
                self.scan.token.clear();
                self.scan.lex = Lex::Text;
            }
            b',' => self.scan.at_key = self.scan.objects.last() == Some(&true),
            b':' => self.scan.at_key = false,
            _ if byte.is_ascii_whitespace() => {}
            // A response must be an object.
            _ if !self.scan.begun => self.scan.wrong = true,
            _ => {
                self.count_element();
                self.scan.token.clear();
                self.scan.token.push(byte);
                self.scan.lex = Lex::Word;
            }
        }
    }

    fn open(&mut self, object: bool) {
        if self.scan.whole || self.scan.objects.len() >= DEPTH_MAX {
            self.scan.wrong = true;
            return;
        }
        self.scan.begun = true;
        self.count_element();
        if self.is_at_entry() {
            self.scan.entry = Entry::default();
        }
        self.scan.objects.push(object);
        if let Some(key) = self.scan.keys.get_mut(self.scan.objects.len() - 1) {
            *key = Key::Other;
        }
        self.scan.at_key = object;
    }

    fn close(&mut self, object: bool) {
        if self.scan.objects.pop() != Some(object) {
            self.scan.wrong = true;
            return;
        }
        self.scan.at_key = false;
        if object && self.is_at_entry() {
            self.end_of_entry();
        }
        if self.scan.objects.is_empty() {
            self.scan.whole = true;
            if self.scan.has_error {
                self.error = Some(std::mem::take(&mut self.scan.top));
            }
        }
    }

    /// At the start of a value: counts an element of `rows` or `cols`.
    fn count_element(&mut self) {
        if self.scan.objects.len() != 2 || self.scan.objects.last() != Some(&false) {
            return;
        }
        match self.scan.keys[0] {
            Key::Rows => self.rows += 1,
            Key::Columns => self.columns += 1,
            _ => {}
        }
    }

    /// Continues reading a text; returns the rest.
    fn text<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let end = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
        let (piece, rest) = bytes.split_at(end);
        if self.is_needed() {
            self.keep(piece);
        }
        match rest.split_first() {
            None => rest,
            Some((b'\\', rest)) => {
                self.scan.lex = Lex::Escape;
                rest
            }
            Some((_, rest)) => {
                self.scan.lex = Lex::Between;
                self.end_of_text();
                rest
            }
        }
    }

    /// Whether the current text is a key or message to read.
    fn is_needed(&self) -> bool {
        self.scan.objects.len() <= 4 && (self.scan.at_key || self.key() == Key::Message)
    }

    /// The current key of the innermost container.
    fn key(&self) -> Key {
        let at = self.scan.objects.len().wrapping_sub(1);
        self.scan.keys.get(at).copied().unwrap_or_default()
    }

    fn keep(&mut self, bytes: &[u8]) {
        append(&mut self.scan.token, bytes);
    }

    fn escape(&mut self, byte: u8) {
        self.scan.lex = Lex::Text;
        match byte {
            b'u' => {
                self.scan.character = 0;
                self.scan.lex = Lex::Unicode(4);
            }
            b'n' | b'r' | b't' | b'b' | b'f' => self.keep(b" "),
            byte => self.keep(&[byte]),
        }
    }

    fn unicode(&mut self, byte: u8, left: u8) {
        let digit = char::from(byte).to_digit(16).unwrap_or(0);
        self.scan.character = self.scan.character * 16 + digit;
        self.scan.lex = Lex::Unicode(left - 1);
        if left == 1 {
            // Surrogates become two replacement characters; it is only a message.
            let character = char::from_u32(self.scan.character).unwrap_or('\u{fffd}');
            self.keep(character.encode_utf8(&mut [0; 4]).as_bytes());
            self.scan.lex = Lex::Text;
        }
    }

    fn end_of_text(&mut self) {
        let depth = self.scan.objects.len();
        if self.scan.at_key {
            if let Some(key) = self.scan.keys.get_mut(depth.wrapping_sub(1)) {
                *key = Key::from_text(&self.scan.token);
            }
            return;
        }
        if self.key() == Key::Message {
            let text = String::from_utf8_lossy(&self.scan.token).into_owned();
            if let Some(reason) = self.reason() {
                reason.text = text;
            }
        }
    }

    fn word(&mut self) {
        let number =
            std::str::from_utf8(&self.scan.token).ok().and_then(|word| word.parse::<i64>().ok());
        let at_top = self.scan.objects.len() == 1;
        let in_entry = self.scan.objects.len() == 3 && self.scan.keys[0] == Key::Results;
        match (self.key(), number) {
            (Key::Rowcount, _) if at_top => self.rowcount = number,
            (Key::Rowcount, _) if in_entry => self.scan.entry.count = number,
            (Key::Code, Some(number)) => {
                if let Some(reason) = self.reason() {
                    reason.code = number;
                }
            }
            _ => {}
        }
    }

    /// The error described by the innermost object: of a row, or of the whole request.
    fn reason(&mut self) -> Option<&mut Reason> {
        let keys = &self.scan.keys;
        match self.scan.objects.len() {
            2 if keys[0] == Key::Error => {
                self.scan.has_error = true;
                Some(&mut self.scan.top)
            }
            4 if keys[0] == Key::Results && keys[2] == Key::Error => {
                Some(self.scan.entry.reason.get_or_insert_default())
            }
            _ => None,
        }
    }

    fn end_of_entry(&mut self) {
        let row = u32::try_from(self.entries).unwrap_or(u32::MAX);
        self.entries += 1;
        let entry = std::mem::take(&mut self.scan.entry);
        match entry.count {
            Some(count) if count > 0 && entry.reason.is_none() => self.applied += 1,
            // More than any batch has: the response cannot belong to it.
            _ if self.unapplied.len() == UNAPPLIED_MAX => self.scan.wrong = true,
            count => {
                let reason = entry.reason.map(|reason| self.reason_number(reason));
                self.unapplied.push(UnappliedRow { row, count: count.unwrap_or(-1), reason });
            }
        }
    }

    /// Texts differ in details such as the values of the row: reasons are equal if their codes and kinds of exception
    /// are.
    fn reason_number(&mut self, reason: Reason) -> usize {
        let same = |known: &Reason| known.code == reason.code && known.kind() == reason.kind();
        if let Some(position) = self.reasons.iter().position(same) {
            return position;
        }
        if self.reasons.len() >= REASONS_MAX {
            self.scan.wrong = true;
            return 0;
        }
        self.reasons.push(reason);
        self.reasons.len() - 1
    }
}

/// Keeps bytes of a text up to the limit.
fn append(text: &mut Vec<u8>, bytes: &[u8]) {
    let room = TEXT_BYTES_MAX.saturating_sub(text.len());
    text.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
}

impl Reason {
    /// The exception's name at the start of the text.
    pub(super) fn kind(&self) -> &str {
        let end = self.text.find(['[', ' ', '(']).unwrap_or(self.text.len());
        self.text.get(..end).unwrap_or_default()
    }
}

impl Key {
    fn from_text(text: &[u8]) -> Self {
        match text {
            b"cols" => Self::Columns,
            b"rows" => Self::Rows,
            b"rowcount" => Self::Rowcount,
            b"results" => Self::Results,
            b"error" => Self::Error,
            b"code" => Self::Code,
            b"message" => Self::Message,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests;
