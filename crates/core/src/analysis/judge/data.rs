//! Whether what was acknowledged was found.
//!
//! Only a finished audit can say `clean` or name a loss; it must not be inferred from counts.

use crate::model::display::count;
use crate::model::judgement::{Data, Judgement, Reason, ReasonCode};
use crate::model::plan::AuditLevel;
use crate::model::record::{AuditExample, AuditRecord, RunRecord};

use super::{Ended, finding, judgement, reason};

/// Key ranges that a reason names.
const RANGES_NAMED: usize = 3;

pub(super) fn judge(record: &RunRecord) -> Judgement<Data> {
    let audit = &record.audit;
    match audit.status.as_str() {
        "off" | "nothing_written" => judgement(Data::Off, Vec::new()),
        _ if audit.level == AuditLevel::Off => judgement(Data::Off, Vec::new()),
        "done" => compared(record),
        status => judgement(Data::Unverified, unverified(record, status)),
    }
}

/// A finished audit. What is missing outranks what is altered, and that what is too much.
fn compared(record: &RunRecord) -> Judgement<Data> {
    let audit = &record.audit;
    let mut reasons = Vec::new();
    let lost = push(&mut reasons, lost(audit));
    let altered = push(&mut reasons, altered(audit));
    let surplus = push(&mut reasons, surplus(audit));
    let not_quiet = push(&mut reasons, not_quiet(record));
    push(&mut reasons, resent_unknown(audit));
    let value = match (lost, altered, surplus, not_quiet) {
        (true, ..) => Data::Lost,
        (_, true, ..) => Data::Altered,
        (_, _, true, _) => Data::Duplicated,
        (.., true) => Data::Unverified,
        _ => Data::Clean,
    };
    judgement(value, reasons)
}

fn push(reasons: &mut Vec<Reason>, reason: Option<Reason>) -> bool {
    let found = reason.is_some();
    reasons.extend(reason);
    found
}

fn lost(audit: &AuditRecord) -> Option<Reason> {
    if audit.missing == 0 {
        return None;
    }
    let figures = format!(
        "{} of {} acknowledged rows are missing",
        count(audit.missing),
        count(audit.acknowledged)
    );
    let missing = |e: &&AuditExample| e.found < e.acknowledged;
    let places = with_examples(figures, audit.examples.iter().filter(missing));
    let hint = "look at the target's durability and replication settings, and at its log";
    let message = "acknowledged rows were not found";
    reason(ReasonCode::RowsLost, message, &places, hint)
}

fn surplus(audit: &AuditRecord) -> Option<Reason> {
    if audit.surplus == 0 && audit.duplicated == 0 {
        return None;
    }
    let figures = format!(
        "{} rows too many, {} of them in key ranges that were sent",
        count(audit.surplus.max(audit.duplicated)),
        count(audit.duplicated)
    );
    let surplus = |e: &&AuditExample| e.found > e.acknowledged + e.unknown;
    let places = with_examples(figures, audit.examples.iter().filter(surplus));
    let hint = "a primary key on the table would refuse what is sent twice";
    let message = "more rows were found than were sent";
    reason(ReasonCode::RowsSurplus, message, &places, hint)
}

fn altered(audit: &AuditRecord) -> Option<Reason> {
    if audit.altered == 0 {
        return None;
    }
    let places = [format!("{} rows", count(audit.altered))];
    let hint = "compare the column types of the table with those of the workload";
    let message = "rows were found with other values than were sent";
    reason(ReasonCode::RowsAltered, message, &places, hint)
}

/// A note: rows of unknown fate that turned out to be stored.
fn resent_unknown(audit: &AuditRecord) -> Option<Reason> {
    let expected = audit.acknowledged.saturating_sub(audit.missing) + audit.surplus;
    let stored = audit.found.saturating_sub(expected);
    if audit.unknown == 0 || stored == 0 {
        return None;
    }
    let places = [format!(
        "{} of {} rows of unknown fate were stored",
        count(stored),
        count(audit.unknown)
    )];
    let message = "rows of unknown fate were found, as they may be";
    reason(ReasonCode::ResentUnknown, message, &places, "")
}

fn not_quiet(record: &RunRecord) -> Option<Reason> {
    let places = [finding(record, ReasonCode::NotQuiet)?.to_owned()];
    let message = "statements of this run were still at work when the audit began";
    let hint = "let the target come to rest, then run again";
    reason(ReasonCode::NotQuiet, message, &places, hint)
}

fn unverified(record: &RunRecord, status: &str) -> Vec<Reason> {
    let audit = &record.audit;
    let share = &record.plan.intention.share;
    let why = audit.error.clone();
    let ended = Ended::of(record);
    let (code, message, evidence, hint) = match status {
        "timeout" => (
            ReasonCode::AuditTimeout,
            "the audit did not end within its limit",
            why.unwrap_or_else(|| format!("{} key ranges compared", count(audit.ranges))),
            "allow it more time with --audit-timeout, or write fewer rows",
        ),
        "partial" => (
            ReasonCode::OneShare,
            "the target holds the rows of all shares, and this record knows one of them",
            format!("share {} of {}", share.index, share.of),
            "show all shares' records together: highwater show RECORD RECORD …",
        ),
        "no_invariant" => (
            ReasonCode::NoInvariant,
            "the workload names nothing that could be checked",
            why.unwrap_or_else(|| record.workload.name.clone()),
            "name a key in the workload, or state --audit off",
        ),
        _ if ended == Ended::Interrupted => (
            ReasonCode::AuditFailed,
            "the run was ended before its audit was done",
            why.unwrap_or_else(|| format!("audit status: {status}")),
            "one Ctrl-C lets what is in flight finish and audits; a second one ends at once",
        ),
        _ => (
            ReasonCode::AuditFailed,
            "the audit could not ask the target",
            why.unwrap_or_else(|| format!("audit status: {status}")),
            if ended == Ended::TargetLost {
                "highwater check says whether it answers again"
            } else {
                "highwater check says which rights the user has"
            },
        ),
    };
    let mut reasons: Vec<Reason> = reason(code, message, &[evidence], hint)
        .into_iter()
        .collect();
    reasons.extend(not_quiet(record));
    reasons
}

/// One text: the figures, then some key ranges.
fn with_examples<'a>(
    mut figures: String,
    examples: impl Iterator<Item = &'a AuditExample>,
) -> Vec<String> {
    let named: Vec<String> = examples
        .take(RANGES_NAMED)
        .map(|e| {
            let sent = count(e.acknowledged);
            let unknown = match e.unknown {
                0 => String::new(),
                unknown => format!(" and {} of unknown fate", count(unknown)),
            };
            format!(
                "{} keys {}–{}: {sent} acknowledged{unknown}, {} found",
                e.table,
                e.first_key,
                e.last_key,
                count(e.found)
            )
        })
        .collect();
    if !named.is_empty() {
        figures = format!("{figures} ({})", named.join("; "));
    }
    vec![figures]
}
