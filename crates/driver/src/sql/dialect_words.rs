//! How each dialect makes tables, registers and leases them, and lists what runs. Must not contain what
//! differs in expressions; see `dialect`.

use postgres_protocol::escape::escape_literal;

use super::dialect::Dialect;
use super::leases::LeaseWords;
use super::quoting::{backslashed, escaped, literal, quoted};
use super::table_words::TableWords;
use super::with_clause::{with_engine, with_options, with_settings};

impl Dialect {
    /// How tables are made and registered.
    pub fn table_words(self) -> TableWords {
        match self {
            Self::PostgreSql => TableWords {
                // Its name may be two names with a dot between; CrateDB's is one name with dots in it.
                with_settings: |create, settings| with_settings(create, settings, str::to_owned),
                registry_options: "",
                exists: "SELECT count(*) FROM pg_catalog.pg_class c \
                         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                         WHERE n.nspname = current_schema() AND c.relname = {name}",
                without_transactions: None,
                refresh: None,
                transactional: true,
            },
            Self::CockroachDb => TableWords {
                transactional: false,
                ..Self::PostgreSql.table_words()
            },
            Self::CrateDb => TableWords {
                with_settings: |create, settings| with_settings(create, settings, quoted),
                registry_options: " CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = '0-1')",
                exists: "SELECT count(*) FROM information_schema.tables \
                         WHERE table_schema = current_schema AND table_name = {name}",
                without_transactions: None,
                refresh: Some("REFRESH TABLE \"highwater_tables\""),
                transactional: false,
            },
            Self::MySql => TableWords {
                with_settings: |create, settings| with_options(create, settings, backslashed),
                registry_options: "",
                exists: "SELECT count(*) FROM information_schema.tables \
                         WHERE table_schema = database() AND table_name = {name}",
                without_transactions: Some(
                    "SELECT e.engine FROM information_schema.tables AS t \
                     JOIN information_schema.engines AS e ON e.engine = t.engine \
                     WHERE table_schema = database() AND table_name = {name} \
                     AND e.transactions = 'NO'",
                ),
                refresh: None,
                transactional: false,
            },
            Self::ClickHouse => TableWords {
                with_settings: |create, settings| with_engine(create, settings, escaped),
                registry_options: "",
                exists: "SELECT count(*) FROM system.tables \
                         WHERE database = currentDatabase() AND name = {name}",
                without_transactions: None,
                refresh: None,
                transactional: false,
            },
        }
    }

    /// How leases are written and read.
    pub fn lease_words(self) -> LeaseWords {
        match self {
            Self::PostgreSql => LeaseWords {
                literal: escape_literal,
                key_text: self.key_text(),
                or_ignore: LeaseWords::ON_CONFLICT,
                now_ms: "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
                table_options: "",
                refresh: None,
                lock: Some(
                    "SELECT pg_catalog.pg_try_advisory_lock(1214867299, hashtext({token}) & 2147483647)",
                ),
                is_locked: "(SELECT count(*) FROM pg_catalog.pg_locks k \
                            WHERE k.locktype = 'advisory' AND k.classid = 1214867299 \
                            AND k.objid = CAST(hashtext(l.token) & 2147483647 AS oid))",
            },
            Self::CockroachDb => LeaseWords {
                lock: None,
                is_locked: "NULL",
                ..Self::PostgreSql.lease_words()
            },
            Self::CrateDb => LeaseWords {
                literal,
                key_text: self.key_text(),
                or_ignore: LeaseWords::ON_CONFLICT,
                now_ms: "CAST(CURRENT_TIMESTAMP AS BIGINT)",
                table_options: " CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = '0-1')",
                refresh: Some("REFRESH TABLE highwater_leases"),
                lock: None,
                is_locked: "NULL",
            },
            // Its named locks are a node's own, and the nodes of a cluster do not share them.
            Self::MySql => LeaseWords {
                literal: backslashed,
                key_text: self.key_text(),
                or_ignore: "ON DUPLICATE KEY UPDATE share = VALUES(share)",
                now_ms: "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
                table_options: "",
                refresh: None,
                lock: None,
                is_locked: "NULL",
            },
            // Nothing is updated there, see `appended_leases`; its clock has seconds.
            Self::ClickHouse => LeaseWords {
                literal: escaped,
                key_text: self.key_text(),
                or_ignore: "",
                now_ms: "toInt64(toUnixTimestamp(now())) * 1000",
                table_options: "",
                refresh: None,
                lock: None,
                is_locked: "NULL",
            },
        }
    }

    /// Counts statements of this program's other sessions that still run; `name` is a literal.
    /// Backends that lost their client count as long as they are there.
    pub fn count_running(self, name: &str, lingering: &[i64]) -> String {
        let lingering: Vec<String> = lingering.iter().map(ToString::to_string).collect();
        match self {
            Self::PostgreSql => {
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
            // Statements whose client disconnected are sometimes listed forever.
            Self::CrateDb => "SELECT count(*) FROM sys.jobs WHERE username = current_user \
                              AND stmt LIKE 'INSERT INTO \"%' \
                              AND started > now() - INTERVAL '90 seconds'"
                .to_owned(),
            // A client has no name there but its user's.
            Self::MySql => format!(
                "SELECT count(*) FROM information_schema.processlist \
                 WHERE id <> connection_id() AND user = substring_index(user(), '@', 1) \
                 AND (command NOT IN ('Sleep', 'Daemon', 'Binlog Dump') OR id IN ({}))",
                [vec!["0".to_owned()], lingering].concat().join(",")
            ),
            // What is sent there over HTTP has the name of its client.
            Self::ClickHouse => format!(
                "SELECT count(*) FROM system.processes \
                 WHERE http_user_agent = {name} AND query NOT LIKE '%FROM system.processes%'"
            ),
        }
    }
}
