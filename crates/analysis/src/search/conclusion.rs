//! The record of a search: its probes, the mark, what to make of it, and the last probe's record.
//!
//! It only judges the search as a whole.

use highwater_model::display::{duration, rate, span};
use highwater_model::judgment::{
    Judgment, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode,
};
use highwater_model::record::{ExperimentRecord, IncidentKind, Question, RunRecord};
use highwater_model::search::{
    Confirmations, Mark, NoMark, NoMarkReason, ProbeRecord, ProbeVerdict, SearchAxis,
    SearchOutcome, SearchRecord,
};

use super::history::{has_held, how_confirmed};
use crate::whole::{Whole, unknown};

/// The record of a search so far; `last` is that of its last probe.
pub fn conclude(last: RunRecord, search: SearchRecord, id: String) -> ExperimentRecord {
    let mut whole = Whole::of(&last);
    match &search.outcome {
        None => unfinished(&mut whole.judgments),
        Some(SearchOutcome::Mark(mark)) => {
            marked(&mut whole.judgments, &search, mark, search.soak());
        }
        Some(SearchOutcome::NoMark(no_mark)) => unmarked(&mut whole, &search, no_mark),
    }
    let first = search.probes.first().map(|probe| probe.started_at.clone());
    whole.record(last, id, first, Question::Search(search))
}

fn unfinished(judged: &mut Judgments) {
    undecided(&mut judged.objective);
    let (message, figures) = ("the search has not ended", "its record has no outcome");
    judged.measurement = unknown(ReasonCode::Interrupted, message, figures, None);
}

/// The last probe's own objective is not that of a search without a mark, whether it was met or missed: an estimate
/// judges nothing, and what one value missed another may meet. What it lacked to be judged is said.
fn undecided(objective: &mut Judgment<ObjectiveValue>) {
    match objective.value {
        ObjectiveValue::Met | ObjectiveValue::Missed => {
            objective.value = ObjectiveValue::NotDecided;
            objective.reasons.clear();
        }
        ObjectiveValue::NotDecided | ObjectiveValue::NoneSet => {}
    }
}

/// The confirmations show the objective together, whatever the last one shows by itself; but the mark
/// may be below the floor, or not hold for long. What is judged of the soak is that of the last probe.
fn marked(judged: &mut Judgments, search: &SearchRecord, mark: &Mark, soak: Option<&ProbeRecord>) {
    let own = std::mem::take(&mut judged.objective.reasons);
    let mut reasons: Vec<Reason> = below_floor(search, mark).into_iter().collect();
    let has_missed =
        |of: &&ProbeRecord| matches!(of.verdict, ProbeVerdict::Failed | ProbeVerdict::NotDecided);
    if let Some(soak) = soak.filter(has_missed) {
        reasons.push(not_held(search, mark, soak));
        reasons.extend(own);
    }
    let value = if reasons.is_empty() { ObjectiveValue::Met } else { ObjectiveValue::Missed };
    judged.objective = Judgment { value, reasons };
}

fn below_floor(search: &SearchRecord, mark: &Mark) -> Option<Reason> {
    let floor = search.floor.filter(|floor| mark.confirmed < *floor)?;
    let (confirmed, floor) = (of_axis(search, mark.confirmed), of_axis(search, floor));
    let figures = format!("{confirmed} confirmed; the minimum is {floor}");
    let message = "the mark is below the minimum";
    let code = ReasonCode::RateNotSustained;
    Some(Reason::with_figures(code, message, &figures))
}

fn not_held(search: &SearchRecord, mark: &Mark, soak: &ProbeRecord) -> Reason {
    Reason {
        hint: Some("confirm for longer with --confirm".to_owned()),
        ..Reason::with_figures(
            ReasonCode::RateNotSustained,
            "the mark did not hold for long",
            &format!(
                "{} missed over {}, confirmed over {}",
                of_axis(search, mark.confirmed),
                duration(soak.measured_ns),
                duration(mark.hold_ns)
            ),
        )
    }
}

fn unmarked(whole: &mut Whole, search: &SearchRecord, no_mark: &NoMark) {
    let history = history(search, no_mark);
    let judged = &mut whole.judgments;
    let own = judged.objective.reasons.clone();
    undecided(&mut judged.objective);
    match no_mark.why {
        NoMarkReason::BelowLowest => {
            let reason = Reason {
                hint: Some("give the objective a wider bound, or look at the probes".to_owned()),
                ..Reason::with_figures(
                    ReasonCode::RateNotSustained,
                    "no value met the objective, down to the lowest that was probed",
                    &history,
                )
            };
            judged.objective =
                Judgment { value: ObjectiveValue::Missed, reasons: [vec![reason], own].concat() };
        }
        NoMarkReason::ClientCeiling => {
            let message = "the load generator reached its limit before the target did";
            let hint = Some("use a larger load generator");
            judged.measurement = Judgment {
                value: Measurement::Invalid,
                ..unknown(ReasonCode::ClientSaturated, message, &history, hint)
            };
        }
        NoMarkReason::OpsTooLong => {
            judged.objective = Judgment { value: ObjectiveValue::NotDecided, reasons: Vec::new() };
            judged.measurement = inconclusive(no_mark.why, &history);
        }
        NoMarkReason::TooFewOps => {
            judged.measurement = inconclusive(no_mark.why, &history);
            for reason in &mut judged.measurement.reasons {
                let length = length_that_decides(search, no_mark);
                reason.hint = length.or_else(|| reason.hint.take());
            }
        }
        NoMarkReason::BudgetSpent | NoMarkReason::NothingAcknowledged => {
            judged.measurement = inconclusive(no_mark.why, &history);
        }
        NoMarkReason::TargetLost => {
            ended(whole, IncidentKind::TargetLost, "the target went away");
        }
        NoMarkReason::Interrupted => {
            let message = "the search was stopped by the user";
            ended(whole, IncidentKind::Interrupted, message);
        }
        // The judgment of the data is that of the probe that found it.
        NoMarkReason::WrongData => {}
    }
}

/// Why probes decided nothing.
fn inconclusive(why: NoMarkReason, history: &str) -> Judgment<Measurement> {
    let (code, message, hint) = match why {
        NoMarkReason::TooFewOps => (
            ReasonCode::TooFewSamples,
            "a probe has too few ops for the percentile that the objective names",
            "allow more time with --budget, or bound a lower percentile",
        ),
        NoMarkReason::OpsTooLong => (
            ReasonCode::TooShort,
            "an op takes longer than a probe measures, even at the lowest value",
            "probe longer with --probe, or make ops smaller (--batch)",
        ),
        NoMarkReason::NothingAcknowledged => (
            ReasonCode::NothingAcknowledged,
            "closed load acknowledged nothing, so there is nothing to start from",
            "run `highwater check URL`",
        ),
        _ => (
            ReasonCode::TooShort,
            "probes or time ran out before a candidate was confirmed",
            "allow more time with --budget, or probe shorter with --quick",
        ),
    };
    unknown(code, message, history, Some(hint))
}

/// What would decide the highest value that passed, else the lowest that failed.
fn length_that_decides(search: &SearchRecord, no_mark: &NoMark) -> Option<String> {
    let at = no_mark.highest_met.or(no_mark.lowest_failed)?;
    let policy = &search.policy;
    if policy.axis != SearchAxis::Rate || policy.units_needed <= 0.0 {
        return None;
    }
    // One probe and its confirmations.
    let probes = u64::from(1 + policy.confirmations);
    let needed = policy.needed_ns(at);
    let budget = policy.probe_takes_ns(needed).saturating_mul(probes);
    let (at, needed) = (of_axis(search, at), span(rounded_up(needed, 10)));
    Some(format!(
        "at {at} probes of {needed} would decide: allow --budget {} or more, make ops smaller (--batch), or bound a \
         lower percentile",
        span(rounded_up(budget, 60))
    ))
}

/// Nanoseconds, to so many seconds.
fn rounded_up(ns: u64, seconds: u64) -> u64 {
    let unit = seconds * 1_000_000_000;
    ns.div_ceil(unit).saturating_mul(unit)
}

/// What ended a search ends its record too.
fn ended(whole: &mut Whole, kind: IncidentKind, message: &str) {
    whole.ended(kind, message);
    let Some(code) = kind.reason() else {
        return;
    };
    let judged = &mut whole.judgments;
    if judged.measurement.reasons.iter().all(|r| r.code != code) {
        judged.measurement.value = Measurement::Invalid;
        judged.measurement.reasons.push(Reason {
            code,
            message: message.to_owned(),
            evidence: "no mark was confirmed before".to_owned(),
            hint: None,
        });
    }
}

fn history(search: &SearchRecord, no_mark: &NoMark) -> String {
    let met = no_mark.highest_met.map(|at| of_axis(search, at) + " passed");
    let failed = no_mark.lowest_failed;
    let failed = failed.map(|at| of_axis(search, at) + " failed");
    let said: Vec<String> = met.into_iter().chain(failed).collect();
    if said.is_empty() { "nothing passed and nothing failed".to_owned() } else { said.join(", ") }
}

/// How often a mark was confirmed, in the words of every output: `3 of 3 times for 30 s`. Those that met the objective as
/// measured, but show it only together with the others, are no part of the first number: `2 of 3 times for 30 s, and all 3
/// together`; `2 of 4 times for 30 s, and 3 of them together`.
pub fn times_confirmed(search: &SearchRecord, mark: &Mark) -> String {
    let of_mark = mark.confirmations;
    let of_mark =
        of_mark.unwrap_or_else(|| how_confirmed(&search.probes, mark.confirmed, &has_held));
    let Confirmations { made, passed, held } = of_mark;
    let times = format!("{passed} of {made} times for {}", span(mark.hold_ns));
    match held {
        _ if held == passed => times,
        _ if held == made => format!("{times}, and all {held} together"),
        _ => format!("{times}, and {held} of them together"),
    }
}

/// A value with its unit: `98,300 rows/s`, `12 sessions`.
pub fn of_axis(search: &SearchRecord, at: f64) -> String {
    match search.axis {
        SearchAxis::Rate => format!("{} {}/s", rate(at), search.unit.name()),
        SearchAxis::Sessions => format!("{} sessions", rate(at)),
    }
}
