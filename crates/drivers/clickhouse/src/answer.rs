//! Reads a response as it arrives: counts its rows, and keeps enough text to describe an error.
//!
//! The status of a response is not reliable: an error after the first rows is appended to them as text. Must not
//! interpret an error.

use std::io;

use highwater_driver::http::Sink;
use highwater_driver::network::invalid;
use highwater_driver::sql::connection::Row;

use super::errors::ServerError;

/// Maximum bytes kept of an error: messages quote the data.
const ERROR_BYTES_MAX: usize = 4 * 1024;
/// Maximum bytes read of an error before the connection is closed.
const ERROR_BYTES_READ: u64 = 8 * 1024 * 1024;
/// Bytes kept from the end of a response: an error may follow the rows.
const TAIL_BYTES: usize = 2 * 1024;
/// The header with the error code, in newer versions.
const CODE_HEADER: &str = "x-clickhouse-exception-code";

/// See the module documentation.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// HTTP status; 0 until received.
    pub(super) status: u16,
    /// The error code, if a header has it.
    pub(super) code: Option<u32>,
    /// Bytes of the body.
    pub(super) bytes: u64,
    /// Lines of the body, which are rows.
    pub(super) rows: u64,
    /// The start of an error, or the end of a response.
    text: Vec<u8>,
}

impl Sink for Answer {
    fn status(&mut self, status: u16) {
        self.status = status;
    }

    fn header(&mut self, name: &str, value: &[u8]) {
        if name.eq_ignore_ascii_case(CODE_HEADER) {
            let text = std::str::from_utf8(value).unwrap_or_default();
            self.code = Some(text.parse().unwrap_or(0));
        }
    }

    fn body(&mut self, bytes: &[u8]) -> bool {
        self.bytes += bytes.len() as u64;
        if self.status != 200 {
            let room = ERROR_BYTES_MAX.saturating_sub(self.text.len());
            self.text.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
            return self.bytes <= ERROR_BYTES_READ;
        }
        self.rows += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let kept = bytes.len().saturating_sub(TAIL_BYTES);
        self.text.extend_from_slice(bytes.get(kept..).unwrap_or_default());
        if self.text.len() > 2 * TAIL_BYTES {
            self.text.drain(..self.text.len() - TAIL_BYTES);
        }
        true
    }
}

impl Answer {
    /// The server's error, if any.
    pub(super) fn into_error(self) -> Option<ServerError> {
        let text = String::from_utf8_lossy(&self.text);
        if self.status == 200 {
            let behind = behind_rows(&text);
            return match (behind, self.code) {
                (None, None) => None,
                (behind, code) => Some(ServerError::read(200, code, behind.unwrap_or_default())),
            };
        }
        (self.status != 0).then(|| ServerError::read(self.status, self.code, &text))
    }
}

/// The error after the rows of a response, if any. It is on a separate line, or follows a truncated row. A text in the
/// last row that looks exactly like an error is mistaken for one.
fn behind_rows(text: &str) -> Option<&str> {
    if let Some((before, behind)) = text.rsplit_once("__exception__\r\n") {
        // Newer versions enclose the text in two of these marks.
        let error = if behind.trim().is_empty() { before } else { behind };
        return error.find("Code: ").and_then(|at| error.get(at..));
    }
    let text = text.strip_suffix('\n').unwrap_or(text);
    let line = text.rsplit('\n').next().unwrap_or(text);
    let error = line.rfind("Code: ").and_then(|at| line.get(at..))?;
    let digits = error.get("Code: ".len()..)?;
    let behind = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = behind.len() < digits.len() && behind.starts_with([',', '.']);
    (is_number && error.contains("DB::Exception")).then_some(error)
}

/// Maximum bytes of one row.
const ROW_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Passes rows on; see the module documentation.
pub(super) struct RowReader<'a> {
    take: &'a mut dyn FnMut(Row) -> io::Result<()>,
    answer: Answer,
    /// The start of a row.
    begun: Vec<u8>,
    /// The last complete row: an error after other rows takes its place.
    held: Option<Vec<u8>>,
    refused: Option<io::Error>,
}

impl<'a> RowReader<'a> {
    pub(super) fn new(take: &'a mut dyn FnMut(Row) -> io::Result<()>) -> Self {
        Self { take, answer: Answer::default(), begun: Vec::new(), held: None, refused: None }
    }

    /// The response, and why reading was stopped, if it was.
    pub(super) fn finish(mut self) -> (Answer, Option<io::Error>) {
        let is_row = self.answer.status == 200 && self.refused.is_none();
        if is_row && !self.is_error() {
            self.release();
        }
        (self.answer, self.refused)
    }

    /// Whether the pending row is an error at the end of the response.
    fn is_error(&self) -> bool {
        let mut end = Answer::default();
        end.status(200);
        end.body(self.held.as_deref().unwrap_or_default());
        end.into_error().is_some() || self.answer.code.is_some()
    }

    fn release(&mut self) {
        if let Some(line) = self.held.take() {
            let taken = (self.take)(row(&line));
            self.refused = taken.err();
        }
    }
}

impl Sink for RowReader<'_> {
    fn status(&mut self, status: u16) {
        self.answer.status(status);
    }

    fn header(&mut self, name: &str, value: &[u8]) {
        self.answer.header(name, value);
    }

    fn body(&mut self, bytes: &[u8]) -> bool {
        let goes_on = self.answer.body(bytes);
        if self.answer.status != 200 {
            return goes_on;
        }
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let (line, behind) = rest.split_at(at);
            let mut whole = std::mem::take(&mut self.begun);
            whole.extend_from_slice(line);
            self.release();
            self.held = Some(whole);
            rest = behind.get(1..).unwrap_or_default();
            if self.refused.is_some() {
                return false;
            }
        }
        self.begun.extend_from_slice(rest);
        if self.begun.len() > ROW_BYTES_MAX {
            self.refused = Some(invalid("a row of the answer is longer than 64 MiB"));
        }
        self.refused.is_none()
    }
}

/// The fields of a line; `\N` is null.
fn row(line: &[u8]) -> Row {
    if line.is_empty() {
        // A single empty text.
        return vec![Some(String::new())];
    }
    line.split(|byte| *byte == b'\t').map(field).collect()
}

fn field(bytes: &[u8]) -> Option<String> {
    if bytes == b"\\N" {
        return None;
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(at);
        plain.extend_from_slice(before);
        plain.extend(escape.get(1).map(|letter| match letter {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'0' => 0,
            other => *other,
        }));
        rest = escape.get(2..).unwrap_or_default();
    }
    plain.extend_from_slice(rest);
    Some(String::from_utf8_lossy(&plain).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, code: Option<&[u8]>, pieces: &[&[u8]]) -> Answer {
        let mut answer = Answer::default();
        if let Some(code) = code {
            answer.header("X-ClickHouse-Exception-Code", code);
        }
        answer.status(status);
        for piece in pieces {
            assert!(answer.body(piece));
        }
        answer
    }

    const OLD: &[u8] =
        b"Code: 395, e.displayText() = DB::Exception: thrown, e.what() = DB::Exception\n";

    #[test]
    fn rows_are_counted_and_an_error_after_them_is_found() {
        let whole = answer(200, None, &[b"1\ta\n2", b"\tb\n"]);
        assert_eq!((whole.rows, whole.bytes), (2, 8));
        assert_eq!(whole.into_error(), None);
        assert_eq!(answer(200, None, &[]).into_error(), None);
        for pieces in [
            &[&b"1\n2\n"[..], OLD][..],
            &[b"1\n2\tcut", OLD],
            &[OLD],
            &[&[b'x'; 10_000], b"\n", OLD],
        ] {
            let error = answer(200, None, pieces).into_error().unwrap();
            assert_eq!(error.code, 395);
        }
        let new = b"0\n1\n__exception__\r\nabcdefghijklmnop\r\nCode: 395. DB::Exception: thrown. \
                    (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)\n61 abcdefghijklmnop\r\n__exception__\r\n";
        let error = answer(200, None, &[new]).into_error().unwrap();
        assert_eq!(error.code, 395);
    }

    #[test]
    fn a_row_that_speaks_of_errors_is_none() {
        for row in [
            &b"Code: 5, he said\n"[..],
            b"Code: x, DB::Exception\n",
            b"Code: 7. DB::Exception: first\nthen another row\n",
            b"DB::Exception\n",
        ] {
            assert_eq!(answer(200, None, &[row]).into_error(), None);
        }
    }

    #[test]
    fn the_number_of_an_error_is_the_header_s_or_the_first_of_its_text() {
        let text = b"Code: 319, e.displayText() = DB::Exception: Unknown. Reason: Code: 159, x\n";
        assert_eq!(answer(500, None, &[text]).into_error().unwrap().code, 319);
        let error = answer(500, Some(b"241"), &[b"no number"]).into_error();
        assert_eq!(error.unwrap().code, 241);
        let error = answer(200, Some(b"241"), &[]).into_error();
        assert_eq!(error.unwrap().code, 241);
    }

    #[test]
    fn a_long_error_is_cut_and_one_without_end_is_not_read() {
        let mut long = answer(500, None, &[b"Code: 27, e"]);
        let piece = vec![b'x'; 100_000];
        let read = (0..1_000).take_while(|_| long.body(&piece)).count();
        assert!(read < 100, "{read}");
        assert!(long.into_error().unwrap().message.len() < 1_000);
    }

    fn read(pieces: &[&[u8]], limit: usize) -> (Vec<Row>, Answer, Option<io::Error>) {
        let mut rows = Vec::new();
        let mut take = |row| {
            rows.push(row);
            if rows.len() > limit {
                return Err(io::Error::other("enough"));
            }
            Ok(())
        };
        let mut reader = RowReader::new(&mut take);
        reader.status(200);
        for piece in pieces {
            if !reader.body(piece) {
                break;
            }
        }
        let (answer, refused) = reader.finish();
        (rows, answer, refused)
    }

    /// Text fields.
    fn texts(fields: &[&str]) -> Row {
        fields.iter().map(|field| Some((*field).to_owned())).collect()
    }

    #[test]
    fn fields_are_texts_or_null_in_any_pieces() {
        let whole = b"1\t\\N\tit\\'s\\tx\\n\\\\\n\t\n\n";
        let expected = [
            vec![Some("1".to_owned()), None, Some("it's\tx\n\\".to_owned())],
            texts(&["", ""]),
            texts(&[""]),
        ];
        for size in 1..whole.len() {
            let pieces: Vec<&[u8]> = whole.chunks(size).collect();
            assert_eq!(read(&pieces, 9).0, expected);
        }
        assert!(read(&[b""], 9).0.is_empty());
    }

    #[test]
    fn an_error_after_rows_is_no_row() {
        let error = b"Code: 395, e.displayText() = DB::Exception: x, e.what() = DB::Exception\n";
        let (rows, answer, refused) = read(&[b"1\n", error], 9);
        assert_eq!(rows, [texts(&["1"])]);
        assert_eq!(answer.into_error().unwrap().code, 395);
        assert!(refused.is_none());
    }

    #[test]
    fn rows_end_when_no_more_are_taken() {
        let (rows, _, refused) = read(&[b"1\n2\n3\n4\n5\n6\n"], 2);
        assert_eq!(rows.len(), 3);
        assert!(refused.is_some());
    }
}
