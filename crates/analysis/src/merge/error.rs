//! Errors of merging records. Must not look for the cause: `merge` does.

use thiserror::Error;

use highwater_model::histogram::HistogramError;
use highwater_model::judgment::{Reason, ReasonCode};

/// Why records are not all the shares of one plan.
#[derive(Debug, Error)]
pub enum MergeError {
    /// There are no records to merge.
    #[error("no record was given")]
    Empty,
    /// Two records have different plans.
    #[error("records {first} and {other} belong to different plans")]
    PlansDiffer {
        /// The first record.
        first: String,
        /// The one that differs.
        other: String,
    },
    /// Two records are of different kinds or versions of target.
    #[error("records {first} and {other} are of different targets")]
    TargetsDiffer {
        /// The first record, and what its target is.
        first: String,
        /// The one that differs, and what its target is.
        other: String,
    },
    /// Two records state different numbers of shares.
    #[error("record {record} is one of {of} shares, the first one is one of {others}")]
    CountsDiffer {
        /// The one that differs.
        record: String,
        /// Its number of shares.
        of: u32,
        /// The number of shares in the first record.
        others: u32,
    },
    /// One share was given twice.
    #[error("share {index} of {of} was given twice")]
    Twice {
        /// Its number.
        index: u32,
        /// Number of shares.
        of: u32,
    },
    /// Not all shares were given.
    #[error("of {of} shares these are missing: {missing}")]
    Missing {
        /// Their numbers.
        missing: String,
        /// Number of shares.
        of: u32,
    },
    /// Commands changed the paces of two shares differently.
    #[error("the user changed the load of records {first} and {other} differently while they ran")]
    ChangesDiffer {
        /// The first record.
        first: String,
        /// The one that differs.
        other: String,
    },
    /// The begin of a share is not known.
    #[error("record {record} does not say when it began")]
    NoBegin {
        /// The record.
        record: String,
    },
    /// Shares did not run at the same time.
    #[error(
        "the shares did not run together: in {phase} record {late} began {by} after {early} had ended"
    )]
    Apart {
        /// The record that ended first.
        early: String,
        /// The record that began last.
        late: String,
        /// The measured phase.
        phase: String,
        /// The time between them.
        by: String,
    },
    /// A distribution cannot be decoded.
    #[error("record {record}: a distribution of op {op} cannot be read: {source}")]
    Histogram {
        /// The record.
        record: String,
        /// The op.
        op: String,
        /// The cause.
        source: HistogramError,
    },
}

impl MergeError {
    /// The error as a reason in a measurement's judgment.
    pub fn reason(&self) -> Reason {
        let (message, hint) = match self {
            Self::Apart { .. } => (
                "the shares did not run together",
                "begin all shares of a run at one time: --start-at",
            ),
            _ => (
                "the records are not all the shares of one plan",
                "give the record of every share once: highwater show R1 R2 …",
            ),
        };
        Reason {
            code: ReasonCode::SharesDiffer,
            message: message.to_owned(),
            evidence: self.to_string(),
            hint: Some(hint.to_owned()),
        }
    }
}
