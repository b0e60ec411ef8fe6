//! Counts the responses to some commands, packet by packet, without decoding rows, and judges how an op ended.

use std::io;

use highwater_driver::failure::{broken, counted, failed, gone, not_applied};
use highwater_driver::network::{describe, one_line};
use highwater_model::op::Op;
use highwater_model::outcome::{Certainty, Outcome};

use super::errors::{Judgment, ServerError};
use super::wire::{PAYLOAD_MAX, Reader};

/// Set if another result of the same command follows.
const MORE_RESULTS: u64 = 0x0008;
/// Payloads of at least this many bytes are rows, whatever their first byte.
const END_MAX: usize = 9;

/// Counts of some responses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Data rows.
    pub(super) rows: u64,
    /// Bytes of the data rows, headers included.
    pub(super) bytes: u64,
    /// Rows that the server reports as written.
    pub(super) applied: u64,
    /// The last text about an INSERT, such as `Records: 9  Duplicates: 0  Warnings: 8`.
    pub(super) info: Option<String>,
    /// The first error.
    pub(super) error: Option<ServerError>,
    /// The number of that response, from 0.
    pub(super) error_at: usize,
    /// The server requests the rows of a LOAD DATA.
    pub(super) wants_rows: bool,
    /// Number of complete responses.
    pub(super) done: usize,
    /// The expected next part.
    pub(super) state: State,
    /// The last row, if that is kept.
    pub(super) last_row: Option<Vec<u8>>,
}

/// The expected next part.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The start of a response.
    #[default]
    Begin,
    /// This many column definitions, and their end.
    Columns(u64),
    /// Rows, and their end.
    Rows,
    /// The rest of a row that is longer than a packet, and then rows.
    RestOfRow,
}

impl Answer {
    /// Whether a packet of this length with this first byte is a row, or part of one: it is then counted, and need not
    /// be read.
    pub(super) fn counts_row(&mut self, length: usize, first: Option<u8>) -> bool {
        match self.state {
            State::Begin | State::Columns(_) => return false,
            State::RestOfRow => {}
            State::Rows => {
                let ends = match first {
                    Some(0xfe) => length < END_MAX,
                    Some(0xff) => true,
                    _ => false,
                };
                if ends {
                    return false;
                }
                self.rows += 1;
            }
        }
        self.bytes += length as u64;
        self.state = if length == PAYLOAD_MAX { State::RestOfRow } else { State::Rows };
        true
    }

    /// Keeps a row, or a part of one, that was counted.
    pub(super) fn keep(&mut self, continues: bool, payload: &[u8]) {
        if let Some(row) = &mut self.last_row {
            if !continues {
                row.clear();
            }
            row.extend_from_slice(payload);
        }
    }

    /// Whether the next packet may be a row, so that its first byte must be checked.
    pub(super) fn may_be_row(&self) -> bool {
        matches!(self.state, State::Rows | State::RestOfRow)
    }

    /// Processes a packet other than a row; `None` if it violates the protocol.
    pub(super) fn take(&mut self, sequence: u8, payload: &[u8]) -> Option<()> {
        let mut reader = Reader(payload);
        match (self.state, *payload.first()?) {
            (State::Begin | State::Rows, 0xff) => self.fail(ServerError::read(sequence, payload)),
            (State::Begin, 0x00) => {
                reader.number(1)?;
                self.applied += reader.lenenc()?;
                reader.lenenc()?;
                let (status, _warnings) = (reader.number(2)?, reader.number(2)?);
                let info = reader.lenenc_bytes().unwrap_or_default();
                if !info.is_empty() {
                    self.info = Some(one_line(&String::from_utf8_lossy(info)));
                }
                self.end(status);
            }
            (State::Begin, 0xfb) => {
                self.wants_rows = true;
                self.done += 1;
            }
            (State::Begin, _) => self.state = State::Columns(reader.lenenc()?),
            (State::Columns(0), 0xfe) => self.state = State::Rows,
            (State::Columns(left), _) => self.state = State::Columns(left.checked_sub(1)?),
            (State::Rows, 0xfe) => {
                reader.number(3)?;
                let status = reader.number(2)?;
                self.end(status);
            }
            (State::Rows | State::RestOfRow, _) => return None,
        }
        Some(())
    }

    fn end(&mut self, status: u64) {
        self.state = State::Begin;
        if status & MORE_RESULTS == 0 {
            self.done += 1;
        }
    }

    fn fail(&mut self, error: ServerError) {
        if self.error.is_none() {
            self.error = Some(error);
            self.error_at = self.done;
        }
        self.state = State::Begin;
        self.done += 1;
    }
}

/// The connection was lost before the end of the response. A request that was not sent completely is never executed.
pub(super) fn lost(op: &Op, answer: Answer, error: &io::Error, is_sent_whole: bool) -> Outcome {
    if let Some(server) = answer.error {
        let Judgment { class, certainty, .. } = server.judge();
        let error = server.into_op_error(class);
        return match certainty {
            Certainty::NotApplied => not_applied(op, error),
            Certainty::Applied | Certainty::Unknown => Outcome::unknown(error),
        };
    }
    if !is_sent_whole {
        return not_applied(op, gone(&describe(error)));
    }
    Outcome::unknown(broken(error))
}

/// From complete responses. The outcome includes whether the session is usable.
pub(super) fn judge(op: &Op, answer: Answer) -> Outcome {
    if let Some(error) = answer.error {
        let judgment = error.judge();
        let error = error.into_op_error(judgment.class);
        let mut outcome = failed(op.rows(), judgment.certainty, error);
        outcome.response_bytes = answer.bytes;
        outcome.response_rows = answer.rows;
        outcome.session_usable = !judgment.closes;
        return outcome;
    }
    let answered = Outcome::answered(answer.rows, answer.bytes);
    let mut outcome = counted(op, answer.applied, answered);
    if let Some(error) = &mut outcome.error {
        let said = answer.info.unwrap_or_default();
        error.message.push_str(&format!(": {said}"));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::ServerError;
    use highwater_model::op::{OpBody, OpId, RowBatch};

    fn ok(affected: u8, status: u8, info: &str) -> Vec<u8> {
        let mut payload = vec![0, affected, 0, status, 0, 0, 0];
        if !info.is_empty() {
            payload.push(u8::try_from(info.len()).unwrap());
            payload.extend_from_slice(info.as_bytes());
        }
        payload
    }

    fn error(code: u16) -> Vec<u8> {
        let [a, b] = code.to_le_bytes();
        [&[0xff, a, b][..], b"#23000words"].concat()
    }

    #[test]
    fn counts_of_several_answers_add_up_and_the_first_error_counts() {
        let mut answer = Answer::default();
        let info = "Records: 3  Duplicates: 0  Warnings: 0";
        answer.take(1, &ok(3, 2, info)).unwrap();
        answer.take(1, &error(1062)).unwrap();
        answer.take(1, &error(1064)).unwrap();
        answer.take(1, &ok(1, 2, "")).unwrap();
        assert_eq!((answer.applied, answer.done, answer.error_at), (4, 4, 1));
        assert_eq!(answer.error.map(|error| error.code), Some(1062));
        assert_eq!(answer.info.as_deref(), Some("Records: 3 Duplicates: 0 Warnings: 0"));
    }

    #[test]
    fn rows_are_counted_and_an_error_among_them_ends_the_answer() {
        for ends_well in [true, false] {
            let mut answer = Answer::default();
            answer.take(1, &[2]).unwrap();
            for column in 0..2 {
                assert!(!answer.may_be_row(), "{column}");
                answer.take(2, b"def").unwrap();
            }
            answer.take(4, &[0xfe, 0, 0, 2, 0]).unwrap();
            // A leading null, the length of an empty row, one with the first byte of an end packet, one in two packets.
            for (length, first) in [(5, 0xfb), (0, 0), (9, 0xfe), (PAYLOAD_MAX, 1), (3, 0xff)] {
                assert!(answer.may_be_row());
                let first = (length > 0).then_some(first);
                assert!(answer.counts_row(length, first), "{length}");
            }
            let (end, done) =
                if ends_well { (vec![0xfe, 0, 0, 2, 0], None) } else { (error(1317), Some(1317)) };
            assert!(!answer.counts_row(end.len(), end.first().copied()));
            answer.take(9, &end).unwrap();
            assert_eq!((answer.rows, answer.done), (4, 1));
            assert_eq!(answer.error.map(|error| error.code), done);
        }
    }

    #[test]
    fn a_procedure_answers_more_than_once() {
        let mut answer = Answer::default();
        answer.take(1, &ok(1, 0x0a, "")).unwrap();
        assert_eq!(answer.done, 0);
        answer.take(2, &ok(0, 2, "")).unwrap();
        assert_eq!(answer.done, 1);
    }

    #[test]
    fn messages_outside_the_protocol_are_no_response() {
        assert_eq!(Answer::default().take(1, &[]), None);
        assert_eq!(Answer::default().take(1, &[0, 1]), None);
        let mut answer = Answer::default();
        answer.take(1, &[0]).unwrap_or_default();
        answer.take(1, &[1]).unwrap();
        answer.take(2, b"def").unwrap();
        assert_eq!(answer.take(3, b"def"), None);
    }

    fn insert(rows: usize) -> Op {
        Op {
            id: OpId(0),
            index: 0,
            body: OpBody::Insert(RowBatch { first_row: 0, rows, columns: Vec::new() }),
        }
    }

    fn failed(sequence: u8, code: u16) -> Answer {
        let [a, b] = code.to_le_bytes();
        Answer { error: Some(ServerError::read(sequence, &[0xff, a, b])), ..Answer::default() }
    }

    #[test]
    fn a_smaller_count_is_refused_rows() {
        for (applied, refused) in [(3, 0), (2, 1), (0, 3), (6, 0)] {
            let answer = Answer { applied, ..Answer::default() };
            let outcome = judge(&insert(3), answer);
            assert_eq!(outcome.certainty, Certainty::Applied);
            assert_eq!((outcome.rows_applied, outcome.rows_refused), (applied.min(3), refused));
            assert_eq!(outcome.error.is_some(), refused > 0);
        }
    }

    #[test]
    fn a_cut_connection_is_unknown_unless_the_request_did_not_leave_as_a_whole() {
        let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
        for (answer, is_sent_whole, certainty) in [
            (Answer::default(), true, Certainty::Unknown),
            (Answer::default(), false, Certainty::NotApplied),
            // The packet was too long: the error arrived while the rest of it was still to be sent.
            (failed(1, 1153), false, Certainty::NotApplied),
            (failed(1, 1180), true, Certainty::Unknown),
            // The connection had been idle for too long.
            (failed(0, 4031), true, Certainty::NotApplied),
        ] {
            let outcome = lost(&insert(3), answer, &cut, is_sent_whole);
            assert_eq!(outcome.certainty, certainty);
            assert!(!outcome.session_usable);
        }
    }

    #[test]
    fn an_unknown_error_ends_the_session_and_a_known_one_does_not() {
        for (code, usable) in [(1062, true), (1205, true), (1047, false), (1180, false)] {
            let outcome = judge(&insert(3), failed(1, code));
            assert_eq!(outcome.session_usable, usable, "{code}");
        }
    }
}
