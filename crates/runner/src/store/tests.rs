//! The store: names, errors, and what is left of a run that was killed.

use super::*;

#[test]
fn a_store_that_cannot_be_written_is_named_with_a_hint() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = find(&file.path().join("runs"), None).unwrap_err();
    assert!(error.to_string().contains("runs"), "{error}");
    assert!(error.hint.unwrap().contains("highwater run"));
}

#[test]
fn runs_are_found_by_path_id_and_unique_prefix() {
    let root = tempfile::tempdir().unwrap();
    for id in [
        "2026-01-01-cpu-aa",
        "2026-01-02-cpu-bb",
        "2026-01-02-cpu-bb-2",
    ] {
        fs::create_dir(root.path().join(id)).unwrap();
        fs::write(root.path().join(id).join("plan.json"), "{}").unwrap();
    }
    let found = |run| find(root.path(), run).map(|path| path.file_name().unwrap().to_owned());
    assert_eq!(found(None).unwrap(), "2026-01-02-cpu-bb-2");
    assert_eq!(found(Some("2026-01-01")).unwrap(), "2026-01-01-cpu-aa");
    assert_eq!(
        found(Some("2026-01-02-cpu-bb")).unwrap(),
        "2026-01-02-cpu-bb"
    );
    assert!(
        found(Some("2026-01-02"))
            .unwrap_err()
            .to_string()
            .contains("2 runs begin like this")
    );
    assert!(
        found(Some("2027"))
            .unwrap_err()
            .to_string()
            .contains("no such run")
    );
}
