//! The SQL dialect of a server, from what it reports, and its differences from PostgreSQL's.
//!
//! Must be the only place with such differences.

use highwater_model::op::{BoundTable, Value};
use highwater_model::units::Nanos;
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::condition::{ConditionWords, condition};
use super::quoting::{backquoted, backslashed, escaped, literal, quoted};
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
    /// ClickHouse.
    ClickHouse,
    /// QuestDB.
    QuestDb,
    /// YugabyteDB: PostgreSQL's own statements, above storage of its own.
    YugabyteDb,
}

impl Dialect {
    /// From the answer to `SELECT version()`.
    pub fn of_version(version: &str) -> Self {
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

    /// From a parameter that the server reports at start-up, if it says more than that it is PostgreSQL.
    pub fn of_parameter(name: &str, value: &str) -> Option<Self> {
        match name {
            "crdb_version" => Some(Self::CockroachDb),
            "crate_version" => Some(Self::CrateDb),
            "questdb_version" => Some(Self::QuestDb),
            "server_version" if value.contains(YUGABYTE) => Some(Self::YugabyteDb),
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
            Self::ClickHouse => &["clickhouse"],
            Self::QuestDb => &["questdb"],
            Self::YugabyteDb => &["yugabytedb", "postgresql"],
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Properties of tables besides columns.
    pub fn table_features(self) -> TableFeatures {
        TableFeatures { shards: self == Self::CrateDb, settings: self != Self::QuestDb }
    }

    /// The statement that selects a database if none was named, if one is needed.
    pub fn without_database(self) -> Option<&'static str> {
        (self == Self::CockroachDb).then_some("SET database = defaultdb")
    }

    /// The statement that begins every session, if one is needed. YugabyteDB commits every 20,000 rows of a
    /// COPY, and with the second setting writes those of a colocated table without a transaction; a version
    /// that does not know these settings copies in one transaction.
    pub fn at_start(self) -> Option<&'static str> {
        (self == Self::YugabyteDb).then_some(
            "SELECT set_config(name, '0', false) FROM (VALUES \
             ('yb_default_copy_from_rows_per_transaction'), ('yb_fast_path_for_colocated_copy')) \
             AS s (name) WHERE current_setting(name, true) IS NOT NULL",
        )
    }

    /// A condition on `information_schema.columns` that leaves out what the server adds unseen,
    /// such as the bucket of a hash-sharded key.
    pub fn shown_columns(self) -> &'static str {
        match self {
            Self::CockroachDb => " AND is_hidden = 'NO'",
            _ => "",
        }
    }

    /// Why a server of this version cannot apply `COPY … FROM STDIN` as a whole, if so.
    pub fn copies(self, version: &str) -> Result<(), &'static str> {
        match self {
            Self::CockroachDb if release(version).is_some_and(|release| release < (22, 2)) => {
                Err("before version 22.2 the server commits every 100 rows of a COPY")
            }
            Self::PostgreSql | Self::CockroachDb | Self::YugabyteDb => Ok(()),
            _ => Err("the server has no COPY FROM STDIN"),
        }
    }

    /// Whether there are transactions, so that a failed statement leaves something that ROLLBACK
    /// has to end; CrateDB has neither, and takes BEGIN for nothing. QuestDB's are of inserts alone:
    /// a query within one does not see them, and an UPDATE ends it.
    pub fn rolls_back(self) -> bool {
        !matches!(self, Self::CrateDb | Self::ClickHouse | Self::QuestDb)
    }

    /// Whether an insert of several rows is applied as a whole or not at all.
    pub fn inserts_whole(self) -> bool {
        self.rolls_back() || self == Self::QuestDb
    }

    /// Whether a statement that ends as canceled has changed nothing. YugabyteDB looks for that after its
    /// storage has answered, and the storage commits a write of one row by itself.
    pub fn cancels_whole(self) -> bool {
        self != Self::YugabyteDb
    }

    /// Whether rows can only be added: then what changes is a further row, and the newest one counts.
    pub fn only_appends(self) -> bool {
        self == Self::ClickHouse
    }

    /// Characters of one statement, at most; CrateDB's `statement_max_length`.
    pub fn statement_length_max(self) -> usize {
        match self {
            Self::CrateDb => 262_144,
            _ => usize::MAX,
        }
    }

    /// How long an insert that lost its client may still lie unread in the server's sockets while no
    /// statement is listed; elsewhere the list of backends shows it.
    pub fn unread_inserts(self) -> Option<Nanos> {
        match self {
            // Neither lists inserts long enough, or at all, to be seen.
            Self::CrateDb | Self::QuestDb => Some(Nanos::from_secs(10)),
            // A thread of its own waits for each connection, and lists the statement before it reads
            // the rows: this is a thousand times as long as it takes to wake it.
            Self::ClickHouse => Some(Nanos::SECOND),
            Self::PostgreSql | Self::CockroachDb | Self::MySql | Self::YugabyteDb => None,
        }
    }

    /// Whether several statements before one Sync need BEGIN and COMMIT to be one transaction. In YugabyteDB
    /// a write of one row outside of a transaction block commits by itself.
    pub fn wraps_pipelines(self) -> bool {
        matches!(self, Self::CockroachDb | Self::YugabyteDb)
    }

    /// Makes what was written to the table of that name visible, or waits until it is, where that takes
    /// a statement.
    pub fn refresh(self, table: &str) -> Option<String> {
        match self {
            Self::CrateDb => Some(format!("REFRESH TABLE {}", self.identifier(table))),
            Self::QuestDb => Some(format!("SELECT wait_wal_table({})", self.literal(table))),
            _ => None,
        }
    }

    /// `key / width` of integers, rounded down, for keys that are not negative.
    pub fn divide(self, key: &str, width: i64) -> String {
        let quotient = self.quotient().replace("{dividend}", key);
        quotient.replace("{divisor}", &self.integer(width))
    }

    /// How it writes the whole part of `{dividend}` by `{divisor}`.
    pub fn quotient(self) -> &'static str {
        match self {
            // Its `/` makes a decimal of two integers.
            Self::CockroachDb => "{dividend} // {divisor}",
            Self::PostgreSql | Self::CrateDb | Self::QuestDb | Self::YugabyteDb => {
                "{dividend} / {divisor}"
            }
            Self::MySql => "{dividend} DIV {divisor}",
            Self::ClickHouse => "intDiv({dividend}, {divisor})",
        }
    }

    /// A literal that is a 64-bit integer with a sign, also among others of its kind.
    pub fn integer(self, number: i64) -> String {
        match self {
            // A literal has the narrowest type that holds it, without a sign where it can, and two
            // integers of which one has a sign have no type in common.
            Self::ClickHouse => format!("toInt64({number})"),
            _ => number.to_string(),
        }
    }

    /// The product of two integers that are not negative, to be added up; a sum of 64 bits without a
    /// sign wraps in ClickHouse, which the reader of the sum expects.
    pub fn product(self, one: &str, other: &str) -> String {
        match self {
            Self::ClickHouse => format!("toUInt64({one}) * toUInt64({other})"),
            _ => format!("({one}) * {other}"),
        }
    }

    /// The name of a value in an inner query. Where it would stand for the column of that name in the
    /// whole of that query, it is one that no column has.
    pub fn inner_name(self, name: &str) -> String {
        match self {
            Self::ClickHouse | Self::QuestDb => format!("highwater_{name}"),
            _ => name.to_owned(),
        }
    }

    /// The first column of a query where its groups and their order are named.
    pub fn first_column(self, name: &'static str) -> &'static str {
        match self {
            // A number is a constant there.
            Self::ClickHouse => name,
            _ => "1",
        }
    }

    /// A timestamp as whole milliseconds since 1970, a bigint.
    pub fn milliseconds(self, column: &str) -> String {
        match self {
            // A double, which is exact here and much cheaper than `extract`, a decimal.
            Self::PostgreSql | Self::YugabyteDb => {
                format!("CAST(date_part('epoch', {column}) * 1000 AS bigint)")
            }
            Self::CockroachDb => format!("CAST(extract(epoch FROM {column}) * 1000 AS bigint)"),
            // ClickHouse's points in time are of seconds: milliseconds are integers.
            Self::CrateDb | Self::ClickHouse => self.bigint(column),
            Self::MySql => format!("{} DIV 1000", microseconds(column)),
            Self::QuestDb => format!("CAST({column} AS long) / 1000"),
        }
    }

    /// A timestamp as milliseconds since 1970, with all its digits.
    pub fn exact_milliseconds(self, column: &str) -> String {
        match self {
            Self::PostgreSql | Self::CockroachDb | Self::YugabyteDb => {
                format!("extract(epoch FROM {column}) * 1000")
            }
            Self::CrateDb | Self::ClickHouse => self.milliseconds(column),
            Self::MySql => format!("{} / 1000", microseconds(column)),
            // A double has all of them until the year 2255.
            Self::QuestDb => format!("CAST({column} AS long) / 1000.0"),
        }
    }

    /// A quoted identifier, whatever the name contains.
    pub fn identifier(self, name: &str) -> String {
        match self {
            Self::MySql => backquoted(name),
            Self::ClickHouse => backquoted(&name.replace('\\', "\\\\")),
            _ => escape_identifier(name),
        }
    }

    /// A text literal.
    pub fn literal(self, text: &str) -> String {
        match self {
            Self::PostgreSql | Self::CockroachDb | Self::YugabyteDb => escape_literal(text),
            Self::CrateDb | Self::QuestDb => literal(text),
            Self::MySql => backslashed(text),
            Self::ClickHouse => escaped(text),
        }
    }

    /// An expression as a 64-bit integer.
    pub fn bigint(self, expression: &str) -> String {
        match self {
            Self::MySql => format!("CAST({expression} AS SIGNED)"),
            Self::ClickHouse => format!("toInt64({expression})"),
            _ => format!("CAST({expression} AS bigint)"),
        }
    }

    /// A boolean as 1 or 0, null where it is null.
    pub fn boolean(self, name: &str) -> String {
        match self {
            Self::ClickHouse => self.bigint(name),
            _ => format!("CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END"),
        }
    }

    /// An expression in double precision.
    pub fn double(self, expression: &str) -> String {
        match self {
            Self::MySql => format!("CAST({expression} AS DOUBLE)"),
            Self::ClickHouse => format!("toFloat64({expression})"),
            // Within a CASE it takes the second word for another one.
            Self::QuestDb => format!("CAST({expression} AS double)"),
            _ => format!("CAST({expression} AS double precision)"),
        }
    }

    /// What keeps a planner from computing the expressions of an inner query again in each of the
    /// outer ones, at the end of the inner one.
    pub fn fence(self) -> &'static str {
        match self {
            // MySQL would write the whole inner query to a temporary table; CrateDB would fetch it to one
            // node, and computes each of its expressions once anyhow, where the rows are.
            Self::MySql | Self::ClickHouse | Self::QuestDb | Self::CrateDb => "",
            _ => " OFFSET 0",
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
            // The table itself says that a row replaces those with its key.
            Self::QuestDb => String::new(),
            _ => format!("ON CONFLICT ({key}) DO UPDATE SET {set}"),
        }
    }

    /// See [`crate::contract::TableReader::condition`].
    pub fn condition(self, table: &BoundTable, row: &[Value]) -> String {
        let words = ConditionWords {
            quoted: match self {
                Self::MySql | Self::ClickHouse => backquoted,
                _ => quoted,
            },
            // Without backslashes, all of them write a text alike.
            literal,
            booleans: match self {
                Self::ClickHouse => ["0", "1"],
                _ => ["FALSE", "TRUE"],
            },
            milliseconds: &|column| self.exact_milliseconds(column),
            attribute: &|column, attribute| self.attribute(column, attribute),
        };
        condition(&words, table, row)
    }

    /// Whether a bigint is in a list of integers; servers look it up by hash where they can.
    pub fn one_of(self, value: &str, list: &str) -> String {
        match self {
            Self::PostgreSql => format!("{value} = ANY ('{{{list}}}'::bigint[])"),
            _ => format!("{value} IN ({list})"),
        }
    }

    /// A query of one row that gives the transaction of an audit's statement, which is sent with it,
    /// settings of its own: those of the database or of the user may have changed since the load, and
    /// change how values come back. PostgreSQL besides takes the rows that its workers would hand over
    /// for so costly that it computes every checksum in one process. What a server does not know of these
    /// settings is left as it is; nobody needs the right to read their view, which can be taken away. CockroachDB has none for one transaction before version 22: they are the session's,
    /// which is the audit's own.
    pub fn audit_settings(self) -> Option<&'static str> {
        match self {
            Self::PostgreSql | Self::YugabyteDb => Some(
                "SELECT count(set_config(name, value, true)) FROM \
                 (VALUES ('extra_float_digits', '3'), ('DateStyle', 'ISO, YMD'), \
                 ('IntervalStyle', 'postgres'), ('TimeZone', 'UTC'), ('bytea_output', 'hex'), \
                 ('lc_monetary', 'C'), \
                 ('parallel_setup_cost', '0'), ('parallel_tuple_cost', '0')) \
                 AS v (name, value) WHERE current_setting(name, true) IS NOT NULL",
            ),
            Self::CockroachDb => Some(
                "SELECT set_config('extra_float_digits', '3', false), \
                 set_config('datestyle', 'ISO, MDY', false), \
                 set_config('intervalstyle', 'postgres', false), \
                 set_config('timezone', 'UTC', false), set_config('bytea_output', 'hex', false)",
            ),
            _ => None,
        }
    }

    /// The end of an audit's statement: ClickHouse's settings for one statement. A profile may have a limit at which a
    /// query ends early and answers from a part of the rows; here it fails. A `frugal` statement takes little memory
    /// where smaller parts of a table do not by themselves: each thread reads each column through a buffer of 1 MiB.
    pub fn audit_ending(self, frugal: bool) -> &'static str {
        macro_rules! whole {
            ($more:literal) => {
                concat!(
                    " SETTINGS read_overflow_mode = 'throw', timeout_overflow_mode = 'throw', \
                     group_by_overflow_mode = 'throw', sort_overflow_mode = 'throw', \
                     set_overflow_mode = 'throw', distinct_overflow_mode = 'throw'",
                    $more
                )
            };
        }
        match (self, frugal) {
            (Self::ClickHouse, true) => {
                whole!(", max_threads = 1, max_block_size = 4096, max_read_buffer_size = 65536")
            }
            (Self::ClickHouse, false) => whole!(""),
            _ => "",
        }
    }

    /// The query of whether rows of a table may be hidden from this user: `t` if so.
    pub fn hides_rows(self, table: &str) -> Option<String> {
        let name = escape_literal(&self.identifier(table));
        matches!(self, Self::PostgreSql | Self::YugabyteDb)
            .then(|| format!("SELECT pg_catalog.row_security_active(CAST({name} AS regclass))"))
    }
}

/// What YugabyteDB has between PostgreSQL's version and its own.
const YUGABYTE: &str = "-YB-";

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
            ("PostgreSQL 15.7 (Debian)", Dialect::PostgreSql, "postgresql"),
            ("CockroachDB CCL v20.1.8", Dialect::CockroachDb, "cockroachdb"),
            ("CrateDB 5.7.0 (built …)", Dialect::CrateDb, "cratedb"),
            (
                "PostgreSQL 11.2-YB-2.13.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 12.0.1",
                Dialect::YugabyteDb,
                "yugabytedb",
            ),
        ] {
            assert_eq!(Dialect::of_version(version), dialect);
            assert_eq!(dialect.names()[0], best);
            assert_eq!(dialect.names().last().unwrap(), "postgresql");
        }
        // As 9.3.4 answers; statements of PostgreSQL are none of its.
        let version = "PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB";
        assert_eq!(Dialect::of_version(version), Dialect::QuestDb);
        assert_eq!(Dialect::of_parameter("questdb_version", "9.3.4"), Some(Dialect::QuestDb));
        assert_eq!(Dialect::QuestDb.names(), ["questdb"]);
    }

    #[test]
    fn the_version_at_start_up_identifies_a_relative_that_has_no_parameter_of_its_own() {
        // As its issues have them: yugabyte/yugabyte-db#5154 and #2447.
        for (value, dialect) in [
            ("15.12-YB-2025.2.6.0-b0", Some(Dialect::YugabyteDb)),
            ("11.2-YB-2.0.0.0-b0", Some(Dialect::YugabyteDb)),
            ("15.7 (Debian 15.7-0+deb12u1)", None),
            ("13.0.0", None),
        ] {
            assert_eq!(Dialect::of_parameter("server_version", value), dialect);
        }
        assert_eq!(Dialect::of_parameter("application_name", "a-YB-b"), None);
    }

    #[test]
    fn what_was_written_is_waited_for_by_the_name_of_the_table() {
        let waits = Dialect::QuestDb.refresh("it's");
        assert_eq!(waits.as_deref(), Some("SELECT wait_wal_table('it''s')"));
        let refreshes = Dialect::CrateDb.refresh("a\"b");
        assert_eq!(refreshes.as_deref(), Some("REFRESH TABLE \"a\"\"b\""));
        assert_eq!(Dialect::PostgreSql.refresh("t"), None);
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
