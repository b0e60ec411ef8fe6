//! Determines the outcome of an op from a response: rows applied, refused, and unknown.
//!
//! Around the loss of a node, the server itself retries writes, and then reports stored rows as refused. So a refusal
//! counts only if the cluster is stable, or if the server decides it before it writes. Must not do I/O.
//!
//! Classifies CrateDB's errors: code, HTTP status and text to class and certainty. A refusal that the server decides
//! before it writes is certain. An error that can follow a partial write, or the loss of a node, is unknown. Source:
//! responses of CrateDB 6.4.3; the recordings are next to the tests.

#[cfg(test)]
mod tests;

use highwater_driver::network::one_line;
use highwater_driver::target_url::without_secrets;
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};
use highwater_model::user_error::{UserError, UserErrorKind};

use super::answer::{Answer, Reason, UnappliedRow};

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
    let reason = reason_of(answer);
    let mut classification = classify_request(answer.status, &reason);
    // A node that has just started does not know its tables yet.
    if answer.status == 404 && !context.stable {
        classification.class = ErrorClass::Unavailable;
    }
    let error = op_error(classification.class, &reason);
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

/// One entry per row.
fn bulk(answer: &Answer, context: Context) -> Outcome {
    if answer.entries != context.rows {
        return unknown(protocol(&format!("{} results for {} rows", answer.entries, context.rows)));
    }
    let Some(first) = answer.unapplied.first() else {
        return Outcome::applied(answer.applied);
    };
    let classifications: Vec<Classification> = answer.reasons.iter().map(classify_row).collect();
    let bare = classify_bare(answer, &classifications, context);
    let classification = |entry: &UnappliedRow| match entry.reason {
        Some(reason) => classifications.get(reason).copied().unwrap_or(bare),
        None if entry.count == 0 => SKIPPED,
        None => bare,
    };
    let explained = answer.unapplied.iter().find(|entry| entry.reason.is_some());
    let shown = explained.unwrap_or(first);
    let error = match shown.reason.and_then(|reason| answer.reasons.get(reason)) {
        Some(reason) => op_error(classification(shown).class, reason),
        None => OpError {
            class: classification(shown).class,
            code: None,
            message: format!("a row was answered by {} and no reason", shown.count),
        },
    };
    let certainty = |entry: &UnappliedRow| {
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

/// Classifies a refusal without a reason: like the others of its shard, if they are so numerous that the server
/// stopped giving reasons; otherwise unclear.
fn classify_bare(
    answer: &Answer,
    classifications: &[Classification],
    context: Context,
) -> Classification {
    let of_capped = |entry: &UnappliedRow| {
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

/// Prefix of the text of a rejection by the write pool; its code is only a generic one.
const REJECTED: &str = "EsRejectedExecution";

/// Not a server code: the response exceeds the read limit.
pub(super) const TOO_LONG: i64 = -1;

/// The relation is unknown: it never existed, or was dropped.
const UNKNOWN_TABLE: i64 = 4041;

/// The cluster itself has blocked writes to a table, as it does when a disk is nearly full.
const BLOCKED: i64 = 4037;
/// The hint for this error.
const BLOCKED_HINT: &str = "a disk may be fuller than \
     cluster.routing.allocation.disk.watermark.flood_stage: free space, then ALTER TABLE … SET \
     (\"blocks.read_only_allow_delete\" = false)";

/// The condition under which a failure means that nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotAppliedIf {
    /// Always, whatever happens to the cluster.
    Always,
    /// If the cluster is stable. If a node was lost, the server's earlier attempt may have written.
    Stable,
    /// Like [`NotAppliedIf::Stable`], and only if the table has a key: without one, the only
    /// duplicates come from the server's own retries.
    StableWithKey,
    /// It may have been written.
    Never,
}

/// The class of a failure, and its certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Classification {
    class: ErrorClass,
    not_applied_if: NotAppliedIf,
    /// Only up to ten entries per shard have an error.
    capped: bool,
}

impl Classification {
    /// For entries of which up to ten per shard have an error.
    pub(super) const fn new(class: ErrorClass, not_applied_if: NotAppliedIf) -> Self {
        Self { class, not_applied_if, capped: true }
    }
}

/// Classifies a row of a bulk request that was not applied.
fn classify_row(reason: &Reason) -> Classification {
    use ErrorClass::{Constraint, Data, Resource, Statement, Unavailable};
    if reason.text.starts_with(REJECTED) {
        return Classification {
            capped: false,
            ..Classification::new(ErrorClass::Rejected, NotAppliedIf::Stable)
        };
    }
    match reason.code {
        4091 => Classification::new(Constraint, NotAppliedIf::StableWithKey),
        4000 if violates_constraint(&reason.text) => {
            Classification::new(Constraint, NotAppliedIf::Always)
        }
        4000 | 4003 | 4005 => Classification::new(Data, NotAppliedIf::Always),
        4007 | BLOCKED => Classification::new(Statement, NotAppliedIf::Stable),
        40411 => Classification::new(Constraint, NotAppliedIf::Stable),
        5000 if is_resource(&reason.text) => Classification::new(Resource, NotAppliedIf::Never),
        _ => Classification::new(Unavailable, NotAppliedIf::Never),
    }
}

/// Classifies a whole request that failed.
fn classify_request(status: u16, reason: &Reason) -> Classification {
    use ErrorClass::{
        Authentication, Constraint, Data, Protocol, Rejected, Resource, Statement, Timeout,
        Unavailable,
    };
    let text = reason.text.as_str();
    let (class, not_applied_if) = match (status, reason.code) {
        (401, _) => (Authentication, NotAppliedIf::Always),
        // Larger than the server's request limit; it was not read.
        (413, _) => (Statement, NotAppliedIf::Always),
        (429, _) => (Rejected, NotAppliedIf::Always),
        _ if text.starts_with(REJECTED) => (Rejected, NotAppliedIf::Stable),
        (400, 4000) if violates_constraint(text) => (Constraint, NotAppliedIf::Always),
        (400, 4000) if is_about_values(text) => (Data, NotAppliedIf::Always),
        (400, 4003) => (Data, NotAppliedIf::Always),
        (_, 4091) => (Constraint, NotAppliedIf::StableWithKey),
        // Existing tables are missing for a while after a node has started.
        (404, 4040..=4049) | (403, _) => (Statement, NotAppliedIf::Always),
        (_, 5005) => (Timeout, NotAppliedIf::Never),
        (_, 5000) if is_resource(text) => (Resource, NotAppliedIf::Never),
        (400..=499, code) if code != 0 => (Statement, NotAppliedIf::Always),
        (500..=599, _) => (Unavailable, NotAppliedIf::Never),
        _ => (Protocol, NotAppliedIf::Never),
    };
    Classification::new(class, not_applied_if)
}

/// Violations of CHECK, NOT NULL, and a missing key are constraint errors, although their code is that of an invalid
/// statement.
fn violates_constraint(text: &str) -> bool {
    text.contains("Failed CONSTRAINT")
        || text.contains("must not be null")
        || text.contains("must not be NULL")
}

/// A value that does not fit, as opposed to an unparsable statement.
fn is_about_values(text: &str) -> bool {
    ["Cannot cast", "cannot be cast", "immense term", "parameter values", "Invalid value"]
        .iter()
        .any(|words| text.contains(words))
}

fn is_resource(text: &str) -> bool {
    text.starts_with("OutOfMemoryError") || text.starts_with("CircuitBreaking")
}

/// The server's message, on one line.
fn said(text: &str) -> String {
    without_secrets(one_line(text))
}

/// The failure of an op, with the server's message.
fn op_error(class: ErrorClass, reason: &Reason) -> OpError {
    OpError {
        class,
        code: (reason.code != 0).then(|| reason.code.to_string()),
        message: match reason.code {
            BLOCKED => format!("{}: {BLOCKED_HINT}", said(&reason.text)),
            _ => said(&reason.text),
        },
    }
}

/// Why a whole request failed, from the available parts of the response.
fn reason_of(answer: &Answer) -> Reason {
    if let Some(reason) = &answer.error {
        return reason.clone();
    }
    let text = answer.plain_text();
    let text = match (answer.status, text.is_empty()) {
        (413, true) => "the request is longer than the server takes (http.max_content_length)",
        (_, true) => "an answer without a text",
        (_, false) => text.as_str(),
    };
    Reason { code: 0, text: format!("HTTP {}: {text}", answer.status) }
}

/// Why a target cannot be used; `place` names it.
pub(super) fn target_error(place: &str, status: u16, reason: &Reason) -> UserError {
    let classification = classify_request(status, reason);
    let kind = match classification.class {
        _ if reason.code == UNKNOWN_TABLE => UserErrorKind::MissingTable,
        ErrorClass::Authentication => UserErrorKind::Refused,
        ErrorClass::Resource => UserErrorKind::Exhausted,
        _ if reason.code == TOO_LONG => UserErrorKind::Exhausted,
        ErrorClass::Unavailable
        | ErrorClass::Timeout
        | ErrorClass::Protocol
        | ErrorClass::Rejected => UserErrorKind::Unreachable,
        _ => UserErrorKind::Statement,
    };
    let hint = match (status, reason.code) {
        (_, 4011) => Some("GRANT DDL, DML, DQL ON SCHEMA … TO the user"),
        (401, _) => Some("check user and password: URL, or CRATEDB_PASSWORD"),
        (_, 4045) if reason.text.contains("'sys'") => {
            Some("health and counters are read from sys: GRANT DQL ON SCHEMA sys TO the user")
        }
        (_, 4045 | 4041) => Some(
            "name the schema in the URL: `…/SCHEMA`; a schema that the user has no right to is \
             missing for it",
        ),
        (_, BLOCKED) => Some(BLOCKED_HINT),
        (_, 4007) => Some("the table is blocked: look at its settings `blocks.…`"),
        (_, 4040 | 5002) => Some(
            "a shard has no copy that works: sys.allocations says why, such as a lost node or a \
             disk beyond its watermark",
        ),
        (503, _) => Some("the cluster has no master: it is starting, or more than half is lost"),
        _ if classification.class == ErrorClass::Protocol && reason.code != TOO_LONG => {
            Some("is this the HTTP port (4200), and not the PostgreSQL port (5432)?")
        }
        _ => None,
    };
    let code = match reason.code {
        0 | TOO_LONG => String::new(),
        code => format!(" ({code})"),
    };
    UserError::new(kind, format!("{place}: {}{code}", said(&reason.text))).hinted(hint)
}
