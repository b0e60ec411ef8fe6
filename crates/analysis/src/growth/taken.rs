//! The trials of a growth that count, and the budget that trials used.

use highwater_model::scale::{ScalePurpose, ScaleRecord, ScaleTrial};

/// The sizes that count, each once, in the order in which they were measured.
pub fn counted(scale: &ScaleRecord) -> impl DoubleEndedIterator<Item = &ScaleTrial> {
    scale
        .trials
        .iter()
        .filter(|trial| trial.purpose != ScalePurpose::Again && trial.figures.verdict.counts())
}

/// The budget used by these trials, nanoseconds.
pub(super) fn spent(trials: &[ScaleTrial]) -> u64 {
    trials.iter().map(ScaleTrial::budgeted_ns).fold(0, u64::saturating_add)
}
