//! What a plan is asked for.
//!
//! Values only, each with its origin; the arithmetic is elsewhere.

use super::basis::Basis;
use super::traced::Traced;
use crate::guidance::Guidance;
use crate::scaling::Weighting;

/// A rate that the cluster must carry, and what is known of that kind of work.
#[derive(Debug, Clone)]
pub struct Need {
    /// Per second, today; above 0. Where demand is an interval, its upper end.
    pub per_s: Traced<f64>,
    /// Its lower end, where demand is an interval; below the upper one.
    pub at_least_per_s: Option<f64>,
    /// What clusters can do of it.
    pub basis: Basis,
}

/// Everything that a plan depends on.
#[derive(Debug, Clone)]
pub struct Request {
    /// At least one; each of another unit.
    pub needs: Vec<Need>,
    /// How sure it must be that the nodes carry the needs; above 0 and below 1.
    pub probability: Traced<f64>,
    /// Part of the capacity that must stay free; from 0, below 1.
    pub spare: Traced<f64>,
    /// Growth of every need per month, as a part; from 0.
    pub growth_per_month: Traced<f64>,
    /// Months for which the cluster must suffice.
    pub months: Traced<u32>,
    /// Nodes that may fail while the needs are still carried.
    pub survive: Traced<u32>,
    /// Replicas of each shard.
    pub replicas: Traced<u32>,
    /// Virtual CPUs of each planned node; as measured where absent.
    pub vcpus_per_node: Option<Traced<f64>>,
    /// How long rows are kept, seconds.
    pub retention_s: Option<Traced<f64>>,
    /// Bytes of a row on disk, each copy.
    pub stored_bytes_per_row: Option<Traced<f64>>,
    /// Bytes of a row as it is sent.
    pub sent_bytes_per_row: Option<Traced<f64>>,
    /// Bytes of an answer.
    pub bytes_per_answer: Option<Traced<f64>>,
    /// Price of a node, per hour.
    pub price_per_node_hour: Option<Traced<f64>>,
    /// Rules for shards and disks.
    pub guidance: Traced<Guidance>,
    /// Which squares the fits that are shown make least; predictions do not depend on it.
    pub squares: Weighting,
    /// Whether sizes beyond twice the largest measured one may be named.
    pub extrapolate: bool,
}
