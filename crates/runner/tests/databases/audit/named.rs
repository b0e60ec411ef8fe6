//! Each fault by itself, in SQLite and in PostgreSQL.

use std::collections::BTreeSet;
use std::sync::Arc;

use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::plan::AuditLevel;
use highwater_testing::postgres::{Postgres, skipped};

use super::database::Database;
use super::plans::{BATCH, FaultPlan, ROWS, assert_found, carry_out};
use super::planted::Planted;
use crate::support::data_reasons;

/// On SQLite, and on PostgreSQL where it is there.
fn on_both(check: impl Fn(&Database, &std::path::Path, &str)) {
    let root = tempfile::tempdir().unwrap();
    check(&Database::sqlite(root.path()), root.path(), "sqlite");
    if !skipped() {
        let root = tempfile::tempdir().unwrap();
        let server = Arc::new(Postgres::start());
        check(&Database::Postgres(server), root.path(), "postgres");
    }
}

fn found(planted: &[Planted]) {
    on_both(|database, root, name| {
        let plan = FaultPlan {
            planted: planted.to_vec(),
            ..FaultPlan::default()
        };
        let (record, done) = carry_out(&plan, database, AuditLevel::Sums, root);
        assert_eq!(done, planted);
        assert_found(&record, planted, name);
    });
}

#[test]
fn nothing_planted_is_clean_and_says_what_was_compared() {
    on_both(|database, root, name| {
        let (record, _) = carry_out(&FaultPlan::default(), database, AuditLevel::Sums, root);
        assert_found(&record, &[], name);
        assert_eq!(data_reasons(&record), []);
        let audit = &record.audit;
        assert_eq!((audit.acknowledged, audit.found), (ROWS, ROWS));
        assert_eq!((audit.columns.len(), audit.level), (8, AuditLevel::Sums));
        // 200 draws of 800 rows, some of them twice.
        assert!(
            (120..=200).contains(&audit.read_back),
            "{}",
            audit.read_back
        );
    });
}

#[test]
fn a_dropped_row_is_missing() {
    found(&[Planted::Dropped(123)]);
}

#[test]
fn a_row_that_is_there_twice_is_duplicated() {
    found(&[Planted::Duplicated(5)]);
}

#[test]
fn a_loss_and_a_duplicate_in_one_bucket_do_not_cancel_out() {
    found(&[Planted::Dropped(300), Planted::Duplicated(301)]);
}

#[test]
fn values_swapped_between_two_rows_are_altered() {
    found(&[Planted::Swapped(17, 18)]);
}

#[test]
fn two_changes_that_offset_each_other_are_altered() {
    found(&[Planted::Offset(40, 41)]);
}

#[test]
fn a_text_edited_to_the_same_length_is_altered() {
    found(&[Planted::Edited(0), Planted::Edited(ROWS - 1)]);
}

#[test]
fn a_row_without_a_key_is_too_much() {
    found(&[Planted::Strange(5)]);
}

#[test]
fn faults_that_triggers_plant_during_the_load_are_found() {
    on_both(|database, root, name| {
        let planted = vec![
            Planted::Dropped(9),
            Planted::Duplicated(10),
            Planted::Swapped(24, 39),
            Planted::Offset(41, 40),
            Planted::Edited(799),
            Planted::Strange(99),
        ];
        let plan = FaultPlan {
            planted: planted.clone(),
            by_trigger: true,
            ..FaultPlan::default()
        };
        let (record, done) = carry_out(&plan, database, AuditLevel::Sums, root);
        assert_eq!(done, planted);
        assert_found(&record, &planted, name);
    });
}

#[test]
fn changes_too_small_for_the_sums_are_found_by_the_sample() {
    on_both(|database, root, name| {
        let plan = FaultPlan {
            besides: "UPDATE meters SET x = x + 0.0000000000001;",
            ..FaultPlan::default()
        };
        let (record, _) = carry_out(&plan, database, AuditLevel::Sums, root);
        let audit = &record.audit;
        assert_eq!(
            (audit.altered, audit.missing),
            (ROWS, 0),
            "{name}: {audit:?}"
        );
        assert_eq!(record.judgments.data.value, Data::Altered, "{name}");
    });
}

#[test]
fn digits_below_a_millisecond_and_added_attributes_are_seen_by_reading_back() {
    if skipped() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let database = Database::Postgres(Arc::new(Postgres::start()));
    let later = "UPDATE meters SET at = at + interval '100 microseconds' WHERE id = 123;";
    let added = "UPDATE meters SET tags = tags || '{\"extra\": 1}' WHERE id = 123;";
    for (besides, column) in [(later, "at"), (added, "tags")] {
        let plan = FaultPlan {
            besides,
            ..FaultPlan::default()
        };
        let (record, _) = carry_out(&plan, &database, AuditLevel::Full, root.path());
        let audit = &record.audit;
        assert_eq!((audit.altered, audit.missing), (1, 0), "{audit:?}");
        assert_eq!(audit.examples[0].column.as_deref(), Some(column));
        // No sum has it, and the sample is of other rows.
        let (record, _) = carry_out(&plan, &database, AuditLevel::Sums, root.path());
        assert_eq!(record.judgments.data.value, Data::Clean, "{column}");
    }
}

#[test]
fn lost_answers_and_late_batches_are_resolved_by_key_and_no_fault() {
    on_both(|database, root, name| {
        let plan = FaultPlan {
            lost_answers: BTreeSet::from([0, 7]),
            applied_late: BTreeSet::from([20]),
            ..FaultPlan::default()
        };
        let (record, _) = carry_out(&plan, database, AuditLevel::Sums, root);
        assert_found(&record, &[], name);
        let audit = &record.audit;
        assert_eq!((audit.unknown, audit.found), (3 * BATCH, ROWS));
        let resolved = audit.resolved;
        assert_eq!(
            (resolved.applied, resolved.partly, resolved.not_applied),
            (3, 0, 0)
        );
        assert_eq!(resolved.rows_found, 3 * BATCH);
        assert_eq!(data_reasons(&record), [ReasonCode::ResentUnknown]);
    });
}

#[test]
fn connections_cut_in_the_middle_of_a_batch_leave_whole_batches_or_none() {
    if skipped() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let database = Database::Postgres(Arc::new(Postgres::start()));
    let plan = FaultPlan {
        cuts: Some((3, 9_000)),
        planted: vec![Planted::Edited(700)],
        ..FaultPlan::default()
    };
    let (record, planted) = carry_out(&plan, &database, AuditLevel::Sums, root.path());
    assert_found(&record, &planted, "postgres behind a proxy");
    let audit = &record.audit;
    assert!(audit.unknown > 0, "a cut was in a batch: {audit:?}");
    assert_eq!(audit.resolved.partly, 0, "a batch is a transaction");
}

#[test]
fn more_altered_rows_than_are_named_are_all_counted() {
    on_both(|database, root, name| {
        let planted: Vec<Planted> = (0..ROWS).step_by(100).map(Planted::Edited).collect();
        let plan = FaultPlan {
            planted: planted.clone(),
            ..FaultPlan::default()
        };
        let (record, _) = carry_out(&plan, database, AuditLevel::Sums, root);
        assert_eq!(record.audit.altered, planted.len() as u64, "{name}");
        assert_eq!(record.judgments.data.value, Data::Altered, "{name}");
    });
}
