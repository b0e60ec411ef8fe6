//! From an answer to the outcome of an op: what was applied, what was refused, what nobody knows.
//!
//! Around the loss of a node the server repeats writes by itself, and then reports rows as
//! refused that are there. So a refusal counts only if the cluster is calm, or if the refusal was
//! decided before anything was written.

use highwater_core::model::outcome::{Certainty, ErrorClass, OpError, Outcome};

use super::answer::{Answer, Unapplied};
use super::errors::{self, Meaning, Sure};

/// Entries of one shard that carry an error; the rest of the shard's refusals are bare.
const EXPLAINED_PER_SHARD: usize = 10;

/// A row that the statement's own ON CONFLICT left out.
const SKIPPED: Meaning = Meaning {
    class: ErrorClass::Constraint,
    sure: Sure::WhileCalmWithKey,
    capped: false,
};

/// What is known besides the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Context {
    /// Rows of the op; 0 for a query.
    pub(super) rows: u64,
    /// It is an insert.
    pub(super) insert: bool,
    /// One entry a row is expected.
    pub(super) bulk: bool,
    /// The table has a primary key.
    pub(super) has_key: bool,
    /// No node was lost around the op, as far as we can see.
    pub(super) calm: bool,
}

impl Context {
    fn is_sure(self, sure: Sure) -> bool {
        match sure {
            Sure::Always => true,
            Sure::WhileCalm => self.calm,
            Sure::WhileCalmWithKey => self.calm && self.has_key,
            Sure::Never => false,
        }
    }
}

/// Whether the outcome depends on [`Context::calm`], so that it is worth asking.
pub(super) fn depends_on_calm(answer: &Answer, context: Context) -> bool {
    let calm = Context {
        calm: true,
        ..context
    };
    let troubled = Context {
        calm: false,
        ..context
    };
    judge(answer, calm) != judge(answer, troubled)
}

/// The outcome of an op whose answer came whole.
pub(super) fn judge(answer: &Answer, context: Context) -> Outcome {
    let mut outcome = if answer.status != 200 || answer.error.is_some() {
        failed(answer, context)
    } else if !answer.is_whole() {
        let broken = protocol("the answer is not the JSON that was expected");
        unknown(broken)
    } else if !context.insert {
        // A statement without columns has one empty row.
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

/// The whole request failed.
fn failed(answer: &Answer, context: Context) -> Outcome {
    let reason = errors::reason_of(answer);
    let mut meaning = errors::of_request(answer.status, &reason);
    // A node that has just started does not know its tables yet.
    if answer.status == 404 && !context.calm {
        meaning.class = ErrorClass::Unavailable;
    }
    let error = errors::op_error(meaning.class, &reason);
    if !context.insert || context.is_sure(meaning.sure) {
        Outcome::refused(context.rows, error)
    } else {
        unknown(error)
    }
}

/// One statement for all rows: it says how many, and never which.
fn counted(answer: &Answer, context: Context) -> Outcome {
    let applied = answer.rowcount.and_then(|count| u64::try_from(count).ok());
    let Some(applied) = applied.filter(|applied| *applied <= context.rows) else {
        return unknown(protocol(
            "the count of the answer is not one of rows written",
        ));
    };
    let refused = context.rows - applied;
    if refused == 0 {
        return Outcome::applied(applied);
    }
    // The server does not say why. Without a key it cannot have been a duplicate.
    let class = if context.has_key {
        ErrorClass::Constraint
    } else {
        ErrorClass::Rejected
    };
    let error = OpError {
        class,
        code: None,
        message: format!(
            "the server applied {applied} of {} rows and does not say which",
            context.rows
        ),
    };
    let mut outcome = Outcome::applied(applied);
    if context.calm {
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
        return unknown(protocol(&format!(
            "{} results for {} rows",
            answer.entries, context.rows
        )));
    }
    let Some(first) = answer.unapplied.first() else {
        return Outcome::applied(answer.applied);
    };
    let meanings: Vec<Meaning> = answer.reasons.iter().map(errors::of_row).collect();
    let bare = meaning_of_bare(answer, &meanings, context);
    let meaning = |entry: &Unapplied| match entry.reason {
        Some(reason) => meanings.get(reason).copied().unwrap_or(bare),
        None if entry.count == 0 => SKIPPED,
        None => bare,
    };
    let explained = answer.unapplied.iter().find(|entry| entry.reason.is_some());
    let told = explained.unwrap_or(first);
    let error = match told.reason.and_then(|reason| answer.reasons.get(reason)) {
        Some(reason) => errors::op_error(meaning(told).class, reason),
        None => OpError {
            class: meaning(told).class,
            code: None,
            message: format!("a row was answered by {} and no reason", told.count),
        },
    };
    let fate = |entry: &Unapplied| {
        if context.is_sure(meaning(entry).sure) {
            Certainty::NotApplied
        } else {
            Certainty::Unknown
        }
    };
    let mut failed = answer.unapplied.iter().peekable();
    let rows = u32::try_from(context.rows).unwrap_or(u32::MAX);
    let mut outcome = Outcome::by_row(rows, |row| {
        let here = failed.next_if(|entry| entry.row == row);
        here.map_or(Certainty::Applied, fate)
    });
    // What holds for the whole batch needs no list of rows.
    if outcome.rows_unknown == context.rows {
        return unknown(error);
    }
    if outcome.rows_refused == context.rows {
        return Outcome::refused(context.rows, error);
    }
    outcome.error = Some(error);
    outcome
}

/// What a refusal without a reason means: the same as the others of its shard, if they are so many
/// that the server has stopped giving reasons; else nobody knows.
fn meaning_of_bare(answer: &Answer, meanings: &[Meaning], context: Context) -> Meaning {
    let nobody_knows = Meaning {
        class: ErrorClass::Unavailable,
        sure: Sure::Never,
        capped: true,
    };
    let of_capped = |entry: &Unapplied| {
        let meaning = meanings.get(entry.reason?)?;
        meaning.capped.then_some(*meaning)
    };
    let capped: Vec<Meaning> = answer.unapplied.iter().filter_map(of_capped).collect();
    let all_sure = capped.iter().all(|meaning| context.is_sure(meaning.sure));
    match capped.first() {
        Some(first) if all_sure && capped.len() >= EXPLAINED_PER_SHARD => *first,
        _ => nobody_knows,
    }
}

fn protocol(message: &str) -> OpError {
    OpError {
        class: ErrorClass::Protocol,
        code: None,
        message: message.to_owned(),
    }
}

/// Nobody knows what was applied, but the session goes on.
fn unknown(error: OpError) -> Outcome {
    let mut outcome = Outcome::unknown(error);
    outcome.session_usable = true;
    outcome
}

#[cfg(test)]
mod tests;
