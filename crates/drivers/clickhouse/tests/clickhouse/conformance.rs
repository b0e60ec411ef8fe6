//! ClickHouse keeps every rule of the conformance suite but that of unique keys, which it does not have.

use crate::support;
use crate::words::{type_name, words};
use highwater_driver::conformance::{Subject, broken_rules};
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_model::op::ColumnType;
use highwater_testing::clickhouse::{ClickHouse, SUPERUSER, skipped};

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

fn broken(server: &ClickHouse, type_name: fn(ColumnType) -> &'static str) -> Vec<String> {
    let subject = Subject {
        driver: &ClickHouseDriver,
        urls: vec![server.url(SUPERUSER)],
        options: support::options(),
        timeline: support::WallTimeline::start(),
        sql: words(type_name),
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
