//! The bound of failed work where no objective states one: at most one op in a hundred of those that a stream sent may
//! fail, and at most one row in a hundred. Must not know of objectives but those that take its place.

use std::collections::BTreeMap;
use std::fmt;

use highwater_model::display::{count, percent_asked, percent_of, ratio};
use highwater_model::judgment::{Reason, ReasonCode};
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Objective;
use highwater_model::record::{ResultRecord, RowCounts, RunRecord};

use super::measured::MeasuredStream;
use super::reasons::failure_hint;
use super::reasons::reason;
use super::shares::is_above;

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
