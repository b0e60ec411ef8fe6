//! Tests requests to ClickHouse on a current version, because Debian's is from 2018: `chdb` from PyPI is that server
//! inside Python. Creates tables of every workload, and fills them from the driver's own Native blocks. Checks that
//! rows can be traced to their index, and that queries and audit statements are accepted.
//!
//! Uses the Python of `HIGHWATER_TEST_PYTHON`, or `python3`.

#![expect(clippy::unwrap_used, reason = "a test fails where it finds something else")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use highwater_driver::sql::audit;
use highwater_driver::{Connect, Request};
use highwater_driver_clickhouse::CLICKHOUSE;
use highwater_model::literal::LiteralStyle;
use highwater_model::op::{BoundOpKind, BoundWorkload, Op, OpBody, OpId};
use highwater_model::stored::KeyRange;
use highwater_model::units::Seed;
use highwater_testing::programs::report_left_out;
use highwater_testkit::support;
use highwater_workload::{OpContext, Workload, WorkloadSpec, builtin};

/// The variable with the Python program.
const PYTHON: &str = "HIGHWATER_TEST_PYTHON";
const ROWS: usize = 2_000;
/// Number of ops to run of each kind.
const ASKED: u64 = 3;
/// Runs statements one after the other; prints the result or error of each as a line of JSON.
const SCRIPT: &str = r#"
import json, sys
from chdb import session
database = session.Session(sys.argv[1])
for sql in json.load(sys.stdin):
    try:
        print(json.dumps({"answer": str(database.query(sql, "TabSeparated"))}))
    except Exception as error:
        print(json.dumps({"error": str(error)}))
"#;

fn python() -> String {
    std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned())
}

/// The results of the statements.
fn run(directory: &Path, statements: &[String]) -> Vec<String> {
    let mut python = Command::new(python())
        .args(["-c", SCRIPT])
        .arg(directory.join("data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let all = serde_json::to_vec(statements).unwrap();
    python.stdin.take().unwrap().write_all(&all).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let answers = lines.lines().zip(statements).map(|(line, sql)| {
        let said: serde_json::Value = serde_json::from_str(line).unwrap();
        let answer = said["answer"].as_str();
        answer.unwrap_or_else(|| panic!("{sql}\n{said}")).to_owned()
    });
    let answers: Vec<String> = answers.collect();
    assert_eq!(answers.len(), statements.len());
    answers
}

/// The statement that inserts a batch from a file with the driver's own block.
async fn insert(directory: &Path, workload: &Workload, bound: &Arc<BoundWorkload>) -> String {
    let target =
        highwater_drivers::open(&["null:clickhouse".to_owned()], &support::options()).unwrap();
    let connect = Connect {
        workload: Arc::clone(bound),
        number: 0,
        attempt: 0,
        timeline: support::WallTimeline::start(),
    };
    let session = target.connect(connect).await.unwrap();
    let is_insert = |kind: &BoundOpKind| matches!(kind, BoundOpKind::Insert { .. });
    let id = bound.ops.iter().position(|op| is_insert(&op.kind)).unwrap();
    let mut request = Request {
        op: Op {
            id: OpId(u16::try_from(id).unwrap()),
            index: 0,
            body: OpBody::Insert(workload.row_batch(0, 0, ROWS)),
        },
        bytes: Vec::new(),
    };
    session.encoder().encode(&mut request);
    let line = request.bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let (head, block) = request.bytes.split_at(line + 1);
    let head = std::str::from_utf8(head).unwrap();
    let columns = &head[head.find(" (").unwrap()..=head.rfind(')').unwrap()];
    let table = &bound.tables[0].name;
    let file = directory.join(format!("{table}.native"));
    std::fs::write(&file, block).unwrap();
    format!("INSERT INTO {table}{columns} SELECT * FROM file('{}', Native)", file.display())
}

/// Every op with values in its text.
fn questions(workload: &Workload, literal: &BoundWorkload) -> Vec<String> {
    let mut all = Vec::new();
    for op in &literal.ops {
        let BoundOpKind::Literal(sql) = &op.kind else {
            continue;
        };
        let stream = workload.stream(&op.name).unwrap();
        for index in 0..ASKED {
            let context = OpContext { first_row: ROWS as u64 };
            if let OpBody::Query(values) = workload.op(&stream, index, &context).body {
                let mut text = String::new();
                sql.write(&values, LiteralStyle::Numbers, &mut text);
                all.push(text);
            }
        }
    }
    all
}

fn check(name: &str, settings: &[(&str, &str)]) {
    let directory = tempfile::tempdir().unwrap();
    let spec = WorkloadSpec::parse(builtin(name).unwrap().text).unwrap();
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let workload = spec.instantiate(&settings.collect(), Seed(7)).unwrap();
    let dialects = ["clickhouse".to_owned()];
    let target =
        highwater_drivers::open(&["null:clickhouse".to_owned()], &support::options()).unwrap();
    let bound = Arc::new(workload.bind(&dialects, target.placeholders()).unwrap());
    let literal = workload.bind_literally(&dialects).unwrap();
    let table = &bound.tables[0];

    let mut statements = table.create.clone();
    let filled = support::block_on(insert(directory.path(), &workload, &bound));
    statements.push(filled);
    let key = &table.key;
    let keys = statements.len();
    statements.push(format!(
        "SELECT count(), count(DISTINCT {key}), min({key}), max({key}) FROM {}",
        table.name
    ));
    let dialect = &CLICKHOUSE;
    statements.push(audit::counts(dialect, table, 1 << 20));
    statements.push(audit::sums(dialect, table, 256));
    let ranges = [KeyRange { first: 3, end: 8 }];
    let reads = statements.len();
    statements.extend(audit::reads(dialect, table, &ranges).into_iter().map(|(sql, _)| sql));
    statements.extend(questions(&workload, &literal));

    let answers = run(directory.path(), &statements);
    let expected = format!("{ROWS}\t{ROWS}\t0\t{}", ROWS - 1);
    assert_eq!(answers[keys].trim_end(), expected, "{name}");
    assert_eq!(answers[reads].lines().count(), 5, "{name}");
}

#[test]
#[ignore = "long: a Python with chdb"]
fn long_every_statement_is_understood_by_a_current_clickhouse() {
    let found = Command::new(python()).args(["-c", "import chdb"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        let hint = format!("`pip install chdb`, and its Python in {PYTHON}");
        report_left_out("need chdb", &hint);
        return;
    }
    check("cpu", &[("hosts", "40")]);
    check("tsbs", &[("hosts", "40")]);
    check("sensors", &[]);
    check("nib-cpu", &[("batch", "2000")]);
    check("loadtest", &[("bytes", "64")]);
    check("kv", &[("min_block_bytes", "8"), ("max_block_bytes", "20")]);
}
