//! The outcome of an op, as the session knows it: how much was applied, and with what certainty.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named::named;

/// How certain it is what the target did with an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The target said what it applied; `rows_applied`, `rows_refused` and `rows_unknown` add up to
    /// the rows sent.
    Applied,
    /// Nothing was applied, by the target's own deterministic word.
    NotApplied,
    /// All, some or none of it may have been applied, now or later.
    Unknown,
}

named! {
    /// The kind of a failure, with the same meaning for every target.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    enum ErrorClass {
        /// Connecting failed, or the connection was lost.
        Connection = "connection",
        /// No response before the plan's timeout.
        Timeout = "timeout",
        /// Rejected for lack of capacity, such as a full queue, too many connections, or back-pressure.
        Rejected = "rejected",
        /// Refused because of a conflict with other work; a retry is legitimate.
        Conflict = "conflict",
        /// Refused because of a constraint (unique, check, or not null).
        Constraint = "constraint",
        /// A value does not fit its column.
        Data = "data",
        /// The statement is invalid: syntax, a missing table, or a missing privilege.
        Statement = "statement",
        /// The user or password was refused.
        Authentication = "authentication",
        /// The disk is full, or memory is exhausted.
        Resource = "resource",
        /// The server is shutting down, starting, or failing over.
        Unavailable = "unavailable",
        /// The response violates the protocol.
        Protocol = "protocol",
    }
}

impl ErrorClass {
    /// Whether a retry may succeed without any change by the user.
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Connection | Self::Timeout | Self::Rejected | Self::Conflict | Self::Unavailable
        )
    }
}

/// A failure of one op. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpError {
    /// Its kind.
    pub class: ErrorClass,
    /// The target's own code, such as an SQLSTATE.
    pub code: Option<String>,
    /// The target's own message, one line, at most a few hundred bytes.
    pub message: String,
}

/// Consecutive rows of a batch that were not applied, or whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowSpan {
    /// Position of the first row in the batch.
    pub first: u32,
    /// At least 1.
    pub rows: u32,
    /// [`Certainty::NotApplied`] or [`Certainty::Unknown`].
    pub certainty: Certainty,
}

/// The outcome of an op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Certainty about the rest.
    pub certainty: Certainty,
    /// Rows that the target reports as applied.
    pub rows_applied: u64,
    /// Rows that the target reports as refused, although others of the op may have been applied.
    pub rows_refused: u64,
    /// Rows with an unknown outcome in a response that is certain about others. 0 if [`Outcome::certainty`] is
    /// `Unknown`: then it is all of them.
    pub rows_unknown: u64,
    /// The rows that were refused or are unknown, ascending and disjoint; at most one span per row. Empty if the target
    /// returns counts only: then the audit finds them by key.
    pub exceptions: Vec<RowSpan>,
    /// The cause, if anything failed.
    pub error: Option<OpError>,
    /// Bytes of the response body on the wire (for an embedded target about the size of its values).
    pub response_bytes: u64,
    /// Rows of the response.
    pub response_rows: u64,
    /// The op completed, and ended with the ROLLBACK that its workload orders: nothing of it is kept.
    pub rolled_back: bool,
    /// Whether the session can execute another op; if not, it must be reopened.
    pub session_usable: bool,
}

impl Outcome {
    /// Everything was applied.
    pub const fn applied(rows: u64) -> Self {
        Self {
            certainty: Certainty::Applied,
            rows_applied: rows,
            rows_refused: 0,
            rows_unknown: 0,
            exceptions: Vec::new(),
            error: None,
            response_bytes: 0,
            response_rows: 0,
            rolled_back: false,
            session_usable: true,
        }
    }

    /// A query was answered.
    pub fn answered(response_rows: u64, response_bytes: u64) -> Self {
        Self { response_bytes, response_rows, ..Self::applied(0) }
    }

    /// The same op, ended with the ROLLBACK that its workload orders.
    #[must_use]
    pub fn as_rolled_back(self) -> Self {
        Self { rows_applied: 0, rolled_back: self.is_success(), ..self }
    }

    /// Nothing was applied; the session continues.
    pub fn refused(rows: u64, error: OpError) -> Self {
        Self {
            certainty: Certainty::NotApplied,
            rows_refused: rows,
            error: Some(error),
            ..Self::applied(0)
        }
    }

    /// It is unknown what was applied; the session is lost.
    pub fn unknown(error: OpError) -> Self {
        Self {
            certainty: Certainty::Unknown,
            error: Some(error),
            session_usable: false,
            ..Self::applied(0)
        }
    }

    /// The target responded for each row: `outcome_of(i)` is the outcome of row i of the batch. If any row failed, the
    /// caller adds the error.
    pub fn by_row(rows: u32, mut outcome_of: impl FnMut(u32) -> Certainty) -> Self {
        let mut outcome = Self::applied(0);
        for row in 0..rows {
            let certainty = outcome_of(row);
            match certainty {
                Certainty::Applied => {
                    outcome.rows_applied += 1;
                    continue;
                }
                Certainty::NotApplied => outcome.rows_refused += 1,
                Certainty::Unknown => outcome.rows_unknown += 1,
            }
            match outcome.exceptions.last_mut() {
                Some(last) if last.first + last.rows == row && last.certainty == certainty => {
                    last.rows += 1;
                }
                _ => outcome.exceptions.push(RowSpan { first: row, rows: 1, certainty }),
            }
        }
        outcome
    }

    /// The outcome of a statement that writes `rows` rows. If the target reports no count, its acknowledgment covers
    /// all rows.
    #[must_use]
    pub fn of_rows(mut self, rows: u64) -> Self {
        match self.certainty {
            Certainty::Applied if self.error.is_none() => {
                self.rows_applied = match self.rows_applied {
                    0 => rows,
                    applied => applied.min(rows),
                };
                self.rows_refused = rows - self.rows_applied;
            }
            Certainty::NotApplied => self.rows_refused = rows,
            Certainty::Applied | Certainty::Unknown => {}
        }
        self
    }

    /// Whether the op succeeded completely.
    pub fn is_success(&self) -> bool {
        self.error.is_none()
    }

    /// Whether the target acknowledged some rows of the op, and others failed.
    pub fn is_partial(&self) -> bool {
        let is_certain = self.certainty == Certainty::Applied;
        is_certain && self.error.is_some() && self.rows_applied > 0
    }

    /// Whether the target acknowledged the op, completely or in part.
    pub fn is_acknowledged(&self) -> bool {
        self.is_success() || self.is_partial()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_for_each_row_become_counts_and_spans() {
        use Certainty::{Applied, NotApplied, Unknown};
        let fates = [Applied, NotApplied, NotApplied, Unknown, Applied, NotApplied];
        let outcome = Outcome::by_row(6, |row| fates[usize::try_from(row).unwrap_or(0)]);
        assert_eq!(outcome.rows_applied, 2);
        assert_eq!(outcome.rows_refused, 3);
        assert_eq!(outcome.rows_unknown, 1);
        let spans: Vec<_> =
            outcome.exceptions.iter().map(|span| (span.first, span.rows, span.certainty)).collect();
        assert_eq!(spans, [(1, 2, NotApplied), (3, 1, Unknown), (5, 1, NotApplied)]);
    }
}
