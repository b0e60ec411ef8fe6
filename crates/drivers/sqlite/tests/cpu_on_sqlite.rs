//! The SQL of the cpu workload on a real SQLite: the key is the row's index, and the six dashboard queries return what
//! follows from the generated rows. Does not use a driver.

#![expect(clippy::unwrap_used, reason = "a test fails where it finds something else")]

use std::cmp::Reverse;
use std::collections::BTreeMap;

use highwater_model::op::{
    BoundOpKind, BoundWorkload, ColumnData, OpBody, PlaceholderStyle, Value,
};
use highwater_model::units::Seed;
use highwater_workload::{OpContext, Workload, WorkloadSpec, builtin};
use rusqlite::{Connection, params_from_iter, types};

const HOSTS: u64 = 60;
const ROWS: u64 = HOSTS * 100 + 17;
const METRICS: usize = 10;

/// A generated row.
struct Row {
    json: String,
    ts: i64,
    usage: Vec<i64>,
}

impl Row {
    /// A tag's value, extracted from the JSON text: no value contains a quote.
    fn tag(&self, name: &str) -> &str {
        let (_, behind) = self.json.split_once(&format!("\"{name}\":\"")).unwrap();
        behind.split_once('"').unwrap().0
    }
}

struct Case {
    workload: Workload,
    bound: BoundWorkload,
    rows: Vec<Row>,
    database: Connection,
}

impl Case {
    fn new() -> Self {
        let spec = WorkloadSpec::parse(builtin("cpu").unwrap().text).unwrap();
        let settings = BTreeMap::from([("hosts".to_owned(), HOSTS.to_string())]);
        let workload = spec.instantiate(&settings, Seed(7)).unwrap();
        let bound = workload.bind(&["sqlite".to_owned()], PlaceholderStyle::Question).unwrap();
        let rows = generated(&workload);
        let mut database = Connection::open_in_memory().unwrap();
        for statement in &bound.tables[0].create {
            database.execute(statement, []).unwrap();
        }
        insert(&mut database, &rows);
        Self { workload, bound, rows, database }
    }

    fn sql(&self, name: &str) -> &str {
        let op = self.bound.ops.iter().find(|op| op.name == name).unwrap();
        match &op.kind {
            BoundOpKind::Query { sql, .. } => sql,
            _ => panic!("{name} is no query"),
        }
    }

    /// The parameters of one op.
    fn parameters(&self, name: &str, index: u64) -> Vec<types::Value> {
        let stream = self.workload.stream(name).unwrap();
        let context = OpContext { first_row: ROWS };
        let OpBody::Query(values) = self.workload.op(&stream, index, &context).body else {
            panic!("{name} is no query")
        };
        values
            .into_iter()
            .map(|value| match value {
                Value::Text(text) => types::Value::Text(text.to_string()),
                Value::TimestampMs(number) | Value::Integer(number) => number.into(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    /// The result of one op, with every value as text.
    fn answer(&self, name: &str, parameters: &[types::Value]) -> Vec<Vec<String>> {
        let mut statement = self.database.prepare(self.sql(name)).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map(params_from_iter(parameters), |row| {
            let values = (0..columns).map(|column| {
                Ok(match row.get::<_, types::Value>(column)? {
                    types::Value::Integer(number) => number.to_string(),
                    types::Value::Real(number) => format!("{number:.6}"),
                    types::Value::Text(text) => text,
                    other => panic!("{other:?}"),
                })
            });
            values.collect()
        });
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    }

    fn plan(&self, name: &str) -> String {
        let sql = format!("EXPLAIN QUERY PLAN {}", self.sql(name));
        let mut statement = self.database.prepare(&sql).unwrap();
        let parameters = params_from_iter(self.parameters(name, 0));
        let steps = statement.query_map(parameters, |row| row.get::<_, String>(3));
        let steps: Vec<String> = steps.unwrap().collect::<Result<_, _>>().unwrap();
        steps.join("; ")
    }

    fn last_row_of(&self, host: &str) -> &Row {
        let mut rows = self.rows.iter();
        rows.rfind(|row| row.tag("hostname") == host).unwrap()
    }

    /// Rows of a datacenter in the window of its parameters.
    fn in_window(&self, parameters: &[types::Value]) -> Vec<&Row> {
        let (since, until) = (number(&parameters[1]), number(&parameters[2]));
        assert_eq!(until, self.rows.last().unwrap().ts);
        assert_eq!(until - since, 300_000);
        self.rows
            .iter()
            .filter(|row| row.tag("datacenter") == text(&parameters[0]))
            .filter(|row| row.ts > since && row.ts <= until)
            .collect()
    }
}

fn insert(database: &mut Connection, rows: &[Row]) {
    let transaction = database.transaction().unwrap();
    let marks = ["?"; METRICS + 2].join(",");
    let sql = format!("INSERT INTO cpu VALUES ({marks})");
    let mut statement = transaction.prepare(&sql).unwrap();
    for row in rows {
        let mut values: Vec<types::Value> = vec![row.json.clone().into(), row.ts.into()];
        values.extend(row.usage.iter().map(|value| types::Value::from(*value)));
        statement.execute(params_from_iter(values)).unwrap();
    }
    drop(statement);
    transaction.commit().unwrap();
}

fn generated(workload: &Workload) -> Vec<Row> {
    let batch = workload.row_batch(0, 0, usize::try_from(ROWS).unwrap());
    let ColumnData::ObjectDictionary(tags) = &batch.columns[0] else { panic!("tags are objects") };
    let ColumnData::TimestampMs(ts) = &batch.columns[1] else { panic!("ts is a timestamp") };
    let usage = |row: usize| {
        batch.columns[2..]
            .iter()
            .map(|column| match column {
                ColumnData::Integer(values) => values[row],
                other => panic!("{other:?}"),
            })
            .collect()
    };
    (0..batch.rows)
        .map(|row| Row {
            json: tags.values[usize::try_from(tags.codes[row]).unwrap()].to_string(),
            ts: ts[row],
            usage: usage(row),
        })
        .collect()
}

fn text(value: &types::Value) -> &str {
    match value {
        types::Value::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

fn number(value: &types::Value) -> i64 {
    match value {
        types::Value::Integer(number) => *number,
        other => panic!("{other:?}"),
    }
}

fn texts(values: &[i64]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

#[test]
fn the_key_of_every_row_is_its_index() {
    let case = Case::new();
    let sql = format!("SELECT {}, rowid - 1 FROM cpu", case.bound.tables[0].key);
    let mut statement = case.database.prepare(&sql).unwrap();
    let keys = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let keys: Vec<(i64, i64)> = keys.unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(keys.len(), case.rows.len());
    assert!(keys.iter().all(|(key, index)| key == index));
}

#[test]
fn latest_metrics_are_those_of_the_hosts_last_row() {
    let case = Case::new();
    for index in 0..20 {
        let parameters = case.parameters("latest-metrics", index);
        let expected = texts(&case.last_row_of(text(&parameters[0])).usage);
        assert_eq!(case.answer("latest-metrics", &parameters), [expected]);
    }
}

#[test]
fn recent_snapshots_look_back_five_minutes_and_no_further() {
    let case = Case::new();
    let mut parameters = case.parameters("recent-snapshot", 3);
    assert_eq!(number(&parameters[1]), case.rows.last().unwrap().ts - 300_000);
    let last = case.last_row_of(text(&parameters[0]));
    let expected = texts(&last.usage[..3]);
    assert_eq!(case.answer("recent-snapshot", &parameters), [expected]);
    parameters[1] = (last.ts + 1).into();
    assert!(case.answer("recent-snapshot", &parameters).is_empty());
}

#[test]
fn service_answers_a_newest_row_of_the_environment() {
    let case = Case::new();
    for index in 0..10 {
        let parameters = case.parameters("service", index);
        let of_environment = || {
            let environment = text(&parameters[0]);
            case.rows.iter().filter(move |row| row.tag("service_environment") == environment)
        };
        let newest = of_environment().map(|row| row.ts).max().unwrap();
        let answer = case.answer("service", &parameters);
        assert_eq!(answer.len(), 1);
        let is_listed = of_environment().filter(|row| row.ts == newest).any(|row| {
            answer[0][0] == row.tag("hostname") && answer[0][1..] == texts(&row.usage[..2])
        });
        assert!(is_listed, "{answer:?}");
    }
}

#[test]
fn high_cpu_hosts_are_five_of_the_newest_busy_rows() {
    let case = Case::new();
    let mut busy: Vec<&Row> = case.rows.iter().filter(|row| row.usage[0] > 80).collect();
    busy.sort_by_key(|row| Reverse(row.ts));
    let newest: Vec<&Row> = busy.iter().copied().filter(|row| row.ts >= busy[4].ts).collect();
    let answer = case.answer("high-cpu-hosts", &[]);
    assert_eq!(answer.len(), 5);
    for found in answer {
        let is_listed = newest
            .iter()
            .any(|row| found == [row.tag("hostname").to_owned(), row.usage[0].to_string()]);
        assert!(is_listed, "{found:?}");
    }
}

#[test]
fn max_user_is_the_greatest_in_the_window_and_names_a_host_that_had_it() {
    let case = Case::new();
    for index in 0..20 {
        let parameters = case.parameters("max-user", index);
        let within = case.in_window(&parameters);
        let greatest = within.iter().map(|row| row.usage[0]).max().unwrap();
        let answer = case.answer("max-user", &parameters);
        assert_eq!(answer.len(), 1);
        assert_eq!(answer[0][1], greatest.to_string());
        let mut had = within.iter().filter(|row| row.usage[0] == greatest);
        assert!(had.any(|row| row.tag("hostname") == answer[0][0]), "{answer:?}");
    }
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "sums of a few integers up to 100")]
fn moving_average_is_over_three_minutes_of_each_host() {
    let case = Case::new();
    let parameters = case.parameters("moving-average", 1);
    let mut minutes: BTreeMap<(&str, i64), Vec<i64>> = BTreeMap::new();
    for row in case.in_window(&parameters) {
        let minute = row.ts / 60_000 * 60_000;
        let values = minutes.entry((row.tag("hostname"), minute)).or_default();
        values.push(row.usage[0]);
    }
    let means: Vec<(&str, i64, f64)> = minutes
        .iter()
        .map(|((host, minute), values)| {
            let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
            (*host, *minute, mean)
        })
        .collect();
    let expected: Vec<Vec<String>> = means
        .iter()
        .enumerate()
        .map(|(at, (host, minute, mean))| {
            let window: Vec<f64> = means[at.saturating_sub(2)..=at]
                .iter()
                .filter(|(other, ..)| other == host)
                .map(|(.., mean)| *mean)
                .collect();
            let average = window.iter().sum::<f64>() / window.len() as f64;
            let numbers = [mean, &average].map(|number| format!("{number:.6}"));
            [vec![(*host).to_owned(), minute.to_string()], numbers.to_vec()].concat()
        })
        .collect();
    assert!(expected.len() > 5);
    assert_eq!(case.answer("moving-average", &parameters), expected);
}

#[test]
fn queries_find_their_rows_by_an_index_and_do_not_sort() {
    let case = Case::new();
    for (name, index) in [
        ("latest-metrics", "SEARCH cpu USING INDEX cpu_ts (ts=?)"),
        ("latest-metrics", "SCAN cpu USING INDEX cpu_ts"),
        ("recent-snapshot", "cpu_ts (ts>?)"),
        ("service", "SCAN cpu USING INDEX cpu_ts"),
        ("high-cpu-hosts", "SCAN cpu USING INDEX cpu_ts"),
        ("max-user", "cpu_ts (ts>? AND ts<?)"),
        ("moving-average", "cpu_ts (ts>? AND ts<?)"),
    ] {
        let plan = case.plan(name);
        assert!(plan.contains(index), "{name}: {plan}");
        assert!(name == "moving-average" || !plan.contains("ORDER BY"), "{name}: {plan}");
    }
}
