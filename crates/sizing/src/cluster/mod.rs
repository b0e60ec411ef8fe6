//! The cluster for a target rate: arithmetic from measured or published points to a plan.
//!
//! Every figure is computed from inputs with a stated origin. Must not read files, or use a default that the plan does
//! not list.

mod basis;
mod counting;
mod decision;
#[cfg(any(test, feature = "fixture"))]
#[expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]
pub mod fixture;
mod layout;
mod plan;
mod planning;
mod prose;
mod request;
mod traced;

#[cfg(test)]
mod tests;

pub use basis::{Basis, BasisError, Reading, SizeAxis};
pub use counting::{CapacityUse, NodeCounts, NodeInterval, ToProve};
pub use decision::{
    Assumption, AssumptionWeight, Condition, Decision, Regret, ReplicaEffect, SHORTAGE, Scenario,
};
pub use layout::{Disk, Network, Shards, length};
pub use plan::{Alternative, ModelPlan, NeedPlan, NodePlan, PLAN_SCHEMA, SizePlan, SizePlanPoint};
pub use planning::size;
pub(crate) use planning::{curve, models};
pub use prose::estimate;
pub use request::{Estimate, Need, Request};
pub use traced::{Input, Origin, Traced};
