//! The six queries of the cpu workload answer the same on PostgreSQL as on SQLite, where
//! `cpu_on_sqlite` checks them against the generated rows. Both are filled through their drivers.
//!
//! Where a query leaves the choice between equals open, what was chosen must be one of them.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where it finds something else"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use highwater_core::model::op::{BoundOpKind, BoundWorkload, OpBody, Value};
use highwater_core::model::units::Seed;
use highwater_core::workload::{OpContext, Workload, WorkloadSpec, builtin};
use highwater_driver::{Connect, Request, TableWish, registry};
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};
use rusqlite::{Connection, params_from_iter, types};

/// The last tick is not whole.
const ROWS: u64 = 6_500;
const BATCH: u64 = 500;
/// Ops of each query that are compared.
const OPS: u64 = 10;

type Answer = Vec<Vec<String>>;

fn workload() -> Workload {
    let spec = WorkloadSpec::parse(builtin("cpu").unwrap().text).unwrap();
    let settings = [("hosts", 60), ("batch", BATCH)];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_string()));
    spec.instantiate(&BTreeMap::from(settings), Seed(7))
        .unwrap()
}

/// Creates and fills the table at a URL; the workload in the target's dialect.
async fn fill(url: String, workload: &Workload) -> Arc<BoundWorkload> {
    let timeline = support::WallTimeline::start();
    let target = registry::open(&[url], &support::options()).unwrap();
    let mut admin = target.administer(timeline.clone()).await.unwrap();
    let dialects = admin.facts().await.unwrap().dialects;
    let bound = Arc::new(workload.bind(&dialects, target.placeholders()).unwrap());
    admin
        .create_tables(&bound, &TableWish::new("test", Seed(1)))
        .await
        .unwrap();
    let connect = Connect {
        workload: Arc::clone(&bound),
        number: 0,
        attempt: 0,
        timeline,
    };
    let mut session = target.connect(connect).await.unwrap();
    let mut encoder = session.encoder();
    let stream = workload.stream("insert").unwrap();
    for index in 0..ROWS / BATCH {
        let op = workload.op(&stream, index, &OpContext { first_row: 0 });
        let bytes = Vec::new();
        let mut request = Request { op, bytes };
        encoder.encode(&mut request);
        let outcome = session.execute(&mut request).await;
        assert_eq!(outcome.rows_applied, BATCH, "{outcome:?}");
    }
    bound
}

/// The same rows in two databases.
struct Case {
    workload: Workload,
    sqlite: Connection,
    sqlite_words: Arc<BoundWorkload>,
    postgres: Postgres,
    postgres_words: Arc<BoundWorkload>,
}

impl Case {
    fn new(directory: &Path) -> Self {
        let workload = workload();
        let file = directory.join("same.db");
        let postgres = Postgres::start();
        let url = postgres.url(SUPERUSER, "postgres");
        let (sqlite_words, postgres_words) = support::block_on(async {
            let url_of_file = format!("sqlite:{}", file.display());
            (
                fill(url_of_file, &workload).await,
                fill(url, &workload).await,
            )
        });
        Self {
            sqlite: Connection::open(file).unwrap(),
            workload,
            sqlite_words,
            postgres,
            postgres_words,
        }
    }

    fn parameters(&self, query: &str, index: u64) -> Vec<Value> {
        let stream = self.workload.stream(query).unwrap();
        let context = OpContext { first_row: ROWS };
        match self.workload.op(&stream, index, &context).body {
            OpBody::Query(values) => values,
            OpBody::Insert(_) => panic!("{query} is no query"),
        }
    }

    fn on_sqlite(&self, sql: &str, parameters: &[Value]) -> Answer {
        let mut statement = self.sqlite.prepare(sql).unwrap();
        let columns = statement.column_count();
        let given = parameters.iter().map(|value| match value {
            Value::Text(text) => types::Value::Text(text.to_string()),
            Value::TimestampMs(number) => types::Value::Integer(*number),
            other => panic!("{other:?}"),
        });
        let rows = statement.query_map(params_from_iter(given), |row| {
            let values = (0..columns).map(|column| {
                Ok(match row.get::<_, types::Value>(column)? {
                    types::Value::Integer(number) => number.to_string(),
                    types::Value::Real(number) => number.to_string(),
                    types::Value::Text(text) => text,
                    other => panic!("{other:?}"),
                })
            });
            values.collect()
        });
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// As the driver asks it: a prepared statement, timestamps declared.
    fn on_postgres(&self, query: &str, parameters: &[Value]) -> Answer {
        let kinds = parameters.iter().map(|value| match value {
            Value::Text(_) => "text",
            Value::TimestampMs(_) => "timestamptz",
            other => panic!("{other:?}"),
        });
        let given = parameters.iter().map(|value| match value {
            Value::Text(text) => format!("'{text}'"),
            Value::TimestampMs(number) => format!("to_timestamp({number} / 1000.0)"),
            other => panic!("{other:?}"),
        });
        let list = |words: Vec<String>| {
            if words.is_empty() {
                String::new()
            } else {
                format!("({})", words.join(", "))
            }
        };
        let answer = self.postgres.sql(
            "postgres",
            &format!(
                "SET TimeZone = 'UTC'; PREPARE asked{} AS {}; EXECUTE asked{}",
                list(kinds.map(str::to_owned).collect()),
                sql(&self.postgres_words, query),
                list(given.collect())
            ),
        );
        let cells = |line: &str| line.split('|').map(str::to_owned).collect();
        answer.lines().map(cells).collect()
    }
}

fn sql<'a>(bound: &'a BoundWorkload, query: &str) -> &'a str {
    match &bound.ops.iter().find(|op| op.name == query).unwrap().kind {
        BoundOpKind::Query { sql, .. } => sql,
        BoundOpKind::Insert { .. } => panic!("{query} is no query"),
    }
}

/// All rows, on SQLite, among which a query may choose: of the same rank as one that it chose.
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

/// The words of both may differ in the last digits of a mean and in how they show a time.
fn expect_same(context: &str, one: &Answer, other: &Answer) {
    assert_eq!(one.len(), other.len(), "{context}");
    for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
        match (one.parse::<f64>(), other.parse::<f64>()) {
            (Ok(a), Ok(b)) => assert!((a - b).abs() < 1e-9, "{context}: {a}, {b}"),
            _ => assert_eq!(one, other, "{context}"),
        }
    }
}

#[test]
fn every_query_answers_the_same_on_both() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let case = Case::new(directory.path());
    for query in [
        "latest-metrics",
        "service",
        "recent-snapshot",
        "high-cpu-hosts",
        "max-user",
        "moving-average",
    ] {
        for index in 0..OPS {
            let parameters = case.parameters(query, index);
            let context = format!("{query} {parameters:?}");
            let theirs = case.on_postgres(query, &parameters);
            let mut words = sql(&case.sqlite_words, query).to_owned();
            if query == "moving-average" {
                words = format!(
                    "SELECT hostname, strftime('%Y-%m-%d %H:%M:%S+00', minute / 1000, 'unixepoch'), \
                     mean_user, moving_average FROM ({words})"
                );
            }
            let ours = case.on_sqlite(&words, &parameters);
            assert!(!ours.is_empty(), "{context}");
            let Some(equals) = equals(query) else {
                expect_same(&context, &ours, &theirs);
                continue;
            };
            assert_eq!(ours.len(), theirs.len(), "{context}");
            let equals = case.on_sqlite(equals, &parameters);
            let chosen: BTreeSet<&Vec<String>> = theirs.iter().collect();
            assert!(
                chosen.iter().all(|row| equals.contains(row)),
                "{context}: {theirs:?}"
            );
            assert!(
                ours.iter().all(|row| equals.contains(row)),
                "{context}: {ours:?}"
            );
        }
    }
}
