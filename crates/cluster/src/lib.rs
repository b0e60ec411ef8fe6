//! Clusters that Highwater starts, resizes, and ends, from a cluster file: processes of this machine, or the user's own
//! commands.
//!
//! Only on Linux; elsewhere every cluster is refused. Must not measure, or know a database.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::Target;
use highwater_model::user_error::UserError;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub use linux::Cluster;
#[cfg(not(target_os = "linux"))]
pub use other::Cluster;

/// Opens a target at a URL.
pub type OpenTarget = dyn Fn(&str) -> Result<Arc<dyn Target>, UserError>;

/// Options other than those of the file.
#[derive(Clone)]
pub struct Options {
    /// The cluster file's directory, where the user's commands run.
    pub directory: PathBuf,
    /// Start nodes without quotas.
    pub no_quota: bool,
    /// Remove the nodes' data when the cluster ends.
    pub remove_data: bool,
    /// Take over nodes that an earlier call left running on purpose; otherwise they are an error.
    pub takes_over: bool,
    /// Variables of this process to hide from nodes and commands.
    pub hidden: Vec<OsString>,
    /// Opens a target, for readiness by SQL.
    pub open: Rc<OpenTarget>,
    /// Receives a line about each step.
    pub report: Rc<dyn Fn(&str)>,
}

/// What is done to a node of a running cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeAction {
    /// Ends all its processes at once.
    Kill,
    /// Ends it in order.
    Stop,
    /// Starts it after it has ended, and waits until it is ready.
    Start,
    /// Holds its processes.
    Pause,
    /// Holds them; the caller releases and holds them again and again, by [`Cluster::holder`].
    Throttle,
    /// Releases them.
    Resume,
}

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// From 1.
    pub number: u32,
    /// Address of its ports; empty if only the user's commands know it.
    pub host: String,
    /// URL as a target.
    pub url: String,
    /// Whether it is loaded.
    pub is_target: bool,
    /// URLs of its metrics.
    pub metrics: Vec<String>,
    /// Its first process, while it runs on this machine.
    pub pid: Option<i32>,
    /// Its data directory on this machine.
    pub data: Option<PathBuf>,
    /// Its log.
    pub log: Option<PathBuf>,
}

/// A sentence of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// RFC 3339, UTC.
    pub at: String,
    /// The event.
    pub what: String,
}
