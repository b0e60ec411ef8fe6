//! A target and a workload of one small table, for the tests in this directory.

use std::sync::Arc;

use highwater_driver::{Driver, TablePolicy, Target, TargetOptions, TargetUrl};
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_model::op::{BoundWorkload, ColumnData, OpBody};
use highwater_model::units::Seed;
use highwater_model::user_error::UserError;
use highwater_testing::clickhouse::{ClickHouse, SUPERUSER, skipped};

pub(crate) use crate::points::{Client, Stage, admin, batch, key, nothing, points_of, queries};
pub(crate) use crate::said::{refused, said};
use crate::support;

/// Opens a target.
pub(crate) fn open(url: &str) -> Result<Arc<dyn Target>, UserError> {
    ClickHouseDriver.open(&[TargetUrl::parse(url)?], &support::options())
}

/// A target on a server, with this insert mode.
pub(crate) fn open_as(server: &ClickHouse, insert: &str) -> Arc<dyn Target> {
    let options = TargetOptions { insert: Some(insert.to_owned()), ..support::options() };
    let url = TargetUrl::parse(&server.url(SUPERUSER)).expect("a URL");
    ClickHouseDriver.open(&[url], &options).expect("a target")
}

/// A target on a server.
pub(crate) fn target(server: &ClickHouse) -> Arc<dyn Target> {
    open(&server.url(SUPERUSER)).expect("a target")
}

/// A separate server; `None` if ClickHouse is skipped.
pub(crate) fn started() -> Option<ClickHouse> {
    (!skipped()).then(ClickHouse::start)
}

/// The same, with this configuration and these user settings added.
pub(crate) fn started_with(configuration: &str, settings: &str) -> Option<ClickHouse> {
    (!skipped()).then(|| ClickHouse::start_with(configuration, settings))
}

/// Runs a test with a server, if there is one, and a target there.
pub(crate) fn on_server(
    server: Option<ClickHouse>,
    test: impl AsyncFnOnce(ClickHouse, Arc<dyn Target>),
) {
    if let Some(server) = server {
        let target = target(&server);
        support::block_on(test(server, target));
    }
}

/// The same, with an empty table of [`points`].
pub(crate) fn on_stage(
    server: Option<ClickHouse>,
    test: impl AsyncFnOnce(ClickHouse, Arc<dyn Target>, Stage),
) {
    on_server(server, async |server, target| {
        let stage = Stage::set(target.as_ref(), points()).await;
        test(server, target, stage).await;
    });
}

/// The statement that creates the table of [`points`].
pub(crate) const POINTS: &str =
    "CREATE TABLE points (k Int64, word String) ENGINE = MergeTree ORDER BY k";

/// Op 0 inserts into `points(k, word)`, op 1 reads one of its rows.
pub(crate) fn points() -> Arc<BoundWorkload> {
    points_of(POINTS, "$1")
}

/// Recreates the tables of a workload with these settings, as from `--with`.
pub(crate) async fn stage_with(
    target: &dyn Target,
    workload: Arc<BoundWorkload>,
    settings: &[(&str, &str)],
) -> Stage {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let policy =
        TablePolicy { settings: &settings, ..TablePolicy::new("f", Seed(1)).dropping(true) };
    Stage::set_by(target, workload, &policy).await
}

/// A batch whose rows have this word.
pub(crate) fn words(rows: i64, word: &str) -> OpBody {
    let mut batch = batch(0, rows);
    let count = usize::try_from(rows).expect("a number of rows");
    batch.columns[1] = ColumnData::Text(vec![word.into(); count]);
    OpBody::Insert(batch)
}

/// Rows of the table of [`points`].
pub(crate) fn count(server: &ClickHouse) -> u64 {
    let count = server.sql("SELECT count() FROM points");
    count.parse().expect("a number")
}
