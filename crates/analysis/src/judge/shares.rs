//! Shares of the ops that an objective allows: of late ones, and of those that failed. How many there were,
//! how well that is known, and how near a run is to missing its objectives by them.
//!
//! No text of a judgment is here but the evidence of a percentile.
//!
//! The bound of failed work where no objective states one: at most one op in a hundred of those that a stream sent may
//! fail, and at most one row in a hundred.

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

/// Ops beyond a percentile that a pass or fail needs in expectation: 1,000 ops for p99.
pub const OPS_BEYOND_PERCENTILE: u64 = 10;
/// Standard deviations by which a Poisson count may fall short.
const DEVIATIONS: f64 = 5.0;
/// Open load is sustained when this share of what was offered is acknowledged in the same time.
pub const SUSTAINED_SHARE: f64 = 0.99;

/// What one latency objective came to, for one op in one phase.
pub(crate) struct LatencyVerdict {
    /// Position of its objective among those about latency.
    pub(super) objective: usize,
    pub(super) place: String,
    /// `p99`, or `p99 of rows`.
    pub(super) percentile: String,
    pub(crate) shown: Shown,
    /// What was measured, for all but [`Shown::TooFew`].
    pub(super) evidence: String,
    /// How long the phase took, nanoseconds; 0 where the objective is about no op of it.
    pub(super) phase_ns: u64,
}

/// What the ops show of a share that is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shown {
    /// With 95% confidence not above it.
    Met,
    /// With 95% confidence above it.
    Missed,
    /// More of the measured ops than allowed, but not with confidence.
    Above,
    /// Not more of the measured ops than allowed, but not with confidence.
    Unproven,
    /// Neither can be said.
    TooFew { samples: u64, needed: u64 },
}

impl Shown {
    const fn of(bound: &Exceedance, allowed: f64) -> Self {
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
    match bound.map(|bound| Shown::of(bound, objective.allowed())) {
        Some(Shown::Missed) => Shown::Missed,
        Some(shown) if samples >= needed => shown,
        _ => Shown::TooFew { samples, needed },
    }
}

/// Ops of which ten are expected to be among those that are allowed.
const fn ops_needed(allowed_ppm: u64) -> u64 {
    OPS_BEYOND_PERCENTILE * 1_000_000 / allowed_ppm
}

/// Ops to plan for, so that a percentile can be judged of which this part may be beyond, in millionths.
pub fn ops_to_judge(allowed_ppm: u64) -> f64 {
    ops_to_plan(to_f64(ops_needed(allowed_ppm)))
}

/// Ops to plan for, so that chance leaves hardly fewer than these.
pub(crate) fn ops_to_plan(least: f64) -> f64 {
    least + DEVIATIONS * least.sqrt()
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
    let ended: Vec<u64> = windows.ended.iter().map(|n| n.saturating_mul(scale)).collect();
    (ended.iter().sum::<u64>() > 0).then(|| exceedance(&ended, over))
}

/// All objectives that allow a share of the ops to fail, or to be rejected, for every op; by the code of
/// the reason where one is missed.
pub(crate) fn failure_verdicts(
    objectives: &[Objective],
    measured: &[MeasuredStream<'_>],
) -> Vec<(ReasonCode, Shown)> {
    let mut verdicts = Vec::new();
    for result in measured.iter().flat_map(|stream| &stream.results) {
        for failures in failures(objectives, result) {
            let shown = match failures.margin_in(result) {
                Some(bound) => Shown::of(&bound, failures.allowed()),
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
    /// Millionths of the ops that are allowed.
    max_ppm: u32,
    code: ReasonCode,
}

impl Failures {
    /// The share of the ops that may fail so.
    fn allowed(&self) -> f64 {
        ratio(u64::from(self.max_ppm), 1_000_000)
    }

    /// The share of the ops that failed so, where its margin is known: in open load, with as many ops as a
    /// percentile of that share needs. Windows count all ops that failed as a whole, so that there must be no others; a
    /// merged record may have no such windows.
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

/// Of each objective of failures those that count against it.
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

/// Ops that failed, as a whole or in part, or were dropped.
pub(crate) fn failed_ops(result: &ResultRecord) -> u64 {
    result.errors.values().sum::<u64>() + result.dropped
}

/// Ops that were rejected for lack of capacity, as a whole or in part.
pub(crate) fn rejected_ops(result: &ResultRecord) -> u64 {
    let class = ErrorClass::Rejected.name();
    result.errors.get(class).copied().unwrap_or(0)
}

/// All ops of which a share may fail.
pub(crate) fn offered(result: &ResultRecord) -> u64 {
    result.offered.max(result.sent)
}

/// Whether a part is more of the whole than allowed. Exact: no rounding may turn a pass into a miss.
pub(super) fn is_above(part: u64, whole: u64, max_ppm: u32) -> bool {
    u128::from(part) * 1_000_000 > u128::from(whole) * u128::from(max_ppm)
}

/// How near a run is to missing its objectives by a share of its ops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectiveMargin {
    /// ln(share of late or failed ops, with 95% confidence ÷ share allowed); above 0 the objective is
    /// not shown to be met.
    pub bound: f64,
    /// Share of late or failed ops ÷ share allowed, as it was measured.
    pub share: f64,
}

impl ObjectiveMargin {
    fn of(bound: &Exceedance, allowed: f64) -> Self {
        Self { bound: (bound.upper95 / allowed).ln(), share: bound.fraction / allowed }
    }
}

/// The nearest of all objectives that allow a share of the ops; absent without one.
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
                margins.extend(bound.map(|b| ObjectiveMargin::of(&b, objective.allowed())));
            }
            for failures in failures(objectives, result) {
                let bound = failures.margin_in(result);
                // A rate of which more fail is not sustained, whatever is allowed.
                let allowed = failures.allowed().min(1.0 - SUSTAINED_SHARE);
                margins.extend(bound.map(|bound| ObjectiveMargin::of(&bound, allowed)));
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
    /// Whether rows are meant, and not ops.
    pub(super) of_rows: bool,
    /// The op or stream that it is about; absent: each op.
    op: Option<&'a str>,
}

impl LatencyObjective<'_> {
    /// Whether it is about this op of this stream.
    pub(super) fn is_about(self, stream: &str, op: &str) -> bool {
        self.op.is_none_or(|named| named == op || named == stream)
    }

    /// Whether it is about this op, and can be measured of it.
    fn applies_to(self, result: &ResultRecord) -> bool {
        let has_latency = !self.of_rows || result.row_latency_ns.is_some();
        has_latency && self.is_about(&result.stream, &result.op)
    }

    /// Millionths of the ops that the percentile leaves beyond it.
    fn beyond_ppm(self) -> u64 {
        u64::from(1_000_000_u32.saturating_sub(self.ppm)).max(1)
    }

    /// The share of the ops that may be late.
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

/// Those that a summary holds.
pub(super) const PERCENTILES: [Percentile; 6] = [
    ("p50", 500_000, |summary| summary.p50),
    ("p90", 900_000, |summary| summary.p90),
    ("p95", 950_000, |summary| summary.p95),
    ("p99", 990_000, |summary| summary.p99),
    ("p999", 999_000, |summary| summary.p999),
    ("p9999", 999_900, |summary| summary.p9999),
];

/// The percentile and whether it is a lower bound, of those that a summary holds.
fn percentile_of(summary: &LatencySummary, ppm: u32) -> Option<(u64, bool)> {
    let (name, _, of) = PERCENTILES.into_iter().find(|(_, of, _)| *of == ppm)?;
    let is_bound = summary.at_least.iter().any(|other| other == name);
    Some((of(summary)?, is_bound))
}

/// Millionths of the ops, or of the rows, of a stream that may fail: 1%. More is no accident of a healthy target, and
/// its p99 is not finite.
const MAX_PPM: u32 = 10_000;
/// The part of all failures that a host has which is named as theirs: a few of another kind elsewhere hide nothing.
const OF_ONE_HOST: f64 = 0.9;

/// What failed of one op, over all measured phases.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedWork {
    /// `insert`, or with its stream `writes insert`.
    place: String,
    failed: u64,
    sent: u64,
    /// Whether rows are counted, of ops that were acknowledged in part, and not ops.
    of_rows: bool,
    /// The most frequent class of its errors; absent where rows were refused without one.
    class: Option<String>,
    /// The address of the host that has the failures of this run, if one of several has.
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

/// What failed of the streams of which more failed than may, most first; nothing where an objective bounds it.
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

/// Why a run without a bound for errors missed: more failed than may without one.
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

/// Whether nothing is asked for but that everything may fail: no objective is stated then.
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
    /// Rejections have a bound of their own, and rows that were not acknowledged may be theirs.
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

    /// Rows that were not acknowledged, of those that were sent.
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

/// The ops of a stream that failed beyond the bound, if all of them together did.
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

/// The address of the one of several hosts at which ops failed.
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
