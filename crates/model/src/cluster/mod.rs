//! A cluster file: how to start, reach, resize, and end a cluster of any size. Reading one is a function of its
//! text.
//!
//! Must not start anything; what is done by a file is up to the experiment's providers.

mod file;
mod placeholders;
mod reading;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use file::{CommandLine, List, QuotaStart, Rows, StartOrder, StopSignal, Targets};
pub use placeholders::{UnknownPlaceholder, expand};
pub use reading::{is_cluster_file, parse, schema};

use crate::scale::LeftOut;
use crate::units::Nanos;

/// Nodes of a cluster, at most.
pub const NODES_MAX: u32 = 256;

/// A cluster file that was read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSpec {
    /// Names its directories and control groups.
    pub name: String,
    /// One line, or empty.
    pub summary: String,
    /// Nodes that `up` starts where no number is given; from 1 to [`NODES_MAX`].
    pub nodes: u32,
    /// Which nodes hold a row.
    pub rows: Rows,
    /// Who runs the nodes.
    pub provider: Provider,
    /// A shell command that brings data back into a new cluster.
    pub restore: Option<String>,
}

impl ClusterSpec {
    /// The URLs of the nodes that are loaded in a cluster of this size, as far as they are known before it is
    /// started: with port 1 for each. None where only the user's own commands know them.
    pub fn planned_urls(&self, nodes: u32) -> Option<Vec<String>> {
        let Provider::Processes(spec) = &self.provider else {
            return None;
        };
        let loaded = match spec.targets {
            Targets::All => nodes,
            Targets::First => 1,
        };
        let value = |node: u32, name: &str| match name {
            "node" => Some(node.to_string()),
            "nodes" => Some(nodes.to_string()),
            name if name.starts_with("port.") => Some("1".to_owned()),
            _ => None,
        };
        let url = |node: u32| {
            let host = expand(&spec.host, |name| value(node, name)).ok()?;
            let of_node = |name: &str| match name {
                "host" => Some(host.clone()),
                name => value(node, name),
            };
            expand(&spec.url, of_node).ok()
        };
        (1..=loaded).map(url).collect()
    }

    /// Why its nodes cannot be measured alone, if they cannot.
    pub fn not_alone(&self) -> Option<LeftOut> {
        match &self.provider {
            Provider::Processes(node) => (!node.alone).then_some(LeftOut::NotSeparate),
            Provider::Commands(_) => Some(LeftOut::OwnCommands),
        }
    }
}

/// Who runs the nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum Provider {
    /// Highwater, as processes of this machine.
    Processes(Box<NodeSpec>),
    /// The user's own commands.
    Commands(CommandsSpec),
}

/// A node as a process of this machine. Texts hold placeholders that [`expand`] fills; a test of reading
/// has shown that it knows all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeSpec {
    /// What is run, in the node's data directory.
    pub command: CommandLine,
    /// A shell command that makes a new data directory ready, before the first start.
    pub prepare: Option<String>,
    /// Files of the data directory by their relative path.
    pub files: BTreeMap<String, String>,
    /// Variables besides those of Highwater's own environment.
    pub environment: BTreeMap<String, String>,
    /// Who runs it if Highwater is root: a name, or `UID:GID`.
    pub user: Option<String>,
    /// Where its ports are.
    pub host: String,
    /// Directory in which data directories are made; none for the default.
    pub data: Option<String>,
    /// The port of node 1 by name, those of others follow it; 0 for a free one.
    pub ports: BTreeMap<String, u16>,
    /// Texts that are made of all nodes.
    pub lists: BTreeMap<String, List>,
    /// The URL of a node, as a target.
    pub url: String,
    /// Which nodes are loaded.
    pub targets: Targets,
    /// Where its metrics are.
    pub metrics: Vec<String>,
    /// Whether a node waits for the one before it.
    pub start: StartOrder,
    /// Whether each node also starts without the others, as a cluster of one.
    pub alone: bool,
    /// When it is ready.
    pub ready: Ready,
    /// How it is stopped.
    pub stop: Stop,
    /// What it may use of the machine.
    pub quota: Option<Quota>,
}

/// When a node is ready.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// What shows it.
    pub condition: Condition,
    /// How long it may take.
    pub within: Nanos,
}

/// What shows that a node is ready.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// A query that its URL responds to.
    Sql {
        /// The query.
        sql: String,
        /// The first value of the response; none if any will do.
        answer: Option<String>,
    },
    /// A URL that responds with a status from 200 to 299.
    Http(String),
    /// A text in its log.
    Log(String),
}

/// How a node is stopped, before it is killed.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// The signal, where there is no command.
    pub signal: StopSignal,
    /// A shell command in place of a signal.
    pub command: Option<String>,
    /// How long it may take, until what is left of the node is killed.
    pub within: Nanos,
}

/// What a node may use of the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// Cores; above 0.
    pub cpu: Option<f64>,
    /// Bytes.
    pub memory: Option<u64>,
    /// From when on the quota of CPU holds.
    pub begins: QuotaStart,
}

/// The user's own commands, each run by the shell in the directory of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandsSpec {
    /// Starts a cluster of `{nodes}` nodes.
    pub up: String,
    /// Changes a cluster that is up to `{nodes}` nodes; `up` does it where there is none.
    pub resize: Option<String>,
    /// Ends well once all nodes are ready; tried again until then.
    pub ready: Option<String>,
    /// Prints the URLs of the nodes, one a line.
    pub urls: String,
    /// Prints the URLs of the nodes' metrics, one a line.
    pub metrics: Option<String>,
    /// Ends the cluster.
    pub down: String,
    /// How long each may take, and all tries of `ready` together.
    pub within: Nanos,
}
