//! A group of runs: variants in alternation, each run several times, for comparison.
//!
//! The part of a run that a comparison uses is kept with each run, so the group is compared, and resumed, from its
//! record alone. Must not decide which run comes next, or compare.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::PlannedFault;
use super::judgment::{Judgments, RunEnding};
use super::plan::{Unit, digest};

/// Label that holds the name of a run's variant.
pub const VARIANT_LABEL: &str = "variant";
/// Label that holds the number of a run among those of its variant.
pub const REPEAT_LABEL: &str = "repeat";

/// A group of runs and its result; part of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupRecord {
    /// The variants, the baseline first; at least one.
    pub variants: Vec<VariantRecord>,
    /// Number of runs of each variant; at least one.
    pub times: u32,
    /// Name of the first stream.
    pub stream: String,
    /// Unit of its throughput.
    pub unit: Unit,
    /// Idle time of the target before each run except the first, in nanoseconds.
    pub settle_ns: u64,
    /// Time limit of the whole group, in nanoseconds; absent if there is none.
    pub budget_ns: Option<u64>,
    /// Estimated total duration of one run, in nanoseconds.
    pub trial_cost_ns: u64,
    /// Hash of the definition, see [`GroupRecord::hash`].
    pub definition_hash: String,
    /// The runs, in order.
    pub trials: Vec<GroupTrial>,
    /// Outcome; absent while the group is running.
    pub outcome: Option<GroupOutcome>,
}

impl GroupRecord {
    /// SHA-256, in hexadecimal, of the variants and the plan; a group may be resumed with more runs and another budget.
    pub fn hash(&self, plan: &str) -> String {
        digest(&(&self.variants, plan))
    }

    /// Whether its variants are faults, each compared with a baseline without one.
    pub fn is_of_faults(&self) -> bool {
        self.variants.iter().any(|variant| !variant.faults.is_empty())
    }

    /// Number of runs, if all are made.
    pub fn runs(&self) -> u32 {
        let variants = u32::try_from(self.variants.len()).unwrap_or(u32::MAX);
        let each = if self.is_of_faults() { 2 * variants.saturating_sub(1) } else { variants };
        each.saturating_mul(self.times)
    }

    /// The runs of a variant that completed their plan.
    pub fn complete(&self, variant: usize) -> impl Iterator<Item = &GroupTrial> {
        self.trials
            .iter()
            .filter(move |trial| trial.variant == variant && trial.ended == RunEnding::Complete)
    }
}

/// A variant: one side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantRecord {
    /// Name of the variant.
    pub name: String,
    /// URLs of its target, without passwords.
    pub urls: Vec<String>,
    /// The user's command that runs before each of its runs, with passwords removed from URLs; absent if there is none.
    pub command: Option<String>,
    /// Actions on the target's cluster during each of its runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<PlannedFault>,
}

/// What the actions of a run did to its load, at worst.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRecord {
    /// The longest dip; absent if the load never fell behind.
    pub dip: Option<DipRecord>,
    /// Why an action failed; absent if none did.
    pub failed: Option<String>,
    /// Acknowledged rows that are missing; absent without a complete audit.
    pub lost: Option<u64>,
    /// Rows of unknown outcome.
    pub unknown: u64,
}

/// A time in which fewer ops were acknowledged than offered. Times count from the action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DipRecord {
    /// Nanoseconds until the load fell behind.
    pub noticed_ns: u64,
    /// The lowest fraction of the offered ops that was acknowledged in a second.
    pub lowest: f64,
    /// Nanoseconds until the offered rate was acknowledged again; absent if it was not.
    pub rate_again_ns: Option<u64>,
    /// Nanoseconds until what waited was worked off, too.
    pub recovered_ns: Option<u64>,
}

/// A run of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupTrial {
    /// Number of the run, from 1.
    pub number: u32,
    /// Position of its variant, from 0.
    pub variant: usize,
    /// Number of the run among those of its variant, from 1.
    pub round: u32,
    /// How the run ended.
    pub ended: RunEnding,
    /// The judgments of the run; absent if the target was unreachable.
    pub judgments: Option<Judgments>,
    /// Acknowledged units of the first stream per second.
    pub throughput_per_s: f64,
    /// Maximum p99 latency of the first stream's ops, in nanoseconds; absent if there is none.
    pub p99_ns: Option<u64>,
    /// Whether that is a lower bound, because the percentile falls among failed ops.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub p99_at_least: bool,
    /// The figures for the comparison; empty if the target was unreachable.
    pub sample: Sample,
    /// What its actions on the cluster did; absent if none was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultRecord>,
    /// Wall-clock time at the start, RFC 3339, UTC.
    pub started_at: String,
    /// Duration of the whole run including settling, load, and audit, in nanoseconds.
    pub took_ns: u64,
    /// Directory of the run's own record, below that of the group.
    pub run: String,
}

/// Outcome of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupOutcome {
    /// All runs were made.
    Complete,
    /// The time limit was reached.
    BudgetSpent,
    /// The connection to the target was lost and could not be restored.
    TargetLost,
    /// The user stopped the group.
    Interrupted,
}

/// The figures and properties of a run that a comparison uses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Its figures.
    pub figures: Vec<SampledFigure>,
    /// Name of the figure that the experiment's question concerns; absent in older records, which means throughput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// Properties of the plan, target, and environment; names are unique within a kind.
    pub traits: Vec<Trait>,
}

/// A figure of a run with its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledFigure {
    /// The figure.
    pub figure: Figure,
    /// The value, in the figure's unit.
    pub value: f64,
    /// The number of ops or seconds of which a fraction was taken; 1 for any other figure.
    pub of: f64,
    /// Whether the value is only a lower bound: the percentile falls among failed ops, which have no latency.
    #[serde(default, skip_serializing_if = "is_false")]
    pub at_least: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A figure by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Phase, stream, and op, as far as they are needed to distinguish figures; may be empty.
    pub place: String,
    /// Name, such as `throughput` or `p99`.
    pub name: String,
    /// Unit: `rows/s`, `queries/s`, `ns`, `bytes`, or `share`.
    pub unit: String,
    /// The direction of improvement.
    pub better: Better,
    /// The scale on which it is compared.
    pub scale: Scale,
}

impl Figure {
    /// The name with its place: `insert throughput`.
    pub fn full_name(&self) -> String {
        format!("{} {}", self.place, self.name).trim().to_owned()
    }
}

/// The direction of improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Higher is better, such as for throughput.
    More,
    /// Lower is better, such as for latency.
    Less,
}

/// The scale on which a figure is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// The ratio of its values, all of which are above 0.
    Ratio,
    /// The difference between fractions of ops. Most of them are 0, so they have no ratio.
    ShareOfOps,
    /// The difference between fractions of seconds.
    ShareOfSeconds,
}

impl Scale {
    /// Whether values are fractions.
    pub const fn is_share(self) -> bool {
        !matches!(self, Self::Ratio)
    }
}

/// A property, other than a figure, in which runs may differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trait {
    /// The significance of a difference.
    pub kind: Kind,
    /// Name of the property; for a run that cannot be trusted, its ID.
    pub name: String,
    /// The value, for people to read.
    pub value: String,
    /// The value without parts that depend on the seed; absent if no part does, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseeded: Option<String>,
}

/// The significance of a difference.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The runs have different questions, so their figures mean different things.
    Question,
    /// A run cannot be trusted.
    Trust,
    /// Target, version, setting, or machine differ; this may be what the comparison is about.
    Setting,
}
