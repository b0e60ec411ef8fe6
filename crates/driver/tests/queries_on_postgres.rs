//! Keys and queries of the workloads besides cpu: the same on PostgreSQL as on SQLite, with the
//! same seed and size, filled through their drivers; and with as many rows in the answer as the
//! workload's file promises.
//!
//! Rows are compared in order where the query orders them, as a set where it does not.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where it finds something else"
)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use highwater_core::model::op::{BoundOpKind, BoundWorkload, OpBody, Value};
use highwater_core::model::units::Seed;
use highwater_core::workload::{OpContext, Workload, WorkloadSpec, builtin};
use highwater_driver::{Connect, Request, TableWish, registry};
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};
use rusqlite::{Connection, params_from_iter, types};

/// Ops of each query that are compared.
const OPS: u64 = 4;

type Answer = Vec<Vec<String>>;

/// Creates and fills the table at a URL; the workload in the target's dialect.
async fn fill(url: String, workload: &Workload, rows: u64) -> Arc<BoundWorkload> {
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
    let batch = workload.rows_per_op(stream.ops[0].0);
    for index in 0..rows / batch {
        let op = workload.op(&stream, index, &OpContext { first_row: 0 });
        let bytes = Vec::new();
        let mut request = Request { op, bytes };
        encoder.encode(&mut request);
        let outcome = session.execute(&mut request).await;
        assert_eq!(outcome.rows_applied, batch, "{outcome:?}");
    }
    bound
}

/// The same rows in two databases.
struct Case {
    workload: Workload,
    rows: u64,
    sqlite: Connection,
    sqlite_words: Arc<BoundWorkload>,
    postgres: Postgres,
    postgres_words: Arc<BoundWorkload>,
}

impl Case {
    fn new(directory: &Path, name: &str, settings: &[(&str, &str)], rows: u64) -> Self {
        let spec = WorkloadSpec::parse(builtin(name).unwrap().text).unwrap();
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings: BTreeMap<String, String> = settings.collect();
        let workload = spec.instantiate(&settings, Seed(7)).unwrap();
        let file = directory.join(format!("{name}.db"));
        let postgres = Postgres::start();
        let url = postgres.url(SUPERUSER, "postgres");
        let (sqlite_words, postgres_words) = support::block_on(async {
            let url_of_file = format!("sqlite:{}", file.display());
            (
                fill(url_of_file, &workload, rows).await,
                fill(url, &workload, rows).await,
            )
        });
        Self {
            workload,
            rows,
            sqlite: Connection::open(file).unwrap(),
            sqlite_words,
            postgres,
            postgres_words,
        }
    }

    fn parameters(&self, query: &str, index: u64) -> Vec<Value> {
        let stream = self.workload.stream(query).unwrap();
        let context = OpContext {
            first_row: self.rows,
        };
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
                    types::Value::Null => String::new(),
                    other @ types::Value::Blob(_) => panic!("{other:?}"),
                })
            });
            values.collect()
        });
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// As the driver asks it: a prepared statement, timestamps declared.
    fn on_postgres(&self, sql: &str, parameters: &[Value]) -> Answer {
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
        let list = |words: Vec<String>| match words.len() {
            0 => String::new(),
            _ => format!("({})", words.join(", ")),
        };
        let answer = self.postgres.sql(
            "postgres",
            &format!(
                "SET TimeZone = 'UTC'; PREPARE asked{} AS {sql}; EXECUTE asked{}",
                list(kinds.map(str::to_owned).collect()),
                list(given.collect())
            ),
        );
        let cells = |line: &str| line.split('|').map(in_millis).collect();
        answer.lines().map(cells).collect()
    }

    /// Asks every query on both, and compares.
    fn compare(&self) {
        for op in &self.sqlite_words.ops {
            let BoundOpKind::Query { sql, .. } = &op.kind else {
                continue;
            };
            let ordered = sql.contains("ORDER BY");
            let theirs = sql_of(&self.postgres_words, &op.name);
            let id = self.workload.stream(&op.name).unwrap().ops[0].0;
            let mut answered = 0;
            for index in 0..OPS {
                let parameters = self.parameters(&op.name, index);
                let context = format!("{} {parameters:?}", op.name);
                let mut one = self.on_sqlite(sql, &parameters);
                let mut other = self.on_postgres(theirs, &parameters);
                if !ordered {
                    one.sort();
                    other.sort();
                }
                expect_same(&context, &one, &other);
                if let Some((least, most)) = self.workload.expected_rows(id) {
                    let rows = u64::try_from(one.len()).unwrap();
                    assert!((least..=most).contains(&rows), "{context}: {rows} rows");
                }
                answered += one.len();
            }
            assert!(answered > 0, "{} answered nothing", op.name);
        }
    }

    /// Every row has its own key: its index.
    fn check_keys(&self) {
        let ask = |bound: &BoundWorkload| {
            let table = &bound.tables[0];
            let (name, key) = (&table.name, &table.key);
            format!("SELECT count(*), count(DISTINCT {key}), min({key}), max({key}) FROM {name}")
        };
        let last = self.rows - 1;
        let expected = [self.rows, self.rows, 0, last].map(|n| n.to_string());
        assert_eq!(
            self.on_sqlite(&ask(&self.sqlite_words), &[]),
            [expected.to_vec()]
        );
        assert_eq!(
            self.on_postgres(&ask(&self.postgres_words), &[]),
            [expected.to_vec()]
        );
    }
}

fn sql_of<'a>(bound: &'a BoundWorkload, query: &str) -> &'a str {
    match &bound.ops.iter().find(|op| op.name == query).unwrap().kind {
        BoundOpKind::Query { sql, .. } => sql,
        BoundOpKind::Insert { .. } => panic!("{query} is no query"),
    }
}

/// A point in time as PostgreSQL shows it, in milliseconds; everything else as it is.
fn in_millis(cell: &str) -> String {
    let number = |range: std::ops::Range<usize>| cell.get(range)?.parse::<i64>().ok();
    let parts = || {
        let time = cell.strip_suffix("+00")?;
        let date = [number(0..4)?, number(5..7)?, number(8..10)?];
        let clock = [number(11..13)?, number(14..16)?, number(17..19)?];
        let fraction = format!("{:0<3}", time.get(20..).unwrap_or(""));
        Some((date, clock, fraction.parse::<i64>().ok()?))
    };
    let Some(([year, month, day], [hour, minute, second], millis)) = parts() else {
        return cell.to_owned();
    };
    // Days of the years before, of the months before, of the month (Fliegel and Van Flandern).
    let shift = (14 - month) / 12;
    let (y, m) = (year + 4_800 - shift, month + 12 * shift - 3);
    let julian = day + (153 * m + 2) / 5 + 365 * y + y / 4 - y / 100 + y / 400 - 32_045;
    let seconds = ((julian - 2_440_588) * 24 + hour) * 3_600 + minute * 60 + second;
    (seconds * 1_000 + millis).to_string()
}

/// The words of both may differ in the last digits of a mean or a sum.
fn expect_same(context: &str, one: &Answer, other: &Answer) {
    assert_eq!(one.len(), other.len(), "{context}");
    for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
        match (one.parse::<f64>(), other.parse::<f64>()) {
            (Ok(a), Ok(b)) => assert!(
                (a - b).abs() <= 1e-9 * a.abs().max(1.0),
                "{context}: {a}, {b}"
            ),
            _ => assert_eq!(one, other, "{context}"),
        }
    }
}

#[test]
fn a_point_in_time_is_read_as_it_is_shown() {
    assert_eq!(in_millis("1970-01-01 00:00:00+00"), "0");
    assert_eq!(in_millis("2016-02-29 23:59:59.25+00"), "1456790399250");
    assert_eq!(in_millis("sensor-1"), "sensor-1");
}

#[test]
fn the_sixteen_queries_of_tsbs_answer_the_same_and_as_many_rows_as_promised() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // Twenty-five hours: the longest window is a day.
    let settings = [("hosts", "32"), ("interval", "1m"), ("batch", "4000")];
    let case = Case::new(directory.path(), "tsbs", &settings, 48_000);
    case.check_keys();
    case.compare();
}

#[test]
fn the_three_queries_of_sensors_answer_the_same() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // A reading a minute: fourteen days, that is two windows of a week.
    let settings = [
        ("sensors", "200"),
        ("tenants", "7"),
        ("interval", "1m"),
        ("weeks", "2"),
        ("span", "7d"),
    ];
    let case = Case::new(directory.path(), "sensors", &settings, 21_000);
    case.check_keys();
    case.compare();
}

#[test]
fn rows_of_the_ingest_workloads_lead_back_to_their_index() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let batch = [("batch", "1500")];
    Case::new(directory.path(), "nib-cpu", &batch, 9_000).check_keys();
    Case::new(directory.path(), "loadtest", &batch, 3_000).check_keys();
}
