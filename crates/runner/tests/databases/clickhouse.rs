//! Whole runs against three ClickHouse shards: clean ones, and one in which a shard is lost during the load and
//! returns.

use std::rc::Rc;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use highwater_driver::interrupts;
use highwater_driver::{TargetOptions, TargetUrl};
use highwater_model::units::{Nanos, Seed};
use highwater_report as report;
use highwater_runner::request::Silent;
use highwater_runner::run::run;
use highwater_testing::clickhouse::skipped;
use highwater_testing::clickhouse_shards::{SHARDS, Shards};

use crate::beside::{beside, wait_for};
use crate::support::{Job, closed, expect_clean, measured};

/// Two on each shard.
const SESSIONS: u32 = 6;
const BATCH: u64 = 500;

/// Closed load of `cpu` on all shards.
fn job(shards: &Shards, seconds: u64) -> Job {
    let mut job = Job::new(&shards.url(), &[("insert", closed(SESSIONS))]);
    job.settings = vec![("batch", BATCH.to_string())];
    job.step = Nanos::from_secs(seconds);
    job
}

/// Rows stored on a shard itself.
fn rows(shards: &Shards, number: usize) -> u64 {
    let found = shards.server(number).try_sql("SELECT count() FROM default_local.cpu");
    found.ok().and_then(|found| found.parse().ok()).unwrap_or(0)
}

/// Clean runs that continue an earlier one's rows; returns the final number of rows.
fn expect_clean_runs(shards: &Shards, runs: usize) -> u64 {
    let mut earlier = 0;
    for _ in 0..runs {
        let record = job(shards, 1).run().record;
        let text = report::text(&record);
        expect_clean(&record, BATCH);
        assert_eq!(measured(&record, "insert").rows.unknown, 0, "{text}");
        let own: Vec<u64> = (0..SHARDS).map(|number| rows(shards, number)).collect();
        let sum: u64 = own.iter().sum();
        assert_eq!(sum, earlier + record.audit.acknowledged, "{own:?}\n{text}");
        assert!(own.iter().all(|rows| *rows > 0), "{own:?}");
        earlier = sum;
    }
    earlier
}

#[test]
fn rows_forwarded_after_the_response_are_all_found_and_the_record_states_it() {
    if skipped() {
        return;
    }
    let shards = Shards::start();
    let options = TargetOptions {
        insert: Some("distributed".to_owned()),
        data_directory: None,
        leases_directory: None,
        application_name: "highwater-test".to_owned(),
        seed: Seed(42),
        connect_timeout: Nanos::from_secs(5),
    };
    let url = TargetUrl::parse(&shards.url()).unwrap();
    let target = highwater_drivers::open_urls(&[url], &options).unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut request = job(&shards, 2).request(target, root.path());
    request.options.tables.settings = vec![("insert_distributed_sync".to_owned(), "0".to_owned())];
    let (_keep, interrupts) = interrupts::channel();
    let record = run(request, Rc::new(Silent), interrupts).unwrap().record;
    let text = report::text(&record);
    expect_clean(&record, BATCH);
    assert_eq!(record.target.settings["with.insert_distributed_sync"], "0");
    let relaxed = &record.target.settings["durability.relaxed"];
    assert!(relaxed.contains("may still be in a spool"), "{relaxed}");
    assert!(text.contains("insert_distributed_sync=0"), "{text}");
}

#[test]
#[ignore = "long: thirty runs"]
fn long_thirty_clean_runs_raise_no_alarm() {
    if !skipped() {
        expect_clean_runs(&Shards::start(), 30);
    }
}

#[test]
fn a_shard_that_is_lost_in_mid_load_and_comes_back_loses_no_row_and_doubles_none() {
    if skipped() {
        return;
    }
    let shards = Mutex::new(Shards::start());
    let held = || shards.lock().unwrap();
    // No false alarm, and the rows of an earlier run are continued.
    let earlier = expect_clean_runs(&held(), 3);

    // The second one, without which not all rows can be read.
    let job = job(&held(), 6);
    let kills = || {
        let before = rows(&held(), 1);
        wait_for("rows", || rows(&held(), 1) >= before + 10 * BATCH);
        held().server_mut(1).kill();
        thread::sleep(Duration::from_secs(1));
        held().server_mut(1).restart();
    };
    let record = beside(kills, || job.run()).record;
    let text = report::text(&record);
    expect_clean(&record, BATCH);
    let insert = measured(&record, "insert");
    assert!(insert.rows.unknown + insert.rows.refused >= BATCH, "nothing was lost\n{text}");
    let own: u64 = (0..SHARDS).map(|number| rows(&held(), number)).sum();
    assert_eq!(own, earlier + record.audit.found, "{text}");
}
