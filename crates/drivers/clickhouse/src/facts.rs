//! Reads the facts of the server: version, and the settings needed to repeat a run.
//!
//! Must not record settings that may contain a secret, or an unbounded number of them.

use std::collections::BTreeMap;

use highwater_driver::contract::TargetFacts;
use highwater_driver::network::one_line;
use highwater_driver::sql::connection::SqlConnection;
use highwater_driver::sql::facts::{add_common, caches, readable};
use highwater_driver::sql_query::{first_value, pairs};
use highwater_model::record::MemoryRecord;
use highwater_model::user_error::UserError;

use super::insert_mode::Mode;
use super::spooling::{OFF, SETTING};
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
pub(super) async fn read(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_durability_is_said() {
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
    fn acknowledged_rows_that_may_be_in_a_spool_are_said_besides() {
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
}
