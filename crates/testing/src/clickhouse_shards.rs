//! A private ClickHouse cluster: three shards on 127.0.0.1, each a server with its own directory and ports, connected
//! by `remote_servers`. Ended when dropped. Must not know the tests.

use std::io;
use std::thread;

use crate::clickhouse::{ClickHouse, DATABASE, SUPERUSER};
use crate::server::{free_ports, started};

/// Servers of a cluster, one per shard.
pub const SHARDS: usize = 3;
/// The cluster with all servers as shards.
pub const CLUSTER: &str = "three";
/// A cluster of only the first two servers.
pub const SMALLER_CLUSTER: &str = "two";

/// A cluster of only the last server.
pub const CLUSTER_OF_ONE: &str = "one";

/// A running cluster.
pub struct Shards {
    servers: Vec<ClickHouse>,
}

impl Shards {
    /// Starts the servers, which are configured with [`CLUSTER`], [`SMALLER_CLUSTER`], and [`CLUSTER_OF_ONE`].
    ///
    /// # Panics
    ///
    /// If ClickHouse is not installed or does not start.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same, with additional clusters of all servers, by these names.
    ///
    /// # Panics
    ///
    /// Same as [`Shards::start`].
    pub fn start_with(names: &[&str]) -> Self {
        started("ClickHouse", || Self::try_start(names))
    }

    fn try_start(names: &[&str]) -> io::Result<Self> {
        let all: [u16; 2 * SHARDS] = free_ports()?;
        let (http, native) = all.split_at(SHARDS);
        let mut clusters = cluster(SMALLER_CLUSTER, &native[..2]);
        clusters.push_str(&cluster(CLUSTER_OF_ONE, &native[2..]));
        for name in [&[CLUSTER][..], names].concat() {
            clusters.push_str(&cluster(name, native));
        }
        let started: Vec<io::Result<ClickHouse>> = thread::scope(|scope| {
            let starting = http.iter().zip(native).map(|(http, native)| {
                let configuration = format!(
                    "<tcp_port>{native}</tcp_port><remote_servers>{clusters}</remote_servers>"
                );
                scope.spawn(move || ClickHouse::try_start(*http, &configuration, ""))
            });
            let starting: Vec<_> = starting.collect();
            let ended = starting.into_iter().map(|starting| {
                let started = starting.join();
                started.unwrap_or_else(|_| Err(io::Error::other("starting it panicked")))
            });
            ended.collect()
        });
        let servers: io::Result<Vec<ClickHouse>> = started.into_iter().collect();
        Ok(Self { servers: servers? })
    }

    /// A server, from 0; the number of its shard is one higher.
    pub fn server(&self, number: usize) -> &ClickHouse {
        &self.servers[number]
    }

    /// The same, for ending and restarting it.
    pub fn server_mut(&mut self, number: usize) -> &mut ClickHouse {
        &mut self.servers[number]
    }

    /// URL of [`DATABASE`] on these servers, in this order, for the user without a password.
    pub fn url_of(&self, numbers: &[usize]) -> String {
        let hosts: Vec<String> = numbers
            .iter()
            .map(|number| self.servers[*number].port())
            .map(|port| format!("127.0.0.1:{port}"))
            .collect();
        format!("clickhouse://{SUPERUSER}@{}/{DATABASE}", hosts.join(","))
    }

    /// URL of [`DATABASE`] on all servers.
    pub fn url(&self) -> String {
        self.url_of(&[0, 1, 2])
    }
}

/// A cluster in a configuration: one shard on each of these native-protocol ports.
fn cluster(name: &str, ports: &[u16]) -> String {
    let shards: String = ports
        .iter()
        .map(|port| {
            format!("<shard><replica><host>127.0.0.1</host><port>{port}</port></replica></shard>")
        })
        .collect();
    format!("<{name}>{shards}</{name}>")
}
