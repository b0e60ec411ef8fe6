//! SQL by which each dialect creates, describes, registers, and leases tables, and lists running statements. Must not
//! contain differences in expressions; see `dialect`.

use highwater_model::table_shape::{RecordedStatements, TableShape};
use postgres_protocol::escape::escape_literal;

use super::dialect::Dialect;
use super::leases::LeaseWords;
use super::quoting::{backslashed, escaped, literal, quoted};
use super::table_words::TableWords;
use super::with_clause::{with_engine, with_options, with_settings, with_tablets};

/// The engine of Highwater's own tables.
const MYSQL_ENGINE: &str = " ENGINE=InnoDB";
/// Eventually only the newest row of each table remains.
const CLICKHOUSE_REGISTRY: &str = "CREATE TABLE IF NOT EXISTS highwater_tables (\
     name String, fingerprint String, seed String, `rows` Nullable(Int64), \
     next_index Int64, writing UInt8, version UInt64) ENGINE = ReplacingMergeTree(version) ORDER BY name";
/// Eventually only the newest row of each event of a claim remains.
const CLICKHOUSE_EVENTS: &str = "CREATE TABLE IF NOT EXISTS highwater_leases (\
     table_name String, share UInt32, shares UInt32, token String, plan String, owner String, \
     machine String, process Int64, started Int64, \
     event String, number UInt64, at_ms UInt64) \
     ENGINE = ReplacingMergeTree(at_ms) ORDER BY (table_name, share, token, number, event)";

/// The time column of Highwater's own tables, and its value; each after a comma. Only a table with a write-ahead log
/// can be written by several sessions at once, and only a table with a time has one. A row replaces those with the same
/// key, which must include the time: it is the same in all rows.
const QUESTDB_STAMP: [&str; 2] = [", ts", ", cast(0 AS timestamp)"];
/// There is one row per table.
const QUESTDB_REGISTRY: &str = "CREATE TABLE IF NOT EXISTS highwater_tables (\
     name VARCHAR, fingerprint VARCHAR, seed VARCHAR, \"rows\" LONG, next_index LONG, \
     writing BOOLEAN, ts TIMESTAMP) TIMESTAMP(ts) PARTITION BY YEAR WAL DEDUP UPSERT KEYS(ts, name)";
/// There is one row per event of a claim.
const QUESTDB_EVENTS: &str = "CREATE TABLE IF NOT EXISTS highwater_leases (\
     table_name VARCHAR, share INT, shares INT, token VARCHAR, plan VARCHAR, owner VARCHAR, \
     machine VARCHAR, process LONG, started LONG, event VARCHAR, number LONG, at_ms LONG, \
     ts TIMESTAMP) TIMESTAMP(ts) PARTITION BY YEAR WAL \
     DEDUP UPSERT KEYS(ts, table_name, share, token, number, event)";

impl Dialect {
    /// SQL for creating and registering tables.
    pub fn table_words(self) -> TableWords {
        match self {
            Self::PostgreSql => TableWords {
                // A workload's name may be two names joined by a dot; in CrateDB, a setting is one name with dots in
                // it.
                with_settings: |create, settings| with_settings(create, settings, str::to_owned),
                exists: "SELECT count(*) FROM pg_catalog.pg_class c \
                         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                         WHERE n.nspname = current_schema() AND c.relname = {name}",
                transactional: true,
                ..TableWords::PLAIN
            },
            Self::CockroachDb => {
                TableWords { transactional: false, ..Self::PostgreSql.table_words() }
            }
            Self::YugabyteDb => {
                TableWords { with_settings: with_tablets, ..Self::CockroachDb.table_words() }
            }
            Self::CrateDb => TableWords {
                with_settings: |create, settings| with_settings(create, settings, quoted),
                registry_options: " CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = '0-1')",
                exists: "SELECT count(*) FROM information_schema.tables \
                         WHERE table_schema = current_schema AND table_name = {name}",
                ..TableWords::PLAIN
            },
            Self::MySql => TableWords {
                with_settings: |create, settings| with_options(create, settings, backslashed),
                key_text: "VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                // The server's default engine may store nothing, such as BLACKHOLE.
                registry_options: MYSQL_ENGINE,
                exists: "SELECT count(*) FROM information_schema.tables \
                         WHERE table_schema = database() AND table_name = {name}",
                without_transactions: Some(
                    "SELECT e.engine FROM information_schema.tables AS t \
                     JOIN information_schema.engines AS e ON e.engine = t.engine \
                     WHERE table_schema = database() AND table_name = {name} \
                     AND e.transactions = 'NO'",
                ),
                ..TableWords::PLAIN
            },
            Self::ClickHouse => TableWords {
                with_settings: |create, settings| with_engine(create, settings, escaped),
                options: " ENGINE = MergeTree ORDER BY tuple()",
                registry: Some(CLICKHOUSE_REGISTRY),
                exists: "SELECT count(*) FROM system.tables \
                         WHERE database = currentDatabase() AND name = {name}",
                ..TableWords::PLAIN
            },
            // This function is never used: settings are rejected earlier; see `table_features`.
            Self::QuestDb => TableWords {
                stamp: QUESTDB_STAMP,
                registry: Some(QUESTDB_REGISTRY),
                ..TableWords::PLAIN
            },
        }
    }

    /// A table description with only its name and the schema.
    pub fn table_shape(self, table: &str, schema: Option<String>) -> TableShape {
        TableShape {
            name: table.to_owned(),
            schema,
            dialect: self.names().into_iter().next().unwrap_or_default(),
            milliseconds: self.milliseconds("{column}"),
            quotient: self.quotient().to_owned(),
            quote: match self {
                Self::MySql | Self::ClickHouse => '`',
                _ => '"',
            },
            rows: 0,
            rows_all: None,
            columns: Vec::new(),
            indexes: Vec::new(),
            create: None,
            recorded: RecordedStatements {
                remark: matches!(self, Self::MySql | Self::ClickHouse)
                    .then(|| "The queries that this server runs are not counted here".to_owned()),
                ..RecordedStatements::default()
            },
        }
    }

    /// SQL for leases.
    pub fn lease_words(self) -> LeaseWords {
        let plain = |literal: fn(&str) -> String, now_ms| {
            LeaseWords::plain(literal, self.table_words().key_text, now_ms)
        };
        match self {
            Self::PostgreSql => LeaseWords {
                lock: Some(
                    "SELECT pg_catalog.pg_try_advisory_lock(1214867299, hashtext({token}) & 2147483647)",
                ),
                is_locked: "(SELECT count(*) FROM pg_catalog.pg_locks k \
                            WHERE k.locktype = 'advisory' AND k.classid = 1214867299 \
                            AND k.objid = CAST(hashtext(l.token) & 2147483647 AS oid))",
                ..Self::CockroachDb.lease_words()
            },
            // Advisory locks are missing in some versions of YugabyteDB, and can be disabled.
            Self::CockroachDb | Self::YugabyteDb => plain(
                escape_literal,
                "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
            ),
            Self::CrateDb => LeaseWords {
                table_options: " CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = '0-1')",
                refresh: Some("REFRESH TABLE highwater_leases"),
                ..plain(literal, "CAST(CURRENT_TIMESTAMP AS BIGINT)")
            },
            // Named locks belong to a node, and are not shared between the nodes of a cluster.
            Self::MySql => LeaseWords {
                or_ignore: "ON DUPLICATE KEY UPDATE share = VALUES(share)",
                table_options: MYSQL_ENGINE,
                ..plain(backslashed, "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)")
            },
            // It cannot update rows, see `appended_leases`; its clock has a resolution of seconds.
            Self::ClickHouse => LeaseWords {
                or_ignore: "",
                appended: Some(CLICKHOUSE_EVENTS),
                ..plain(escaped, "toInt64(toUnixTimestamp(now())) * 1000")
            },
            // No key prevents a second row, so every event is a row.
            Self::QuestDb => LeaseWords {
                or_ignore: "",
                refresh: Some("SELECT wait_wal_table('highwater_leases')"),
                appended: Some(QUESTDB_EVENTS),
                stamp: QUESTDB_STAMP,
                ..plain(literal, "CAST(systimestamp() AS long) / 1000")
            },
        }
    }

    /// Counts running statements of this program's other sessions; `name` is a literal. Lingering backends count while
    /// they exist.
    pub fn count_running(self, name: &str, lingering: &[i64]) -> String {
        let lingering: Vec<String> = lingering.iter().map(ToString::to_string).collect();
        match self {
            // YugabyteDB lists those of one node; the driver checks the others.
            Self::PostgreSql | Self::YugabyteDb => {
                format!(
                    "SELECT count(*) FROM pg_catalog.pg_stat_activity \
                     WHERE application_name = left({name}, 63) AND pid <> pg_backend_pid() \
                     AND (state <> 'idle' OR pid = ANY ('{{{}}}'))",
                    lingering.join(",")
                )
            }
            Self::CockroachDb => format!(
                "SELECT count(*) FROM [SHOW CLUSTER QUERIES] \
                 WHERE application_name = {name} AND query NOT LIKE '%CLUSTER QUERIES%'"
            ),
            // Statements whose client disconnected sometimes stay listed forever.
            Self::CrateDb => "SELECT count(*) FROM sys.jobs WHERE username = current_user \
                              AND stmt LIKE 'INSERT INTO \"%' \
                              AND started > now() - INTERVAL '90 seconds'"
                .to_owned(),
            // Clients are identified only by their user.
            Self::MySql => format!(
                "SELECT count(*) FROM information_schema.processlist \
                 WHERE id <> connection_id() AND user = substring_index(user(), '@', 1) \
                 AND (command NOT IN ('Sleep', 'Daemon', 'Binlog Dump') OR id IN ({}))",
                [vec!["0".to_owned()], lingering].concat().join(",")
            ),
            // Statements sent over HTTP have the client's name.
            Self::ClickHouse => format!(
                "SELECT count(*) FROM system.processes \
                 WHERE http_user_agent = {name} AND query NOT LIKE '%FROM system.processes%'"
            ),
            // Clients have no name there; `unread_inserts` covers what it does not list.
            Self::QuestDb => "SELECT count(*) FROM query_activity() \
                              WHERE username = current_user() AND query LIKE 'INSERT INTO \"%'"
                .to_owned(),
        }
    }
}
