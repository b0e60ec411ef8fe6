//! The part of a run that a comparison uses: its figures, and other traits that may differ. Must not extract or compare
//! them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
