//! The SQL of MySQL, MariaDB, and relatives, and the description of a table for generating a workload file from it: its
//! columns, a sample of their values, and its indexes.

use highwater_driver::sql::connection::{SqlConnection, first_value, values};
use highwater_driver::sql::dialect::{DeclaredTypes, Dialect, backquoted, backslashed};
use highwater_driver::sql::facts::{count_rows, indexes, not_there, number, sample_column};
use highwater_driver::sql::leases::LeaseWords;
use highwater_driver::sql::with_clause::with_options;
use highwater_model::op::ColumnType;
use highwater_model::table_shape::{CheckShape, ColumnShape, TableShape};
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
        singles: &["float"],
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
    let is_original = connection.rows("SELECT version() LIKE '%MariaDB%'").await?;
    let is_original = first_value(is_original).as_deref() == Some("1");
    let rest = if is_original { REST } else { "NULL" };
    let columns = connection
        .rows(&format!(
            "SELECT column_name, column_type, is_nullable, extra, table_schema, collation_name, \
             {rest} FROM information_schema.columns WHERE {named} ORDER BY ordinal_position"
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
    if is_original {
        constraints(connection, &mut shape).await?;
    }
    for column in columns {
        let (mut column, value) = column_of(column, is_original, &shape.checks);
        if let Some(value) = value {
            sample_column(connection, &from, &value, TEXT_TYPE, &mut column).await?;
        }
        shape.columns.push(column);
    }
    Ok(shape)
}

/// A column of the catalog, and the expression of its values in a sample if a generator makes them.
fn column_of(
    row: Vec<Option<String>>,
    is_original: bool,
    checks: &[CheckShape],
) -> (ColumnShape, Option<String>) {
    let [collation, rest] = [5, 6].map(|at| row.get(at).cloned().flatten());
    let [name, declared, nullable, extra] = values(row);
    let quoted = MYSQL.identifier(&name);
    let json = format!("json_valid({quoted})");
    let (kind, reading) = kind_of(&declared).unzip();
    let mut column = ColumnShape::new(name, &declared, kind);
    if let (Some(collation), true) = (collation, is_original) {
        let set = collation.split('_').next().unwrap_or_default();
        column.declared = format!("{declared} CHARACTER SET {set} COLLATE {collation}");
    }
    column.rest = rest;
    column.sampled = kind == Some(ColumnType::Text)
        && (reading == Some(Reading::Sampled)
            || checks.iter().any(|check| check.text.contains(&json)));
    column.required = nullable.eq_ignore_ascii_case("no");
    column.generated = ["GENERATED", "VIRTUAL", "PERSISTENT", "STORED"]
        .iter()
        .any(|word| extra.to_uppercase().contains(word));
    let value = match (kind.unwrap_or(ColumnType::Text), reading) {
        (ColumnType::Timestamp, _) => MYSQL.milliseconds(&quoted),
        // The written value is read back with all its digits.
        (ColumnType::Float, _) => MYSQL.double(&quoted),
        // As many letters as bytes.
        (_, Some(Reading::Bytes)) => format!("left(hex({quoted}), length({quoted}))"),
        (_, Some(Reading::Bits)) => {
            column.checked = Some(MYSQL.bigint(&quoted));
            MYSQL.bigint(&quoted)
        }
        _ => quoted,
    };
    let is_made = kind.is_some() && !column.generated;
    (column, is_made.then_some(value))
}

/// What follows in a column's declaration.
const REST: &str = "CASE WHEN generation_expression IS NOT NULL THEN concat(' GENERATED ALWAYS AS (', \
     generation_expression, ')', CASE WHEN extra LIKE '%STORED%' OR extra LIKE '%PERSISTENT%' THEN ' STORED' ELSE ' VIRTUAL' END) \
     WHEN column_default <> 'NULL' THEN concat(' DEFAULT ', column_default) ELSE '' END";

/// CHECK constraints, and what a copy does not have: foreign keys, triggers, partitions.
async fn constraints(
    connection: &mut SqlConnection<Connection>,
    shape: &mut TableShape,
) -> Result<(), UserError> {
    let table = MYSQL.literal(&shape.name);
    let checks = connection
        .rows(&format!(
            "SELECT check_clause FROM information_schema.check_constraints \
             WHERE constraint_schema = database() AND table_name = {table} ORDER BY constraint_name"
        ))
        .await?;
    let names = connection
        .rows(&format!(
            "SELECT column_name FROM information_schema.columns \
             WHERE table_schema = database() AND table_name = {table}"
        ))
        .await?;
    for clause in checks.into_iter().filter_map(|row| row.into_iter().next()?) {
        let columns = names.iter().flatten().flatten();
        let columns = columns.filter(|name| clause.contains(&MYSQL.identifier(name)));
        let columns = columns.cloned().collect();
        shape.checks.push(CheckShape { columns, text: format!("CHECK ({clause})") });
    }
    let without = connection
        .rows(&format!(
            "SELECT concat('FOREIGN KEY (', group_concat(column_name ORDER BY ordinal_position), ') REFERENCES ', \
             max(referenced_table_name), ' (', \
             group_concat(referenced_column_name ORDER BY ordinal_position), ')') \
             FROM information_schema.key_column_usage WHERE table_schema = database() \
             AND table_name = {table} AND referenced_table_name IS NOT NULL GROUP BY constraint_name \
             UNION ALL SELECT concat('TRIGGER ', trigger_name, ' ', action_timing, ' ', event_manipulation) \
             FROM information_schema.triggers \
             WHERE event_object_schema = database() AND event_object_table = {table} \
             UNION ALL SELECT DISTINCT concat('PARTITION BY ', partition_method, ' (', partition_expression, ')') \
             FROM information_schema.partitions WHERE table_schema = database() \
             AND table_name = {table} AND partition_method IS NOT NULL"
        ))
        .await?;
    shape.without.extend(without.into_iter().filter_map(|row| row.into_iter().next()?));
    Ok(())
}

/// How the values of a type are read for a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// As they are.
    Plain,
    /// Only texts of the sample are certainly values.
    Sampled,
    /// Bytes, which may be no text.
    Bytes,
    /// Bits, as a number.
    Bits,
}

/// The workload types of server types.
const KINDS: &[(&str, ColumnType, Reading)] = &[
    ("tinyint", ColumnType::Integer, Reading::Plain),
    ("smallint", ColumnType::Integer, Reading::Plain),
    ("mediumint", ColumnType::Integer, Reading::Plain),
    ("year", ColumnType::Integer, Reading::Plain),
    ("int", ColumnType::Integer, Reading::Plain),
    ("bigint", ColumnType::Bigint, Reading::Plain),
    ("bit", ColumnType::Bigint, Reading::Bits),
    ("float", ColumnType::Float, Reading::Plain),
    ("double", ColumnType::Float, Reading::Plain),
    ("decimal", ColumnType::Text, Reading::Sampled),
    ("datetime", ColumnType::Timestamp, Reading::Plain),
    ("timestamp", ColumnType::Timestamp, Reading::Plain),
    ("date", ColumnType::Timestamp, Reading::Plain),
    ("time", ColumnType::Text, Reading::Sampled),
    ("char", ColumnType::Text, Reading::Plain),
    ("varchar", ColumnType::Text, Reading::Plain),
    ("tinytext", ColumnType::Text, Reading::Plain),
    ("text", ColumnType::Text, Reading::Plain),
    ("mediumtext", ColumnType::Text, Reading::Plain),
    ("longtext", ColumnType::Text, Reading::Plain),
    ("json", ColumnType::Text, Reading::Sampled),
    ("enum", ColumnType::Text, Reading::Sampled),
    ("set", ColumnType::Text, Reading::Sampled),
    ("uuid", ColumnType::Text, Reading::Plain),
    ("inet4", ColumnType::Text, Reading::Sampled),
    ("inet6", ColumnType::Text, Reading::Sampled),
    ("binary", ColumnType::Text, Reading::Bytes),
    ("varbinary", ColumnType::Text, Reading::Bytes),
    ("tinyblob", ColumnType::Text, Reading::Bytes),
    ("blob", ColumnType::Text, Reading::Bytes),
    ("mediumblob", ColumnType::Text, Reading::Bytes),
    ("longblob", ColumnType::Text, Reading::Bytes),
];

/// The workload type for a server type, and how it is read; `None` if no generator supports it.
fn kind_of(declared: &str) -> Option<(ColumnType, Reading)> {
    let declared = declared.to_lowercase();
    if declared == "tinyint(1)" {
        return Some((ColumnType::Boolean, Reading::Plain));
    }
    let word = declared.split(['(', ' ']).next().unwrap_or_default();
    let (_, kind, reading) = KINDS.iter().find(|(name, ..)| *name == word)?;
    let is_double = kind == &ColumnType::Text && word == "decimal" && fits_a_double(&declared);
    Some((if is_double { ColumnType::Float } else { *kind }, *reading))
}

/// Whether a double holds all digits of a decimal.
fn fits_a_double(declared: &str) -> bool {
    let precision = declared.split(['(', ',', ')']).nth(1).and_then(|digits| digits.parse().ok());
    precision.is_some_and(|precision: u32| precision < 16)
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
            ("decimal(10,2) unsigned", Some(ColumnType::Float)),
            ("decimal(20,2)", Some(ColumnType::Text)),
            ("blob", Some(ColumnType::Text)),
            ("point", None),
        ] {
            assert_eq!(kind_of(declared).map(|(kind, _)| kind), kind, "{declared}");
        }
    }
}
