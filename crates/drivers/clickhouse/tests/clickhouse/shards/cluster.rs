//! Targets on the servers of a cluster, and what their tables hold.

use std::sync::Arc;

use highwater_driver::{Connect, Driver, Target, TargetError, TargetOptions, TargetUrl};
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_model::op::BoundWorkload;
use highwater_model::outcome::Outcome;
use highwater_testing::clickhouse::skipped;
use highwater_testing::clickhouse_shards::{SHARDS, Shards};

use crate::points::{self, points_of};
use crate::support;

/// A cluster of its own; nothing if ClickHouse is left out.
pub(crate) fn started() -> Option<Shards> {
    (!skipped()).then(Shards::start)
}

/// Opens a target.
pub(crate) fn open(url: &str, insert: Option<&str>) -> Result<Arc<dyn Target>, TargetError> {
    let options = TargetOptions {
        insert: insert.map(str::to_owned),
        ..support::options()
    };
    ClickHouseDriver.open(&[TargetUrl::parse(url)?], &options)
}

/// A target on all servers.
pub(crate) fn everywhere(shards: &Shards, insert: Option<&str>) -> Arc<dyn Target> {
    open(&shards.url(), insert).unwrap()
}

/// Op 0 inserts into `points(k, word)`, op 1 reads one of its rows.
pub(crate) fn points() -> Arc<BoundWorkload> {
    let create = "CREATE TABLE points (k Int64, word String) ENGINE = MergeTree ORDER BY k";
    points_of(create, "$1")
}

/// A session on that server, in the order of the URL.
pub(crate) async fn client_on(
    target: &dyn Target,
    workload: &Arc<BoundWorkload>,
    number: u32,
) -> points::Client {
    let session = target.connect(Connect {
        workload: Arc::clone(workload),
        number,
        attempt: 0,
        timeline: support::WallTimeline::start(),
    });
    points::Client::of(session.await.unwrap())
}

/// Reads a row by its key.
pub(crate) async fn read(client: &mut points::Client, key: i64) -> Outcome {
    client.send(1, points::key(key)).await
}

/// Rows of the table of [`points`] that each server has itself.
pub(crate) fn own_rows(shards: &Shards) -> Vec<u64> {
    let counts = (0..SHARDS).map(|number| {
        let count = shards
            .server(number)
            .sql("SELECT count() FROM default_local.points");
        count.parse().unwrap()
    });
    counts.collect()
}
