//! How Highwater talks to databases: the contract, one module per wire protocol, a registry.
//!
//! A driver reports outcomes, their certainty, and the target's capabilities. Must not measure,
//! retry or print; nothing outside a driver's own module, `sql` and the registry may name a
//! database.

pub mod conformance;
pub mod contract;
pub mod cratedb;
pub mod disk;
mod error;
mod future;
mod hosts;
pub mod lease;
pub mod metrics;
mod network;
pub mod null;
pub mod postgres;
pub mod redaction;
pub mod registry;
pub mod rights;
pub mod sim;
mod sql;
pub mod sqlite;
pub mod table_registry;
pub mod target_url;
pub mod telemetry;
mod time_limit;

pub use contract::{
    Admin, BoxFuture, BucketSums, Capabilities, Connect, Driver, Encoder, KeyCounts, KeySums,
    Request, RowTaker, Session, ShardCopies, TableFeatures, Target, TargetError, TargetErrorKind,
    TargetFacts, TargetOptions, Timeline,
};
pub use disk::DiskSpace;
pub use error::RefusedStatement;
pub use lease::{Lease, LeaseAction};
pub use rights::Right;
pub use table_registry::{RegistryEntry, TablePolicy};
pub use target_url::{Secret, TargetUrl};
pub use telemetry::{MetricSample, TelemetryReader};
