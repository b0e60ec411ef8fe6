//! The progress of an experiment, from the durations of its trials.

use highwater_model::event::ExperimentProgress;
use highwater_model::plan::PhaseKind;
use highwater_model::record::RunRecord;
use highwater_model::units::Nanos;

/// The progress after trials of these durations, with at most this many in total.
pub(crate) fn progress(
    took: impl ExactSizeIterator<Item = u64>,
    most: u32,
    planned: Nanos,
    budget: Option<Nanos>,
) -> ExperimentProgress {
    let done = u32::try_from(took.len()).unwrap_or(u32::MAX);
    let spent = took.fold(0, u64::saturating_add);
    let each = spent.checked_div(done.into()).map(Nanos);
    ExperimentProgress {
        done,
        most,
        spent: Nanos(spent),
        each: each.unwrap_or(planned),
        ready: Nanos::ZERO,
        budget,
    }
}

/// The number of the next trial.
pub(crate) fn number<T>(trials: &[T]) -> u32 {
    u32::try_from(trials.len() + 1).unwrap_or(u32::MAX)
}

/// A run's length on its own timeline, including load and audit.
pub(crate) fn took(record: &RunRecord) -> u64 {
    took_by(record, |_| true)
}

/// The time that filling a run's tables took.
pub(crate) fn loaded(record: &RunRecord) -> u64 {
    took_by(record, |kind| kind == PhaseKind::Load)
}

fn took_by(record: &RunRecord, counts: impl Fn(PhaseKind) -> bool) -> u64 {
    record
        .phases
        .iter()
        .filter(|phase| counts(phase.kind))
        .map(|phase| phase.duration_ns)
        .fold(0, u64::saturating_add)
}
