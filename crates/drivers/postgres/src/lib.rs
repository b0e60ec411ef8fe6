//! Driver for the PostgreSQL wire protocol, version 3, and all servers that support it.
//!
//! It implements the protocol itself, because a load tester's client must use less CPU than the reference client:
//! statements are prepared once, an op is one write and one read, and responses are counted without being decoded.
//! Overview: `wire` (bytes), `encode` (ops to bytes), `session` (one op), `connect` (start-up), `admin` (before and
//! after the load).
//!
//! Must not read a clock, retry, or write text for a terminal.

use std::rc::Rc;
use std::sync::Arc;

use highwater_model::op::PlaceholderStyle;

use admin::Inserts;
use connect::OpenConnection;
use encode::Mode;
use highwater_driver::contract::{
    Admin, Capabilities, Connect, Driver, Listener, Response, Session, Target, TargetOptions,
    Timeline,
};
use highwater_driver::network::of_urls;
use highwater_driver::target_url::TargetUrl;
use highwater_driver::telemetry::TelemetryReader;
use highwater_driver::time_limit;
use highwater_model::user_error::UserError;
use hosts::Hosts;
use options::Node;
use session::WireSession;
use telemetry::WireReader;

mod admin;
mod authenticate;
mod connect;
mod describe;
mod encode;
mod errors;
mod facts;
mod hosts;
mod options;
mod prepare;
mod product;
mod session;
mod telemetry;
mod wire;

pub use product::POSTGRESQL;

/// For estimating an audit: `cargo xtask bench audit` measured 5.9 µs, with server and client sharing two cores.
const AUDIT_NS_PER_ROW: u64 = 6_000;

/// The driver; see the module documentation.
pub struct PostgresDriver;

impl Driver for PostgresDriver {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["postgres", "postgresql", "cockroach"]
    }

    fn summary(&self) -> &'static str {
        "PostgreSQL, CockroachDB, QuestDB and relatives over the PostgreSQL wire protocol: \
         postgres://user@host:5432/database"
    }

    fn sink(&self) -> Option<&'static str> {
        Some("null:postgres")
    }

    fn secret_variables(&self) -> &'static [&'static str] {
        &["PGPASSWORD"]
    }

    fn open(
        &self,
        urls: &[TargetUrl],
        options: &TargetOptions,
    ) -> Result<Arc<dyn Target>, UserError> {
        let insert = options.insert_mode(Mode::from_name, Mode::NAMES)?;
        let nodes = of_urls(urls, options, options::nodes)?;
        let hosts = Hosts::new(nodes, options.seed.0);
        Ok(Arc::new(PostgresTarget { hosts, insert }))
    }
}

/// One or more servers.
struct PostgresTarget {
    hosts: Hosts,
    /// As requested; the default depends on the server.
    insert: Option<Mode>,
}

impl PostgresTarget {
    /// The insert mode for the connected server.
    fn mode(&self, opened: &OpenConnection, place: &str) -> Result<Mode, UserError> {
        let Some(mode) = self.insert else {
            return Ok(if opened.pooled {
                Mode::Values
            } else {
                Mode::default_for(opened.product)
            });
        };
        match refusal(mode, opened) {
            None => Ok(mode),
            Some((cause, hint)) => {
                Err(UserError::usage(format!("{place}: {cause}")).with_hint(hint))
            }
        }
    }
}

/// The insert modes that a server does not support, each with the reason.
fn refused(opened: &OpenConnection) -> Vec<(&'static str, &'static str)> {
    let names = Mode::NAMES.iter().copied();
    let refused = |name| Some((name, refusal(Mode::from_name(name)?, opened)?.0));
    names.filter_map(refused).collect()
}

/// Why a mode cannot be used, and the alternative.
fn refusal(mode: Mode, opened: &OpenConnection) -> Option<(&'static str, &'static str)> {
    if !mode.is_taken_by(opened.product) {
        return Some(("the server takes `--insert values` only", "leave out `--insert`"));
    }
    match (mode, opened.copies) {
        (Mode::Copy, Err(cause)) => Some((cause, "use `--insert values`, `unnest` or `prepared`")),
        (Mode::Copy, Ok(())) if opened.pooled => Some((
            "--insert copy is not possible behind a pooler, which passes what is left of a COPY that failed to another \
             connection of the server",
            "use `--insert values` or `unnest`, or connect past the pooler",
        )),
        _ => None,
    }
}

impl Target for PostgresTarget {
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
        self.hosts.nodes().iter().map(|node| node.shown.clone()).collect()
    }

    fn host_of(&self, number: u32, attempt: u32) -> usize {
        self.hosts.host_of(number, attempt)
    }

    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>> {
        Box::pin(async move {
            let Connect { number, attempt, timeline, .. } = &connect;
            let (node, mut opened) = self.hosts.open(*number, *attempt, timeline).await?;
            let mode = self.mode(&opened, &node.shown)?;
            let preparing = async {
                let workload = &connect.workload;
                let plans = prepare::prepare(&mut opened, workload, mode, &node.shown).await?;
                let mut session = WireSession::new(
                    opened.connection,
                    opened.product,
                    plans,
                    Rc::clone(&connect.timeline),
                );
                let ahead = session.prepare_ahead(workload).await;
                ahead.map_err(|failure| failure.into_target_error(&node.shown))?;
                Ok(Box::new(session) as Box<dyn Session>)
            };
            let limit = time_limit::of_response(node.login.connect_timeout);
            time_limit::within(&connect.timeline, limit, &node.shown, preparing).await
        })
    }

    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>> {
        Box::pin(async move {
            let open = async |node: &Node| match connect::open(node, &timeline).await {
                Err(error) => Err(connect::explained(error, node, &timeline).await),
                opened => opened,
            };
            let (node, opened) = self.hosts.open_any(open).await?;
            let insert = Inserts {
                used: self.mode(&opened, &node.shown)?.name(),
                refused: refused(&opened),
            };
            let admin = admin::admin(opened, node, self.hosts.nodes(), insert, timeline);
            Ok(Box::new(admin) as Box<dyn Admin>)
        })
    }

    fn telemetry(
        &self,
        timeline: Rc<dyn Timeline>,
    ) -> Response<'_, Option<Box<dyn TelemetryReader>>> {
        Box::pin(async move {
            let open = async |node: &Node| connect::open(node, &timeline).await;
            let (node, opened) = self.hosts.open_any(open).await?;
            let reader = WireReader::new(opened, node);
            Ok(reader.map(|reader| Box::new(reader) as Box<dyn TelemetryReader>))
        })
    }

    fn failure_hint(&self, code: &str) -> Option<&'static str> {
        errors::failure_hint(code)
    }

    fn local_listeners(&self) -> Vec<Listener> {
        self.hosts.nodes().iter().map(Node::listener).collect::<Option<_>>().unwrap_or_default()
    }
}
