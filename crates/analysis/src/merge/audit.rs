//! The audit over all shares: their combined expectations against the rows found by the last audit.
//!
//! All shares write to one target, so each audit finds the rows of all shares, and none alone can show what is missing.
//! A loss is reported only if the last audit began after every share had drained; otherwise rows may have been written
//! later.

use crate::buckets;
use highwater_model::plan::PhaseKind;
use highwater_model::record::{AuditRecord, AuditStatus, Expectation, Resolved, RunRecord};

use super::timeline::instant;

/// One audit for all shares; the audit of a single share is unchanged.
pub(super) fn merged(shares: &[&RunRecord]) -> AuditRecord {
    let first = &shares[0].audit;
    if shares.len() == 1 {
        return first.clone();
    }
    let audits = || shares.iter().map(|share| &share.audit);
    let mut audit = AuditRecord {
        acknowledged: audits().map(|audit| audit.acknowledged).sum(),
        unknown: audits().map(|audit| audit.unknown).sum(),
        resolved: audits().fold(Resolved::default(), |sum, audit| Resolved {
            applied: sum.applied + audit.resolved.applied,
            partly: sum.partly + audit.resolved.partly,
            not_applied: sum.not_applied + audit.resolved.not_applied,
            rows_found: sum.rows_found + audit.resolved.rows_found,
        }),
        read_back: audits().map(|audit| audit.read_back).sum(),
        altered: audits().map(|audit| audit.altered).sum(),
        duration_ns: audits().map(|audit| audit.duration_ns).max().unwrap_or(0),
        estimate_ns: audits().map(|audit| audit.estimate_ns).max().unwrap_or(0),
        found: 0,
        missing: 0,
        surplus: 0,
        duplicated: 0,
        refused_found: 0,
        foreign: 0,
        buckets: 0,
        columns: Vec::new(),
        narrowed: false,
        server_counter: None,
        wrong_sql: audits().flat_map(|audit| audit.wrong_sql.clone()).collect(),
        examples: audits().flat_map(|audit| audit.examples.clone()).collect(),
        expectations: Vec::new(),
        error: None,
        ..first.clone()
    };
    let is_quiet = matches!(
        first.status,
        AuditStatus::Off | AuditStatus::NothingWritten | AuditStatus::StoresNothing
    );
    if is_quiet && audits().all(|audit| audit.status == first.status) {
        return audit;
    }
    match together(shares) {
        Ok(tables) => compare(&mut audit, shares, &tables),
        Err((status, error)) => {
            audit.status = status;
            audit.error = Some(error);
        }
    }
    audit
}

/// The expectations of all shares and the rows found by the last audit, per table; or the status of an audit that is
/// impossible, and the reason.
fn together(shares: &[&RunRecord]) -> Result<Vec<Expectation>, (AuditStatus, String)> {
    let mut written = Vec::new();
    for share in shares {
        written.extend(expectations(share)?);
    }
    // Each audit counts all rows of the tables, so only the last one is used.
    let last = shares
        .iter()
        .filter(|share| !share.audit.expectations.is_empty())
        .max_by_key(|share| audit_end(share));
    let Some(last) = last.map(|share| &share.audit.expectations) else {
        return Ok(Vec::new());
    };
    let tables = last.iter().map(|last| {
        let of_table = |part: &&&Expectation| part.table == last.table;
        let parts: Vec<&Expectation> = written.iter().filter(of_table).copied().collect();
        buckets::together(&parts, last).ok_or_else(|| {
            let error = format!("the shares compared different columns of `{}`", last.table);
            (AuditStatus::Failed, error)
        })
    });
    tables.collect()
}

/// The expectations of a share; empty if it wrote nothing.
fn expectations(share: &RunRecord) -> Result<&[Expectation], (AuditStatus, String)> {
    let audit = &share.audit;
    let index = share.plan.definition.share.index;
    match (audit.status, audit.expectations.as_slice()) {
        _ if !audit.wrong_sql.is_empty() => {
            let wrong: Vec<String> = audit.wrong_sql.iter().map(ToString::to_string).collect();
            let error = format!("share {index}: {}", wrong.join("; "));
            Err((AuditStatus::Failed, error))
        }
        (AuditStatus::Partial | AuditStatus::Done, [])
            if audit.acknowledged + audit.unknown > 0 =>
        {
            let error = format!("share {index} did not record what it expects");
            Err((AuditStatus::Failed, error))
        }
        (AuditStatus::Partial | AuditStatus::Done, expected) => Ok(expected),
        // Statements wrote rows that no share counts.
        (status @ (AuditStatus::NoInvariant | AuditStatus::OneShare), _) => {
            let why = audit.error.as_deref().unwrap_or("no reason recorded");
            Err((status, format!("share {index}: {why}")))
        }
        _ if audit.acknowledged == 0 && audit.unknown == 0 => Ok(&[]),
        (status, _) => {
            let why = audit.error.as_deref().unwrap_or("no reason recorded");
            let error = format!("share {index}: {}: {why}", status.name());
            Err((status, error))
        }
    }
}

fn compare(audit: &mut AuditRecord, shares: &[&RunRecord], tables: &[Expectation]) {
    audit.status = AuditStatus::Done;
    for table in tables {
        let comparison = buckets::compare(table);
        audit.buckets += comparison.buckets;
        audit.found += comparison.found;
        audit.missing += comparison.missing;
        audit.surplus += comparison.surplus;
        audit.duplicated += comparison.duplicated;
        audit.foreign += comparison.surplus - comparison.duplicated;
        audit.altered += comparison.altered;
        audit.examples.extend(comparison.examples);
        let named = table.columns.iter();
        audit.columns.extend(named.map(|column| format!("{}.{column}", table.table)));
    }
    audit.examples.truncate(buckets::EXAMPLES_MAX);
    if let Some(index) = still_writing(shares).filter(|_| audit.missing > 0) {
        audit.status = AuditStatus::Failed;
        audit.error = Some(format!(
            "the last audit began before share {index} had ended, so what it did not find may \
             have come later"
        ));
    }
}

/// The share that was still writing when the last audit began, or whose times cannot be parsed.
fn still_writing(shares: &[&RunRecord]) -> Option<u32> {
    let last = shares.iter().max_by_key(|share| audit_end(share))?;
    let began = wall(last, |phase| phase == PhaseKind::Audit).map(|(start, _)| start);
    let late = shares.iter().find(|share| {
        // The load phase precedes the time from which phases count.
        let writes = |phase| !matches!(phase, PhaseKind::Audit | PhaseKind::Load);
        let ended = wall(share, writes).map(|(_, end)| end);
        began.is_none() || ended.is_none() || ended > began
    })?;
    Some(late.plan.definition.share.index)
}

/// When a share's audit ended, Unix nanoseconds; before all others if unknown.
fn audit_end(share: &RunRecord) -> i128 {
    wall(share, |phase| phase == PhaseKind::Audit).map_or(i128::MIN, |(_, end)| end)
}

/// Earliest begin and latest end of such phases, Unix nanoseconds.
fn wall(share: &RunRecord, is: impl Fn(PhaseKind) -> bool) -> Option<(i128, i128)> {
    let started = instant(&share.header.started_at)?.unix_timestamp_nanos();
    let phases = || share.phases.iter().filter(|phase| is(phase.kind));
    let start = phases().map(|phase| phase.start_ns).min()?;
    let end = phases().map(|phase| phase.start_ns.saturating_add(phase.duration_ns)).max()?;
    Some((started + i128::from(start), started + i128::from(end)))
}
