//! Three shards keep every rule of the conformance suite together, in every insert mode.

use highwater_driver::conformance::SqlWords;
use highwater_driver_clickhouse::ClickHouseDriver;

use super::cluster::started;
use crate::rules;
use crate::words::words;

#[test]
fn three_shards_keep_every_rule() {
    let Some(shards) = started() else {
        return;
    };
    let sql = SqlWords {
        // The table above, and the server's own, if they are there.
        drop: |table| {
            ["default", "default_local"]
                .map(|database| format!("DROP TABLE IF EXISTS {database}.{table}"))
                .to_vec()
        },
        each_host: true,
        ..words("clickhouse").unwrap()
    };
    let broken = rules::broken(&ClickHouseDriver, &shards.url(), sql, None);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
