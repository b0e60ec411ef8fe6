//! Why records cannot be merged. It must not look for the cause: `merge` does.

use thiserror::Error;

use highwater_model::histogram::HistogramError;
use highwater_model::judgment::{Reason, ReasonCode};

/// Why records are not all the shares of one plan.
#[derive(Debug, Error)]
pub enum MergeError {
    /// There is nothing to merge.
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
    /// Two records say differently how many shares there are.
    #[error("record {record} is one of {of} shares, the first one is one of {others}")]
    CountsDiffer {
        /// The one that differs.
        record: String,
        /// How many it says.
        of: u32,
        /// How many the first one says.
        others: u32,
    },
    /// One share was given twice.
    #[error("share {index} of {of} was given twice")]
    Twice {
        /// Which.
        index: u32,
        /// Of how many.
        of: u32,
    },
    /// Not all shares were given.
    #[error("of {of} shares these are missing: {missing}")]
    Missing {
        /// Their numbers.
        missing: String,
        /// Of how many.
        of: u32,
    },
    /// Commands changed the paces of one share as they did not change those of another.
    #[error("the user changed the load of records {first} and {other} differently while they ran")]
    ChangesDiffer {
        /// The first record.
        first: String,
        /// The one that differs.
        other: String,
    },
    /// It is not known when a share began.
    #[error("record {record} does not say when it began")]
    NoBegin {
        /// Which.
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
        /// The time in between.
        by: String,
    },
    /// A distribution cannot be read.
    #[error("record {record}: a distribution of op {op} cannot be read: {source}")]
    Histogram {
        /// Which record.
        record: String,
        /// Of which op.
        op: String,
        /// Why.
        source: HistogramError,
    },
}

impl MergeError {
    /// The same as a reason of a measurement.
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
