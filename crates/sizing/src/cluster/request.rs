//! The request for a plan, and inputs with their origin: a flag, a measurement, a publication, or an assumption.
//!
//! Every input of a plan is traced, so that none loses its origin. Values only; must not compute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::basis::Basis;
use crate::guidance::Guidance;
use crate::scaling::{Prediction, Weighting};

/// A rate that the cluster must sustain, and the basis for that kind of work.
#[derive(Debug, Clone)]
pub struct Need {
    /// Per second, today; above 0. The upper end if demand is an interval.
    pub per_s: Traced<f64>,
    /// The lower end if demand is an interval; below the upper one.
    pub at_least_per_s: Option<f64>,
    /// What clusters can do of this work.
    pub basis: Basis,
}

/// All inputs of a plan.
#[derive(Debug, Clone)]
pub struct Request {
    /// At least one; each in another unit.
    pub needs: Vec<Need>,
    /// Required probability that the nodes sustain the needs; above 0 and below 1.
    pub probability: Traced<f64>,
    /// Fraction of the capacity that must stay free; from 0, below 1.
    pub spare: Traced<f64>,
    /// Growth of every need per month, as a fraction; from 0.
    pub growth_per_month: Traced<f64>,
    /// Months for which the cluster must suffice.
    pub months: Traced<u32>,
    /// Number of node failures during which the needs are still sustained.
    pub survive: Traced<u32>,
    /// Replicas of each shard: as given, else as measured. [`Request::copies`] has those that are planned.
    pub replicas: Traced<u32>,
    /// Virtual CPUs of each planned node; if absent, as measured.
    pub vcpus_per_node: Option<Traced<f64>>,
    /// Retention of rows, seconds.
    pub retention_s: Option<Traced<f64>>,
    /// Bytes of a row on disk, per copy.
    pub stored_bytes_per_row: Option<Traced<f64>>,
    /// Bytes of a row as sent.
    pub sent_bytes_per_row: Option<Traced<f64>>,
    /// Bytes of a response.
    pub bytes_per_answer: Option<Traced<f64>>,
    /// Price of a node, per hour.
    pub price_per_node_hour: Option<Traced<f64>>,
    /// Rules for shards and disks.
    pub guidance: Traced<Guidance>,
    /// Weighting of the displayed fits; predictions do not depend on it.
    pub squares: Weighting,
}

/// An expected value, with its 90% interval where predictions are proven.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Half of new measurements are above it.
    pub expected: f64,
    /// 5% are below the first, and 5% above the second. Absent beyond twice the largest measured size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

impl Estimate {
    /// A prediction, with its interval if it is proven.
    pub fn new(of: Prediction, is_proven: bool) -> Self {
        let interval = is_proven.then_some([of.low, of.high]);
        Self { expected: of.expected, interval }
    }

    /// The free part of the capacity, from the used one; below 0 where the needs are not sustained.
    pub(super) fn headroom(used: Prediction, is_proven: bool) -> Self {
        let Prediction { expected, low, high } = used;
        let free = Prediction { expected: 1.0 - expected, low: 1.0 - high, high: 1.0 - low };
        Self::new(free, is_proven)
    }
}

/// Where an input comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "from", rename_all = "snake_case")]
pub enum Origin {
    /// The user said so; the name of the flag, variable or file.
    Given(String),
    /// A measurement of the user's own; which.
    Measured(String),
    /// Published figures of others; whose.
    Published(String),
    /// It was neither measured nor given; why this value was taken.
    Assumed(String),
}

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traced<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub origin: Origin,
}

/// An input as the plan lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// What it is, with its unit.
    pub name: String,
    /// Its value, as text.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The flag that changes it.
    pub flag: String,
}

impl<T> Traced<T> {
    /// A value given by the user with a flag.
    pub fn given(value: T, flag: &str) -> Self {
        Self { value, origin: Origin::Given(flag.to_owned()) }
    }

    /// A default value, with the reason for it.
    pub fn assumed(value: T, because: &str) -> Self {
        Self { value, origin: Origin::Assumed(because.to_owned()) }
    }

    /// A line of a plan's inputs.
    pub fn input(&self, name: &str, value: impl Into<String>, flag: &str) -> Input {
        self.origin.input(name, value, flag)
    }
}

impl Origin {
    /// A line of a plan's inputs for a value from this origin.
    pub fn input(&self, name: &str, value: impl Into<String>, flag: &str) -> Input {
        Input {
            name: name.to_owned(),
            value: value.into(),
            origin: self.clone(),
            flag: flag.to_owned(),
        }
    }

    /// A word for the origin.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Given(_) => "given",
            Self::Measured(_) => "measured",
            Self::Published(_) => "published",
            Self::Assumed(_) => "assumed",
        }
    }

    /// The exact origin.
    pub fn detail(&self) -> &str {
        match self {
            Self::Given(text)
            | Self::Measured(text)
            | Self::Published(text)
            | Self::Assumed(text) => text,
        }
    }

    /// Whether the plan's reader has to take it on trust.
    pub const fn is_assumption(&self) -> bool {
        matches!(self, Self::Published(_) | Self::Assumed(_))
    }
}
