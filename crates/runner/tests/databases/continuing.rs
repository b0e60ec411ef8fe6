//! A run on tables that an earlier one filled continues where that one ended.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::support::faulty::Faults;
use crate::support::hooked::Hooked;
use crate::support::{Job, closed, data_reasons, measured, try_run_on};
use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::{Connect, RegistryEntry, Request, TablePolicy, Timeline};
use highwater_model::audit_record::Removal;
use highwater_model::event::Event;
use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::op::{BoundOp, BoundOpKind, BoundWorkload, Op, OpBody, OpId};
use highwater_model::plan::AuditLevel;
use highwater_model::record::{RunRecord, TableRecord};
use highwater_model::units::Nanos;
use highwater_runner::request::Observer;

/// Half a second of inserts into a file of this directory.
fn job(root: &Path) -> Job {
    let url = format!("sqlite:{}", root.join("bench.db").display());
    let mut job = Job::new(&url, &[("insert", closed(2))]);
    job.settings = vec![("batch", "100".to_owned())];
    job.step = Nanos::from_millis(500);
    job
}

fn run(job: &Job) -> RunRecord {
    job.run().record
}

/// Why it is rejected.
fn refusal(job: &Job, root: &Path) -> String {
    match try_run_on(job, job.open_target(root), root) {
        Err(error) => error.message,
        _ => panic!("it ran"),
    }
}

/// The registry entry of the only table, after a change.
fn note(job: &Job, root: &Path, change: impl Fn(&mut RegistryEntry)) -> RegistryEntry {
    let target = job.open_target(root);
    let workload = job.workload();
    RealTimeline::block_on(RealClock::start(), |timeline| async move {
        let timeline: Rc<dyn Timeline> = timeline;
        let mut admin = target.administer(timeline).await.unwrap();
        let dialects = admin.facts().await.unwrap().dialects;
        let bound = workload.bind(&dialects, target.placeholders()).unwrap();
        let identity = workload.row_identity(&dialects).unwrap();
        let policy = TablePolicy::new(&identity, workload.seed());
        let mut notes = admin.create_tables(&bound, &policy).await.unwrap();
        notes.iter_mut().for_each(&change);
        admin.update_registry(&notes).await.unwrap();
        notes.remove(0)
    })
    .unwrap()
}

/// Executes one statement as the user.
fn statement(job: &Job, root: &Path, sql: &str) {
    let target = job.open_target(root);
    let workload = Arc::new(BoundWorkload {
        tables: Vec::new(),
        ops: vec![BoundOp {
            name: "statement".to_owned(),
            kind: BoundOpKind::Query { sql: sql.to_owned(), parameters: Vec::new() },
        }],
        rows: None,
    });
    let outcome = RealTimeline::block_on(RealClock::start(), |timeline| async move {
        let connect = Connect { workload, number: 0, attempt: 0, timeline };
        let mut session = target.connect(connect).await.unwrap();
        let op = Op { id: OpId(0), index: 0, body: OpBody::Query(Vec::new()) };
        let mut request = Request { op, bytes: Vec::new() };
        session.encoder().encode(&mut request);
        session.execute(&mut request).await
    });
    let outcome = outcome.unwrap();
    assert!(outcome.is_success(), "{sql}: {outcome:?}");
}

fn table(record: &RunRecord) -> &TableRecord {
    &record.target.tables[0]
}

#[test]
fn a_lease_that_the_target_was_too_busy_to_end_does_not_stop_the_next_run_of_this_process() {
    let root = tempfile::tempdir().unwrap();
    let job = job(root.path());
    let faults = Arc::new(Faults { leases_kept: AtomicU64::new(1), ..Faults::default() });
    for _ in 0..2 {
        let target =
            Arc::new(Hooked { inner: job.open_target(root.path()), hooks: Arc::clone(&faults) });
        let ended = try_run_on(&job, target, root.path()).unwrap();
        assert_eq!(ended.record.judgments.data.value, Data::Clean);
    }
    assert_eq!(faults.leases_kept.load(Ordering::Relaxed), 0);
}

#[test]
fn a_second_run_continues_after_the_first_one_and_audits_both() {
    let root = tempfile::tempdir().unwrap();
    let job = job(root.path());
    let first = run(&job);
    assert_eq!(first.judgments.data.value, Data::Clean);
    let before = first.audit.found;
    assert_eq!((table(&first).first_index, table(&first).rows_before), (0, Some(0)));
    let next = table(&first).next_index.unwrap();
    assert!(next >= before && before > 0);
    let noted = note(&job, root.path(), |_| {});
    assert_eq!((noted.rows, noted.next_index), (Some(before), next));

    let second = run(&job);
    assert_eq!(second.judgments.data.value, Data::Clean);
    assert_eq!(table(&second).rows_before, Some(before));
    assert_eq!(table(&second).first_index, next);
    assert!(!table(&second).recovered);
    // Only this run's own rows count as found.
    let rows = measured(&second, "insert").rows.acknowledged;
    assert_eq!((second.audit.acknowledged, second.audit.found), (rows, rows));
    let noted = note(&job, root.path(), |_| {});
    assert_eq!(noted.rows, Some(before + rows));
    assert!(!noted.writing);
}

#[test]
fn a_table_is_continued_with_another_batch_and_other_shards_but_not_with_other_rows() {
    let root = tempfile::tempdir().unwrap();
    let mut job = job(root.path());
    job.settings.push(("shards", "2".to_owned()));
    let first = run(&job);
    job.settings = vec![("batch", "70".to_owned())];
    job.streams[0].0 = "latest-metrics";
    assert_eq!(table(&run(&job)).rows_before, Some(first.audit.found));
    job.streams[0].0 = "insert";
    let third = run(&job);
    assert_eq!(third.judgments.data.value, Data::Clean);
    assert_eq!(Some(table(&third).first_index), table(&first).next_index);
    job.settings.push(("hosts", "7".to_owned()));
    let message = refusal(&job, root.path());
    assert!(message.contains("rows of another workload"), "{message}");
}

#[test]
fn missing_rows_of_earlier_runs_are_lost() {
    let root = tempfile::tempdir().unwrap();
    let job = job(root.path());
    let first = run(&job);
    let delete = "DELETE FROM cpu WHERE rowid IN (SELECT rowid FROM cpu LIMIT 3)";
    statement(&job, root.path(), delete);
    let second = run(&job);
    assert_eq!(second.audit.missing, 3);
    assert_eq!(second.audit.found, second.audit.acknowledged);
    assert_eq!(second.judgments.data.value, Data::Lost);
    assert_eq!(data_reasons(&second), [ReasonCode::RowsLost]);
    let example = &second.audit.examples[0];
    assert_eq!(example.acknowledged, first.audit.found);
    assert_eq!(example.found + 3, first.audit.found);
    assert_eq!(example.last_key + 1, table(&second).first_index);
}

/// Rows acknowledged to the first run are remembered without an audit, and a loss until the table is recreated.
#[test]
fn a_loss_is_found_by_every_later_run() {
    for audit in [AuditLevel::Sums, AuditLevel::Off] {
        let root = tempfile::tempdir().unwrap();
        let mut job = job(root.path());
        job.audit = audit;
        run(&job);
        let delete = "DELETE FROM cpu WHERE rowid IN (SELECT rowid FROM cpu LIMIT 3)";
        statement(&job, root.path(), delete);
        job.audit = AuditLevel::Sums;
        for later in 1..=2 {
            let record = run(&job);
            let data = &record.judgments.data;
            assert_eq!(data.value, Data::Lost, "{audit:?} {later}");
            let (missing, before) = (record.audit.missing, record.audit.missing_before);
            assert_eq!((missing, before), (3, 3), "{audit:?} {later}");
            let said = data.reasons[0].sentence();
            assert!(said.contains("3 rows of earlier runs are missing"), "{said}");
        }
    }
}

#[test]
fn rows_of_unknown_number_are_reported_as_accepted_as_found() {
    let root = tempfile::tempdir().unwrap();
    let job = job(root.path());
    let said = |record: &RunRecord| {
        let mut notes = record.notes.iter();
        notes.any(|note| note.message.contains("a loss before this run is not seen"))
    };
    run(&job);
    assert!(!said(&run(&job)));
    note(&job, root.path(), |note| note.rows = None);
    assert!(said(&run(&job)));
    note(&job, root.path(), |note| note.writing = true);
    assert!(said(&run(&job)));
}

#[test]
fn a_run_that_never_ended_is_continued_after_its_last_row() {
    let root = tempfile::tempdir().unwrap();
    let job = job(root.path());
    let first = run(&job);
    let end = table(&first).next_index.unwrap();
    // As a killed run leaves it: it had begun at row 0.
    note(&job, root.path(), |note| {
        note.writing = true;
        note.next_index = 0;
        note.rows = None;
    });
    let second = run(&job);
    assert!(table(&second).recovered);
    assert_eq!(table(&second).rows_before, Some(first.audit.found));
    assert!(table(&second).first_index <= end);
    assert_eq!(second.judgments.data.value, Data::Clean);
    assert_eq!(second.audit.found, second.audit.acknowledged);
}

#[test]
fn rows_that_no_audit_counted_are_counted_before_the_next_run() {
    let root = tempfile::tempdir().unwrap();
    let job = job(root.path());
    let first = run(&job);
    note(&job, root.path(), |note| note.rows = None);
    let second = run(&job);
    assert_eq!(table(&second).rows_before, Some(first.audit.found));
    assert_eq!(second.judgments.data.value, Data::Clean);
}

#[test]
fn loaded_rows_are_not_loaded_again() {
    let root = tempfile::tempdir().unwrap();
    let mut job = job(root.path());
    job.settings.push(("rows", "1050".to_owned()));
    job.streams[0].0 = "latest-metrics";
    let loaded = |record: &RunRecord| -> u64 {
        record
            .results
            .iter()
            .filter(|r| r.phase == "load")
            .map(|result| result.rows.acknowledged)
            .sum()
    };
    assert_eq!(loaded(&run(&job)), 1050);
    let second = run(&job);
    assert_eq!((loaded(&second), table(&second).first_index), (0, 1050));
    // More rows are requested: the rest is loaded.
    job.settings[1].1 = "3000".to_owned();
    let third = run(&job);
    assert_eq!((loaded(&third), third.audit.found), (1950, 1950));
    assert_eq!(table(&third).next_index, Some(3000));
    assert_eq!(third.judgments.data.value, Data::Clean);
}

#[test]
fn shares_begin_with_empty_tables() {
    let root = tempfile::tempdir().unwrap();
    let job = job(root.path());
    run(&job);
    let message = refusal(&job.share_of(1, 2), root.path());
    assert!(message.contains("--share"), "{message}");
}

/// Applies this to the tables once the run has written for a second.
struct Enemy {
    job: Job,
    root: PathBuf,
    sql: &'static str,
    done: Cell<bool>,
}

impl Observer for Enemy {
    fn event(&self, event: &Event) {
        if matches!(event, Event::Second(_)) && !self.done.replace(true) {
            // A separate thread, because this one is within the run's executor.
            thread::scope(|scope| {
                let (job, root, sql) = (&self.job, &self.root, self.sql);
                scope.spawn(move || statement(job, root, sql));
            });
        }
    }
}

#[test]
fn a_table_that_was_dropped_or_emptied_in_mid_run_is_lost_with_the_rows_of_earlier_runs() {
    for (sql, how) in
        [("DROP TABLE cpu", Removal::Dropped), ("DELETE FROM cpu", Removal::Truncated)]
    {
        let root = tempfile::tempdir().unwrap();
        let mut job = job(root.path());
        let first = run(&job);
        job.step = Nanos::from_secs(2);
        let enemy =
            Enemy { job: job.clone(), root: root.path().to_owned(), sql, done: Cell::new(false) };
        let target = job.open_target(root.path());
        let end = job.run_watched_on(target, root.path(), Rc::new(enemy));
        let record = end.record;
        let audit = &record.audit;
        assert_eq!(record.judgments.data.value, Data::Lost, "{audit:?}");
        assert_eq!(audit.gone.len(), 1, "{audit:?}");
        assert_eq!(audit.gone[0].how, how);
        assert_eq!(audit.missing_before, first.audit.found);
        let own = audit.missing - audit.missing_before;
        assert!(own > 0 && own <= audit.acknowledged, "{audit:?}");
    }
}
