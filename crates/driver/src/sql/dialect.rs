//! The SQL dialect of a server, from what it reports, and its differences from PostgreSQL's.
//!
//! Must be the only place with such differences.

use highwater_model::op::{BoundTable, Value};
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::condition::{ConditionWords, condition};
use super::leases::LeaseWords;
use super::quoting::{backquoted, backslashed, literal, quoted};
use super::table_words::TableWords;
use super::with_clause::{with_options, with_settings};
use crate::contract::TableFeatures;

/// The product behind the wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL, and what calls itself so.
    PostgreSql,
    /// CockroachDB.
    CockroachDb,
    /// CrateDB.
    CrateDb,
    /// MySQL, MariaDB and relatives.
    MySql,
}

impl Dialect {
    /// From the answer to `SELECT version()`.
    pub fn of_version(version: &str) -> Self {
        if version.starts_with("CockroachDB") {
            Self::CockroachDb
        } else if version.starts_with("CrateDB") {
            Self::CrateDb
        } else {
            Self::PostgreSql
        }
    }

    /// From the name of a parameter that the server reports at start-up.
    pub fn of_parameter(name: &str) -> Option<Self> {
        match name {
            "crdb_version" => Some(Self::CockroachDb),
            "crate_version" => Some(Self::CrateDb),
            _ => None,
        }
    }

    /// Names of the SQL dialects that it understands, best first.
    pub fn names(self) -> Vec<String> {
        let names: &[&str] = match self {
            Self::PostgreSql => &["postgresql"],
            Self::CockroachDb => &["cockroachdb", "postgresql"],
            Self::CrateDb => &["cratedb", "postgresql"],
            Self::MySql => &["mysql"],
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Properties of tables besides columns.
    pub fn table_features(self) -> TableFeatures {
        TableFeatures {
            shards: self == Self::CrateDb,
            settings: true,
        }
    }

    /// The statement that selects a database if none was named, if one is needed.
    pub fn without_database(self) -> Option<&'static str> {
        (self == Self::CockroachDb).then_some("SET database = defaultdb")
    }

    /// A condition on `information_schema.columns` that leaves out what the server adds unseen,
    /// such as the bucket of a hash-sharded key.
    pub fn shown_columns(self) -> &'static str {
        match self {
            Self::CockroachDb => " AND is_hidden = 'NO'",
            Self::PostgreSql | Self::CrateDb | Self::MySql => "",
        }
    }

    /// Why a server of this version cannot apply `COPY … FROM STDIN` as a whole, if so.
    pub fn copies(self, version: &str) -> Result<(), &'static str> {
        match self {
            Self::CockroachDb if release(version).is_some_and(|release| release < (22, 2)) => {
                Err("before version 22.2 the server commits every 100 rows of a COPY")
            }
            Self::PostgreSql | Self::CockroachDb => Ok(()),
            Self::CrateDb | Self::MySql => Err("the server has no COPY FROM STDIN"),
        }
    }

    /// Whether there are transactions, so that a failed statement leaves something that ROLLBACK
    /// has to end; CrateDB has neither, and takes BEGIN for nothing.
    pub fn rolls_back(self) -> bool {
        self != Self::CrateDb
    }

    /// Characters of one statement, at most; CrateDB's `statement_max_length`.
    pub fn statement_length_max(self) -> usize {
        match self {
            Self::PostgreSql | Self::CockroachDb | Self::MySql => usize::MAX,
            Self::CrateDb => 262_144,
        }
    }

    /// Whether an insert that lost its client may still lie unread in the server's sockets when no
    /// statement is listed; elsewhere the list of backends shows it.
    pub fn hides_unread_inserts(self) -> bool {
        self == Self::CrateDb
    }

    /// Whether several statements before one Sync need BEGIN and COMMIT to be one transaction.
    pub fn wraps_pipelines(self) -> bool {
        self == Self::CockroachDb
    }

    /// Makes what was written to a table visible, where that takes a statement.
    pub fn refresh(self, table: &str) -> Option<String> {
        (self == Self::CrateDb).then(|| format!("REFRESH TABLE {table}"))
    }

    /// `key / width` of integers, rounded down, for keys that are not negative.
    pub fn divide(self, key: &str, width: i64) -> String {
        let quotient = self.quotient().replace("{dividend}", key);
        quotient.replace("{divisor}", &width.to_string())
    }

    /// How it writes the whole part of `{dividend}` by `{divisor}`.
    pub fn quotient(self) -> &'static str {
        match self {
            // Its `/` makes a decimal of two integers.
            Self::CockroachDb => "{dividend} // {divisor}",
            Self::PostgreSql | Self::CrateDb => "{dividend} / {divisor}",
            Self::MySql => "{dividend} DIV {divisor}",
        }
    }

    /// A timestamp as whole milliseconds since 1970, a bigint.
    pub fn milliseconds(self, column: &str) -> String {
        match self {
            // A double, which is exact here and much cheaper than `extract`, a decimal.
            Self::PostgreSql => format!("CAST(date_part('epoch', {column}) * 1000 AS bigint)"),
            Self::CockroachDb => format!("CAST(extract(epoch FROM {column}) * 1000 AS bigint)"),
            Self::CrateDb => format!("CAST({column} AS bigint)"),
            Self::MySql => format!("{} DIV 1000", microseconds(column)),
        }
    }

    /// A timestamp as milliseconds since 1970, with all its digits.
    pub fn exact_milliseconds(self, column: &str) -> String {
        match self {
            Self::PostgreSql | Self::CockroachDb => format!("extract(epoch FROM {column}) * 1000"),
            Self::CrateDb => format!("CAST({column} AS bigint)"),
            Self::MySql => format!("{} / 1000", microseconds(column)),
        }
    }

    /// An attribute of a JSON object as text; the column is quoted, the attribute is not.
    pub fn attribute(self, column: &str, attribute: &str) -> String {
        match self {
            Self::PostgreSql | Self::CockroachDb => {
                format!("{column} ->> {}", escape_literal(attribute))
            }
            Self::CrateDb => format!("{column}[{}]", literal(attribute)),
            Self::MySql => {
                let name = attribute.replace('\\', "\\\\").replace('"', "\\\"");
                format!(
                    "JSON_VALUE({column}, {})",
                    backslashed(&format!("$.\"{name}\""))
                )
            }
        }
    }

    /// Texts put together, null ones left out.
    pub fn concat(self, parts: &[String]) -> String {
        match self {
            // Its `concat` of a null is null.
            Self::MySql => format!("concat_ws('', {})", parts.join(", ")),
            _ => format!("concat({})", parts.join(", ")),
        }
    }

    /// A quoted identifier, whatever the name contains.
    pub fn identifier(self, name: &str) -> String {
        match self {
            Self::MySql => backquoted(name),
            _ => escape_identifier(name),
        }
    }

    /// A text literal.
    pub fn literal(self, text: &str) -> String {
        match self {
            Self::PostgreSql | Self::CockroachDb => escape_literal(text),
            Self::CrateDb => literal(text),
            Self::MySql => backslashed(text),
        }
    }

    /// An expression as a 64-bit integer.
    pub fn bigint(self, expression: &str) -> String {
        match self {
            Self::MySql => format!("CAST({expression} AS SIGNED)"),
            _ => format!("CAST({expression} AS bigint)"),
        }
    }

    /// An expression in double precision.
    pub fn double(self, expression: &str) -> String {
        match self {
            Self::MySql => format!("CAST({expression} AS DOUBLE)"),
            _ => format!("CAST({expression} AS double precision)"),
        }
    }

    /// What keeps a planner from computing the expressions of an inner query again in each of the
    /// outer ones, at the end of the inner one.
    pub fn fence(self) -> &'static str {
        match self {
            // It would write the whole inner query to a temporary table.
            Self::MySql => "",
            _ => " OFFSET 0",
        }
    }

    /// The type of a text that is a part of a primary key.
    pub fn key_text(self) -> &'static str {
        match self {
            Self::MySql => "VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            _ => "TEXT",
        }
    }

    /// How an INSERT goes on that replaces these columns of a row with the same key.
    pub fn on_duplicate(self, key: &str, columns: &[String]) -> String {
        let set: Vec<String> = columns
            .iter()
            .map(|name| match self {
                Self::MySql => format!("{name} = VALUES({name})"),
                _ => format!("{name} = excluded.{name}"),
            })
            .collect();
        let set = set.join(", ");
        match self {
            Self::MySql => format!("ON DUPLICATE KEY UPDATE {set}"),
            _ => format!("ON CONFLICT ({key}) DO UPDATE SET {set}"),
        }
    }

    /// See [`crate::contract::TableReader::condition`].
    pub fn condition(self, table: &BoundTable, row: &[Value]) -> String {
        let words = ConditionWords {
            quoted: match self {
                Self::MySql => backquoted,
                _ => quoted,
            },
            // Without backslashes, all of them write a text alike.
            literal,
            milliseconds: &|column| self.exact_milliseconds(column),
            attribute: &|column, attribute| self.attribute(column, attribute),
        };
        condition(&words, table, row)
    }

    /// What [`Self::number_of_hash`] makes the integer for a text of, computed once per row.
    pub fn hash(self, text: &str) -> String {
        match self {
            Self::PostgreSql => {
                format!("CAST(CAST('x' || substr(md5({text}), 1, 7) AS bit(28)) AS integer)")
            }
            Self::CockroachDb | Self::CrateDb => format!("substr(md5({text}), 1, 7)"),
            // The bytes of UTF-8, whatever the column's character set.
            Self::MySql => format!(
                "CAST(CONV(SUBSTRING(MD5(CONVERT({text} USING utf8mb4)), 1, 7), 16, 10) AS SIGNED)"
            ),
        }
    }

    /// The first seven hexadecimal digits of an MD5 as an integer.
    pub fn number_of_hash(self, hash: &str) -> String {
        if self == Self::PostgreSql {
            return format!("CAST({hash} AS bigint)");
        }
        if self == Self::MySql {
            return hash.to_owned();
        }
        let digits: Vec<String> = (0..7)
            .map(|at| {
                format!(
                    "(strpos('0123456789abcdef', substr({hash}, {}, 1)) - 1) * {}",
                    at + 1,
                    1_u64 << (4 * (6 - at))
                )
            })
            .collect();
        format!("CAST({} AS bigint)", digits.join(" + "))
    }

    /// Whether a bigint is in a list of integers; servers look it up by hash where they can.
    pub fn one_of(self, value: &str, list: &str) -> String {
        match self {
            Self::PostgreSql => format!("{value} = ANY ('{{{list}}}'::bigint[])"),
            _ => format!("{value} IN ({list})"),
        }
    }

    /// The statement to run before reading a whole table. PostgreSQL takes the rows that its
    /// workers would hand over for so costly that it computes every checksum in one process; a
    /// server that does not know these settings is left as it is.
    pub fn before_full_scan(self) -> Option<&'static str> {
        match self {
            Self::PostgreSql => Some(
                "SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings \
                 WHERE name IN ('parallel_setup_cost', 'parallel_tuple_cost')",
            ),
            Self::CockroachDb | Self::CrateDb | Self::MySql => None,
        }
    }

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
                refresh: Some("REFRESH TABLE highwater_tables"),
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
        }
    }
}

/// A timestamp as microseconds since 1970, in MySQL's words.
fn microseconds(column: &str) -> String {
    format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {column})")
}

/// The year and number of a release such as `CockroachDB CCL v20.1.8 (x86_64 …)`.
fn release(version: &str) -> Option<(u32, u32)> {
    let (_, number) = version.split_once(" v")?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_identifies_the_dialect() {
        for (version, dialect, best) in [
            (
                "PostgreSQL 15.7 (Debian)",
                Dialect::PostgreSql,
                "postgresql",
            ),
            (
                "CockroachDB CCL v20.1.8",
                Dialect::CockroachDb,
                "cockroachdb",
            ),
            ("CrateDB 5.7.0 (built …)", Dialect::CrateDb, "cratedb"),
        ] {
            assert_eq!(Dialect::of_version(version), dialect);
            assert_eq!(dialect.names()[0], best);
            assert_eq!(dialect.names().last().unwrap(), "postgresql");
        }
    }

    #[test]
    fn rows_are_copied_only_where_they_are_copied_as_a_whole() {
        let copies = |version| Dialect::CockroachDb.copies(version).is_ok();
        for (version, whole) in [
            ("CockroachDB CCL v20.1.8 (x86_64)", false),
            ("CockroachDB CCL v22.1.22", false),
            ("CockroachDB CCL v22.2.0-rc.1", true),
            ("CockroachDB CCL v23.1.11", true),
            ("of tomorrow", true),
        ] {
            assert_eq!(copies(version), whole, "{version}");
        }
        assert!(Dialect::CrateDb.copies("6.4.3").is_err());
    }
}
