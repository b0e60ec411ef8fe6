//! The sink: the real sessions succeed against it, in every insert mode and with queries.

#![expect(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Connect, Driver, Request, Target, TargetOptions, TargetUrl};
use highwater_driver_null::NullDriver;
use highwater_model::op::{BoundOp, BoundOpKind, BoundStatement, BoundWorkload, Op, OpBody, OpId};
use highwater_model::outcome::{Certainty, Outcome};
use highwater_model::transaction::BoundTransaction;
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_testkit::conformance::{RULES, SqlWords, Subject};
use highwater_testkit::{rules, support};
use highwater_workload::{OpContext, Workload, WorkloadSpec, builtin};
use support::{WallTimeline, block_on};

const SINKS: [&str; 4] = ["null:postgres", "null:mysql", "null:crate", "null:clickhouse"];

fn options(insert: Option<&str>) -> TargetOptions {
    TargetOptions { insert: insert.map(str::to_owned), ..support::options() }
}

fn try_open(url: &str, insert: Option<&str>) -> Result<Arc<dyn Target>, UserError> {
    NullDriver.open(&[TargetUrl::parse(url)?], &options(insert))
}

fn open(url: &str, insert: Option<&str>) -> Arc<dyn Target> {
    try_open(url, insert).unwrap()
}

/// No statement is parsed.
fn sql() -> SqlWords {
    SqlWords::new(|_| "text", |_, column, parameter| format!("{column} = {parameter}"))
}

/// Two processes that see one folder, as two connections to a database.
#[test]
fn shares_of_a_sink_have_leases_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let leases = folder.path().join("leases");
    let subject = Subject {
        driver: &NullDriver,
        urls: vec!["null:postgres".to_owned()],
        options: TargetOptions { leases_directory: Some(leases.clone()), ..options(None) },
        timeline: WallTimeline::start(),
        sql: sql(),
        cut: None,
    };
    let name = "a_share_of_a_table_is_leased_once_and_given_back";
    let rule = RULES.iter().find(|rule| rule.name == name).unwrap();
    assert_eq!(block_on(rule.check(&subject)), Ok(()));
    assert!(!leases.exists(), "an empty folder is left");
}

fn cpu() -> Workload {
    let spec = WorkloadSpec::parse(builtin("cpu").unwrap().text).unwrap();
    spec.instantiate(&[].into(), Seed(1)).unwrap()
}

/// Executes these ops on one session.
fn execute(target: &dyn Target, workload: &Workload, ops: Vec<Op>) -> Vec<Outcome> {
    block_on(async {
        let timeline = WallTimeline::start();
        let mut admin = target.administer(Rc::clone(&timeline)).await.unwrap();
        let dialects = admin.facts().await.unwrap().dialects;
        let connect = Connect {
            workload: Arc::new(workload.bind(&dialects, target.placeholders()).unwrap()),
            number: 0,
            attempt: 0,
            timeline,
        };
        let mut session = target.connect(connect).await.unwrap();
        let mut encoder = session.encoder();
        let mut outcomes = Vec::new();
        for op in ops {
            let mut request = Request { op, bytes: Vec::new() };
            encoder.encode(&mut request);
            assert!(!request.bytes.is_empty());
            outcomes.push(session.execute(&mut request).await);
        }
        outcomes
    })
}

#[test]
fn the_sink_keeps_the_rules_of_every_driver() {
    for url in SINKS {
        let broken = rules::broken(&NullDriver, url, sql(), None);
        assert!(broken.is_empty(), "{url}: {broken:?}");
    }
}

#[test]
fn every_row_of_every_batch_is_acknowledged_in_every_insert_mode() {
    let workload = cpu();
    for url in SINKS {
        for mode in open(url, None).capabilities().insert_modes {
            // More than one VALUES statement can have parameters for, and a single row.
            let sizes = [1, 1_000, 7_000, 3];
            let ops = sizes.iter().map(|rows| Op {
                id: OpId(0),
                index: 0,
                body: OpBody::Insert(workload.row_batch(0, 0, *rows)),
            });
            let outcomes = execute(open(url, Some(mode)).as_ref(), &workload, ops.collect());
            for (rows, outcome) in sizes.iter().zip(&outcomes) {
                assert!(outcome.is_success(), "{url} {mode}: {outcome:?}");
                assert_eq!(outcome.certainty, Certainty::Applied);
                assert_eq!(outcome.rows_applied, *rows as u64, "{url} {mode}");
            }
        }
    }
}

#[test]
fn queries_are_answered_with_a_row() {
    let workload = cpu();
    let stream = workload.stream("dashboards").unwrap();
    for url in SINKS {
        let ops = (0..50).map(|index| workload.op(&stream, index, &OpContext { first_row: 99 }));
        for outcome in execute(open(url, None).as_ref(), &workload, ops.collect()) {
            assert!(outcome.is_success(), "{url}: {outcome:?}");
            assert_eq!(outcome.response_rows, 1);
        }
    }
}

/// Connects for an op of one statement in a transaction, and executes it.
fn transfer(target: &dyn Target) -> Result<Outcome, UserError> {
    let statement = BoundStatement {
        sql: "UPDATE account SET balance = balance + 1".to_owned(),
        parameters: Vec::new(),
        values: Vec::new(),
    };
    let workload = BoundWorkload {
        ops: vec![BoundOp {
            name: "transfer".to_owned(),
            kind: BoundOpKind::Transaction(BoundTransaction::of_statements([statement])),
        }],
        ..BoundWorkload::default()
    };
    let connect = Connect {
        workload: Arc::new(workload),
        number: 0,
        attempt: 0,
        timeline: WallTimeline::start(),
    };
    block_on(async {
        let mut session = target.connect(connect).await?;
        let mut request = Request::empty();
        session.encoder().encode(&mut request);
        Ok(session.execute(&mut request).await)
    })
}

#[test]
fn a_target_without_transactions_refuses_them_before_any_op() {
    for url in ["null:postgres", "null:mysql"] {
        let outcome = transfer(open(url, None).as_ref()).unwrap();
        assert!(outcome.is_success(), "{url}: {outcome:?}");
    }
    for url in ["null:crate", "null:clickhouse"] {
        let error = transfer(open(url, None).as_ref()).unwrap_err();
        assert_eq!(error.kind, UserErrorKind::Usage, "{error}");
        assert!(error.message.contains("op `transfer`"), "{error}");
    }
}

#[test]
fn its_cpu_is_measured_apart_and_it_reports_that_it_stores_nothing() {
    let workload = cpu();
    for url in SINKS {
        let target = open(url, None);
        assert!(target.is_sink() && target.capabilities().embedded);
        assert!(!target.capabilities().stores_values);
        assert_eq!(target.embedded_cpu(), Nanos::ZERO);
        let op =
            Op { id: OpId(0), index: 0, body: OpBody::Insert(workload.row_batch(0, 0, 10_000)) };
        execute(target.as_ref(), &workload, vec![op]);
        assert!(target.embedded_cpu() > Nanos::ZERO);
        assert_eq!(target.urls(), [url]);
    }
}

#[test]
fn unknown_sinks_are_rejected_with_a_hint() {
    for url in
        ["null:", "null:mariadb", "null://localhost/postgres", "null:postgres?x=1", "null:cratedb"]
    {
        let error = try_open(url, None).err().unwrap();
        let hint = error.hint.unwrap();
        assert!(SINKS.iter().all(|sink| hint.contains(sink)), "{url}");
    }
    let wrong = try_open("null:postgres", Some("bulk"));
    assert!(wrong.err().unwrap().message.contains("--insert bulk"));
}
