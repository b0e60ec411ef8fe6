//! The request for a plan. Values only, each with its origin. Must not compute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::basis::Basis;
use super::traced::Traced;
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
