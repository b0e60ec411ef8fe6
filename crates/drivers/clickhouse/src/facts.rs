//! Reads the facts of the server: version, and the settings needed to repeat a run.
//!
//! Must not record settings that may contain a secret, or an unbounded number of them.
//!
//! Polls the telemetry of each server in one statement: counters and levels of `system.events` and `system.metrics`,
//! parts and merges. Missing ones of a version are absent.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use highwater_driver::contract::{Response, TargetFacts};
use highwater_driver::network::one_line;
use highwater_driver::sql::connection::{SqlConnection, first_value, pairs, rows_of};
use highwater_driver::sql::facts::{add_common, caches, readable};
use highwater_driver::telemetry::{
    Figure, Measure, MetricSample, TelemetryReader, count, level, names, samples,
};
use highwater_model::record::MemoryRecord;
use highwater_model::user_error::UserError;

use super::plan::Mode;
use super::spools::{OFF, SETTING};
use super::wire::Wire;
use crate::dialect::CLICKHOUSE;

/// Settings that are always recorded, of users and of tables: blocks, insert delays, memory, threads. A version omits
/// those that it does not have.
const RECORDED: &str = "'async_insert', 'background_pool_size', 'fsync_after_insert', \
    'fsync_part_directory', 'insert_deduplicate', 'insert_quorum', \
    'max_bytes_to_merge_at_max_space_in_pool', 'max_execution_time', 'max_insert_block_size', \
    'max_memory_usage', 'max_parts_in_total', 'max_threads', 'min_bytes_for_wide_part', \
    'min_insert_block_size_bytes', 'min_insert_block_size_rows', \
    'non_replicated_deduplication_window', 'parts_to_delay_insert', 'parts_to_throw_insert', \
    'readonly', 'use_uncompressed_cache'";

/// Settings that determine the durability of an acknowledged insert.
const DURABILITY: [&str; 3] = ["fsync_after_insert", "fsync_part_directory", SETTING];

/// The setting of its cache of uncompressed data.
const CACHE: &str = "uncompressed_cache_size";

/// The machine's memory outside the server.
const MACHINE: &str = "SELECT toString(toUInt64(sum(if(metric = 'OSMemoryTotal', value, -value)))) \
     FROM system.asynchronous_metrics WHERE metric IN ('OSMemoryTotal', 'MemoryResident') \
     HAVING countIf(metric = 'OSMemoryTotal') = 1";

/// See [`highwater_driver::contract::ServerAdmin::facts`]; `is_spooled` if acknowledged rows may wait to be forwarded.
pub(super) async fn read_facts(
    connection: &mut SqlConnection<Wire>,
    mode: Mode,
    is_spooled: bool,
) -> Result<TargetFacts, UserError> {
    let version = first_value(connection.rows("SELECT version()").await?).unwrap_or_default();
    let sql = format!(
        "SELECT name, value FROM system.settings WHERE name IN ({RECORDED}) UNION ALL \
         SELECT name, value FROM system.merge_tree_settings WHERE name IN ({RECORDED})"
    );
    let settings = pairs(readable(connection.rows(&sql).await)?);
    let mut settings: BTreeMap<String, String> =
        settings.map(|(name, value)| (name, one_line(&value))).collect();
    if is_spooled {
        settings.insert(SETTING.to_owned(), OFF.to_owned());
    }
    let memory = memory(connection, &settings).await;
    let relaxed = relaxed(&settings);
    let encrypted = connection.is_encrypted();
    let traits = add_common(&mut settings, mode.name(), encrypted, &DURABILITY, relaxed);
    Ok(TargetFacts {
        version: format!("ClickHouse {}", one_line(&version)),
        dialects: CLICKHOUSE.names(),
        settings,
        memory,
        traits,
        tables: CLICKHOUSE.table_features,
        transactions: false,
        atomic_batches: mode.is_atomic(),
        ..TargetFacts::default()
    })
}

/// Its cache of uncompressed data, if queries use it, and the page cache, through which it reads everything else. Old
/// versions report neither.
async fn memory(
    connection: &mut SqlConnection<Wire>,
    settings: &BTreeMap<String, String>,
) -> MemoryRecord {
    let is_used = settings.get("use_uncompressed_cache").is_some_and(|used| used == "1");
    let mut memory = MemoryRecord::default();
    if is_used {
        let sql = format!("SELECT name, value FROM system.server_settings WHERE name = '{CACHE}'");
        let rows = connection.rows(&sql).await.unwrap_or_default();
        memory = caches(&pairs(rows).collect(), &[CACHE]);
    }
    let machine = connection.rows(MACHINE).await.unwrap_or_default();
    memory.page_cache = first_value(machine).and_then(|bytes| bytes.parse().ok());
    memory
}

/// Settings that make an acknowledged insert less durable than is usual in databases.
fn relaxed(settings: &BTreeMap<String, String>) -> Vec<String> {
    let mut relaxed = match settings.get("fsync_after_insert").map(String::as_str) {
        Some("1" | "true") => Vec::new(),
        Some(value) => vec![format!("fsync_after_insert={value}")],
        // Old versions have no such setting.
        None => vec!["fsync_after_insert=none".to_owned()],
    };
    if let Some(value) = settings.get(SETTING) {
        relaxed.push(format!(
            "{SETTING}={value} (acknowledged rows may still be in a spool of the server that took them)"
        ));
    }
    relaxed
}

/// All figures; those in lower case are computed by the statement.
const FIGURES: &[Figure] = &[
    level("Query", names::ACTIVE),
    level("HTTPConnection", "connections"),
    level("MemoryTracking", "memory_of_server").in_unit("bytes"),
    level("Merge", "merges_active"),
    level("DelayedInserts", names::DELAYED_INSERTS),
    count("InsertedRows", "rows_inserted").in_unit("rows"),
    count("InsertedBytes", "bytes_inserted").in_unit("bytes"),
    count("InsertQuery", "inserts"),
    count("SelectQuery", "selects"),
    count("FailedQuery", "queries_failed"),
    count("RejectedInserts", "inserts_rejected"),
    count("MergedRows", "rows_merged").in_unit("rows"),
    count("WriteBufferFromFileDescriptorWriteBytes", "written_by_server").in_unit("bytes"),
    count("ReadBufferFromFileDescriptorReadBytes", "read_by_server").in_unit("bytes"),
    level("uptime", names::UPTIME).in_unit("s"),
    level("parts", "parts_active"),
    level("parts_most", names::PARTS_OF_PARTITION),
];

/// Uptime; the number of parts in all tables of the database, and in the partition with most.
const PARTS: &str = "SELECT 'uptime', toInt64(uptime()) UNION ALL SELECT 'parts', toInt64(sum(n)) FROM \
    (SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase() \
     GROUP BY table, partition) UNION ALL \
    SELECT 'parts_most', toInt64(max(n)) FROM \
    (SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase() \
     GROUP BY table, partition)";

/// Polls one server, or those of a cluster. An error of one ends the reader: the next one determines which servers are
/// available.
pub(super) struct HttpReader {
    wires: Vec<Wire>,
    is_cluster: bool,
    sql: String,
}

impl HttpReader {
    /// For one server, or for several named ones.
    pub(super) fn new(wires: Vec<Wire>, is_cluster: bool) -> Self {
        // Some names are used for both an event and a metric.
        let sql = format!(
            "SELECT event AS name, toInt64(value) FROM system.events WHERE event IN ({}) \
             UNION ALL SELECT metric AS name, toInt64(value) FROM system.metrics \
             WHERE metric IN ({}) UNION ALL {PARTS}",
            names_of(Measure::Count),
            names_of(Measure::Level)
        );
        Self { wires, is_cluster, sql }
    }
}

/// The server's names of all counters, or of all levels, as a list.
fn names_of(measure: Measure) -> String {
    let names: Vec<String> = FIGURES
        .iter()
        .filter(|figure| figure.measure == measure)
        .map(|figure| format!("'{}'", figure.source))
        .collect();
    names.join(", ")
}

impl TelemetryReader for HttpReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(async move {
            let reading = self.wires.iter_mut().map(|wire| read_samples(wire, &self.sql));
            let mut found = Vec::new();
            for (read, place) in join_all(reading).await.into_iter().zip(0..) {
                let samples = read?;
                let node = self.wires.get(place).filter(|_| self.is_cluster);
                let node = node.map(|wire| wire.node().address());
                found.extend(samples.into_iter().map(|sample| match &node {
                    Some(node) => sample.on_node(node.clone()),
                    None => sample,
                }));
            }
            Ok(found)
        })
    }
}

async fn read_samples(wire: &mut Wire, sql: &str) -> Result<Vec<MetricSample>, UserError> {
    let place = wire.node().shown.clone();
    let values = pairs(rows_of(wire, &place, sql).await?);
    let values: BTreeMap<String, f64> =
        values.filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect();
    Ok(samples(FIGURES, |name| values.get(name).copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_durability_is_reported() {
        for (value, expected) in [
            (Some("1"), None),
            (Some("0"), Some("fsync_after_insert=0")),
            (None, Some("fsync_after_insert=none")),
        ] {
            let name = "fsync_after_insert".to_owned();
            let settings = value.map(|value| (name, value.to_owned()));
            let relaxed = relaxed(&settings.into_iter().collect());
            assert_eq!(relaxed.first().map(String::as_str), expected);
        }
    }

    #[test]
    fn acknowledged_rows_that_may_be_in_a_spool_are_also_reported() {
        let settings = [("fsync_after_insert", "0"), (SETTING, OFF)];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let relaxed = relaxed(&BTreeMap::from(settings));
        let [synced, spooled] = relaxed.as_slice() else {
            panic!("{relaxed:?}");
        };
        assert_eq!(synced, "fsync_after_insert=0");
        assert!(spooled.starts_with("insert_distributed_sync=0 ("), "{spooled}");
        assert!(spooled.contains("may still be in a spool"), "{spooled}");
    }

    #[test]
    fn what_the_server_has_is_told_without_the_question_itself() {
        let values = [("Query", 3.0), ("parts", 7.0), ("Other", 1.0)];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        let values = BTreeMap::from(values);
        let samples = samples(FIGURES, |name| values.get(name).copied());
        let found: Vec<_> = samples.iter().map(|s| (s.name.as_ref(), s.value)).collect();
        assert_eq!(found, [(names::ACTIVE, 2.0), ("parts_active", 7.0)]);
    }

    #[test]
    fn no_metric_has_two_sources() {
        let mut ours: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        ours.sort_unstable();
        assert!(ours.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
