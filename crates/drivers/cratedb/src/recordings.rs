//! Recorded responses of a real CrateDB, as fixtures: see `tests/cratedb/recordings/README.md`.

use super::answer::Answer;
use highwater_driver::http::Sink;

/// A server's response to one request.
pub(super) struct Recording {
    /// The request without its head.
    pub(super) request: String,
    pub(super) status: u16,
    pub(super) body: String,
}

/// The recording of that name.
pub(super) fn recording(name: &str) -> Recording {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cratedb/recordings");
    let text = std::fs::read_to_string(format!("{directory}/{name}.txt")).expect("a recording");
    let (sent, answer) = text.split_once("<<< RESPONSE\n").expect("an answer");
    let request = sent.trim_end().rsplit('\n').next().unwrap_or_default();
    let (head, body) = answer.split_once("\n\n").unwrap_or((answer, ""));
    let status = head.split(' ').nth(1).expect("a status");
    Recording {
        request: request.to_owned(),
        status: status.parse().expect("a number"),
        body: body.trim_end_matches('\n').to_owned(),
    }
}

impl Recording {
    /// The response as a session reads it.
    pub(super) fn answer(&self) -> Answer {
        answer(self.status, &self.body)
    }

    /// The first `entries` results of a truncated recording, closed by hand.
    pub(super) fn first(&self, entries: usize) -> Answer {
        let end = self
            .body
            .match_indices("},{\"rowcount\"")
            .map(|(at, _)| at + 1)
            .take(entries)
            .last()
            .expect("so many entries");
        answer(self.status, &format!("{}]}}", &self.body[..end]))
    }
}

/// A response that arrived in one piece.
pub(super) fn answer(status: u16, body: &str) -> Answer {
    let mut answer = Answer::default();
    answer.status(status);
    answer.body(body.as_bytes());
    answer
}
