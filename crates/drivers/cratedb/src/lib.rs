//! Driver for CrateDB over its HTTP endpoint, `/_sql`.
//!
//! The HTTP client is Highwater's own (`highwater_driver::http`): a session writes an encoded op with one system call,
//! and a response of a thousand entries is counted as it arrives, without a tree of values. Overview: `encode` (ops to
//! JSON), `answer` (JSON to counts), `errors` and `judge` (counts to an outcome), `stability` (health of the cluster),
//! `session` (one op), `connect`, `admin` (before and after the load).
//!
//! Must not read a clock, retry, or write text for a terminal.

use std::rc::Rc;
use std::sync::Arc;

use highwater_model::op::PlaceholderStyle;

use admin::HttpAdmin;
use encode::Mode;
use facts::HttpReader;
use highwater_driver::contract::{
    Admin, Capabilities, Connect, Driver, Listener, Response, Session, Target, TargetOptions,
    Timeline,
};
use highwater_driver::network;
use highwater_driver::network::local_listener;
use highwater_driver::target_url::TargetUrl;
use highwater_driver::telemetry::TelemetryReader;
use highwater_model::user_error::UserError;
use options::Node;
use query::AdminConnection;
use session::HttpSession;
use stability::ClusterStability;

mod admin;
mod answer;
mod audit;
mod connect;
mod encode;
mod facts;
mod judge;
mod options;
mod query;
#[cfg(test)]
mod recordings;
mod session;
mod stability;

/// For estimating an audit: approximately the measured time per row of `cpu` on one core.
const AUDIT_NS_PER_ROW: u64 = 10_000;

/// The driver; see the module documentation.
pub struct CrateDbDriver;

impl Driver for CrateDbDriver {
    fn name(&self) -> &'static str {
        "cratedb"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["crate", "crate+https"]
    }

    fn summary(&self) -> &'static str {
        "CrateDB over HTTP: crate://host:4200,host2:4200/schema"
    }

    fn sink(&self) -> Option<&'static str> {
        Some("null:crate")
    }

    fn secret_variables(&self) -> &'static [&'static str] {
        &["CRATEDB_PASSWORD"]
    }

    fn open(
        &self,
        urls: &[TargetUrl],
        options: &TargetOptions,
    ) -> Result<Arc<dyn Target>, UserError> {
        let insert = options.insert_mode(Mode::from_name, Mode::NAMES)?;
        let insert = insert.unwrap_or(Mode::Bulk);
        let stability = Arc::new(ClusterStability::default());
        let nodes = network::of_urls(urls, options, |url, options, environment| {
            options::nodes(url, options, environment, &stability)
        })?;
        Ok(Arc::new(CrateDbTarget { nodes, insert }))
    }
}

/// One cluster, accessed through one or more of its nodes.
struct CrateDbTarget {
    /// At least one.
    nodes: Vec<Node>,
    insert: Mode,
}

impl Target for CrateDbTarget {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            audit_ns_per_row: AUDIT_NS_PER_ROW,
            insert_modes: Mode::NAMES,
            ..Capabilities::SERVER
        }
    }

    fn placeholders(&self) -> PlaceholderStyle {
        PlaceholderStyle::Dollar
    }

    fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.shown.clone()).collect()
    }

    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>> {
        Box::pin(async move {
            let host = self.host_of(connect.number, connect.attempt);
            let node = network::nth(&self.nodes, host)?;
            let plans = encode::plans(&connect.workload, self.insert)?;
            let connection = connect::open(node, &connect.timeline).await?;
            let session = HttpSession::new(connection, node.clone(), plans, connect.timeline);
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }

    fn check_statements(&self, connect: Connect) -> Response<'_, ()> {
        Box::pin(async move {
            encode::plans(&connect.workload, self.insert)?;
            let open = async |node| connect::open(node, &connect.timeline).await;
            let (node, mut connection) = network::first_to_open(&self.nodes, open).await?;
            session::check(&mut connection, node, &connect.workload).await
        })
    }

    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>> {
        Box::pin(async move {
            let open = async |node| match connect::open(node, &timeline).await {
                Err(error) => Err(connect::explained(error, node, &timeline).await),
                opened => opened,
            };
            let (node, connection) = network::first_to_open(&self.nodes, open).await?;
            let insert = self.insert.name();
            let connection = AdminConnection::new(connection, node.clone(), insert, timeline);
            Ok(Box::new(HttpAdmin::new(connection)) as Box<dyn Admin>)
        })
    }

    fn telemetry(
        &self,
        timeline: Rc<dyn Timeline>,
    ) -> Response<'_, Option<Box<dyn TelemetryReader>>> {
        Box::pin(async move {
            let open = async |node| connect::open(node, &timeline).await;
            let (node, connection) = network::first_to_open(&self.nodes, open).await?;
            let node = node.clone();
            let reader = HttpReader { connection, node };
            Ok(Some(Box::new(reader) as Box<dyn TelemetryReader>))
        })
    }

    fn local_listeners(&self) -> Vec<Listener> {
        let all = self.nodes.iter().map(|node| local_listener(&node.host, node.port));
        all.collect::<Option<_>>().unwrap_or_default()
    }
}
