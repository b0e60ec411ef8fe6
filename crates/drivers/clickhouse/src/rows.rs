//! Rows of a response in TabSeparated format, one by one as they arrive. Must not store them.

use std::io;

use highwater_driver::http::Sink;
use highwater_driver::network::invalid;
use highwater_driver::sql::connection::Row;

use super::answer::Answer;

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
    fn fields_are_texts_or_null_in_whatever_pieces_they_come() {
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
    fn an_error_behind_rows_is_no_row() {
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
