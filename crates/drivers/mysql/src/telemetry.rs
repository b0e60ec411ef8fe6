//! Polls the server's telemetry in one statement, `SHOW GLOBAL STATUS`: connections, locks, the log, the buffer pool;
//! and, for each node of a Galera cluster, its queues and its flow control. Values that a product or version lacks are
//! absent. Must not compute rates.

use std::collections::BTreeMap;

use highwater_driver::contract::Response;
use highwater_driver::sql::connection::rows_of;
use highwater_driver::sql_query::pairs;
use highwater_driver::telemetry::{
    Figure, Measure, MetricSample, TelemetryReader, count, level, names, samples, units,
};

use super::connect::Opened;
use super::options::Node;
use super::wire::Connection;

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
    pub(super) fn new(opened: Opened, node: &Node) -> Self {
        let figures = FIGURES.iter().chain(NODE_FIGURES);
        let names: Vec<String> = figures.map(|figure| format!("'{}'", figure.source)).collect();
        Self {
            nodes: vec![(opened.connection, node.clone())],
            is_cluster: opened.replicates,
            sql: format!("SHOW GLOBAL STATUS WHERE variable_name IN ({})", names.join(", ")),
        }
    }

    /// Adds another node to poll.
    pub(super) fn add(&mut self, opened: Opened, node: &Node) {
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
        Some(figure.sample(value / scale).of(node))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
