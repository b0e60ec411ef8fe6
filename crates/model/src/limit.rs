//! The limit of a run: the one resource that kept it from being faster, with its evidence in figures, and the
//! runner-up.
//!
//! Data only. `highwater_analysis::limit` finds it, and has the bounds from which on a resource is named.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What limited a measured phase that was at or beyond saturation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Name of the phase.
    pub phase: String,
    /// Why it counts as saturated.
    pub saturation: SaturationSign,
    /// The resource; absent: not identified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<LimitingResource>,
    /// The runner-up; where no resource is named, the one that came nearest to its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<LimitingResource>,
    /// Resources of the target that no telemetry showed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Resource>,
}

/// Why a phase counts as saturated; the first of these that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SaturationSign {
    /// Closed load, in which the next op is sent as soon as the one before it completes.
    ClosedLoad,
    /// The load generator offered less than planned.
    NotOffered,
    /// Less was acknowledged than offered, or ops were dropped.
    NotAcknowledged,
    /// The target rejected ops for lack of capacity.
    Rejected,
    /// Ops waited longer for a session than for the response.
    SessionWait,
    /// An objective was missed, and not only because too few ops were measured to judge it.
    Objective,
}

/// A resource and how near it was to its limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitingResource {
    /// Which kind.
    pub resource: Resource,
    /// The source of telemetry that showed it, as in `target_telemetry`; absent for the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The node, disk or network, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The program of the target's processes, where their part of the host's CPU is part of the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What says so, the most telling figure first.
    pub evidence: Vec<Evidence>,
}

impl LimitingResource {
    /// The value of a figure, if it is part of the evidence.
    pub fn value(&self, figure: LimitFigure) -> Option<f64> {
        let mut evidence = self.evidence.iter();
        evidence.find(|of| of.figure == figure).map(|of| of.value)
    }
}

/// What can keep a run from being faster.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// The load generator itself.
    LoadGenerator,
    /// The CPU of a node or host.
    Cpu,
    /// One node, whose CPU is busy while the others have room.
    HotNode,
    /// A disk: its throughput, or its credit.
    Disk,
    /// A network.
    Network,
    /// Locks that sessions wait for.
    Locks,
    /// The pool that executes work: too few places, or too short a queue.
    WritePool,
    /// Parts that are made faster than the target merges them.
    Parts,
    /// Replication, which is paused until a slower node has caught up.
    Replication,
    /// Compaction that cannot keep up with writes.
    Compaction,
    /// Writes that the storage engine stops to catch up.
    WriteStalls,
    /// Work that the target queues because it considers itself overloaded.
    AdmissionControl,
    /// Sessions: too few to load the target.
    Sessions,
    /// Batches: too few rows in each op to load the target.
    Batch,
}

/// A figure that speaks for a resource.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Which.
    pub figure: LimitFigure,
    /// Its value, in the figure's unit.
    pub value: f64,
}

/// Utilization, saturation, and errors of resources, and the settings of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitFigure {
    /// Utilization: busy part of the time, 0 to 1.
    Busy,
    /// The same of the last third of the phase, where it is more, and decides.
    BusyAtEnd,
    /// The same of the other nodes, on average.
    OthersBusy,
    /// The part of a host's CPU time that the target's own processes took, 0 to 1.
    OfServer,
    /// The part that the load generator took, 0 to 1.
    OfLoadGenerator,
    /// The cores of a quota; `busy` is a part of them then.
    QuotaCores,
    /// Saturation: part of the time in whose periods a quota of CPU was used up, 0 to 1.
    Throttled,
    /// Utilization: what is left of a credit, 0 to 1.
    CreditLeft,
    /// Utilization: bytes per second.
    BytesPerS,
    /// The bytes per second that can be transferred.
    SpeedBytesPerS,
    /// Utilization: throughput as a part of the load generator's ceiling.
    OfCeiling,
    /// Saturation: tasks, or sessions, that wait on average.
    Waiting,
    /// Saturation: part of the samples in which something waited, 0 to 1.
    WaitingPart,
    /// Saturation: part of the time in which the target held writes back, 0 to 1.
    Paused,
    /// Saturation: 1 is what the target considers an overload.
    Overload,
    /// Saturation: parts of the fullest partition.
    Parts,
    /// Saturation: inserts that the target holds up, on average.
    DelayedInserts,
    /// Saturation: times per second that the target stopped writes.
    StallsPerS,
    /// Saturation: part of the planned load that was offered, 0 to 1.
    Offered,
    /// Errors: rejected part of the ops, 0 to 1.
    RejectedOps,
    /// Errors: tasks that the target counted as rejected, per second.
    RejectedPerS,
    /// Sessions of the load.
    Sessions,
    /// Rows of an op on average.
    RowsPerOp,
}
