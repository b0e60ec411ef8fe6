//! The same rows and queries in SQLite and in another database.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use highwater_driver::{Connect, Request, TablePolicy};
use highwater_model::literal::LiteralStyle;
use highwater_model::op::{BoundOpKind, BoundWorkload, Op, OpBody, RowBatch, Value};
use highwater_model::units::{Nanos, Seed};
use highwater_workload::{OpContext, Workload, WorkloadSpec, builtin};
use rusqlite::{Connection, params_from_iter, types};

use crate::support;

/// Number of ops compared per query.
const OPS: u64 = 6;

/// Rows of cells; times in milliseconds.
pub(crate) type Answer = Vec<Vec<String>>;

/// A database that runs statements as the driver sends them.
pub(crate) trait Database {
    /// Its URL for the driver.
    fn url(&self) -> String;
    /// How its driver writes literals.
    fn style(&self) -> LiteralStyle {
        LiteralStyle::Standard
    }
    /// Runs a statement with its parameters.
    fn run(&self, sql: &str, parameters: &[Value]) -> Answer;
}

/// A workload in a target's dialect, with parameters and with literals.
struct Words {
    prepared: Arc<BoundWorkload>,
    literal: Arc<BoundWorkload>,
}

/// Creates and fills the table at a URL.
async fn fill(url: &str, workload: &Workload, rows: u64) -> Words {
    let timeline = support::WallTimeline::start();
    let target = highwater_drivers::open(&[url.to_owned()], &support::options()).unwrap();
    let mut admin = target.administer(timeline.clone()).await.unwrap();
    let dialects = admin.facts().await.unwrap().dialects;
    let bound = Arc::new(workload.bind(&dialects, target.placeholders()).unwrap());
    let literal = Arc::new(workload.bind_literally(&dialects).unwrap());
    let policy = TablePolicy::new("test", Seed(1)).dropping(true);
    admin.create_tables(&bound, &policy).await.unwrap();
    // On each host in turn.
    let mut sessions = Vec::new();
    for number in (0..).take(target.urls().len()) {
        let connect = Connect {
            workload: Arc::clone(&bound),
            number,
            attempt: 0,
            timeline: timeline.clone(),
        };
        sessions.push(target.connect(connect).await.unwrap());
    }
    let insert = workload.stream("insert").or_else(|| workload.stream("load"));
    let stream = insert.unwrap();
    let batch = workload.rows_per_op(stream.ops[0].0);
    let hosts = sessions.len();
    for index in 0..rows / batch {
        let op = workload.op(&stream, index, &OpContext { first_row: 0 });
        let bytes = Vec::new();
        let mut request = Request { op, bytes };
        let session = &mut sessions[usize::try_from(index).unwrap() % hosts];
        session.encoder().encode(&mut request);
        let outcome = session.execute(&mut request).await;
        assert_eq!(outcome.rows_applied, batch, "{outcome:?}");
    }
    // The writes must be visible.
    let limit = timeline.now().saturating_add(Nanos::from_secs(60));
    assert!(admin.quiesce(limit).await.unwrap());
    Words { prepared: bound, literal }
}

/// The number of rows that the driver's own session gets for each op.
async fn answered(url: &str, words: &Arc<BoundWorkload>, ops: &[Op]) -> Vec<u64> {
    let timeline = support::WallTimeline::start();
    let target = highwater_drivers::open(&[url.to_owned()], &support::options()).unwrap();
    let connect = Connect { workload: Arc::clone(words), number: 0, attempt: 0, timeline };
    let mut session = target.connect(connect).await.unwrap();
    let mut encoder = session.encoder();
    let mut rows = Vec::new();
    for op in ops {
        let (op, bytes) = (op.clone(), Vec::new());
        let mut request = Request { op, bytes };
        encoder.encode(&mut request);
        let outcome = session.execute(&mut request).await;
        assert!(outcome.is_success(), "{:?}: {outcome:?}", request.op);
        rows.push(outcome.response_rows);
    }
    rows
}

/// The same rows in two databases.
pub(crate) struct Case {
    workload: Workload,
    rows: u64,
    sqlite: Connection,
    sqlite_url: String,
    sqlite_words: Words,
    other: Box<dyn Database>,
    other_words: Words,
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
        let settings: BTreeMap<String, String> = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let workload = spec.instantiate(&settings, Seed(7)).unwrap();
        let file = directory.join(format!("{name}.db"));
        let sqlite_url = format!("sqlite:{}", file.display());
        let (sqlite_words, other_words) = support::block_on(async {
            (fill(&sqlite_url, &workload, rows).await, fill(&other.url(), &workload, rows).await)
        });
        Self {
            workload,
            rows,
            sqlite: Connection::open(file).unwrap(),
            sqlite_url,
            sqlite_words,
            other,
            other_words,
        }
    }

    fn op(&self, query: &str, index: u64) -> Op {
        let stream = self.workload.stream(query).unwrap();
        let context = OpContext { first_row: self.rows };
        self.workload.op(&stream, index, &context)
    }

    fn parameters(&self, query: &str, index: u64) -> Vec<Value> {
        match self.op(query, index).body {
            OpBody::Query(values) => values,
            OpBody::Insert(_) => panic!("{query} is no query"),
        }
    }

    /// A query with values in its text returns the same rows, both directly and through the driver.
    fn compare_literals(&self, query: &str, index: u64, answers: [&Answer; 2]) {
        let values = self.parameters(query, index);
        let text = |words: &Words, timestamps| {
            let mut ops = words.literal.ops.iter();
            let op = ops.find(|op| op.name == query).unwrap();
            let BoundOpKind::Literal(sql) = &op.kind else {
                panic!("{query} is no literal query");
            };
            let mut text = String::new();
            sql.write(&values, timestamps, &mut text);
            text
        };
        let ours = text(&self.sqlite_words, LiteralStyle::Milliseconds);
        assert_eq!(&self.on_sqlite(&ours, &[]), answers[0], "{ours}");
        let theirs = text(&self.other_words, self.other.style());
        let is_ordered = theirs.contains("ORDER BY");
        let reported = self.other.run(&theirs, &[]);
        expect_same(&theirs, is_ordered, [reported, answers[1].clone()]);
        let ops = [self.op(query, index)];
        let rows = answers.map(|answer| vec![u64::try_from(answer.len()).unwrap()]);
        support::block_on(async {
            let literal = &self.sqlite_words.literal;
            let reported = answered(&self.sqlite_url, literal, &ops).await;
            assert_eq!(reported, rows[0], "{ours}");
            let literal = &self.other_words.literal;
            let reported = answered(&self.other.url(), literal, &ops).await;
            assert_eq!(reported, rows[1], "{theirs}");
        });
    }

    fn on_sqlite(&self, sql: &str, parameters: &[Value]) -> Answer {
        let mut statement = self.sqlite.prepare(sql).unwrap();
        let columns = statement.column_count();
        let given = parameters.iter().map(|value| match value {
            Value::Text(text) => types::Value::Text(text.to_string()),
            Value::TimestampMs(number) | Value::Integer(number) => types::Value::Integer(*number),
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

    /// Runs every query on both, and compares the results; returns the number of queries. `equals` returns, for a query
    /// with a free choice, the rows among which it may choose.
    pub(crate) fn compare(&self, equals: impl Fn(&str) -> Option<&'static str>) -> usize {
        let mut queries = 0;
        for op in &self.sqlite_words.prepared.ops {
            let BoundOpKind::Query { sql, .. } = &op.kind else {
                continue;
            };
            // Writing statements return no rows.
            if ["INSERT", "DELETE"].iter().any(|word| sql.starts_with(word)) {
                continue;
            }
            queries += 1;
            let mut answered = 0;
            for index in 0..OPS {
                let parameters = self.parameters(&op.name, index);
                let context = format!("{} {parameters:?}", op.name);
                let ours = self.on_sqlite(sql, &parameters);
                let theirs = sql_of(&self.other_words.prepared, &op.name);
                let theirs = self.other.run(theirs, &parameters);
                if index == 0 {
                    self.compare_literals(&op.name, index, [&ours, &theirs]);
                }
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

    /// A query returns as many rows as `counted` computes from its parameters.
    pub(crate) fn check_rows(&self, query: &str, counted: impl Fn(&RowBatch, &[Value]) -> usize) {
        let rows = usize::try_from(self.rows).unwrap();
        let made = self.workload.row_batch(0, 0, rows);
        for index in 0..OPS {
            let parameters = self.parameters(query, index);
            let expected = counted(&made, &parameters);
            let ours = self.on_sqlite(sql_of(&self.sqlite_words.prepared, query), &parameters);
            let theirs = sql_of(&self.other_words.prepared, query);
            let theirs = self.other.run(theirs, &parameters);
            let found = (ours.len(), theirs.len());
            assert_eq!(found, (expected, expected), "{query} {parameters:?}");
        }
    }

    /// Every row has its own key: its index.
    pub(crate) fn check_keys(&self) {
        let run = |bound: &BoundWorkload| {
            let table = &bound.tables[0];
            let (name, key) = (&table.name, &table.key);
            format!("SELECT count(*), count(DISTINCT {key}), min({key}), max({key}) FROM {name}")
        };
        let last = self.rows - 1;
        let expected = [self.rows, self.rows, 0, last].map(|n| n.to_string());
        let ours = self.on_sqlite(&run(&self.sqlite_words.prepared), &[]);
        let theirs = self.other.run(&run(&self.other_words.prepared), &[]);
        assert_eq!((ours, theirs), (vec![expected.to_vec()], vec![expected.to_vec()]));
    }
}

fn sql_of<'a>(bound: &'a BoundWorkload, query: &str) -> &'a str {
    match &bound.ops.iter().find(|op| op.name == query).unwrap().kind {
        BoundOpKind::Query { sql, .. } => sql,
        _ => panic!("{query} is no query"),
    }
}

/// Both chose the same number of rows, all of them from these.
fn expect_chosen(context: &str, equals: &Answer, chosen: [&Answer; 2]) {
    assert_eq!(chosen[0].len(), chosen[1].len(), "{context}");
    for row in chosen.into_iter().flatten() {
        assert!(equals.contains(row), "{context}: {row:?}");
    }
}

/// Results may differ in the last digits of a mean or a sum.
fn expect_same(context: &str, ordered: bool, answers: [Answer; 2]) {
    let [mut one, mut other] = answers;
    if !ordered {
        one.sort();
        other.sort();
    }
    assert_eq!(one.len(), other.len(), "{context}");
    for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
        match (one.parse::<f64>(), other.parse::<f64>()) {
            (Ok(a), Ok(b)) => {
                assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{context}: {a}, {b}");
            }
            _ => assert_eq!(one, other, "{context}"),
        }
    }
}
