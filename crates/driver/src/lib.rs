//! The contract between Highwater and databases: the driver traits, code shared by drivers, the program's clock,
//! stop requests, and what differs between operating systems.
//!
//! A driver reports outcomes, their certainty, and the target's capabilities. Must not measure, retry, or print; only
//! `sql` may name a database.

mod admin;
pub mod cell;
pub mod clock;
pub mod contract;
pub mod failure;
pub mod http;
pub mod interrupts;
pub mod metrics;
pub mod network;
pub mod regular_file;
pub mod sql;
pub mod system;
pub mod table_registry;
pub mod target_url;
pub mod telemetry;
pub mod time_limit;

pub use contract::{
    Admin, BoxFuture, BucketSums, Capabilities, ClusterActions, Connect, Driver, Encoder,
    KeyCounts, KeySums, Listener, Request, Response, RowTaker, ServerAdmin, Session, ShardCopies,
    TableAdmin, TableDescriber, TableFeatures, TableReader, Target, TargetFacts, TargetOptions,
    Timeline,
};
pub use regular_file::DiskSpace;
pub use table_registry::{Lease, LeaseAction, RegistryEntry, Right, TablePolicy};
pub use target_url::{Secret, TargetUrl};
pub use telemetry::{MetricSample, TelemetryReader};
