//! Fault plans drawn from a seed: each kind of fault, alone and together, and none.

use std::sync::Arc;

use highwater_core::model::plan::AuditLevel;
use highwater_testing::postgres::{Postgres, skipped};

use crate::plans::{Database, FaultPlan, assert_found, carry_out};

/// Plans on each database; a run against a server takes longer.
const ON_SQLITE: u64 = 240;
const ON_POSTGRESQL: u64 = 80;

fn carry_out_all(database: &Database, name: &str, plans: std::ops::Range<u64>) {
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

#[test]
fn every_fault_planted_in_sqlite_is_found_and_named() {
    let root = tempfile::tempdir().unwrap();
    carry_out_all(&Database::sqlite(root.path()), "sqlite", 0..ON_SQLITE);
}

#[test]
fn every_fault_planted_in_postgresql_is_found_and_named() {
    if !skipped() {
        let server = Arc::new(Postgres::start());
        carry_out_all(
            &Database::Postgres(server),
            "postgres",
            ON_SQLITE..ON_SQLITE + ON_POSTGRESQL,
        );
    }
}
