//! The record of a search: its probes, the mark, its judgments, and the last probe's record.
//!
//! Judges only the search as a whole.

use highwater_model::display::{duration, rate, span};
use highwater_model::judgment::{
    Judgment, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode,
};
use highwater_model::quantity::print_duration;
use highwater_model::record::{ExperimentRecord, IncidentKind, Question, RunRecord};
use highwater_model::search::{
    Confirmations, Mark, NoMark, NoMarkReason, ProbeRecord, ProbeVerdict, SearchAxis,
    SearchOutcome, SearchRecord,
};
use highwater_model::units::Nanos;

use super::history::{has_held, how_confirmed};
use crate::whole::{Whole, undecided, unknown};

/// Confirmations up to this length are those of `--quick`, which must not be recommended again.
const QUICK_CONFIRMATION: Nanos = Nanos::from_secs(30);

/// The record of a search so far; `last` is that of its last probe.
pub fn conclude(last: RunRecord, search: SearchRecord, id: String) -> ExperimentRecord {
    let mut whole = Whole::from_run(&last);
    match &search.outcome {
        None => unfinished(&mut whole.judgments),
        Some(SearchOutcome::Mark(mark)) => {
            marked(&mut whole.judgments, &search, mark, search.soak());
        }
        Some(SearchOutcome::NoMark(no_mark)) => unmarked(&mut whole, &search, no_mark),
    }
    note_shared_host(&mut whole.judgments.measurement, &search);
    let first = search.probes.first().map(|probe| probe.started_at.clone());
    whole.record(last, id, first, Question::Search(search))
}

/// Other programs may have used the host in other probes than the last one.
fn note_shared_host(measurement: &mut Judgment<Measurement>, search: &SearchRecord) {
    let has_note = |probe: &&ProbeRecord| probe.reasons.contains(&ReasonCode::SharedHost);
    let probes = search.probes.iter().filter(has_note).count();
    measurement.reasons.retain(|reason| reason.code != ReasonCode::SharedHost);
    if probes > 0 {
        let all = search.probes.len();
        measurement.reasons.push(Reason {
            code: ReasonCode::SharedHost,
            message: "other programs took much of the CPU of the target's host".to_owned(),
            evidence: format!(
                "other programs took a quarter or more of the CPU of the target's host in {probes} of {all} probes: the \
                 figures are those of a shared host"
            ),
            hint: Some("stop them, or measure a target on a dedicated host".to_owned()),
        });
    }
}

fn unfinished(judged: &mut Judgments) {
    undecided(&mut judged.objective);
    let (message, figures) = ("the search has not ended", "its record has no outcome");
    judged.measurement = unknown(ReasonCode::Interrupted, message, figures, None);
}

/// All confirmations together decide the objective, whatever the last one shows alone; but the mark
/// may be below the floor, or not hold for long. The judgment of the soak is that of the last probe.
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
            judged.measurement = inconclusive(search, no_mark.why, &history);
        }
        NoMarkReason::TooFewOps => {
            judged.measurement = inconclusive(search, no_mark.why, &history);
            let hint = wider_bound(search, no_mark).or_else(|| length_that_decides(search));
            for reason in &mut judged.measurement.reasons {
                reason.hint = hint.clone().or_else(|| reason.hint.take());
            }
        }
        NoMarkReason::BudgetSpent | NoMarkReason::NothingAcknowledged => {
            judged.measurement = inconclusive(search, no_mark.why, &history);
        }
        NoMarkReason::TargetLost => {
            ended(whole, IncidentKind::TargetLost, "the target went away");
        }
        NoMarkReason::Interrupted => {
            let message = "the search was stopped by the user";
            ended(whole, IncidentKind::Interrupted, message);
        }
        // The judgment of the data is that of the probe that found wrong data.
        NoMarkReason::WrongData => {}
    }
}

/// Why probes did not decide.
fn inconclusive(search: &SearchRecord, why: NoMarkReason, history: &str) -> Judgment<Measurement> {
    let (code, message, hint) = match why {
        NoMarkReason::TooFewOps => (
            ReasonCode::TooFewSamples,
            "what is left of the budget has too few ops for the percentile that the objective names",
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
            if search.policy.confirmation_ns <= QUICK_CONFIRMATION.0 {
                "allow more time with --budget"
            } else {
                "allow more time with --budget, or probe shorter with --quick"
            },
        ),
    };
    unknown(code, message, history, Some(hint))
}

/// The value whose confirmation would probably decide: the highest that passed, or else the lower end of the estimate,
/// or else the lowest that failed.
fn undecided_value(search: &SearchRecord) -> Option<f64> {
    let SearchOutcome::NoMark(no_mark) = search.outcome.as_ref()? else {
        return None;
    };
    let estimated = no_mark.estimate.map(|found| found.low90);
    no_mark.highest_met.or(estimated).or(no_mark.lowest_failed)
}

/// Factor for the budget with which a search without a mark would probably confirm one: the spent budget plus one
/// more probe and its confirmations. At least two.
pub fn budgets_needed(search: &SearchRecord) -> u64 {
    let policy = &search.policy;
    let needed = undecided_value(search).map_or(0, |at| policy.needed_ns(at));
    let probes = u64::from(1 + policy.confirmations);
    let spent: u64 = search.probes.iter().map(|probe| probe.took_ns + probe.settled_ns).sum();
    let all = policy.probe_takes_ns(needed).saturating_mul(probes).saturating_add(spent);
    policy.budget_ns.map_or(2, |budget| all.div_ceil(budget.max(1))).max(2)
}

/// `at 8,070 rows/s probes of 2 min 30 s would decide: …`; absent if no rate determines the number of ops of a
/// probe.
fn length_that_decides(search: &SearchRecord) -> Option<String> {
    let at = undecided_value(search)?;
    let policy = &search.policy;
    if policy.axis != SearchAxis::Rate || policy.units_needed <= 0.0 {
        return None;
    }
    let needed = span(rounded_up(policy.needed_ns(at), 10));
    let budget = print_duration(Nanos(policy.budget_ns?.saturating_mul(budgets_needed(search))));
    let at = of_axis(search, at);
    Some(format!(
        "at {at} probes of {needed} would decide: allow --budget {budget}, make ops smaller (--batch), or bound a lower \
         percentile"
    ))
}

/// A rate is idle below this fraction of the highest that the target reached.
const IDLE: f64 = 0.02;

/// A rate at which the target idles failed, and none passed: no rate has a lower latency.
fn wider_bound(search: &SearchRecord, no_mark: &NoMark) -> Option<String> {
    let reached = search.probes.iter().map(|probe| probe.acknowledged_per_s);
    let failed =
        no_mark.lowest_failed.filter(|failed| *failed < IDLE * reached.fold(0.0, f64::max))?;
    no_mark.highest_met.is_none().then(|| {
        let at = of_axis(search, failed);
        format!(
            "the target idles at {at} and misses the objective there: its latency does not come from the load, so that \
             a lower rate hardly helps; give the objective a wider bound"
        )
    })
}

/// Nanoseconds, rounded up to a multiple of this number of seconds.
fn rounded_up(ns: u64, seconds: u64) -> u64 {
    let unit = seconds * 1_000_000_000;
    ns.div_ceil(unit).saturating_mul(unit)
}

/// An incident that ended a search also ends its record.
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

/// How often a mark was confirmed, in the words of every output: `3 of 3 times for 30 s`. Confirmations that met the
/// objective as measured, but show it only together with the others, are not included in the first number: `2 of 3
/// times for 30 s; the ops of all 3 together meet it`; `2 of 4 times for 30 s; the ops of 3 of them together meet it`.
pub fn times_confirmed(search: &SearchRecord, mark: &Mark) -> String {
    let of_mark = mark.confirmations;
    let of_mark =
        of_mark.unwrap_or_else(|| how_confirmed(&search.probes, mark.confirmed, &has_held));
    let Confirmations { made, passed, held } = of_mark;
    let times = format!("{passed} of {made} times for {}", span(mark.hold_ns));
    match held {
        _ if held == passed => times,
        _ if held == made => format!("{times}; the ops of all {held} together meet it"),
        _ => format!("{times}; the ops of {held} of them together meet it"),
    }
}

/// A value with its unit: `98,300 rows/s`, `12 sessions`.
pub fn of_axis(search: &SearchRecord, at: f64) -> String {
    match search.axis {
        SearchAxis::Rate => format!("{} {}/s", rate(at), search.unit.name()),
        SearchAxis::Sessions => format!("{} sessions", rate(at)),
    }
}
