//! The SQL of MySQL, MariaDB, and relatives, and the description of a table for generating a workload file from it: its
//! columns, a sample of their values, and its indexes.

use highwater_driver::sql::connection::{SqlConnection, values};
use highwater_driver::sql::dialect::{DeclaredTypes, Dialect, backquoted, backslashed};
use highwater_driver::sql::facts::{count_rows, indexes, not_there, number, sample_column};
use highwater_driver::sql::leases::LeaseWords;
use highwater_driver::sql::with_clause::with_options;
use highwater_model::op::ColumnType;
use highwater_model::table_shape::{ColumnShape, TableShape};
use highwater_model::user_error::UserError;

use super::wire::Connection;

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

/// Target type of casts to text.
const TEXT_TYPE: &str = "char";

/// Describes a table of the database.
pub(super) async fn describe(
    connection: &mut SqlConnection<Connection>,
    table: &str,
) -> Result<TableShape, UserError> {
    let named = format!("table_schema = database() AND table_name = {}", MYSQL.literal(table));
    let columns = connection
        .rows(&format!(
            "SELECT column_name, column_type, is_nullable, extra, table_schema \
             FROM information_schema.columns WHERE {named} ORDER BY ordinal_position"
        ))
        .await?;
    let Some(first) = columns.first() else {
        return Err(not_there(connection.place(), table));
    };
    let from = MYSQL.identifier(table);
    let rows_all = connection
        .rows(&format!("SELECT table_rows FROM information_schema.tables WHERE {named}"))
        .await?;
    // An index on a prefix of a text, or not of type BTREE, has no list of columns.
    let indexed = connection
        .rows(&format!(
            "SELECT index_name, non_unique = 0, index_type = 'BTREE' AND sub_part IS NULL, \
             column_name \
             FROM information_schema.statistics WHERE {named} ORDER BY index_name, seq_in_index"
        ))
        .await?;
    let mut shape = TableShape {
        rows: count_rows(connection, &from).await?,
        rows_all: Some(number(&rows_all, 0)).filter(|rows| *rows > 0),
        indexes: indexes(indexed),
        ..MYSQL.table_shape(table, first.get(4).cloned().flatten())
    };
    for column in columns {
        let [name, declared, nullable, extra] = values(column);
        let mut column = ColumnShape::new(name, &declared, kind_of(&declared));
        column.required = nullable.eq_ignore_ascii_case("no");
        column.generated = ["GENERATED", "VIRTUAL", "PERSISTENT", "STORED"]
            .iter()
            .any(|word| extra.to_uppercase().contains(word));
        if let (Some(kind), false) = (column.kind, column.generated) {
            let name = MYSQL.identifier(&column.name);
            let value = match kind {
                ColumnType::Timestamp => MYSQL.milliseconds(&name),
                // The written value is read back with all its digits.
                ColumnType::Float => MYSQL.double(&name),
                _ => name,
            };
            sample_column(connection, &from, &value, TEXT_TYPE, &mut column).await?;
        }
        shape.columns.push(column);
    }
    Ok(shape)
}

/// The workload type for a server type; `None` if no generator supports it.
fn kind_of(declared: &str) -> Option<ColumnType> {
    let declared = declared.to_lowercase();
    if declared == "tinyint(1)" {
        return Some(ColumnType::Boolean);
    }
    let word = declared.split(['(', ' ']).next().unwrap_or_default();
    match word {
        "tinyint" | "smallint" | "mediumint" | "int" => Some(ColumnType::Integer),
        "bigint" => Some(ColumnType::Bigint),
        "float" | "double" => Some(ColumnType::Float),
        "datetime" | "timestamp" => Some(ColumnType::Timestamp),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
            Some(ColumnType::Text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_that_a_generator_makes() {
        for (declared, kind) in [
            ("tinyint(1)", Some(ColumnType::Boolean)),
            ("tinyint(4)", Some(ColumnType::Integer)),
            ("int(10) unsigned", Some(ColumnType::Integer)),
            ("bigint(20)", Some(ColumnType::Bigint)),
            ("DATETIME(3)", Some(ColumnType::Timestamp)),
            ("varchar(64)", Some(ColumnType::Text)),
            ("decimal(10,2)", None),
            ("blob", None),
        ] {
            assert_eq!(kind_of(declared), kind, "{declared}");
        }
    }
}
