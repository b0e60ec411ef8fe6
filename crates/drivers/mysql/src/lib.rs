//! Driver for the MySQL wire protocol: MariaDB, MySQL, and compatible servers.
//!
//! It implements the protocol itself: an op is one write and one read, its bytes are encoded before its start time, and
//! responses are counted without being decoded. When a connection is lost, the certainty depends on how much was sent.
//! Overview: `wire` (bytes), `encode` (ops to bytes), `session` (one op), `errors` (certainty), `connect` (start-up),
//! `admin` (before and after the load).
//!
//! Must not read a clock, retry, or write text for a terminal.

use std::rc::Rc;
use std::sync::Arc;

use highwater_model::op::PlaceholderStyle;
use highwater_model::units::Nanos;

use cluster::Peers;
use encode::Mode;
use facts::WireReader;
use highwater_driver::contract::{
    Admin, Capabilities, Connect, Driver, Listener, Response, Session, Target, TargetOptions,
    Timeline,
};
use highwater_driver::target_url::TargetUrl;
use highwater_driver::telemetry::TelemetryReader;
use highwater_driver::{network, time_limit};
use highwater_model::user_error::UserError;
use options::Node;
use session::WireSession;

mod admin;
mod answer;
mod cluster;
mod connect;
mod dialect;
mod encode;
mod errors;
mod facts;
mod handshake;
mod options;
mod prepare;
mod row;
mod session;
mod wire;

pub use dialect::MYSQL;

/// For estimating an audit: approximate time of MariaDB 10.11 to sum a row of `cpu`.
const AUDIT_NS_PER_ROW: u64 = 10_000;

/// A node of a cluster is not polled if connecting takes longer.
const POLLED_WITHIN: Nanos = Nanos::from_secs(2);

/// The driver; see the module documentation.
pub struct MySqlDriver;

impl Driver for MySqlDriver {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["mysql", "mariadb"]
    }

    fn summary(&self) -> &'static str {
        "MariaDB, MySQL and relatives over the MySQL wire protocol: \
         mysql://user@host:3306/database"
    }

    fn sink(&self) -> Option<&'static str> {
        Some("null:mysql")
    }

    fn secret_variables(&self) -> &'static [&'static str] {
        &["MYSQL_PWD"]
    }

    fn open(
        &self,
        urls: &[TargetUrl],
        options: &TargetOptions,
    ) -> Result<Arc<dyn Target>, UserError> {
        let mode = options.insert_mode(Mode::from_name, Mode::NAMES)?;
        let mode = mode.unwrap_or(Mode::Values);
        let nodes = network::of_urls(urls, options, options::nodes)?;
        Ok(Arc::new(MySqlTarget { nodes, mode }))
    }
}

/// One or more servers.
struct MySqlTarget {
    /// At least one.
    nodes: Vec<Node>,
    mode: Mode,
}

impl Target for MySqlTarget {
    fn capabilities(&self) -> Capabilities {
        // Nodes are compared with each other, concurrently.
        let passes = if self.nodes.len() > 1 { 2 } else { 1 };
        Capabilities {
            audit_ns_per_row: AUDIT_NS_PER_ROW * passes,
            insert_modes: Mode::NAMES,
            ..Capabilities::SERVER
        }
    }

    fn placeholders(&self) -> PlaceholderStyle {
        PlaceholderStyle::Question
    }

    fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.shown.clone()).collect()
    }

    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>> {
        Box::pin(async move {
            let host = self.host_of(connect.number, connect.attempt);
            let node = network::nth(&self.nodes, host)?;
            let mut opened = connect::open(node, &connect.timeline).await?;
            let preparing = async {
                cluster::catch_up(&mut opened, self.mode, &node.shown).await?;
                let workload = &connect.workload;
                let plans = prepare::prepare(&mut opened, workload, self.mode, &node.shown).await?;
                let session =
                    WireSession::new(opened.connection, plans, Rc::clone(&connect.timeline));
                Ok(Box::new(session) as Box<dyn Session>)
            };
            let limit = time_limit::of_response(node.login.connect_timeout);
            time_limit::within(&connect.timeline, limit, &node.shown, preparing).await
        })
    }

    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>> {
        Box::pin(async move {
            let open = async |node: &Node| {
                let mut opened = connect::open(node, &timeline).await?;
                let limit = time_limit::of_response(node.login.connect_timeout);
                let seeing = cluster::see_all(&mut opened, &node.shown);
                time_limit::within(&timeline, limit, &node.shown, seeing).await?;
                Ok(opened)
            };
            let (node, opened) = network::first_to_open(&self.nodes, open).await?;
            let peers = Peers::beside(node, &self.nodes, &timeline);
            let admin = admin::admin(opened, node, peers, self.mode, timeline);
            Ok(Box::new(admin) as Box<dyn Admin>)
        })
    }

    fn telemetry(
        &self,
        timeline: Rc<dyn Timeline>,
    ) -> Response<'_, Option<Box<dyn TelemetryReader>>> {
        Box::pin(async move {
            let open = async |node| connect::open(node, &timeline).await;
            let (node, opened) = network::first_to_open(&self.nodes, open).await?;
            let is_cluster = opened.replicates;
            let mut reader = WireReader::new(opened, node);
            if is_cluster {
                for other in self.nodes.iter().filter(|other| other.shown != node.shown) {
                    // An unavailable node is polled again after it returns, when the reader is recreated.
                    let opening = connect::open(other, &timeline);
                    let opened =
                        time_limit::within(&timeline, POLLED_WITHIN, &other.shown, opening);
                    if let Ok(opened) = opened.await {
                        reader.add(opened, other);
                    }
                }
            }
            Ok(Some(Box::new(reader) as Box<dyn TelemetryReader>))
        })
    }

    fn failure_hint(&self, code: &str) -> Option<&'static str> {
        code.parse().ok().and_then(errors::failure_hint)
    }

    fn local_listeners(&self) -> Vec<Listener> {
        self.nodes.iter().map(Node::listener).collect::<Option<_>>().unwrap_or_default()
    }
}
