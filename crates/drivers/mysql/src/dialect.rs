//! The SQL of MySQL, MariaDB, and relatives.

use highwater_driver::sql::dialect::{DeclaredTypes, Dialect};
use highwater_driver::sql::dialect::{backquoted, backslashed};
use highwater_driver::sql::leases::LeaseWords;
use highwater_driver::sql::with_clause::with_options;

/// The engine of Highwater's own tables: the server's default engine may store nothing, such as BLACKHOLE.
const ENGINE: &str = " ENGINE=InnoDB";
const KEY_TEXT: &str = "VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// Its SQL.
pub const MYSQL: Dialect = Dialect {
    identifier: backquoted,
    literal: backslashed,
    quotient: "{dividend} DIV {divisor}",
    bigint: "CAST({} AS SIGNED)",
    double: "CAST({} AS DOUBLE)",
    milliseconds: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {}) DIV 1000",
    exact_milliseconds: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {}) / 1000",
    // Its `concat` with a null is null.
    concat: "concat_ws('', ",
    attribute: |column, attribute| {
        let name = attribute.replace('\\', "\\\\").replace('"', "\\\"");
        format!("JSON_VALUE({column}, {})", backslashed(&format!("$.\"{name}\"")))
    },
    // The bytes of UTF-8, whatever the column's character set.
    hash: "CAST(CONV(SUBSTRING(MD5(CONVERT({} USING utf8mb4)), 1, 7), 16, 10) AS SIGNED)",
    number_of_hash: str::to_owned,
    declared: Some(DeclaredTypes {
        columns: "SELECT column_name, column_type, version() LIKE '%MariaDB%' \
                  FROM information_schema.columns \
                  WHERE table_schema = database() AND table_name = {name}",
        times: &["datetime", "timestamp"],
        as_sent: None,
        several_texts: &[
            "numeric",
            "decimal",
            "tinyint",
            "smallint",
            "mediumint",
            "int",
            "integer",
            "bigint",
            "real",
            "double",
            "double precision",
            "json",
        ],
    }),
    with_settings: |create, settings| with_options(create, settings, backslashed),
    key_text: KEY_TEXT,
    registry_options: ENGINE,
    on_duplicate: |_, columns| {
        let set: Vec<String> =
            columns.iter().map(|name| format!("{name} = VALUES({name})")).collect();
        format!("ON DUPLICATE KEY UPDATE {}", set.join(", "))
    },
    exists: "SELECT count(*) FROM information_schema.tables \
             WHERE table_schema = database() AND table_name = {name}",
    without_transactions: Some(
        "SELECT e.engine FROM information_schema.tables AS t \
         JOIN information_schema.engines AS e ON e.engine = t.engine \
         WHERE table_schema = database() AND table_name = {name} \
         AND e.transactions = 'NO'",
    ),
    statements_remark: Some("The queries that this server runs are not counted here"),
    ..Dialect::standard(
        &["mysql"],
        // Named locks belong to a node, and are not shared between the nodes of a cluster.
        LeaseWords {
            or_ignore: "ON DUPLICATE KEY UPDATE share = VALUES(share)",
            table_options: ENGINE,
            ..LeaseWords::plain(
                backslashed,
                KEY_TEXT,
                "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
            )
        },
        // Clients are identified only by their user.
        "SELECT count(*) FROM information_schema.processlist \
         WHERE id <> connection_id() AND user = substring_index(user(), '@', 1) \
         AND (command NOT IN ('Sleep', 'Daemon', 'Binlog Dump') OR id IN ({lingering}))",
    )
};
