//! All use of a database, on MariaDB, on three nodes of Galera, and on ClickHouse: every workload, custom statements
//! and files, loading, sketching a table, tuning, and checking. On QuestDB, the subset that it supports.

use highwater_model::judgment::Data;
use highwater_model::record::RunRecord;
use highwater_testing::clickhouse::{self, ClickHouse};
use highwater_testing::galera::{self, Galera};
use highwater_testing::mariadb::{self, MariaDb};

use crate::called::{Place, expect_undisturbed, experiment, record};

/// Two seconds of load.
const SHORT: &str = "-c 2 -d 2s --warm-up 0s";
/// Twenty batches per second, so that a server that merges them keeps up.
const RATE: &str = "--batch 100 --rate 2k";

/// Workloads that all of them support, with parameters that make them small.
const WORKLOADS: [&str; 5] =
    ["cpu --set hosts=20", "nib-cpu", "tsbs --set hosts=32", "sensors", "loadtest --set bytes=64"];
/// A workload whose rows cannot be distinguished, and are not audited.
const REPEATED: &str = "nib-cpu-strict --audit off";
/// Streams of queries of the workloads whose tables were filled before.
const QUERIES: [[&str; 2]; 3] = [
    ["cpu --set hosts=20", "dashboards"],
    ["tsbs --set hosts=32", "queries"],
    ["sensors", "queries"],
];
const UPSERTS: &str = "kv --set order=sequential --set cycle_length=500 --set min_block_bytes=16 \
                       --set max_block_bytes=16 --set read_percent=30 --batch 20 --rate 40";

/// A server, and its parts of the commands.
struct Server<'a> {
    url: String,
    /// Creates a table `book` with a thousand rows and these columns: `id`, `title`.
    book: &'a dyn Fn(),
    /// A setting of new tables, with two values.
    axis: &'static str,
}

fn run(place: &Place, words: &str, url: &str) -> RunRecord {
    let called = place.typed(&format!("run {words} {url} --json {SHORT}"));
    // Two seconds are too short to judge the measurement.
    assert!(matches!(called.code, Some(0 | 3)), "{words}: {called:?}");
    let run = record(&called);
    expect_undisturbed(&run);
    for result in &run.results {
        assert!(result.errors.is_empty(), "{words}: {result:?}");
    }
    run
}

/// Every workload fills its tables, each row is found, and its queries return rows.
fn expect_workloads(server: &Server<'_>) {
    let place = Place::new();
    let url = server.url.as_str();
    let at_rate = WORKLOADS.map(|words| format!("{words} {RATE}"));
    for words in at_rate.iter().map(String::as_str).chain([UPSERTS]) {
        let run = run(&place, &format!("{words} --drop"), url);
        assert_eq!(run.judgments.data.value, Data::Clean, "{words}");
        assert!(run.audit.acknowledged >= 100, "{words}: {:?}", run.audit);
    }
    let repeated = run(&place, &format!("{REPEATED} {RATE} --drop"), url);
    assert_eq!(repeated.judgments.data.value, Data::NotChecked);
    for [workload, stream] in QUERIES {
        let fill = place.typed(&format!("load {workload} {url} --drop --rows 5k"));
        assert_eq!(fill.code, Some(0), "{workload}: {fill:?}");
        let run = run(&place, &format!("{workload} --stream {stream}"), url);
        let answered: u64 = run.results.iter().map(|r| r.acknowledged).sum();
        assert!(answered > 0, "{workload} {stream}");
    }
}

/// Statements in a file, a table that becomes a workload, a tuning over a table setting, and a check.
fn expect_own(server: &Server<'_>) {
    let place = Place::new();
    let url = server.url.as_str();
    (server.book)();
    place.file("get.sql", "\\set id random(1, 1000)\nSELECT title FROM book WHERE id = :id;\n");
    let own = run(&place, "-f get.sql", url);
    let result = &own.results[own.results.len() - 1];
    assert!(result.acknowledged > 0);
    assert_eq!(result.response_rows, result.acknowledged, "each id is there");

    let sketched = place.call(&["workloads", "from", url, "--table", "book"]);
    assert_eq!(sketched.code, Some(0), "{sketched:?}");
    place.file("like.toml", &sketched.stdout);
    let checked = place.call(&["check", "like.toml"]);
    assert_eq!(checked.code, Some(0), "{checked:?}\n{}", sketched.stdout);
    let loaded = place.typed(&format!("load -f like.toml {url} --rows 3000 --json"));
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
    let loaded = record(&loaded);
    assert_eq!(loaded.judgments.data.value, Data::Clean);
    assert_eq!(loaded.audit.acknowledged, 3_000);
    run(&place, "-f like.toml --stream queries", url);

    let checked = place.call(&["check", url]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    checked.prints("create tables, insert rows, read rows, drop tables");
    checked.prints("ceiling");

    let short = "--drop --batch 5000 -c 2 --probe 2s --warm-up 1s --set hosts=20 -q";
    let tuned = place.typed(&format!("tune cpu {url} --over {} {short}", server.axis));
    assert!(matches!(tuned.code, Some(0 | 3)), "{tuned:?}");
    let tuning = place.runs().pop().unwrap();
    let tune = experiment(&tuning);
    let trials = &tune.tune().unwrap().trials;
    for value in 0..2 {
        let measured = trials.iter().find(|trial| trial.at == [value]);
        let measured = measured.unwrap_or_else(|| panic!("value {value}: {trials:?}"));
        assert!(measured.throughput_per_s > 0.0, "{measured:?}");
    }
}

fn check(server: &Server<'_>) {
    expect_workloads(server);
    expect_own(server);
}

/// The statement that creates the table of [`Server::book`] on servers with MySQL's protocol.
const BOOK: &str = "CREATE TABLE book (id INT PRIMARY KEY, title VARCHAR(40) NOT NULL); \
    INSERT INTO book SELECT seq, CONCAT('title ', seq) FROM seq_1_to_1000";

#[test]
#[ignore = "long: every workload and command on one server"]
fn long_everything_works_on_mariadb() {
    if mariadb::skipped() {
        return;
    }
    let server = MariaDb::start();
    check(&Server {
        url: server.url(mariadb::SUPERUSER),
        book: &|| drop(server.sql(BOOK)),
        axis: "with.ROW_FORMAT=DYNAMIC,COMPRESSED",
    });
}

#[test]
#[ignore = "long: three nodes, each with all rows"]
fn long_everything_works_on_three_nodes_of_galera() {
    if galera::skipped() {
        return;
    }
    let cluster = Galera::start();
    check(&Server {
        url: cluster.url(mariadb::SUPERUSER),
        book: &|| drop(cluster.sql(0, BOOK)),
        axis: "with.ROW_FORMAT=DYNAMIC,COMPRESSED",
    });
}

#[test]
#[ignore = "long: every workload and command on one server"]
fn long_everything_works_on_clickhouse() {
    if clickhouse::skipped() {
        return;
    }
    let server = ClickHouse::start();
    check(&Server {
        url: server.url(clickhouse::SUPERUSER),
        book: &|| {
            server.sql("CREATE TABLE book (id Int64, title String) ENGINE = MergeTree ORDER BY id");
            server.sql(
                "INSERT INTO book SELECT toInt64(number + 1), \
                 concat('title ', toString(number + 1)) FROM numbers(1000)",
            );
        },
        axis: "with.index_granularity=1024,8192",
    });
}

/// The QuestDB URLs in `HIGHWATER_TEST_URLS`, separated by commas or spaces, each with its password; their only
/// database is `qdb`.
fn named_questdbs() -> Vec<String> {
    let list = std::env::var("HIGHWATER_TEST_URLS").unwrap_or_default();
    let named = list
        .split([',', ' ', '\n', '\t'])
        .filter(|url| url.starts_with("postgres://") && url.ends_with("/qdb"));
    named.map(str::to_owned).collect()
}

/// Requests that need unique keys, transactions, table settings, or another insert mode are rejected with one message.
fn expect_refusals(url: &str) {
    let place = Place::new();
    for (words, said) in [
        (&["load", "kv", "--rows", "9"][..], "no SQL for this target (questdb)"),
        (&["load", "loadtest", "--rows", "9"], "no SQL for this target (questdb)"),
        (&["load", "cpu", "--rows", "9", "--insert", "copy"], "takes `--insert values` only"),
        (&["load", "cpu", "--rows", "9", "--insert", "prepared"], "takes `--insert values` only"),
        (&["load", "cpu", "--rows", "9", "--with", "a=b"], "--with"),
        (&["workloads", "from", "--table", "cpu"], "cannot be described"),
    ] {
        let called = place.call(&[words, &[url]].concat());
        assert_eq!(called.code, Some(2), "{words:?}: {called:?}");
        assert!(called.stderr.contains(said), "{words:?}: {called:?}");
    }
}

/// Rows become visible after they are acknowledged, so an audit that does not wait would miss some.
#[test]
#[ignore = "long: workloads of times on a QuestDB that is named in HIGHWATER_TEST_URLS"]
fn long_workloads_of_times_work_on_a_named_questdb() {
    for url in named_questdbs() {
        let place = Place::new();
        for words in WORKLOADS.iter().take(4) {
            let run = run(&place, &format!("{words} {RATE} --drop"), &url);
            assert_eq!(run.judgments.data.value, Data::Clean, "{words:?}");
            assert!(run.audit.acknowledged >= 100, "{words:?}: {:?}", run.audit);
            // Audits the stored run again: its record has no password.
            let login = url.split('@').next().unwrap_or_default();
            let password = login.rsplit(':').next().unwrap_or_default();
            let with_password = format!("PGPASSWORD={password}; export PGPASSWORD");
            let audited = place.after(&with_password, &["audit", "--json"]);
            let audited = record(&audited);
            assert_eq!(audited.judgments.data.value, Data::Clean, "{words:?}");
            assert_eq!(audited.audit.acknowledged, run.audit.acknowledged);
        }
        for [workload, stream] in QUERIES {
            let loaded = place.typed(&format!("load {workload} {url} --drop --rows 50k --json"));
            // It may be too short to judge the measurement.
            assert!(matches!(loaded.code, Some(0 | 3)), "{workload}: {loaded:?}");
            let loaded = record(&loaded);
            assert_eq!(loaded.judgments.data.value, Data::Clean, "{workload}");
            assert_eq!(loaded.audit.acknowledged, 50_000, "{workload}");
            let run = run(&place, &format!("{workload} --stream {stream}"), &url);
            let answered: u64 = run.results.iter().map(|r| r.acknowledged).sum();
            assert!(answered > 0, "{workload} {stream}");
        }
        expect_refusals(&url);
        let checked = place.call(&["check", url.as_str()]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
    }
}
