//! Merges times over all shares: phases, seconds, gaps.

use std::collections::BTreeMap;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use highwater_model::record::{AvailabilityRecord, IntervalRecord, PhaseRecord, RunRecord};

/// The earliest start of the shares, in its original format.
pub(super) fn earliest(shares: &[&RunRecord]) -> String {
    let merged_one = shares
        .iter()
        .map(|share| &share.header.started_at)
        .filter_map(|text| Some((instant(text)?, text)));
    let first = merged_one.min_by_key(|(start, _)| *start);
    let text = first.map_or(&shares[0].header.started_at, |(_, text)| text);
    text.clone()
}

pub(super) fn instant(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

/// Each phase from its first begin to its last end, on the common time axis.
pub(super) fn phases(shares: &[&RunRecord]) -> Vec<PhaseRecord> {
    let mut merged: Vec<PhaseRecord> = Vec::new();
    for phase in shares.iter().flat_map(|share| &share.phases) {
        let same = |merged_one: &&mut PhaseRecord| merged_one.name == phase.name;
        match merged.iter_mut().find(same) {
            None => merged.push(phase.clone()),
            Some(merged_one) => {
                let end = |phase: &PhaseRecord| phase.start_ns.saturating_add(phase.duration_ns);
                let last = end(merged_one).max(end(phase));
                merged_one.start_ns = merged_one.start_ns.min(phase.start_ns);
                merged_one.duration_ns = last - merged_one.start_ns;
            }
        }
    }
    merged
}

/// Adds the seconds of the same phase, stream, and op.
///
/// A percentile that only one share has is kept; those of several shares cannot be merged.
pub(super) fn intervals(shares: &[&RunRecord]) -> Vec<IntervalRecord> {
    let mut order: Vec<(&str, &str, &str)> = Vec::new();
    let mut merged: BTreeMap<(u64, usize), IntervalRecord> = BTreeMap::new();
    for interval in shares.iter().flat_map(|share| &share.intervals) {
        let key = (interval.phase.as_str(), interval.stream.as_str(), interval.op.as_str());
        let merged_one = order.iter().position(|merged_one| *merged_one == key);
        let position = merged_one.unwrap_or_else(|| {
            order.push(key);
            order.len() - 1
        });
        merged
            .entry((interval.second, position))
            .and_modify(|sum| add(sum, interval))
            .or_insert_with(|| interval.clone());
    }
    merged.into_values().collect()
}

fn add(sum: &mut IntervalRecord, other: &IntervalRecord) {
    if sum.offered == 0 {
        (sum.p50_ns, sum.p99_ns) = (other.p50_ns, other.p99_ns);
    } else if other.offered > 0 {
        (sum.p50_ns, sum.p99_ns) = (None, None);
    }
    sum.offered += other.offered;
    sum.sent += other.sent;
    sum.acknowledged += other.acknowledged;
    sum.rows_acknowledged += other.rows_acknowledged;
    sum.errors += other.errors;
    sum.rejected += other.rejected;
    sum.rows_refused += other.rows_refused;
    sum.dropped += other.dropped;
    sum.max_ns = sum.max_ns.max(other.max_ns);
}

/// Adds acknowledgments per second, and finds the times when no share had one. The other figures follow from these.
pub(super) fn availability(shares: &[&RunRecord]) -> AvailabilityRecord {
    let mut merged = AvailabilityRecord {
        gaps: sorted(&shares[0].availability.gaps),
        ..AvailabilityRecord::default()
    };
    for share in shares {
        let theirs = &share.availability.acknowledged_per_s;
        add_each(&mut merged.acknowledged_per_s, theirs);
    }
    for share in &shares[1..] {
        merged.gaps = common(&merged.gaps, &sorted(&share.availability.gaps));
    }
    merged
}

/// Adds `other` to `sum`, position by position; the longer one sets the length.
pub(super) fn add_each(sum: &mut Vec<u64>, other: &[u64]) {
    if sum.len() < other.len() {
        sum.resize(other.len(), 0);
    }
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum += other;
    }
}

fn sorted(gaps: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let mut sorted = gaps.to_vec();
    sorted.sort_unstable();
    sorted
}

/// The times that lie in gaps of both; both are sorted by start and without overlap.
fn common(ours: &[[u64; 2]], theirs: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let (mut i, mut j) = (0, 0);
    let mut common = Vec::new();
    while let (Some(a), Some(b)) = (ours.get(i), theirs.get(j)) {
        let (a_end, b_end) = (a[0].saturating_add(a[1]), b[0].saturating_add(b[1]));
        let (start, end) = (a[0].max(b[0]), a_end.min(b_end));
        if start < end {
            common.push([start, end - start]);
        }
        if a_end <= b_end {
            i += 1;
        } else {
            j += 1;
        }
    }
    common
}
