//! Each fault alone, and none, in each database: one server for all of them, because starting it takes longer than a
//! run.

use std::collections::BTreeSet;

use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::plan::AuditLevel;
use highwater_model::record::RunRecord;

use super::database::{Database, on};
use super::plans::{BATCH, FaultPlan, ROWS, assert_found, carry_out, job};
use super::planted::Planted;
use super::tampered::{Faults, tampered};
use crate::support::data_reasons;

/// Faults to plant alone.
const KINDS: [&[Planted]; 7] = [
    &[Planted::Dropped(123)],
    &[Planted::Duplicated(5)],
    // In one bucket they do not cancel out.
    &[Planted::Dropped(300), Planted::Duplicated(301)],
    &[Planted::Swapped(17, 18)],
    &[Planted::Offset(40, 41)],
    &[Planted::Edited(0), Planted::Edited(ROWS - 1)],
    &[Planted::Strange(5)],
];
/// All faults, for an audit that reads every row back.
const ALL: &[Planted] = &[
    Planted::Dropped(9),
    Planted::Duplicated(10),
    Planted::Swapped(300, 500),
    Planted::Edited(799),
];
/// Faults that triggers plant during the load.
const BY_TRIGGER: &[Planted] = &[
    Planted::Dropped(9),
    Planted::Duplicated(10),
    Planted::Swapped(24, 39),
    Planted::Offset(41, 40),
    Planted::Edited(799),
    Planted::Strange(99),
];
/// Clean runs in daily tests, and in the long ones.
const CLEAN: usize = 3;
const CLEAN_LONG: usize = 30;

fn audited(plan: &FaultPlan, database: &Database, level: AuditLevel) -> (RunRecord, Vec<Planted>) {
    let root = tempfile::tempdir().unwrap();
    carry_out(plan, database, level, root.path())
}

/// The record of a run without planted faults, in which no fault is found.
fn clean(plan: &FaultPlan, database: &Database) -> RunRecord {
    let (record, _) = audited(plan, database, AuditLevel::Sums);
    assert_found(&record, &[], database.name());
    record
}

fn expect_clean(database: &Database, runs: usize) {
    for _ in 0..runs {
        let record = clean(&FaultPlan::default(), database);
        assert_eq!(data_reasons(&record), []);
        let audit = &record.audit;
        assert_eq!((audit.acknowledged, audit.found), (ROWS, ROWS));
        assert_eq!((audit.columns.len(), audit.unknown), (8, 0));
        assert_eq!(audit.level, AuditLevel::Sums);
        // 200 samples of 800 rows, some of them twice.
        let read_back = audit.read_back;
        assert!((120..=200).contains(&read_back), "{read_back}");
    }
}

fn expect_found(
    database: &Database,
    level: AuditLevel,
    planted: &[Planted],
    by_trigger: bool,
) -> RunRecord {
    let plan = FaultPlan { planted: planted.to_vec(), by_trigger, ..FaultPlan::default() };
    let (record, done) = audited(&plan, database, level);
    assert_eq!(done, planted);
    let what = format!("{}, {level:?}", database.name());
    assert_found(&record, planted, &what);
    record
}

fn expect_each_fault(database: &Database) {
    expect_clean(database, CLEAN);
    for planted in KINDS {
        expect_found(database, AuditLevel::Sums, planted, false);
    }
    let record = expect_found(database, AuditLevel::Full, ALL, false);
    assert_eq!(record.audit.read_back, ROWS, "one dropped, one twice");
    expect_more_than_are_named_to_be_counted(database);
    expect_lost_answers_to_be_resolved(database);
    if database.has_sessions() {
        expect_cuts_to_leave_whole_batches_or_none(database);
    }
    if database.has_triggers() {
        expect_found(database, AuditLevel::Sums, BY_TRIGGER, true);
        expect_changes_too_small_for_the_sums_in_the_sample(database);
    }
}

fn expect_more_than_are_named_to_be_counted(database: &Database) {
    let planted: Vec<Planted> = (0..ROWS).step_by(100).map(Planted::Edited).collect();
    let altered = planted.len() as u64;
    let plan = FaultPlan { planted, ..FaultPlan::default() };
    let (record, _) = audited(&plan, database, AuditLevel::Sums);
    assert_eq!(record.audit.altered, altered, "{}", database.name());
    assert_eq!(record.judgments.data.value, Data::Altered);
}

fn expect_changes_too_small_for_the_sums_in_the_sample(database: &Database) {
    let plan =
        FaultPlan { besides: "UPDATE meters SET x = x + 0.0000000000001;", ..FaultPlan::default() };
    let (record, _) = audited(&plan, database, AuditLevel::Sums);
    let audit = &record.audit;
    let counts = (audit.altered, audit.missing);
    assert_eq!(counts, (ROWS, 0), "{}: {audit:?}", database.name());
    assert_eq!(record.judgments.data.value, Data::Altered);
}

/// Lost acknowledgments, and a batch that is applied after its client has disconnected.
fn expect_lost_answers_to_be_resolved(database: &Database) {
    let plan = FaultPlan {
        lost_answers: BTreeSet::from([0, 7]),
        applied_late: BTreeSet::from([20]),
        ..FaultPlan::default()
    };
    let record = clean(&plan, database);
    assert_three_applied(&record);
    assert_eq!(record.audit.found, ROWS);
    assert_eq!(record.audit.resolved.rows_found, 3 * BATCH);
    assert_eq!(data_reasons(&record), [ReasonCode::ResentUnknown]);
}

/// Acknowledgments that the server sent and no client received.
fn expect_answers_lost_on_the_wire_to_be_resolved(database: &Database) {
    let plan = FaultPlan { lost_on_wire: Some((3, 9_000)), ..FaultPlan::default() };
    assert_three_applied(&clean(&plan, database));
}

fn assert_three_applied(record: &RunRecord) {
    let audit = &record.audit;
    assert_eq!(audit.unknown, 3 * BATCH, "{audit:#?}");
    let resolved = audit.resolved;
    assert_eq!((resolved.applied, resolved.partly, resolved.not_applied), (3, 0, 0));
}

fn expect_cuts_to_leave_whole_batches_or_none(database: &Database) {
    let plan = FaultPlan {
        cuts: Some((3, 9_000)),
        planted: vec![Planted::Edited(700)],
        ..FaultPlan::default()
    };
    let (record, planted) = audited(&plan, database, AuditLevel::Sums);
    let what = format!("{} behind a proxy", database.name());
    assert_found(&record, &planted, &what);
    let audit = &record.audit;
    assert!(audit.unknown > 0, "a cut was in a batch: {audit:?}");
    assert_eq!(audit.resolved.partly, 0, "a batch is applied as a whole");
}

#[test]
fn each_fault_in_sqlite_is_found_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    expect_each_fault(&Database::sqlite(root.path()));
}

#[test]
fn each_fault_in_postgresql_is_found_and_nothing_else() {
    on(Database::postgres(), |database, _| {
        expect_each_fault(database);
    });
}

#[test]
fn each_fault_in_mariadb_is_found_and_nothing_else() {
    on(Database::mariadb(), |database, _| {
        expect_each_fault(database);
        expect_answers_lost_on_the_wire_to_be_resolved(database);
    });
}

#[test]
fn each_fault_in_clickhouse_is_found_and_nothing_else() {
    on(Database::clickhouse(), |database, _| {
        expect_each_fault(database);
        expect_answers_lost_on_the_wire_to_be_resolved(database);
    });
}

#[test]
fn digits_below_a_millisecond_and_added_attributes_are_seen_by_reading_back() {
    let later = "UPDATE meters SET at = at + interval '100 microseconds' WHERE id = 123;";
    let added = "UPDATE meters SET tags = tags || '{\"extra\": 1}' WHERE id = 123;";
    on(Database::postgres(), |database, _| {
        for (besides, column) in [(later, "at"), (added, "tags")] {
            let plan = FaultPlan { besides, ..FaultPlan::default() };
            let (record, _) = audited(&plan, database, AuditLevel::Full);
            let audit = &record.audit;
            assert_eq!((audit.altered, audit.missing), (1, 0), "{audit:?}");
            assert_eq!(audit.examples[0].column.as_deref(), Some(column));
            // No sum includes it, and the sample has other rows.
            let (record, _) = audited(&plan, database, AuditLevel::Sums);
            assert_eq!(record.judgments.data.value, Data::Clean, "{column}");
        }
    });
}

#[test]
fn rows_that_a_trigger_of_mariadb_alters_as_they_come_are_found() {
    on(Database::mariadb(), |database, root| {
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
        let target = tampered(database.open(None, None), faults);
        let record = job(AuditLevel::Sums).run_on(target, root).record;
        let audit = &record.audit;
        let counts = (audit.missing, audit.altered, audit.foreign);
        assert_eq!(counts, (1, 1, 1), "{audit:#?}");
        assert_eq!(record.judgments.data.value, Data::Lost);
    });
}

#[test]
#[ignore = "long: thirty runs on each server"]
fn long_thirty_clean_runs_of_each_raise_no_alarm() {
    for server in [Database::mariadb(), Database::clickhouse()] {
        on(server, |database, _| expect_clean(database, CLEAN_LONG));
    }
}
