//! The same rows in SQLite and in another database, and the same questions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use highwater_core::model::op::{BoundOpKind, BoundWorkload, OpBody, Value};
use highwater_core::model::units::{Nanos, Seed};
use highwater_core::workload::{OpContext, Workload, WorkloadSpec, builtin};
use highwater_driver::{Connect, Request, TableWish, registry};
use rusqlite::{Connection, params_from_iter, types};

use crate::support;

/// Ops of each query that are compared.
const OPS: u64 = 6;

/// Rows of cells; points in time in milliseconds.
pub(crate) type Answer = Vec<Vec<String>>;

/// A database that is asked as the driver asks it.
pub(crate) trait Database {
    /// Where the driver finds it.
    fn url(&self) -> String;
    /// Asks a statement with its parameters.
    fn ask(&self, sql: &str, parameters: &[Value]) -> Answer;
}

/// Creates and fills the table at a URL; the workload in the target's dialect.
async fn fill(url: String, workload: &Workload, rows: u64) -> Arc<BoundWorkload> {
    let timeline = support::WallTimeline::start();
    let target = registry::open(&[url], &support::options()).unwrap();
    let mut admin = target.administer(timeline.clone()).await.unwrap();
    let dialects = admin.facts().await.unwrap().dialects;
    let bound = Arc::new(workload.bind(&dialects, target.placeholders()).unwrap());
    admin
        .create_tables(
            &bound,
            &TableWish {
                drop: true,
                ..TableWish::new("test", Seed(1))
            },
        )
        .await
        .unwrap();
    let connect = Connect {
        workload: Arc::clone(&bound),
        number: 0,
        attempt: 0,
        timeline: timeline.clone(),
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
    // What was written is to be seen.
    let limit = timeline.now().saturating_add(Nanos::from_secs(60));
    assert!(admin.quiesce(limit).await.unwrap());
    bound
}

/// The same rows in two databases.
pub(crate) struct Case {
    workload: Workload,
    rows: u64,
    sqlite: Connection,
    sqlite_words: Arc<BoundWorkload>,
    other: Box<dyn Database>,
    other_words: Arc<BoundWorkload>,
}

impl Case {
    pub(crate) fn new(
        directory: &Path,
        other: Box<dyn Database>,
        name: &str,
        settings: &[(&str, &str)],
        rows: u64,
    ) -> Self {
        let spec = WorkloadSpec::parse(builtin(name).unwrap().text).unwrap();
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings: BTreeMap<String, String> = settings.collect();
        let workload = spec.instantiate(&settings, Seed(7)).unwrap();
        let file = directory.join(format!("{name}.db"));
        let (sqlite_words, other_words) = support::block_on(async {
            let url_of_file = format!("sqlite:{}", file.display());
            (
                fill(url_of_file, &workload, rows).await,
                fill(other.url(), &workload, rows).await,
            )
        });
        Self {
            workload,
            rows,
            sqlite: Connection::open(file).unwrap(),
            sqlite_words,
            other,
            other_words,
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

    /// Asks every query on both, and compares; how many queries there were. `equals` says where a
    /// query leaves a choice open, and among which rows.
    pub(crate) fn compare(&self, equals: impl Fn(&str) -> Option<&'static str>) -> usize {
        let mut queries = 0;
        for op in &self.sqlite_words.ops {
            let BoundOpKind::Query { sql, .. } = &op.kind else {
                continue;
            };
            queries += 1;
            let mut answered = 0;
            for index in 0..OPS {
                let parameters = self.parameters(&op.name, index);
                let context = format!("{} {parameters:?}", op.name);
                let ours = self.on_sqlite(sql, &parameters);
                let theirs = sql_of(&self.other_words, &op.name);
                let theirs = self.other.ask(theirs, &parameters);
                match equals(&op.name) {
                    Some(equals) => {
                        let equals = self.on_sqlite(equals, &parameters);
                        expect_chosen(&context, &equals, [&ours, &theirs]);
                    }
                    None => expect_same(&context, sql.contains("ORDER BY"), [ours.clone(), theirs]),
                }
                let id = self.workload.stream(&op.name).unwrap().ops[0].0;
                if let Some((least, most)) = self.workload.expected_rows(id) {
                    let rows = u64::try_from(ours.len()).unwrap();
                    assert!((least..=most).contains(&rows), "{context}: {rows} rows");
                }
                answered += ours.len();
            }
            assert!(answered > 0, "{} answered nothing", op.name);
        }
        queries
    }

    /// Every row has its own key: its index.
    pub(crate) fn check_keys(&self) {
        let ask = |bound: &BoundWorkload| {
            let table = &bound.tables[0];
            let (name, key) = (&table.name, &table.key);
            format!("SELECT count(*), count(DISTINCT {key}), min({key}), max({key}) FROM {name}")
        };
        let last = self.rows - 1;
        let expected = [self.rows, self.rows, 0, last].map(|n| n.to_string());
        let ours = self.on_sqlite(&ask(&self.sqlite_words), &[]);
        let theirs = self.other.ask(&ask(&self.other_words), &[]);
        assert_eq!(
            (ours, theirs),
            (vec![expected.to_vec()], vec![expected.to_vec()])
        );
    }
}

fn sql_of<'a>(bound: &'a BoundWorkload, query: &str) -> &'a str {
    match &bound.ops.iter().find(|op| op.name == query).unwrap().kind {
        BoundOpKind::Query { sql, .. } => sql,
        BoundOpKind::Insert { .. } => panic!("{query} is no query"),
    }
}

/// Both chose as many rows, and all of them from these.
fn expect_chosen(context: &str, equals: &Answer, chosen: [&Answer; 2]) {
    assert_eq!(chosen[0].len(), chosen[1].len(), "{context}");
    for row in chosen.into_iter().flatten() {
        assert!(equals.contains(row), "{context}: {row:?}");
    }
}

/// The words of both may differ in the last digits of a mean or a sum.
fn expect_same(context: &str, ordered: bool, answers: [Answer; 2]) {
    let [mut one, mut other] = answers;
    if !ordered {
        one.sort();
        other.sort();
    }
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
