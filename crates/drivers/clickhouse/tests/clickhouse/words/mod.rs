//! The words of ClickHouse, for the conformance suite on one server and on several.

use highwater_driver::conformance::SqlWords;
use highwater_model::op::ColumnType;

/// A type for each of a workload's.
pub(crate) fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer => "Int32",
        ColumnType::Bigint | ColumnType::Timestamp => "Int64",
        ColumnType::Float => "Float64",
        ColumnType::Boolean => "UInt8",
        ColumnType::Text | ColumnType::Object => "String",
    }
}

fn equals(_: ColumnType, column: &str, parameter: &str) -> String {
    format!("{column} = {parameter}")
}

/// 18.16 joins two tables in one query, and no more; nor two that are above others.
fn from_thrice(table: &str) -> String {
    format!(
        "FROM (SELECT 1 AS a FROM {table}) \
         CROSS JOIN (SELECT number AS b FROM numbers(1000000))"
    )
}

/// With these types.
pub(crate) fn words(type_name: fn(ColumnType) -> &'static str) -> SqlWords {
    SqlWords {
        key: "",
        options: " ENGINE = MergeTree ORDER BY k",
        from_thrice,
        ..SqlWords::new(type_name, equals)
    }
}
