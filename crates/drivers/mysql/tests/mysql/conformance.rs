//! MariaDB passes every rule of the conformance suite, in every insert mode.

use std::rc::Rc;

use highwater_driver_mysql::MySqlDriver;
use highwater_model::op::ColumnType;
use highwater_testing::mariadb::SUPERUSER;
use highwater_testkit::conformance::SqlWords;

use crate::client::started;
use crate::rules;
use crate::words::words;

/// Types of other widths, and texts in a character set other than UTF-8.
fn other_type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer | ColumnType::Bigint => "DECIMAL(20)",
        ColumnType::Timestamp => "DATETIME(6)",
        ColumnType::Text => "TEXT CHARACTER SET utf32 COLLATE utf32_nopad_bin",
        ColumnType::Object => "TEXT COLLATE utf8mb4_bin",
        ColumnType::Float => "DOUBLE",
        ColumnType::Boolean => "BOOLEAN",
    }
}

fn check(sql: SqlWords) {
    let Some(server) = started() else {
        return;
    };
    let url = server.url(SUPERUSER);
    let cut = move || {
        let others = "SELECT id FROM information_schema.processlist \
                      WHERE user = 'root' AND id <> connection_id()";
        for id in server.sql(others).lines() {
            server.sql(&format!("KILL {id}"));
        }
    };
    let broken = rules::broken(&MySqlDriver, &url, sql, Some(Rc::new(cut)));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_rule_is_kept() {
    check(words("mariadb").unwrap());
}

#[test]
fn columns_of_other_types_are_stored_exactly_too() {
    check(SqlWords { type_name: other_type_name, ..words("mariadb").unwrap() });
}
