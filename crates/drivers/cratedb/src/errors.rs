//! Classifies CrateDB's errors: code, HTTP status and text to class and certainty.
//!
//! A refusal that the server decides before it writes is certain. An error that can follow a partial write, or the loss
//! of a node, is unknown. Must not guess. Source: responses of CrateDB 6.4.3; the recordings are next to the tests.

use highwater_model::outcome::{ErrorClass, OpError};

use super::answer::{Answer, Reason};
use highwater_driver::network::one_line;
use highwater_driver::redaction::without_secrets;
use highwater_model::user_error::{UserError, UserErrorKind};

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
    /// As [`NotAppliedIf::Stable`], and only if the table has a key: without one, the only
    /// duplicates come from the server's own retries.
    StableWithKey,
    /// It may have been written.
    Never,
}

/// The class of a failure, and its certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Classification {
    pub(super) class: ErrorClass,
    pub(super) not_applied_if: NotAppliedIf,
    /// Only up to ten entries per shard have an error.
    pub(super) capped: bool,
}

impl Classification {
    /// For entries of which up to ten per shard have an error.
    pub(super) const fn new(class: ErrorClass, not_applied_if: NotAppliedIf) -> Self {
        Self { class, not_applied_if, capped: true }
    }
}

/// Classifies a row of a bulk request that was not applied.
pub(super) fn classify_row(reason: &Reason) -> Classification {
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
pub(super) fn classify_request(status: u16, reason: &Reason) -> Classification {
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
pub(super) fn op_error(class: ErrorClass, reason: &Reason) -> OpError {
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
pub(super) fn reason_of(answer: &Answer) -> Reason {
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

#[cfg(test)]
mod tests {
    use super::super::recordings::recording;
    use super::*;

    /// A smaller statement may succeed; the same one will fail again.
    #[test]
    fn a_circuit_breaker_is_no_absence() {
        for name in ["47-breaker-of-a-fetch", "34-oom-or-breaker-1"] {
            let recorded = recording(name);
            let reason = reason_of(&recorded.answer());
            let error = target_error("h", recorded.status, &reason);
            assert_eq!(error.kind, UserErrorKind::Exhausted, "{error}");
            assert!(error.message.contains(&reason.text), "{error}");
        }
    }

    #[test]
    fn a_missing_right_has_a_hint_of_its_own() {
        for (status, code, text, hint) in [
            (404, 4045, "SchemaUnknownException[Schema 'sys' unknown]", "GRANT DQL ON SCHEMA sys"),
            (404, 4045, "SchemaUnknownException[Schema 'doc' unknown]", "/SCHEMA"),
            (401, 4011, "MissingPrivilegeException[Missing 'DDL' …]", "GRANT DDL, DML, DQL"),
            (401, 0, "HTTP 401: …", "user and password"),
        ] {
            let reason = Reason { code, text: text.to_owned() };
            let error = target_error("crate://h", status, &reason);
            assert!(error.hint.unwrap().contains(hint), "{text}");
        }
    }
}
