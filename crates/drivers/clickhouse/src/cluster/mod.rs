//! Several servers as one target: each has its own tables in the database `NAME_local`, and in the URL's database a
//! `Distributed` table over all servers, which queries read.
//!
//! All servers are queried before and after the load. State of the target as a whole, such as leases, is kept by one
//! server, independent of the order in the URL. Connections are made when needed, except that of the server with the
//! first address. Must not be used by a session.

use std::rc::Rc;

use futures_util::future::join_all;
use highwater_driver::contract::{Response, Timeline};
use highwater_driver::sql::admin::SqlAdmin;
use highwater_driver::sql::connection::rows_of;
use highwater_driver::sql::describe::number;
use highwater_driver::time_limit;
use highwater_model::user_error::UserError;

use super::admin::{self, ClickHouseServer};
use super::connect;
use super::insert_mode::Mode;
use super::options::Node;
use super::spools::Spools;
use super::wire::Wire;
use crate::dialect::CLICKHOUSE;

mod administration;
mod membership;
mod reading;
mod spread;
mod tables;

/// The engine of a table over all servers.
pub(super) const ABOVE: &str = "Distributed";

/// Operations before and after the load.
pub(super) struct Cluster {
    /// At least one; the first one keeps the state of the target as a whole.
    members: Vec<Member>,
    mode: Mode,
    timeline: Rc<dyn Timeline>,
    /// The clusters whose shards are the members; `None` until queried.
    clusters: Vec<String>,
    /// About rows that existed when the tables were created.
    remarks: Vec<String>,
}

/// A server, connected on first use.
struct Member {
    node: Node,
    opened: Option<Opened>,
}

/// Connections to a server.
struct Opened {
    node: Node,
    /// To the `Distributed` tables.
    above: SqlAdmin<ClickHouseServer>,
    /// To the server's own tables.
    own: SqlAdmin<ClickHouseServer>,
}

impl Cluster {
    /// For sessions on these servers.
    pub(super) async fn open(
        nodes: &[Node],
        mode: Mode,
        timeline: Rc<dyn Timeline>,
    ) -> Result<Self, UserError> {
        let mut nodes = nodes.to_vec();
        nodes.sort_by_key(Node::address);
        let members = nodes.into_iter().map(|node| Member { node, opened: None });
        let mut cluster = Self {
            members: members.collect(),
            mode,
            timeline,
            clusters: Vec::new(),
            remarks: Vec::new(),
        };
        cluster.first().await?;
        Ok(cluster)
    }

    /// The server that keeps the state of the target as a whole.
    async fn first(&mut self) -> Result<&mut Opened, UserError> {
        let first = self.members.first_mut();
        let first = first.ok_or_else(highwater_driver::hosts::none_given)?;
        first.open(self.mode, &self.timeline).await
    }

    /// All servers, in address order, after checking that they form a cluster: rows on an unlisted server would be
    /// missing.
    async fn all(&mut self) -> Result<Vec<&mut Opened>, UserError> {
        let (mode, timeline) = (self.mode, &self.timeline);
        let opening = self.members.iter_mut().map(|member| member.open(mode, timeline));
        let opened = join_all(opening).await;
        let mut opened = opened.into_iter().collect::<Result<Vec<_>, _>>()?;
        if self.clusters.is_empty() {
            let places = each(&mut opened, |server| {
                Box::pin(server.above.connection().rows(membership::PLACES))
            });
            self.clusters = membership::covering(&places.await?)?;
        }
        Ok(opened)
    }
}

/// The response of each server, queried concurrently; the first error, if any.
async fn each<'o, T>(
    opened: &'o mut [&mut Opened],
    ask: impl Fn(&'o mut Opened) -> Response<'o, T>,
) -> Result<Vec<T>, UserError> {
    let answers = opened.iter_mut().map(|server| ask(server));
    join_all(answers).await.into_iter().collect()
}

impl Member {
    async fn open(
        &mut self,
        mode: Mode,
        timeline: &Rc<dyn Timeline>,
    ) -> Result<&mut Opened, UserError> {
        // Not a match, which would borrow for its whole length.
        if self.opened.is_none() {
            let node = &self.node;
            let mut above = connect::open(node, timeline).await?;
            connect::check_format(node, mode)?;
            let limit = time_limit::of_response(node.connect_timeout);
            let making = make_database(&mut above, node);
            time_limit::within(timeline, limit, &node.shown, making).await?;
            let with_own = node.with_own_tables();
            let own = connect::open(&with_own, timeline).await?;
            self.opened = Some(Opened {
                above: admin::admin(above, node, mode, Rc::clone(timeline), Some(Spools::of(node))),
                own: admin::admin(own, &with_own, mode, Rc::clone(timeline), None),
                node: node.clone(),
            });
        }
        let unreachable = || UserError::unreachable(self.node.shown.clone());
        self.opened.as_mut().ok_or_else(unreachable)
    }
}

/// Creates the database of the server's own tables, if it does not exist.
async fn make_database(wire: &mut Wire, node: &Node) -> Result<(), UserError> {
    let name = node.own_database();
    let literal = CLICKHOUSE.literal(&name);
    let there = format!("SELECT count() FROM system.databases WHERE name = {literal}");
    // IF NOT EXISTS requires a privilege that the user may lack.
    if number(&rows_of(wire, &node.shown, &there).await?, 0) == 0 {
        let name = CLICKHOUSE.identifier(&name);
        let create = format!("CREATE DATABASE IF NOT EXISTS {name}");
        rows_of(wire, &node.shown, &create).await?;
    }
    Ok(())
}
