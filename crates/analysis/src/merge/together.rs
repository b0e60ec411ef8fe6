//! Puts shares on one time axis, that of the first one to begin. Shares that did not run together are rejected, because
//! their sum would be a load that never existed. Must not hold figures or judgments.

use std::borrow::Cow;

use highwater_model::display::duration;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::PhaseKind;
use highwater_model::record::{Incident, IncidentKind, PhaseRecord, RunRecord, WINDOW_NS};
use highwater_model::units::Nanos;

use time::OffsetDateTime;

use super::error::MergeError;
use super::timeline::{self, instant};
use crate::judge::measurement::OFFERED_SHORTFALL;

/// The allowed delay of a share's begin of a measured phase of this length: the allowed shortfall of an offered rate,
/// or one window.
pub fn late_allowed(phase: Nanos) -> Nanos {
    Nanos(round_to_u64(to_f64(phase.0) * OFFERED_SHORTFALL).max(WINDOW_NS))
}

/// A message for a share that began too late.
pub fn late_message(late: Nanos, after: &str) -> String {
    format!("began {} after {after}", duration(late.0))
}

/// The shares with times relative to the first begin of any. They are shifted by whole windows: less is below the
/// accuracy of wall clocks.
pub(super) fn together<'a>(
    shares: &[&'a RunRecord],
) -> Result<Vec<Cow<'a, RunRecord>>, MergeError> {
    let begins = shares.iter().map(|share| {
        instant(&share.header.started_at)
            .map(OffsetDateTime::unix_timestamp_nanos)
            .ok_or_else(|| MergeError::NoBegin { record: share.header.id.clone() })
    });
    let begins = begins.collect::<Result<Vec<i128>, _>>()?;
    let first = begins.iter().copied().min().unwrap_or(0);
    let moved = shares.iter().zip(begins).map(|(share, begin)| {
        let by = u64::try_from(begin - first).unwrap_or(u64::MAX);
        moved(share, by - by % WINDOW_NS)
    });
    let mut placed: Vec<Cow<'_, RunRecord>> = moved.collect();
    let whole = timeline::phases(&placed.iter().map(AsRef::as_ref).collect::<Vec<_>>());
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
