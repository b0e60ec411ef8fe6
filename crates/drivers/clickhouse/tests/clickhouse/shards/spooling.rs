//! Inserts that are acknowledged before other servers have their rows: an audit waits until they do, and the target's
//! facts report the setting.

use std::sync::Arc;

use highwater_driver::{TablePolicy, Target};
use highwater_model::outcome::Certainty;
use highwater_model::units::{Nanos, Seed};
use highwater_testing::clickhouse_shards::Shards;

use super::cluster::{everywhere, on_shards, own_rows, points, started};
use crate::points::{Stage, admin};
use crate::support::block_on;

/// Rows of a batch.
const ROWS: u64 = 3_000;
/// A server that was away for some seconds gets its rows some seconds after it returns; this is much longer.
const PATIENCE: Nanos = Nanos::from_secs(120);

/// The `--with` settings.
fn settings() -> [(String, String); 1] {
    [("insert_distributed_sync".to_owned(), "0".to_owned())]
}

/// A target on all servers for a run with these settings.
fn spooling(shards: &Shards) -> Arc<dyn Target> {
    let target = everywhere(shards, Some("distributed"));
    target.configure(&settings()).unwrap();
    target
}

/// A stage with a new table, whose policy also has the settings.
async fn set(target: &dyn Target) -> Stage {
    let settings = settings();
    let policy =
        TablePolicy { settings: &settings, ..TablePolicy::new("f", Seed(1)).dropping(true) };
    Stage::set_by(target, points(), &policy).await
}

#[test]
fn rows_of_a_server_that_is_away_are_acknowledged_and_waited_for_when_it_is_back() {
    let Some(mut shards) = started() else {
        return;
    };
    let target = spooling(&shards);
    block_on(async {
        let mut stage = set(target.as_ref()).await;
        shards.server_mut(1).kill();
        let outcome = stage.client.insert(0, ROWS.cast_signed()).await;
        assert_eq!(outcome.certainty, Certainty::Applied, "{outcome:?}");
        assert_eq!(outcome.rows_applied, ROWS);
    });
    shards.server_mut(1).restart();
    block_on(async {
        let mut audit = admin(target.as_ref()).await.unwrap();
        assert!(audit.quiesce(PATIENCE).await.unwrap());
        let own = own_rows(&shards);
        assert_eq!(own.iter().sum::<u64>(), ROWS, "{own:?}");
        assert!(own.iter().all(|rows| *rows > 0), "{own:?}");
    });
}

#[test]
fn every_row_is_stored_once_nothing_waits() {
    on_shards(async |shards, _target| {
        let target = spooling(&shards);
        let mut stage = set(target.as_ref()).await;
        for batch in 1..=20_i64 {
            let first = batch * ROWS.cast_signed();
            let outcome = stage.client.insert(first, ROWS.cast_signed()).await;
            assert!(outcome.is_success(), "{outcome:?}");
            assert!(stage.admin.quiesce(PATIENCE).await.unwrap());
            let own = own_rows(&shards);
            assert_eq!(own.iter().sum::<u64>(), batch.unsigned_abs() * ROWS, "{own:?}");
        }
    });
}

#[test]
fn the_facts_state_that_acknowledged_rows_may_be_in_a_spool() {
    on_shards(async |shards, _target| {
        let target = spooling(&shards);
        let mut stage = set(target.as_ref()).await;
        let relaxed = async |stage: &mut Stage| {
            let facts = stage.admin.facts().await.unwrap();
            facts.settings["durability.relaxed"].clone()
        };
        let said = relaxed(&mut stage).await;
        assert!(said.contains("insert_distributed_sync=0"), "{said}");
        assert!(said.contains("may still be in a spool"), "{said}");
        // It is not a table setting, so the tables are kept.
        let settings = settings();
        let policy = TablePolicy { settings: &settings, ..TablePolicy::new("f", Seed(1)) };
        let kept = stage.admin.create_tables(&stage.workload, &policy).await;
        assert_eq!(kept.unwrap().len(), 1);
        let made = "SELECT engine_full FROM system.tables WHERE database = 'default_local' AND name = 'points'";
        assert!(!shards.server(0).sql(made).contains("insert_distributed"));
        // The next run does not set it.
        target.configure(&[]).unwrap();
        let said = relaxed(&mut stage).await;
        assert!(!said.contains("spool"), "{said}");
    });
}
