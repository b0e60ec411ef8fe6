//! Each exit code, with a run that causes it.

use crate::called::Place;

#[test]
fn each_exit_code_is_earned_by_a_run() {
    let place = Place::new();
    for (code, words) in [
        (0, &["sim:"][..]),
        (0, &["sim:", "--audit", "off"]),
        (0, &["sim:", "--rate", "20k", "--p50", "10s"]),
        (1, &["sim:", "--rate", "20k", "--p50", "1ms"]),
        (1, &["sim:", "--min-rate", "10M"]),
        (2, &["sim:", "--rate", "nothing"]),
        (3, &["sim:", "-d", "1s"]),
        (3, &["sim:", "-d", "1s", "--min-rate", "10M"]),
        (4, &["sim:?drop=0.01"]),
        (4, &["sim:?duplicate=0.01"]),
        (4, &["sim:?drop=0.01", "-d", "1s", "--min-rate", "10M"]),
        (5, &["sim:?die=3s"]),
        (5, &["sim:?die=0s"]),
        (5, &["postgres://127.0.0.1:1/none"]),
    ] {
        let called = place.call(&[&["run", "-q", "--batch", "20"], words].concat());
        assert_eq!(called.code, Some(code), "{words:?}: {called:?}");
    }
}

#[test]
fn showing_a_run_returns_its_code_again() {
    for (code, url) in [(0, "sim:"), (4, "sim:?drop=0.01"), (5, "sim:?die=3s")] {
        let place = Place::new();
        assert_eq!(place.call(&["run", "-q", url]).code, Some(code));
        assert_eq!(place.call(&["show"]).code, Some(code), "{url}");
    }
}
