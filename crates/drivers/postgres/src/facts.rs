//! Reads the facts of the server: version, and the settings needed to repeat a run.
//!
//! Must not record settings that may contain a secret, or an unbounded number of them.

use std::collections::BTreeMap;

use super::wire::Connection;
use highwater_driver::contract::{TargetError, TargetFacts};
use highwater_driver::network::one_line;
use highwater_driver::sql::connection::SqlConnection;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql::facts::{add_connection, add_durability};
use highwater_driver::sql_query::Texts;

/// Settings that are recorded whatever their value: durability, memory, isolation.
const ALWAYS: &str = "'fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', \
     'shared_buffers', 'max_wal_size', 'checkpoint_timeout', 'default_transaction_isolation', \
     'synchronous_standby_names'";
/// Most settings that are recorded.
const SETTINGS_MAX: usize = 80;
/// Parts of names whose values may hold a secret.
const SECRET: [&str; 5] = ["conninfo", "command", "passphrase", "password", "secret"];

/// Those that say what an acknowledged commit has survived.
const DURABILITY: [&str; 3] = ["fsync", "synchronous_commit", "full_page_writes"];

/// See [`highwater_driver::contract::ServerAdmin::facts`].
pub(super) async fn read(
    connection: &mut SqlConnection<Connection>,
    presented: Dialect,
    insert: &str,
) -> Result<TargetFacts, TargetError> {
    let rows = connection.rows("SELECT version()").await?;
    let version = rows
        .first()
        .and_then(|row| row.first())
        .cloned()
        .flatten()
        .unwrap_or_default();
    let reported = Dialect::of_version(&version);
    // Start-up parameters are more reliable: a relative may keep PostgreSQL's version text.
    let dialect = if reported == Dialect::PostgreSql {
        presented
    } else {
        reported
    };
    let mut settings = match dialect {
        Dialect::PostgreSql => bounded(
            &connection
                .rows(&format!(
                    "SELECT name, current_setting(name) FROM pg_catalog.pg_settings \
                     WHERE name IN ({ALWAYS}) \
                     OR source NOT IN ('default', 'override', 'client', 'session') \
                     ORDER BY name IN ({ALWAYS}) DESC, name LIMIT 200"
                ))
                .await?,
        ),
        _ => BTreeMap::new(),
    };
    let traits = traits(&settings, insert);
    let relaxed = relaxed(&settings);
    add_durability(&mut settings, &DURABILITY, &relaxed);
    add_connection(&mut settings, insert, connection.is_encrypted());
    Ok(TargetFacts {
        version: one_line(&version),
        dialects: dialect.names(),
        settings,
        traits,
        tables: dialect.table_features(),
        transactions: dialect.rolls_back(),
        atomic_batches: dialect.rolls_back(),
    })
}

/// Names and values, without what may hold a secret.
fn bounded(rows: &Texts) -> BTreeMap<String, String> {
    rows.iter()
        .filter_map(|row| match row.as_slice() {
            [Some(name), Some(value)] => Some((name.clone(), one_line(value))),
            _ => None,
        })
        .filter(|(name, value)| {
            !SECRET.iter().any(|part| name.contains(part)) && !value.contains("password")
        })
        .take(SETTINGS_MAX)
        .collect()
}

/// Words for the first line of a summary: the insert mode, and missing durability.
fn traits(settings: &BTreeMap<String, String>, insert: &str) -> Vec<String> {
    let mut traits = vec![format!("insert={insert}")];
    traits.extend(relaxed(settings));
    traits
}

/// Settings with which less of an acknowledged commit survives than usual.
fn relaxed(settings: &BTreeMap<String, String>) -> Vec<String> {
    let usual = ["fsync", "full_page_writes", "synchronous_commit"];
    let reported = usual.iter().filter_map(|name| {
        let value = settings
            .get(*name)
            .filter(|value| !["on", "remote_apply"].contains(&value.as_str()))?;
        Some(format!("{name}={value}"))
    });
    reported.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_out_and_missing_durability_is_said() {
        let row = |name: &str, value: &str| vec![Some(name.to_owned()), Some(value.to_owned())];
        let settings = bounded(&vec![
            row("fsync", "off"),
            row("primary_conninfo", "host=h password=geheim"),
            row("ssl_passphrase_command", "echo geheim"),
            row("x.y", "password=geheim"),
            row("work_mem", "4MB"),
        ]);
        assert_eq!(settings.keys().collect::<Vec<_>>(), ["fsync", "work_mem"]);
        assert_eq!(traits(&settings, "copy"), ["insert=copy", "fsync=off"]);
    }
}
