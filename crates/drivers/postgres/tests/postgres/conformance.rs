//! PostgreSQL keeps every rule of the conformance suite.

use std::rc::Rc;

use crate::support;

use highwater_driver::conformance::{SqlWords, Subject, broken_rules};
use highwater_driver_postgres::PostgresDriver;
use highwater_model::op::ColumnType;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer => "integer",
        ColumnType::Bigint => "bigint",
        ColumnType::Float => "double precision",
        ColumnType::Boolean => "boolean",
        ColumnType::Timestamp => "timestamptz",
        ColumnType::Text => "text",
        ColumnType::Object => "jsonb",
    }
}

/// The same, with types that have no binary form here or other widths.
fn other_type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer | ColumnType::Bigint => "numeric(20)",
        ColumnType::Timestamp => "timestamp",
        ColumnType::Text => "varchar",
        ColumnType::Object => "json",
        ColumnType::Float | ColumnType::Boolean => type_name(kind),
    }
}

fn equals(kind: ColumnType, column: &str, parameter: &str) -> String {
    match kind {
        ColumnType::Object => format!("{column}::jsonb = {parameter}::text::jsonb"),
        _ => format!("{column} = {parameter}"),
    }
}

fn broken(server: Postgres, type_name: fn(ColumnType) -> &'static str) -> Vec<String> {
    let subject = Subject {
        driver: &PostgresDriver,
        urls: vec![server.url(SUPERUSER, "postgres")],
        options: support::options(),
        timeline: support::WallTimeline::start(),
        sql: SqlWords::new(type_name, equals),
        cut: Some(Rc::new(move || {
            server.sql(
                "postgres",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
            );
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
    let broken = broken(Postgres::start(), type_name);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn columns_without_a_binary_form_are_stored_exactly_too() {
    if skipped() {
        return;
    }
    let mut broken = broken(Postgres::start(), other_type_name);
    // `unnest` says that it cannot send them.
    broken.retain(|rule| !rule.contains("`--insert unnest` cannot send"));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
