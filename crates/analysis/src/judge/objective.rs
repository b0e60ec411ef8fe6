//! Whether every objective of the plan was met, in every measured step, for every stream that it applies to.
//!
//! A percentile passes only with 95% confidence; an objective that was not shown to be met is missed. It is undecided
//! only if there were too few ops to judge any percentile, and nothing else was missed. Failed ops have a bound even
//! if the plan states none: see `shares`.
//!
//! A phase ends early if the ops expected in the rest of it can no longer meet an objective.
//!
//! Two conditions must hold: the ops so far show with 95% confidence that a percentile is missed, and the whole phase
//! would miss it even if every further op were good. Because of the second condition, one bad second of many does not
//! end a phase, and testing again every second does not end one by chance. Closed load has no planned number of ops,
//! and a target that stalls at first responds to few of them: such a phase ends early only after half of its time,
//! assuming that the rest may be as fast as the fastest second so far.

use std::collections::BTreeMap;

use highwater_model::display::{
    count, duration, percent, percent_asked, percent_of, plain, rate, ratio, span,
};
use highwater_model::judgment::{Judgment, ObjectiveValue, Reason, ReasonCode};
use highwater_model::numbers::{ceil_to_u64, round_to_u64, to_f64};
use highwater_model::plan::Objective;
use highwater_model::record::{IncidentKind, ResultRecord, RunRecord};
use highwater_model::units::{Nanos, Rate};

use super::measured::MeasuredStream;
use super::shares::{
    LatencyVerdict, SUSTAINED_SHARE, Shown, failed_ops, is_above, latency_objectives,
    latency_verdicts, offered, ops_to_plan, rejected_ops,
};
use super::{failure_hint, faults, incident, judgment, reason, shares};
use crate::availability::outage_ns;
use crate::exceedance::exceedance;
use crate::telemetry;

/// Maximum fraction of the offered ops that may be outstanding at the end through random variation.
const EXCUSED_MOST: f64 = 0.03;
/// A node is named if its queue accounts for this fraction of the growth.
const MOSTLY: f64 = 0.3;

pub(super) fn judge(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
) -> Judgment<ObjectiveValue> {
    let objectives = &record.plan.definition.objectives;
    let failed_work = shares::reason_of(record, measured);
    if has_none(record) {
        return match failed_work {
            None => judgment(ObjectiveValue::NoneSet, Vec::new()),
            Some(reason) => judgment(ObjectiveValue::Missed, vec![reason]),
        };
    }
    let latencies = latency_verdicts(objectives, measured);
    let mut reasons = vec![failed_work, latency(record, &latencies)];
    reasons.extend(objectives.iter().map(|objective| of_counts(record, measured, objective)));
    let of_faults: Vec<_> =
        objectives.iter().filter_map(|objective| faults::verdict(record, objective)).collect();
    let open = of_faults.iter().filter(|of| of.is_open).map(|of| of.reason.code);
    let open: Vec<ReasonCode> = open.collect();
    reasons.extend(of_faults.into_iter().map(|of| Some(of.reason)));
    // These objectives say for how long, or which part of the rate may be missing.
    let excuses =
        |of: &Objective| matches!(of, Objective::Recovery { .. } | Objective::During { .. });
    if !objectives.iter().any(excuses) {
        reasons.push(rate_not_sustained(measured));
    }
    reasons.push(backlog(record, measured));
    reasons.push(not_measured(measured));
    let reasons: Vec<Reason> = reasons.into_iter().flatten().collect();
    let is_missed =
        |of: &Reason| of.code != ReasonCode::ObjectiveLatency && !open.contains(&of.code);
    let is_late = reasons.iter().any(|of| of.code == ReasonCode::ObjectiveLatency);
    let value = match reasons.iter().any(is_missed) {
        _ if reasons.is_empty() => ObjectiveValue::Met,
        // A run that was stopped before it measured did not test anything.
        _ if measured.is_empty() && incident(record, IncidentKind::Interrupted).is_some() => {
            ObjectiveValue::NotDecided
        }
        false if !is_late || lacks_ops_alone(&latencies) => ObjectiveValue::NotDecided,
        _ => ObjectiveValue::Missed,
    };
    judgment(value, reasons)
}

/// Each stated objective alone, in order: met, missed, or undecided.
pub(super) fn judge_each(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
) -> Vec<Judgment<ObjectiveValue>> {
    let objectives = &record.plan.definition.objectives;
    let verdicts = latency_verdicts(objectives, measured);
    let mut of_latency = verdicts.chunk_by(|one, other| one.objective == other.objective);
    let each = objectives.iter().map(|objective| {
        let is_latency = objective.quantile_ppm().is_some();
        let latencies = is_latency.then(|| of_latency.next()).flatten().unwrap_or_default();
        let reason = latency(record, latencies);
        let lacks_ops = measured.is_empty() || reason.is_some() && lacks_ops_alone(latencies);
        let reason = reason.or_else(|| of_counts(record, measured, objective));
        let of_faults = faults::verdict(record, objective);
        let lacks_ops = lacks_ops || of_faults.as_ref().is_some_and(|of| of.is_open);
        let reason = reason.or_else(|| of_faults.map(|of| of.reason));
        let value = match &reason {
            _ if lacks_ops => ObjectiveValue::NotDecided,
            None => ObjectiveValue::Met,
            Some(_) => ObjectiveValue::Missed,
        };
        judgment(value, reason.into_iter().collect())
    });
    each.collect()
}

/// Why an objective that is not about latency is missed.
fn of_counts(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
    objective: &Objective,
) -> Option<Reason> {
    match *objective {
        Objective::Latency { .. }
        | Objective::RowLatency { .. }
        | Objective::Recovery { .. }
        | Objective::During { .. }
        | Objective::Lost { .. } => None,
        Objective::Errors { max_ppm } => errors(measured, max_ppm),
        Objective::Rejected { max_ppm } => rejected(record, measured, max_ppm),
        Objective::Throughput { min } => throughput(measured, min),
        Objective::Cpu { max_ppm } => cpu(record, max_ppm),
    }
}

/// Whether no objective is stated.
pub(super) fn has_none(record: &RunRecord) -> bool {
    let objectives = &record.plan.definition.objectives;
    objectives.is_empty() || shares::may_all_fail(objectives)
}

/// Whether an objective that was not judged as met may still be met by further ops, because the only reason is that
/// too few were measured.
pub fn may_yet_be_met(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> bool {
    let judged = &record.judgments.objective;
    let mut reasons = judged.reasons.iter();
    let verdicts = latency_verdicts(&record.plan.definition.objectives, measured);
    !reasons.any(|reason| reason.code != ReasonCode::ObjectiveLatency)
        && verdicts.iter().all(|of| of.shown != Shown::Missed)
        && match judged.value {
            ObjectiveValue::Missed | ObjectiveValue::NotDecided => true,
            ObjectiveValue::Met | ObjectiveValue::NoneSet => false,
        }
}

/// Whether there were too few ops to judge a percentile, and the measured ones missed none.
fn lacks_ops_alone(verdicts: &[LatencyVerdict]) -> bool {
    let mut shown = verdicts.iter().map(|verdict| verdict.shown);
    shown.all(|shown| matches!(shown, Shown::Met | Shown::TooFew { .. }))
}

fn latency(record: &RunRecord, verdicts: &[LatencyVerdict]) -> Option<Reason> {
    let places: Vec<String> = verdicts
        .iter()
        .filter_map(|verdict| {
            let evidence = &verdict.evidence;
            let what = match verdict.shown {
                Shown::Met => return None,
                Shown::Missed | Shown::Above => evidence.clone(),
                Shown::Unproven => format!("not shown with 95% confidence: {evidence}"),
                Shown::TooFew { samples, needed } => too_few(samples, needed, verdict.phase_ns),
            };
            let separator =
                if what.starts_with("was ") || what.starts_with("cannot ") { "" } else { ":" };
            let (place, percentile) = (&verdict.place, &verdict.percentile);
            Some(format!("{place}: {percentile}{separator} {what}"))
        })
        .collect();
    let is_unproven = |of: &LatencyVerdict| !matches!(of.shown, Shown::Missed | Shown::Above);
    let (message, hint) = if lacks_ops_alone(verdicts) {
        let message = "too few ops were measured to judge a percentile by";
        (message, "measure longer (-d)")
    } else if verdicts.iter().all(is_unproven) {
        let message =
            "a percentile was within its limit, but 95% confidence that it stays there is required";
        (message, "measure longer (-d), lower --rate, or use fewer sessions (-c)")
    } else {
        let message = "a percentile is above its limit, or not below it with 95% confidence";
        // After an outage, a lower rate would have had the same percentile.
        let hint = match outage_ns(&record.availability) {
            Some(_) => {
                "see the target's log for why it acknowledged nothing for a time, then run again"
            }
            None => "lower --rate, use fewer sessions (-c), or measure longer (-d)",
        };
        (message, hint)
    };
    reason(ReasonCode::ObjectiveLatency, message, &places, hint)
}

/// With the length that would decide, if the ops allow an estimate.
fn too_few(samples: u64, needed: u64, phase_ns: u64) -> String {
    let times = ops_to_plan(to_f64(needed)) / to_f64(samples);
    let tens = ceil_to_u64(to_f64(phase_ns) * times / 1e10);
    let length = match samples {
        0 => String::new(),
        _ => format!("; about {} would decide", span(tens * 10_000_000_000)),
    };
    let [samples, needed] = [samples, needed].map(count);
    format!("cannot be judged: {samples} ops measured, {needed} needed{length}")
}

fn errors(measured: &[MeasuredStream<'_>], max_ppm: u32) -> Option<Reason> {
    let places = shares_above(measured, max_ppm, "failed or were dropped", failed_ops);
    let message = "too many ops failed or were dropped";
    let dropped = "lower --rate or add sessions (-c)";
    let hint = failure_hint(measured).unwrap_or(dropped);
    reason(ReasonCode::ObjectiveErrors, message, &places, hint)
}

fn rejected(record: &RunRecord, measured: &[MeasuredStream<'_>], max_ppm: u32) -> Option<Reason> {
    let what = "were rejected for lack of capacity";
    let mut places = shares_above(measured, max_ppm, what, rejected_ops);
    // Tasks that the target rejects and retries internally are not a fraction of the ops.
    let inside = telemetry::rejected(record).filter(|pieces| *pieces > 0 && max_ppm == 0);
    if let Some(pieces) = inside.filter(|_| places.is_empty()) {
        let pieces = count(pieces);
        places.push(format!("the target rejected {pieces} tasks internally, by its own count"));
    }
    let message = "too many ops were rejected for lack of capacity";
    let hint = "lower --rate or use fewer sessions (-c)";
    reason(ReasonCode::ObjectiveRejected, message, &places, hint)
}

/// The places where the fraction of such ops among the offered ones exceeds the bound.
fn shares_above(
    measured: &[MeasuredStream<'_>],
    max_ppm: u32,
    what: &str,
    of: impl Fn(&ResultRecord) -> u64,
) -> Vec<String> {
    let mut places = Vec::new();
    for stream in measured {
        for result in &stream.results {
            let (part, whole) = (of(result), offered(result));
            if is_above(part, whole, max_ppm) {
                let (place, share) = (stream.place_of(result), percent_of(part, whole));
                let ([part, whole], limit) = ([part, whole].map(count), percent_asked(max_ppm));
                places.push(format!(
                    "{place}: {part} of {whole} ops ({share}) {what}; the limit is {limit}"
                ));
            }
        }
    }
    places
}

/// The floor is in the unit of the plan's first stream, and applies only to streams that count in
/// it.
fn throughput(measured: &[MeasuredStream<'_>], min: Rate) -> Option<Reason> {
    let unit = measured.first()?.stream.unit;
    let places: Vec<String> = measured
        .iter()
        .filter(|m| m.stream.unit == unit && m.units_per_s() < min.as_f64())
        .map(|m| {
            let (done, least) = (rate(m.units_per_s()), plain(min.as_f64()));
            let unit = unit.name();
            format!("{m}: {done} {unit}/s acknowledged; the minimum is {least} {unit}/s")
        })
        .collect();
    let message = "less was acknowledged than the objective requires";
    let hint = "try more sessions (-c) or larger batches";
    reason(ReasonCode::RateNotSustained, message, &places, hint)
}

/// Checked in open load with any objective: a rate that is not sustained is not met.
fn rate_not_sustained(measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let mut places = Vec::new();
    for stream in measured.iter().filter(|stream| !is_sustained(stream)) {
        let due = stream.due_rate().unwrap_or(0.0);
        let [done, due] = [stream.units_per_s(), due].map(rate);
        let unit = stream.stream.unit.name();
        let how = if stream.is_drawn() { "offered" } else { "planned" };
        places.push(format!("{stream}: {done} {unit}/s acknowledged of {due} {unit}/s {how}"));
    }
    let message = "less was acknowledged than planned";
    let hint = "lower --rate or add sessions (-c)";
    reason(ReasonCode::RateNotSustained, message, &places, hint)
}

/// Whether as much was acknowledged as offered; closed load never offers more.
pub(crate) fn is_sustained(stream: &MeasuredStream<'_>) -> bool {
    let seconds = stream.seconds();
    let Some(planned) = stream.stream.planned_rate.filter(|_| seconds > 0.0) else {
        return true;
    };
    // A shortfall of offered ops is the load generator's fault, and another rule reports it.
    let offered = (stream.units_offered() / seconds).min(planned);
    let one_op = to_f64(stream.units_per_op()) / seconds;
    let least = (offered * SUSTAINED_SHARE).min(offered - one_op) - at_work(stream, offered);
    let reached = stream.units_per_s();
    reached >= least || reached + out_by_chance(stream, offered) >= least
}

/// The growth of outstanding ops in units per second, if it is not significant: with few ops, the queue alone varies
/// by some percent. A target that stalled at the end is not excused for more than this.
fn out_by_chance(stream: &MeasuredStream<'_>, offered_per_s: f64) -> f64 {
    let backlog = stream.backlog().filter(|backlog| !backlog.is_shown);
    let grown = backlog.map_or(0.0, |backlog| backlog.grown.max(0.0));
    let units = grown * to_f64(stream.units_per_op()) / stream.seconds();
    units.min(offered_per_s * EXCUSED_MOST)
}

/// The ops running at the end of a phase, in units per second; 0 if a previous phase left as many
/// running at its start.
fn at_work(stream: &MeasuredStream<'_>, offered_per_s: f64) -> f64 {
    if stream.phase.start_ns > 0 {
        return 0.0;
    }
    let service = stream.mean_seconds(|result| result.service_ns.mean);
    service.unwrap_or(0.0) * offered_per_s / stream.seconds()
}

fn backlog(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let mut places = growing(record, measured);
    let message = "the number of ops in flight or waiting kept growing";
    let hint = "lower --rate or add sessions (-c)";
    if !places.is_empty() {
        return reason(ReasonCode::Backlog, message, &places, hint);
    }
    for stream in measured {
        for result in stream.results.iter().filter(|result| result.backlog) {
            let wait = result
                .session_wait_ns
                .p99
                .map_or_else(String::new, |wait| format!(" (session wait p99 {})", duration(wait)));
            places.push(format!(
                "{}: ops were still waiting for a session when the phase ended{wait}",
                stream.place_of(result)
            ));
        }
    }
    let message = "ops were still waiting for a session when the phase ended";
    reason(ReasonCode::Backlog, message, &places, hint)
}

/// The streams whose ops in flight or waiting grew, and the node if the queue of one node explains most of the
/// growth.
pub(super) fn growing(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Vec<String> {
    let growing = measured.iter().filter_map(|stream| Some((stream, stream.backlog_growth()?)));
    let place = |(stream, grown): (&MeasuredStream<'_>, f64)| {
        let node = telemetry::longest_growing_queue(record, stream.phase);
        let node = node.filter(|(_, queued)| *queued > grown * MOSTLY);
        let at = node.map_or_else(String::new, |(node, queued)| {
            format!("; at node {node}, its queue grew by {}", count(round_to_u64(queued)))
        });
        let (grown, over) = (count(round_to_u64(grown)), span(stream.phase.duration_ns));
        format!("{stream}: ops in flight or waiting grew by {grown} over {over}{at}")
    };
    growing.map(place).collect()
}

/// The busiest node of the target, over all measured phases; this machine counts as well, if the
/// target runs on it. An unknown value does not meet it.
fn cpu(record: &RunRecord, max_ppm: u32) -> Option<Reason> {
    let max = ratio(u64::from(max_ppm), 1_000_000);
    let busy = telemetry::busy_cpus(record);
    if busy.is_empty() {
        let hint = "enable telemetry, or add an endpoint with --metrics";
        let message = "the target's CPU use is unknown";
        let places = ["CPU use is unknown: no `cpu_busy` reading from the target".to_owned()];
        return reason(ReasonCode::ObjectiveCpu, message, &places, hint);
    }
    let places: Vec<String> = busy
        .into_iter()
        .filter(|(_, share)| *share > max)
        .map(|(node, share)| {
            let (busy, limit) = (percent(share), percent_asked(max_ppm));
            format!("{node}: CPU use was {busy}; the limit is {limit}")
        })
        .collect();
    let message = "the target used more CPU than allowed";
    let hint = "lower --rate or give the target more CPU";
    reason(ReasonCode::ObjectiveCpu, message, &places, hint)
}

/// An objective without any measurement is not met.
fn not_measured(measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let places: Vec<String> = if measured.is_empty() {
        vec!["no measured phase began".to_owned()]
    } else {
        measured
            .iter()
            .filter(|stream| stream.answered() == 0)
            .map(|stream| format!("{stream}: nothing was acknowledged"))
            .collect()
    };
    let message = "nothing was measured that could meet the objective";
    reason(ReasonCode::RateNotSustained, message, &places, "")
}

/// The shortest part of a phase that can be judged.
const LEAST: Nanos = Nanos::from_secs(5);
/// The rest of a phase may have this many times the ops expected from its first part, because Poisson arrivals
/// vary.
const MORE_TO_COME: f64 = 1.5;

/// Results so far of an op of a stream in the running phase.
#[derive(Debug, Clone, Default)]
pub struct OpSoFar {
    /// Name of the stream.
    pub stream: String,
    /// Name of the op.
    pub op: String,
    /// Rows of an op that counts rows, else 1.
    pub units_per_op: u64,
    /// Whether its sessions send the next op when the previous one has ended.
    pub is_closed: bool,
    /// Ended or dropped ops per 100 ms, as latency objectives count them.
    pub ended: Vec<u64>,
    /// The ones of these above each bound, or their rows.
    pub over: Vec<Vec<u64>>,
    /// Intended ops, by second of the run.
    pub offered: BTreeMap<u64, u64>,
    /// Ops that failed or were dropped.
    pub failed: u64,
    /// Ops that were rejected for lack of capacity.
    pub rejected: u64,
}

/// An objective that can no longer be met.
#[derive(Debug, Clone, PartialEq)]
pub struct Hopeless {
    /// Which.
    pub objective: Objective,
    /// The stream and op that miss it.
    pub place: [String; 2],
    /// Fraction of the ops that missed it so far.
    pub missed: f64,
    /// Allowed fraction.
    pub allowed: f64,
}

/// The first objective that can no longer be met in a phase of this length, after `elapsed`. Minimum throughput and
/// CPU use are not checked: the rest of the phase may compensate for anything.
pub fn hopeless(
    objectives: &[Objective],
    so_far: &[OpSoFar],
    elapsed: Nanos,
    length: Nanos,
) -> Option<Hopeless> {
    if elapsed < LEAST || elapsed >= length {
        return None;
    }
    let rest = length.saturating_sub(elapsed).as_secs_f64() / elapsed.as_secs_f64();
    let mut decided = so_far
        .iter()
        .filter(|of| !of.is_closed || rest <= 1.0)
        .map(|of| (of, 1.0 + rest * of.more_to_come(elapsed)));
    decided.find_map(|(of, whole)| {
        late(objectives, of, whole).or_else(|| failed(objectives, of, whole))
    })
}

impl OpSoFar {
    /// Maximum number of ops in the rest, as a multiple of those in an equal time of the first
    /// part.
    fn more_to_come(&self, elapsed: Nanos) -> f64 {
        let fastest = self.offered.values().copied().max().unwrap_or(0);
        if !self.is_closed || fastest == 0 {
            return MORE_TO_COME;
        }
        let of_the_fastest = to_f64(fastest) * elapsed.as_secs_f64();
        MORE_TO_COME.max(of_the_fastest / to_f64(self.all_offered()))
    }

    fn all_offered(&self) -> u64 {
        self.offered.values().sum()
    }
}

/// A percentile that can no longer be met: more ops exceed the bound than are allowed in the whole phase.
fn late(objectives: &[Objective], of: &OpSoFar, whole: f64) -> Option<Hopeless> {
    let bounds = objectives.iter().filter(|bound| bound.bounds_latency());
    let mut stated = latency_objectives(objectives).zip(bounds).enumerate();
    stated.find_map(|(index, (bound, objective))| {
        let over = of.over.get(index)?;
        let scale = if bound.of_rows { of.units_per_op.max(1) } else { 1 };
        let ended: Vec<u64> = of.ended.iter().map(|n| n.saturating_mul(scale)).collect();
        let (seen, late) = (ended.iter().sum::<u64>(), over.iter().sum::<u64>());
        let can_no_longer = to_f64(late) > bound.allowed() * to_f64(seen) * whole;
        if !bound.is_about(&of.stream, &of.op) || seen == 0 || !can_no_longer {
            return None;
        }
        let missed = exceedance(&ended, over);
        (missed.lower95 > bound.allowed()).then(|| Hopeless {
            objective: objective.clone(),
            place: [of.stream.clone(), of.op.clone()],
            missed: missed.fraction,
            allowed: bound.allowed(),
        })
    })
}

/// More ops failed than are allowed in the whole phase. The whole phase is judged by its count of failures, not by an
/// estimate, so only the number of further ops is uncertain.
fn failed(objectives: &[Objective], of: &OpSoFar, whole: f64) -> Option<Hopeless> {
    objectives.iter().find_map(|objective| {
        let (failed, max_ppm) = match objective {
            Objective::Errors { max_ppm } => (of.failed, *max_ppm),
            Objective::Rejected { max_ppm } => (of.rejected, *max_ppm),
            _ => return None,
        };
        let allowed = f64::from(max_ppm) / 1e6;
        let offered = to_f64(of.all_offered().max(of.failed));
        (to_f64(failed) > allowed * offered * whole).then(|| Hopeless {
            objective: objective.clone(),
            place: [of.stream.clone(), of.op.clone()],
            missed: to_f64(failed) / offered,
            allowed,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Nanos = Nanos::from_secs(60);

    fn p99(op: Option<&str>) -> Objective {
        Objective::Latency {
            quantile_ppm: 990_000,
            max: Nanos::from_millis(50),
            op: op.map(str::to_owned),
        }
    }

    /// A hundred ops per second, of which this many per second exceed the bound.
    fn so_far(seconds: usize, late: impl Fn(usize) -> u64) -> OpSoFar {
        let windows = 0..seconds * 10;
        OpSoFar {
            stream: "writes".to_owned(),
            op: "insert".to_owned(),
            units_per_op: 1,
            is_closed: false,
            ended: windows.clone().map(|_| 10).collect(),
            over: vec![windows.map(|window| late(window / 10)).collect()],
            offered: (0..seconds as u64).map(|second| (second, 100)).collect(),
            ..OpSoFar::default()
        }
    }

    fn seconds(seconds: usize) -> Nanos {
        Nanos::from_secs(seconds as u64)
    }

    #[track_caller]
    fn check(objective: &Objective, of: &OpSoFar, after_s: usize, expected: bool) {
        let objectives = std::slice::from_ref(objective);
        let found = hopeless(objectives, std::slice::from_ref(of), seconds(after_s), MINUTE);
        assert_eq!(found.is_some(), expected, "{found:?}");
    }

    #[test]
    fn one_bad_second_stops_nothing_and_bad_ones_without_end_stop_soon() {
        // One second of sixty is 1.7%. But if the phase may have half as many ops again, it is below 1%.
        let one_bad = |second: usize| if second == 3 { 5 } else { 0 };
        check(&p99(None), &so_far(6, one_bad), 6, false);
        check(&p99(None), &so_far(30, one_bad), 30, false);
        let all_bad = |_| 10;
        check(&p99(None), &so_far(4, all_bad), 4, false);
        check(&p99(None), &so_far(6, all_bad), 6, true);
    }

    #[test]
    fn an_objective_that_can_still_be_met_is_not_hopeless_however_bad_it_looks() {
        // 6.7% are late after six seconds of sixty: if no more ops were late, 0.7% would be.
        let some = |second: usize| if second.is_multiple_of(5) { 2 } else { 0 };
        check(&p99(None), &so_far(6, some), 6, false);
        // After 55 seconds of 60, the rest cannot compensate for it.
        check(&p99(None), &so_far(55, some), 55, true);
    }

    #[test]
    fn an_objective_of_another_op_stops_nothing() {
        check(&p99(Some("insert")), &so_far(6, |_| 10), 6, true);
        check(&p99(Some("writes")), &so_far(6, |_| 10), 6, true);
        check(&p99(Some("dashboards")), &so_far(6, |_| 10), 6, false);
    }

    #[test]
    fn failures_are_compared_with_all_planned_ops() {
        let mut of = so_far(6, |_| 0);
        of.failed = 1;
        check(&Objective::Errors { max_ppm: 0 }, &of, 6, true);
        check(&Objective::Errors { max_ppm: 1_000 }, &of, 6, false);
        check(&Objective::Rejected { max_ppm: 0 }, &of, 6, false);
        of.failed = 300;
        check(&Objective::Errors { max_ppm: 10_000 }, &of, 6, true);
    }

    /// Sessions of a target that stalled for `still` seconds, with one op per second, and then ran 1,000 per
    /// second.
    fn stalled_first(still: u64, seconds: u64) -> OpSoFar {
        let ops = |second| if second < still { 1 } else { 1_000 };
        OpSoFar {
            is_closed: true,
            offered: (0..seconds).map(|second| (second, ops(second))).collect(),
            failed: still,
            ..so_far(0, |_| 0)
        }
    }

    #[test]
    fn closed_load_that_stalled_first_may_still_make_up_for_it() {
        let all_bad = |seconds| OpSoFar { is_closed: true, ..so_far(seconds, |_| 10) };
        // In the first half of the phase, the rest may have any number of ops.
        check(&p99(None), &all_bad(29), 29, false);
        check(&p99(None), &all_bad(30), 30, true);
        // One second at full speed shows how many ops the rest may have: 30 failures of 30,000 are
        // 0.1%.
        let errors = Objective::Errors { max_ppm: 10_000 };
        check(&errors, &stalled_first(30, 31), 31, false);
        check(&errors, &stalled_first(31, 31), 31, true);
    }

    #[test]
    fn a_phase_that_is_over_is_judged_and_not_stopped() {
        check(&p99(None), &so_far(60, |_| 10), 60, false);
    }
}
