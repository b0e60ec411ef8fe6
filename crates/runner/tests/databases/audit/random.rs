//! Fault plans generated from a seed: each kind of fault, alone and combined, and none.

use std::ops::Range;

use highwater_model::plan::AuditLevel;

use super::database::Database;
use super::plans::{FaultPlan, assert_found, carry_out};

/// Plans on each database; a run on a server takes longer.
const ON_SQLITE: Range<u64> = 0..100;
const ON_POSTGRESQL: Range<u64> = 240..270;
const ON_OTHER_SERVERS: Range<u64> = 320..332;
/// The same in the long tests.
const ALL_ON_SQLITE: Range<u64> = 0..240;
const ALL_ON_POSTGRESQL: Range<u64> = 240..320;
const ALL_ON_OTHER_SERVERS: Range<u64> = 320..400;

fn carry_out_all(database: &Database, plans: Range<u64>) {
    for number in plans {
        let plan = FaultPlan::drawn(number, database);
        let root = tempfile::tempdir().unwrap();
        let (record, planted) = carry_out(&plan, database, AuditLevel::Sums, root.path());
        let what = format!("{}, plan {number}: {plan:?}", database.name());
        assert_found(&record, &planted, &what);
    }
}

fn carry_out_on_sqlite(plans: Range<u64>) {
    let root = tempfile::tempdir().unwrap();
    carry_out_all(&Database::sqlite(root.path()), plans);
}

fn carry_out_on(database: Option<Database>, plans: Range<u64>) {
    if let Some(database) = database {
        carry_out_all(&database, plans);
    }
}

#[test]
fn every_fault_planted_in_sqlite_is_found_and_named() {
    carry_out_on_sqlite(ON_SQLITE);
}

#[test]
fn every_fault_planted_in_postgresql_is_found_and_named() {
    carry_out_on(Database::postgres(), ON_POSTGRESQL);
}

#[test]
fn every_fault_planted_in_mariadb_is_found_and_named() {
    carry_out_on(Database::mariadb(), ON_OTHER_SERVERS);
}

#[test]
fn every_fault_planted_in_clickhouse_is_found_and_named() {
    carry_out_on(Database::clickhouse(), ON_OTHER_SERVERS);
}

#[test]
#[ignore = "more plans than a test of every day has time for"]
fn long_planted_faults_of_all_plans_are_found_and_named() {
    carry_out_on_sqlite(ALL_ON_SQLITE);
    carry_out_on(Database::postgres(), ALL_ON_POSTGRESQL);
    carry_out_on(Database::mariadb(), ALL_ON_OTHER_SERVERS);
    carry_out_on(Database::clickhouse(), ALL_ON_OTHER_SERVERS);
}
