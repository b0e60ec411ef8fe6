//! A search for the mark: its policy, its probes as they finished, and its outcome.
//!
//! A search is a function of these values alone (see `analysis::search`), so its record holds all input of its next
//! step, and can be replayed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::numbers::{ceil_to_u64, round_to_u64, to_f64};

use super::judgment::ReasonCode;
use super::limit::Limit;
use super::named::named;
use super::plan::{Objective, Unit, digest};

/// A search and what came of it; part of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchRecord {
    /// What is varied.
    pub axis: SearchAxis,
    /// The stream whose pace is varied.
    pub stream: String,
    /// Unit of its rates.
    pub unit: Unit,
    /// What every probe must meet; fixed before the first one.
    pub objective: SearchObjective,
    /// See [`SearchObjective::hash`].
    pub objective_hash: String,
    /// See [`SearchRecord::hash`]; empty in records of before it was kept.
    #[serde(default)]
    pub definition_hash: String,
    /// The mark must reach this; not part of a probe's objective.
    pub floor: Option<f64>,
    /// What the search may do.
    pub policy: SearchPolicy,
    /// Probes, in order.
    #[serde(default)]
    pub probes: Vec<ProbeRecord>,
    /// How it ended; absent while it goes on.
    pub outcome: Option<SearchOutcome>,
}

/// What a search varies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchAxis {
    /// The rate of an open stream, in its unit per second.
    #[default]
    Rate,
    /// The sessions of a closed stream.
    Sessions,
}

/// What every probe must meet. Open load must besides be sustained, without a growing backlog,
/// whatever is stated here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchObjective {
    /// As in the plan of each probe.
    pub stated: Vec<Objective>,
    /// No op may fail otherwise than by being rejected; so where nothing is stated about errors.
    pub no_errors: bool,
}

impl SearchObjective {
    /// SHA-256, in hexadecimal.
    pub fn hash(&self) -> String {
        digest(self)
    }

    /// Whether a fraction of the ops may be late, or may fail.
    pub fn allows_a_share(&self) -> bool {
        self.bounds_latency()
            || self.stated.iter().any(|objective| {
                matches!(
                    objective,
                    Objective::Errors { max_ppm: 1.. } | Objective::Rejected { max_ppm: 1.. }
                )
            })
    }

    /// Whether a latency percentile is bounded.
    pub fn bounds_latency(&self) -> bool {
        self.stated.iter().any(Objective::bounds_latency)
    }
}

/// What a search may do. Values are on its axis: units per second, or sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchPolicy {
    /// What is varied.
    pub axis: SearchAxis,
    /// The first value; absent: an estimate from closed load comes first.
    pub first: Option<f64>,
    /// Nothing below this is probed.
    pub lowest: f64,
    /// Nothing above this is probed; absent: no bound.
    pub highest: Option<f64>,
    /// The mark is narrow enough when highest confirmed and lowest failed differ by this share.
    pub width: f64,
    /// How often the candidate must meet the objective again.
    pub confirmations: u32,
    /// Probes of all purposes, at most.
    pub probes_max: u32,
    /// Time of the whole search, nanoseconds; absent: no bound.
    pub budget_ns: Option<u64>,
    /// What a search probe measures at least, nanoseconds.
    pub probe_ns: u64,
    /// The same of a confirmation.
    pub confirmation_ns: u64,
    /// What a probe takes besides, however long it measures, nanoseconds: warm-up, settling, new tables,
    /// drain; as estimated before.
    pub around_ns: u64,
    /// What its audit takes, as a fraction of what it measures; as estimated before.
    #[serde(default)]
    pub audit_fraction: f64,
    /// Units of the searched stream that its percentiles take to be judged; 0 without one. A probe
    /// at a lower rate measures longer.
    pub units_needed: f64,
    /// But not longer than this, nanoseconds, unless the fields above say so, or the budget has time left for
    /// its confirmations too.
    pub longest_ns: u64,
    /// A mark is followed by a run at its confirmed value that measures so long, nanoseconds; it is
    /// no part of the budget.
    #[serde(default)]
    pub soak_ns: Option<u64>,
}

impl SearchPolicy {
    /// Estimated total duration of a probe with this measuring time, before the first one; both nanoseconds.
    pub fn probe_takes_ns(&self, measured_ns: u64) -> u64 {
        let audit = round_to_u64(to_f64(measured_ns) * self.audit_fraction);
        measured_ns.saturating_add(self.around_ns).saturating_add(audit)
    }

    /// Minimum measuring time of a probe of this purpose, nanoseconds.
    pub const fn least_ns(&self, purpose: ProbePurpose) -> u64 {
        match (purpose, self.soak_ns) {
            (ProbePurpose::Soak, Some(soak)) => soak,
            (ProbePurpose::Confirm | ProbePurpose::Soak, _) => self.confirmation_ns,
            (ProbePurpose::Search | ProbePurpose::Estimate, _) => self.probe_ns,
        }
    }

    /// Maximum measuring time per probe, nanoseconds, if `probes` probes must fit in `time_ns` with an overhead of
    /// `around_ns` each; at least [`SearchPolicy::longest_ns`].
    pub fn longest_of_ns(&self, time_ns: u64, probes: u32, around_ns: u64) -> u64 {
        let one = time_ns / u64::from(probes.max(1));
        let measured = to_f64(one.saturating_sub(around_ns)) / (1.0 + self.audit_fraction);
        round_to_u64(measured).max(self.longest_ns)
    }

    /// Measuring time that a probe's percentiles need at this rate, nanoseconds.
    pub fn needed_ns(&self, units_per_s: f64) -> u64 {
        ceil_to_u64(self.units_needed / units_per_s.max(f64::MIN_POSITIVE) * 1e9)
    }
}

impl SearchRecord {
    /// SHA-256, in hexadecimal, of the definition and of the plan of the first probe. Budget, soak, and estimates are
    /// excluded, so a search can be resumed with others.
    pub fn hash(&self, plan: &str) -> String {
        let policy = SearchPolicy {
            budget_ns: None,
            soak_ns: None,
            lowest: 0.0,
            longest_ns: 0,
            around_ns: 0,
            audit_fraction: 0.0,
            ..self.policy.clone()
        };
        let intended = (&self.stream, self.unit, &self.objective, self.floor, policy, plan);
        digest(&intended)
    }

    /// Whether it found a mark.
    pub fn has_mark(&self) -> bool {
        matches!(self.outcome, Some(SearchOutcome::Mark(_)))
    }

    /// The long run that tested the mark.
    pub fn soak(&self) -> Option<&ProbeRecord> {
        self.probes.last().filter(|probe| probe.purpose == ProbePurpose::Soak)
    }
}

named! {
    /// Why a probe was made.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum ProbePurpose {
        /// Closed load, to learn the order of magnitude; judges nothing.
        Estimate = "estimate",
        /// Whether a value meets the objective.
        #[default]
        Search = "search",
        /// Whether the candidate meets it once more, over a longer time.
        Confirm = "confirm",
        /// Whether the confirmed value holds for long.
        Soak = "soak",
    }
}

impl ProbePurpose {
    /// Whether such a probe shows if its value meets the objective.
    pub const fn judges(self) -> bool {
        !matches!(self, Self::Estimate)
    }
}

/// What a probe showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeVerdict {
    /// The objective was shown to be met.
    Passed,
    /// It was shown to be missed: of a percentile with 95% confidence.
    Failed,
    /// Neither was shown; confirms nothing by itself.
    #[default]
    NotDecided,
    /// Too few ops for the percentile that the objective names; confirms nothing.
    TooFewOps,
    /// The load generator, not the target, may have decided; says nothing of the target.
    Invalid,
    /// The target could not be reached, or answered nothing.
    TargetLost,
    /// What was acknowledged was not found as acknowledged.
    WrongData,
    /// The user stopped the search.
    Interrupted,
    /// Nothing was to be judged: an estimate.
    Estimated,
}

/// One probe: a finished run, and what the search took from it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRecord {
    /// From 1.
    pub number: u32,
    /// Why it was made.
    pub purpose: ProbePurpose,
    /// The value on the axis; of an estimate on the rate axis, the sessions.
    pub at: f64,
    /// What it showed.
    pub verdict: ProbeVerdict,
    /// Codes of the reasons, the objective's first.
    pub reasons: Vec<ReasonCode>,
    /// Units of the searched stream acknowledged per second.
    pub acknowledged_per_s: f64,
    /// The same of each of its ops, by name, where it has several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub per_s_by_op: BTreeMap<String, f64>,
    /// ln(share of late or failed ops, with 95% confidence ÷ share allowed), the greatest of all objectives
    /// that allow a share; above 0 not all are shown to be met. Absent without one.
    pub pressure: Option<f64>,
    /// Share of late or failed ops ÷ share allowed by that objective, as it was measured.
    pub late: Option<f64>,
    /// The searched stream's greatest p99 of an op.
    pub p99_ns: Option<u64>,
    /// Mean latency of the searched stream's slowest op, nanoseconds; absent where none was
    /// acknowledged, and in older records.
    pub mean_ns: Option<u64>,
    /// Ops of all streams that failed.
    pub failed_ops: u64,
    /// What kept it from being faster; absent below saturation, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Rows of the tables before the measured phase.
    pub rows_before: u64,
    /// Bytes of the tables before the measured phase; absent where the target does not report.
    pub bytes_before: Option<u64>,
    /// Wall clock at its begin, RFC 3339, UTC.
    pub started_at: String,
    /// Length of the measured phase.
    pub measured_ns: u64,
    /// The whole run, with load and audit.
    pub took_ns: u64,
    /// How long the target was left alone before it.
    pub settled_ns: u64,
    /// Where its own record is, below the search's directory.
    pub run: String,
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchOutcome {
    /// The mark was found and confirmed.
    Mark(Mark),
    /// There is no confirmed mark.
    NoMark(NoMark),
}

/// The highest value that a target sustains under an objective.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// The highest value that met the objective as often as it had to be confirmed.
    pub confirmed: f64,
    /// Where the objective is just met; absent where the probes do not show it.
    pub estimate: Option<Estimate>,
    /// The lowest value above it that was shown to fail; absent where none was.
    pub failed: Option<f64>,
    /// Why that one failed.
    pub limited_by: Vec<ReasonCode>,
    /// Each confirmation held it for so long, nanoseconds.
    pub hold_ns: u64,
    /// How its confirmations came out; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmations: Option<Confirmations>,
    /// Rows of the tables before the last confirmation.
    pub rows: u64,
    /// Bytes of the tables before the last confirmation; absent where the target does not report.
    pub bytes: Option<u64>,
    /// Values above the lowest failed one that met the objective all the same.
    pub passed_above: Vec<f64>,
    /// Whether the interval is wider than requested because probes or time ran out.
    pub wider: bool,
}

impl Mark {
    /// The confirmed value and the lowest failed one; absent if none failed.
    pub fn bounds(&self) -> Option<[f64; 2]> {
        self.failed.map(|failed| [self.confirmed, failed])
    }
}

/// The confirmations of one value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmations {
    /// All that were made.
    pub made: u32,
    /// Those of which each showed by itself that the objective was met.
    pub passed: u32,
    /// These, and those that met it as measured, though not by themselves with 95% confidence: together they
    /// show it.
    pub held: u32,
}

/// The value at which the objective is just met, by all probes together. Unlike a confirmed value it
/// errs to both sides alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// On the axis.
    pub value: f64,
    /// Lower end of its 90% interval.
    pub low90: f64,
    /// Upper end of its 90% interval.
    pub high90: f64,
}

/// Why there is no mark, and what is known all the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoMark {
    /// Why.
    pub why: NoMarkReason,
    /// The highest value below all failed ones that met the objective; not confirmed.
    pub highest_met: Option<f64>,
    /// Where the objective is just met; absent where the probes do not show it.
    pub estimate: Option<Estimate>,
    /// The lowest value that was shown to fail.
    pub lowest_failed: Option<f64>,
    /// Why that one failed.
    pub limited_by: Vec<ReasonCode>,
}

/// Why there is no mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoMarkReason {
    /// No value met the objective, down to the lowest that was tried.
    BelowLowest,
    /// The load generator reached its limit before the target did.
    ClientCeiling,
    /// The longest probes are too short to show the percentile at these rates.
    TooFewOps,
    /// An op takes longer than a probe measures, even at the lowest value.
    OpsTooLong,
    /// Probes or time ran out before a candidate was confirmed.
    BudgetSpent,
    /// The target went away and did not come back.
    TargetLost,
    /// Acknowledged data were lost, duplicated or altered.
    WrongData,
    /// The user stopped the search.
    Interrupted,
    /// Closed load acknowledged nothing, so there is nothing to start from.
    NothingAcknowledged,
}
