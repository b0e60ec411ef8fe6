//! Several servers as one target: each has its own tables in the database `NAME_local`, and in the URL's database a
//! `Distributed` table over all servers, which queries read.
//!
//! All servers are queried before and after the load. State of the target as a whole, such as leases, is kept by one
//! server, independently of the order in the URL. Connections are made when needed, except that of the server with
//! the first address. The cluster that a URL's hosts form is determined from each server's list of clusters. New
//! rows do not correct the distribution of existing ones over the servers. Must not be used by a session.

mod tables;

use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::future::join_all;

use highwater_driver::contract::{Response, Timeline};
use highwater_driver::sql::admin::SqlAdmin;
use highwater_driver::sql::connection::{Texts, rows_of};
use highwater_driver::sql::facts::number;
use highwater_driver::table_registry::RegistryEntry;
use highwater_driver::time_limit;
use highwater_model::user_error::UserError;

use super::admin::{self, ClickHouseServer};
use super::options::Node;
use super::plan::Mode;
use super::spools::Spools;
use super::wire;
use super::wire::Wire;
use crate::dialect::CLICKHOUSE;

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
    opened: Option<ServerConnections>,
}

/// Connections to a server.
struct ServerConnections {
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
    async fn first(&mut self) -> Result<&mut ServerConnections, UserError> {
        let first = self.members.first_mut();
        let first = first.ok_or_else(highwater_driver::network::none_given)?;
        first.open(self.mode, &self.timeline).await
    }

    /// All servers, in address order, after checking that they form a cluster: rows on an unlisted server would be
    /// missing.
    async fn all(&mut self) -> Result<Vec<&mut ServerConnections>, UserError> {
        let (mode, timeline) = (self.mode, &self.timeline);
        let opening = self.members.iter_mut().map(|member| member.open(mode, timeline));
        let opened = join_all(opening).await;
        let mut opened = opened.into_iter().collect::<Result<Vec<_>, _>>()?;
        if self.clusters.is_empty() {
            let places =
                each(&mut opened, |server| Box::pin(server.above.connection().rows(PLACES)));
            self.clusters = covering(&places.await?)?;
        }
        Ok(opened)
    }
}

/// The response of each server, queried concurrently; the first error, if any.
async fn each<'o, T>(
    opened: &'o mut [&mut ServerConnections],
    ask: impl Fn(&'o mut ServerConnections) -> Response<'o, T>,
) -> Result<Vec<T>, UserError> {
    let answers = opened.iter_mut().map(|server| ask(server));
    join_all(answers).await.into_iter().collect()
}

impl Member {
    async fn open(
        &mut self,
        mode: Mode,
        timeline: &Rc<dyn Timeline>,
    ) -> Result<&mut ServerConnections, UserError> {
        // Not a match, which would borrow for its whole length.
        if self.opened.is_none() {
            let node = &self.node;
            let mut above = wire::open(node, timeline).await?;
            wire::check_format(node, mode)?;
            let limit = time_limit::of_response(node.connect_timeout);
            let making = make_database(&mut above, node);
            time_limit::within(timeline, limit, &node.shown, making).await?;
            let with_own = node.with_own_tables();
            let own = wire::open(&with_own, timeline).await?;
            self.opened = Some(ServerConnections {
                above: admin::admin(
                    above,
                    node,
                    mode,
                    Rc::clone(timeline),
                    Some(Spools::new(node)),
                ),
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

/// The `--with` setting that names a cluster.
const CLUSTER: &str = "cluster";
/// Query for a server's known clusters: each replica, and whether it is this server.
const PLACES: &str = "SELECT cluster, shard_num, replica_num, is_local FROM system.clusters";
/// Maximum clusters named in a message.
const NAMED_MAX: usize = 10;

/// A server's view of one cluster.
#[derive(Debug, Default, PartialEq, Eq)]
struct ClusterView {
    /// Number of servers.
    places: usize,
    /// The server's own shards.
    own: Vec<String>,
}

/// The clusters that consist of exactly these hosts, each as one shard; `answers` are the responses to [`PLACES`], one
/// per host. An error if there is none.
fn covering(answers: &[Texts]) -> Result<Vec<String>, UserError> {
    let known: Vec<BTreeMap<String, ClusterView>> = answers.iter().map(read).collect();
    let Some(first) = known.first() else {
        return Ok(Vec::new());
    };
    let covers = |name: &&String| is_covered(name, &known);
    let found: Vec<String> = first.keys().filter(covers).cloned().collect();
    if found.is_empty() {
        return Err(none_covers(&known, first));
    }
    Ok(found)
}

/// The cluster for new tables: the named one, or the only one.
fn choose(covering: &[String], named: Option<&str>) -> Result<String, UserError> {
    let names = covering.join(", ");
    match (named, covering) {
        (Some(named), _) if covering.iter().any(|known| known == named) => Ok(named.to_owned()),
        (Some(named), _) => Err(UserError::usage(format!(
            "`--with {CLUSTER}={named}`: that is no cluster whose shards are the hosts of the URL"
        ))
        .with_hint(format!("they are the shards of: {names}"))),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(UserError::usage(format!(
            "the hosts of the URL are the shards of several clusters: {names}"
        ))
        .with_hint(format!("choose one: `--with {CLUSTER}=NAME`"))),
    }
}

fn read(rows: &Texts) -> BTreeMap<String, ClusterView> {
    let mut known: BTreeMap<String, ClusterView> = BTreeMap::new();
    for row in rows {
        let [Some(cluster), Some(shard), Some(_), is_local] = row.as_slice() else {
            continue;
        };
        let known = known.entry(cluster.clone()).or_default();
        known.places += 1;
        if is_local.as_deref() == Some("1") {
            known.own.push(shard.clone());
        }
    }
    known
}

fn is_covered(name: &str, hosts: &[BTreeMap<String, ClusterView>]) -> bool {
    let mut shards = Vec::with_capacity(hosts.len());
    for host in hosts {
        let Some(known) = host.get(name) else {
            return false;
        };
        let [shard] = known.own.as_slice() else {
            return false;
        };
        let has_replicas = known.places != hosts.len();
        if has_replicas || shards.contains(&shard) {
            return false;
        }
        shards.push(shard);
    }
    true
}

fn none_covers(
    hosts: &[BTreeMap<String, ClusterView>],
    first: &BTreeMap<String, ClusterView>,
) -> UserError {
    let described = first.iter().take(NAMED_MAX).map(|(name, known)| {
        let own = hosts.iter().filter(|host| {
            let known = host.get(name);
            known.is_some_and(|known| !known.own.is_empty())
        });
        let (own, all) = (own.count(), known.places);
        format!("{name} ({own} of its {all} servers)")
    });
    let described: Vec<String> = described.collect();
    let described = if described.is_empty() {
        "the first host knows no cluster".to_owned()
    } else {
        format!("they are of: {}", described.join(", "))
    };
    match hosts {
        [_] => UserError::usage(format!(
            "the host of the URL is no cluster of its own, without replicas; {described}"
        ))
        .with_hint("name all servers of a cluster in the URL, or use another --insert"),
        _ => UserError::usage(format!(
            "the {} hosts of the URL are not the shards of one cluster, each of them one without replicas; \
             {described}",
            hosts.len()
        ))
        .with_hint(
            "name all servers of a cluster in `remote_servers`, or one server for tables that it alone has",
        ),
    }
}

/// A sentence for each table whose rows are unevenly distributed.
async fn remarks(
    cluster: &mut Cluster,
    entries: &[RegistryEntry],
) -> Result<Vec<String>, UserError> {
    let mut remarks = Vec::new();
    for entry in entries.iter().filter(|entry| entry.next_index > 0) {
        let sql = format!("SELECT count() FROM {}", CLICKHOUSE.identifier(&entry.name));
        let mut opened = cluster.all().await?;
        let counted = each(&mut opened, |server| {
            let sql = sql.clone();
            Box::pin(async move {
                let rows = server.own.connection().rows(&sql).await?;
                Ok((server.node.address(), number(&rows, 0)))
            })
        });
        remarks.extend(remark(&entry.name, &counted.await?));
    }
    Ok(remarks)
}

/// A sentence if a server has less than half of its fair share.
fn remark(table: &str, rows: &[(String, u64)]) -> Option<String> {
    let all = rows.iter().fold(0_u64, |sum, (_, rows)| sum.saturating_add(*rows));
    let share = all / (rows.len() as u64).max(1);
    let is_short = |rows: u64| rows < share / 2;
    if !rows.iter().any(|(_, rows)| is_short(*rows)) {
        return None;
    }
    let on: Vec<String> = rows.iter().map(|(server, rows)| format!("{rows} on {server}")).collect();
    Some(format!(
        "rows of table `{table}` lay unevenly on the servers when the load began: {}; ClickHouse moves no rows to \
         servers that are added",
        on.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response of host `own` about clusters with these shards, given by host numbers.
    fn answer(clusters: &[(&str, &[u32])], own: usize) -> Texts {
        clusters
            .iter()
            .flat_map(|(name, shards)| {
                shards.iter().enumerate().map(move |(host, shard)| {
                    let is_local = u8::from(host == own).to_string();
                    let row = [(*name).to_owned(), shard.to_string(), "1".to_owned(), is_local];
                    row.map(Some).to_vec()
                })
            })
            .collect()
    }

    fn found(clusters: &[(&str, &[u32])], hosts: &[usize]) -> Result<Vec<String>, UserError> {
        let answers: Vec<Texts> = hosts.iter().map(|host| answer(clusters, *host)).collect();
        covering(&answers)
    }

    #[test]
    fn a_cluster_is_that_whose_shards_are_just_the_hosts_in_whatever_order() {
        let clusters: [(&str, &[u32]); 3] =
            [("three", &[1, 2, 3]), ("two", &[1, 2]), ("again", &[3, 1, 2])];
        assert_eq!(found(&clusters, &[2, 0, 1]).unwrap(), ["again", "three"]);
        assert_eq!(found(&clusters, &[1, 0]).unwrap(), ["two"]);
        // One is missing, or listed twice.
        for hosts in [&[0, 2][..], &[0, 0, 1], &[0, 0]] {
            let error = found(&clusters, hosts).unwrap_err();
            assert!(error.message.contains("three ("), "{error}");
            assert!(error.hint.is_some());
        }
        // Two replicas of a shard contain the same rows.
        assert!(found(&[("one", &[1, 1])], &[0, 1]).is_err());
        assert!(found(&[], &[0, 1]).unwrap_err().message.contains("no cluster"));
    }

    #[test]
    fn of_several_clusters_one_is_named() {
        let names = ["a".to_owned(), "b".to_owned()];
        assert_eq!(choose(&names, Some("b")).unwrap(), "b");
        assert_eq!(choose(&names[..1], None).unwrap(), "a");
        for (named, says) in [(None, "several clusters: a, b"), (Some("c"), "cluster=c")] {
            let error = choose(&names, named).unwrap_err();
            assert!(error.message.contains(says), "{error}");
            assert!(error.hint.is_some());
        }
    }

    #[test]
    fn rows_are_uneven_if_a_server_has_less_than_half_of_its_share() {
        for (rows, uneven) in [
            (&[900, 0][..], true),
            (&[600, 200], false),
            (&[700, 100], true),
            (&[300, 300, 150], false),
            (&[0, 0], false),
            (&[5], false),
        ] {
            let named: Vec<(String, u64)> =
                rows.iter().enumerate().map(|(at, rows)| (format!("h{at}"), *rows)).collect();
            let said = remark("cpu", &named);
            assert_eq!(said.is_some(), uneven, "{rows:?}: {said:?}");
        }
        let said = remark("cpu", &[("a:1".to_owned(), 900), ("b:1".to_owned(), 0)]).unwrap();
        assert!(said.contains("`cpu`") && said.contains("900 on a:1, 0 on b:1"), "{said}");
    }
}
