//! Merges the records of all shares of a plan into one, as if one load generator had run it all.
//!
//! Counts are added and distributions merged. A percentile is never averaged; figures that follow from counts are
//! recomputed. Times count from the earliest start of any share. Shares that did not run at the same time are not
//! added.
//!
//! The audit over all shares compares their combined expectations with the rows found by the last audit.
//!
//! All shares write to one target, so each audit finds the rows of all shares, and none alone can show what is missing.
//! A loss is reported only if the last audit began after every share had drained; otherwise rows may have been written
//! later.

mod results;
mod timeline;

#[cfg(test)]
mod tests;

use std::borrow::{Borrow, Cow};
use std::collections::BTreeSet;

use highwater_model::plan::{PhaseKind, Share, SteadinessRule};
use highwater_model::record::{
    AuditRecord, AuditStatus, Change, Expectation, IncidentKind, ResolvedBatches, ResultRecord,
    RunRecord, StreamRecord, WINDOW_NS,
};
use highwater_model::units::Nanos;

use crate::availability::{acknowledged_per_s, of_gaps};
use crate::judge::{littles_law_sessions, measured_streams};
use crate::telemetry::disk_bytes_per_row;
use crate::throughput::{counted, throughput};
use crate::{judge, limit, sums};

pub use timeline::{MergeError, late_allowed, late_message};

/// Maximum number of missing shares named in an error.
const MISSING_NAMED: usize = 16;

/// Merges the records of all shares of one plan, in any order.
///
/// Percentiles of a second are absent in the result if several shares had ops in it, because intervals keep no
/// distributions. The ID is that of the first share followed by `-merged`.
///
/// # Errors
/// If the records are not all shares of one plan, each once, against one target and at one time, or a distribution
/// cannot be decoded.
pub fn merge<R: Borrow<RunRecord>>(records: &[R]) -> Result<RunRecord, MergeError> {
    let shares = checked(records.iter().map(Borrow::borrow).collect())?;
    let started_at = timeline::earliest(&shares);
    let audit = merged(&shares);
    let placed = timeline::together(&shares)?;
    let shares: Vec<&RunRecord> = placed.iter().map(AsRef::as_ref).collect();
    let first = shares[0];
    let mut merged = first.clone();
    if shares.len() > 1 {
        merged.header.id = format!("{}-merged", first.header.id);
    }
    merged.plan.definition.share = Share::WHOLE;
    merged.header.started_at = started_at;
    merged.meeting = results::meeting(&shares);
    merged.phases = timeline::phases(&shares);
    merged.results = results::results(&shares, &merged.phases)?;
    merged.streams = results::streams(&shares, &merged);
    merged.intervals = timeline::intervals(&shares);
    merged.availability = timeline::availability(&shares);
    if placed.iter().any(|share| matches!(share, Cow::Owned(_))) {
        // The shares' own seconds begin at different times.
        let per_s = acknowledged_per_s(&merged.intervals, &merged.phases);
        merged.availability.acknowledged_per_s = per_s;
    }
    merged.audit = audit;
    merged.target = results::target(&shares);
    merged.clients = shares.iter().flat_map(|s| s.clients.clone()).collect();
    merged.telemetry = results::telemetry(&shares);
    // From the first share that has it; the others do not poll the target.
    merged.target_telemetry = shares.iter().find_map(|s| s.target_telemetry.clone());
    merged.incidents = results::named(&shares, |s| &s.incidents, |one| &mut one.message);
    merged.interventions = results::interventions(&shares);
    merged.notes = results::named(&shares, |s| &s.notes, |one| &mut one.message);
    // The next command is for all shares, and each launcher gives them their numbers.
    merged.header.command.settings.remove("start-at");
    for share in merged.header.command.settings.get_mut("share").into_iter().flatten() {
        share.value = Some("auto".to_owned());
    }
    merged.header.environment = results::joined(shares.iter().map(|s| &s.header.environment));
    merged.header.labels = results::joined(shares.iter().map(|s| &s.header.labels));
    draw(&mut merged);
    merged.target.disk_bytes_per_row = disk_bytes_per_row(&merged);
    merged.judgments = judge(&merged);
    merged.limit = limit(&merged);
    Ok(merged)
}

/// The records in the order of their shares, if they all belong to one plan.
fn checked(mut shares: Vec<&RunRecord>) -> Result<Vec<&RunRecord>, MergeError> {
    let first = *shares.first().ok_or(MergeError::Empty)?;
    let of = first.plan.definition.share.of;
    let mut seen = BTreeSet::new();
    for record in shares.iter().copied() {
        let share = &record.plan.definition.share;
        if record.plan.hash != first.plan.hash {
            return Err(MergeError::PlansDiffer {
                first: named(first, &first.plan.hash),
                other: named(record, &record.plan.hash),
            });
        }
        if identity(record) != identity(first) {
            return Err(MergeError::TargetsDiffer {
                first: named(first, &identity(first)),
                other: named(record, &identity(record)),
            });
        }
        // Phases begun by pace changes must be equal in all shares, at whatever time they began.
        if !changes(record).eq(changes(first)) {
            return Err(MergeError::ChangesDiffer {
                first: first.header.id.clone(),
                other: record.header.id.clone(),
            });
        }
        if meeting(record) != meeting(first) {
            return Err(MergeError::MeetingsDiffer {
                first: first.header.id.clone(),
                other: record.header.id.clone(),
            });
        }
        if share.of != of {
            return Err(MergeError::CountsDiffer {
                record: record.header.id.clone(),
                of: share.of,
                others: of,
            });
        }
        if !seen.insert(share.index) {
            let index = share.index;
            return Err(MergeError::Twice { index, of });
        }
    }
    let missing: Vec<String> = (1..=of)
        .filter(|index| !seen.contains(index))
        .take(MISSING_NAMED)
        .map(|index| index.to_string())
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(MergeError::Missing { missing, of });
    }
    shares.sort_by_key(|record| record.plan.definition.share.index);
    Ok(shares)
}

/// The meeting at which a share began with others.
fn meeting(record: &RunRecord) -> Option<&str> {
    record.meeting.as_ref().map(|meeting| meeting.id.as_str())
}

/// Pace changes, with the phases that they began.
fn changes(record: &RunRecord) -> impl Iterator<Item = (&str, &Change)> {
    let done = record.interventions.iter();
    done.filter(|done| done.begins_phase()).map(|done| (done.phase.as_str(), &done.change))
}

fn named(record: &RunRecord, what: &str) -> String {
    let what: String = what.chars().take(32).collect();
    format!("{} ({what})", record.header.id)
}

fn identity(record: &RunRecord) -> String {
    format!("{} {}", record.target.driver, record.target.version)
}

/// Draws throughput, interval and steadiness of the streams, Little's law, and the availability.
fn draw(record: &mut RunRecord) {
    let rule = record.plan.definition.steadiness;
    for stream in &mut record.streams {
        draw_stream(stream, &record.results, rule);
    }
    draw_intervals(record);
    let measured = measured_streams(record);
    let expected = record.streams.iter().map(|stream| {
        let mut measured = measured.iter();
        littles_law_sessions(measured.find(|of| std::ptr::eq(of.stream, stream))?)
    });
    let expected: Vec<Option<f64>> = expected.collect();
    for (stream, sessions) in record.streams.iter_mut().zip(expected) {
        stream.littles_law_sessions = sessions;
    }
    let seen = std::mem::take(&mut record.availability);
    let (gaps, per_s) = (seen.gaps, seen.acknowledged_per_s);
    record.availability = of_gaps(gaps, per_s, &record.phases, &record.results, &[]);
}

fn draw_stream(stream: &mut StreamRecord, results: &[ResultRecord], rule: SteadinessRule) {
    let mut ops: Vec<&ResultRecord> = results.iter().collect();
    ops.retain(|r| (&r.phase, &r.stream) == (&stream.phase, &stream.stream));
    let (counts, units) = counted(stream.unit, &ops);
    stream.throughput.ops_per_s = ops.iter().map(|r| r.throughput.ops_per_s).sum();
    stream.throughput.rows_per_s = ops.iter().map(|r| r.throughput.rows_per_s).sum();
    throughput(&counts, Nanos(WINDOW_NS)).describe(stream, units, rule);
}

/// A stream with only one op takes its interval from the op.
fn draw_intervals(record: &mut RunRecord) {
    for stream in &record.streams {
        let mut of_stream: Vec<&mut ResultRecord> = record
            .results
            .iter_mut()
            .filter(|r| (&r.phase, &r.stream) == (&stream.phase, &stream.stream))
            .collect();
        if let [only] = of_stream.as_mut_slice() {
            only.throughput.ci95 = stream.throughput.ci95;
        }
    }
}

/// One audit for all shares; the audit of a single share is unchanged.
fn merged(shares: &[&RunRecord]) -> AuditRecord {
    let first = &shares[0].audit;
    if shares.len() == 1 {
        return first.clone();
    }
    let audits = || shares.iter().map(|share| &share.audit);
    if let Some(whole) = audits().find(|audit| audit.of_all_shares) {
        return whole.clone();
    }
    let mut audit = AuditRecord {
        acknowledged: audits().map(|audit| audit.acknowledged).sum(),
        unknown: audits().map(|audit| audit.unknown).sum(),
        resolved: audits().fold(ResolvedBatches::default(), |sum, audit| ResolvedBatches {
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
    let met = shares[0].meeting.is_some();
    if met && !written.is_empty() && shares[0].audit.expectations.is_empty() {
        let error =
            "share 1, which counts the rows of all, did not: `highwater audit` counts them now";
        return Err((AuditStatus::Failed, error.to_owned()));
    }
    // Each audit counts all rows of the tables, so only the last one is used.
    let Some(last) = last_audit(shares).map(|share| &share.audit.expectations) else {
        return Ok(Vec::new());
    };
    let tables = last.iter().map(|last| {
        let of_table = |part: &&&Expectation| part.table == last.table;
        let parts: Vec<&Expectation> = written.iter().filter(of_table).copied().collect();
        sums::together(&parts, last).ok_or_else(|| {
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
        _ if is_killed(share) => {
            let error = format!(
                "share {index} was killed, and only its ledger has its rows: `highwater audit` compares that"
            );
            Err((AuditStatus::Failed, error))
        }
        _ if audit.acknowledged == 0 && audit.unknown == 0 => Ok(&[]),
        (status, _) => {
            let why = audit.error.as_deref().unwrap_or("no reason recorded");
            let error = format!("share {index}: {}: {why}", status.name());
            Err((status, error))
        }
    }
}

/// Whether a share's process was killed: the last ops are not in its journal, even if that is empty.
fn is_killed(share: &RunRecord) -> bool {
    share.incidents.iter().any(|incident| incident.kind == IncidentKind::Killed)
}

fn compare(audit: &mut AuditRecord, shares: &[&RunRecord], tables: &[Expectation]) {
    audit.status = AuditStatus::Done;
    for table in tables {
        let comparison = sums::compare(table);
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
    audit.examples.truncate(sums::EXAMPLES_MAX);
    if let Some(index) = still_writing(shares).filter(|_| audit.missing > 0) {
        audit.status = AuditStatus::Failed;
        audit.error = Some(format!(
            "the last audit began before share {index} had ended, so what it did not find may \
             have come later"
        ));
    }
}

/// The share whose audit counted the rows of all: of shares that met the first one, which waited until no other was
/// writing; else the one that ended last.
fn last_audit<'r>(shares: &[&'r RunRecord]) -> Option<&'r RunRecord> {
    let audited = || shares.iter().filter(|share| !share.audit.expectations.is_empty());
    if shares[0].meeting.is_some() {
        return audited().next().copied();
    }
    audited().max_by_key(|share| audit_end(share)).copied()
}

/// The share that was still writing when the last audit began, or whose times cannot be parsed.
fn still_writing(shares: &[&RunRecord]) -> Option<u32> {
    let last = last_audit(shares)?;
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

/// Earliest start and latest end of such phases, in nanoseconds on the shares' common time axis.
fn wall(share: &RunRecord, is: impl Fn(PhaseKind) -> bool) -> Option<(i128, i128)> {
    let started = timeline::begin(share)?;
    let phases = || share.phases.iter().filter(|phase| is(phase.kind));
    let start = phases().map(|phase| phase.start_ns).min()?;
    let end = phases().map(|phase| phase.start_ns.saturating_add(phase.duration_ns)).max()?;
    Some((started + i128::from(start), started + i128::from(end)))
}
