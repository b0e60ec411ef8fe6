//! A password is in no file, output, or error, and not visible to other users in the process.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use highwater_testing::postgres::{Postgres, Setup, skipped};
use highwater_testing::{clickhouse, mariadb};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::called::{Called, Place, finish, measured, record, split};
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
    assert_nowhere(PASSWORD, place, called);
}

fn assert_nowhere(password: &str, place: &Place, called: &Called) {
    assert!(!called.stdout.contains(password), "stdout: {}", called.stdout);
    assert!(!called.stderr.contains(password), "stderr: {}", called.stderr);
    for path in files(place.path()) {
        let bytes = fs::read(&path).unwrap();
        let found = bytes.windows(password.len()).any(|w| w == password.as_bytes());
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
    /// For any URL, the program ends cleanly and shows no password in it.
    #[test]
    fn no_url_causes_a_panic_or_shows_a_password(
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
        // The page contains its target, so it is this run's page, and not empty.
        let target = "PostgreSQL 15";
        assert!(shown.contains(target) || what.starts_with("metrics"), "{what}: {shown}");
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

/// The source of a password: a part of the URL, and the environment.
type Origin<'a> = (String, Vec<(&'a str, String)>);

/// A server whose inserts fail with a message that contains the password: no file, output, or page contains it,
/// regardless of its source.
fn assert_not_repeated(password: &str, origins: &[Origin<'_>]) {
    for (number, (url, environment)) in origins.iter().enumerate() {
        let place = Place::new().verbose();
        let words = split("-c 2 --batch 20 --set hosts=20 -d 1s --warm-up 0s --audit count --json");
        let mut command = place.command(&[&["run", "cpu", url], &words[..]].concat());
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let called = finish(&mut command);
        assert_nowhere(password, &place, &called);
        let run = record(&called);
        let failures = &measured(&run).failures;
        let failure = failures.first().unwrap_or_else(|| panic!("{number}: {called:?}"));
        assert!(failure.message.contains("***"), "{number}: {failure:?}");
        for format in ["text", "json", "csv", "html", "markdown"] {
            assert_nowhere(password, &place, &place.call(&["show", "--format", format]));
        }
    }
}

/// Writes a file that only its user can read.
fn private(directory: &TempDir, name: &str, text: &str) -> String {
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

#[test]
fn a_password_that_postgresql_repeats_is_kept_nowhere_whatever_its_origin() {
    if skipped() {
        return;
    }
    let server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 scram-sha-256".to_owned()],
        ..Setup::default()
    });
    server.sql("postgres", &format!("CREATE ROLE bench LOGIN PASSWORD '{PASSWORD}'"));
    server.sql("postgres", "CREATE DATABASE bench OWNER bench");
    let at = format!("127.0.0.1:{}/bench", server.port());
    let in_url = format!("postgres://bench:{PASSWORD}@{at}");
    let made = Place::new().typed(&format!("load cpu {in_url} --rows 100 --set hosts=20 -q"));
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    server.sql(
        "bench",
        &format!(
            "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             RAISE EXCEPTION 'bench came with {PASSWORD}, and so did \n{PASSWORD}'; END $$; \
             CREATE TRIGGER tell BEFORE INSERT ON cpu FOR EACH STATEMENT EXECUTE FUNCTION tell()"
        ),
    );
    let kept = TempDir::new().unwrap();
    let pgpass = private(&kept, "pgpass", &format!("127.0.0.1:*:*:bench:{PASSWORD}\n"));
    let services = private(&kept, "services", &format!("[own]\nuser=bench\npassword={PASSWORD}\n"));
    let home = kept.path().display().to_string();
    private(&kept, ".pg_service.conf", &format!("[other]\npassword={PASSWORD}\n"));
    private(&kept, ".pgpass", &format!("*:*:*:*:{PASSWORD}\n"));
    let without = format!("postgres://bench@{at}");
    assert_not_repeated(
        PASSWORD,
        &[
            (in_url.clone(), vec![]),
            (format!("{without}?password={PASSWORD}"), vec![]),
            (without.clone(), vec![("PGPASSWORD", PASSWORD.to_owned())]),
            (without.clone(), vec![("PGPASSFILE", pgpass.clone())]),
            (format!("{without}?passfile={pgpass}"), vec![]),
            (without.clone(), vec![("HOME", home.clone())]),
            (
                format!("postgres://{at}"),
                vec![("PGSERVICE", "own".to_owned()), ("PGSERVICEFILE", services)],
            ),
            (format!("{without}?service=other"), vec![("HOME", home)]),
        ],
    );

    // The page in a browser meanwhile.
    let place = Place::new().verbose();
    let words = split("-c 2 --batch 20 --set hosts=20 -d 3s --warm-up 0s --audit count --ui=0");
    let mut running = place.start(&[&["run", "cpu", &in_url], &words[..]].concat());
    let page = served(&mut running, "page");
    running.wait_for("  measure  ");
    let parts = events_of(page, "/live").skip_while(|line| line != "event: parts");
    let parts: Vec<String> = parts.take_while(|line| !line.is_empty()).collect();
    for shown in [fetched(page, "GET /", ""), parts.join("\n")] {
        assert!(!shown.contains(PASSWORD), "{shown}");
        assert!(shown.contains("cpu"), "{shown}");
    }
    assert_secret(&place, &running.end());
}

#[test]
fn a_password_that_mariadb_repeats_is_kept_nowhere_whatever_its_origin() {
    if mariadb::skipped() {
        return;
    }
    let server = mariadb::MariaDb::start();
    server.sql(&format!(
        "CREATE USER bench@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         GRANT ALL ON {}.* TO bench@'127.0.0.1'",
        mariadb::DATABASE
    ));
    let without = server.url("bench");
    let in_url = without.replacen("bench@", &format!("bench:{PASSWORD}@"), 1);
    let made = Place::new().typed(&format!("load cpu {in_url} --rows 100 --set hosts=20 -q"));
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    server.sql(&format!(
        "CREATE TRIGGER tell BEFORE INSERT ON cpu FOR EACH ROW \
         SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'bench came with {PASSWORD}'"
    ));
    let kept = TempDir::new().unwrap();
    private(&kept, ".my.cnf", &format!("[client]\npassword={PASSWORD}\n"));
    assert_not_repeated(
        PASSWORD,
        &[
            (in_url, vec![]),
            (without.clone(), vec![("MYSQL_PWD", PASSWORD.to_owned())]),
            (without, vec![("HOME", kept.path().display().to_string())]),
        ],
    );
}

#[test]
fn a_password_that_clickhouse_repeats_is_kept_nowhere_whatever_its_origin() {
    if clickhouse::skipped() {
        return;
    }
    let (user, password) = (clickhouse::USER, clickhouse::PASSWORD);
    let server = clickhouse::ClickHouse::start();
    let without = server.url(user);
    let in_url = without.replacen(&format!("{user}@"), &format!("{user}:{password}@"), 1);
    let made = Place::new().typed(&format!("load cpu {in_url} --rows 100 --set hosts=20 -q"));
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    // The server's message repeats a value that is not a number.
    server.sql(&format!(
        "CREATE MATERIALIZED VIEW tell ENGINE = Null AS \
         SELECT toUInt8(concat('{password}', hostname)) AS n FROM cpu"
    ));
    assert_not_repeated(
        password,
        &[(in_url, vec![]), (without, vec![("CLICKHOUSE_PASSWORD", password.to_owned())])],
    );
}
