//! Each fault by itself, and none, in MariaDB and in ClickHouse: one server for all of them, because
//! starting it takes longer than a run.

use std::collections::BTreeSet;

use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::plan::AuditLevel;

use super::database::Database;
use super::plans::{BATCH, FaultPlan, ROWS, assert_found, carry_out, execute, job};
use super::planted::Planted;
use super::tampered::{Faults, Tampered};
use crate::support::data_reasons;

/// What is planted by itself.
const KINDS: [&[Planted]; 7] = [
    &[Planted::Dropped(123)],
    &[Planted::Duplicated(5)],
    &[Planted::Dropped(300), Planted::Duplicated(301)],
    &[Planted::Swapped(17, 18)],
    &[Planted::Offset(40, 41)],
    &[Planted::Edited(0), Planted::Edited(ROWS - 1)],
    &[Planted::Strange(5)],
];
/// What every row that is read back shows.
const ALL: &[Planted] = &[
    Planted::Dropped(9),
    Planted::Duplicated(10),
    Planted::Swapped(300, 500),
    Planted::Edited(799),
];
/// Clean runs of every day, and of the long tests.
const CLEAN: usize = 3;
const CLEAN_LONG: usize = 30;

fn expect_clean(database: &Database, runs: usize) {
    for number in 0..runs {
        let root = tempfile::tempdir().unwrap();
        let plan = FaultPlan::default();
        let (record, _) = carry_out(&plan, database, AuditLevel::Sums, root.path());
        assert_found(&record, &[], &format!("{}, run {number}", database.name()));
        assert_eq!(data_reasons(&record), []);
        let audit = &record.audit;
        assert_eq!((audit.acknowledged, audit.found), (ROWS, ROWS));
        assert_eq!((audit.columns.len(), audit.unknown), (8, 0));
    }
}

fn expect_each_fault(database: &Database) {
    expect_clean(database, CLEAN);
    let name = database.name();
    let sums = KINDS.map(|planted| (AuditLevel::Sums, planted));
    for (level, planted) in sums.into_iter().chain([(AuditLevel::Full, ALL)]) {
        let root = tempfile::tempdir().unwrap();
        let plan = FaultPlan {
            planted: planted.to_vec(),
            ..FaultPlan::default()
        };
        let (record, done) = carry_out(&plan, database, level, root.path());
        assert_eq!(done, planted);
        assert_found(&record, planted, &format!("{name}, {level:?}"));
    }
    expect_lost_answers_to_be_resolved(database);
    expect_answers_lost_on_the_wire_to_be_resolved(database);
}

/// Acknowledgements that are lost, and a batch that is applied when its client has left.
fn expect_lost_answers_to_be_resolved(database: &Database) {
    let root = tempfile::tempdir().unwrap();
    let plan = FaultPlan {
        lost_answers: BTreeSet::from([0, 7]),
        applied_late: BTreeSet::from([20]),
        ..FaultPlan::default()
    };
    let (record, _) = carry_out(&plan, database, AuditLevel::Sums, root.path());
    assert_found(&record, &[], database.name());
    let audit = &record.audit;
    assert_eq!((audit.unknown, audit.found), (3 * BATCH, ROWS));
    let resolved = audit.resolved;
    assert_eq!(
        (resolved.applied, resolved.partly, resolved.not_applied),
        (3, 0, 0)
    );
    assert_eq!(data_reasons(&record), [ReasonCode::ResentUnknown]);
}

/// Acknowledgements that the server sent and no one received.
fn expect_answers_lost_on_the_wire_to_be_resolved(database: &Database) {
    let root = tempfile::tempdir().unwrap();
    let plan = FaultPlan {
        lost_on_wire: Some((3, 9_000)),
        ..FaultPlan::default()
    };
    let (record, _) = carry_out(&plan, database, AuditLevel::Sums, root.path());
    assert_found(&record, &[], database.name());
    let audit = &record.audit;
    assert_eq!(audit.unknown, 3 * BATCH, "{audit:#?}");
    let resolved = audit.resolved;
    assert_eq!(
        (resolved.applied, resolved.partly, resolved.not_applied),
        (3, 0, 0)
    );
}

#[test]
fn each_fault_in_mariadb_is_found_and_nothing_else() {
    if let Some(database) = Database::mariadb() {
        expect_each_fault(&database);
    }
}

#[test]
fn each_fault_in_clickhouse_is_found_and_nothing_else() {
    if let Some(database) = Database::clickhouse() {
        expect_each_fault(&database);
    }
}

#[test]
fn rows_that_a_trigger_of_mariadb_alters_as_they_come_are_found() {
    let Some(database) = Database::mariadb() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let other = database.clone();
    let faults = Faults {
        made: Some(Box::new(move || {
            other.execute(
                "CREATE TRIGGER plant BEFORE INSERT ON meters FOR EACH ROW SET \
                 NEW.n = IF(NEW.id = 41, NEW.n + 1, NEW.n), \
                 NEW.id = IF(NEW.id = 99, -1 - NEW.id, NEW.id)",
            );
        })),
        ..Faults::default()
    };
    let target = Tampered::target(database.open(None, None), faults);
    let record = execute(&job(AuditLevel::Sums), target, root.path());
    let audit = &record.audit;
    let counts = (audit.missing, audit.altered, audit.foreign);
    assert_eq!(counts, (1, 1, 1), "{audit:#?}");
    assert_eq!(record.judgments.data.value, Data::Lost);
}

#[test]
fn connections_to_mariadb_cut_in_the_middle_of_a_batch_leave_whole_batches_or_none() {
    let Some(database) = Database::mariadb() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let plan = FaultPlan {
        cuts: Some((3, 9_000)),
        planted: vec![Planted::Edited(700)],
        ..FaultPlan::default()
    };
    let (record, planted) = carry_out(&plan, &database, AuditLevel::Sums, root.path());
    assert_found(&record, &planted, "mariadb behind a proxy");
    let audit = &record.audit;
    assert!(audit.unknown > 0, "a cut was in a batch: {audit:?}");
    assert_eq!(audit.resolved.partly, 0, "a batch is applied as a whole");
}

#[test]
#[ignore = "long: thirty runs on each server"]
fn long_thirty_clean_runs_of_each_raise_no_alarm() {
    for database in [Database::mariadb(), Database::clickhouse()]
        .into_iter()
        .flatten()
    {
        expect_clean(&database, CLEAN_LONG);
    }
}
