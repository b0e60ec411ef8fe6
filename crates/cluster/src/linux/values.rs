//! Values of the placeholders of a node's texts, and its ports: free ones, or those of the file. Must not start
//! anything, or keep a port open.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::ops::Range;
use std::path::Path;

use highwater_model::cluster::{NodeFile, expand};
use highwater_model::user_error::UserError;

use super::site::NodeState;

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

/// The ports of a node on a host by name, derived from those of node 1 in the file. Ports in `before` are reused if
/// they are free.
pub(super) fn of_node(
    number: u32,
    host: &str,
    named: &BTreeMap<String, u16>,
    before: &BTreeMap<String, u16>,
    held: &mut Vec<TcpListener>,
) -> Result<BTreeMap<String, u16>, UserError> {
    let mut ports = BTreeMap::new();
    for (name, first) in named {
        let fixed = match first {
            0 => None,
            first => Some(following(*first, number, name)?),
        };
        let earlier = before.get(name).copied().unwrap_or(0);
        let listener = match fixed {
            Some(port) => TcpListener::bind((host, port)),
            None => TcpListener::bind((host, earlier)).or_else(|_| TcpListener::bind((host, 0))),
        };
        let bound = listener.and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
        let (port, listener) = bound.map_err(|error| {
            let place = fixed.map_or(host.to_owned(), |port| format!("{host}:{port}"));
            UserError::usage(format!(
                "port `{name}` of node {number} cannot be used: {place}: {error}"
            ))
            .with_hint(format!(
                "end what uses it (`ss -ltnp` lists that), or write {name} = 0 for a free port"
            ))
        })?;
        // Held until all nodes have their ports, so that no two get the same one.
        held.push(listener);
        ports.insert(name.clone(), port);
    }
    Ok(ports)
}

/// The port of a node from that of node 1.
fn following(first: u16, number: u32, name: &str) -> Result<u16, UserError> {
    let port = u32::from(first).saturating_add(number).saturating_sub(1);
    u16::try_from(port).map_err(|_| {
        UserError::usage(format!("port `{name}` of node {number} would be {port}"))
            .with_hint("begin with a lower port; 65535 is the highest")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_model::cluster::{Provider, parse};
    use std::thread;
    use std::time::Duration;

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

    const HOST: &str = "127.0.0.1";
    const LOOKS: u32 = 1_000;
    const LOOK: Duration = Duration::from_millis(5);

    fn named(port: u16) -> BTreeMap<String, u16> {
        BTreeMap::from([("http".to_owned(), port)])
    }

    #[test]
    fn free_ports_differ_and_are_reused() {
        let mut held = Vec::new();
        let none = BTreeMap::new();
        let mut pick = |number, before| of_node(number, HOST, &named(0), before, &mut held);
        let (one, two) = (pick(1, &none).unwrap(), pick(2, &none).unwrap());
        assert_ne!(one, two);
        held.clear();
        // A process that another test starts inherits the listeners until it executes its program.
        let again = (0..LOOKS).find_map(|_| {
            let mut held = Vec::new();
            let ports = of_node(1, HOST, &named(0), &one, &mut held).unwrap();
            thread::sleep(LOOK);
            (ports == one).then_some(held)
        });
        let _held = again.expect("the port comes again");
        let other = of_node(1, HOST, &named(0), &one, &mut held).unwrap();
        assert_ne!(other, one, "somebody has it");
    }

    #[test]
    fn a_port_in_use_is_named() {
        let taken = TcpListener::bind((HOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let fixed = named(port - 1);
        let none = BTreeMap::new();
        let error = of_node(2, HOST, &fixed, &none, &mut Vec::new()).unwrap_err();
        let place = format!("port `http` of node 2 cannot be used: 127.0.0.1:{port}: ");
        assert!(error.message.starts_with(&place), "{error}");
        let beyond = of_node(2, HOST, &named(65_535), &none, &mut Vec::new()).unwrap_err();
        assert_eq!(beyond.message, "port `http` of node 2 would be 65536");
    }
}
