//! Reads the facts of the server: version, and the settings needed to repeat a run.
//!
//! Must not record settings that may contain a secret, or an unbounded number of them.
//!
//! Polls the server's telemetry in one statement, `SHOW GLOBAL STATUS`: connections, locks, the log, the buffer pool;
//! and, for each node of a Galera cluster, its queues and its flow control. Values that a product or version lacks are
//! absent.

use std::collections::BTreeMap;

use highwater_driver::contract::{Response, TargetFacts};
use highwater_driver::network::one_line;
use highwater_driver::sql::connection::{SqlConnection, pairs, rows_of, values};
use highwater_driver::sql::facts::{add_common, caches, readable};
use highwater_driver::telemetry::{
    Figure, Measure, MetricSample, TelemetryReader, count, level, names, samples, units,
};
use highwater_model::user_error::UserError;

use super::connect::OpenConnection;
use super::dialect::MYSQL;
use super::encode::Mode;
use super::options::Node;
use super::wire::Connection;

/// Settings that are always recorded: durability, memory, limits, isolation. A product omits those that it does not
/// have.
const RECORDED: &str = "'binlog_format', 'character_set_server', 'collation_database', \
    'innodb_buffer_pool_size', 'innodb_doublewrite', 'innodb_flush_log_at_trx_commit', \
    'innodb_flush_method', 'innodb_io_capacity', 'innodb_lock_wait_timeout', \
    'innodb_log_file_size', 'innodb_redo_log_capacity', 'innodb_rollback_on_timeout', 'log_bin', \
    'max_allowed_packet', 'max_connections', 'max_statement_time', 'read_only', 'sync_binlog', \
    'thread_handling', 'tidb_txn_mode', 'transaction_isolation', 'tx_isolation', \
    'wsrep_certify_nonpk', 'wsrep_dirty_reads', 'wsrep_load_data_splitting', \
    'wsrep_max_ws_rows', 'wsrep_max_ws_size', 'wsrep_on', 'wsrep_osu_method', \
    'wsrep_retry_autocommit', 'wsrep_slave_threads', 'wsrep_sst_method', 'wsrep_sync_wait', \
    'wsrep_trx_fragment_size'";

/// Settings that determine the durability of an acknowledged commit.
const DURABILITY: [&str; 3] =
    ["innodb_flush_log_at_trx_commit", "innodb_doublewrite", "sync_binlog"];

/// Settings that size data caches, in bytes.
const CACHES: [&str; 1] = ["innodb_buffer_pool_size"];

/// See [`highwater_driver::contract::ServerAdmin::facts`].
pub(super) async fn read(
    connection: &mut SqlConnection<Connection>,
    product: Product,
    mode: Mode,
) -> Result<TargetFacts, UserError> {
    let rows = connection.rows("SELECT version(), @@version_comment, current_user()").await?;
    let [version, comment, account] = values(rows.into_iter().flatten());
    let sql = format!("SHOW GLOBAL VARIABLES WHERE variable_name IN ({RECORDED})");
    let settings = pairs(readable(connection.rows(&sql).await)?);
    let mut settings: BTreeMap<String, String> =
        settings.map(|(name, value)| (name.to_lowercase(), one_line(&value))).collect();
    let relaxed = relaxed(&settings);
    let memory = caches(&settings, &CACHES);
    let encrypted = connection.is_encrypted();
    let traits = add_common(&mut settings, mode.name(), encrypted, &DURABILITY, relaxed);
    // A server may map a user to another account, such as an anonymous one.
    settings.insert("account".to_owned(), one_line(&account));
    Ok(TargetFacts {
        version: one_line(&format!("{version} ({comment})")),
        dialects: product.dialects(),
        settings,
        memory,
        traits,
        tables: MYSQL.table_features,
        transactions: true,
        atomic_batches: mode.is_atomic(),
        ..TargetFacts::default()
    })
}

/// Settings that make an acknowledged commit less durable than usual.
fn relaxed(settings: &BTreeMap<String, String>) -> Vec<String> {
    let is = |name: &str, value: &str| settings.get(name).is_some_and(|found| found == value);
    let differs = |name: &str, usual: &str| {
        let value = settings.get(name).filter(|value| *value != usual)?;
        Some(format!("{name}={value}"))
    };
    let binlog = is("log_bin", "ON").then(|| differs("sync_binlog", "1"));
    let doublewrite = is("innodb_doublewrite", "OFF");
    [
        differs("innodb_flush_log_at_trx_commit", "1"),
        doublewrite.then(|| "innodb_doublewrite=OFF".to_owned()),
        binlog.flatten(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A product, with its differences from MySQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    MariaDb,
    MySql,
    TiDb,
    SingleStore,
}

impl Product {
    /// Determines it from the responses to `version()` and `@@version_comment`.
    pub(super) fn from_version(version: &str, comment: &str) -> Self {
        let says = |word: &str| [version, comment].iter().any(|text| text.contains(word));
        if says("TiDB") {
            Self::TiDb
        } else if says("MariaDB") {
            Self::MariaDb
        } else if says("MemSQL") || says("SingleStore") {
            Self::SingleStore
        } else {
            Self::MySql
        }
    }

    /// Names of its SQL dialects, best first.
    fn dialects(self) -> Vec<String> {
        let own = match self {
            Self::MariaDb => Some("mariadb"),
            Self::MySql => None,
            Self::TiDb => Some("tidb"),
            Self::SingleStore => Some("singlestore"),
        };
        let names = own.into_iter().chain(["mysql"]);
        names.map(str::to_owned).collect()
    }

    /// Whether `lock_wait_timeout` limits how long a statement waits for a table lock; unless it is set, the limit is a
    /// day.
    pub(super) fn has_table_lock_timeout(self) -> bool {
        self != Self::SingleStore
    }

    /// Whether it may belong to a Galera cluster.
    pub(super) fn may_replicate(self) -> bool {
        matches!(self, Self::MariaDb | Self::MySql)
    }

    /// Whether every statement can be prepared.
    pub(super) fn prepares_inserts(self) -> bool {
        self != Self::SingleStore
    }
}

/// All figures.
const FIGURES: &[Figure] = &[
    level("Threads_running", names::ACTIVE),
    level("Uptime", names::UPTIME).in_unit("s"),
    level("Threads_connected", "connections"),
    count("Aborted_clients", "connections_aborted"),
    count("Connection_errors_max_connections", "connections_refused"),
    count("Com_commit", "transactions_committed"),
    count("Com_rollback", "transactions_failed"),
    count("Innodb_rows_inserted", "rows_inserted").in_unit("rows"),
    level("Innodb_row_lock_current_waits", names::LOCK_WAITS),
    level("Innodb_row_lock_current_waits", names::LOCK_WAITS_ROW),
    count("Innodb_row_lock_waits", "row_lock_waits"),
    count("Innodb_deadlocks", "deadlocks"),
    count("Innodb_os_log_written", names::LOG_WRITTEN).in_unit("bytes"),
    count("Innodb_log_waits", "log_buffer_waits"),
    level("Innodb_checkpoint_age", "checkpoint_age").in_unit("bytes"),
    level("Innodb_buffer_pool_pages_dirty", "pages_dirty"),
    count("Innodb_buffer_pool_wait_free", "buffer_pool_waits"),
    count("Innodb_buffer_pool_reads", "blocks_read"),
    count("Innodb_buffer_pool_read_requests", "blocks_requested"),
    count("Innodb_data_written", "written_by_server").in_unit("bytes"),
    count("Innodb_data_fsyncs", "fsyncs"),
    level("Innodb_history_list_length", "history_length"),
    count("Max_statement_time_exceeded", "statements_out_of_time"),
    level("Memory_used", "memory_of_server").in_unit("bytes"),
];

/// The figures of each node of a Galera cluster. The server's own averages and fractions count from its last FLUSH
/// STATUS, so their inputs are polled instead.
const NODE_FIGURES: &[Figure] = &[
    level("wsrep_cluster_size", names::CLUSTER_SIZE),
    // In nanoseconds; see `node_samples`.
    Figure {
        measure: Measure::Seconds,
        ..level(PAUSED, "flow_control_paused").in_unit(units::SHARE)
    },
    count("wsrep_flow_control_sent", "flow_control_sent"),
    level("wsrep_local_recv_queue", "receive_queue"),
    level("wsrep_local_send_queue", "send_queue"),
    level("wsrep_cert_deps_distance", "certification_distance"),
    count("wsrep_local_cert_failures", "certification_failures"),
    count("wsrep_local_bf_aborts", "aborted_by_other_nodes"),
    count("wsrep_received_bytes", "received_from_nodes").in_unit("bytes"),
];
/// Time for which the node did not replicate, since it or another one requested a pause.
const PAUSED: &str = "wsrep_flow_control_paused_ns";
/// Units of [`PAUSED`] per second.
const SECOND: f64 = 1e9;

/// Polls a server and, if it belongs to a cluster, those nodes of the target that responded at first. An error of one
/// ends the reader: the next one determines which nodes are available.
pub(super) struct WireReader {
    nodes: Vec<(Connection, Node)>,
    is_cluster: bool,
    sql: String,
}

impl WireReader {
    /// For the server at `node`.
    pub(super) fn new(opened: OpenConnection, node: &Node) -> Self {
        let figures = FIGURES.iter().chain(NODE_FIGURES);
        let names: Vec<String> = figures.map(|figure| format!("'{}'", figure.source)).collect();
        Self {
            nodes: vec![(opened.connection, node.clone())],
            is_cluster: opened.replicates,
            sql: format!("SHOW GLOBAL STATUS WHERE variable_name IN ({})", names.join(", ")),
        }
    }

    /// Adds another node to poll.
    pub(super) fn add(&mut self, opened: OpenConnection, node: &Node) {
        self.nodes.push((opened.connection, node.clone()));
    }
}

impl TelemetryReader for WireReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(async move {
            let mut found = Vec::new();
            for (number, (connection, node)) in self.nodes.iter_mut().enumerate() {
                let values = pairs(rows_of(connection, &node.shown, &self.sql).await?);
                let values: BTreeMap<String, f64> = values
                    .filter_map(|(name, value)| Some((name.to_lowercase(), value.parse().ok()?)))
                    .collect();
                if number == 0 {
                    found
                        .extend(samples(FIGURES, |name| values.get(&name.to_lowercase()).copied()));
                }
                if self.is_cluster {
                    found.extend(node_samples(&values, &node.address.to_string()));
                }
            }
            Ok(found)
        })
    }
}

/// The samples of a node of a cluster.
fn node_samples(values: &BTreeMap<String, f64>, node: &str) -> Vec<MetricSample> {
    let found = NODE_FIGURES.iter().filter_map(|figure| {
        let value = *values.get(figure.source)?;
        let scale = if figure.source == PAUSED { SECOND } else { 1.0 };
        Some(figure.sample(value / scale).on_node(node))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_durability_is_reported() {
        let of = |settings: &[(&str, &str)]| {
            let settings =
                settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            relaxed(&settings.collect())
        };
        let flush = "innodb_flush_log_at_trx_commit";
        let usual = of(&[(flush, "1"), ("sync_binlog", "0"), ("log_bin", "OFF")]);
        assert!(usual.is_empty());
        let fast = of(&[(flush, "2"), ("sync_binlog", "0"), ("log_bin", "ON")]);
        assert_eq!(fast, ["innodb_flush_log_at_trx_commit=2", "sync_binlog=0"]);
    }

    #[test]
    fn a_server_is_recognized_by_its_version_or_its_comment() {
        for (version, comment, product, best) in [
            ("10.11.19-MariaDB-0+deb12u1", "Debian 12", Product::MariaDb, "mariadb"),
            ("8.0.36", "MySQL Community Server - GPL", Product::MySql, "mysql"),
            ("8.0.11-TiDB-v8.3.0", "TiDB Server (Apache License 2.0)", Product::TiDb, "tidb"),
            (
                "5.7.32",
                "SingleStoreDB source distribution (compatible; MySQL Enterprise)",
                Product::SingleStore,
                "singlestore",
            ),
            ("5.5.8", "MemSQL source distribution", Product::SingleStore, "singlestore"),
        ] {
            let found = Product::from_version(version, comment);
            assert_eq!(found, product, "{version}");
            assert_eq!(found.dialects()[0], best);
            assert_eq!(found.dialects().last().unwrap(), "mysql");
        }
    }

    #[test]
    fn what_the_server_has_is_told_without_the_question_itself() {
        let values = [("threads_running", 3.0), ("innodb_deadlocks", 2.0), ("other", 1.0)];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        let values = BTreeMap::from(values);
        let samples = samples(FIGURES, |name| values.get(&name.to_lowercase()).copied());
        let found: Vec<_> = samples.iter().map(|s| (s.name.as_ref(), s.value)).collect();
        assert_eq!(found, [(names::ACTIVE, 2.0), ("deadlocks", 2.0)]);
    }

    #[test]
    fn a_pause_of_a_node_is_in_seconds() {
        let values = [(PAUSED, 2.5e9), ("wsrep_local_recv_queue", 7.0)];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        let samples = node_samples(&values.into(), "h1:3306");
        let found: Vec<_> = samples.iter().map(|s| (s.name.as_ref(), s.value)).collect();
        assert_eq!(found, [("flow_control_paused", 2.5), ("receive_queue", 7.0)]);
        assert!(samples.iter().all(|s| s.node.as_deref() == Some("h1:3306")));
    }

    #[test]
    fn no_metric_has_two_sources() {
        let all = FIGURES.iter().chain(NODE_FIGURES);
        let mut ours: Vec<&str> = all.map(|figure| figure.name).collect();
        ours.sort_unstable();
        assert!(ours.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
