//! Sessions that are ended during a run, a server that returns, and one that does not.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use highwater_analysis::RunEnding;
use highwater_model::event::{AuditStage, Event};
use highwater_model::judgment::{Data, Measurement, ReasonCode};
use highwater_model::record::{AuditStatus, RunRecord};
use highwater_model::units::Nanos;
use highwater_report as report;
use highwater_runner::request::Observer;
use highwater_testing::postgres::{Postgres, SUPERUSER, Setup, skipped};

use super::server::{Database, target, try_run};
use crate::beside::{beside, wait_for};
use crate::support::{self, Job, closed, data_reasons, exit_code, measured, measurement_reasons};

const SESSIONS: u32 = 4;
const BATCH: u64 = 2_000;

/// Closed load of batches so large that every session always has one in flight.
fn busy(url: &str, seconds: u64) -> Job {
    let mut job = Job::new(url, &[("insert", closed(SESSIONS))]);
    job.settings = vec![("batch", BATCH.to_string())];
    job.step = Nanos::from_secs(seconds);
    job
}

/// Nothing is counted twice or omitted, and failed rows are unknown, refused, or both.
fn expect_every_row_accounted_for(record: &RunRecord) {
    let text = report::text(record);
    let insert = measured(record, "insert");
    let rows = insert.rows;
    assert_eq!(rows.sent, rows.acknowledged + rows.refused + rows.unknown, "{text}");
    assert_eq!(insert.sent * BATCH, rows.sent, "{text}");
    assert_eq!(insert.acknowledged * BATCH, rows.acknowledged, "{text}");
    let failed: u64 = insert.errors.values().sum();
    assert_eq!(failed, insert.sent - insert.acknowledged, "{text}");
    assert_eq!(failed * BATCH, rows.refused + rows.unknown, "{text}");
    let known = ["connection", "unavailable"];
    let classes: Vec<&String> = insert.errors.keys().collect();
    assert!(classes.iter().all(|class| known.contains(&class.as_str())), "{classes:?}");
    let audit = &record.audit;
    assert_eq!((audit.acknowledged, audit.unknown), (rows.acknowledged, rows.unknown));
}

/// Everything acknowledged was found; of the rest, at most whole batches that the record lists.
fn expect_clean(record: &RunRecord) {
    support::expect_clean(record, BATCH);
    let resent = data_reasons(record).contains(&ReasonCode::ResentUnknown);
    let of_unknown = record.audit.found - record.audit.acknowledged;
    assert_eq!(resent, of_unknown > 0, "{}", report::text(record));
}

#[test]
fn terminated_sessions_reconnect_and_ops_in_flight_are_unknown() {
    let Some(database) = Database::new("terminated") else {
        return;
    };
    let job = busy(&database.url(), 8);
    let terminates = || {
        // The run's own connections, including the one used before and after the load.
        for _ in 0..2 {
            let before = database.wait_for_more_rows();
            database.sql(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                 WHERE application_name = 'terminated'",
            );
            database.wait_for_rows(before + 2 * u64::from(SESSIONS) * BATCH);
        }
    };
    let record = beside(terminates, || database.run(&job)).record;
    let text = report::text(&record);
    expect_every_row_accounted_for(&record);
    let insert = measured(&record, "insert");
    assert!(insert.rows.unknown >= BATCH, "{text}");
    assert_eq!(insert.rows.refused, 0, "{text}");
    expect_clean(&record);
    let opened = record.target.hosts[0].sessions;
    assert!(opened > u64::from(SESSIONS), "{opened} opened\n{text}");
    assert!(record.incidents.is_empty(), "{:?}", record.incidents);
    let notes = record.notes.iter().map(|note| note.code.as_str());
    assert!(notes.eq(["shares_host"]), "{:?}", record.notes);
    // A failing target is still measured: it does not make the measurement invalid.
    let codes = measurement_reasons(&record);
    assert!(!codes.contains(&ReasonCode::TargetLost), "{text}");
    assert_eq!(database.number("SELECT count(*) FROM cpu"), record.audit.found);
}

impl Database {
    /// Waits until the run has written more; returns the number of rows.
    fn wait_for_more_rows(&self) -> u64 {
        self.wait_for("SELECT to_regclass('cpu') IS NOT NULL");
        let before = self.number("SELECT count(*) FROM cpu");
        self.wait_for_rows(before + u64::from(SESSIONS) * BATCH);
        self.number("SELECT count(*) FROM cpu")
    }
}

fn rows(server: &Postgres) -> u64 {
    if server.sql("postgres", "SELECT to_regclass('cpu') IS NOT NULL") != "t" {
        return 0;
    }
    let rows = server.sql("postgres", "SELECT count(*) FROM cpu");
    rows.parse().unwrap()
}

/// Runs while `act` is applied to the server, once the run has written something.
fn run_while(
    job: &Job,
    server: &Arc<Mutex<Postgres>>,
    act: fn(&mut Postgres),
) -> highwater_runner::run::RunEnd {
    let target = target(std::slice::from_ref(&job.target), "restarted", None);
    let acts = || {
        let mut server = server.lock().unwrap();
        wait_for("rows of the run", || rows(&server) >= 2 * BATCH);
        act(&mut server);
    };
    beside(acts, || try_run(job, target, true).unwrap())
}

#[test]
fn a_restart_is_survived_and_an_end_is_reported_within_the_limit() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let url = server.url(SUPERUSER, "postgres");
    let server = Arc::new(Mutex::new(server));

    let end = run_while(&busy(&url, 6), &server, Postgres::restart);
    let (record, text) = (&end.record, report::text(&end.record));
    assert_eq!(end.ended, RunEnding::Complete, "{text}");
    expect_every_row_accounted_for(record);
    assert!(measured(record, "insert").rows.unknown > 0, "{text}");
    expect_clean(record);
    assert!(record.target.hosts[0].sessions > u64::from(SESSIONS));
    assert!(record.availability.longest_gap_ns > 0, "{text}");
    assert_eq!(rows(&server.lock().unwrap()), record.audit.found);
    // The table contains the previous run's rows: dropped by the caller.
    server.lock().unwrap().sql("postgres", "DROP TABLE cpu");

    let mut job = busy(&url, 60);
    job.audit_limit = Nanos::from_secs(2);
    let limit = job.step;
    let end = run_while(&job, &server, Postgres::stop);
    let (record, text) = (&end.record, report::text(&end.record));
    assert_eq!(end.ended, RunEnding::TargetLost, "{text}");
    assert_eq!(exit_code(&end), 5, "{text}");
    expect_every_row_accounted_for(record);
    assert!(record.audit.acknowledged > 0, "{text}");
    assert_eq!(record.judgments.data.value, Data::Unverified, "{text}");
    assert_eq!(record.judgments.measurement.value, Measurement::Invalid, "{text}");
    let last = record.phases.last().unwrap();
    let took = Nanos(last.start_ns + last.duration_ns);
    assert!(took < Nanos(limit.0 / 2), "{took:?}\n{text}");
}

/// Starts the server again once the audit reports that it is waiting for it.
struct StartsAgain(Arc<Mutex<Postgres>>, Cell<bool>);

impl Observer for StartsAgain {
    fn event(&self, event: &Event) {
        let Event::Audit(progress) = event else {
            return;
        };
        if matches!(progress.doing, AuditStage::WaitingForTarget { .. }) && !self.1.replace(true) {
            self.0.lock().unwrap().start_again();
        }
    }
}

/// Commits that are not on disk are lost in a crash, although they were acknowledged.
#[test]
fn the_audit_waits_for_a_crashed_server_and_finds_the_lost_rows() {
    if skipped() {
        return;
    }
    let server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
        settings: vec![
            "synchronous_commit = off".to_owned(),
            "wal_writer_delay = 10s".to_owned(),
            // Hardly anything else writes the log of commits.
            "shared_buffers = 256MB".to_owned(),
            "wal_writer_flush_after = 1GB".to_owned(),
            "wal_buffers = 64MB".to_owned(),
            "bgwriter_lru_maxpages = 0".to_owned(),
        ],
        ..Setup::default()
    });
    let mut job = Job::new(&server.url(SUPERUSER, "postgres"), &[("insert", closed(8))]);
    job.settings = vec![("batch", "200".to_owned())];
    job.step = Nanos::from_secs(4);
    let target = target(std::slice::from_ref(&job.target), "crashed", Some("unnest"));
    let server = Arc::new(Mutex::new(server));
    let again = Rc::new(StartsAgain(Arc::clone(&server), Cell::new(false)));
    let crashes = || {
        let mut server = server.lock().unwrap();
        wait_for("rows of the run", || rows(&server) >= 4_000);
        // The table itself survives.
        server.sql("postgres", "CHECKPOINT");
        let durable = rows(&server);
        wait_for("further rows", || rows(&server) >= durable + 4_000);
        server.stop();
    };
    let end = beside(crashes, || {
        let root = tempfile::tempdir().unwrap();
        let user = Rc::clone(&again) as Rc<dyn Observer>;
        job.run_watched_on(target, root.path(), user)
    });
    let (record, text) = (&end.record, report::text(&end.record));
    assert!(again.1.get(), "the audit did not wait\n{text}");
    assert_eq!(record.audit.status, AuditStatus::Done, "{text}");
    let there = rows(&server.lock().unwrap());
    assert_eq!(record.audit.found, there, "{text}");
    // A server that happened to write its log just before the crash has lost nothing.
    let lost = record.audit.acknowledged.saturating_sub(there);
    assert!(record.audit.missing >= lost, "{text}");
    if record.audit.missing > 0 {
        assert_eq!(record.judgments.data.value, Data::Lost, "{text}");
        assert_eq!(exit_code(&end), 4, "{text}");
    } else {
        assert_eq!(record.judgments.data.value, Data::Clean, "{text}");
    }
}

/// The judgment of a table to which this is done during a run.
fn lost_by(name: &'static str, sql: &str) -> String {
    let database = Database::new(name).unwrap();
    let job = busy(&database.url(), 3);
    let acts = || {
        database.wait_for_more_rows();
        database.sql(sql);
    };
    let end = beside(acts, || database.run(&job));
    let (record, text) = (&end.record, report::text(&end.record));
    assert_eq!(record.audit.status, AuditStatus::Done, "{text}");
    assert_eq!(record.judgments.data.value, Data::Lost, "{text}");
    assert_eq!(exit_code(&end), 4, "{text}");
    assert!(record.audit.missing <= record.audit.acknowledged, "{text}");
    record.judgments.data.reasons[0].sentence()
}

#[test]
fn a_table_that_was_dropped_or_truncated_in_mid_run_is_lost_in_these_words() {
    if skipped() {
        return;
    }
    // Rows in flight at that time arrive afterwards: on a busy machine, enough that another cause is possible.
    let words = "table `cpu` was truncated during the run";
    let mut tries = ["truncated", "truncated_again", "truncated_once_more"].into_iter();
    let said = tries.find(|name| lost_by(name, "TRUNCATE cpu").starts_with(words));
    assert!(said.is_some(), "{words}");
    let said = lost_by("dropped", "DROP TABLE cpu");
    assert!(said.starts_with("table `cpu` was dropped during the run"), "{said}");
}
