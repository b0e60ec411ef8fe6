//! A private MariaDB Galera cluster: three nodes on 127.0.0.1, each with its own directory and ports, ended when
//! dropped.
//!
//! The nodes start with copies of one node's data and with a saved primary component (`gvwstate.dat`), as after a power
//! failure. This avoids the data transfer from another node, which takes seconds; only a node that returns after being
//! killed needs one. Must not know the tests.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use crate::mariadb::{self, DATABASE, MariaDb, OS_USER};
use crate::programs::{GALERA, RSYNC};
use crate::server::{free_ports, give_away, started};

/// Nodes of a cluster: the smallest number that tolerates the loss of one.
pub const NODES: usize = 3;
/// Ports of a node in addition to that of its clients: for the other nodes, and for the two kinds of data transfer.
const PORTS: usize = 3;
/// Their initial data, in Cargo's target directory.
const TEMPLATE: &str = "galera-data";
/// The replication state of a cleanly stopped node, next to its data.
const POSITION: &str = "data/grastate.dat";
/// Maximum checks of a node, 50 ms apart.
const LOOKS_MAX: u32 = 1_200;
/// The status of a node that belongs to the cluster and accepts queries.
const SYNCED: &str = "SELECT group_concat(variable_value ORDER BY variable_name) \
    FROM information_schema.global_status \
    WHERE variable_name IN ('wsrep_local_state_comment', 'wsrep_ready')";

/// A running cluster.
pub struct Galera {
    nodes: Vec<MariaDb>,
}

/// Whether the tests that need a cluster are skipped; see [`GALERA`], [`RSYNC`], and
/// [`MARIADB`](crate::programs::MARIADB).
///
/// # Panics
///
/// Same as [`Program::is_left_out`](crate::programs::Program::is_left_out).
pub fn skipped() -> bool {
    mariadb::skipped() || GALERA.is_left_out() || RSYNC.is_left_out()
}

impl Galera {
    /// Starts the nodes, and waits until all of them have joined.
    ///
    /// # Panics
    ///
    /// If Galera is not installed, or a node does not start.
    pub fn start() -> Self {
        started("Galera", Self::try_start)
    }

    fn try_start() -> io::Result<Self> {
        let mut nodes = Vec::with_capacity(NODES);
        for _ in 0..NODES {
            nodes.push(MariaDb::prepare_from(TEMPLATE, make_template)?);
        }
        let ports: [u16; NODES * PORTS] = free_ports()?;
        let ports = ports.as_chunks::<PORTS>().0;
        let peers: Vec<String> =
            ports.iter().map(|[port, ..]| format!("127.0.0.1:{port}")).collect();
        for (number, (node, ports)) in nodes.iter_mut().zip(ports).enumerate() {
            let state = node.path("data/gvwstate.dat");
            fs::write(&state, primary_component(number))?;
            give_away(OS_USER, &state)?;
            node.add_settings(settings(*ports, &peers.join(","), number)?);
            node.spawn()?;
        }
        let mut cluster = Self { nodes };
        for node in &mut cluster.nodes {
            node.wait_for(SYNCED, "Synced,ON")?;
        }
        Ok(cluster)
    }

    /// A node, from 0.
    pub fn node(&self, number: usize) -> &MariaDb {
        &self.nodes[number]
    }

    /// URL of [`DATABASE`] on all nodes, in order, for a user without a password.
    pub fn url(&self, user: &str) -> String {
        let hosts: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("mariadb://{user}@{}/{DATABASE}", hosts.join(","))
    }

    /// Runs SQL on a node once it has everything that was committed on the others before.
    ///
    /// # Panics
    ///
    /// If a statement fails.
    pub fn sql(&self, number: usize, text: &str) -> String {
        self.node(number).sql(&format!("SET wsrep_sync_wait = 7; {text}"))
    }

    /// Kills a node, like a lost machine.
    pub fn kill(&mut self, number: usize) {
        self.nodes[number].kill();
    }

    /// Starts a node that was killed, and waits until it has the data of the others.
    ///
    /// # Panics
    ///
    /// If it does not return.
    pub fn start_again(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        let started = node.spawn();
        if let Err(error) = started.and_then(|()| node.wait_for(SYNCED, "Synced,ON")) {
            panic!("the node did not come back: {error}");
        }
    }

    /// Waits until a variable of a node's `SHOW GLOBAL STATUS` has that value.
    ///
    /// # Panics
    ///
    /// If it never has.
    pub fn wait_for_status(&self, number: usize, variable: &str, value: &str) {
        let sql = format!(
            "SELECT variable_value FROM information_schema.global_status \
             WHERE variable_name = '{variable}'"
        );
        for _ in 0..LOOKS_MAX {
            let found = self.node(number).try_sql(&sql);
            if found.is_ok_and(|found| found == value) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("{variable} of node {number} never was {value}");
    }
}

/// The data of a cleanly stopped node, with a replication position that all copies share.
fn make_template(copy: &MariaDb) -> io::Result<()> {
    let mut node = MariaDb::prepare()?;
    node.add_settings(settings(free_ports()?, "", 0)?);
    node.spawn()?;
    node.wait_for(SYNCED, "Synced,ON")?;
    node.shut_down()?;
    if !fs::read_to_string(node.path(POSITION))?.contains("seqno:") {
        return Err(io::Error::other("a node was not ended in order"));
    }
    fs::remove_file(node.path("data/galera.cache"))?;
    crate::server::copy(&node.path("data"), &copy.path("data"))
}

/// A name of a node that is the same on all nodes: a time-based UUID with 36 characters.
fn uuid(number: usize) -> String {
    format!("0000000{}-e92d-11f1-ae43-d70739379a87", number + 1)
}

/// The file with the nodes of the last primary component.
fn primary_component(number: usize) -> String {
    let members: Vec<String> =
        (0..NODES).map(|node| format!("member: {} 0\n", uuid(node))).collect();
    format!(
        "my_uuid: {}\n#vwbeg\nview_id: 3 {} 3\nbootstrap: 0\n{}#vwend\n",
        uuid(number),
        uuid(0),
        members.concat()
    )
}

/// Options of a node; without peers, it starts a cluster. A lost node leaves the cluster after about 2 s instead of 6.
fn settings(ports: [u16; PORTS], peers: &str, number: usize) -> io::Result<Vec<String>> {
    let [port, incremental, whole] = ports;
    let library = GALERA.required().map_err(io::Error::other)?;
    let provider = format!(
        "base_host=127.0.0.1;base_port={port};gmcast.listen_addr=tcp://127.0.0.1:{port};\
         ist.recv_addr=127.0.0.1:{incremental};gcache.size=16M;pc.recovery=true;\
         evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.2S;evs.suspect_timeout=PT2S;\
         evs.inactive_timeout=PT4S;evs.install_timeout=PT4S"
    );
    // Ports are reused: clusters of other tests must not respond as peers.
    let first = peers.split(',').next().unwrap_or_default();
    Ok(vec![
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={}", library.display()),
        format!("--wsrep-cluster-address=gcomm://{peers}"),
        format!("--wsrep-cluster-name=of {first}"),
        format!("--wsrep-node-address=127.0.0.1:{port}"),
        format!("--wsrep-node-name=node{number}"),
        format!("--wsrep-provider-options={provider}"),
        "--wsrep-sst-method=rsync".to_owned(),
        format!("--wsrep-sst-receive-address=127.0.0.1:{whole}"),
        "--binlog-format=ROW".to_owned(),
        "--innodb-autoinc-lock-mode=2".to_owned(),
    ])
}
