//! Targets on the servers of a cluster, and the content of their tables.

use std::sync::Arc;

use highwater_driver::{Connect, Driver, Target, TargetOptions, TargetUrl};
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_model::op::BoundWorkload;
use highwater_model::outcome::Outcome;
use highwater_model::user_error::UserError;
use highwater_testing::clickhouse::skipped;
use highwater_testing::clickhouse_shards::{SHARDS, Shards};

pub(crate) use crate::client::points;
use crate::points;
use crate::support;

/// A separate cluster; `None` if ClickHouse is skipped.
pub(crate) fn started() -> Option<Shards> {
    (!skipped()).then(Shards::start)
}

/// Runs a test with a separate cluster, if available, and a target on all its servers.
pub(crate) fn on_shards(test: impl AsyncFnOnce(Shards, Arc<dyn Target>)) {
    if let Some(shards) = started() {
        let target = everywhere(&shards, None);
        support::block_on(test(shards, target));
    }
}

/// Opens a target.
pub(crate) fn open(url: &str, insert: Option<&str>) -> Result<Arc<dyn Target>, UserError> {
    let options = TargetOptions { insert: insert.map(str::to_owned), ..support::options() };
    ClickHouseDriver.open(&[TargetUrl::parse(url)?], &options)
}

/// A target on all servers.
pub(crate) fn everywhere(shards: &Shards, insert: Option<&str>) -> Arc<dyn Target> {
    open(&shards.url(), insert).unwrap()
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
    points::Client::new(session.await.unwrap())
}

/// Reads a row by its key.
pub(crate) async fn read(client: &mut points::Client, key: i64) -> Outcome {
    client.send(1, points::key(key)).await
}

/// Rows of the table of [`points`] stored on each server itself.
pub(crate) fn own_rows(shards: &Shards) -> Vec<u64> {
    let counts = (0..SHARDS).map(|number| {
        let count = shards.server(number).sql("SELECT count() FROM default_local.points");
        count.parse().unwrap()
    });
    counts.collect()
}
