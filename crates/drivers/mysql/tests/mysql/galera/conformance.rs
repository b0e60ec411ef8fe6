//! Three nodes together pass every rule of the conformance suite, in every insert mode.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver_mysql::MySqlDriver;
use highwater_testing::galera::NODES;
use highwater_testing::mariadb::SUPERUSER;

use super::cluster::exclusive;
use crate::rules;
use crate::words::words;

#[test]
fn three_nodes_keep_every_rule() {
    let Some(held) = exclusive() else {
        return;
    };
    let cluster = Arc::clone(&held.cluster);
    let url = cluster.url(SUPERUSER);
    let cut = move || {
        let others = "SELECT id FROM information_schema.processlist \
                      WHERE user = 'root' AND id <> connection_id()";
        for node in 0..NODES {
            for id in cluster.node(node).sql(others).lines() {
                cluster.node(node).sql(&format!("KILL {id}"));
            }
        }
    };
    let sql = words("mariadb").unwrap();
    let broken = rules::broken(&MySqlDriver, &url, sql, Some(Rc::new(cut)));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
