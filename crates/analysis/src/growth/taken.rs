//! The trials of a growth that count, and what trials took of its budget.

use highwater_model::scale::{ScalePurpose, ScaleRecord, ScaleTrial};

/// The sizes that count, each once, in the order in which they were measured.
pub fn counted(scale: &ScaleRecord) -> impl DoubleEndedIterator<Item = &ScaleTrial> {
    let trials = scale.trials.iter();
    trials.filter(|trial| trial.purpose != ScalePurpose::Again && trial.figures.verdict.counts())
}

/// What these took of the budget, nanoseconds.
pub(super) fn spent(trials: &[ScaleTrial]) -> u64 {
    let took = trials.iter().map(ScaleTrial::budgeted_ns);
    took.fold(0, u64::saturating_add)
}
