//! ClickHouse passes every rule of the conformance suite except that of unique keys, which it does not have; so do
//! three shards together.

use crate::client::started;
use crate::rules;
use crate::shards::cluster;
use crate::words::words;
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_model::op::ColumnType;
use highwater_testing::clickhouse::SUPERUSER;
use highwater_testkit::conformance::{RULES, SqlWords};

/// Types of other widths, and nullable columns.
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
    check(SqlWords { type_name: other_type_name, ..words("clickhouse").unwrap() });
}

/// The rule that takes as long on three shards as all others together.
const SLOWEST: &str = "abandoned_batches_are_whole";

/// Checks the rules of these names on three shards.
fn check_shards(is_among: impl Fn(&str) -> bool) {
    let Some(shards) = cluster::started() else {
        return;
    };
    let sql = SqlWords {
        // The `Distributed` table and the server's own, if they exist.
        drop: |table| {
            ["default", "default_local"]
                .map(|database| format!("DROP TABLE IF EXISTS {database}.{table}"))
                .to_vec()
        },
        each_host: true,
        ..words("clickhouse").unwrap()
    };
    let broken = rules::among(&ClickHouseDriver, &shards.url(), sql, None, is_among);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn three_shards_keep_every_rule_but_one() {
    check_shards(|rule| rule != SLOWEST);
}

#[test]
fn batches_that_were_abandoned_are_whole_on_three_shards() {
    assert!(RULES.iter().any(|rule| rule.name == SLOWEST));
    check_shards(|rule| rule == SLOWEST);
}
