//! Three shards keep every rule of the conformance suite together, in every insert mode.

use highwater_driver::conformance::{SqlWords, Subject, broken_rules};
use highwater_driver_clickhouse::ClickHouseDriver;

use super::cluster::started;
use crate::support;
use crate::words::{type_name, words};

#[test]
fn three_shards_keep_every_rule() {
    let Some(shards) = started() else {
        return;
    };
    let subject = Subject {
        driver: &ClickHouseDriver,
        urls: vec![shards.url()],
        options: support::options(),
        timeline: support::WallTimeline::start(),
        sql: SqlWords {
            // The table above, and the server's own, if they are there.
            drop: |table| {
                ["default", "default_local"]
                    .map(|database| format!("DROP TABLE IF EXISTS {database}.{table}"))
                    .to_vec()
            },
            each_host: true,
            ..words(type_name)
        },
        cut: None,
    };
    let broken = support::block_on(broken_rules(&subject)).unwrap();
    let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
