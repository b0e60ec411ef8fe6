//! Merges the records of all shares of a plan into one, as if one load generator had run it all.
//!
//! Counts are added and distributions merged. A percentile is never averaged; figures that follow from counts are
//! recomputed. Times count from the first begin of any share. Shares that did not run at the same time are not added.

mod audit;
mod results;
#[cfg(test)]
mod tests;
mod timeline;

use std::borrow::{Borrow, Cow};
use std::collections::BTreeSet;

use highwater_model::plan::{Share, SteadinessRule};
use highwater_model::record::{Change, ResultRecord, RunRecord, StreamRecord, WINDOW_NS};
use highwater_model::units::Nanos;

use crate::availability::{acknowledged_per_s, of_gaps};
use crate::judge::{littles_law_sessions, measured_streams};
use crate::telemetry::disk_bytes_per_row;
use crate::throughput::{counted, throughput};
use crate::{judge, limit};

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
    let audit = audit::merged(&shares);
    let placed = timeline::together(&shares)?;
    let shares: Vec<&RunRecord> = placed.iter().map(AsRef::as_ref).collect();
    let first = shares[0];
    let mut merged = first.clone();
    if shares.len() > 1 {
        merged.header.id = format!("{}-merged", first.header.id);
    }
    merged.plan.definition.share = Share::WHOLE;
    merged.header.started_at = started_at;
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
