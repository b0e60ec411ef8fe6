//! Reads a response as it arrives: counts its rows, and keeps enough text to describe an error.
//!
//! The status of a response is not reliable: an error after the first rows is appended to them as text. Must not
//! interpret an error.

use highwater_driver::http::Sink;

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

/// The error after the rows of a response, if any. It is on a separate line, or follows a truncated row. A user's text
/// that looks exactly like an error, in the last row, is mistaken for one.
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
    fn rows_are_counted_and_an_error_behind_them_is_found() {
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
}
