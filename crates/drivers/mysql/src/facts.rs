//! Reads the facts of the server: version, and the settings needed to repeat a run.
//!
//! Must not record settings that may contain a secret, or an unbounded number of them.

use std::collections::BTreeMap;

use highwater_driver::contract::TargetFacts;
use highwater_driver::network::one_line;
use highwater_driver::sql::connection::SqlConnection;
use highwater_driver::sql::facts::{add_common, caches, readable};
use highwater_driver::sql_query::{pairs, values};
use highwater_model::user_error::UserError;

use super::dialect::MYSQL;
use super::encode::Mode;
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
    pub(super) fn of(version: &str, comment: &str) -> Self {
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
    pub(super) fn dialects(self) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_durability_is_said() {
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
            let found = Product::of(version, comment);
            assert_eq!(found, product, "{version}");
            assert_eq!(found.dialects()[0], best);
            assert_eq!(found.dialects().last().unwrap(), "mysql");
        }
    }
}
