//! Which tables a run touches, and how sessions are distributed over hosts.

use highwater_model::judgment::Data;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserErrorKind;
use highwater_report as report;
use highwater_testing::postgres::SUPERUSER;

use super::server::{Database, target, try_run};
use crate::support::{Job, closed, measured};

fn short(database: &Database) -> Job {
    let mut job = Job::new(&database.url(), &[("insert", closed(2))]);
    job.settings = vec![("batch", "100".to_owned())];
    job.step = Nanos::from_millis(500);
    job
}

fn expect_refused(job: &Job, database: &Database, drop: bool) {
    let before = database.number("SELECT count(*) FROM cpu");
    match try_run(job, database.target(None), drop) {
        Err(error) => {
            assert_eq!(error.kind, UserErrorKind::ForeignTable, "{error}");
            assert!(error.message.contains("cpu"), "{error}");
        }
        Ok(end) => panic!("it ran: {}", report::text(&end.record)),
    }
    assert_eq!(database.number("SELECT count(*) FROM cpu"), before);
}

#[test]
fn a_second_run_continues_and_begins_anew_if_requested() {
    let Some(database) = Database::new("again") else {
        return;
    };
    let job = short(&database);
    let first = database.run(&job).record;
    assert_eq!(first.judgments.data.value, Data::Clean);
    let on = database.run(&job).record;
    assert_eq!(on.judgments.data.value, Data::Clean);
    assert_eq!(on.target.tables[0].rows_before, Some(first.audit.found));
    // The server counts forever; the comparison is of this run's rows.
    assert_eq!(on.audit.server_counter, Some(on.audit.found));
    let both = database.number("SELECT count(*) FROM cpu");
    assert_eq!(both, first.audit.found + on.audit.found);
    let mut other = job.clone();
    other.seed = 43;
    expect_refused(&other, &database, false);
    let second = try_run(&job, database.target(None), true).unwrap().record;
    let rows = measured(&second, "insert").rows.acknowledged;
    assert_eq!((second.audit.found, second.audit.missing), (rows, 0));
    assert_eq!(second.judgments.data.value, Data::Clean);
    assert_eq!(database.number("SELECT count(*) FROM cpu"), rows);
}

#[test]
fn a_foreign_table_is_never_touched() {
    let Some(database) = Database::new("foreign_table") else {
        return;
    };
    database.sql("CREATE TABLE cpu (mine int); INSERT INTO cpu VALUES (1), (2)");
    for drop in [false, true] {
        expect_refused(&short(&database), &database, drop);
    }
    assert_eq!(database.sql("SELECT mine FROM cpu ORDER BY 1"), "1\n2");
}

#[test]
fn sessions_are_spread_over_all_hosts() {
    let Some(database) = Database::new("hosts") else {
        return;
    };
    let port = database.server.port();
    for urls in [
        vec![
            database.url(),
            format!("postgres://{SUPERUSER}@localhost:{port}/hosts?sslmode=disable"),
        ],
        vec![format!("postgres://{SUPERUSER}@127.0.0.1:{port},localhost:{port}/hosts")],
    ] {
        let mut job = short(&database);
        job.streams[0].1 = vec![closed(5)];
        let record = try_run(&job, target(&urls, "hosts", None), true).unwrap().record;
        let hosts = &record.target.hosts;
        let sessions: Vec<u64> = hosts.iter().map(|host| host.sessions).collect();
        assert_eq!(sessions, [3, 2]);
        assert!(hosts[0].url.contains("127.0.0.1") && hosts[1].url.contains("localhost"));
        assert!(hosts.iter().all(|host| host.acknowledged > 0));
        let acknowledged: u64 = hosts.iter().map(|host| host.acknowledged).sum();
        assert_eq!(acknowledged, measured(&record, "insert").acknowledged);
        assert_eq!(record.judgments.data.value, Data::Clean);
    }
}
