//! Fractions of ops that an objective allows: late ops and failed ops. Their measured values, their
//! uncertainty, and a run's margin to missing its objectives.
//!
//! Must not contain the text of a judgment, except the evidence of a percentile.
//!
//! The bound on failed ops if no objective states one: at most 1% of the ops that a stream sent may fail, and at most
//! 1% of the rows.

use std::collections::BTreeMap;
use std::fmt;

use highwater_model::display::{
    count, duration, percent, percent_asked, percent_of, quantile, ratio, span,
};
use highwater_model::histogram::LatencySummary;
use highwater_model::judgment::{Reason, ReasonCode};
use highwater_model::numbers::to_f64;
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Objective;
use highwater_model::record::{ResultRecord, RowCounts, RunRecord};
use highwater_model::units::Nanos;

use super::measured::MeasuredStream;
use super::{failure_hint, reason};
use crate::exceedance::{Exceedance, exceedance};

/// Expected number of ops beyond a percentile that a verdict needs: 1,000 ops for p99.
pub const OPS_BEYOND_PERCENTILE: u64 = 10;
/// Allowed shortfall of a Poisson count, in standard deviations.
const DEVIATIONS: f64 = 5.0;
/// Open load is sustained if this fraction of the offered ops is acknowledged in the same time.
pub const SUSTAINED_SHARE: f64 = 0.99;

/// The result of one latency objective, for one op in one phase.
pub(crate) struct LatencyVerdict {
    /// Position of its objective among those about latency.
    pub(super) objective: usize,
    pub(super) place: String,
    /// `p99`, or `p99 of rows`.
    pub(super) percentile: String,
    pub(crate) shown: Shown,
    /// What was measured, for all but [`Shown::TooFew`].
    pub(super) evidence: String,
    /// Length of the phase, nanoseconds; 0 if the objective applies to no op of it.
    pub(super) phase_ns: u64,
}

/// What the ops show about an allowed fraction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shown {
    /// With 95% confidence it is not exceeded.
    Met,
    /// With 95% confidence it is exceeded.
    Missed,
    /// More of the measured ops than allowed, but not with confidence.
    Above,
    /// Not more of the measured ops than allowed, but not with confidence.
    Unproven,
    /// Too few ops for either.
    TooFew { samples: u64, needed: u64 },
}

impl Shown {
    const fn from_bound(bound: &Exceedance, allowed: f64) -> Self {
        if bound.upper95 <= allowed {
            Self::Met
        } else if bound.lower95 > allowed {
            Self::Missed
        } else if bound.fraction > allowed {
            Self::Above
        } else {
            Self::Unproven
        }
    }
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
            for result in results.filter(|result| objective.applies_to(result)) {
                applied = true;
                let bound = exceeded(result, stream.units_per_op(), index, objective.of_rows);
                verdicts.push(LatencyVerdict {
                    objective: index,
                    phase_ns: stream.phase.duration_ns,
                    place: stream.place_of(result),
                    percentile: percentile_name(objective),
                    shown: latency_shown(result, bound.as_ref(), objective),
                    evidence: bound.map_or_else(String::new, |bound| {
                        latency_evidence(result, &bound, objective)
                    }),
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
                objective: index,
                place: objective.op.unwrap_or("all streams").to_owned(),
                phase_ns: 0,
                percentile: percentile_name(objective),
                shown: Shown::Unproven,
                evidence: why.to_owned(),
            });
        }
    }
    verdicts
}

fn percentile_name(objective: LatencyObjective<'_>) -> String {
    let name = quantile(objective.ppm);
    if objective.of_rows { format!("{name} of rows") } else { name }
}

/// Fewer ops than needed can show that a percentile is missed, but not that it is met.
fn latency_shown(
    result: &ResultRecord,
    bound: Option<&Exceedance>,
    objective: LatencyObjective<'_>,
) -> Shown {
    let needed = ops_needed(objective.beyond_ppm());
    let samples: u64 = result.windows.ended.iter().sum();
    let Some(bound) = bound else {
        return Shown::TooFew { samples, needed };
    };
    // More are late than may be of all that are needed: no further op changes the verdict.
    let is_final = bound.fraction * to_f64(samples) > objective.allowed() * to_f64(needed);
    match Shown::from_bound(bound, objective.allowed()) {
        Shown::Missed => Shown::Missed,
        shown if is_final || samples >= needed => shown,
        _ => Shown::TooFew { samples, needed },
    }
}

/// Number of ops of which ten are expected to be beyond the percentile.
const fn ops_needed(allowed_ppm: u64) -> u64 {
    OPS_BEYOND_PERCENTILE * 1_000_000 / allowed_ppm
}

/// Ops to plan for judging a percentile beyond which this many millionths may lie.
pub fn ops_to_judge(allowed_ppm: u64) -> f64 {
    ops_to_plan(to_f64(ops_needed(allowed_ppm))).ceil()
}

/// Ops to plan for, so that a Poisson count is hardly ever below this number.
pub(crate) fn ops_to_plan(least: f64) -> f64 {
    least + DEVIATIONS * least.sqrt()
}

/// The fraction of ops, or of rows, above the bound of a latency objective; absent without ops.
fn exceeded(
    result: &ResultRecord,
    rows_per_op: u64,
    index: usize,
    of_rows: bool,
) -> Option<Exceedance> {
    let windows = &result.windows;
    let over = windows.over.get(index)?;
    // For a row latency objective, windows count rows.
    let scale = if of_rows { rows_per_op } else { 1 };
    let ended: Vec<u64> = windows.ended.iter().map(|n| n.saturating_mul(scale)).collect();
    (ended.iter().sum::<u64>() > 0).then(|| exceedance(&ended, over))
}

/// All objectives that allow a fraction of the ops to fail or to be rejected, for every op, with the
/// code of the reason if one is missed.
pub(crate) fn failure_verdicts(
    objectives: &[Objective],
    measured: &[MeasuredStream<'_>],
) -> Vec<(ReasonCode, Shown)> {
    let mut verdicts = Vec::new();
    for result in measured.iter().flat_map(|stream| &stream.results) {
        for failures in failures(objectives, result) {
            let shown = match failures.margin_in(result) {
                Some(bound) => Shown::from_bound(&bound, failures.allowed()),
                None if is_above(failures.ops, offered(result), failures.max_ppm) => Shown::Missed,
                None => Shown::Met,
            };
            verdicts.push((failures.code, shown));
        }
    }
    verdicts
}

/// The failures that count against an objective.
struct Failures {
    ops: u64,
    /// Allowed millionths of the ops.
    max_ppm: u32,
    code: ReasonCode,
}

impl Failures {
    /// Allowed fraction of such ops.
    fn allowed(&self) -> f64 {
        ratio(u64::from(self.max_ppm), 1_000_000)
    }

    /// The fraction of ops that failed this way, if its margin is known: in open load, with as many ops as a percentile
    /// of that fraction needs. Windows count all ops that failed completely, so there must be no other failures; a
    /// merged record may lack such windows.
    fn margin_in(&self, result: &ResultRecord) -> Option<Exceedance> {
        let windows = &result.windows;
        let offered: u64 = windows.offered.iter().sum();
        let is_known = self.max_ppm > 0
            && offered >= ops_needed(u64::from(self.max_ppm))
            && result.partial.is_empty()
            && self.ops == result.failed_ops()
            && (self.ops == 0 || !windows.failed.is_empty());
        is_known.then(|| {
            let mut failed = windows.failed.clone();
            failed.resize(windows.offered.len(), 0);
            exceedance(&windows.offered, &failed)
        })
    }
}

/// The failures that count against each objective.
fn failures(objectives: &[Objective], result: &ResultRecord) -> impl Iterator<Item = Failures> {
    let of = |ops, max_ppm, code| Failures { ops, max_ppm, code };
    let (failed, rejected) = (failed_ops(result), rejected_ops(result));
    objectives.iter().filter_map(move |objective| match *objective {
        Objective::Errors { max_ppm } => Some(of(failed, max_ppm, ReasonCode::ObjectiveErrors)),
        Objective::Rejected { max_ppm } => {
            Some(of(rejected, max_ppm, ReasonCode::ObjectiveRejected))
        }
        _ => None,
    })
}

/// Ops that failed, completely or in part, or were dropped.
pub(crate) fn failed_ops(result: &ResultRecord) -> u64 {
    result.errors.values().sum::<u64>() + result.dropped
}

/// Ops that were rejected for lack of capacity, completely or in part.
pub(crate) fn rejected_ops(result: &ResultRecord) -> u64 {
    let class = ErrorClass::Rejected.name();
    result.errors.get(class).copied().unwrap_or(0)
}

/// All ops, of which a fraction may fail.
pub(crate) fn offered(result: &ResultRecord) -> u64 {
    result.offered.max(result.sent)
}

/// Whether a part is a larger fraction of the whole than allowed. Exact: rounding cannot turn a pass
/// into a miss.
pub(super) fn is_above(part: u64, whole: u64, max_ppm: u32) -> bool {
    u128::from(part) * 1_000_000 > u128::from(whole) * u128::from(max_ppm)
}

/// A run's margin to missing its objectives by a fraction of its ops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectiveMargin {
    /// ln(fraction of late or failed ops, with 95% confidence ÷ allowed fraction); above 0 the
    /// objective is not shown to be met.
    pub bound: f64,
    /// Measured fraction of late or failed ops ÷ allowed fraction.
    pub share: f64,
}

impl ObjectiveMargin {
    fn from_bound(bound: &Exceedance, allowed: f64) -> Self {
        Self { bound: (bound.upper95 / allowed).ln(), share: bound.fraction / allowed }
    }
}

/// The smallest margin among objectives that allow a fraction of the ops; absent without one.
pub fn nearest_margin(
    objectives: &[Objective],
    measured: &[MeasuredStream<'_>],
) -> Option<ObjectiveMargin> {
    let mut margins = Vec::new();
    for stream in measured {
        for result in &stream.results {
            let bounds = latency_objectives(objectives).enumerate();
            for (index, objective) in bounds.filter(|(_, objective)| objective.applies_to(result)) {
                let bound = exceeded(result, stream.units_per_op(), index, objective.of_rows);
                margins.extend(bound.map(|b| ObjectiveMargin::from_bound(&b, objective.allowed())));
            }
            for failures in failures(objectives, result) {
                let bound = failures.margin_in(result);
                // A rate at which more ops fail is not sustained, whatever the objective allows.
                let allowed = failures.allowed().min(1.0 - SUSTAINED_SHARE);
                margins.extend(bound.map(|bound| ObjectiveMargin::from_bound(&bound, allowed)));
            }
        }
    }
    margins.into_iter().reduce(|most, other| if most.bound < other.bound { other } else { most })
}

/// A bound of a latency.
#[derive(Debug, Clone, Copy)]
pub(super) struct LatencyObjective<'a> {
    /// Quantile in millionths.
    pub(super) ppm: u32,
    pub(super) max: Nanos,
    /// Whether it counts rows instead of ops.
    pub(super) of_rows: bool,
    /// The op or stream that it applies to; each op if absent.
    op: Option<&'a str>,
}

impl LatencyObjective<'_> {
    /// Whether it applies to this op of this stream.
    pub(super) fn is_about(self, stream: &str, op: &str) -> bool {
        self.op.is_none_or(|named| named == op || named == stream)
    }

    /// Whether it applies to this op, and the op has this figure.
    fn applies_to(self, result: &ResultRecord) -> bool {
        let has_latency = !self.of_rows || result.row_latency_ns.is_some();
        has_latency && self.is_about(&result.stream, &result.op)
    }

    /// Millionths of the ops beyond the percentile.
    fn beyond_ppm(self) -> u64 {
        u64::from(1_000_000_u32.saturating_sub(self.ppm)).max(1)
    }

    /// Allowed fraction of late ops.
    pub(super) fn allowed(self) -> f64 {
        ratio(self.beyond_ppm(), 1_000_000)
    }
}

/// Each latency objective, in order.
pub(super) fn latency_objectives(
    objectives: &[Objective],
) -> impl Iterator<Item = LatencyObjective<'_>> {
    objectives.iter().filter_map(|objective| match objective {
        Objective::Latency { quantile_ppm, max, op } => Some(LatencyObjective {
            ppm: *quantile_ppm,
            max: *max,
            of_rows: false,
            op: op.as_deref(),
        }),
        Objective::RowLatency { quantile_ppm, max } => {
            Some(LatencyObjective { ppm: *quantile_ppm, max: *max, of_rows: true, op: None })
        }
        _ => None,
    })
}

fn latency_evidence(
    result: &ResultRecord,
    bound: &Exceedance,
    objective: LatencyObjective<'_>,
) -> String {
    let summary =
        if objective.of_rows { result.row_latency_ns.as_ref() } else { Some(&result.latency_ns) };
    let measured = match summary.and_then(|summary| percentile_of(summary, objective.ppm)) {
        Some((ns, true)) => format!("was at least {}; ", duration(ns)),
        Some((ns, false)) => format!("was {}; ", duration(ns)),
        None => String::new(),
    };
    let [longer, most] = [bound.fraction, bound.upper95].map(percent);
    let allowed = percent_asked(1_000_000_u32.saturating_sub(objective.ppm));
    format!(
        "{measured}the limit is {}. {longer} of ops took longer (at most {most} with 95% \
         confidence); {allowed} is allowed",
        span(objective.max.0)
    )
}

/// A percentile of a summary: its name, and millionths.
type Percentile = (&'static str, u32, fn(&LatencySummary) -> Option<u64>);

/// The percentiles in a summary.
pub(super) const PERCENTILES: [Percentile; 6] = [
    ("p50", 500_000, |summary| summary.p50),
    ("p90", 900_000, |summary| summary.p90),
    ("p95", 950_000, |summary| summary.p95),
    ("p99", 990_000, |summary| summary.p99),
    ("p999", 999_000, |summary| summary.p999),
    ("p9999", 999_900, |summary| summary.p9999),
];

/// The percentile as far as a summary has it, and whether it is a lower bound.
fn percentile_of(summary: &LatencySummary, ppm: u32) -> Option<(u64, bool)> {
    let (name, _, of) = PERCENTILES.into_iter().find(|(_, of, _)| *of == ppm)?;
    let is_bound = summary.at_least.iter().any(|other| other == name);
    Some((of(summary)?, is_bound))
}

/// Allowed millionths of failed ops, or rows, of a stream: 1%. A healthy target does not fail more by accident, and
/// with more the p99 is not finite.
const MAX_PPM: u32 = 10_000;
/// A host is named if it has at least this fraction of all failures, so a few other failures elsewhere do not hide
/// it.
const OF_ONE_HOST: f64 = 0.9;

/// The failures of one op, over all measured phases.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedWork {
    /// `insert`, or with its stream `writes insert`.
    place: String,
    failed: u64,
    sent: u64,
    /// Whether rows are counted instead of ops, because ops were acknowledged in part.
    of_rows: bool,
    /// The most frequent class of its errors; absent if rows were rejected without an error.
    class: Option<String>,
    /// The address of the host with nearly all failures, if there are several hosts.
    host: Option<String>,
}

/// `insert: 11,763 of 23,290 ops (50.5%) failed: conflict, at 10.0.0.2:5432`.
impl fmt::Display for FailedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.of_rows { "rows" } else { "ops" };
        let verb = if self.of_rows { "were not acknowledged" } else { "failed" };
        let part = percent_of(self.failed, self.sent);
        let [failed, sent] = [self.failed, self.sent].map(count);
        write!(f, "{}: {failed} of {sent} {what} ({part}) {verb}", self.place)?;
        if let Some(class) = &self.class {
            write!(f, ": {class}")?;
        }
        match &self.host {
            Some(host) => write!(f, ", at {host}"),
            None => Ok(()),
        }
    }
}

/// The failures of streams with more failures than allowed, most first; empty if an objective bounds failures.
pub fn failed_work(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Vec<FailedWork> {
    let objectives = &record.plan.definition.objectives;
    let bounds_errors = |of: &Objective| matches!(of, Objective::Errors { .. });
    if objectives.iter().any(bounds_errors) {
        return Vec::new();
    }
    let bounds_rejected = |of: &Objective| matches!(of, Objective::Rejected { .. });
    let rejected_count = !objectives.iter().any(bounds_rejected);
    let mut found: Vec<FailedWork> = Vec::new();
    for ops in by_stream(measured, rejected_count).into_values() {
        let of_ops = beyond_bound(&ops, |op| [op.failed, op.sent], false);
        if of_ops.is_empty() {
            found.extend(beyond_bound(&ops, OpSums::rows, true));
        }
        found.extend(of_ops);
    }
    found.sort_by_key(|of| std::cmp::Reverse(of.failed));
    let host = host_of_failures(record);
    for of in &mut found {
        of.host.clone_from(&host);
    }
    found
}

/// Why a run without a stated bound on errors missed its objective: the default bound was exceeded.
pub(super) fn reason_of(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let limit = percent_asked(MAX_PPM);
    let places = failed_work(record, measured);
    let places = places.iter().map(|of| format!("{of}; without --errors the limit is {limit}"));
    let places: Vec<String> = places.collect();
    let message = "too much failed of what was sent";
    let cause = failure_hint(measured).unwrap_or("see `errors` in the record for causes");
    let hint = format!("{cause}; --errors states how much may fail");
    reason(ReasonCode::ObjectiveErrors, message, &places, &hint)
}

/// Whether the only objective is that everything may fail, which counts as none.
pub(super) fn may_all_fail(objectives: &[Objective]) -> bool {
    matches!(objectives, [Objective::Errors { max_ppm: 1_000_000.. }])
}

/// One op over all measured phases.
#[derive(Debug, Default)]
struct OpSums {
    sent: u64,
    failed: u64,
    rows: RowCounts,
    by_class: BTreeMap<String, u64>,
    /// Rejections have their own bound, and may explain rows that were not acknowledged.
    rows_are_bounded: bool,
}

impl OpSums {
    fn add(&mut self, result: &ResultRecord, rejected_count: bool) {
        let rejected = ErrorClass::Rejected.name();
        self.sent += result.sent;
        self.rows.sent += result.rows.sent;
        self.rows.refused += result.rows.refused;
        self.rows.unknown += result.rows.unknown;
        for (class, ops) in &result.errors {
            if rejected_count || class != rejected {
                let partial = result.partial.get(class).copied().unwrap_or(0);
                self.failed += ops.saturating_sub(partial);
                *self.by_class.entry(class.clone()).or_default() += ops;
            } else {
                self.rows_are_bounded |= *ops > 0;
            }
        }
    }

    /// Rows that were sent and not acknowledged.
    fn rows(&self) -> [u64; 2] {
        if self.rows_are_bounded {
            return [0, self.rows.sent];
        }
        [self.rows.refused + self.rows.unknown, self.rows.sent]
    }
}

/// By stream, then by the name of the op.
fn by_stream<'a>(
    measured: &[MeasuredStream<'a>],
    rejected_count: bool,
) -> BTreeMap<&'a str, BTreeMap<String, OpSums>> {
    let mut streams: BTreeMap<&str, BTreeMap<String, OpSums>> = BTreeMap::new();
    for stream in measured {
        for result in &stream.results {
            let (stream, op) = (result.stream.as_str(), result.op.as_str());
            let place = if stream == op { op.to_owned() } else { format!("{stream} {op}") };
            let sums = streams.entry(stream).or_default().entry(place);
            sums.or_default().add(result, rejected_count);
        }
    }
    streams
}

/// The ops of a stream whose failures exceed the bound, if those of all its ops together do.
fn beyond_bound(
    ops: &BTreeMap<String, OpSums>,
    of: impl Fn(&OpSums) -> [u64; 2],
    of_rows: bool,
) -> Vec<FailedWork> {
    let counts = ops.values().map(&of);
    let [failed, sent] = counts.fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
    if !is_above(failed, sent, MAX_PPM) {
        return Vec::new();
    }
    ops.iter()
        .map(|(place, op)| {
            let [failed, sent] = of(op);
            let frequent = op.by_class.iter().max_by_key(|(_, ops)| **ops);
            FailedWork {
                place: place.clone(),
                failed,
                sent,
                of_rows,
                class: frequent.map(|(class, _)| class.clone()),
                host: None,
            }
        })
        .filter(|of| is_above(of.failed, of.sent, MAX_PPM))
        .collect()
}

/// The address of the host at which ops failed, if it is one of several.
fn host_of_failures(record: &RunRecord) -> Option<String> {
    let hosts = &record.target.hosts;
    let all: u64 = hosts.iter().map(|host| host.failed).sum();
    let most = hosts.iter().max_by_key(|host| host.failed)?;
    let is_its = hosts.len() > 1 && all > 0 && ratio(most.failed, all) >= OF_ONE_HOST;
    is_its.then(|| address(&most.url).to_owned())
}

/// Host and port of a URL.
fn address(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    let place = behind.split(['/', '?']).next().unwrap_or(behind);
    place.rsplit_once('@').map_or(place, |(_, place)| place)
}
