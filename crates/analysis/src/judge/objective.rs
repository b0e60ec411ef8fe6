//! Whether every objective of the plan was met, in every measured step, for every stream that it
//! applies to.
//!
//! A percentile passes only with 95 % confidence; what was not shown to be met is missed.

use crate::exceedance::{Exceedance, exceedance};
use crate::telemetry;
use highwater_model::display::{
    count, duration, percent, percent_asked, percent_of, plain, quantile, rate, ratio, span,
};
use highwater_model::histogram::LatencySummary;
use highwater_model::judgment::{Judgment, ObjectiveValue, Reason, ReasonCode};
use highwater_model::numbers::to_f64;
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Objective;
use highwater_model::record::{ResultRecord, RunRecord};
use highwater_model::units::{Nanos, Rate};

use super::measured::MeasuredStream;
use super::reasons::{judgment, reason};

/// Ops beyond a percentile that a pass or fail needs in expectation: 1,000 ops for p99.
pub const OPS_BEYOND_PERCENTILE: u64 = 10;
/// Open load is sustained when this share of what was offered is acknowledged in the same time.
pub const SUSTAINED_SHARE: f64 = 0.99;

/// What one latency objective came to, for one op in one phase.
pub(crate) struct LatencyVerdict {
    pub(super) place: String,
    /// `p99`, or `p99 of rows`.
    pub(super) percentile: String,
    pub(crate) shown: Shown,
}

/// What the ops show of a percentile.
#[derive(Debug, PartialEq)]
pub(crate) enum Shown {
    /// With 95 % confidence below its bound.
    Met,
    /// With 95 % confidence more ops above the bound than allowed.
    Missed(String),
    /// More of the measured ops above it than allowed, but not with confidence.
    Above(String),
    /// Below the bound by the estimate, but not with confidence.
    Unproven(String),
    /// Neither can be said.
    TooFew { samples: u64, needed: u64 },
}

pub(super) fn judge(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
) -> Judgment<ObjectiveValue> {
    let objectives = &record.plan.definition.objectives;
    if objectives.is_empty() {
        return judgment(ObjectiveValue::NoneSet, Vec::new());
    }
    let mut reasons = vec![latency(objectives, measured)];
    for objective in objectives {
        reasons.push(match *objective {
            Objective::Latency { .. } | Objective::RowLatency { .. } => None,
            Objective::Errors { max_ppm } => errors(measured, max_ppm),
            Objective::Rejected { max_ppm } => rejected(record, measured, max_ppm),
            Objective::Throughput { min } => throughput(measured, min),
            Objective::Cpu { max_ppm } => cpu(record, max_ppm),
        });
    }
    reasons.push(rate_not_sustained(measured));
    reasons.push(backlog(measured));
    reasons.push(not_measured(measured));
    let reasons: Vec<Reason> = reasons.into_iter().flatten().collect();
    let value = if reasons.is_empty() {
        ObjectiveValue::Met
    } else {
        ObjectiveValue::Missed
    };
    judgment(value, reasons)
}

/// All latency objectives, for every op that they apply to.
pub(crate) fn latency_verdicts(
    objectives: &[Objective],
    measured: &[MeasuredStream<'_>],
) -> Vec<LatencyVerdict> {
    let mut verdicts = Vec::new();
    for (index, objective) in latency_objectives(objectives).enumerate() {
        let mut applied = false;
        for stream in measured {
            let results = stream.results.iter();
            for result in results.filter(|r| !objective.of_rows || r.row_latency_ns.is_some()) {
                applied = true;
                verdicts.push(LatencyVerdict {
                    place: stream.place_of(result),
                    percentile: percentile_name(objective),
                    shown: shown(result, stream.units_per_op(), index, objective),
                });
            }
        }
        if !applied && !measured.is_empty() {
            let why = if objective.of_rows {
                "only open inserts have a row latency"
            } else {
                "no op was acknowledged"
            };
            verdicts.push(LatencyVerdict {
                place: "all streams".to_owned(),
                percentile: percentile_name(objective),
                shown: Shown::Unproven(why.to_owned()),
            });
        }
    }
    verdicts
}

fn percentile_name(objective: LatencyObjective) -> String {
    let name = quantile(objective.ppm);
    if objective.of_rows {
        format!("{name} of rows")
    } else {
        name
    }
}

fn shown(
    result: &ResultRecord,
    rows_per_op: u64,
    index: usize,
    objective: LatencyObjective,
) -> Shown {
    let beyond_ppm = beyond(objective.ppm);
    let needed = OPS_BEYOND_PERCENTILE * 1_000_000 / beyond_ppm;
    let samples: u64 = result.windows.ended.iter().sum();
    let too_few = Shown::TooFew { samples, needed };
    let Some(bound) = exceeded(result, rows_per_op, index, objective.of_rows) else {
        return too_few;
    };
    let allowed = ratio(beyond_ppm, 1_000_000);
    let evidence = || latency_evidence(result, &bound, objective);
    if samples >= needed && bound.upper95 <= allowed {
        Shown::Met
    } else if bound.lower95 > allowed {
        Shown::Missed(evidence())
    } else if samples < needed {
        too_few
    } else if bound.fraction > allowed {
        Shown::Above(evidence())
    } else {
        Shown::Unproven(evidence())
    }
}

/// Millionths of the ops that a percentile leaves beyond it.
fn beyond(ppm: u32) -> u64 {
    u64::from(1_000_000_u32.saturating_sub(ppm)).max(1)
}

/// The share of ops, or of rows, above the bound of a latency objective; absent without ops.
fn exceeded(
    result: &ResultRecord,
    rows_per_op: u64,
    index: usize,
    of_rows: bool,
) -> Option<Exceedance> {
    let windows = &result.windows;
    let over = windows.over.get(index)?;
    // Of a row latency objective windows count rows.
    let scale = if of_rows { rows_per_op } else { 1 };
    let ended = windows.ended.iter().map(|n| n.saturating_mul(scale));
    let ended: Vec<u64> = ended.collect();
    (ended.iter().sum::<u64>() > 0).then(|| exceedance(&ended, over))
}

/// How near a run is to missing its latency objectives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectiveMargin {
    /// ln(share of ops above the bound, with 95 % confidence ÷ share allowed); above 0 the objective
    /// is not shown to be met.
    pub bound: f64,
    /// Share of ops above the bound ÷ share allowed, as it was measured.
    pub late: f64,
}

/// The greatest pressure of all latency objectives; absent without one.
pub fn latency_pressure(
    objectives: &[Objective],
    measured: &[MeasuredStream<'_>],
) -> Option<ObjectiveMargin> {
    let mut greatest: Option<ObjectiveMargin> = None;
    for (index, objective) in latency_objectives(objectives).enumerate() {
        for stream in measured {
            for result in &stream.results {
                let Some(bound) = exceeded(result, stream.units_per_op(), index, objective.of_rows)
                else {
                    continue;
                };
                let allowed = ratio(beyond(objective.ppm), 1_000_000);
                let pressure = ObjectiveMargin {
                    bound: (bound.upper95 / allowed).ln(),
                    late: bound.fraction / allowed,
                };
                if greatest.is_none_or(|most| most.bound < pressure.bound) {
                    greatest = Some(pressure);
                }
            }
        }
    }
    greatest
}

/// A bound of a latency.
#[derive(Debug, Clone, Copy)]
struct LatencyObjective {
    /// Quantile in millionths.
    ppm: u32,
    max: Nanos,
    /// Whether rows are meant, and not ops.
    of_rows: bool,
}

/// Each latency objective, in order.
fn latency_objectives(objectives: &[Objective]) -> impl Iterator<Item = LatencyObjective> {
    let of = |ppm, max, of_rows| LatencyObjective { ppm, max, of_rows };
    objectives
        .iter()
        .filter_map(move |objective| match *objective {
            Objective::Latency { quantile_ppm, max } => Some(of(quantile_ppm, max, false)),
            Objective::RowLatency { quantile_ppm, max } => Some(of(quantile_ppm, max, true)),
            _ => None,
        })
}

fn latency_evidence(
    result: &ResultRecord,
    bound: &Exceedance,
    objective: LatencyObjective,
) -> String {
    let summary = if objective.of_rows {
        result.row_latency_ns.as_ref()
    } else {
        Some(&result.latency_ns)
    };
    let measured = match summary.and_then(|summary| percentile_of(summary, objective.ppm)) {
        Some((ns, true)) => format!("was at least {}; ", duration(ns)),
        Some((ns, false)) => format!("was {}; ", duration(ns)),
        None => String::new(),
    };
    format!(
        "{measured}the limit is {}. {} of ops took longer (at most {} with 95 % confidence); {} is \
         allowed",
        span(objective.max.0),
        percent(bound.fraction),
        percent(bound.upper95),
        percent_asked(1_000_000_u32.saturating_sub(objective.ppm))
    )
}

/// The percentile and whether it is a lower bound, of those that a summary holds.
fn percentile_of(summary: &LatencySummary, ppm: u32) -> Option<(u64, bool)> {
    let (name, value) = match ppm {
        500_000 => ("p50", summary.p50),
        900_000 => ("p90", summary.p90),
        950_000 => ("p95", summary.p95),
        990_000 => ("p99", summary.p99),
        999_000 => ("p999", summary.p999),
        999_900 => ("p9999", summary.p9999),
        _ => return None,
    };
    Some((value?, summary.at_least.iter().any(|other| other == name)))
}

fn latency(objectives: &[Objective], measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let places: Vec<String> = latency_verdicts(objectives, measured)
        .into_iter()
        .filter_map(|verdict| {
            let what = match verdict.shown {
                Shown::Met => return None,
                Shown::Missed(evidence) | Shown::Above(evidence) => evidence,
                Shown::Unproven(evidence) => format!("not met with 95 % confidence: {evidence}"),
                Shown::TooFew { samples, needed } => format!(
                    "cannot be judged: {} ops measured, {} needed",
                    count(samples),
                    count(needed)
                ),
            };
            let separator = if what.starts_with("was ") || what.starts_with("cannot ") {
                ""
            } else {
                ":"
            };
            Some(format!(
                "{}: {}{separator} {what}",
                verdict.place, verdict.percentile
            ))
        })
        .collect();
    let message = "a percentile is above its limit, or not below it with 95 % confidence";
    let hint = "lower --rate, use fewer sessions (-c), or measure longer (-d)";
    reason(ReasonCode::ObjectiveLatency, message, &places, hint)
}

fn errors(measured: &[MeasuredStream<'_>], max_ppm: u32) -> Option<Reason> {
    let failed = |result: &ResultRecord| result.errors.values().sum::<u64>() + result.dropped;
    let places = shares_above(measured, max_ppm, "failed or were dropped", failed);
    let message = "too many ops failed or were dropped";
    let hint = "see `errors` in the record for causes; a lower --rate may help";
    reason(ReasonCode::ObjectiveErrors, message, &places, hint)
}

fn rejected(record: &RunRecord, measured: &[MeasuredStream<'_>], max_ppm: u32) -> Option<Reason> {
    let class = ErrorClass::Rejected.name();
    let rejected = |result: &ResultRecord| result.errors.get(class).copied().unwrap_or(0);
    let what = "were rejected for lack of capacity";
    let mut places = shares_above(measured, max_ppm, what, rejected);
    // Pieces of work that the target rejects and tries again are no share of the ops.
    let inside = telemetry::rejected(record).filter(|pieces| *pieces > 0 && max_ppm == 0);
    if let Some(pieces) = inside.filter(|_| places.is_empty()) {
        let pieces = count(pieces);
        places.push(format!(
            "the target rejected {pieces} tasks internally, by its own count"
        ));
    }
    let message = "too many ops were rejected for lack of capacity";
    let hint = "lower --rate or use fewer sessions (-c)";
    reason(ReasonCode::ObjectiveRejected, message, &places, hint)
}

/// Where the share of such ops, of those offered, is above the bound.
fn shares_above(
    measured: &[MeasuredStream<'_>],
    max_ppm: u32,
    what: &str,
    of: impl Fn(&ResultRecord) -> u64,
) -> Vec<String> {
    let mut places = Vec::new();
    for stream in measured {
        for result in &stream.results {
            let (part, whole) = (of(result), result.offered.max(result.sent));
            // Exact: no rounding may turn a pass into a miss.
            let above = u128::from(part) * 1_000_000 > u128::from(whole) * u128::from(max_ppm);
            if above {
                places.push(format!(
                    "{}: {} of {} ops ({}) {what}; the limit is {}",
                    stream.place_of(result),
                    count(part),
                    count(whole),
                    percent_of(part, whole),
                    percent_asked(max_ppm)
                ));
            }
        }
    }
    places
}

/// The floor is in the unit of the plan's first stream, and asks only streams that count in it.
fn throughput(measured: &[MeasuredStream<'_>], min: Rate) -> Option<Reason> {
    let unit = measured.first()?.stream.unit;
    let places: Vec<String> = measured
        .iter()
        .filter(|m| m.stream.unit == unit && m.units_per_s() < min.as_f64())
        .map(|m| {
            format!(
                "{}: {} {unit}/s acknowledged; the minimum is {} {unit}/s",
                m.place(),
                rate(m.units_per_s()),
                plain(min.as_f64()),
                unit = unit.name()
            )
        })
        .collect();
    let message = "less was acknowledged than the objective requires";
    let hint = "try more sessions (-c) or larger batches";
    reason(ReasonCode::RateNotSustained, message, &places, hint)
}

/// Checked in open load whatever the objectives are: a rate that is not kept up is not met.
fn rate_not_sustained(measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let mut places = Vec::new();
    for stream in measured.iter().filter(|stream| stream.is_open()) {
        let seconds = stream.seconds();
        if seconds <= 0.0 {
            continue;
        }
        // What was not offered is our fault, and another rule's.
        let planned = stream.stream.planned_rate.unwrap_or(0.0);
        let offered = (stream.units_offered() / seconds).min(planned);
        let one_op = to_f64(stream.units_per_op()) / seconds;
        let least = (offered * SUSTAINED_SHARE).min(offered - one_op) - at_work(stream, offered);
        if stream.units_per_s() < least {
            places.push(format!(
                "{}: {} {unit}/s acknowledged of {} {unit}/s planned",
                stream.place(),
                rate(stream.units_per_s()),
                rate(planned),
                unit = stream.stream.unit.name()
            ));
        }
    }
    let message = "less was acknowledged than planned";
    let hint = "lower --rate or add sessions (-c)";
    reason(ReasonCode::RateNotSustained, message, &places, hint)
}

/// Units per second that the ops at work at the end of a phase are worth, where no phase before
/// it left as many behind at its begin.
fn at_work(stream: &MeasuredStream<'_>, offered_per_s: f64) -> f64 {
    if stream.phase.start_ns > 0 {
        return 0.0;
    }
    let service = stream.mean_seconds(|result| result.service_ns.mean);
    service.unwrap_or(0.0) * offered_per_s / stream.seconds()
}

fn backlog(measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let mut places = Vec::new();
    for stream in measured {
        for result in stream.results.iter().filter(|result| result.backlog) {
            let wait = result.session_wait_ns.p99.map_or_else(String::new, |wait| {
                format!(" (session wait p99 {})", duration(wait))
            });
            places.push(format!(
                "{}: ops were still waiting for a session when the phase ended{wait}",
                stream.place_of(result)
            ));
        }
    }
    let message = "ops were still waiting for a session when the phase ended";
    let hint = "lower --rate or add sessions (-c)";
    reason(ReasonCode::Backlog, message, &places, hint)
}

/// The busiest node of the target, over all measured phases; this machine too, if the target runs on
/// it. What is not known is not met.
fn cpu(record: &RunRecord, max_ppm: u32) -> Option<Reason> {
    let max = ratio(u64::from(max_ppm), 1_000_000);
    let busy = telemetry::busy_cpus(record);
    if busy.is_empty() {
        let hint = "enable telemetry, or add an endpoint with --metrics";
        let message = "the target's CPU use is unknown";
        return reason(
            ReasonCode::ObjectiveCpu,
            message,
            &["CPU use is unknown: no `cpu_busy` reading from the target".to_owned()],
            hint,
        );
    }
    let too_busy = busy.into_iter().filter(|(_, share)| *share > max);
    let places: Vec<String> = too_busy
        .map(|(node, share)| {
            let (busy, limit) = (percent(share), percent_asked(max_ppm));
            format!("{node}: CPU use was {busy}; the limit is {limit}")
        })
        .collect();
    let message = "the target used more CPU than allowed";
    let hint = "lower --rate or give the target more CPU";
    reason(ReasonCode::ObjectiveCpu, message, &places, hint)
}

/// An objective that nothing was measured for is not met.
fn not_measured(measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let places: Vec<String> = if measured.is_empty() {
        vec!["no measured phase began".to_owned()]
    } else {
        let streams = measured.iter();
        streams
            .filter(|stream| stream.answered() == 0)
            .map(|stream| format!("{}: nothing was acknowledged", stream.place()))
            .collect()
    };
    let message = "nothing was measured that could meet the objective";
    reason(ReasonCode::RateNotSustained, message, &places, "")
}
