//! PostgreSQL passes every rule of the conformance suite.

use std::rc::Rc;

use highwater_driver_postgres::PostgresDriver;
use highwater_model::op::ColumnType;
use highwater_testing::postgres::SUPERUSER;
use highwater_testkit::conformance::SqlWords;

use crate::client::started;
use crate::rules;
use crate::words::words;

/// Types without a binary format here, or of other widths.
fn other_type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer | ColumnType::Bigint => "numeric(20)",
        ColumnType::Timestamp => "timestamp",
        ColumnType::Text => "varchar",
        ColumnType::Object => "json",
        ColumnType::Float => "double precision",
        ColumnType::Boolean => "boolean",
    }
}

fn broken(sql: SqlWords) -> Vec<String> {
    let Some((server, _)) = started(None) else {
        return Vec::new();
    };
    let url = server.url(SUPERUSER, "postgres");
    let cut = move || {
        server.sql(
            "postgres",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
        );
    };
    rules::broken(&PostgresDriver, &url, sql, Some(Rc::new(cut)))
}

#[test]
fn every_rule_is_kept() {
    let broken = broken(words("postgresql").unwrap());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn columns_without_a_binary_form_are_stored_exactly_too() {
    let mut broken =
        broken(SqlWords { type_name: other_type_name, ..words("postgresql").unwrap() });
    // `unnest` reports that it cannot send them.
    broken.retain(|rule| !rule.contains("`--insert unnest` cannot send"));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
