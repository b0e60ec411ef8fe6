//! Driver for ClickHouse over HTTP.
//!
//! A batch is one block in the format Native: it cannot be cut at a place where its first half is a
//! request too, and is stored as a whole or not at all. Where to read: `plan` (a workload's statements
//! and tables), `encode` (ops to bytes), `answer` and `errors` (what came back, and what is certain),
//! `wire` (one exchange), `session` (one op), `connect`, `admin` (around the load).
//!
//! Must not read a clock, retry, or write text for a terminal.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::contract::{
    Admin, Capabilities, Connect, Driver, Response, Session, Target, TargetError, TargetOptions,
    Timeline,
};
use highwater_driver::hosts;
use highwater_driver::network::is_loopback;
use highwater_driver::target_url::TargetUrl;
use highwater_driver::telemetry::TelemetryReader;
use highwater_driver::time_limit;
use highwater_model::op::PlaceholderStyle;

use encode::NATIVE;
use options::Node;
use session::HttpSession;
use telemetry::HttpReader;

mod admin;
mod answer;
mod connect;
mod describe;
mod dial;
mod encode;
mod errors;
mod facts;
mod options;
mod outcome;
mod placeholders;
mod plan;
mod preparing;
mod rows;
mod session;
mod telemetry;
mod wire;

/// For the estimate of an audit: `highwater audit` took 6.3 to 7.1 s for 6.6 million rows of `cpu` on
/// ClickHouse 18.16, on two cores that had other work too.
const AUDIT_NS_PER_ROW: u64 = 1_000;

/// The driver; see the module.
pub struct ClickHouseDriver;

impl Driver for ClickHouseDriver {
    fn name(&self) -> &'static str {
        "clickhouse"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["clickhouse", "clickhouse+https"]
    }

    fn summary(&self) -> &'static str {
        "ClickHouse over HTTP: clickhouse://user@host:8123/database"
    }

    fn secret_variables(&self) -> &'static [&'static str] {
        &["CLICKHOUSE_PASSWORD"]
    }

    fn open(
        &self,
        urls: &[TargetUrl],
        options: &TargetOptions,
    ) -> Result<Arc<dyn Target>, TargetError> {
        let native = |name: &str| (name == NATIVE).then_some(());
        options.insert_mode(native, &[NATIVE])?;
        let mut nodes = hosts::of_urls(urls, |url, environment| {
            options::nodes(url, options, environment)
        })?;
        let node = nodes.pop().ok_or_else(hosts::none_given)?;
        if !nodes.is_empty() {
            return Err(TargetError::usage(
                "ClickHouse is given by one host: a table is on the server that it was created on, and \
                 rows sent to several servers would lie in tables of each",
            )
            .with_hint("name one server: `clickhouse://user@host:8123/database`"));
        }
        Ok(Arc::new(ClickHouseTarget { node }))
    }
}

/// One server.
struct ClickHouseTarget {
    node: Node,
}

impl Target for ClickHouseTarget {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            audit_ns_per_row: AUDIT_NS_PER_ROW,
            insert_modes: &[NATIVE],
            unique_keys: false,
            ..Capabilities::SERVER
        }
    }

    fn placeholders(&self) -> PlaceholderStyle {
        PlaceholderStyle::Dollar
    }

    fn urls(&self) -> Vec<String> {
        vec![self.node.shown.clone()]
    }

    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>> {
        Box::pin(async move {
            let node = &self.node;
            let mut wire = connect::open(node, &connect.timeline).await?;
            let preparing = async {
                let plans = plan::plans(&mut wire, &connect.workload).await?;
                Ok(Box::new(HttpSession::new(wire, plans)) as Box<dyn Session>)
            };
            let limit = time_limit::of_response(node.connect_timeout);
            time_limit::within(&connect.timeline, limit, &node.shown, preparing).await
        })
    }

    fn check_statements(&self, connect: Connect) -> Response<'_, ()> {
        Box::pin(async move {
            let node = &self.node;
            let mut wire = connect::open(node, &connect.timeline).await?;
            let checking = async {
                plan::plans(&mut wire, &connect.workload).await?;
                preparing::check(&mut wire, &connect.workload).await
            };
            let limit = time_limit::of_response(node.connect_timeout);
            time_limit::within(&connect.timeline, limit, &node.shown, checking).await
        })
    }

    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>> {
        Box::pin(async move {
            let wire = connect::open(&self.node, &timeline).await?;
            let admin = admin::admin(wire, &self.node, timeline);
            Ok(Box::new(admin) as Box<dyn Admin>)
        })
    }

    fn telemetry(
        &self,
        timeline: Rc<dyn Timeline>,
    ) -> Response<'_, Option<Box<dyn TelemetryReader>>> {
        Box::pin(async move {
            let wire = connect::open(&self.node, &timeline).await?;
            let reader = HttpReader::new(wire);
            Ok(Some(Box::new(reader) as Box<dyn TelemetryReader>))
        })
    }

    fn is_local(&self) -> bool {
        is_loopback(&self.node.host)
    }
}
