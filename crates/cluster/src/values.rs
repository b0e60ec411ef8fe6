//! Values of the placeholders of a node's texts. Must not start anything.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use highwater_model::cluster::{NodeFile, expand};
use highwater_model::user_error::UserError;

use super::state::NodeState;

/// The values for filling in the texts of a cluster's nodes.
pub(super) struct Values<'a> {
    pub(super) spec: &'a NodeFile,
    /// The cluster file's directory.
    pub(super) directory: &'a Path,
    /// All nodes from 1, with their ports.
    pub(super) nodes: &'a BTreeMap<u32, NodeState>,
    /// The number of the first one.
    pub(super) first: u32,
    /// The intended number of nodes.
    pub(super) count: u32,
}

impl Values<'_> {
    /// A text of a node with its placeholders filled.
    pub(super) fn fill(&self, node: u32, text: &str) -> Result<String, UserError> {
        expand(text, |name| self.value(node, name))
            .map_err(|error| UserError::usage(error.to_string()))
    }

    /// Several of them.
    pub(super) fn fill_all(&self, node: u32, texts: &[String]) -> Result<Vec<String>, UserError> {
        texts.iter().map(|text| self.fill(node, text)).collect()
    }

    /// The variables of a node's processes.
    pub(super) fn environment(&self, node: u32) -> Result<BTreeMap<String, String>, UserError> {
        let mut all = variables(self.count);
        for (name, text) in &self.spec.environment {
            all.insert(name.clone(), self.fill(node, text)?);
        }
        Ok(all)
    }

    /// The numbers of all nodes.
    pub(super) fn numbers(&self) -> Range<u32> {
        self.first..self.first.saturating_add(self.count)
    }

    fn value(&self, node: u32, name: &str) -> Option<String> {
        if let Some(port) = name.strip_prefix("port.") {
            return self.port(node, port);
        }
        if let Some(port) = name.strip_prefix("peers.") {
            let address = |peer: u32| {
                let port = self.port(peer, port)?;
                Some(format!("{}:{port}", host(self.spec, peer)))
            };
            let peers: Option<Vec<String>> = self.numbers().map(address).collect();
            return Some(peers?.join(","));
        }
        if let Some(list) = name.strip_prefix("list.") {
            let list = self.spec.lists.get(list)?;
            // Parsing has ruled out nested lists.
            let parts: Option<Vec<String>> = self
                .numbers()
                .map(|node| expand(&list.each, |name| self.value(node, name)).ok())
                .collect();
            return Some(parts?.join(&list.join));
        }
        match name {
            "node" => Some(node.to_string()),
            "nodes" => Some(self.count.to_string()),
            "host" => Some(host(self.spec, node)),
            "data" => Some(self.nodes.get(&node)?.data.display().to_string()),
            "dir" => Some(self.directory.display().to_string()),
            _ => None,
        }
    }

    fn port(&self, node: u32, name: &str) -> Option<String> {
        self.nodes.get(&node)?.ports.get(name).map(u16::to_string)
    }
}

/// Address of a node's ports.
pub(super) fn host(spec: &NodeFile, node: u32) -> String {
    let filled = expand(&spec.host, |_| Some(node.to_string()));
    filled.unwrap_or_else(|_| spec.host.clone())
}

/// The variables of every command.
pub(super) fn variables(nodes: u32) -> BTreeMap<String, String> {
    BTreeMap::from([("HIGHWATER_NODES".to_owned(), nodes.to_string())])
}

#[cfg(test)]
mod tests {
    use highwater_model::cluster::{Provider, parse};

    use super::*;

    #[test]
    fn texts_of_a_node_know_all_nodes() {
        let text = "format = 1\nname = 'lab'\n[node]\ncommand = 'x'\nurl = 'db:'\n\
            host = '127.0.0.{node}'\nports = { http = 0 }\nready = { log = 'up' }\n\
            environment = { PEERS = '{peers.http}' }\n\
            lists = { shards = { each = '<s>{node}:{port.http}</s>', join = ' ' } }\n";
        let Provider::Processes(spec) = parse(text).unwrap().provider else {
            panic!("no node");
        };
        let node = |port| NodeState {
            ports: BTreeMap::from([("http".to_owned(), port)]),
            data: "/data".into(),
            ..NodeState::default()
        };
        let values = Values {
            spec: &spec,
            directory: Path::new("/here"),
            nodes: &BTreeMap::from([(1, node(11)), (2, node(12)), (3, node(13))]),
            first: 1,
            count: 2,
        };
        let fill = |text: &str| values.fill(2, text).unwrap();
        assert_eq!(fill("{node}/{nodes} {host}:{port.http}"), "2/2 127.0.0.2:12");
        assert_eq!(fill("{peers.http}"), "127.0.0.1:11,127.0.0.2:12");
        assert_eq!(fill("{list.shards}"), "<s>1:11</s> <s>2:12</s>");
        assert_eq!(fill("{data} {dir}"), "/data /here");
        let environment = values.environment(2).unwrap();
        assert_eq!(environment["PEERS"], "127.0.0.1:11,127.0.0.2:12");
        assert_eq!(environment["HIGHWATER_NODES"], "2");
        assert!(values.fill(2, "{port.tcp}").is_err());
        // A node that runs alone is its only peer.
        let (first, count) = (3, 1);
        let alone = Values { first, count, ..values };
        let fill = |text: &str| alone.fill(3, text).unwrap();
        assert_eq!(fill("{node}/{nodes} {peers.http}"), "3/1 127.0.0.3:13");
        assert_eq!(fill("{list.shards}"), "<s>3:13</s>");
    }
}
