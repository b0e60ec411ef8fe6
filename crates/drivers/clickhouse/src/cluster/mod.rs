//! Several servers as one target: each has tables of its own in the database `NAME_local`, and in the
//! database of the URL a table above those of all servers (`Distributed`), which queries read.
//!
//! Around the load all of them are queried; what is of the target as a whole, such as leases, is kept by one,
//! which is the same in whatever order the URL names them. Connections are made when they are needed: of the
//! one with the first address at once. Must not be used by a session.

use std::rc::Rc;

use futures_util::future::join_all;
use highwater_driver::contract::{Response, TargetError, Timeline};
use highwater_driver::sql::admin::SqlAdmin;
use highwater_driver::sql::connection::rows_of;
use highwater_driver::sql::describe::number;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::time_limit;

use super::admin::{self, ClickHouseServer};
use super::connect;
use super::insert_mode::Mode;
use super::options::Node;
use super::spools::Spools;
use super::wire::Wire;

mod administration;
mod membership;
mod reading;
mod spread;
mod tables;

const DIALECT: Dialect = Dialect::ClickHouse;
/// The engine of a table above those of all servers.
pub(super) const ABOVE: &str = "Distributed";

/// Everything around the load.
pub(super) struct Cluster {
    /// At least one; the first one keeps what is of the target as a whole.
    members: Vec<Member>,
    mode: Mode,
    timeline: Rc<dyn Timeline>,
    /// The clusters whose shards the members are; none until they were queried.
    clusters: Vec<String>,
    /// Of the rows that were there when the tables were made.
    remarks: Vec<String>,
}

/// A server, with connections from the first question on.
struct Member {
    node: Node,
    opened: Option<Opened>,
}

/// Connections to a server.
struct Opened {
    node: Node,
    /// To the tables above those of all servers.
    above: SqlAdmin<ClickHouseServer>,
    /// To the server's own.
    own: SqlAdmin<ClickHouseServer>,
}

impl Cluster {
    /// Around the load of sessions on these servers.
    pub(super) async fn open(
        nodes: &[Node],
        mode: Mode,
        timeline: Rc<dyn Timeline>,
    ) -> Result<Self, TargetError> {
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

    /// The server that keeps what is of the target as a whole.
    async fn first(&mut self) -> Result<&mut Opened, TargetError> {
        let first = self.members.first_mut();
        let first = first.ok_or_else(highwater_driver::hosts::none_given)?;
        first.open(self.mode, &self.timeline).await
    }

    /// All servers, in the order of their addresses, once they are known to be those of a cluster: rows on
    /// a server that is not named would be missing.
    async fn all(&mut self) -> Result<Vec<&mut Opened>, TargetError> {
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

/// What each server answers, all queried at once; the first error, if there is one.
async fn each<'o, T>(
    opened: &'o mut [&mut Opened],
    ask: impl Fn(&'o mut Opened) -> Response<'o, T>,
) -> Result<Vec<T>, TargetError> {
    let answers = opened.iter_mut().map(|server| ask(server));
    join_all(answers).await.into_iter().collect()
}

impl Member {
    async fn open(
        &mut self,
        mode: Mode,
        timeline: &Rc<dyn Timeline>,
    ) -> Result<&mut Opened, TargetError> {
        // Not a match: what is borrowed would be for the whole of it.
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
        let unreachable = || TargetError::unreachable(self.node.shown.clone());
        self.opened.as_mut().ok_or_else(unreachable)
    }
}

/// Makes the database of the server's own tables, if it is not there.
async fn make_database(wire: &mut Wire, node: &Node) -> Result<(), TargetError> {
    let name = node.own_database();
    let literal = DIALECT.literal(&name);
    let there = format!("SELECT count() FROM system.databases WHERE name = {literal}");
    // To say that it may be there takes a right that its user need not have.
    if number(&rows_of(wire, &node.shown, &there).await?, 0) == 0 {
        let name = DIALECT.identifier(&name);
        let create = format!("CREATE DATABASE IF NOT EXISTS {name}");
        rows_of(wire, &node.shown, &create).await?;
    }
    Ok(())
}
