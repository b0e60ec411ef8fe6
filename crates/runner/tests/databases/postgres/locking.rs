//! A lock that another session holds longer than the run's timeout.

use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::limit::Resource;
use highwater_model::record::AuditStatus;
use highwater_model::units::Nanos;
use highwater_report as report;
use highwater_runner::run::RunEnd;

use super::server::Database;
use crate::beside::beside;
use crate::support::{Job, closed, data_reasons, measured, open};

/// Runs for three seconds; once rows exist, the table is locked for this many seconds.
fn run_with_lock(database: &Database, seconds: u32) -> RunEnd {
    let mut job = Job::new(&database.url(), &[("insert", open(2_000))]);
    job.settings = vec![("batch", "100".to_owned())];
    job.sessions = 4;
    job.step = Nanos::from_secs(3);
    job.timeout = Nanos::from_millis(500);
    let locks = || {
        database.wait_for_rows(1_000);
        database.sql(&format!(
            "BEGIN; LOCK TABLE cpu IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({seconds}); COMMIT"
        ));
    };
    beside(locks, || database.run(&job))
}

#[test]
fn the_audit_waits_for_abandoned_ops_and_is_exact() {
    let Some(database) = Database::new("locked") else {
        return;
    };
    let end = run_with_lock(&database, 6);
    let (record, text) = (&end.record, report::text(&end.record));
    let insert = measured(record, "insert");
    assert!(insert.errors["timeout"] >= 4, "{text}");
    assert!(insert.rows.unknown >= 400, "{text}");
    assert!(insert.dropped > 0, "{text}");
    // More than one op in ten got no response: they rank after all others.
    let unanswered = insert.offered - insert.acknowledged;
    assert_eq!(insert.latency_ns.beyond, unanswered, "{text}");
    assert!(unanswered * 10 > insert.offered, "{text}");
    assert_eq!(insert.latency_ns.mean, None, "{text}");
    // Nor do sessions that wait for the lock while connecting delay the end of the run.
    let audit_begin = Nanos(record.phases.last().unwrap().start_ns);
    assert!(audit_begin < Nanos::from_millis(4_500), "{audit_begin:?}");
    let audit = &record.audit;
    assert_eq!(audit.status, AuditStatus::Done, "{:?}\n{text}", audit.error);
    assert_eq!(record.judgments.data.value, Data::Clean, "{text}");
    assert!(record.incidents.is_empty(), "{:?}", record.incidents);
    let notes = record.notes.iter().map(|note| note.code.as_str());
    assert!(notes.eq(["shares_host"]), "{:?}", record.notes);
    // The server applied the timed-out ops once the lock was released.
    let of_unknown = audit.found - audit.acknowledged;
    assert!(of_unknown > 0 && of_unknown <= audit.unknown, "{text}");
    assert_eq!(data_reasons(record), [ReasonCode::ResentUnknown], "{text}");
    assert_eq!(audit.server_counter, Some(audit.found), "{text}");
    assert_eq!(database.number("SELECT count(*) FROM cpu"), audit.found);
}

/// Another session locks the table for nine tenths of the time.
#[test]
fn a_load_that_waits_for_a_lock_is_limited_by_locks() {
    let Some(database) = Database::new("limited_by_locks") else {
        return;
    };
    let mut job = Job::new(&database.url(), &[("insert", closed(8))]);
    job.settings = vec![("batch", "100".to_owned())];
    job.step = Nanos::from_secs(5);
    let locks = || {
        database.wait_for_rows(100);
        for _ in 0..5 {
            database.sql(
                "BEGIN; LOCK TABLE cpu IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(0.9); COMMIT",
            );
        }
    };
    let end = beside(locks, || database.run(&job));
    let limit = end.record.limit.as_ref().unwrap();
    // On a machine that is busy with other work, its CPU is also at its limit, and is named first.
    let named = [&limit.by, &limit.next].map(|of| of.as_ref().map(|of| of.resource));
    let is_named = match named {
        [Some(Resource::Cpu), next] => next == Some(Resource::Locks),
        [by, _] => by == Some(Resource::Locks),
    };
    assert!(is_named, "{limit:?}");
    let text = report::text(&end.record);
    assert!(text.contains("locks, for which "), "{text}");
}
