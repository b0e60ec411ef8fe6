//! A group of runs: variants in alternation, each run several times, for comparison.
//!
//! The part of a run that a comparison uses is kept with each run, so the group is compared, and resumed, from its
//! record alone. Must not decide which run comes next, or compare.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judgment::{Judgments, RunEnding};
use super::plan::{Unit, digest};

/// Label of a run with the name of its variant.
pub const VARIANT_LABEL: &str = "variant";
/// Label of a run with its number among its variant's runs.
pub const REPEAT_LABEL: &str = "repeat";

/// A group of runs and what came of it; part of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupRecord {
    /// What is compared, the baseline first; at least one.
    pub variants: Vec<VariantRecord>,
    /// Runs of each variant; at least one.
    pub times: u32,
    /// The first stream.
    pub stream: String,
    /// Unit of its throughput.
    pub unit: Unit,
    /// Idle time of the target before each run but the first, nanoseconds.
    pub settle_ns: u64,
    /// Time of the whole group, nanoseconds; absent: no limit.
    pub budget_ns: Option<u64>,
    /// What a run takes, nanoseconds, all included; as estimated before.
    pub trial_cost_ns: u64,
    /// See [`GroupRecord::hash`].
    pub definition_hash: String,
    /// Runs, in order.
    pub trials: Vec<GroupTrial>,
    /// How it ended; absent while it goes on.
    pub outcome: Option<GroupOutcome>,
}

impl GroupRecord {
    /// SHA-256, in hexadecimal, of the variants and the plan; a group may be resumed with more runs and another budget.
    pub fn hash(&self, plan: &str) -> String {
        digest(&(&self.variants, plan))
    }

    /// The runs of a variant that completed their plan.
    pub fn complete(&self, variant: usize) -> impl Iterator<Item = &GroupTrial> {
        self.trials
            .iter()
            .filter(move |trial| trial.variant == variant && trial.ended == RunEnding::Complete)
    }
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantRecord {
    /// Its name.
    pub name: String,
    /// Its target, without passwords.
    pub urls: Vec<String>,
    /// The user's command before each of its runs, without the passwords of URLs in it.
    pub command: Option<String>,
}

/// One run of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupTrial {
    /// From 1.
    pub number: u32,
    /// Position of its variant, from 0.
    pub variant: usize,
    /// Which of its variant's runs it is, from 1.
    pub round: u32,
    /// How it ended.
    pub ended: RunEnding,
    /// What to make of it by itself; absent where the target could not be reached.
    pub judgments: Option<Judgments>,
    /// Units of the first stream acknowledged per second.
    pub throughput_per_s: f64,
    /// The greatest p99 of the first stream's ops; absent where there is none.
    pub p99_ns: Option<u64>,
    /// What a comparison takes from it; empty where the target could not be reached.
    pub sample: Sample,
    /// Wall clock at its begin, RFC 3339, UTC.
    pub started_at: String,
    /// The whole run with settling, load and audit, nanoseconds.
    pub took_ns: u64,
    /// Where its own record is, below the group's directory.
    pub run: String,
}

/// How a group ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupOutcome {
    /// Every run was made.
    Complete,
    /// Time ran out.
    BudgetSpent,
    /// The target went away and did not come back.
    TargetLost,
    /// The user stopped the group.
    Interrupted,
}

/// What a comparison takes from a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Its figures.
    pub figures: Vec<SampledFigure>,
    /// Name of the figure that its question is about; absent in older records: throughput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// Plan, target and environment; each name of a kind once.
    pub traits: Vec<Trait>,
}

/// A figure with its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledFigure {
    /// Which.
    pub figure: Figure,
    /// In the figure's unit.
    pub value: f64,
    /// How many ops or seconds a share is of; 1 for anything else.
    pub of: f64,
    /// The value is a lower bound of a percentile that falls among failed ops, which never end: it has none.
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
    /// Phase, stream and op, as far as they differ; may be empty.
    pub place: String,
    /// `throughput`, `p99` …
    pub name: String,
    /// `rows/s`, `queries/s`, `ns`, `bytes`, `share`.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// How it is compared.
    pub scale: Scale,
}

impl Figure {
    /// The name with its place: `insert throughput`.
    pub fn full_name(&self) -> String {
        format!("{} {}", self.place, self.name).trim().to_owned()
    }
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// As with throughput.
    More,
    /// As with latency.
    Less,
}

/// On which scale a figure is compared, and so what a difference of it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// By the ratio of its values, all of them above 0.
    Ratio,
    /// By the difference of shares of ops: of 0, which most of them are, there is no ratio.
    ShareOfOps,
    /// By the difference of shares of seconds.
    ShareOfSeconds,
}

impl Scale {
    /// Whether values are fractions.
    pub const fn is_share(self) -> bool {
        !matches!(self, Self::Ratio)
    }
}

/// Something besides its figures in which a run may differ from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trait {
    /// How grave a difference is.
    pub kind: Kind,
    /// What; of a run that cannot be trusted its ID.
    pub name: String,
    /// As people read it.
    pub value: String,
    /// The same without what follows from the seed; absent where nothing does, and in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseeded: Option<String>,
}

/// How grave a difference is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The questions differ, so figures mean different things.
    Question,
    /// A run cannot be trusted.
    Trust,
    /// Another target, version, setting or machine: perhaps just what is compared.
    Setting,
}
