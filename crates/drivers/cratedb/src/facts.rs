//! Reads the facts of the cluster: version, nodes, and the settings needed to repeat a run; polls its telemetry.
//!
//! Must not change a setting.

use std::collections::BTreeMap;

use highwater_driver::contract::{Response, TableFeatures, TargetFacts};
use highwater_driver::http::HttpConnection;
use highwater_driver::network::one_line;
use highwater_driver::sql::connection::{Texts, first_value, values};
use highwater_driver::sql::cratedb::{TELEMETRY, metric_samples};
use highwater_driver::sql::facts::{add_connection, readable};
use highwater_driver::telemetry::{MetricSample, TelemetryReader};
use highwater_model::record::MemoryRecord;
use highwater_model::user_error::UserError;
use serde_json::Value;

use super::options::Node;
use super::query::AdminConnection;
use super::stability::Pool;
use super::{query, stability};

/// Prefixes of cluster settings that affect a load.
const RECORDED: &[&str] = &[
    "bulk.",
    "cluster.routing.rebalance.",
    "indices.breaker.",
    "overload_protection.",
    "stats.enabled",
    "statement_timeout",
];
/// Cluster settings with their defaults in 6.4; changed ones are listed by name. Limits relative to the heap are
/// omitted: they differ between machines.
const DEFAULTS: &[(&str, &str)] = &[
    ("bulk.request_timeout", "1m"),
    ("cluster.max_shards_per_node", "1000"),
    ("cluster.routing.allocation.allow_rebalance", "indices_all_active"),
    ("cluster.routing.allocation.cluster_concurrent_rebalance", "2"),
    ("cluster.routing.allocation.disk.threshold_enabled", "true"),
    ("cluster.routing.allocation.disk.watermark.flood_stage", "95%"),
    ("cluster.routing.allocation.disk.watermark.high", "90%"),
    ("cluster.routing.allocation.disk.watermark.low", "85%"),
    ("cluster.routing.allocation.enable", "all"),
    ("cluster.routing.allocation.node_concurrent_recoveries", "2"),
    ("cluster.routing.allocation.total_shards_per_node", "-1"),
    ("cluster.routing.rebalance.enable", "all"),
    ("indices.recovery.max_bytes_per_sec", "40mb"),
    ("indices.replication.retry_timeout", "60s"),
    ("memory.allocation.type", "on-heap"),
    ("memory.operation_limit", "0"),
    ("overload_protection.dml.initial_concurrency", "5"),
    ("overload_protection.dml.max_concurrency", "100"),
    ("overload_protection.dml.min_concurrency", "1"),
    ("overload_protection.dml.queue_size", "25"),
    ("stats.enabled", "true"),
    ("stats.jobs_log_size", "10000"),
    ("stats.operations_log_size", "10000"),
    ("statement_timeout", "0ms"),
];

/// See [`highwater_driver::contract::ServerAdmin::facts`].
pub(super) async fn read(connection: &mut AdminConnection) -> Result<TargetFacts, UserError> {
    let version = connection.rows("SELECT version()").await?;
    let version = one_line(&first_value(version).unwrap_or_default());
    let cluster = readable(connection.rows("SELECT settings FROM sys.cluster").await)?;
    let mut settings = BTreeMap::new();
    let all = first_value(cluster).and_then(|text| serde_json::from_str(&text).ok());
    if let Some(all) = all {
        flatten("", &all, &mut settings);
    }
    let changed = changed(&settings);
    settings.retain(|name: &String, _| RECORDED.iter().any(|prefix| name.starts_with(prefix)));
    let nodes = connection
        .rows(
            "SELECT count(*), min(heap['max']), min(os_info['available_processors']), \
             min(version['number']), max(version['number']) FROM sys.nodes",
        )
        .await;
    let nodes = readable(nodes)?;
    let nodes: [String; 5] = values(nodes.into_iter().flatten());
    let [count, heap, processors, oldest, newest] = nodes.map(|text| one_line(&text));
    settings.insert("nodes".to_owned(), count.clone());
    settings.insert("heap_bytes".to_owned(), heap);
    settings.insert("processors".to_owned(), processors);
    if oldest != newest {
        settings.insert("versions".to_owned(), format!("{oldest} to {newest}"));
    }
    settings.insert("changed".to_owned(), changed);
    let machines = connection.rows(MACHINES).await.unwrap_or_default();
    if let Some(pool) = stability::read_pools(connection).await? {
        let Pool { threads, queued, rejected } = pool;
        let write_pool =
            format!("{threads} threads, {queued} queued, {rejected} rejected since start");
        settings.insert("write_pool".to_owned(), write_pool);
    }
    let insert = connection.insert;
    add_connection(&mut settings, insert, connection.http.is_encrypted());
    // The translog is synchronized before each response, unless a table sets otherwise.
    let durability = "translog.durability=REQUEST unless set for the table";
    settings.insert("durability".to_owned(), durability.to_owned());
    let noun = if count == "1" { "node" } else { "nodes" };
    Ok(TargetFacts {
        version,
        memory: memory(&machines),
        dialects: vec!["cratedb".to_owned(), "postgresql".to_owned()],
        settings,
        traits: vec![format!("{count} {noun}"), format!("insert={insert}")],
        tables: TableFeatures { shards: true, settings: true },
        transactions: false,
        atomic_batches: false,
        ..TargetFacts::default()
    })
}

/// The memory of each machine, and the heaps of its nodes, which are not page cache.
const MACHINES: &str = "SELECT max(mem['free'] + mem['used']), sum(heap['max']) \
     FROM sys.nodes GROUP BY hostname";

/// Tables are read through the page caches of the machines.
fn memory(machines: &Texts) -> MemoryRecord {
    let number = |text: &Option<String>| text.as_deref()?.parse::<u64>().ok();
    let of_machine = |row: &Vec<Option<String>>| match row.as_slice() {
        [memory, heaps] => number(memory)?.checked_sub(number(heaps)?),
        _ => None,
    };
    let all: Option<u64> = machines.iter().map(of_machine).sum();
    MemoryRecord { page_cache: all.filter(|bytes| *bytes > 0), ..MemoryRecord::default() }
}

/// Settings that are not at their default, with their values.
fn changed(settings: &BTreeMap<String, String>) -> String {
    let changed = DEFAULTS.iter().filter_map(|(name, default)| {
        let value = settings.get(*name).filter(|value| value != default)?;
        Some(format!("{name}={value}"))
    });
    let changed: Vec<String> = changed.collect();
    if changed.is_empty() {
        return "none of those that are compared".to_owned();
    }
    changed.join(", ")
}

/// Dotted names of an object's leaves, as used by SET.
fn flatten(prefix: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    let Value::Object(members) = value else {
        let shown = match value {
            Value::String(text) => one_line(text),
            other => one_line(&other.to_string()),
        };
        out.insert(prefix.to_owned(), shown);
        return;
    };
    for (name, member) in members {
        let dot = if prefix.is_empty() { "" } else { "." };
        flatten(&format!("{prefix}{dot}{name}"), member, out);
    }
}

/// Polls over HTTP.
pub(super) struct HttpReader {
    pub(super) connection: HttpConnection,
    pub(super) node: Node,
}

impl TelemetryReader for HttpReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(async move {
            let mut responses = Vec::new();
            for sql in TELEMETRY {
                let rows = query::rows(&mut self.connection, &self.node, sql).await;
                let place = &self.node.shown;
                responses.push(rows.map_err(|failure| failure.into_target_error(place))?);
            }
            Ok(metric_samples(&responses))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_is_not_at_its_default_is_listed() {
        let value = serde_json::json!({
            "bulk": {"request_timeout": "1m"},
            "overload_protection": {"dml": {"queue_size": 100}},
            "unknown": 1,
        });
        let mut settings = BTreeMap::new();
        flatten("", &value, &mut settings);
        assert_eq!(changed(&settings), "overload_protection.dml.queue_size=100");
        settings.remove("overload_protection.dml.queue_size");
        assert_eq!(changed(&settings), "none of those that are compared");
    }

    #[test]
    fn the_page_caches_of_all_machines_are_their_memory_without_the_heaps() {
        let row = |memory: &str, heaps: &str| vec![Some(memory.to_owned()), Some(heaps.to_owned())];
        let two = vec![row("16000000000", "4000000000"), row("8000000000", "2000000000")];
        assert_eq!(memory(&two).page_cache, Some(18_000_000_000));
        for unknown in [vec![], vec![row("-1", "4000000000")], vec![row("1", "2")]] {
            assert_eq!(memory(&unknown).page_cache, None, "{unknown:?}");
        }
    }

    #[test]
    fn settings_have_dotted_names() {
        let value =
            serde_json::json!({"bulk": {"request_timeout": "1m"}, "stats": {"enabled": true}});
        let mut out = BTreeMap::new();
        flatten("", &value, &mut out);
        let expected = [("bulk.request_timeout", "1m"), ("stats.enabled", "true")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(out, BTreeMap::from(expected));
    }
}
