//! What each level detects, on the same table.

use highwater_model::judgment::Data;
use highwater_model::plan::AuditLevel;
use highwater_model::record::RunRecord;

use super::database::Database;
use super::plans::{FaultPlan, ROWS, assert_found, carry_out};
use super::planted::Planted;

fn audited(level: AuditLevel, planted: &[Planted]) -> RunRecord {
    let root = tempfile::tempdir().unwrap();
    let plan = FaultPlan { planted: planted.to_vec(), ..FaultPlan::default() };
    let database = Database::sqlite(root.path());
    carry_out(&plan, &database, level, root.path()).0
}

#[test]
fn counts_see_rows_and_no_values() {
    let record = audited(AuditLevel::Count, &[Planted::Swapped(1, 2)]);
    assert_eq!(record.judgments.data.value, Data::Clean);
    let record = audited(AuditLevel::Count, &[Planted::Dropped(1)]);
    assert_eq!(record.judgments.data.value, Data::Lost);
    assert_eq!((record.audit.missing, record.audit.read_back), (1, 0));
    let record = audited(AuditLevel::Count, &[Planted::Duplicated(10)]);
    assert_eq!(record.judgments.data.value, Data::Duplicated);
    assert_eq!((record.audit.missing, record.audit.surplus), (0, 1));
}

#[test]
fn full_reads_every_row_back() {
    let record = audited(AuditLevel::Full, &[]);
    assert_found(&record, &[], "full");
    assert_eq!(record.audit.read_back, ROWS);
    assert_eq!(record.audit.level, AuditLevel::Full);
}

#[test]
fn off_sends_no_queries() {
    let record = audited(AuditLevel::Off, &[Planted::Dropped(1)]);
    assert_eq!(record.judgments.data.value, Data::NotChecked);
    assert_eq!(record.audit.buckets, 0);
}
