//! A cluster file: how to start, reach, resize, and stop a cluster of any size. Reading is a function of its text.
//!
//! Must not start anything; the experiment's providers do.

mod file;
mod placeholders;
mod reading;
#[cfg(test)]
mod tests;

pub use file::{
    CommandLine, CommandsFile, Condition, List, NodeFile, QuotaFile, QuotaStart, ReadyFile, Rows,
    Size, Span, StartOrder, StopFile, StopSignal, Targets,
};
pub use placeholders::{UnknownPlaceholder, expand};
pub use reading::{is_cluster_file, parse, schema};

use crate::scale::LeftOut;

/// Maximum number of nodes of a cluster.
pub const NODES_MAX: u32 = 256;

/// A cluster file, parsed and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSpec {
    /// Names its directories and control groups.
    pub name: String,
    /// One line, or empty.
    pub summary: String,
    /// Nodes that `up` starts by default; from 1 to [`NODES_MAX`].
    pub nodes: u32,
    /// The nodes that hold rows.
    pub rows: Rows,
    /// The provider of the nodes.
    pub provider: Provider,
    /// A shell command that restores data in a new cluster.
    pub restore: Option<String>,
}

impl ClusterSpec {
    /// The URLs of the loaded nodes in a cluster of this size, as known before it is started: with port 1 for each.
    /// `None` if only the user's own commands know them.
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

    /// The reason why its nodes cannot be measured alone, if any.
    pub fn not_alone(&self) -> Option<LeftOut> {
        match &self.provider {
            Provider::Processes(node) => (!node.alone).then_some(LeftOut::NotSeparate),
            Provider::Commands(_) => Some(LeftOut::OwnCommands),
        }
    }
}

/// The provider of the nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum Provider {
    /// Highwater, as processes on this machine. Texts hold placeholders for [`expand`]; reading has checked that all of
    /// them are known.
    Processes(Box<NodeFile>),
    /// The user's own commands.
    Commands(CommandsFile),
}
