//! Merges times over all shares: phases, seconds, gaps.

use std::borrow::Cow;
use std::collections::BTreeMap;

use highwater_model::display::duration;
use highwater_model::histogram::HistogramError;
use highwater_model::judgment::{Reason, ReasonCode};
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::PhaseKind;
use highwater_model::record::{
    AvailabilityRecord, Incident, IncidentKind, IntervalRecord, PhaseRecord, RunRecord, WINDOW_NS,
};
use highwater_model::units::Nanos;
use thiserror::Error;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::judge::measurement::OFFERED_SHORTFALL;

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

/// Each phase from its earliest start to its latest end, on the common time axis.
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

/// The allowed delay of a share's start of a measured phase of this length: the allowed shortfall of an offered rate,
/// or one window.
pub fn late_allowed(phase: Nanos) -> Nanos {
    Nanos(round_to_u64(to_f64(phase.0) * OFFERED_SHORTFALL).max(WINDOW_NS))
}

/// A message for a share that began too late.
pub fn late_message(late: Nanos, after: &str) -> String {
    format!("began {} after {after}", duration(late.0))
}

/// When a share began, in nanoseconds: after the moment on which the shares had agreed, or since 1970 by its own clock.
pub(super) fn begin(share: &RunRecord) -> Option<i128> {
    match &share.meeting {
        Some(meeting) => Some(i128::from(meeting.late_ns)),
        None => instant(&share.header.started_at).map(OffsetDateTime::unix_timestamp_nanos),
    }
}

/// The shares with times relative to the earliest start of any. They are shifted by whole windows: less is below
/// the accuracy of wall clocks.
pub(super) fn together<'a>(
    shares: &[&'a RunRecord],
) -> Result<Vec<Cow<'a, RunRecord>>, MergeError> {
    let begins = shares.iter().map(|share| {
        begin(share).ok_or_else(|| MergeError::NoBegin { record: share.header.id.clone() })
    });
    let begins = begins.collect::<Result<Vec<i128>, _>>()?;
    let first = begins.iter().copied().min().unwrap_or(0);
    let moved = shares.iter().zip(begins).map(|(share, begin)| {
        let by = u64::try_from(begin - first).unwrap_or(u64::MAX);
        moved(share, by - by % WINDOW_NS)
    });
    let mut placed: Vec<Cow<'_, RunRecord>> = moved.collect();
    let whole = phases(&placed.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    for phase in whole.iter().filter(|phase| phase.kind == PhaseKind::Measure) {
        check_overlap(&placed, phase)?;
    }
    for share in &mut placed {
        for phase in whole.iter().filter(|phase| is_aligned(phase)) {
            fill_up(share, phase);
        }
    }
    Ok(placed)
}

/// A load phase has its own time axis.
fn is_aligned(phase: &PhaseRecord) -> bool {
    phase.kind != PhaseKind::Load
}

fn moved(share: &RunRecord, by: u64) -> Cow<'_, RunRecord> {
    if by == 0 {
        return Cow::Borrowed(share);
    }
    let mut record = share.clone();
    let seconds = (by + Nanos::SECOND.0 / 2) / Nanos::SECOND.0;
    for interval in &mut record.intervals {
        if !PhaseRecord::is_load(&share.phases, &interval.phase) {
            interval.second = interval.second.saturating_add(seconds);
        }
    }
    let begins =
        record.phases.iter_mut().filter(|phase| is_aligned(phase)).map(|phase| &mut phase.start_ns);
    let stalls = record.clients.iter_mut().flat_map(|client| &mut client.stalls);
    let gaps = record.availability.gaps.iter_mut().map(|[begin, _]| begin);
    let telemetry = record.target_telemetry.iter_mut();
    let times = begins
        .chain(stalls.map(|stall| &mut stall.start_ns))
        .chain(gaps)
        .chain(telemetry.flat_map(|of_target| &mut of_target.times_ns))
        .chain(record.telemetry.iter_mut().map(|sample| &mut sample.time_ns))
        .chain(record.interventions.iter_mut().map(|done| &mut done.time_ns));
    for time in times {
        *time = time.saturating_add(by);
    }
    Cow::Owned(record)
}

/// A measured phase is one load only while all shares are in it.
fn check_overlap(shares: &[Cow<'_, RunRecord>], phase: &PhaseRecord) -> Result<(), MergeError> {
    let of_phase = || {
        shares
            .iter()
            .filter_map(|share| Some((share, own(share, phase).filter(|own| own.duration_ns > 0)?)))
    };
    let last = of_phase().max_by_key(|(_, own)| own.start_ns);
    let ended = of_phase().min_by_key(|(_, own)| end(own));
    if let (Some((late, begun)), Some((early, over))) = (last, ended)
        && begun.start_ns >= end(over)
    {
        return Err(MergeError::Apart {
            early: early.header.id.clone(),
            late: late.header.id.clone(),
            phase: phase.name.clone(),
            by: duration(begun.start_ns - end(over)),
        });
    }
    Ok(())
}

fn own<'a>(share: &'a RunRecord, phase: &PhaseRecord) -> Option<&'a PhaseRecord> {
    share.phases.iter().find(|own| own.name == phase.name)
}

fn end(phase: &PhaseRecord) -> u64 {
    phase.start_ns.saturating_add(phase.duration_ns)
}

/// Fills the missing part of a phase with zeros, for a share that began it late or ended it early.
fn fill_up(share: &mut Cow<'_, RunRecord>, phase: &PhaseRecord) {
    let Some(own) = own(share, phase).cloned() else {
        return;
    };
    let [before, after] = [own.start_ns - phase.start_ns, end(phase) - end(&own)];
    let [before_it, after_it] = [[phase.start_ns, before], [end(&own), after]];
    let silent = [before_it, after_it].into_iter().filter(|[_, length]| *length >= WINDOW_NS);
    if phase.kind == PhaseKind::Measure {
        for gap in silent {
            share.to_mut().availability.gaps.push(gap);
        }
    }
    let missing = usize::try_from(before / WINDOW_NS).unwrap_or(0);
    if missing > 0 {
        let results = share.to_mut().results.iter_mut();
        for result in results.filter(|result| result.phase == phase.name) {
            let windows = &mut result.windows;
            let counts = [&mut windows.acknowledged, &mut windows.missing];
            let of_open = [&mut windows.offered, &mut windows.failed];
            let counts = counts
                .into_iter()
                .chain(of_open)
                .chain([&mut windows.ended])
                .chain(&mut windows.over);
            for counts in counts.filter(|counts| !counts.is_empty()) {
                counts.splice(0..0, std::iter::repeat_n(0, missing));
            }
        }
    }
    let late = Nanos(before);
    if phase.kind == PhaseKind::Measure && late > late_allowed(Nanos(own.duration_ns)) {
        let message = late_message(late, &format!("the first share in {}", phase.name));
        let incident = Incident::new(IncidentKind::SharesApart, message);
        share.to_mut().incidents.push(incident);
    }
}

/// Why records are not all the shares of one plan.
#[derive(Debug, Error)]
pub enum MergeError {
    /// There are no records to merge.
    #[error("no record was given")]
    Empty,
    /// Two records have different plans.
    #[error("records {first} and {other} belong to different plans")]
    PlansDiffer {
        /// The first record.
        first: String,
        /// The one that differs.
        other: String,
    },
    /// Two records are of different kinds or versions of target.
    #[error("records {first} and {other} are of different targets")]
    TargetsDiffer {
        /// The first record, and what its target is.
        first: String,
        /// The one that differs, and what its target is.
        other: String,
    },
    /// Two records state different numbers of shares.
    #[error("record {record} is one of {of} shares, the first one is one of {others}")]
    CountsDiffer {
        /// The one that differs.
        record: String,
        /// Its number of shares.
        of: u32,
        /// The number of shares in the first record.
        others: u32,
    },
    /// One share was given twice.
    #[error("share {index} of {of} was given twice")]
    Twice {
        /// Its number.
        index: u32,
        /// Number of shares.
        of: u32,
    },
    /// Not all shares were given.
    #[error("of {of} shares these are missing: {missing}")]
    Missing {
        /// Their numbers.
        missing: String,
        /// Number of shares.
        of: u32,
    },
    /// Commands changed the paces of two shares differently.
    #[error("the user changed the load of records {first} and {other} differently while they ran")]
    ChangesDiffer {
        /// The first record.
        first: String,
        /// The one that differs.
        other: String,
    },
    /// Two shares did not begin together.
    #[error("records {first} and {other} did not begin together")]
    MeetingsDiffer {
        /// The first record.
        first: String,
        /// The one that differs.
        other: String,
    },
    /// The start time of a share is not known.
    #[error("record {record} does not say when it began")]
    NoBegin {
        /// The record.
        record: String,
    },
    /// Shares did not run at the same time.
    #[error(
        "the shares did not run together: in {phase} record {late} began {by} after {early} had ended"
    )]
    Apart {
        /// The record that ended first.
        early: String,
        /// The record that began last.
        late: String,
        /// The measured phase.
        phase: String,
        /// The time between them.
        by: String,
    },
    /// A distribution cannot be decoded.
    #[error("record {record}: a distribution of op {op} cannot be read: {source}")]
    Histogram {
        /// The record.
        record: String,
        /// The op.
        op: String,
        /// The cause.
        source: HistogramError,
    },
}

impl MergeError {
    /// The error as a reason in a measurement's judgment.
    pub fn reason(&self) -> Reason {
        let (message, hint) = match self {
            Self::Apart { .. } | Self::MeetingsDiffer { .. } => (
                "the shares did not run together",
                "begin all shares of a run at one time: --start-at",
            ),
            _ => (
                "the records are not all the shares of one plan",
                "give the record of every share once: highwater show R1 R2 …",
            ),
        };
        Reason {
            code: ReasonCode::SharesDiffer,
            message: message.to_owned(),
            evidence: self.to_string(),
            hint: Some(hint.to_owned()),
        }
    }
}
