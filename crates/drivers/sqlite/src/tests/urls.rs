//! URLs are converted to settings, or to errors without their secrets.

use super::*;

#[test]
fn urls_become_settings() {
    let plain = settings("sqlite:a/b.db").unwrap();
    assert_eq!(plain.path, PathBuf::from("a/b.db"));
    assert_eq!((plain.journal_mode, plain.synchronous), ("wal", "normal"));
    assert_eq!(plain.insert, InsertMode::Prepared);
    assert!(!plain.own_directory);
    assert!(plain.durability().contains("may lose"));

    let new_entry = settings("sqlite:").unwrap();
    assert_eq!(new_entry.path, PathBuf::from("runs/1/bench.db"));
    assert_eq!(new_entry.url, "sqlite:runs/1/bench.db");
    assert!(new_entry.own_directory);

    let all = settings(
        "sqlite:/x.db?journal_mode=DELETE&synchronous=full&cache_size=-200&page_size=512\
         &busy_timeout=7",
    )
    .unwrap();
    assert_eq!(all.path, PathBuf::from("/x.db"));
    assert_eq!((all.journal_mode, all.synchronous), ("delete", "full"));
    assert_eq!((all.cache_size, all.page_size), (Some(-200), Some(512)));
    assert_eq!(all.busy_timeout_ms, 7);
}

#[test]
fn wrong_urls_are_usage_errors_with_a_hint_and_without_secrets() {
    for url in [
        "sqlite:x?journal_mod=wal",
        "sqlite:x?journal_mode=off",
        "sqlite:x?synchronous=sometimes",
        "sqlite:x?page_size=1000",
        "sqlite:x?page_size=131072",
        "sqlite:x?busy_timeout=-1",
        "sqlite:x?cache_size=much",
        "sqlite::memory:",
        "sqlite://host/x.db",
        "sqlite://user:geheim@host/x.db",
        "sqlite:x?password=geheim",
    ] {
        let error = settings(url).unwrap_err();
        assert_eq!(error.kind, UserErrorKind::Usage, "{url}");
        assert!(error.hint.is_some(), "{url}");
        assert!(!format!("{error:?}").contains("geheim"), "{url}: {error:?}");
    }
    let url = TargetUrl::parse("sqlite:x").unwrap();
    assert!(Settings::new(&[url.clone(), url.clone()], &options()).is_err());
    let mut nowhere = options();
    nowhere.data_directory = None;
    let bare = TargetUrl::parse("sqlite:").unwrap();
    assert!(Settings::new(&[bare], &nowhere).unwrap_err().hint.is_some());
}
