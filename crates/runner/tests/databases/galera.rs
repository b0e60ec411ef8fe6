//! Whole runs against three MariaDB Galera nodes: clean ones, one in which a node is lost during the load, and one with
//! a node whose content differs.

use std::sync::Mutex;

use highwater_model::judgment::IncidentKind;
use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::units::Nanos;
use highwater_report as report;
use highwater_testing::galera::{Galera, NODES, skipped};
use highwater_testing::mariadb::SUPERUSER;

use crate::beside::{beside, wait_for};
use crate::support::{
    Job, closed, data_reasons, expect_clean, expect_every_row_accounted_for, measured,
};

/// Two on each node.
const SESSIONS: u32 = 6;
const BATCH: u64 = 50;

/// Closed load of `cpu` on all nodes.
fn job(cluster: &Galera, seconds: u64) -> Job {
    let mut job = Job::new(&cluster.url(SUPERUSER), &[("insert", closed(SESSIONS))]);
    job.settings = vec![("batch", BATCH.to_string())];
    job.step = Nanos::from_secs(seconds);
    job
}

/// Rows visible on a node.
fn rows(cluster: &Galera, node: usize) -> u64 {
    let found = cluster.node(node).try_sql("SELECT count(*) FROM cpu");
    found.ok().and_then(|found| found.parse().ok()).unwrap_or(0)
}

/// Waits until there are this many.
fn wait_for_rows(cluster: &Galera, node: usize, expected: u64) {
    let what = format!("{expected} rows");
    wait_for(&what, || rows(cluster, node) >= expected);
}

/// Clean runs, each on separate tables.
fn expect_clean_runs(cluster: &Galera, runs: usize) {
    for _ in 0..runs {
        let record = job(cluster, 1).run().record;
        expect_clean(&record, BATCH);
        assert_eq!(measured(&record, "insert").rows.unknown, 0);
        assert_eq!(record.audit.copies, NODES as u64);
        cluster.sql(0, "DROP TABLE cpu");
    }
}

#[test]
#[ignore = "long: thirty runs"]
fn long_thirty_clean_runs_raise_no_alarm() {
    if !skipped() {
        expect_clean_runs(&Galera::start(), 30);
    }
}

#[test]
fn a_node_that_is_lost_in_mid_load_loses_no_row_and_doubles_none() {
    if skipped() {
        return;
    }
    let cluster = Mutex::new(Galera::start());
    let held = || cluster.lock().unwrap();
    // No false alarm.
    expect_clean_runs(&held(), 3);

    // The first node, which is also the one queried before and after the load.
    let job = job(&held(), 10);
    let kills = || {
        wait_for_rows(&held(), 1, 100 * BATCH);
        held().kill(0);
    };
    let record = beside(kills, || job.run()).record;
    let text = report::text(&record);
    expect_clean(&record, BATCH);
    let insert = measured(&record, "insert");
    assert!(insert.rows.unknown >= BATCH, "nothing was under way\n{text}");
    assert_eq!(record.audit.copies, NODES as u64 - 1, "{text}");
    let gap = Nanos(record.availability.longest_gap_ns);
    // The others wait until they have expelled it: `evs.suspect_timeout` of these nodes.
    assert!(gap >= Nanos::from_secs(1), "{gap:?}\n{text}");
    assert_eq!(record.audit.copies_missing, 1, "{text}");
    let changes: Vec<&str> = record
        .incidents
        .iter()
        .filter(|incident| incident.kind == IncidentKind::ClusterChanged)
        .map(|incident| incident.message.as_str())
        .collect();
    let left = |change: &&str| change.starts_with("1 node of 3 left the cluster ");
    assert!(changes.iter().any(left), "{changes:?}\n{text}");
    let states = &record.target.settings["wsrep_nodes"];
    assert_eq!(states.matches("Synced").count(), NODES, "{states}");

    // A node that returns has what the audit found.
    held().start_again(0);
    for node in 0..NODES {
        let there = held().sql(node, "SELECT count(*), count(DISTINCT ts, hostname) FROM cpu");
        let found = record.audit.found;
        assert_eq!(there, format!("{found}\t{found}"), "node {node}\n{text}");
    }
}

#[test]
fn a_node_that_holds_something_else_is_reported_though_the_audited_one_is_right() {
    if skipped() {
        return;
    }
    let cluster = Galera::start();
    let job = job(&cluster, 3);
    let changes = || {
        wait_for_rows(&cluster, 2, 10 * BATCH);
        let alone = "SET wsrep_on = OFF; UPDATE cpu SET usage_user = usage_user + 1 LIMIT 1";
        cluster.node(2).sql(alone);
    };
    let record = beside(changes, || job.run()).record;
    let text = report::text(&record);
    expect_every_row_accounted_for(&record, BATCH);
    assert_eq!(record.audit.missing + record.audit.altered, 0, "{text}");
    assert_eq!(record.judgments.data.value, Data::Unverified, "{text}");
    assert_eq!(data_reasons(&record), [ReasonCode::CopiesDiffer], "{text}");
    let found = record.audit.found;
    let named = format!("cpu: {found}, {found}, {found} rows, not the same ones");
    assert_eq!(record.audit.copies_differ, [named]);
}
