//! A target and a workload of one small table, for the tests in this directory.

use std::sync::Arc;

use highwater_driver::{Driver, Target, TargetOptions, TargetUrl};
use highwater_driver_mysql::MySqlDriver;
use highwater_model::op::{BoundWorkload, ColumnData, OpBody};
use highwater_model::user_error::UserError;
use highwater_testing::mariadb::{MariaDb, SUPERUSER, skipped};

pub(crate) use crate::points::{Client, Stage, admin, batch, key, nothing, points_of, queries};
use crate::support;
pub(crate) use crate::transaction::transaction;

/// Insert modes.
pub(crate) const MODES: [&str; 3] = ["values", "prepared", "load-data"];

/// Opens a target.
pub(crate) fn open(url: &str, insert: Option<&str>) -> Result<Arc<dyn Target>, UserError> {
    let options = TargetOptions { insert: insert.map(str::to_owned), ..support::options() };
    MySqlDriver.open(&[TargetUrl::parse(url)?], &options)
}

/// A target on a server.
pub(crate) fn target(server: &MariaDb, insert: Option<&str>) -> Arc<dyn Target> {
    open(&server.url(SUPERUSER), insert).expect("a target")
}

/// A separate server; `None` if MariaDB is skipped.
pub(crate) fn started() -> Option<MariaDb> {
    (!skipped()).then(MariaDb::start)
}

/// The same, with these flags.
pub(crate) fn started_with(flags: &[&str]) -> Option<MariaDb> {
    (!skipped()).then(|| MariaDb::start_with(flags))
}

/// Runs a test with a server, if there is one, and a target there.
pub(crate) fn on_server(
    server: Option<MariaDb>,
    insert: Option<&str>,
    test: impl AsyncFnOnce(MariaDb, Arc<dyn Target>),
) {
    if let Some(server) = server {
        let target = target(&server, insert);
        support::block_on(test(server, target));
    }
}

/// The same, with an empty table of [`points`].
pub(crate) fn on_stage(
    server: Option<MariaDb>,
    insert: Option<&str>,
    test: impl AsyncFnOnce(MariaDb, Arc<dyn Target>, Stage),
) {
    on_server(server, insert, async |server, target| {
        let stage = Stage::set(target.as_ref(), points()).await;
        test(server, target, stage).await;
    });
}

/// Op 0 inserts into `points(k, word)`, op 1 reads one of its rows.
pub(crate) fn points() -> Arc<BoundWorkload> {
    points_of(
        "CREATE TABLE points (k INT PRIMARY KEY, word VARCHAR(20) NOT NULL, \
         CHECK (word <> 'no')) CHARACTER SET utf8mb4",
        "?1",
    )
}

/// A batch whose rows have these words.
pub(crate) fn words(first: i64, words: &[&str]) -> OpBody {
    let rows = i64::try_from(words.len()).expect("a number of rows");
    let mut batch = batch(first, rows);
    batch.columns[1] = ColumnData::Text(words.iter().map(|word| Box::from(*word)).collect());
    OpBody::Insert(batch)
}
