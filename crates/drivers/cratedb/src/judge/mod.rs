//! Determines the outcome of an op from a response: rows applied, refused, and unknown.
//!
//! Around the loss of a node, the server itself retries writes, and then reports stored rows as refused. So a refusal
//! counts only if the cluster is stable, or if the server decides it before it writes. Must not do I/O.

use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};

use super::answer::{Answer, Unapplied};
use super::errors::{self, Classification, NotAppliedIf};

/// Maximum entries with an error per shard; the shard's other refusals have none.
const EXPLAINED_PER_SHARD: usize = 10;

/// A row omitted by the statement's ON CONFLICT clause.
const SKIPPED: Classification = Classification {
    class: ErrorClass::Constraint,
    not_applied_if: NotAppliedIf::StableWithKey,
    capped: false,
};

/// The inputs of the outcome other than the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Context {
    /// Rows of the op; 0 for a query.
    pub(super) rows: u64,
    /// It is an insert.
    pub(super) insert: bool,
    /// One entry per row is expected.
    pub(super) bulk: bool,
    /// The table has a primary key.
    pub(super) has_key: bool,
    /// No node loss was detected around the op.
    pub(super) stable: bool,
}

impl Context {
    fn is_not_applied(self, not_applied_if: NotAppliedIf) -> bool {
        match not_applied_if {
            NotAppliedIf::Always => true,
            NotAppliedIf::Stable => self.stable,
            NotAppliedIf::StableWithKey => self.stable && self.has_key,
            NotAppliedIf::Never => false,
        }
    }
}

/// Whether the outcome depends on [`Context::stable`], so that a health check is worthwhile.
pub(super) fn depends_on_stability(answer: &Answer, context: Context) -> bool {
    let judged = |stable| judge(answer, Context { stable, ..context });
    judged(true) != judged(false)
}

/// The outcome of an op with a complete response.
pub(super) fn judge(answer: &Answer, context: Context) -> Outcome {
    let mut outcome = if answer.status != 200 || answer.error.is_some() {
        failed(answer, context)
    } else if !answer.is_whole() {
        unknown(protocol("the answer is not the JSON that was expected"))
    } else if !context.insert {
        // A statement without columns returns one empty row.
        let rows = if answer.columns == 0 { 0 } else { answer.rows };
        let counted = answer.rowcount.filter(|_| answer.columns == 0);
        Outcome {
            rows_applied: counted.and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
            ..Outcome::answered(rows, 0)
        }
    } else if context.bulk {
        bulk(answer, context)
    } else {
        counted(answer, context)
    };
    outcome.response_bytes = answer.bytes;
    outcome
}

/// For a request that failed completely.
fn failed(answer: &Answer, context: Context) -> Outcome {
    let reason = errors::reason_of(answer);
    let mut classification = errors::classify_request(answer.status, &reason);
    // A node that has just started does not know its tables yet.
    if answer.status == 404 && !context.stable {
        classification.class = ErrorClass::Unavailable;
    }
    let error = errors::op_error(classification.class, &reason);
    if !context.insert || context.is_not_applied(classification.not_applied_if) {
        Outcome::refused(context.rows, error)
    } else {
        unknown(error)
    }
}

/// One statement for all rows: the server reports how many were applied, but not which.
fn counted(answer: &Answer, context: Context) -> Outcome {
    let applied = answer.rowcount.and_then(|count| u64::try_from(count).ok());
    let Some(applied) = applied.filter(|applied| *applied <= context.rows) else {
        return unknown(protocol("the count of the answer is not one of rows written"));
    };
    let refused = context.rows - applied;
    if refused == 0 {
        return Outcome::applied(applied);
    }
    // The server gives no reason. Without a key, it cannot be a duplicate.
    let class = if context.has_key { ErrorClass::Constraint } else { ErrorClass::Rejected };
    let error = OpError {
        class,
        code: None,
        message: format!(
            "the server applied {applied} of {} rows and does not say which",
            context.rows
        ),
    };
    let mut outcome = Outcome::applied(applied);
    if context.stable {
        outcome.rows_refused = refused;
    } else {
        outcome.rows_unknown = refused;
    }
    outcome.error = Some(error);
    outcome
}

/// One entry a row.
fn bulk(answer: &Answer, context: Context) -> Outcome {
    if answer.entries != context.rows {
        return unknown(protocol(&format!("{} results for {} rows", answer.entries, context.rows)));
    }
    let Some(first) = answer.unapplied.first() else {
        return Outcome::applied(answer.applied);
    };
    let classifications: Vec<Classification> =
        answer.reasons.iter().map(errors::classify_row).collect();
    let bare = classify_bare(answer, &classifications, context);
    let classification = |entry: &Unapplied| match entry.reason {
        Some(reason) => classifications.get(reason).copied().unwrap_or(bare),
        None if entry.count == 0 => SKIPPED,
        None => bare,
    };
    let explained = answer.unapplied.iter().find(|entry| entry.reason.is_some());
    let shown = explained.unwrap_or(first);
    let error = match shown.reason.and_then(|reason| answer.reasons.get(reason)) {
        Some(reason) => errors::op_error(classification(shown).class, reason),
        None => OpError {
            class: classification(shown).class,
            code: None,
            message: format!("a row was answered by {} and no reason", shown.count),
        },
    };
    let certainty = |entry: &Unapplied| {
        if context.is_not_applied(classification(entry).not_applied_if) {
            Certainty::NotApplied
        } else {
            Certainty::Unknown
        }
    };
    let mut failed = answer.unapplied.iter().peekable();
    let rows = u32::try_from(context.rows).unwrap_or(u32::MAX);
    let mut outcome = Outcome::by_row(rows, |row| {
        let here = failed.next_if(|entry| entry.row == row);
        here.map_or(Certainty::Applied, certainty)
    });
    // An outcome of the whole batch needs no list of rows.
    if outcome.rows_unknown == context.rows {
        return unknown(error);
    }
    if outcome.rows_refused == context.rows {
        return Outcome::refused(context.rows, error);
    }
    outcome.error = Some(error);
    outcome
}

/// Classifies a refusal without a reason: like the others of its shard, if there are so many that the server stopped
/// giving reasons; otherwise unclear.
fn classify_bare(
    answer: &Answer,
    classifications: &[Classification],
    context: Context,
) -> Classification {
    let of_capped = |entry: &Unapplied| {
        let classification = classifications.get(entry.reason?)?;
        classification.capped.then_some(*classification)
    };
    let capped: Vec<Classification> = answer.unapplied.iter().filter_map(of_capped).collect();
    let all_not_applied =
        capped.iter().all(|classification| context.is_not_applied(classification.not_applied_if));
    match capped.first() {
        Some(first) if all_not_applied && capped.len() >= EXPLAINED_PER_SHARD => *first,
        _ => Classification::new(ErrorClass::Unavailable, NotAppliedIf::Never),
    }
}

fn protocol(message: &str) -> OpError {
    OpError { class: ErrorClass::Protocol, code: None, message: message.to_owned() }
}

/// An unknown outcome after which the session is usable.
fn unknown(error: OpError) -> Outcome {
    let mut outcome = Outcome::unknown(error);
    outcome.session_usable = true;
    outcome
}

#[cfg(test)]
mod tests;
