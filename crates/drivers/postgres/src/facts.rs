//! Reads the facts of the server: version, and the settings needed to repeat a run.
//!
//! Must not record settings that may contain a secret, or an unbounded number of them.

use std::collections::BTreeMap;

use highwater_driver::contract::TargetFacts;
use highwater_driver::network::one_line;
use highwater_driver::sql::connection::{SqlConnection, Texts, first_value, pairs, rows_of};
use highwater_driver::sql::facts::{add_common, caches, readable};
use highwater_model::record::MemoryRecord;
use highwater_model::user_error::UserError;

use super::options::{Node, SessionAttributes};
use super::wire::Connection;
use crate::product::Product;

/// Settings that are always recorded: durability, memory, isolation.
const ALWAYS: &str = "'fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', \
     'shared_buffers', 'max_wal_size', 'checkpoint_timeout', 'default_transaction_isolation', \
     'synchronous_standby_names'";
/// Parts of names whose values may contain a secret.
const SECRET: [&str; 5] = ["conninfo", "command", "passphrase", "password", "secret"];

/// QuestDB's settings: those that determine the durability of an acknowledged commit, and changed ones.
const PARAMETERS: &str = "SELECT property_path, value FROM (SHOW PARAMETERS) \
     WHERE property_path IN ('cairo.commit.mode', 'cairo.wal.enabled.default') \
     OR (value_source <> 'default' AND NOT sensitive) ORDER BY property_path";

/// YugabyteDB's settings that are always recorded. Its storage ignores PostgreSQL's durability settings, so those are
/// not recorded; its own are process flags, which SQL does not show.
const YUGABYTE_ALWAYS: &str = "'default_transaction_isolation', \
     'yb_effective_transaction_isolation_level', 'yb_default_copy_from_rows_per_transaction', \
     'yb_disable_transactional_writes'";
/// With this setting, a batch is not applied as a whole.
const NO_TRANSACTIONS: &str = "yb_disable_transactional_writes";

/// The setting that sizes the data cache.
const CACHE: &str = "shared_buffers";

/// Settings that determine the durability of an acknowledged commit.
const DURABILITY: [&str; 4] =
    ["fsync", "synchronous_commit", "full_page_writes", "cairo.commit.mode"];

/// See [`highwater_driver::contract::ServerAdmin::facts`].
pub(super) async fn read(
    connection: &mut SqlConnection<Connection>,
    presented: Product,
    insert: &str,
) -> Result<TargetFacts, UserError> {
    let version = first_value(readable(connection.rows("SELECT version()").await)?);
    let mut version = version.unwrap_or_default();
    let reported = Product::of_version(&version);
    // Start-up parameters are more reliable: a compatible server may keep PostgreSQL's version text.
    let product = if reported == Product::PostgreSql { presented } else { reported };
    if product == Product::QuestDb {
        check_supported(connection.place(), presented)?;
        let build = first_value(connection.rows("SELECT build()").await?);
        version = build_of(&build.unwrap_or_default());
    }
    if product == Product::YugabyteDb {
        version = yugabyte(&version);
    }
    let mut settings = match product {
        Product::QuestDb => without_secrets(readable(connection.rows(PARAMETERS).await)?),
        Product::PostgreSql => {
            let changed = "source NOT IN ('default', 'override', 'client', 'session')";
            of_view(connection, ALWAYS, changed).await?
        }
        Product::YugabyteDb => {
            let changed = format!(
                "(source NOT IN ('default', 'override', 'client', 'session') AND name NOT IN ({ALWAYS}))"
            );
            of_view(connection, YUGABYTE_ALWAYS, &changed).await?
        }
        _ => BTreeMap::new(),
    };
    let whole = settings.get(NO_TRANSACTIONS).is_none_or(|value| value != "on");
    let relaxed = relaxed(&settings);
    let memory = memory(connection, product).await;
    let encrypted = connection.is_encrypted();
    let traits = add_common(&mut settings, insert, encrypted, &DURABILITY, relaxed);
    Ok(TargetFacts {
        version: one_line(&version),
        dialects: product.dialect().names(),
        settings,
        memory,
        traits,
        tables: product.dialect().table_features,
        transactions: product.dialect().rolls_back,
        atomic_batches: product.dialect().inserts_whole && whole,
        ..TargetFacts::default()
    })
}

/// The server's own data cache; unknown if it cannot be read.
async fn memory(connection: &mut SqlConnection<Connection>, product: Product) -> MemoryRecord {
    if product != Product::PostgreSql {
        return MemoryRecord::default();
    }
    let sql =
        format!("SELECT '{CACHE}', pg_catalog.pg_size_bytes(current_setting('{CACHE}'))::text");
    let rows = connection.rows(&sql).await.unwrap_or_default();
    caches(&pairs(rows).collect(), &[CACHE])
}

/// Settings of a view: those with these names, and those that match a condition; empty if a compatible server lacks the
/// view.
async fn of_view(
    connection: &mut SqlConnection<Connection>,
    always: &str,
    changed: &str,
) -> Result<BTreeMap<String, String>, UserError> {
    // With units; a compatible server may lack the function, or some of the settings that it lists.
    for value in ["current_setting(name)", "setting"] {
        let sql = format!(
            "SELECT name, {value} FROM pg_catalog.pg_settings WHERE name IN ({always}) OR {changed} \
             ORDER BY name IN ({always}) DESC, name"
        );
        let found = without_secrets(readable(connection.rows(&sql).await)?);
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(BTreeMap::new())
}

/// Sessions rely on start-up parameters, with which old versions of QuestDB do not identify themselves.
fn check_supported(place: &str, presented: Product) -> Result<(), UserError> {
    if presented == Product::QuestDb {
        return Ok(());
    }
    let cause = format!(
        "{place}: this version of QuestDB does not say at start-up what it is, and is not supported"
    );
    Err(UserError::usage(cause)
        .with_hint("9.3.4 was tried, and is; see the README's table of databases"))
}

/// `QuestDB 9.3.4` from `Build Information: QuestDB 9.3.4, JDK …`.
fn build_of(build: &str) -> String {
    let build = build.split_once(": ").map_or(build, |(_, build)| build);
    build.split(',').next().unwrap_or_default().to_owned()
}

/// `YugabyteDB 2.13.1.0-b0, PostgreSQL 11.2` from `PostgreSQL 11.2-YB-2.13.1.0-b0 on x86_64 …`; another text unchanged.
fn yugabyte(version: &str) -> String {
    let known = version.split_once("-YB-").map(|(postgresql, rest)| {
        let own = rest.split_whitespace().next().unwrap_or_default();
        format!("YugabyteDB {own}, {postgresql}")
    });
    known.unwrap_or_else(|| version.to_owned())
}

/// Names and values, without possible secrets.
fn without_secrets(rows: Texts) -> BTreeMap<String, String> {
    pairs(rows)
        .map(|(name, value)| (name, one_line(&value)))
        .filter(|(name, value)| {
            !SECRET.iter().any(|part| name.contains(part)) && !value.contains("password")
        })
        .collect()
}

/// Settings that make an acknowledged commit less durable than usual.
fn relaxed(settings: &BTreeMap<String, String>) -> Vec<String> {
    let usual = ["fsync", "full_page_writes", "synchronous_commit", "cairo.commit.mode"];
    let reported = usual.iter().filter_map(|name| {
        let value = settings
            .get(*name)
            .filter(|value| !["on", "remote_apply", "sync"].contains(&value.as_str()))?;
        Some(format!("{name}={value}"))
    });
    reported.collect()
}

/// The role that a server reports at start-up, from PostgreSQL 14 on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReportedRole {
    read_only_by_default: Option<bool>,
    standby: Option<bool>,
}

impl ReportedRole {
    /// Processes any reported parameter.
    pub(super) fn take(&mut self, name: &str, value: &str) {
        match name {
            "default_transaction_read_only" => self.read_only_by_default = Some(value == "on"),
            "in_hot_standby" => self.standby = Some(value == "on"),
            _ => {}
        }
    }

    fn read_only(self) -> Option<bool> {
        Some(self.read_only_by_default? || self.standby?)
    }
}

/// Why a connection is not of the requested kind; `None` if it is.
pub(super) async fn mismatch(
    connection: &mut Connection,
    reported: ReportedRole,
    node: &Node,
    expected: SessionAttributes,
) -> Result<Option<&'static str>, UserError> {
    use SessionAttributes::{Any, PreferStandby, Primary, ReadOnly, ReadWrite, Standby};
    let is = match expected {
        Any => return Ok(None),
        ReadWrite | ReadOnly => match reported.read_only() {
            Some(known) => known,
            None => is_on(connection, node, "SHOW transaction_read_only").await?,
        },
        Primary | Standby | PreferStandby => match reported.standby {
            Some(known) => known,
            None => is_on(connection, node, "SELECT pg_catalog.pg_is_in_recovery()").await?,
        },
    };
    Ok(match (expected, is) {
        (ReadWrite, true) => Some("its sessions are read-only"),
        (ReadOnly, false) => Some("its sessions are not read-only"),
        (Primary, true) => Some("it is a standby"),
        (Standby | PreferStandby, false) => Some("it is no standby"),
        _ => None,
    })
}

async fn is_on(connection: &mut Connection, node: &Node, sql: &str) -> Result<bool, UserError> {
    let value = first_value(rows_of(connection, &node.shown, sql).await?);
    Ok(value.is_some_and(|value| ["on", "t", "true"].contains(&value.as_str())))
}

#[cfg(test)]
mod tests {
    use highwater_model::user_error::UserErrorKind;

    use super::*;
    #[test]
    fn an_unidentified_version_is_named_before_a_statement_fails() {
        let error = check_supported("postgres://h", Product::PostgreSql).unwrap_err();
        assert_eq!(error.kind, UserErrorKind::Usage);
        let named = "postgres://h: this version of QuestDB ";
        assert!(error.message.starts_with(named), "{error}");
        assert_eq!(check_supported("postgres://h", Product::QuestDb), Ok(()));
    }

    #[test]
    fn the_product_is_named_by_its_build_and_its_commit_mode_is_reported() {
        let build = "Build Information: QuestDB 9.3.4, JDK 24.0.2, Commit Hash 9ea3";
        assert_eq!(build_of(build), "QuestDB 9.3.4");
        assert_eq!(build_of(""), "");
        for (mode, relaxed) in [("nosync", true), ("async", true), ("sync", false)] {
            let settings = [("cairo.commit.mode".to_owned(), mode.to_owned())];
            assert_eq!(!super::relaxed(&settings.into()).is_empty(), relaxed, "{mode}");
        }
    }

    #[test]
    fn yugabytedb_is_named_before_the_postgresql_that_it_is_made_of() {
        let reported = "PostgreSQL 11.2-YB-2.13.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang";
        assert_eq!(yugabyte(reported), "YugabyteDB 2.13.1.0-b0, PostgreSQL 11.2");
        assert_eq!(yugabyte("PostgreSQL 15.12"), "PostgreSQL 15.12");
    }

    #[test]
    fn secrets_are_omitted_and_missing_durability_is_reported() {
        let row = |name: &str, value: &str| vec![Some(name.to_owned()), Some(value.to_owned())];
        let settings = without_secrets(vec![
            row("fsync", "off"),
            row("primary_conninfo", "host=h password=geheim"),
            row("ssl_passphrase_command", "echo geheim"),
            row("x.y", "password=geheim"),
            row("work_mem", "4MB"),
        ]);
        assert_eq!(settings.keys().collect::<Vec<_>>(), ["fsync", "work_mem"]);
        assert_eq!(relaxed(&settings), ["fsync=off"]);
    }
}
