//! Fault plans drawn from a seed: each kind of fault, alone and together, and none.

use std::ops::Range;
use std::sync::Arc;

use highwater_model::plan::AuditLevel;
use highwater_testing::postgres::{Postgres, skipped};

use crate::plans::{Database, FaultPlan, assert_found, carry_out};

/// Plans on each database; a run against a server takes longer.
const ON_SQLITE: Range<u64> = 0..100;
const ON_POSTGRESQL: Range<u64> = 240..270;
/// The same in the long tests.
const ALL_ON_SQLITE: Range<u64> = 0..240;
const ALL_ON_POSTGRESQL: Range<u64> = 240..320;

fn carry_out_all(database: &Database, name: &str, plans: Range<u64>) {
    let cuts = matches!(database, Database::Postgres(_));
    for number in plans {
        let plan = FaultPlan::drawn(number, cuts);
        let root = tempfile::tempdir().unwrap();
        let (record, planted) = carry_out(&plan, database, AuditLevel::Sums, root.path());
        assert_found(
            &record,
            &planted,
            &format!("{name}, plan {number}: {plan:?}"),
        );
    }
}

fn carry_out_on_sqlite(plans: Range<u64>) {
    let root = tempfile::tempdir().unwrap();
    carry_out_all(&Database::sqlite(root.path()), "sqlite", plans);
}

fn carry_out_on_postgresql(plans: Range<u64>) {
    if !skipped() {
        let server = Arc::new(Postgres::start());
        carry_out_all(&Database::Postgres(server), "postgres", plans);
    }
}

#[test]
fn every_fault_planted_in_sqlite_is_found_and_named() {
    carry_out_on_sqlite(ON_SQLITE);
}

#[test]
fn every_fault_planted_in_postgresql_is_found_and_named() {
    carry_out_on_postgresql(ON_POSTGRESQL);
}

#[test]
#[ignore = "more plans than a test of every day has time for"]
fn long_planted_faults_of_all_plans_are_found_and_named() {
    carry_out_on_sqlite(ALL_ON_SQLITE);
    carry_out_on_postgresql(ALL_ON_POSTGRESQL);
}
