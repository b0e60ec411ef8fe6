//! A target and a workload of one small table, for the tests in this directory.

use std::sync::Arc;

use highwater_driver::{Driver, Target, TargetOptions, TargetUrl};
use highwater_driver_postgres::PostgresDriver;
use highwater_model::op::BoundWorkload;
use highwater_model::user_error::UserError;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::points::points_of;
pub(crate) use crate::points::{Client, Stage, admin, batch, key, nothing, queries};
use crate::support;

/// Insert modes.
pub(crate) const MODES: [&str; 4] = ["copy", "values", "unnest", "prepared"];

/// Opens a target.
pub(crate) fn open(url: &str, insert: Option<&str>) -> Result<Arc<dyn Target>, UserError> {
    let options = TargetOptions {
        insert: insert.map(str::to_owned),
        application_name: "highwater test".to_owned(),
        ..support::options()
    };
    PostgresDriver.open(&[TargetUrl::parse(url)?], &options)
}

/// A separate server and a target there; `None` if PostgreSQL is skipped.
pub(crate) fn started(insert: Option<&str>) -> Option<(Postgres, Arc<dyn Target>)> {
    if skipped() {
        return None;
    }
    let server = Postgres::start();
    let target = open(&server.url(SUPERUSER, "postgres"), insert);
    Some((server, target.expect("a target")))
}

/// Runs a test with them.
pub(crate) fn on_server(insert: Option<&str>, test: impl AsyncFnOnce(Postgres, Arc<dyn Target>)) {
    if let Some((server, target)) = started(insert) {
        support::block_on(test(server, target));
    }
}

/// Op 0 inserts into `points(k, word)`, op 1 reads one of its rows.
pub(crate) fn points() -> Arc<BoundWorkload> {
    points_of(
        "CREATE TABLE points (k integer PRIMARY KEY, word text NOT NULL CHECK (word <> 'no'))",
        "$1",
    )
}
