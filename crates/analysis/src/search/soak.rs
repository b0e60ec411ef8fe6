//! What may follow a mark: one long run at the confirmed value, to see whether it holds.
//!
//! It runs once, whatever its result, and does not change the mark: a mark states the confirmed
//! value, and separately whether that held for longer. Only wrong data invalidate the mark.

use highwater_model::search::{
    NoMarkReason, ProbePurpose, ProbeRecord, ProbeVerdict, SearchOutcome, SearchRecord,
};

use super::ending::{ended, stopped};
use super::history::ProbeHistory;
use super::step::Step;

/// The probes of the search itself, and the soak if there was one.
pub(super) fn apart(probes: &[ProbeRecord]) -> (&[ProbeRecord], Option<&ProbeRecord>) {
    match probes.split_last() {
        Some((soak, before)) if soak.purpose == ProbePurpose::Soak => (before, Some(soak)),
        _ => (probes, None),
    }
}

/// The step that follows a step of the search itself.
pub(super) fn after(
    search: &SearchRecord,
    probes: &[ProbeRecord],
    soak: Option<&ProbeRecord>,
    step: Step,
) -> Step {
    let confirmations = search.policy.soak_ns.is_some() && stopped(probes).is_none();
    match (step, soak.map(|soak| soak.verdict)) {
        (Step::End(SearchOutcome::Mark(mark)), None) if confirmations => {
            Step::Soak { at: mark.confirmed }
        }
        (Step::End(_), Some(ProbeVerdict::WrongData)) => {
            let history = ProbeHistory::new(search, probes);
            Step::End(ended(&history, NoMarkReason::WrongData))
        }
        (step, _) => step,
    }
}
