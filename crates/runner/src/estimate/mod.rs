//! Estimates a run's time, rows, and bytes before it starts, and compares them with free disk space, which is watched
//! while the run writes.
//!
//! The estimate is pure: all inputs are passed in. The watch queries during the load, on the otherwise idle connection:
//! once a second, or more often if a second could fill the disk. It never touches an op.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use futures_util::future::pending;

use highwater_driver::{Admin, DiskSpace, Timeline};
use highwater_model::display::bytes;
use highwater_model::numbers::{ceil_to_u64, to_f64};
use highwater_model::op::{ColumnData, RowBatch};
use highwater_model::plan::{Pace, PhaseKind, PhasePlan, Plan};
use highwater_model::record::{DiskRecord, EstimateRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_workload::Workload;

use crate::request::rows_per_op;
use crate::time_limits::within;

/// Rows generated to estimate the row size.
const SAMPLE_ROWS: usize = 1_000;
/// This fraction of a disk is kept free, 1 / 20, …
const RESERVE_PART: u64 = 20;
/// … but at most this, …
const RESERVE_MAX: u64 = 1 << 30;
/// … and at least the volume that the target's own log and checkpoints write after the last op, or a quarter of a very
/// small disk.
const RESERVE_MIN: u64 = 16 << 20;
const RESERVE_SMALL_PART: u64 = 4;
/// Rows needed to measure bytes per row on the target.
const MEASURED_ROWS_MIN: u64 = 10_000;

/// The inputs before the load.
pub(crate) struct EstimateInput<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) workload: &'a Workload,
    /// Index of the first row of this run.
    pub(crate) first_row: u64,
    /// Rows that the load can skip, because they exist.
    pub(crate) filled: u64,
    /// Existing rows, and their bytes.
    pub(crate) stored: Option<(u64, u64)>,
    pub(crate) space: Option<DiskSpace>,
}

/// The estimate of a run.
pub(crate) fn estimate(input: &EstimateInput<'_>) -> EstimateRecord {
    let rows = rows(input);
    let measured = input.stored.filter(|(rows, _)| *rows >= MEASURED_ROWS_MIN);
    let per_row = measured
        .map(|(rows, bytes)| bytes.div_ceil(rows))
        .or_else(|| value_bytes_per_row(input))
        .filter(|_| rows != Some(0));
    let bytes = rows.zip(per_row).map(|(rows, each)| rows.saturating_mul(each));
    EstimateRecord {
        duration_ns: length(input).map(|length| length.0),
        rows,
        bytes_per_row: per_row,
        bytes_per_row_measured: measured.is_some(),
        bytes,
        disk: input.space.as_ref().map(|space| DiskRecord {
            place: space.place.clone(),
            free_bytes: space.free_bytes,
            total_bytes: space.total_bytes,
            reserve_bytes: reserve(space.total_bytes),
        }),
    }
}

/// Bytes that a run leaves free on a disk of this size.
pub(crate) fn reserve(total_bytes: u64) -> u64 {
    let least = RESERVE_MIN.min(total_bytes / RESERVE_SMALL_PART);
    (total_bytes / RESERVE_PART).clamp(least, RESERVE_MAX)
}

/// Whether a run must stop now: at the rate since the last check, free space would reach the reserve before the next
/// two checks. If a node left or joined, the change in free space is not due to rows.
fn must_stop(now: &DiskSpace, before: &DiskSpace) -> bool {
    // A leaving node may be counted briefly after its disk no longer is.
    let same = (now.total_bytes, &now.place) == (before.total_bytes, &before.place);
    let shrunk = if same { before.free_bytes.saturating_sub(now.free_bytes) } else { 0 };
    now.free_bytes <= reserve(now.total_bytes).saturating_add(shrunk.saturating_mul(2))
}

/// Maximum length of all phases with a pace; `None` if only rows end one and the target sets the pace.
fn length(input: &EstimateInput<'_>) -> Option<Nanos> {
    let lengths: Option<Vec<Nanos>> =
        input.plan.phases.iter().map(|phase| length_of(input, phase)).collect();
    Some(lengths?.into_iter().fold(Nanos::ZERO, Nanos::saturating_add))
}

/// A phase ends when a stream has sent its limit of rows; filling a table has no other end.
fn length_of(input: &EstimateInput<'_>, phase: &PhasePlan) -> Option<Nanos> {
    let by_rows = input.plan.streams.iter().enumerate().filter_map(|(position, stream)| {
        let per_op = rows_per_op(input.workload, &stream.name);
        let ops = limit(input, phase).filter(|_| per_op > 0)?.div_ceil(per_op);
        match input.plan.pace(position, phase.step) {
            Pace::Open { rate } => {
                let units = to_f64(ops) * to_f64(stream.units_per_op.max(1));
                Some(Nanos(ceil_to_u64(units / rate.as_f64() * 1e9)))
            }
            Pace::Closed { .. } => None,
        }
    });
    let without_end = input.plan.stop.fills && phase.kind == PhaseKind::Measure;
    let planned = (!without_end).then_some(phase.duration);
    by_rows.chain(planned).min()
}

/// Rows that end a phase.
fn limit(input: &EstimateInput<'_>, phase: &PhasePlan) -> Option<u64> {
    let stop = &input.plan.stop;
    let rows = stop.rows.filter(|_| phase.kind == PhaseKind::Measure)?;
    let there = if stop.fills { input.filled } else { 0 };
    Some(rows.saturating_sub(there))
}

/// Rows that the run may write; `None` if the target sets its pace.
fn rows(input: &EstimateInput<'_>) -> Option<u64> {
    let plan = input.plan;
    let loaded = plan.workload.rows_to_load.saturating_sub(input.first_row);
    let mut rows = loaded;
    for (position, stream) in plan.streams.iter().enumerate() {
        let per_op = rows_per_op(input.workload, &stream.name);
        if per_op == 0 {
            continue;
        }
        for phase in &plan.phases {
            let paced = match (plan.pace(position, phase.step), length_of(input, phase)) {
                (Pace::Open { rate }, Some(length)) => {
                    let units = rate.as_f64() * length.as_secs_f64();
                    let ops = ceil_to_u64(units / to_f64(stream.units_per_op.max(1)));
                    Some(ops.saturating_mul(per_op))
                }
                _ => None,
            };
            let of_phase = match (paced, limit(input, phase)) {
                (Some(paced), Some(limit)) => Some(paced.min(limit)),
                (paced, limit) => paced.or(limit),
            };
            rows = rows.saturating_add(of_phase?);
        }
    }
    Some(rows)
}

/// Bytes of a row's values, without the target's overhead or compression.
fn value_bytes_per_row(input: &EstimateInput<'_>) -> Option<u64> {
    let batch = input.workload.row_batch(0, input.first_row, SAMPLE_ROWS);
    (!batch.columns.is_empty()).then(|| value_bytes(&batch).div_ceil(SAMPLE_ROWS as u64))
}

fn value_bytes(batch: &RowBatch) -> u64 {
    batch
        .columns
        .iter()
        .map(|column| match column.values() {
            ColumnData::Integer(values) | ColumnData::TimestampMs(values) => 8 * values.len(),
            ColumnData::Float(values) => 8 * values.len(),
            ColumnData::Boolean(values) => values.len(),
            ColumnData::Text(values) => values.iter().map(|text| text.len()).sum(),
            ColumnData::TextDictionary(coded) | ColumnData::ObjectDictionary(coded) => {
                let text = |code: &u32| coded.values.get(usize::try_from(*code).ok()?);
                coded.codes.iter().filter_map(text).map(|text| text.len()).sum()
            }
            ColumnData::Nullable(..) => 0,
        })
        .sum::<usize>() as u64
}

/// Rejects a run that cannot fit.
pub(crate) fn check(estimate: &EstimateRecord) -> Result<(), UserError> {
    let (Some(disk), Some(needed)) = (&estimate.disk, estimate.bytes) else {
        return Ok(());
    };
    let room = disk.free_bytes.saturating_sub(disk.reserve_bytes);
    if needed <= room {
        return Ok(());
    }
    let message = format!(
        "the run would write about {} to {}, where {} are free and {} are kept free",
        bytes(needed),
        disk.place,
        bytes(disk.free_bytes),
        bytes(disk.reserve_bytes)
    );
    Err(UserError::usage(message).with_hint(
        "free space, plan fewer rows (--rate, -d, --rows, --set rows=…), or give \
         --no-disk-guard if the target stores rows in less than their values take",
    ))
}

/// Maximum and minimum time between two checks.
const LOOK_EVERY: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_millis(20));
/// Assumed maximum write rate of a target, bytes per second: four times that of a fast disk. Free space lasts for four
/// checks.
const BYTES_PER_SECOND: u64 = 4 << 30;
/// Time limit for a pending response after the run.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(5);
/// Consecutive checks without a response after which the guard stops checking.
const SILENT_MAX: u32 = 5;

/// A watch, and whether one of its queries is pending.
#[derive(Default)]
pub(crate) struct Watch {
    is_measuring: Cell<bool>,
    over: Cell<bool>,
}

impl Watch {
    /// Completes with a sentence for the reader when the disk would soon be full, or without one when the watch is
    /// over. Never completes if the target does not report, or stops responding.
    pub(crate) async fn full(
        &self,
        admin: &mut dyn Admin,
        space: Option<DiskSpace>,
        timeline: &Rc<dyn Timeline>,
    ) -> Option<String> {
        let Some(mut before) = space else {
            return pending().await;
        };
        let mut silent = 0;
        while silent < SILENT_MAX {
            let pause = pause(&before);
            timeline.sleep_until(timeline.now().saturating_add(pause)).await;
            self.is_measuring.set(true);
            let answer = admin.disk().await;
            self.is_measuring.set(false);
            if self.over.get() {
                return None;
            }
            let Ok(Some(now)) = answer else {
                silent += 1;
                continue;
            };
            silent = 0;
            if must_stop(&now, &before) {
                return Some(format!(
                    "{} of {} are free at {}; {} are kept free",
                    bytes(now.free_bytes),
                    bytes(now.total_bytes),
                    now.place,
                    bytes(reserve(now.total_bytes))
                ));
            }
            before = now;
        }
        pending().await
    }

    /// Ends the watch. False if a query got no response: its late response would be taken for the next query's, so the
    /// connection is unusable.
    pub(crate) async fn end<T>(
        &self,
        watching: impl Future<Output = T> + Unpin,
        timeline: &Rc<dyn Timeline>,
    ) -> bool {
        if !self.is_measuring.get() {
            return true;
        }
        self.over.set(true);
        let answered = within(ANSWER_LIMIT, timeline.as_ref(), watching).await;
        answered.is_some()
    }
}

/// The wait before the next check: a small disk is full within a second.
fn pause(space: &DiskSpace) -> Nanos {
    let room = space.free_bytes.saturating_sub(reserve(space.total_bytes));
    let whole_seconds = room / BYTES_PER_SECOND;
    let rest = room % BYTES_PER_SECOND * Nanos::SECOND.0 / BYTES_PER_SECOND;
    let lasts = Nanos(whole_seconds.saturating_mul(Nanos::SECOND.0).saturating_add(rest));
    lasts.clamp(LOOK_EVERY.1, LOOK_EVERY.0)
}
