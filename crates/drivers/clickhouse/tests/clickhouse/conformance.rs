//! ClickHouse keeps every rule of the conformance suite but that of unique keys, which it does not have.

use crate::client::started;
use crate::rules;
use crate::words::words;
use highwater_driver::conformance::SqlWords;
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_model::op::ColumnType;
use highwater_testing::clickhouse::SUPERUSER;

/// Types of other widths, and columns that can be null.
fn other_type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer | ColumnType::Timestamp => "Nullable(Int64)",
        // The key may not be null.
        ColumnType::Bigint => "Int64",
        ColumnType::Float => "Nullable(Float64)",
        ColumnType::Boolean => "Nullable(Int32)",
        ColumnType::Text | ColumnType::Object => "Nullable(String)",
    }
}

fn check(sql: SqlWords) {
    if let Some(server) = started() {
        let broken = rules::broken(&ClickHouseDriver, &server.url(SUPERUSER), sql, None);
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }
}

#[test]
fn every_rule_is_kept() {
    check(words("clickhouse").unwrap());
}

#[test]
fn columns_of_other_types_are_stored_exactly_too() {
    check(SqlWords {
        type_name: other_type_name,
        ..words("clickhouse").unwrap()
    });
}
