//! The servers that speak the PostgreSQL protocol: how they identify themselves, their SQL, and how the protocol is
//! used with each.

use highwater_driver::contract::TableFeatures;
use highwater_driver::sql::cratedb::CRATEDB;
use highwater_driver::sql::dialect::literal;
use highwater_driver::sql::dialect::{DeclaredTypes, Dialect, number_of_digits};
use highwater_driver::sql::leases::LeaseWords;
use highwater_driver::sql::with_clause::{with_settings, with_tablets};
use highwater_model::units::Nanos;
use postgres_protocol::escape::{escape_identifier, escape_literal};

/// The text between PostgreSQL's version and YugabyteDB's own.
const YUGABYTE: &str = "-YB-";

/// The product behind the wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    /// PostgreSQL, and servers that identify themselves as PostgreSQL.
    PostgreSql,
    CockroachDb,
    CrateDb,
    QuestDb,
    /// PostgreSQL's query layer on another storage engine.
    YugabyteDb,
}

impl Product {
    /// From the response to `SELECT version()`.
    pub(super) fn of_version(version: &str) -> Self {
        if version.starts_with("CockroachDB") {
            Self::CockroachDb
        } else if version.starts_with("CrateDB") {
            Self::CrateDb
        } else if version.ends_with("QuestDB") {
            Self::QuestDb
        } else if version.contains(YUGABYTE) {
            Self::YugabyteDb
        } else {
            Self::PostgreSql
        }
    }

    /// From a parameter that the server reports at start-up, if it identifies more than PostgreSQL.
    pub(super) fn of_parameter(name: &str, value: &str) -> Option<Self> {
        match name {
            "crdb_version" => Some(Self::CockroachDb),
            "crate_version" => Some(Self::CrateDb),
            "questdb_version" => Some(Self::QuestDb),
            "server_version" if value.contains(YUGABYTE) => Some(Self::YugabyteDb),
            _ => None,
        }
    }

    /// Its SQL.
    pub(super) fn dialect(self) -> &'static Dialect {
        match self {
            Self::PostgreSql => &POSTGRESQL,
            Self::CockroachDb => &COCKROACHDB,
            Self::CrateDb => &CRATEDB,
            Self::QuestDb => &QUESTDB,
            Self::YugabyteDb => &YUGABYTEDB,
        }
    }

    /// The statement that selects a database if none was named, if one is needed.
    pub(super) fn without_database(self) -> Option<&'static str> {
        (self == Self::CockroachDb).then_some("SET database = defaultdb")
    }

    /// The statement that begins every session, if one is needed. YugabyteDB commits every 20,000 rows of a
    /// COPY, and with the second setting writes those of a colocated table without a transaction; a version
    /// that does not know these settings copies in one transaction.
    pub(super) fn at_start(self) -> Option<&'static str> {
        (self == Self::YugabyteDb).then_some(
            "SELECT set_config(name, '0', false) FROM (VALUES \
             ('yb_default_copy_from_rows_per_transaction'), ('yb_fast_path_for_colocated_copy')) \
             AS s (name) WHERE current_setting(name, true) IS NOT NULL",
        )
    }

    /// A condition on `information_schema.columns` that excludes hidden columns, such as the bucket
    /// of a hash-sharded key.
    pub(super) fn shown_columns(self) -> &'static str {
        if self == Self::CockroachDb { " AND is_hidden = 'NO'" } else { "" }
    }

    /// Why a server of this version cannot apply `COPY … FROM STDIN` as a whole, if so.
    pub(super) fn copies(self, version: &str) -> Result<(), &'static str> {
        match self {
            Self::CockroachDb if release(version).is_some_and(|release| release < (22, 2)) => {
                Err("before version 22.2 the server commits every 100 rows of a COPY")
            }
            Self::PostgreSql | Self::CockroachDb | Self::YugabyteDb => Ok(()),
            Self::CrateDb | Self::QuestDb => Err("the server has no COPY FROM STDIN"),
        }
    }

    /// Whether a canceled statement has certainly changed nothing. YugabyteDB checks for cancellation
    /// after its storage has responded, and the storage commits a single-row write by itself.
    pub(super) fn cancels_whole(self) -> bool {
        self != Self::YugabyteDb
    }

    /// Maximum number of characters of one statement; CrateDB's `statement_max_length`.
    pub(super) fn statement_length_max(self) -> usize {
        if self == Self::CrateDb { 262_144 } else { usize::MAX }
    }

    /// Whether several statements before one Sync need BEGIN and COMMIT to be one transaction. In
    /// YugabyteDB, a single-row write outside a transaction block commits by itself.
    pub(super) fn wraps_pipelines(self) -> bool {
        matches!(self, Self::CockroachDb | Self::YugabyteDb)
    }
}

/// The year and number of a release such as `CockroachDB CCL v20.1.8 (x86_64 …)`.
fn release(version: &str) -> Option<(u32, u32)> {
    let (_, number) = version.split_once(" v")?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// PostgreSQL's SQL.
pub const POSTGRESQL: Dialect = Dialect {
    identifier: escape_identifier,
    literal: escape_literal,
    // As a double, which is exact here and much cheaper than the decimal of `extract`.
    milliseconds: "CAST(date_part('epoch', {}) * 1000 AS bigint)",
    attribute: |column, attribute| format!("{column} ->> {}", escape_literal(attribute)),
    hash: "CAST(CAST('x' || substr(md5({}), 1, 7) AS bit(28)) AS integer)",
    number_of_hash: |hash| format!("CAST({hash} AS bigint)"),
    one_of: "{} = ANY ('{{list}}'::bigint[])",
    fence: " OFFSET 0",
    // By default, the planner's cost of passing rows from parallel workers is so high that it computes every checksum
    // in one process. Settings that a server does not know are not set. No privilege on their view is needed, because
    // it can be revoked.
    audit_settings: Some(
        "SELECT count(set_config(name, value, true)) FROM \
         (VALUES ('extra_float_digits', '3'), ('DateStyle', 'ISO, YMD'), \
         ('IntervalStyle', 'postgres'), ('TimeZone', 'UTC'), ('bytea_output', 'hex'), \
         ('lc_monetary', 'C'), \
         ('parallel_setup_cost', '0'), ('parallel_tuple_cost', '0')) \
         AS v (name, value) WHERE current_setting(name, true) IS NOT NULL",
    ),
    hides_rows: Some("SELECT pg_catalog.row_security_active(CAST({} AS regclass))"),
    declared: Some(DeclaredTypes {
        columns: "SELECT a.attname, CASE t.typtype \
                  WHEN 'd' THEN pg_catalog.format_type(t.typbasetype, t.typtypmod) \
                  ELSE pg_catalog.format_type(a.atttypid, a.atttypmod) END, false \
                  FROM pg_catalog.pg_attribute AS a \
                  JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
                  WHERE a.attrelid = CAST({} AS regclass) AND a.attnum > 0 AND NOT a.attisdropped",
        times: &[],
        singles: &["real"],
        as_sent: Some(&["text", "character varying", "name"]),
        several_texts: &[
            "numeric",
            "decimal",
            "smallint",
            "integer",
            "bigint",
            "real",
            "double precision",
            "jsonb",
        ],
    }),
    // A setting may be two names joined by a dot.
    with_settings: |create, settings| with_settings(create, settings, str::to_owned),
    exists: "SELECT count(*) FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND c.relname = {name}",
    transactional: true,
    // Waits for an insert that a killed run left running.
    lock: Some("LOCK TABLE {quoted}"),
    ..Dialect::standard(
        &["postgresql"],
        LeaseWords {
            lock: Some(
                "SELECT pg_catalog.pg_try_advisory_lock(1214867299, hashtext({token}) & 2147483647)",
            ),
            is_locked: "(SELECT count(*) FROM pg_catalog.pg_locks k \
                        WHERE k.locktype = 'advisory' AND k.classid = 1214867299 \
                        AND k.objid = CAST(hashtext(l.token) & 2147483647 AS oid))",
            ..UNLOCKED
        },
        "SELECT count(*) FROM pg_catalog.pg_stat_activity \
         WHERE application_name = left({name}, 63) AND pid <> pg_backend_pid() \
         AND (state <> 'idle' OR pid = ANY ('{{lingering}}'))",
    )
};

/// Leases without advisory locks, which are missing in some versions of YugabyteDB, and can be disabled.
const UNLOCKED: LeaseWords = LeaseWords::plain(
    escape_literal,
    "TEXT",
    "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
);

/// YugabyteDB's SQL. It lists the running statements of one node only, so the other nodes are
/// queried, too.
const YUGABYTEDB: Dialect = Dialect {
    names: &["yugabytedb", "postgresql"],
    one_of: "{} IN ({list})",
    with_settings: with_tablets,
    transactional: false,
    lock: None,
    leases: UNLOCKED,
    ..POSTGRESQL
};

/// CockroachDB's SQL.
const COCKROACHDB: Dialect = Dialect {
    names: &["cockroachdb", "postgresql"],
    // Its `/` of two integers is a decimal.
    quotient: "{dividend} // {divisor}",
    milliseconds: "CAST(extract(epoch FROM {}) * 1000 AS bigint)",
    hash: "substr(md5({}), 1, 7)",
    number_of_hash: |hash| number_of_digits("substr", hash),
    one_of: "{} IN ({list})",
    // Before version 22, there are no settings for one transaction. These apply to the session, which only the
    // audit uses.
    audit_settings: Some(
        "SELECT set_config('extra_float_digits', '3', false), \
         set_config('datestyle', 'ISO, MDY', false), \
         set_config('intervalstyle', 'postgres', false), \
         set_config('timezone', 'UTC', false), set_config('bytea_output', 'hex', false)",
    ),
    hides_rows: None,
    declared: None,
    transactional: false,
    lock: None,
    leases: UNLOCKED,
    count_running: "SELECT count(*) FROM [SHOW CLUSTER QUERIES] \
                    WHERE application_name = {name} AND query NOT LIKE '%CLUSTER QUERIES%'",
    ..POSTGRESQL
};

/// QuestDB's SQL.
const QUESTDB: Dialect = Dialect {
    // Table settings are rejected before a table is created.
    table_features: TableFeatures { shards: false, settings: false },
    // Transactions contain only inserts: a query within one does not see them, and an UPDATE ends it.
    rolls_back: false,
    // It does not list inserts.
    unread_inserts: Some(Nanos::from_secs(10)),
    refresh: Some("SELECT wait_wal_table({name})"),
    // Within a CASE, it misparses a type of two words.
    double: "CAST({} AS double)",
    milliseconds: "CAST({} AS long) / 1000",
    // A double holds all digits until the year 2255.
    exact_milliseconds: "CAST({} AS long) / 1000.0",
    // JSON is text; names in a path are not quoted.
    attribute: |column, attribute| {
        format!("json_extract({column}, {})", literal(&format!("$.{attribute}")))
    },
    hash: "substring(md5({}), 1, 7)",
    number_of_hash: |hash| number_of_digits("substring", hash),
    inner_prefix: "highwater_",
    stamp: QUESTDB_STAMP,
    registry: Some(QUESTDB_REGISTRY),
    forget: None,
    // The table's definition makes a row replace those with the same key.
    on_duplicate: |_, _| String::new(),
    ..Dialect::standard(
        &["questdb"],
        // No key prevents a second row, so every event is a row.
        LeaseWords {
            or_ignore: "",
            refresh: Some("SELECT wait_wal_table('highwater_leases')"),
            appended: Some(QUESTDB_EVENTS),
            stamp: QUESTDB_STAMP,
            ..LeaseWords::plain(literal, "TEXT", "CAST(systimestamp() AS long) / 1000")
        },
        // Clients have no name in its list.
        "SELECT count(*) FROM query_activity() \
         WHERE username = current_user() AND query LIKE 'INSERT INTO \"%'",
    )
};

/// The time column of Highwater's own tables, and its value; each after a comma. Only a table with a write-ahead log
/// can be written by several sessions at once, and only a table with a time has one. A row replaces those with the same
/// key, which must include the time: it is the same in all rows.
const QUESTDB_STAMP: [&str; 2] = [", ts", ", cast(0 AS timestamp)"];
/// Only the newest row per table remains.
const QUESTDB_REGISTRY: &str = "CREATE TABLE IF NOT EXISTS highwater_tables (\
     name VARCHAR, fingerprint VARCHAR, seed VARCHAR, \"rows\" LONG, next_index LONG, \
     writing BOOLEAN, ts TIMESTAMP) TIMESTAMP(ts) PARTITION BY YEAR WAL DEDUP UPSERT KEYS(ts, name)";
/// Only the newest row per event of a claim remains.
const QUESTDB_EVENTS: &str = "CREATE TABLE IF NOT EXISTS highwater_leases (\
     table_name VARCHAR, share INT, shares INT, token VARCHAR, plan VARCHAR, owner VARCHAR, \
     machine VARCHAR, process LONG, started LONG, event VARCHAR, number LONG, at_ms LONG, \
     ts TIMESTAMP) TIMESTAMP(ts) PARTITION BY YEAR WAL \
     DEDUP UPSERT KEYS(ts, table_name, share, token, number, event)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_identifies_the_product() {
        for (version, product, best) in [
            ("PostgreSQL 15.7 (Debian)", Product::PostgreSql, "postgresql"),
            ("CockroachDB CCL v20.1.8", Product::CockroachDb, "cockroachdb"),
            ("CrateDB 5.7.0 (built …)", Product::CrateDb, "cratedb"),
            (
                "PostgreSQL 11.2-YB-2.13.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 12.0.1",
                Product::YugabyteDb,
                "yugabytedb",
            ),
        ] {
            assert_eq!(Product::of_version(version), product);
            assert_eq!(product.dialect().names[0], best);
            assert_eq!(product.dialect().names.last(), Some(&"postgresql"));
        }
        // Responses of 9.3.4, which does not support PostgreSQL's statements.
        let version = "PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB";
        assert_eq!(Product::of_version(version), Product::QuestDb);
        assert_eq!(Product::of_parameter("questdb_version", "9.3.4"), Some(Product::QuestDb));
        assert_eq!(QUESTDB.names, ["questdb"]);
    }

    #[test]
    fn the_version_at_start_up_identifies_a_relative_without_its_own_parameter() {
        // From its issues yugabyte/yugabyte-db#5154 and #2447.
        for (value, product) in [
            ("15.12-YB-2025.2.6.0-b0", Some(Product::YugabyteDb)),
            ("11.2-YB-2.0.0.0-b0", Some(Product::YugabyteDb)),
            ("15.7 (Debian 15.7-0+deb12u1)", None),
            ("13.0.0", None),
        ] {
            assert_eq!(Product::of_parameter("server_version", value), product);
        }
        assert_eq!(Product::of_parameter("application_name", "a-YB-b"), None);
    }

    #[test]
    fn rows_are_copied_only_if_copy_is_atomic() {
        let copies = |version| Product::CockroachDb.copies(version).is_ok();
        for (version, whole) in [
            ("CockroachDB CCL v20.1.8 (x86_64)", false),
            ("CockroachDB CCL v22.1.22", false),
            ("CockroachDB CCL v22.2.0-rc.1", true),
            ("CockroachDB CCL v23.1.11", true),
            ("of tomorrow", true),
        ] {
            assert_eq!(copies(version), whole, "{version}");
        }
        assert!(Product::CrateDb.copies("6.4.3").is_err());
    }

    #[test]
    fn a_statement_of_an_audit_has_settings_of_its_transaction_or_of_its_session() {
        for (dialect, is_local) in [(POSTGRESQL, true), (COCKROACHDB, false)] {
            let sql = dialect.audit_settings.unwrap();
            for name in ["extra_float_digits", "datestyle", "timezone", "bytea_output"] {
                assert!(sql.to_lowercase().contains(name), "{name}: {sql}");
            }
            assert_eq!(sql.contains(", true)"), is_local, "{sql}");
        }
        assert_eq!(CRATEDB.audit_settings, None);
    }

    #[test]
    fn a_relative_replaces_what_it_does_not_have() {
        let lists = POSTGRESQL.one_of("(k / 1)", "5,6,9");
        assert_eq!(lists, "(k / 1) = ANY ('{5,6,9}'::bigint[])");
        for relative in [YUGABYTEDB, COCKROACHDB] {
            assert_eq!(relative.one_of("k", "5,6"), "k IN (5,6)");
            assert_eq!((relative.lock, relative.leases.lock), (None, None));
            assert!(!relative.transactional);
        }
        assert_eq!(
            POSTGRESQL.count_running("'n'", &[3, 4]).split_once(" = ANY ").map(|(_, list)| list),
            Some("('{0,3,4}'))")
        );
        assert_eq!(QUESTDB.hash("t"), "substring(md5(t), 1, 7)");
        assert!((QUESTDB.number_of_hash)("h").contains("substring(h, 7, 1)"));
        let attribute = (QUESTDB.attribute)("\"tags\"", "host");
        assert_eq!(attribute, "json_extract(\"tags\", '$.host')");
        assert_eq!(QUESTDB.refresh("it's").as_deref(), Some("SELECT wait_wal_table('it''s')"));
    }
}
