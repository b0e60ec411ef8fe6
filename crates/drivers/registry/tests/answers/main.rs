//! Every query of every workload returns the same rows on other databases as on SQLite, with the same seed and size,
//! both filled through their drivers; and the number of rows that the workload's file promises. On PostgreSQL, MariaDB,
//! and ClickHouse (one server, and three shards), and on the CrateDBs among the URLs in `HIGHWATER_TEST_URLS`. Queries
//! of kv do not run on three shards, because each would replace only its own rows.
//!
//! Rows are compared in order if the query orders them, and as a set otherwise. If a query may choose among equal rows,
//! its choice must be one of them.

#![expect(clippy::unwrap_used, reason = "a test fails where it finds something else")]

mod case;
mod clickhouse;
mod cratedb;
mod json_rows;
mod mariadb;
mod postgres;

use std::path::Path;
use std::thread;

use case::{Case, Database};
use cratedb::CrateDb;
use highwater_model::op::{ColumnData, RowBatch, Value};
use highwater_testing::clickhouse::{self as clickhouse_server, ClickHouse};
use highwater_testing::clickhouse_shards::Shards;
use highwater_testing::mariadb::{self as mariadb_server, MariaDb};
use highwater_testing::postgres::{Postgres, skipped};
use highwater_testkit::support;

/// Whether a query's results are the same on the database that it starts; that directory has the rows in SQLite.
type Check<'a> = &'a (dyn Fn(&dyn Fn() -> Box<dyn Database>, &Path) + Sync);

/// On PostgreSQL, MariaDB, and ClickHouse if they are installed, and on all named CrateDBs, concurrently.
///
/// Tests also run concurrently: each has a separate schema.
fn on_each(schema: &str, check: Check<'_>) {
    thread::scope(|scope| {
        if !clickhouse_server::skipped() {
            scope.spawn(|| on(check, &|| Box::new(Shards::start())));
        }
        on_each_alone(schema, check);
    });
}

/// The same without three shards.
fn on_each_alone(schema: &str, check: Check<'_>) {
    thread::scope(|scope| {
        if !clickhouse_server::skipped() {
            scope.spawn(|| on(check, &|| Box::new(ClickHouse::start())));
        }
        if !skipped() {
            scope.spawn(|| on(check, &|| Box::new(Postgres::start())));
        }
        if !mariadb_server::skipped() {
            scope.spawn(|| on(check, &|| Box::new(MariaDb::start())));
        }
        for url in cratedb::named() {
            on(check, &|| Box::new(CrateDb::new(&url, schema)));
        }
    });
}

fn on(check: Check<'_>, start: &dyn Fn() -> Box<dyn Database>) {
    let directory = tempfile::tempdir().unwrap();
    check(start, directory.path());
}

/// All rows on SQLite among which a query of cpu may choose: of the same rank as a chosen one.
fn equals(query: &str) -> Option<&'static str> {
    match query {
        "service" => Some(
            "SELECT tags->>'hostname', usage_user, usage_system FROM cpu \
             WHERE tags->>'service_environment' = ?1 AND ts = \
             (SELECT max(ts) FROM cpu WHERE tags->>'service_environment' = ?1)",
        ),
        "high-cpu-hosts" => Some(
            "SELECT tags->>'hostname', usage_user FROM cpu WHERE usage_user > 80 AND ts >= \
             (SELECT ts FROM cpu WHERE usage_user > 80 ORDER BY ts DESC LIMIT 1 OFFSET 4)",
        ),
        "max-user" => Some(
            "WITH within AS (SELECT tags->>'hostname' AS host, usage_user FROM cpu \
             WHERE tags->>'datacenter' = ?1 AND ts > ?2 AND ts <= ?3) \
             SELECT host, usage_user FROM within \
             WHERE usage_user = (SELECT max(usage_user) FROM within)",
        ),
        _ => None,
    }
}

#[test]
fn the_six_queries_of_cpu_answer_the_same() {
    on_each("cpu", &|database, directory| {
        // The last tick is incomplete.
        let settings = [("hosts", "60"), ("batch", "500")];
        let case = Case::new(directory, database(), "cpu", &settings, 6_500);
        case.check_keys();
        assert_eq!(case.compare(equals), 6);
    });
}

/// The generated rows with usage_user above 90 that a query of tsbs selects: of one host or of all, within a time
/// range.
fn busy_rows(made: &RowBatch, parameters: &[Value]) -> usize {
    let [host @ .., Value::TimestampMs(since), Value::TimestampMs(until)] = parameters else {
        panic!("{parameters:?}");
    };
    let (tags, ts, user) = match made.columns.as_slice() {
        [
            ColumnData::ObjectDictionary(tags),
            ColumnData::TimestampMs(ts),
            ColumnData::Integer(user),
            ..,
        ] => (tags, ts, user),
        other => panic!("{other:?}"),
    };
    let is_requested = |row: &usize| match host {
        [Value::Text(host)] => {
            let tags = &tags.values[usize::try_from(tags.codes[*row]).unwrap()];
            tags.contains(&format!("\"hostname\":\"{host}\""))
        }
        _ => true,
    };
    let busy = (0..made.rows).filter(|row| user[*row] > 90);
    busy.filter(|row| (*since..*until).contains(&ts[*row])).filter(is_requested).count()
}

#[test]
fn the_sixteen_queries_of_tsbs_answer_the_same_and_as_many_rows_as_promised() {
    on_each("tsbs", &|database, directory| {
        // Twenty-five hours: the longest window is a day.
        let settings = [("hosts", "32"), ("interval", "1m"), ("batch", "4000")];
        let case = Case::new(directory, database(), "tsbs", &settings, 48_000);
        case.check_keys();
        assert_eq!(case.compare(|_| None), 16);
        // A file cannot promise the number of rows of these two.
        for query in ["high-cpu-1", "high-cpu-all"] {
            case.check_rows(query, busy_rows);
        }
    });
}

#[test]
fn the_three_queries_of_sensors_answer_the_same() {
    on_each("sensors", &|database, directory| {
        // One reading per minute: fourteen days, or two windows of a week.
        let settings = [
            ("sensors", "200"),
            ("tenants", "7"),
            ("interval", "1m"),
            ("weeks", "2"),
            ("span", "7d"),
        ];
        let case = Case::new(directory, database(), "sensors", &settings, 21_000);
        case.check_keys();
        assert_eq!(case.compare(|_| None), 3);
    });
}

#[test]
fn the_two_queries_of_kv_answer_the_same() {
    on_each_alone("kv", &|database, directory| {
        let settings = [
            ("batch", "3"),
            ("min_block_bytes", "8"),
            ("max_block_bytes", "20"),
            ("span_limit", "700"),
        ];
        let case = Case::new(directory, database(), "kv", &settings, 3_000);
        case.check_keys();
        assert_eq!(case.compare(|_| None), 2);
    });
}

#[test]
fn rows_of_the_ingest_workloads_lead_back_to_their_index() {
    on_each("ingest", &|database, directory| {
        let batch = [("batch", "1500")];
        Case::new(directory, database(), "nib-cpu", &batch, 9_000).check_keys();
        Case::new(directory, database(), "loadtest", &batch, 3_000).check_keys();
    });
}
