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
use crate::fault::PlannedFault;

/// Version of the plan format; part of the hash.
pub const PLAN_SCHEMA: &str = "highwater-plan/1";

/// Work and arrivals of every stream are divided into this many lanes; a share takes whole lanes.
pub const LANES: u32 = 64;

/// The fixed definition of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Version of the plan format, [`PLAN_SCHEMA`].
    pub schema: String,
    /// The workload.
    pub workload: WorkloadPlan,
    /// The seed from which all random values are derived.
    pub seed: Seed,
    /// The streams, which run concurrently.
    pub streams: Vec<StreamPlan>,
    /// Warm-up and measured steps, in order; load, drain, and audit are described by the fields below.
    pub phases: Vec<PhasePlan>,
    /// The rule that ends a measured phase before its duration is over.
    pub stop: StopRule,
    /// The objectives of the run; may be empty.
    pub objectives: Vec<Objective>,
    /// Actions on the target's cluster while it is loaded, in the order of their times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<PlannedFault>,
    /// When throughput counts as steady.
    #[serde(default, skip_serializing_if = "is_default")]
    pub steadiness: SteadinessRule,
    /// When and how failed ops are retried.
    pub retry: RetryPlan,
    /// Time after which an op without a response is timed out; its outcome is then unknown.
    pub timeout: Nanos,
    /// Maximum time that the drain waits for responses after the last phase.
    pub drain_limit: Nanos,
    /// The audit: the check of the stored data after the run.
    pub audit: AuditPlan,
    /// The part of the plan that this process runs. Not part of the hash.
    pub share: Share,
}

/// When throughput counts as steady over a measured phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SteadinessRule {
    /// Maximum change over the phase, in parts per million of the mean.
    pub within_ppm: u32,
    /// Whether the measurement is valid only if steady throughput is shown.
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

/// The identity of a workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadPlan {
    /// Name of the workload.
    pub name: String,
    /// Version of the workload.
    pub version: u32,
    /// Hash of everything that determines the rows and the ops.
    pub fingerprint: String,
    /// All parameters with their effective values.
    pub parameters: BTreeMap<String, String>,
    /// Number of rows to load before the first phase.
    pub rows_to_load: u64,
    /// Rows per insert op while loading.
    pub load_batch: u64,
    /// Number of different rows, if rows are overwritten repeatedly; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_rows: Option<u64>,
    /// Whether queries are sent with their values in the SQL text, rather than as parameters of prepared statements.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub literals: bool,
}

named! {
    /// The unit in which a stream is counted and its rate is stated.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Unit {
        /// Rows written.
        Rows = "rows",
        /// Completed queries.
        #[default]
        Queries = "queries",
        /// Committed transactions of several statements each.
        Transactions = "transactions",
    }
}

/// The distribution of the arrivals of an open pace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Evenly spaced.
    Constant,
    /// Independent exponential gaps: a Poisson process.
    #[default]
    Poisson,
}

/// A stream: ops with weights, run at one pace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamPlan {
    /// Name of the stream in the workload, or of a single op.
    pub name: String,
    /// Unit of its rates.
    pub unit: Unit,
    /// Rows per op if the stream counts rows, otherwise 1.
    pub units_per_op: u64,
    /// One pace per measured step; the warm-up uses the first one.
    pub paces: Vec<Pace>,
    /// Maximum number of sessions for an open pace, and therefore of ops in flight.
    pub sessions: u32,
    /// The distribution of open arrivals.
    pub arrivals: Arrivals,
    /// Closed sessions started per second; absent if all start at once.
    pub spawn_rate: Option<Rate>,
    /// Think time of a closed session between a response and its next op; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Nanos>,
}

/// The pace of a stream: when its ops are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// Open load: at a rate in the stream's units, regardless of responses.
    Open {
        /// Units per second.
        rate: Rate,
    },
    /// Closed load: each session sends its next op when the previous one completes.
    Closed {
        /// Number of sessions.
        sessions: u32,
    },
}

/// A phase with a pace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhasePlan {
    /// Name, such as `warm-up`, `measure`, or `step 1`.
    pub name: String,
    /// Kind of the phase.
    pub kind: PhaseKind,
    /// Position in [`StreamPlan::paces`].
    pub step: u32,
    /// Duration, unless the stop rule ends the phase earlier.
    pub duration: Nanos,
    /// Whether the phase ends as soon as throughput is steady by the plan's rule; for warm-ups only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_steady: bool,
}

/// The kind of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Tables are created and filled.
    Load,
    /// Warm-up, excluded from every result.
    WarmUp,
    /// Measured.
    Measure,
    /// Waits for outstanding responses.
    Drain,
    /// The stored data are checked.
    Audit,
}

/// The rule that ends a measured phase early.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopRule {
    /// Number of rows, over all streams that count rows, after which to stop; absent if there is no limit.
    pub rows: Option<u64>,
    /// Whether these rows are counted from the beginning of the table, so that existing rows are not written again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fills: bool,
    /// Minimum duration of the measured phase before the rule can end it.
    pub minimum: Nanos,
    /// Condition that ends the phase, checked once per second; absent if there is none.
    pub until: Option<Predicate>,
    /// Whether to stop the whole run when an objective can no longer be met.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_miss: bool,
}

/// A condition that ends a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Predicate {
    /// The half-width of the throughput's 95% confidence interval, relative to its mean, is below a limit.
    RelativeCiBelow {
        /// The limit in millionths.
        ppm: u32,
    },
    /// The number of failed ops exceeds a limit.
    ErrorsAbove {
        /// The limit.
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

/// An objective for every measured step and every stream that it applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// A limit for a percentile of the latency.
    Latency {
        /// The percentile in millionths: 990,000 for p99.
        quantile_ppm: u32,
        /// Maximum latency.
        max: Nanos,
        /// Name of the op or stream that it applies to; absent for every op.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        op: Option<String>,
    },
    /// A limit for a percentile of the row latency: the wait for the batch to fill, plus the op's latency.
    RowLatency {
        /// The percentile in millionths: 990,000 for p99.
        quantile_ppm: u32,
        /// Maximum row latency.
        max: Nanos,
    },
    /// A limit for the fraction of offered ops that fail or are dropped.
    Errors {
        /// The limit in millionths.
        max_ppm: u32,
    },
    /// A limit for the fraction of ops that the target rejects for lack of capacity.
    Rejected {
        /// The limit in millionths.
        max_ppm: u32,
    },
    /// A minimum for the acknowledged units per second.
    Throughput {
        /// The minimum.
        min: Rate,
    },
    /// A limit for the CPU use of the target's busiest node over the measured phases.
    Cpu {
        /// The limit in millionths.
        max_ppm: u32,
    },
    /// A limit for the time from an action on the cluster until the offered rate is acknowledged again.
    Recovery {
        /// The limit.
        max: Nanos,
    },
    /// A minimum for the fraction of the offered rate that is acknowledged in each second after an action.
    During {
        /// The minimum in millionths.
        min_ppm: u32,
    },
    /// A limit for the acknowledged rows that actions may lose; up to that, the data are not wrong.
    Lost {
        /// The limit.
        max: u64,
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

    /// Whether it is about actions on the cluster.
    pub const fn is_of_faults(&self) -> bool {
        matches!(self, Self::Recovery { .. } | Self::During { .. } | Self::Lost { .. })
    }
}

/// Handling of ops that failed and were certainly not applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetryPlan {
    /// Maximum number of retries; 0 for none.
    pub attempts: u32,
    /// Delay before the first retry; doubled for each further one, up to one second.
    pub backoff: Nanos,
    /// Maximum time that a session tries to reconnect before the connection to the target counts as lost.
    pub reconnect_limit: Nanos,
}

/// The check of the stored data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPlan {
    /// The level of comparison.
    pub level: AuditLevel,
    /// Time limit.
    pub limit: Nanos,
}

/// The level of comparison of an audit.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum AuditLevel {
    /// Nothing.
    #[default]
    Off,
    /// Rows are counted per key bucket.
    Count,
    /// Rows and checksums per key bucket are compared; a sample, and every row with an unknown outcome, is read back.
    Sums,
    /// Every row is read back.
    Full,
}

/// One load generator's part of a plan: the lanes l with l mod `of` = `index` - 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Number of the share, from 1.
    pub index: u32,
    /// Number of shares; from 1 to [`LANES`].
    pub of: u32,
    /// Common start time of the first phase of all shares (RFC 3339); absent to start at once.
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
