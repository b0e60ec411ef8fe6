//! The plan: the frozen definition of a run.
//!
//! A plan is complete before the first connection, printable, and stored first. Its hash excludes the target, the
//! credentials, and the part that a machine runs (share, start). Equal hashes therefore prove that two targets, or n
//! load generators, were given the same work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::named::named;
use super::units::{Nanos, Rate, Seed, is_default};

/// Version of the plan format; part of the hash.
pub const PLAN_SCHEMA: &str = "highwater-plan/1";

/// Work and arrivals of every stream are divided into this many lanes; a share takes whole lanes.
pub const LANES: u32 = 64;

/// The frozen intention of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// The workload that runs.
    pub workload: WorkloadPlan,
    /// Everything random derives from it.
    pub seed: Seed,
    /// Streams, side by side.
    pub streams: Vec<StreamPlan>,
    /// Warm-up and measured steps, in order; load, drain and audit are described by the fields below.
    pub phases: Vec<PhasePlan>,
    /// Ends a measured phase before its duration is over.
    pub stop: StopRule,
    /// What must hold for the run to have met its purpose; empty: no objective.
    pub objectives: Vec<Objective>,
    /// When throughput counts as steady.
    #[serde(default, skip_serializing_if = "is_default")]
    pub steadiness: SteadinessRule,
    /// What to do with an op that failed.
    pub retry: RetryPlan,
    /// An op without an answer after this long is timed out; its effect is then unknown.
    pub timeout: Nanos,
    /// How long the drain waits for answers after the last phase.
    pub drain_limit: Nanos,
    /// The check of the data after the run.
    pub audit: AuditPlan,
    /// Which part of the plan this process takes. Not part of the hash.
    pub share: Share,
}

/// When throughput counts as steady over a measured phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SteadinessRule {
    /// The greatest change over the phase, parts per million of the mean.
    pub within_ppm: u32,
    /// The measurement is not valid unless this is shown.
    pub required: bool,
}

impl SteadinessRule {
    /// In percent.
    pub fn within_percent(self) -> f64 {
        f64::from(self.within_ppm) / 1e4
    }
}

impl Default for SteadinessRule {
    /// Within a tenth: smaller changes affect no decision, and are seldom significant within a minute.
    fn default() -> Self {
        Self { within_ppm: 100_000, required: false }
    }
}

/// Which workload, exactly.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadPlan {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Hash of everything that determines the rows and the ops.
    pub fingerprint: String,
    /// All parameters, resolved.
    pub parameters: BTreeMap<String, String>,
    /// Rows to load before the first phase.
    pub rows_to_load: u64,
    /// Rows per insert op while loading.
    pub load_batch: u64,
    /// Different rows that there are, where rows are written again and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_rows: Option<u64>,
    /// Queries are sent with their values in the text, not as parameters of prepared statements.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub literals: bool,
}

named! {
    /// What a stream counts in, and what its rate is a rate of.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Unit {
        /// Rows written.
        Rows = "rows",
        /// Queries answered.
        #[default]
        Queries = "queries",
        /// Transactions committed, of several statements each.
        Transactions = "transactions",
    }
}

/// How the arrivals of an open pace are spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// Independent exponential gaps.
    #[default]
    Poisson,
}

/// Ops with weights, run at one pace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamPlan {
    /// Its name in the workload: a stream's, or an op's.
    pub name: String,
    /// Unit of its rates.
    pub unit: Unit,
    /// Rows per op of a stream that counts rows, else 1.
    pub units_per_op: u64,
    /// One pace per measured step; the warm-up has the first one.
    pub paces: Vec<Pace>,
    /// Sessions that an open pace may use at once: the bound of ops in flight.
    pub sessions: u32,
    /// How open arrivals are spread.
    pub arrivals: Arrivals,
    /// Closed sessions started per second; all at once when absent.
    pub spawn_rate: Option<Rate>,
    /// Pause of a closed session between a response and its next op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Nanos>,
}

/// When the ops of a stream are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// At a rate, in the stream's units, whatever the target answers.
    Open {
        /// Units per second.
        rate: Rate,
    },
    /// Each session sends the next op when the one before was answered.
    Closed {
        /// How many.
        sessions: u32,
    },
}

/// A phase with a pace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhasePlan {
    /// `warm-up`, `measure`, or `step 1` …
    pub name: String,
    /// Whether it is measured.
    pub kind: PhaseKind,
    /// Position in [`StreamPlan::paces`].
    pub step: u32,
    /// Its length, unless the stop rule ends it.
    pub duration: Nanos,
    /// It ends as soon as throughput is steady as the plan's rule has it; a warm-up's alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_steady: bool,
}

/// What a phase is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Tables are created and filled.
    Load,
    /// Left out of every result.
    WarmUp,
    /// Measured.
    Measure,
    /// Waits for the answers that are still out.
    Drain,
    /// The data are checked.
    Audit,
}

/// Ends a measured phase early.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopRule {
    /// Stop after so many rows were sent by all streams that count rows.
    pub rows: Option<u64>,
    /// Whether those rows are counted from the table's beginning: what is there already is not
    /// written again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fills: bool,
    /// Not before this much of the measured phase is over.
    pub minimum: Nanos,
    /// Stop when this holds; looked at once a second.
    pub until: Option<Predicate>,
    /// Stop the whole run when an objective can no longer be met.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_miss: bool,
}

/// What a stop rule can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Predicate {
    /// Half width of the throughput's 95% confidence interval, relative to its mean.
    RelativeCiBelow {
        /// In millionths.
        ppm: u32,
    },
    /// So many failed ops.
    ErrorsAbove {
        /// Count.
        count: u64,
    },
}

impl Predicate {
    /// In the syntax of `--until`: `ci95<1%`, `errors>100`.
    pub fn flag(self) -> String {
        match self {
            Self::RelativeCiBelow { ppm } => format!("ci95<{}%", f64::from(ppm) / 10_000.0),
            Self::ErrorsAbove { count } => format!("errors>{count}"),
        }
    }
}

/// One thing that must hold in every measured step, for every stream that it applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// A percentile of the latency.
    Latency {
        /// 990,000 for p99.
        quantile_ppm: u32,
        /// Greatest latency allowed.
        max: Nanos,
        /// The op, or the stream, that it is about; absent: each op.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        op: Option<String>,
    },
    /// A percentile of the row latency: waiting for the batch to fill, and the op's latency.
    RowLatency {
        /// 990,000 for p99.
        quantile_ppm: u32,
        /// Greatest latency allowed.
        max: Nanos,
    },
    /// Share of ops that failed or were dropped, of those offered.
    Errors {
        /// In millionths.
        max_ppm: u32,
    },
    /// Share of ops that the target rejected for lack of capacity.
    Rejected {
        /// In millionths.
        max_ppm: u32,
    },
    /// Acknowledged units per second.
    Throughput {
        /// At least this.
        min: Rate,
    },
    /// Busy share of the CPU of the target's busiest node, over the measured phases.
    Cpu {
        /// In millionths.
        max_ppm: u32,
    },
}

impl Objective {
    /// The bounded percentile, in millionths; absent if it bounds no latency.
    pub const fn quantile_ppm(&self) -> Option<u32> {
        match self {
            Self::Latency { quantile_ppm, .. } | Self::RowLatency { quantile_ppm, .. } => {
                Some(*quantile_ppm)
            }
            _ => None,
        }
    }

    /// Whether it bounds a latency percentile.
    pub const fn bounds_latency(&self) -> bool {
        self.quantile_ppm().is_some()
    }
}

/// What is done with an op that failed and certainly was not applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetryPlan {
    /// Further attempts; 0: none.
    pub attempts: u32,
    /// Wait before the first further attempt; doubled each time, at most one second.
    pub backoff: Nanos,
    /// How long a session tries to reconnect before the target counts as lost.
    pub reconnect_limit: Nanos,
}

/// The check of the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPlan {
    /// How much is compared.
    pub level: AuditLevel,
    /// Bound of its duration.
    pub limit: Nanos,
}

/// How much an audit compares.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum AuditLevel {
    /// Nothing.
    #[default]
    Off,
    /// Rows per key bucket.
    Count,
    /// Rows and checksums per key bucket; a sample and every unknown row read back.
    Sums,
    /// Every row read back.
    Full,
}

/// One load generator's part of a plan: the lanes l with l mod `of` = `index` - 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// From 1.
    pub index: u32,
    /// At least 1, at most [`LANES`].
    pub of: u32,
    /// When the first phase begins (RFC 3339), for all shares alike.
    pub start_at: Option<String>,
}

impl Default for Share {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl Share {
    /// The whole plan.
    pub const WHOLE: Self = Self { index: 1, of: 1, start_at: None };

    /// The lanes of this share, ascending.
    pub fn lanes(&self) -> Vec<u32> {
        (0..LANES).filter(|lane| lane % self.of == self.index - 1).collect()
    }

    /// This share's part of `total` items dealt one by one.
    pub const fn part_of(&self, total: u32) -> u32 {
        let rest = total % self.of;
        total / self.of + if self.index <= rest { 1 } else { 0 }
    }

    /// The smallest total, up to `most`, such that this share has an item with this number, from 0; absent if it
    /// exceeds `most`.
    pub fn whole_of(&self, number: u32, most: u32) -> Option<u32> {
        let whole = number.checked_mul(self.of)?.checked_add(self.index)?;
        (whole <= most).then_some(whole)
    }
}

impl Plan {
    /// SHA-256, in hexadecimal, of everything except the share.
    pub fn hash(&self) -> String {
        let whole = Self { share: Share::WHOLE, ..self.clone() };
        digest(&whole)
    }

    /// [`Plan::hash`] without the seed and values that depend on it: plans that differ only in these run different
    /// rows of the same kind.
    pub fn unseeded_hash(&self) -> String {
        let mut unseeded = self.clone();
        unseeded.seed = Seed(0);
        unseeded.workload.fingerprint.clear();
        unseeded.hash()
    }

    /// The pace of a stream in a step.
    pub fn pace(&self, stream: usize, step: u32) -> Pace {
        let paces = &self.streams[stream].paces;
        let position = usize::try_from(step).unwrap_or(0).min(paces.len().saturating_sub(1));
        paces[position]
    }

    /// The paces of all streams in a step.
    pub fn paces(&self, step: u32) -> Vec<Pace> {
        let streams = 0..self.streams.len();
        streams.map(|stream| self.pace(stream, step)).collect()
    }

    /// Whether any stream is closed in any step.
    pub fn is_closed(&self) -> bool {
        self.streams.iter().flat_map(|s| &s.paces).any(|pace| matches!(pace, Pace::Closed { .. }))
    }
}

/// SHA-256, in hexadecimal, of a value as JSON.
pub(crate) fn digest(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).unwrap_or_default();
    hex(&Sha256::digest(&json))
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        for half in [byte >> 4, byte & 0xf] {
            text.extend(char::from_digit(u32::from(half), 16));
        }
        text
    })
}
