//! ClickHouse keeps every rule of the conformance suite but that of unique keys, which it does not have.

#[path = "../../../driver/tests/support/mod.rs"]
mod support;

use highwater_driver::conformance::{SqlWords, Subject, broken_rules};
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_model::op::ColumnType;
use highwater_testing::clickhouse::{ClickHouse, SUPERUSER, skipped};

fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer => "Int32",
        ColumnType::Bigint | ColumnType::Timestamp => "Int64",
        ColumnType::Float => "Float64",
        ColumnType::Boolean => "UInt8",
        ColumnType::Text | ColumnType::Object => "String",
    }
}

/// The same, with types of other widths, and columns that can be null.
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

fn equals(_: ColumnType, column: &str, parameter: &str) -> String {
    format!("{column} = {parameter}")
}

/// 18.16 joins two tables in one query, and no more.
fn from_thrice(table: &str) -> String {
    format!(
        "FROM (SELECT 1 AS a FROM {table} CROSS JOIN (SELECT 1 AS b FROM {table})) \
         CROSS JOIN (SELECT 1 AS c FROM {table})"
    )
}

#[expect(clippy::expect_used, reason = "a test that cannot start has failed")]
fn broken(server: &ClickHouse, type_name: fn(ColumnType) -> &'static str) -> Vec<String> {
    let subject = Subject {
        driver: &ClickHouseDriver,
        urls: vec![server.url(SUPERUSER)],
        options: support::options(),
        timeline: support::WallTimeline::start(),
        sql: SqlWords {
            key: "",
            options: " ENGINE = MergeTree ORDER BY k",
            from_thrice,
            ..SqlWords::new(type_name, equals)
        },
        cut: None,
    };
    let broken = support::block_on(broken_rules(&subject)).expect("a target");
    broken.iter().map(ToString::to_string).collect()
}

#[test]
fn every_rule_is_kept() {
    if skipped() {
        return;
    }
    let broken = broken(&ClickHouse::start(), type_name);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn columns_of_other_types_are_stored_exactly_too() {
    if skipped() {
        return;
    }
    let broken = broken(&ClickHouse::start(), other_type_name);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
