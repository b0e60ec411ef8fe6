//! The objectives for actions on the cluster: how soon the offered rate was back, how much of it was left, and how many
//! rows were lost. Must not measure; see `availability`.

use highwater_model::display::{count, duration, percent_asked, percent_whole, span};
use highwater_model::judgment::{Reason, ReasonCode};
use highwater_model::plan::Objective;
use highwater_model::record::{AuditStatus, RunRecord};
use highwater_model::units::Nanos;

use super::reason;
use crate::availability::{Dip, FaultEffect, fault_effects, phase_end};

/// Why an objective was not met.
pub(super) struct Verdict {
    pub(super) reason: Reason,
    /// Whether it may have been met: it was not tried, or not for long enough.
    pub(super) is_open: bool,
}

/// Why an objective for faults was not met; absent for one that was, and for others.
pub(super) fn verdict(record: &RunRecord, objective: &Objective) -> Option<Verdict> {
    let code = match objective {
        Objective::Recovery { .. } => ReasonCode::ObjectiveRecovery,
        Objective::During { .. } => ReasonCode::ObjectiveDuring,
        Objective::Lost { max } => return lost(record, *max),
        _ => return None,
    };
    let effects = fault_effects(record);
    let mut missed = Vec::new();
    let mut open = not_performed(record, &effects);
    for effect in &effects {
        let Some(dip) = &effect.dip else { continue };
        let done = effect.action.done();
        match *objective {
            Objective::Recovery { max } => match late(record, effect, dip, max) {
                Some((why, true)) => open.push(format!("{done}: {why}")),
                Some((why, false)) => missed.push(format!("{done}: {why}")),
                None => {}
            },
            Objective::During { min_ppm } if dip.lowest * 1e6 < f64::from(min_ppm) => {
                let (left, least) = (percent_whole(dip.lowest.max(0.0)), percent_asked(min_ppm));
                missed.push(format!(
                    "{done}: {left} of the offered rate in the lowest second; the limit is {least}"
                ));
            }
            _ => {}
        }
    }
    let is_open = missed.is_empty();
    let (places, message) = if is_open {
        (open, "what actions on the cluster do was not seen, or not to its end")
    } else {
        (missed, "an action on the cluster did more to the load than allowed")
    };
    let reason = reason(code, message, &places, "")?;
    Some(Verdict { reason, is_open })
}

/// Why the rate was not back in time, and whether there was too little time.
fn late(
    record: &RunRecord,
    effect: &FaultEffect<'_>,
    dip: &Dip,
    max: Nanos,
) -> Option<(String, bool)> {
    let limit = span(max.0);
    match dip.rate_again_ns {
        Some(again) if again <= max.0 => None,
        Some(again) => {
            Some((format!("full rate after {}; the limit is {limit}", duration(again)), false))
        }
        None => {
            let left = phase_end(&record.phases, effect.time_ns).saturating_sub(effect.time_ns);
            let why =
                format!("no full rate in the {} until the end; the limit is {limit}", span(left));
            Some((why, left < max.0))
        }
    }
}

/// The planned actions that were not performed.
fn not_performed(record: &RunRecord, effects: &[FaultEffect<'_>]) -> Vec<String> {
    let planned = record.plan.definition.faults.iter().skip(effects.len());
    let left = planned.map(|planned| format!("`{}` was not performed", planned.action));
    let failed = effects
        .iter()
        .filter_map(|effect| Some(format!("`{}` failed: {}", effect.action, effect.failed?)));
    failed.chain(left).collect()
}

/// The number of rows that actions may lose; 0 without a performed one.
pub(super) fn allowed_loss(record: &RunRecord) -> u64 {
    if fault_effects(record).iter().all(|effect| effect.failed.is_some()) {
        return 0;
    }
    let objectives = record.plan.definition.objectives.iter();
    let limits = objectives.filter_map(|objective| match objective {
        Objective::Lost { max } => Some(*max),
        _ => None,
    });
    limits.max().unwrap_or(0)
}

fn lost(record: &RunRecord, max: u64) -> Option<Verdict> {
    let audit = &record.audit;
    let is_open = audit.status != AuditStatus::Done;
    let place = if is_open {
        "rows were not looked for".to_owned()
    } else if audit.missing > max {
        format!(
            "{} acknowledged rows are missing; the limit is {}",
            count(audit.missing),
            count(max)
        )
    } else {
        return None;
    };
    let message = "more rows were lost than allowed, or that is unknown";
    let reason = reason(ReasonCode::ObjectiveLost, message, &[place], "")?;
    Some(Verdict { reason, is_open })
}
