//! A target and a workload of one small table, for the tests beside this file.

use std::sync::Arc;

use highwater_driver::{Driver, TablePolicy, Target, TargetError, TargetOptions, TargetUrl};
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_model::op::{BoundWorkload, ColumnData, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_model::units::Seed;
use highwater_testing::clickhouse::{ClickHouse, SUPERUSER, skipped};

pub(crate) use crate::points::{Client, Stage, admin, batch, key, nothing, points_of, queries};
use crate::support;

/// Opens a target.
pub(crate) fn open(url: &str) -> Result<Arc<dyn Target>, TargetError> {
    ClickHouseDriver.open(&[TargetUrl::parse(url)?], &support::options())
}

/// A target on a server, with this way to insert.
pub(crate) fn open_as(server: &ClickHouse, insert: &str) -> Arc<dyn Target> {
    let options = TargetOptions {
        insert: Some(insert.to_owned()),
        ..support::options()
    };
    let url = TargetUrl::parse(&server.url(SUPERUSER)).expect("a URL");
    ClickHouseDriver.open(&[url], &options).expect("a target")
}

/// A target on a server.
pub(crate) fn target(server: &ClickHouse) -> Arc<dyn Target> {
    open(&server.url(SUPERUSER)).expect("a target")
}

/// A server of its own; nothing if ClickHouse is left out.
pub(crate) fn started() -> Option<ClickHouse> {
    (!skipped()).then(ClickHouse::start)
}

/// The same, with this among its configuration and this among the settings of its users.
pub(crate) fn started_with(configuration: &str, settings: &str) -> Option<ClickHouse> {
    (!skipped()).then(|| ClickHouse::start_with(configuration, settings))
}

/// The statement that makes the table of [`points`].
pub(crate) const POINTS: &str =
    "CREATE TABLE points (k Int64, word String) ENGINE = MergeTree ORDER BY k";

/// Op 0 inserts into `points(k, word)`, op 1 reads one of its rows.
pub(crate) fn points() -> Arc<BoundWorkload> {
    points_of(POINTS, "$1")
}

/// The tables of a workload anew, with these settings, as of `--with`.
pub(crate) async fn stage_with(
    target: &dyn Target,
    workload: Arc<BoundWorkload>,
    settings: &[(&str, &str)],
) -> Stage {
    let settings = settings.iter();
    let settings: Vec<(String, String)> = settings
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let policy = TablePolicy {
        settings: &settings,
        ..TablePolicy::new("f", Seed(1)).dropping(true)
    };
    let mut admin = admin(target).await.expect("an admin");
    let created = admin.create_tables(&workload, &policy).await;
    created.expect("an empty table");
    let client = Client::connect(target, &workload).await;
    Stage {
        client: client.expect("a session"),
        workload,
        admin,
    }
}

/// A batch whose rows have this word.
pub(crate) fn words(rows: i64, word: &str) -> OpBody {
    let mut batch = batch(0, rows);
    let count = usize::try_from(rows).expect("a number of rows");
    batch.columns[1] = ColumnData::Text(vec![word.into(); count]);
    OpBody::Insert(batch)
}

/// What an outcome says: number, class, certainty, whether the session goes on.
pub(crate) type Said = (Option<String>, ErrorClass, Certainty, bool);

pub(crate) fn said(outcome: &Outcome) -> Said {
    let error = outcome.error.clone().expect("an error");
    (
        error.code,
        error.class,
        outcome.certainty,
        outcome.session_usable,
    )
}

/// Refused as a whole, and the session goes on.
pub(crate) fn refused(code: u32, class: ErrorClass) -> Said {
    (Some(code.to_string()), class, Certainty::NotApplied, true)
}

/// Rows of the table of [`points`].
pub(crate) fn count(server: &ClickHouse) -> u64 {
    let count = server.sql("SELECT count() FROM points");
    count.parse().expect("a number")
}
