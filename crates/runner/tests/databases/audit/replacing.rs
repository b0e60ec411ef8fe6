//! Rows that replace each other: lost and stale ones are found and named, and the order of overlapping writes raises no
//! false alarm.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::op::ColumnData;
use highwater_model::plan::{AuditLevel, StopRule};
use highwater_model::record::{Fault, RunRecord};
use highwater_model::units::Nanos;
use highwater_testing::postgres::{Postgres, Setup, skipped};
use highwater_workload::{Workload, builtin};

use super::database::{Database, on, on_both};
use super::tampered::{Faults, tampered};
use crate::support::{Job, closed, data_reasons};

const KEYS: u64 = 200;
const WRITES: u64 = 2_000;
/// Keys of an upsert of many keys.
const KEYS_OF_MANY: u64 = 20;
const KEYS_OF_MANY_TEXT: &str = "20";

/// This many upserts, to keys in turn.
fn upserts(settings: &[(&'static str, &str)]) -> Job {
    let mut job = Job::new("", &[("kv", closed(8))]);
    job.text = Some(builtin("kv").unwrap().text);
    job.settings = [
        ("order", "sequential"),
        ("cycle_length", "200"),
        ("min_block_bytes", "16"),
        ("max_block_bytes", "16"),
    ]
    .iter()
    .chain(settings)
    .map(|(name, value)| (*name, (*value).to_owned()))
    .collect();
    job.stop = StopRule { rows: Some(WRITES), ..StopRule::default() };
    job
}

/// The same, one after the other: if two writes of a key overlap, either may be the last.
fn upserts_in_turn(settings: &[(&'static str, &str)]) -> Job {
    let mut job = upserts(settings);
    job.streams[0].1 = vec![closed(1)];
    job
}

fn run(job: &Job, database: &Database, faults: Faults, root: &Path) -> RunRecord {
    let target = tampered(database.open(None, None), faults);
    job.run_on(target, root).record
}

/// On SQLite, and on PostgreSQL and MariaDB if they are installed.
fn on_each(check: impl Fn(&Database, &Path, &str)) {
    let named = |database: &Database, root: &Path| check(database, root, database.name());
    on_both(named);
    on(Database::mariadb(), named);
}

/// On a server that merges rows later: few upserts, each of many keys, because each creates a part.
#[test]
fn rows_that_clickhouse_replaces_when_it_merges_them_count_as_replaced() {
    let Some(database) = Database::clickhouse() else {
        return;
    };
    let batch = ("batch", KEYS_OF_MANY_TEXT);
    let mixed = [batch, ("read_percent", "30"), ("span_percent", "10")];
    // The last write of its keys.
    let last = BTreeSet::from([WRITES / KEYS_OF_MANY - 1]);
    for (settings, not_applied, expected, missing) in
        [(&mixed[..], BTreeSet::new(), Data::Clean, 0), (&[batch], last, Data::Lost, KEYS_OF_MANY)]
    {
        let root = tempfile::tempdir().unwrap();
        let faults =
            Faults { not_applied, lost_answers: BTreeSet::from([30, 31]), ..Faults::default() };
        let mut job = upserts_in_turn(settings);
        job.drop_tables = true;
        let record = run(&job, &database, faults, root.path());
        let audit = &record.audit;
        assert_eq!(record.judgments.data.value, expected, "{audit:#?}");
        assert_eq!((audit.missing, audit.found), (missing, KEYS), "{audit:#?}");
    }
}

/// The value of a table's row.
fn value_of(workload: &Workload, row: u64) -> String {
    match &workload.row_batch(0, row, 1).columns[1] {
        ColumnData::Text(values) => values[0].to_string(),
        other => panic!("{other:?}"),
    }
}

/// The faults and rows that the audit names.
fn named(record: &RunRecord) -> Vec<(Fault, u64)> {
    record.audit.examples.iter().map(|e| (e.fault, e.first_key)).collect()
}

#[test]
fn every_key_has_the_value_of_its_last_write() {
    on_each(|database, root, name| {
        let record = run(&upserts(&[]), database, Faults::default(), root);
        let audit = &record.audit;
        assert_eq!(record.judgments.data.value, Data::Clean, "{name}");
        assert_eq!(data_reasons(&record), [], "{name}");
        assert_eq!((audit.acknowledged, audit.found), (WRITES, KEYS), "{name}");
        let replaced = audit.replaced.unwrap();
        assert_eq!((replaced.keys, replaced.one_in), (KEYS, 1), "{name}");
        assert!(replaced.marked);
    });
}

#[test]
fn an_upsert_that_was_acknowledged_and_not_applied_is_lost() {
    on_each(|database, root, name| {
        // Op 57 is replaced nine times, so its absence is undetectable.
        let faults = Faults { not_applied: BTreeSet::from([57, 1_990]), ..Faults::default() };
        let record = run(&upserts_in_turn(&[]), database, faults, root);
        assert_eq!(record.judgments.data.value, Data::Lost, "{name}");
        assert_eq!(record.audit.missing, 1, "{name}");
        let example = &record.audit.examples[0];
        assert_eq!(example.column.as_deref(), Some("key 190"));
        assert_eq!(example.expected.as_deref(), Some("row 1990"));
        assert_eq!(example.stored.as_deref(), Some("row 1790"));
    });
}

#[test]
fn a_planted_stale_value_a_lost_row_and_an_edited_one_are_named() {
    on_each(|database, root, name| {
        let job = upserts(&[]);
        let stale = value_of(&job.workload(), 607);
        let own = value_of(&job.workload(), 1_850);
        let edited = format!("{}{}", &own[..15], if own.ends_with('A') { 'B' } else { 'A' });
        let other = database.clone();
        let tamper = move |_: &BTreeSet<u64>| {
            other.execute(&format!("UPDATE kv SET v = '{stale}' WHERE k = 7;"));
            other.execute("DELETE FROM kv WHERE k = 33;");
            other.execute(&format!("UPDATE kv SET v = '{edited}' WHERE k = 50;"));
        };
        let faults = Faults { tamper: Some(Box::new(tamper)), ..Faults::default() };
        let record = run(&job, database, faults, root);
        assert_eq!(record.judgments.data.value, Data::Lost, "{name}");
        let audit = &record.audit;
        assert_eq!((audit.missing, audit.altered, audit.surplus), (2, 1, 0), "{name}");
        let mut named = named(&record);
        named.sort_by_key(|(_, row)| *row);
        // A stale row is named by its content, a missing one by its expected content.
        assert_eq!(
            named,
            [(Fault::Missing, 607), (Fault::Missing, 1_833), (Fault::Altered, 1_850)],
            "{name}"
        );
    });
}

#[test]
fn lost_answers_deletes_and_reads_raise_no_alarm() {
    on_each(|database, root, name| {
        let job = upserts(&[
            ("read_percent", "30"),
            ("del_percent", "20"),
            ("span_percent", "10"),
            ("batch", "3"),
        ]);
        let faults = Faults {
            lost_answers: (0..40).map(|n| n * 37).collect(),
            applied_late: BTreeSet::from([11, 1_200]),
            ..Faults::default()
        };
        let record = run(&job, database, faults, root);
        assert_eq!(record.judgments.data.value, Data::Clean, "{name}");
        assert!(record.audit.unknown > 0, "{name}");
    });
}

#[test]
fn values_without_room_for_a_number_leave_their_keys_to_compare() {
    on_each(|database, root, name| {
        let job = Job {
            audit: AuditLevel::Sums,
            ..upserts(&[("min_block_bytes", "1"), ("max_block_bytes", "1")])
        };
        let record = run(&job, database, Faults::default(), root);
        assert_eq!(record.judgments.data.value, Data::Unverified, "{name}");
        assert_eq!(data_reasons(&record), [ReasonCode::ValueTooShort], "{name}");
        // An audit of keys alone detects them.
        let other = database.clone();
        let faults = Faults {
            tamper: Some(Box::new(move |_: &BTreeSet<u64>| {
                other.execute("DELETE FROM kv WHERE k = 33;");
            })),
            ..Faults::default()
        };
        let again = Job { audit: AuditLevel::Count, ..job };
        let record = run(&again, database, faults, &root.join("again"));
        assert_eq!(record.judgments.data.value, Data::Lost, "{name}");
        assert_eq!(record.audit.missing, 1, "{name}");
    });
}

#[test]
fn three_hundred_and_eighty_four_sessions_on_ten_keys_raise_no_alarm() {
    if skipped() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let server = Arc::new(Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
        settings: vec!["max_connections = 450".to_owned()],
        ..Setup::default()
    }));
    let mut job = upserts(&[("cycle_length", "10")]);
    job.streams = vec![("kv", vec![closed(384)])];
    job.step = Nanos::from_secs(30);
    let record = run(&job, &Database::Postgres(server), Faults::default(), root.path());
    assert_eq!(record.judgments.data.value, Data::Clean, "{:?}", record.audit);
    let audit = &record.audit;
    assert_eq!((audit.acknowledged, audit.found), (WRITES, 10));
}
