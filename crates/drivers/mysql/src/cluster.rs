//! The nodes of a Galera cluster: visibility of commits on other nodes in a session, and data from the nodes other than
//! the one queried before and after the load.
//!
//! Must not judge these data, or know a workload's rows.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::join_all;
use highwater_driver::contract::{ShardCopies, Timeline};
use highwater_driver::network::one_line;
use highwater_driver::sql::audit;
use highwater_driver::sql::connection::{SqlConnection, Texts, first_value, pairs, rows_of};
use highwater_driver::sql::facts::number;
use highwater_driver::time_limit;
use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::user_error::{UserError, UserErrorKind};

use super::connect::{self, OpenConnection};
use super::dialect::MYSQL;
use super::encode::Mode;
use super::options::Node;
use super::wire::Connection;

/// Reads wait until the node has everything committed before they began, on any node; a single-row statement that loses
/// against another node's is retried by its node.
const SEES_ALL: &str = "SET wsrep_sync_wait = 7, wsrep_retry_autocommit = 20";
/// Waits for this once, in a session that keeps the server's setting.
const CATCH_UP: [&str; 3] =
    ["SET wsrep_sync_wait = 1", "SELECT 1", "SET wsrep_sync_wait = DEFAULT"];
/// A node would also retry LOAD DATA LOCAL, although its lines are gone, and would then report 1156 (packets out of
/// order) instead of a conflict.
const TRIES_ONCE: &str = "SET wsrep_retry_autocommit = 0";
/// A node's recorded status variables.
const STATES: &str = "SHOW GLOBAL STATUS WHERE variable_name IN \
    ('wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_local_state_comment', \
     'wsrep_provider_version', 'wsrep_ready')";
/// Those recorded for the cluster.
const RECORDED_STATES: &[&str] =
    &["wsrep_cluster_size", "wsrep_cluster_status", "wsrep_provider_version"];
/// Library options that determine how long a lost node is waited for, and when a slow one slows down all. Others may
/// name key files.
const RECORDED_OPTIONS: &[&str] = &[
    "evs.inactive_timeout",
    "evs.suspect_timeout",
    "gcache.size",
    "gcs.fc_factor",
    "gcs.fc_limit",
    "repl.causal_read_timeout",
];
/// The variable with a node's activity, such as `Synced`.
const STATE: &str = "wsrep_local_state_comment";
/// Keys per bucket if a table is compared as a whole.
const WHOLE: u64 = 1 << 62;
/// Detects values exchanged between columns; odd.
const COLUMN_WEIGHT: u64 = 6_364_136_223_846_793_005;
/// The state of a node that did not respond.
const AWAY: &str = "away";

/// Waits until the node has everything committed before, such as the tables of a run; a node that lost its cluster
/// refuses.
pub(super) async fn catch_up(
    opened: &mut OpenConnection,
    mode: Mode,
    place: &str,
) -> Result<(), UserError> {
    if !opened.replicates {
        return Ok(());
    }
    let once = (mode == Mode::LoadData).then_some(TRIES_ONCE);
    for sql in CATCH_UP.into_iter().chain(once) {
        rows_of(&mut opened.connection, place, sql).await?;
    }
    Ok(())
}

/// Makes every later statement of the session wait this way.
pub(super) async fn see_all(opened: &mut OpenConnection, place: &str) -> Result<(), UserError> {
    if opened.replicates {
        rows_of(&mut opened.connection, place, SEES_ALL).await?;
        rows_of(&mut opened.connection, place, "SELECT 1").await?;
    }
    Ok(())
}

/// The nodes of a URL, except the one queried before and after the load.
pub(super) struct Peers {
    /// The address of that node.
    main: String,
    nodes: Vec<Peer>,
}

/// A node, connected on first use.
struct Peer {
    node: Node,
    connection: Option<SqlConnection<Connection>>,
    timeline: Rc<dyn Timeline>,
}

impl Peers {
    /// The nodes other than `main`.
    pub(super) fn beside(main: &Node, nodes: &[Node], timeline: &Rc<dyn Timeline>) -> Self {
        let nodes = nodes.iter().filter(|node| node.shown != main.shown).map(|node| Peer {
            node: node.clone(),
            connection: None,
            timeline: Rc::clone(timeline),
        });
        Self { main: main.address.to_string(), nodes: nodes.collect() }
    }

    /// Whether no statement of this program's sessions is running on any of them.
    ///
    /// A node that lost its cluster commits nothing. A node that does not respond is skipped once the cluster has lost
    /// it; until then, something may be running there.
    pub(super) async fn are_idle(
        &mut self,
        main: &mut SqlConnection<Connection>,
    ) -> Result<bool, UserError> {
        let hosts = self.nodes.len() + 1;
        let answers = self.nodes.iter_mut().map(Peer::is_idle);
        let mut away = 0;
        for idle in join_all(answers).await {
            match idle {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) if error.kind == UserErrorKind::Unreachable => away += 1,
                Err(error) => return Err(error),
            }
        }
        if away == 0 {
            return Ok(true);
        }
        let states = states(main.rows(STATES).await?);
        let size = states.get("wsrep_cluster_size");
        let size: usize = size.and_then(|size| size.parse().ok()).unwrap_or(hosts);
        Ok(size + away <= hosts)
    }

    /// The rows of each table on `main` and on each of them that belongs to the cluster; `None` if none does.
    pub(super) async fn copies(
        &mut self,
        main: &mut SqlConnection<Connection>,
        workload: &BoundWorkload,
        with_values: bool,
    ) -> Result<Vec<ShardCopies>, UserError> {
        let mut connections = vec![main];
        let mut away = 0;
        for peer in &mut self.nodes {
            match peer.member().await {
                Ok(connection) => connections.extend(connection),
                Err(error) if error.kind == UserErrorKind::Unreachable => away += 1,
                Err(error) => return Err(error),
            }
        }
        if connections.len() == 1 && away == 0 {
            return Ok(Vec::new());
        }
        let mut found = Vec::with_capacity(workload.tables.len());
        for table in &workload.tables {
            let answers =
                connections.iter_mut().map(|connection| copy(connection, table, with_values));
            let mut copies =
                ShardCopies { shard: table.name.clone(), missing: away, ..ShardCopies::default() };
            for counted in join_all(answers).await {
                let (rows, sum) = counted?;
                copies.rows.push(rows);
                copies.sums.extend(sum);
            }
            found.push(copies);
        }
        Ok(found)
    }

    /// Size and state of the cluster and the state of each node, as settings of a record.
    pub(super) async fn facts(
        &mut self,
        main: &mut SqlConnection<Connection>,
    ) -> Result<BTreeMap<String, String>, UserError> {
        let mut own = states(main.rows(STATES).await?);
        let state = |of: &BTreeMap<String, String>| of.get(STATE).cloned();
        let mut nodes = vec![(self.main.clone(), state(&own))];
        for peer in &mut self.nodes {
            let place = peer.node.address.to_string();
            let states = peer.states().await;
            nodes.push((place, states.ok().and_then(|states| state(&states))));
        }
        let nodes = nodes.into_iter().map(|(place, state)| {
            let state = state.unwrap_or_else(|| AWAY.to_owned());
            format!("{place} {}", one_line(&state))
        });
        let nodes: Vec<String> = nodes.collect();
        own.retain(|name, _| RECORDED_STATES.contains(&name.as_str()));
        own.insert("wsrep_nodes".to_owned(), nodes.join(", "));
        let options = main.rows("SELECT @@wsrep_provider_options").await?;
        own.extend(recorded_options(&first_value(options).unwrap_or_default()));
        Ok(own)
    }
}

impl Peer {
    /// The node's status, over the existing connection or a new one.
    async fn states(&mut self) -> Result<BTreeMap<String, String>, UserError> {
        if let Some(connection) = &mut self.connection
            && let Ok(rows) = connection.rows(STATES).await
        {
            return Ok(states(rows));
        }
        self.connection = None;
        let (node, timeline) = (&self.node, &self.timeline);
        let bound = node.login.connect_timeout;
        let mut opened = connect::open(node, timeline).await?;
        let setting = rows_of(&mut opened.connection, &node.shown, SEES_ALL);
        let limit = time_limit::of_response(bound);
        time_limit::within(timeline, limit, &node.shown, setting).await?;
        let place = node.shown.clone();
        let connection = SqlConnection::new(opened.connection, place, bound, Rc::clone(timeline));
        let rows = self.connection.insert(connection).rows(STATES).await?;
        Ok(states(rows))
    }

    /// A connection to the node, if it belongs to the cluster.
    async fn member(&mut self) -> Result<Option<&mut SqlConnection<Connection>>, UserError> {
        let states = self.states().await?;
        let is_ready = states.get("wsrep_ready").is_some_and(|ready| ready == "ON");
        Ok(self.connection.as_mut().filter(|_| is_ready))
    }

    /// Whether it runs no statement of this program's sessions, including lingering ones.
    async fn is_idle(&mut self) -> Result<bool, UserError> {
        let left = Arc::clone(&self.node.lingering);
        let lingering = left.list();
        let Some(connection) = self.member().await? else {
            return Ok(true);
        };
        let running = MYSQL.count_running("", &lingering);
        let is_idle = number(&connection.rows(&running).await?, 0) == 0;
        if is_idle {
            left.forget(&lingering);
        }
        Ok(is_idle)
    }
}

/// Rows of a table on a node, and one checksum of all their values if requested.
async fn copy(
    connection: &mut SqlConnection<Connection>,
    table: &BoundTable,
    with_values: bool,
) -> Result<(u64, Option<u64>), UserError> {
    let dialect = &MYSQL;
    let whole = if with_values {
        let sql = audit::sums(dialect, table, WHOLE);
        let rows = connection.long_rows(&sql).await?;
        audit::summed(table, WHOLE, &rows).map(|found| {
            let rows = found.buckets.iter().map(|bucket| bucket.rows);
            let sum = found
                .buckets
                .iter()
                .flat_map(|bucket| &bucket.sums)
                .fold(0u64, |sum, more| sum.wrapping_mul(COLUMN_WEIGHT).wrapping_add(*more));
            (rows.sum::<u64>() + found.without_key, Some(sum))
        })
    } else {
        let rows = connection.long_rows(&audit::counts(dialect, table, WHOLE)).await?;
        audit::counted(&rows).map(|found| {
            let rows = found.buckets.iter().map(|(_, rows)| rows);
            (rows.sum::<u64>() + found.without_key, None)
        })
    };
    whole.ok_or_else(|| audit::not_integers(connection.place()))
}

/// Parses the response to `SHOW STATUS`.
fn states(rows: Texts) -> BTreeMap<String, String> {
    pairs(rows).map(|(name, value)| (name.to_lowercase(), value)).collect()
}

/// The recorded ones of `wsrep_provider_options`.
fn recorded_options(text: &str) -> BTreeMap<String, String> {
    let options = text
        .split(';')
        .filter_map(|option| option.split_once('='))
        .map(|(name, value)| (name.trim(), one_line(value.trim())));
    options
        .filter(|(name, _)| RECORDED_OPTIONS.contains(name))
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_library_are_recorded_except_files_and_secrets() {
        let text = "base_host = 10.0.0.1; gcs.fc_limit = 16; socket.ssl_key = /etc/k.pem; \
                    evs.suspect_timeout = PT5S; socket.ssl_password_file = ; odd";
        let found = recorded_options(text);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(found, [("evs.suspect_timeout", "PT5S"), ("gcs.fc_limit", "16")]);
    }
}
