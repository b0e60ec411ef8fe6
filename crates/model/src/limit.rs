//! The limit of a run: the one resource that kept it from being faster, with its evidence in figures, and the
//! runner-up.
//!
//! Data only. `highwater_analysis::limit` finds it, and has the bounds from which on a resource is named.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limit of a measured phase at or beyond saturation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Name of the phase.
    pub phase: String,
    /// The sign of saturation.
    pub saturation: SaturationSign,
    /// The limiting resource; absent if it was not identified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<LimitingResource>,
    /// The resource that came second; if no limiting resource was identified, the one closest to its limit. Absent if
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<LimitingResource>,
    /// Resources of the target for which there was no telemetry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Resource>,
}

/// The sign that a phase was saturated: the first of these that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SaturationSign {
    /// Closed load: each session sends its next op as soon as the previous one completes.
    ClosedLoad,
    /// The load generator offered less than planned.
    NotOffered,
    /// The target acknowledged less than was offered, or ops were dropped.
    NotAcknowledged,
    /// The target rejected ops for lack of capacity.
    Rejected,
    /// Ops waited longer for a session than for their response.
    SessionWait,
    /// An objective was missed, and not only because too few ops were measured to judge it.
    Objective,
}

/// A resource and how close it was to its limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitingResource {
    /// Kind of the resource.
    pub resource: Resource,
    /// The source of its telemetry, as in `target_telemetry`; absent for figures of the load itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The node, disk, or network; absent if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Name of the target's program, if its part of the host's CPU time is part of the evidence; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The evidence, strongest first.
    pub evidence: Vec<Evidence>,
}

impl LimitingResource {
    /// The value of a figure, if it is part of the evidence.
    pub fn value(&self, figure: LimitFigure) -> Option<f64> {
        let mut evidence = self.evidence.iter();
        evidence.find(|of| of.figure == figure).map(|of| of.value)
    }
}

/// A resource that can limit a run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// The load generator itself.
    LoadGenerator,
    /// The CPU of a node or host.
    Cpu,
    /// The CPU of one node, while the other nodes have capacity left.
    HotNode,
    /// A disk: its throughput or its I/O credit.
    Disk,
    /// A network.
    Network,
    /// Locks that sessions wait for.
    Locks,
    /// The thread pool that executes writes: too few threads, or too short a queue.
    WritePool,
    /// Data parts, created faster than the target merges them.
    Parts,
    /// Replication, paused until a slower node has caught up.
    Replication,
    /// Compaction that cannot keep up with writes.
    Compaction,
    /// Writes, stopped by the storage engine so that it can catch up.
    WriteStalls,
    /// Work that the target queues because it considers itself overloaded.
    AdmissionControl,
    /// Sessions: too few to load the target.
    Sessions,
    /// Batches: too few rows in each op to load the target.
    Batch,
}

/// A figure that indicates the limiting resource.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The figure.
    pub figure: LimitFigure,
    /// The value, in the figure's unit.
    pub value: f64,
}

/// Figures of utilization, saturation, and errors of resources, and settings of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitFigure {
    /// Utilization: fraction of the time that the resource was busy, 0 to 1.
    Busy,
    /// The same over the last third of the phase; stated only if it is higher, and then used in place of the whole
    /// phase.
    BusyAtEnd,
    /// The same for the other nodes, on average.
    OthersBusy,
    /// Fraction of a host's CPU time used by the target's own processes, 0 to 1.
    OfServer,
    /// Fraction of a host's CPU time used by the load generator, 0 to 1.
    OfLoadGenerator,
    /// Cores of a CPU quota; `busy` is then a fraction of these.
    QuotaCores,
    /// Saturation: fraction of the time, by quota period, in which a CPU quota was used up, 0 to 1.
    Throttled,
    /// Utilization: remaining fraction of a credit, 0 to 1.
    CreditLeft,
    /// Utilization: bytes per second.
    BytesPerS,
    /// Maximum transfer rate in bytes per second.
    SpeedBytesPerS,
    /// Utilization: throughput as a fraction of the load generator's ceiling.
    OfCeiling,
    /// Saturation: average number of waiting tasks or sessions.
    Waiting,
    /// Saturation: fraction of the samples in which something waited, 0 to 1.
    WaitingPart,
    /// Saturation: fraction of the time in which the target held back writes, 0 to 1.
    Paused,
    /// Saturation: overload as the target defines it; 1 is overloaded.
    Overload,
    /// Saturation: number of data parts in the partition with the most.
    Parts,
    /// Saturation: average number of inserts that the target delays.
    DelayedInserts,
    /// Saturation: number of times per second that the target stopped writes.
    StallsPerS,
    /// Saturation: fraction of the planned load that was offered, 0 to 1.
    Offered,
    /// Errors: fraction of the ops that were rejected, 0 to 1.
    RejectedOps,
    /// Errors: number of tasks per second that the target counted as rejected.
    RejectedPerS,
    /// Number of sessions of the load.
    Sessions,
    /// Average number of rows per op.
    RowsPerOp,
}
