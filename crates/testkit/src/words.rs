//! The SQL of dialects, for the conformance suite on one host and on several.

use crate::conformance::SqlWords;
use highwater_model::op::ColumnType;

/// The SQL of a dialect, by the name that a target gives it.
pub fn words(dialect: &str) -> Option<SqlWords> {
    match dialect {
        "postgresql" | "cockroachdb" | "yugabytedb" => {
            Some(SqlWords::new(postgresql_type, postgresql_equals))
        }
        "cratedb" => Some(SqlWords::new(cratedb_type, cratedb_equals)),
        "mariadb" => Some(SqlWords::new(mariadb_type, plainly_equals)),
        "mysql" | "tidb" | "singlestore" => Some(SqlWords::new(mysql_type, plainly_equals)),
        "sqlite" => Some(SqlWords::new(sqlite_type, plainly_equals)),
        "clickhouse" => Some(SqlWords {
            key: "",
            options: " ENGINE = MergeTree ORDER BY k",
            from_thrice: clickhouse_from_thrice,
            ..SqlWords::new(clickhouse_type, plainly_equals)
        }),
        _ => None,
    }
}

fn postgresql_type(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer => "int4",
        ColumnType::Bigint => "int8",
        ColumnType::Float => "double precision",
        ColumnType::Boolean => "boolean",
        ColumnType::Timestamp => "timestamptz",
        ColumnType::Text => "text",
        ColumnType::Object => "jsonb",
    }
}

fn postgresql_equals(kind: ColumnType, column: &str, parameter: &str) -> String {
    match kind {
        ColumnType::Object => format!("{column}::jsonb = {parameter}::text::jsonb"),
        _ => plainly_equals(kind, column, parameter),
    }
}

fn cratedb_type(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer => "INTEGER",
        ColumnType::Bigint => "BIGINT",
        ColumnType::Float => "DOUBLE PRECISION",
        ColumnType::Boolean => "BOOLEAN",
        ColumnType::Timestamp => "TIMESTAMP WITH TIME ZONE",
        ColumnType::Text => "TEXT",
        ColumnType::Object => "OBJECT(IGNORED)",
    }
}

fn cratedb_equals(kind: ColumnType, column: &str, parameter: &str) -> String {
    match kind {
        ColumnType::Object => format!("{column} = CAST({parameter} AS OBJECT(IGNORED))"),
        _ => plainly_equals(kind, column, parameter),
    }
}

fn plainly_equals(_: ColumnType, column: &str, parameter: &str) -> String {
    format!("{column} = {parameter}")
}

fn mariadb_type(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Text => "VARCHAR(500) COLLATE utf8mb4_nopad_bin",
        _ => mysql_type(kind),
    }
}

fn mysql_type(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer => "INT",
        ColumnType::Bigint => "BIGINT",
        ColumnType::Float => "DOUBLE",
        ColumnType::Boolean => "BOOLEAN",
        ColumnType::Timestamp => "DATETIME(3)",
        ColumnType::Text => "VARCHAR(500) COLLATE utf8mb4_0900_bin",
        ColumnType::Object => "JSON",
    }
}

fn sqlite_type(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer | ColumnType::Bigint | ColumnType::Timestamp | ColumnType::Boolean => {
            "INTEGER"
        }
        ColumnType::Float => "REAL",
        ColumnType::Text | ColumnType::Object => "TEXT",
    }
}

fn clickhouse_type(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer => "Int32",
        ColumnType::Bigint | ColumnType::Timestamp => "Int64",
        ColumnType::Float => "Float64",
        ColumnType::Boolean => "UInt8",
        ColumnType::Text | ColumnType::Object => "String",
    }
}

/// If the table is joined with itself, 18.16 builds the whole product in memory before it responds.
fn clickhouse_from_thrice(_: &str) -> String {
    "FROM numbers(1000000000)".to_owned()
}
