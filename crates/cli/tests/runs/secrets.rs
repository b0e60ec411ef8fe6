//! A password is in no file, no output, no error and not in what others see of the process.

use std::fs;
use std::path::{Path, PathBuf};

use highwater_testing::postgres::{Postgres, Setup, skipped};
use proptest::prelude::*;

use crate::called::{Called, Place, split};
use crate::pages::{events_of, fetched, served};

const PASSWORD: &str = "s3cr3t-Geheim";

/// Every file below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

/// Searches for the password in everything that was written.
fn assert_secret(place: &Place, called: &Called) {
    assert!(!called.stdout.contains(PASSWORD), "stdout: {}", called.stdout);
    assert!(!called.stderr.contains(PASSWORD), "stderr: {}", called.stderr);
    for path in files(place.path()) {
        let bytes = fs::read(&path).unwrap();
        let found = bytes.windows(PASSWORD.len()).any(|w| w == PASSWORD.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

#[test]
fn errors_do_not_show_a_password() {
    for url in [
        format!("postgres://bench:{PASSWORD}@127.0.0.1:1/x"),
        format!("postgres://bench@127.0.0.1:1/x?password={PASSWORD}"),
        format!("postgres://bench:{PASSWORD}@127.0.0.1:99999/x"),
        format!("postgres://bench:{PASSWORD}@127.0.0.1:1/x?sslmode=wrong"),
        format!("oracle://bench:{PASSWORD}@127.0.0.1/x"),
        format!("sim://bench:{PASSWORD}@h"),
        format!("sqlite://bench:{PASSWORD}@h"),
    ] {
        for words in [["run", url.as_str()], ["check", &url], ["show", &url]] {
            let place = Place::new().verbose();
            let called = place.call(&words);
            assert!(matches!(called.code, Some(2 | 5)), "{words:?}: {called:?}");
            assert_secret(&place, &called);
        }
        let place = Place::new().verbose();
        place.file("highwater.toml", "[run]\nwarm-up = \"0s\"\n");
        let mut command = place.command(&["run"]);
        let output = command.env("HIGHWATER_TARGET", &url).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("error: ") && !text.contains(PASSWORD), "{text}");
    }
}

#[test]
fn shells_of_variants_get_no_password() {
    let place = Place::new().verbose();
    let words = split("run cpu sim: -d 5s -q --repeat 1");
    let variants = ["--variant", "a=env > a.txt", "--variant", "b=env > b.txt"];
    let mut command = place.command(&[&words[..], &variants].concat());
    for name in [
        "PGPASSWORD",
        "CRATEDB_PASSWORD",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    ] {
        command.env(name, PASSWORD);
    }
    command.env("HIGHWATER_TARGET", format!("crate://u:{PASSWORD}@h"));
    command.env("KEPT", "this");
    let output = command.output().unwrap();
    for shell in ["a.txt", "b.txt"] {
        let seen = fs::read_to_string(place.path().join(shell));
        let seen = seen.unwrap_or_else(|_| panic!("{output:?}"));
        assert!(seen.contains("KEPT=this"), "{seen}");
        assert!(!seen.contains(PASSWORD), "{seen}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    /// Whatever a URL is made of: the program ends in order and shows no password of it.
    #[test]
    fn no_url_makes_the_program_fail_or_show_a_password(
        scheme in "(postgres|crate|oracle|crate☃|\\PC{0,6})",
        slashes in "(://|:/|//|:)",
        before in "\\PC{0,4}",
        after in "(\\PC{0,6}|[?@:/&=#%`' ]{0,4})",
        end in "(127\\.0\\.0\\.1:1/x|127\\.0\\.0\\.1:99999|\\[::1|127\\.0\\.0\\.1:1/x\\?☃=1)",
    ) {
        let scheme = scheme.trim_start_matches('-');
        let url = format!("{scheme}{slashes}u:x{before}{PASSWORD}{after}@{end}");
        let place = Place::new().verbose();
        for words in [
            vec!["check", &url],
            vec!["run", &url, "--rate", "wrong"],
            vec!["run", "sim:", "--plan", "--metrics", &url],
            vec!["run", "sim:", "--plan", "--rate", &url],
            vec!["show", &url],
        ] {
            let called = place.call(&words);
            prop_assert!(matches!(called.code, Some(0 | 2 | 5)), "{words:?}: {called:?}");
            let shown = [called.stdout.as_str(), &called.stderr].concat();
            prop_assert!(!shown.contains(PASSWORD), "{words:?}: {shown}");
        }
    }
}

#[test]
fn a_whole_run_with_a_password_leaves_no_trace_of_it() {
    if skipped() {
        return;
    }
    let server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 scram-sha-256".to_owned()],
        ..Setup::default()
    });
    server.sql("postgres", &format!("CREATE ROLE bench LOGIN PASSWORD '{PASSWORD}'"));
    server.sql("postgres", "CREATE DATABASE bench OWNER bench");
    let port = server.port();
    let url = format!("postgres://bench:{PASSWORD}@127.0.0.1:{port}/bench");

    let place = Place::new().verbose();
    let words = split("-d 3s --warm-up 0s --rate 5k --ui=0 --metrics-listen 0");
    let mut running = place.start(&[&["run", &url], &words[..]].concat());
    let page = served(&mut running, "page");
    let metrics = served(&mut running, "metrics");
    running.wait_for("  measure  ");
    let parts = events_of(page, "/live").skip_while(|line| line != "event: parts");
    let parts: Vec<String> = parts.take_while(|line| !line.is_empty()).collect();
    for (what, shown) in [
        ("page", fetched(page, "GET /", "")),
        ("events", parts.join("\n")),
        ("metrics of the page", fetched(page, "GET /metrics", "")),
        ("metrics", fetched(metrics, "GET /metrics", "")),
    ] {
        assert!(!shown.contains(PASSWORD), "{what}: {shown}");
        // What it is of is there: it is the page of this run, and not an empty one.
        let target = format!("bench@127.0.0.1:{port}");
        assert!(shown.contains(&target) || what.starts_with("metrics"), "{what}: {shown}");
        assert!(shown.contains("cpu"), "{what}: {shown}");
    }
    let seen = running.seen_from_outside();
    assert!(seen.contains("postgres://bench@127.0.0.1:"), "{seen}");
    assert!(!seen.contains(PASSWORD), "{seen}");
    let statements = server.sql("postgres", "SELECT query, application_name FROM pg_stat_activity");
    assert!(!statements.contains(PASSWORD), "{statements}");
    let called = running.end();
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    called.prints("\ndata           clean ");
    assert_secret(&place, &called);
    for format in ["text", "json", "csv", "telemetry-csv"] {
        assert_secret(&place, &place.call(&["show", "--format", format]));
    }

    let wrong = format!("postgres://bench:{PASSWORD}x@127.0.0.1:{port}/bench");
    let refused = place.call(&["run", &wrong]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("\nhint: "), "{refused:?}");
    assert_secret(&place, &refused);
}
