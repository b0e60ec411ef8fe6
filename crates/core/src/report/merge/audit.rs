//! The audit over all shares: what they all expect against what the last one found.
//!
//! All shares write to one target, so each audit finds the rows of all, and none of them alone can
//! say what is missing. A loss is stated only where the last audit began after every share had
//! drained; otherwise rows may have come later.

use crate::analysis::key_ranges;
use crate::model::plan::PhaseKind;
use crate::model::record::{AuditRecord, Expectation, RunRecord};

use super::timeline::instant;

/// One audit for all shares; that of a single share stays as it is.
pub(super) fn merged(shares: &[&RunRecord]) -> AuditRecord {
    let first = &shares[0].audit;
    if shares.len() == 1 {
        return first.clone();
    }
    let mut audit = AuditRecord {
        acknowledged: shares.iter().map(|s| s.audit.acknowledged).sum(),
        unknown: shares.iter().map(|s| s.audit.unknown).sum(),
        altered: shares.iter().map(|s| s.audit.altered).sum(),
        duration_ns: shares
            .iter()
            .map(|s| s.audit.duration_ns)
            .max()
            .unwrap_or(0),
        found: 0,
        missing: 0,
        surplus: 0,
        duplicated: 0,
        ranges: 0,
        server_counter: None,
        examples: Vec::new(),
        expectation: None,
        error: None,
        ..first.clone()
    };
    for quiet in ["off", "nothing_written"] {
        if shares.iter().all(|share| share.audit.status == quiet) {
            quiet.clone_into(&mut audit.status);
            return audit;
        }
    }
    match together(shares) {
        Ok(whole) => compare(&mut audit, shares, &whole),
        Err((status, error)) => {
            audit.status = status;
            audit.error = Some(error);
        }
    }
    audit
}

/// What all shares expect and the last audit found, per key range; or the status of an audit that
/// cannot be made, and why.
fn together(shares: &[&RunRecord]) -> Result<Expectation, (String, String)> {
    let mut expected = Vec::new();
    for share in shares {
        expected.extend(expectation(share)?);
    }
    // Widths are powers of two: the widest one holds whole ranges of the others.
    let width = expected.iter().map(|e| e.width).max().unwrap_or(1);
    let mut whole = Expectation {
        width,
        ranges: Vec::new(),
        found: Vec::new(),
    };
    for part in expected {
        for [range, acknowledged, unknown] in &part.ranges {
            whole
                .ranges
                .push([range * part.width / width, *acknowledged, *unknown]);
        }
    }
    // Each audit counts all rows of the table, so the last one alone says what is there.
    let audited = shares
        .iter()
        .filter(|share| share.audit.expectation.is_some());
    let last = audited.max_by_key(|share| audit_end(share));
    if let Some(part) = last.and_then(|share| share.audit.expectation.as_ref()) {
        let found = part.found.iter();
        whole
            .found
            .extend(found.map(|[range, rows]| [range * part.width / width, *rows]));
    }
    Ok(whole)
}

/// What a share expects; `None` where it wrote nothing.
fn expectation(share: &RunRecord) -> Result<Option<&Expectation>, (String, String)> {
    let audit = &share.audit;
    let index = share.plan.intention.share.index;
    match (audit.status.as_str(), &audit.expectation) {
        ("partial" | "done", Some(expected)) => Ok(Some(expected)),
        _ if audit.acknowledged == 0 && audit.unknown == 0 => Ok(None),
        ("partial" | "done", None) => {
            let error = format!("share {index} did not record what it expects");
            Err(("failed".to_owned(), error))
        }
        (status, _) => {
            let why = audit.error.as_deref().unwrap_or("no reason recorded");
            Err((status.to_owned(), format!("share {index}: {status}: {why}")))
        }
    }
}

fn compare(audit: &mut AuditRecord, shares: &[&RunRecord], whole: &Expectation) {
    let examples = shares.iter().flat_map(|share| &share.audit.examples);
    let table = examples.map(|example| example.table.clone()).next();
    let comparison = key_ranges::compare(&table.unwrap_or_default(), whole);
    "done".clone_into(&mut audit.status);
    audit.ranges = comparison.ranges;
    audit.found = comparison.found;
    audit.missing = comparison.missing;
    audit.surplus = comparison.surplus;
    audit.duplicated = comparison.duplicated;
    audit.examples = comparison.examples;
    if let Some(index) = still_writing(shares).filter(|_| audit.missing > 0) {
        "failed".clone_into(&mut audit.status);
        audit.error = Some(format!(
            "the last audit began before share {index} had ended, so what it did not find may \
             have come later"
        ));
    }
}

/// The share that was still writing when the last audit began, or whose times cannot be read.
fn still_writing(shares: &[&RunRecord]) -> Option<u32> {
    let last = shares.iter().max_by_key(|share| audit_end(share))?;
    let began = wall(last, |phase| phase == PhaseKind::Audit).map(|(start, _)| start);
    let late = shares.iter().find(|share| {
        // The load lies before the time that phases count from.
        let writes = |phase| !matches!(phase, PhaseKind::Audit | PhaseKind::Load);
        let ended = wall(share, writes).map(|(_, end)| end);
        began.is_none() || ended.is_none() || ended > began
    })?;
    Some(late.plan.intention.share.index)
}

/// When a share's audit ended, Unix nanoseconds; before all others where it is not known.
fn audit_end(share: &RunRecord) -> i128 {
    wall(share, |phase| phase == PhaseKind::Audit).map_or(i128::MIN, |(_, end)| end)
}

/// Earliest begin and latest end of such phases, Unix nanoseconds.
fn wall(share: &RunRecord, is: impl Fn(PhaseKind) -> bool) -> Option<(i128, i128)> {
    let started = instant(&share.started_at)?.unix_timestamp_nanos();
    let phases = || share.phases.iter().filter(|phase| is(phase.kind));
    let start = phases().map(|phase| phase.start_ns).min()?;
    let end = phases()
        .map(|phase| phase.start_ns.saturating_add(phase.duration_ns))
        .max()?;
    Some((started + i128::from(start), started + i128::from(end)))
}
