//! MariaDB keeps every rule of the conformance suite, in every insert mode.

use std::rc::Rc;

use crate::support;

use highwater_driver::conformance::{SqlWords, Subject, broken_rules};
use highwater_driver_mysql::MySqlDriver;
use highwater_model::op::ColumnType;
use highwater_testing::mariadb::{MariaDb, SUPERUSER, skipped};

fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer => "INT",
        ColumnType::Bigint => "BIGINT",
        ColumnType::Float => "DOUBLE",
        ColumnType::Boolean => "BOOLEAN",
        ColumnType::Timestamp => "DATETIME(3)",
        ColumnType::Text => "VARCHAR(500) COLLATE utf8mb4_nopad_bin",
        ColumnType::Object => "JSON",
    }
}

/// The same, with types of other widths, and texts in another character set than UTF-8.
fn other_type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer | ColumnType::Bigint => "DECIMAL(20)",
        ColumnType::Timestamp => "DATETIME(6)",
        ColumnType::Text => "TEXT CHARACTER SET utf32 COLLATE utf32_nopad_bin",
        ColumnType::Object => "TEXT COLLATE utf8mb4_bin",
        ColumnType::Float | ColumnType::Boolean => type_name(kind),
    }
}

fn equals(_: ColumnType, column: &str, parameter: &str) -> String {
    format!("{column} = {parameter}")
}

fn broken(server: MariaDb, type_name: fn(ColumnType) -> &'static str) -> Vec<String> {
    let subject = Subject {
        driver: &MySqlDriver,
        urls: vec![server.url(SUPERUSER)],
        options: support::options(),
        timeline: support::WallTimeline::start(),
        sql: SqlWords::new(type_name, equals),
        cut: Some(Rc::new(move || {
            let others = "SELECT id FROM information_schema.processlist \
                          WHERE user = 'root' AND id <> connection_id()";
            for id in server.sql(others).lines() {
                server.sql(&format!("KILL {id}"));
            }
        })),
    };
    let broken = support::block_on(broken_rules(&subject)).expect("a target");
    broken.iter().map(ToString::to_string).collect()
}

#[test]
fn every_rule_is_kept() {
    if skipped() {
        return;
    }
    let broken = broken(MariaDb::start(), type_name);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn columns_of_other_types_are_stored_exactly_too() {
    if skipped() {
        return;
    }
    let broken = broken(MariaDb::start(), other_type_name);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
