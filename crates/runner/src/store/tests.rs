//! The store: names, errors, and the remains of a killed run.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::SystemTime;

use highwater_model::record::{Change, InterventionRecord};

use super::*;

#[test]
fn a_store_that_cannot_be_written_is_named_with_a_hint() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = find(&file.path().join("runs"), None).unwrap_err();
    assert!(error.to_string().contains("runs"), "{error}");
    assert!(error.hint.unwrap().contains("-o DIR"));
}

#[test]
fn an_empty_store_and_a_missing_one_have_no_runs_yet() {
    let root = tempfile::tempdir().unwrap();
    for path in [root.path().to_owned(), root.path().join("none")] {
        for run in [None, Some("2026")] {
            let error = find(&path, run).unwrap_err();
            assert_eq!(error.to_string(), format!("no runs yet in {}", path.display()));
            assert!(error.hint.unwrap().contains("highwater run"));
        }
    }
    assert!(read(root.path()).err().unwrap().to_string().contains("no run is in this directory"));
}

/// A run with only a plan, written this many seconds after the epoch.
fn leave(root: &Path, id: &str, written: u64) {
    fs::create_dir(root.join(id)).unwrap();
    let plan = fs::File::create(root.join(id).join(PLAN)).unwrap();
    plan.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(written)).unwrap();
}

#[test]
fn the_newest_run_began_last_whatever_it_is_called() {
    let root = tempfile::tempdir().unwrap();
    let newest = || find(root.path(), None).unwrap();
    let path = |id: &str| root.path().join(id);
    leave(root.path(), "2026-01-02T00-00-00-cpu-ff", 100);
    leave(root.path(), "2026-01-02T00-00-00-cpu-aa", 101);
    let same_second = "2026-01-02T00-00-00-cpu-aa";
    assert_eq!(newest(), path(same_second), "same second");
    leave(root.path(), "2026-01-01T00-00-00-cpu-bb", 200);
    assert_eq!(newest(), path(same_second), "a copy of an older one");
    leave(root.path(), "baseline", 300);
    assert_eq!(newest(), path(same_second), "an old one that was renamed");
    leave(root.path(), "candidate", 4_000_000_000);
    assert_eq!(newest(), path("candidate"), "a new one that was renamed");
}

#[test]
fn runs_are_found_by_path_id_a_unique_beginning_or_end_and_as_the_last() {
    let root = tempfile::tempdir().unwrap();
    for id in ["2026-01-01-cpu-aa", "2026-01-02-cpu-bb", "2026-01-02-cpu-bb-2"] {
        leave(root.path(), id, 0);
    }
    let found = |run| find(root.path(), run).map(|path| path.file_name().unwrap().to_owned());
    assert_eq!(found(Some("2026-01-01")).unwrap(), "2026-01-01-cpu-aa");
    assert_eq!(found(Some("2026-01-02-cpu-bb")).unwrap(), "2026-01-02-cpu-bb");
    let ambiguous = found(Some("2026-01-02")).unwrap_err();
    assert!(ambiguous.to_string().contains("2 runs begin with `2026-01-02`"), "{ambiguous}");
    let hint = ambiguous.hint.unwrap_or_default();
    assert!(hint.contains("2026-01-02-cpu-bb-2") && !hint.contains("2026-01-01"), "{hint}");
    assert!(found(Some("2027")).unwrap_err().to_string().contains("no such run"));
    assert_eq!(found(Some("aa")).unwrap(), "2026-01-01-cpu-aa");
    assert!(found(Some("a")).unwrap_err().to_string().contains("no such run"), "not a whole word");
    leave(root.path(), "2026-01-03T00-00-00-kv-aa", 1);
    assert!(found(Some("aa")).unwrap_err().to_string().contains("2 runs end with `aa`"));
    assert_eq!(found(Some("last")).unwrap(), found(None).unwrap());
    assert_eq!(found(Some("last")).unwrap(), "2026-01-03T00-00-00-kv-aa");
}

#[test]
fn a_ledger_that_was_cut_off_in_the_middle_of_a_line_is_read_up_to_it() {
    let root = tempfile::tempdir().unwrap();
    leave(root.path(), "killed", 1);
    let run = root.path().join("killed");
    let directory = reopen(&run).unwrap();
    assert_eq!(read_ledger(&run).unwrap(), None);
    let mut file = directory.ledger().unwrap();
    let line = LedgerLine { acknowledged: vec![[0, 10]], ..LedgerLine::default() };
    file.append(std::slice::from_ref(&line)).unwrap();
    let path = run.join(LEDGER);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"table\":0,\"ackn")).unwrap();
    assert_eq!(read_ledger(&run).unwrap(), Some(vec![line]));
    fs::write(&path, "no ledger\n").unwrap();
    let error = read_ledger(&run).unwrap_err();
    assert!(error.to_string().contains("ledger.jsonl: damaged"), "{error}");
}

#[test]
fn a_run_at_work_is_not_opened_again() {
    let root = tempfile::tempdir().unwrap();
    leave(root.path(), "one", 1);
    let run = root.path().join("one");
    let held = reopen(&run).unwrap();
    let error = reopen(&run).unwrap_err();
    assert!(error.to_string().contains("still running"), "{error}");
    drop(held);
    reopen(&run).unwrap();
}

/// Two notes of 3 MB each: a tail takes some megabytes at a time.
#[test]
fn a_journal_longer_than_one_read_reports_more_until_it_is_read_completely() {
    let root = tempfile::tempdir().unwrap();
    let note = InterventionRecord {
        by: None,
        time_ns: 1,
        phase: "measure".to_owned(),
        change: Change::Note { text: "x".repeat(3_000_000) },
    };
    let line = serde_json::to_string(&note).unwrap();
    fs::write(root.path().join(JOURNAL), format!("{line}\n{line}\n")).unwrap();
    let mut tail = journal_tail(root.path());
    assert_eq!((tail.read().len(), tail.is_behind()), (1, true));
    assert_eq!((tail.read().len(), tail.is_behind()), (1, false));
    assert_eq!((tail.read().len(), tail.is_behind()), (0, false));
}

#[test]
fn a_short_check_takes_no_lock_and_a_running_process_keeps_it() {
    let root = tempfile::tempdir().unwrap();
    leave(root.path(), "one", 1);
    let plan = root.path().join("one").join(PLAN);
    let file = fs::File::open(&plan).unwrap();
    let looks = fs::File::open(&plan).unwrap();
    looks.try_lock_shared().unwrap();
    let mut looks = Some(looks);
    try_lock(&file, || drop(looks.take())).unwrap();
    let mut pauses = 0;
    let other = fs::File::open(&plan).unwrap();
    let refused = try_lock(&other, || pauses += 1).unwrap_err();
    assert!(matches!(refused, fs::TryLockError::WouldBlock));
    assert_eq!(pauses, LOCK_TRIES - 1);
}

/// A store with a run that only its user can write.
fn store() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let run = place.path().join("runs/a");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join(RECORD), "").unwrap();
    for path in [place.path().join("runs"), run.clone()] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(run.join(RECORD), Permissions::from_mode(0o644)).unwrap();
    (place, run)
}

#[test]
fn a_run_is_its_users_unless_others_can_write_its_file_directory_or_store() {
    for (part, mode) in [
        ("a/record.json", 0o646),
        ("a/record.json", 0o666),
        ("a", 0o757),
        ("a", 0o1777),
        ("", 0o757),
    ] {
        let (place, run) = store();
        assert_eq!(others_may_write(&run), None);
        assert_eq!(others_may_write(&run.join(RECORD)), None);
        let path = place.path().join("runs").join(part);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        for run in [run.clone(), run.join(RECORD)] {
            let why = others_may_write(&run).unwrap();
            assert!(why.contains("by others"), "{part}: {why}");
        }
    }
    let (place, run) = store();
    let around = place.path().join("runs");
    fs::set_permissions(around, Permissions::from_mode(0o1777)).unwrap();
    assert_eq!(others_may_write(&run), None, "each changes his own alone there");
}
