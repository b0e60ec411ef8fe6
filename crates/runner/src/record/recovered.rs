//! Makes the record of a run whose process was killed from its draft and its journal.
//!
//! Only latencies at two digits remain, without service times; the data were not audited. The record states this. Must
//! not handle files.

use std::collections::BTreeMap;

use highwater_analysis as analysis;
use highwater_analysis::availability::{acknowledged_per_s, measured_seconds, of_gaps};
use highwater_model::record::{AuditStatus, AvailabilityRecord, Incident, IncidentKind, RunRecord};
use highwater_model::units::Nanos;

use super::interval_lines::{delta_of, interval_record};
use super::journaled::Journaled;
use crate::recorder::IntervalDelta;
use crate::store::JournalLine;

/// The record of a run that was killed, from its draft and its journal.
pub(super) fn recovered(mut record: RunRecord, lines: Vec<JournalLine>) -> RunRecord {
    let mut intervals: BTreeMap<(u64, [String; 3]), IntervalDelta> = BTreeMap::new();
    let mut journaled = Journaled::default();
    for line in lines {
        let delta = delta_of(&line);
        let names = [line.phase, line.stream, line.op];
        journaled.see(&names[0], delta.second);
        journaled.add(&names, &delta);
        intervals.entry((delta.second, names)).and_modify(|sum| sum.merge(&delta)).or_insert(delta);
    }
    journaled.fill(&mut record);
    let intervals = intervals
        .into_iter()
        .map(|((second, names), delta)| interval_record(second, names, &delta));
    record.intervals.extend(intervals);
    record.availability = availability_of(&record);
    record.audit.status = AuditStatus::Failed;
    record.audit.error = Some("the program ended before the audit".to_owned());
    record.incidents.push(Incident::new(
        IncidentKind::Killed,
        "this one comes from its journal, with latencies at two significant digits and gaps in whole seconds",
    ));
    record.judgments = analysis::judge(&record);
    record.limit = analysis::limit(&record);
    record
}

/// Availability, at a resolution of whole seconds.
fn availability_of(record: &RunRecord) -> AvailabilityRecord {
    let per_s = acknowledged_per_s(&record.intervals, &record.phases);
    let seconds = measured_seconds(&record.phases).zip(per_s.iter().copied());
    of_gaps(silent(seconds), per_s, &record.phases, &[], &[])
}

/// Ranges of consecutive seconds without an acknowledgment: start and length.
fn silent(acknowledged: impl Iterator<Item = (u64, u64)>) -> Vec<[u64; 2]> {
    let mut gaps: Vec<[u64; 2]> = Vec::new();
    for (second, _) in acknowledged.filter(|(_, acknowledged)| *acknowledged == 0) {
        let start = second * Nanos::SECOND.0;
        match gaps.last_mut() {
            Some([begin, length]) if *begin + *length == start => *length += Nanos::SECOND.0,
            _ => gaps.push([start, Nanos::SECOND.0]),
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_without_an_answer_that_follow_each_other_are_one_gap() {
        let seconds = [(3, 0), (4, 0), (5, 9), (6, 0), (10, 0), (11, 1)];
        let s = Nanos::SECOND.0;
        assert_eq!(silent(seconds.into_iter()), [[3 * s, 2 * s], [6 * s, s], [10 * s, s]]);
        assert!(silent([(0, 1)].into_iter()).is_empty());
    }
}
