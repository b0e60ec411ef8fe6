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

/// A search and its result; part of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchRecord {
    /// The axis of the search.
    pub axis: SearchAxis,
    /// Name of the stream whose pace is varied.
    pub stream: String,
    /// Unit of the stream's rates.
    pub unit: Unit,
    /// The objective of every probe; fixed before the first one.
    pub objective: SearchObjective,
    /// Hash of the objective, see [`SearchObjective::hash`].
    pub objective_hash: String,
    /// Hash of the definition, see [`SearchRecord::hash`]; empty in older records.
    #[serde(default)]
    pub definition_hash: String,
    /// Value that the mark must reach; not part of the objective of a probe. Absent if none is required.
    pub floor: Option<f64>,
    /// Limits of the search.
    pub policy: SearchPolicy,
    /// The probes, in order.
    #[serde(default)]
    pub probes: Vec<ProbeRecord>,
    /// Outcome; absent while the search is running.
    pub outcome: Option<SearchOutcome>,
}

/// The axis of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchAxis {
    /// The rate of an open stream, in units per second.
    #[default]
    Rate,
    /// The number of sessions of a closed stream.
    Sessions,
}

/// The objective of every probe. In addition, an open load must always be sustained without a growing backlog.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchObjective {
    /// The objectives that the user set, as in the plan of each probe.
    pub stated: Vec<Objective>,
    /// Whether no op may fail except by being rejected. This applies if the user set no objective for errors.
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

/// Limits of a search. Values are on its axis: units per second, or sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchPolicy {
    /// The axis of the search.
    pub axis: SearchAxis,
    /// The first value to probe. If absent, the search starts with an estimate from closed load.
    pub first: Option<f64>,
    /// The lowest value to probe.
    pub lowest: f64,
    /// The highest value to probe; absent if there is no limit.
    pub highest: Option<f64>,
    /// The search stops narrowing when the highest confirmed and lowest failed values differ by at most this fraction.
    pub width: f64,
    /// Number of times that the candidate must meet the objective again.
    pub confirmations: u32,
    /// Maximum number of probes, for all purposes.
    pub probes_max: u32,
    /// Time limit of the whole search in nanoseconds; absent if there is none.
    pub budget_ns: Option<u64>,
    /// Minimum measuring time of a search probe, in nanoseconds.
    pub probe_ns: u64,
    /// Minimum measuring time of a confirmation, in nanoseconds.
    pub confirmation_ns: u64,
    /// Estimated overhead of a probe in nanoseconds, regardless of its measuring time: warm-up, settling, new tables,
    /// and drain.
    pub around_ns: u64,
    /// Estimated duration of a probe's audit, as a fraction of its measuring time.
    #[serde(default)]
    pub audit_fraction: f64,
    /// Units of the searched stream that are needed to judge its percentiles; 0 without a percentile objective. Probes
    /// at lower rates measure longer.
    pub units_needed: f64,
    /// Maximum measuring time of such a probe in nanoseconds, unless the fields above require more, or the budget has
    /// time for it and for the confirmations.
    pub longest_ns: u64,
    /// Measuring time in nanoseconds of the soak: a run at the confirmed value after the search, outside the budget.
    /// Absent if there is none.
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
    /// Purpose of a probe.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum ProbePurpose {
        /// To estimate the order of magnitude with closed load; judges nothing.
        Estimate = "estimate",
        /// To find out whether a value meets the objective.
        #[default]
        Search = "search",
        /// To confirm, over a longer time, that the candidate meets the objective.
        Confirm = "confirm",
        /// To find out whether the confirmed value is sustained for a long time.
        Soak = "soak",
    }
}

impl ProbePurpose {
    /// Whether such a probe shows if its value meets the objective.
    pub const fn judges(self) -> bool {
        !matches!(self, Self::Estimate)
    }
}

/// Result of a probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeVerdict {
    /// The objective was met.
    Passed,
    /// The objective was missed; for a percentile, with 95% confidence.
    Failed,
    /// Inconclusive; does not count as a confirmation.
    #[default]
    NotDecided,
    /// Too few ops to judge the percentile of the objective; does not count as a confirmation.
    TooFewOps,
    /// The load generator, not the target, may have limited the result, so it does not show the target's capacity.
    Invalid,
    /// The target was unreachable or did not respond.
    TargetLost,
    /// Acknowledged rows were missing or wrong.
    WrongData,
    /// The user stopped the search.
    Interrupted,
    /// Not judged: an estimate.
    Estimated,
}

/// A probe: a completed run and the figures that the search used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRecord {
    /// Number of the probe, from 1.
    pub number: u32,
    /// Purpose of the probe.
    pub purpose: ProbePurpose,
    /// Value on the axis; for an estimate on the rate axis, the number of sessions.
    pub at: f64,
    /// Result of the probe.
    pub verdict: ProbeVerdict,
    /// Codes of the reasons, those of the objective first, and of the note on a shared host.
    pub reasons: Vec<ReasonCode>,
    /// Acknowledged units of the searched stream per second.
    pub acknowledged_per_s: f64,
    /// The same for each op of the stream, by name; empty if it has only one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub per_s_by_op: BTreeMap<String, f64>,
    /// Margin to the objective: ln(fraction of late or failed ops, upper 95% confidence bound ÷ allowed fraction), the
    /// maximum over all objectives that allow a fraction. Above 0, not all of them are met with 95% confidence. Absent
    /// without such an objective.
    pub pressure: Option<f64>,
    /// Measured fraction of late or failed ops ÷ fraction allowed by that objective.
    pub late: Option<f64>,
    /// Maximum p99 latency of the searched stream's ops, in nanoseconds.
    pub p99_ns: Option<u64>,
    /// Whether that is a lower bound, because the percentile falls among failed ops.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub p99_at_least: bool,
    /// Mean latency of the searched stream's slowest op, in nanoseconds; absent if none was acknowledged, and in older
    /// records.
    pub mean_ns: Option<u64>,
    /// Number of failed ops of all streams.
    pub failed_ops: u64,
    /// The resource that limited the probe; absent below saturation and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Number of rows in the tables before the measured phase.
    pub rows_before: u64,
    /// Size of the tables before the measured phase, in bytes; absent if the target does not report it.
    pub bytes_before: Option<u64>,
    /// Wall-clock time at the start, RFC 3339, UTC.
    pub started_at: String,
    /// Length of the measured phase in nanoseconds.
    pub measured_ns: u64,
    /// Duration of the whole run including load and audit, in nanoseconds.
    pub took_ns: u64,
    /// Idle time of the target before the probe, in nanoseconds.
    pub settled_ns: u64,
    /// Directory of the probe's own record, below that of the search.
    pub run: String,
}

/// Outcome of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchOutcome {
    /// The mark was found and confirmed.
    Mark(Mark),
    /// No mark was confirmed.
    NoMark(NoMark),
}

/// The mark: the highest rate or number of sessions that a target sustains under an objective.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// The highest value that met the objective in the required number of confirmations.
    pub confirmed: f64,
    /// Estimate of the value at which the objective is just met; absent if the probes do not determine it.
    pub estimate: Option<Estimate>,
    /// The lowest higher value that failed; absent if none failed.
    pub failed: Option<f64>,
    /// Codes of the reasons why that value failed.
    pub limited_by: Vec<ReasonCode>,
    /// Duration of each confirmation in nanoseconds.
    pub hold_ns: u64,
    /// Results of the confirmations; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmations: Option<Confirmations>,
    /// Number of rows in the tables before the last confirmation.
    pub rows: u64,
    /// Size of the tables before the last confirmation, in bytes; absent if the target does not report it.
    pub bytes: Option<u64>,
    /// Values above the lowest failed one that nevertheless met the objective.
    pub passed_above: Vec<f64>,
    /// Whether the interval is wider than requested because the search ran out of probes or time.
    pub wider: bool,
}

impl Mark {
    /// The confirmed value and the lowest failed one; absent if none failed.
    pub fn bounds(&self) -> Option<[f64; 2]> {
        self.failed.map(|failed| [self.confirmed, failed])
    }
}

/// The confirmations of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmations {
    /// Number of confirmations made.
    pub made: u32,
    /// Number of confirmations that each showed that the objective was met.
    pub passed: u32,
    /// Number of these, plus those that met the objective as measured but not with 95% confidence on their own;
    /// together they show it.
    pub held: u32,
}

/// The value at which the objective is just met, estimated from all probes. Unlike the confirmed value, it is as likely
/// to be too high as too low.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Value on the axis.
    pub value: f64,
    /// Lower bound of the 90% interval.
    pub low90: f64,
    /// Upper bound of the 90% interval.
    pub high90: f64,
}

/// The reason why there is no mark, and the known values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoMark {
    /// The reason.
    pub why: NoMarkReason,
    /// The highest value below all failed ones that met the objective; not confirmed. Absent if there is none.
    pub highest_met: Option<f64>,
    /// Estimate of the value at which the objective is just met; absent if the probes do not determine it.
    pub estimate: Option<Estimate>,
    /// The lowest value that failed; absent if none failed.
    pub lowest_failed: Option<f64>,
    /// Codes of the reasons why that value failed.
    pub limited_by: Vec<ReasonCode>,
}

/// The reason why there is no mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoMarkReason {
    /// No value met the objective, not even the lowest one probed.
    BelowLowest,
    /// The load generator reached its limit before the target did.
    ClientCeiling,
    /// Even the longest probes are too short to judge the percentile at these rates.
    TooFewOps,
    /// An op takes longer than a probe, even at the lowest value.
    OpsTooLong,
    /// The search ran out of probes or time before a candidate was confirmed.
    BudgetSpent,
    /// The connection to the target was lost and could not be restored.
    TargetLost,
    /// Acknowledged data were lost, duplicated, or altered.
    WrongData,
    /// The user stopped the search.
    Interrupted,
    /// Nothing was acknowledged under closed load, so there is no value to start from.
    NothingAcknowledged,
}
