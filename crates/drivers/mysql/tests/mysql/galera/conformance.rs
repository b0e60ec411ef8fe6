//! Three nodes keep every rule of the conformance suite together, in every insert mode.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::conformance::{SqlWords, Subject, broken_rules};
use highwater_driver_mysql::MySqlDriver;
use highwater_model::op::ColumnType;
use highwater_testing::galera::NODES;
use highwater_testing::mariadb::SUPERUSER;

use super::cluster::exclusive;
use crate::support;

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

fn equals(_: ColumnType, column: &str, parameter: &str) -> String {
    format!("{column} = {parameter}")
}

#[test]
fn three_nodes_keep_every_rule() {
    let Some(held) = exclusive() else {
        return;
    };
    let cluster = Arc::clone(&held.cluster);
    let subject = Subject {
        driver: &MySqlDriver,
        urls: vec![cluster.url(SUPERUSER)],
        options: support::options(),
        timeline: support::WallTimeline::start(),
        sql: SqlWords::new(type_name, equals),
        cut: Some(Rc::new(move || {
            let others = "SELECT id FROM information_schema.processlist \
                          WHERE user = 'root' AND id <> connection_id()";
            for node in 0..NODES {
                for id in cluster.node(node).sql(others).lines() {
                    cluster.node(node).sql(&format!("KILL {id}"));
                }
            }
        })),
    };
    let broken = support::block_on(broken_rules(&subject)).expect("a target");
    let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
