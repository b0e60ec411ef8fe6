//! Driver for ClickHouse over HTTP: one server, or the shards of a cluster.
//!
//! By default, a batch is one block in Native format: no prefix of it is a valid request, and it is stored as a whole
//! or not at all. Overview: `plan` (a workload's statements and tables), `encode` (ops to bytes), `answer` and `errors`
//! (responses, and their certainty), `wire` (one exchange), `session` (one op), `connect`, `admin` (before and after
//! the load), `cluster` (the same for several servers), `spooling` and `spools` (rows that are still to be forwarded).
//!
//! Must not read a clock, retry, or write text for a terminal.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::contract::{
    Admin, Capabilities, Connect, Driver, Listener, Response, Session, Target, TargetOptions,
    Timeline, in_turn,
};
use highwater_driver::network::local_listener;
use highwater_driver::target_url::TargetUrl;
use highwater_driver::telemetry::TelemetryReader;
use highwater_driver::{network, time_limit};
use highwater_model::op::{BoundOp, BoundOpKind, BoundWorkload, PlaceholderStyle};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use cluster::Cluster;
use encode::Plan;
use facts::HttpReader;
use options::Node;
use plan::{Mode, Tables};
use session::HttpSession;
use wire::Wire;

mod admin;
mod answer;
mod cluster;
mod describe;
mod dialect;
mod encode;
mod errors;
mod facts;
mod options;
mod plan;
mod session;
mod spools;
mod wire;

pub use dialect::CLICKHOUSE;

/// For estimating an audit: `highwater audit` took 6.3 to 7.1 s for 6.6 million rows of `cpu` on ClickHouse 18.16, on
/// two cores that had other work as well.
const AUDIT_NS_PER_ROW: u64 = 1_000;

/// A server of a cluster is not polled if connecting takes longer.
const POLLED_WITHIN: Nanos = Nanos::from_secs(2);

/// The driver; see the module documentation.
pub struct ClickHouseDriver;

impl Driver for ClickHouseDriver {
    fn name(&self) -> &'static str {
        "clickhouse"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["clickhouse", "clickhouse+https"]
    }

    fn summary(&self) -> &'static str {
        "ClickHouse over HTTP, one server or a cluster: clickhouse://user@host:8123,host2/database"
    }

    fn sink(&self) -> Option<&'static str> {
        Some("null:clickhouse")
    }

    fn secret_variables(&self) -> &'static [&'static str] {
        &["CLICKHOUSE_PASSWORD"]
    }

    fn open(
        &self,
        urls: &[TargetUrl],
        options: &TargetOptions,
    ) -> Result<Arc<dyn Target>, UserError> {
        let nodes = network::of_urls(urls, options, options::nodes)?;
        let names = Mode::names(nodes.len() > 1);
        let mode = options.insert_mode(Mode::from_name, names)?;
        let mode = mode.unwrap_or_else(Mode::default_one);
        let mut databases = nodes.iter().map(|node| &node.database);
        let first = databases.next();
        if databases.any(|database| Some(database) != first) {
            return Err(UserError::usage(
                "the URLs name several databases, and the servers of a cluster have theirs by one name",
            )
            .with_hint("name one: `clickhouse://user@host1,host2/database`"));
        }
        Ok(Arc::new(ClickHouseTarget {
            is_behind_first: nodes.iter().any(|node| node.is_behind_first),
            nodes,
            mode,
        }))
    }
}

/// One server, or the shards of a cluster.
struct ClickHouseTarget {
    /// At least one.
    nodes: Vec<Node>,
    mode: Mode,
    /// Whether all sessions use the first one.
    is_behind_first: bool,
}

impl ClickHouseTarget {
    /// A single server counts as a cluster if it must forward rows.
    fn is_cluster(&self) -> bool {
        self.nodes.len() > 1 || self.mode.is_distributed
    }

    /// Fails if batches would go to only one of several servers, into its own tables.
    fn check_initiator(&self, workload: &BoundWorkload) -> Result<(), UserError> {
        let is_insert = |op: &BoundOp| matches!(op.kind, BoundOpKind::Insert { .. });
        if self.is_behind_first && !self.mode.is_distributed && workload.ops.iter().any(is_insert) {
            return Err(UserError::usage(
                "with `initiator=first` every batch is for one server, and its own table would have all rows",
            )
            .with_hint("use --insert distributed, so that it passes rows on"));
        }
        Ok(())
    }

    /// A connection to the server of a session, with the plans of its ops.
    async fn prepared(&self, connect: &Connect) -> Result<(Wire, Vec<Plan>), UserError> {
        self.check_initiator(&connect.workload)?;
        let host = self.host_of(connect.number, connect.attempt);
        let node = network::nth(&self.nodes, host)?;
        let mut wire = wire::open(node, &connect.timeline).await?;
        wire::check_format(node, self.mode)?;
        let tables =
            Tables { own: self.is_cluster().then(|| node.own_database()), mode: self.mode };
        let limit = time_limit::of_response(node.connect_timeout);
        let planning = plan::plans(&mut wire, &connect.workload, &tables);
        let plans = time_limit::within(&connect.timeline, limit, &node.shown, planning).await?;
        Ok((wire, plans))
    }
}

impl Target for ClickHouseTarget {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            audit_ns_per_row: AUDIT_NS_PER_ROW,
            insert_modes: Mode::names(self.is_cluster()),
            unique_keys: false,
            ..Capabilities::SERVER
        }
    }

    fn placeholders(&self) -> PlaceholderStyle {
        PlaceholderStyle::Dollar
    }

    fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.shown.clone()).collect()
    }

    fn configure(&self, settings: &[(String, String)]) -> Result<(), UserError> {
        let is_used = spools::is_requested(settings, self.mode)?;
        for node in &self.nodes {
            node.spooling.set(is_used);
        }
        Ok(())
    }

    fn host_of(&self, number: u32, attempt: u32) -> usize {
        if self.is_behind_first {
            return 0;
        }
        in_turn(number, attempt, self.nodes.len())
    }

    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>> {
        Box::pin(async move {
            let (wire, plans) = self.prepared(&connect).await?;
            Ok(Box::new(HttpSession::new(wire, plans)) as Box<dyn Session>)
        })
    }

    fn check_statements(&self, connect: Connect) -> Response<'_, ()> {
        Box::pin(async move {
            let (mut wire, _) = self.prepared(&connect).await?;
            let (place, bound) = (wire.node().shown.clone(), wire.node().connect_timeout);
            let checking = session::check(&mut wire, &connect.workload);
            let limit = time_limit::of_response(bound);
            time_limit::within(&connect.timeline, limit, &place, checking).await
        })
    }

    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>> {
        Box::pin(async move {
            if self.is_cluster() {
                let cluster = Cluster::open(&self.nodes, self.mode, timeline).await?;
                return Ok(Box::new(cluster) as Box<dyn Admin>);
            }
            let node = self.nodes.first().ok_or_else(network::none_given)?;
            let wire = wire::open(node, &timeline).await?;
            wire::check_format(node, self.mode)?;
            let admin = admin::admin(wire, node, self.mode, timeline, None);
            Ok(Box::new(admin) as Box<dyn Admin>)
        })
    }

    fn telemetry(
        &self,
        timeline: Rc<dyn Timeline>,
    ) -> Response<'_, Option<Box<dyn TelemetryReader>>> {
        Box::pin(async move {
            if self.is_cluster() {
                return Ok(Some(cluster_reader(&self.nodes, &timeline).await?));
            }
            let node = self.nodes.first().ok_or_else(network::none_given)?;
            let wire = wire::open(node, &timeline).await?;
            let reader = HttpReader::new(vec![wire], false);
            Ok(Some(Box::new(reader) as Box<dyn TelemetryReader>))
        })
    }

    fn local_listeners(&self) -> Vec<Listener> {
        let all = self.nodes.iter().map(|node| local_listener(&node.host, node.port));
        all.collect::<Option<_>>().unwrap_or_default()
    }
}

/// Polls the responding servers. An unavailable server is polled again after it returns, when the reader is recreated.
async fn cluster_reader(
    nodes: &[Node],
    timeline: &Rc<dyn Timeline>,
) -> Result<Box<dyn TelemetryReader>, UserError> {
    let mut wires = Vec::with_capacity(nodes.len());
    let mut failed = network::none_given();
    for node in nodes {
        let node = node.with_own_tables();
        let opening = wire::open(&node, timeline);
        match time_limit::within(timeline, POLLED_WITHIN, &node.shown, opening).await {
            Ok(wire) => wires.push(wire),
            Err(error) => failed = error,
        }
    }
    if wires.is_empty() {
        return Err(failed);
    }
    Ok(Box::new(HttpReader::new(wires, true)))
}
