//! An existing table becomes a workload file, which is checked, filled, and queried.

use highwater_model::judgment::Data;
use highwater_model::record::RunRecord;
use highwater_testing::postgres::{Postgres, SUPERUSER, Setup, skipped};

use crate::called::{Place, acknowledged, expect_undisturbed, record};

/// Sketches a table into `like.toml` and checks the file.
fn sketched(place: &Place, url: &str, table: &str) -> String {
    let called = place.call(&["workloads", "from", url, "--table", table]);
    assert_eq!(called.code, Some(0), "{called:?}");
    place.file("like.toml", &called.stdout);
    let checked = place.call(&["check", "like.toml"]);
    assert_eq!(checked.code, Some(0), "{checked:?}\n{}", called.stdout);
    called.stdout
}

/// Loads rows and then runs the stream `queries`.
fn loaded_and_queried(place: &Place, url: &str) -> RunRecord {
    let called = place.typed(&format!("load -f like.toml {url} --rows 3000 --json"));
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    let loaded = record(&called);
    expect_undisturbed(&loaded);
    assert_eq!(loaded.judgments.data.value, Data::Clean);
    assert_eq!(loaded.audit.acknowledged, 3_000);
    let load = "--stream queries -c 2 -d 2s --warm-up 0s --json";
    let called = place.typed(&format!("run -f like.toml {url} {load}"));
    let queried = record(&called);
    let mut results = queried.results.iter();
    assert!(results.all(|of| of.errors.is_empty()), "{called:?}");
    queried
}

#[test]
fn a_table_in_a_file_becomes_a_workload_that_is_filled_and_queried() {
    let place = Place::new().verbose();
    place.database(
        "own.db",
        "CREATE TABLE \"Order\" (id INTEGER PRIMARY KEY, \"Group\" TEXT NOT NULL, ts TIMESTAMP, \
         price REAL, total REAL GENERATED ALWAYS AS (price * 2), note VARCHAR(40), extra BLOB); \
         CREATE INDEX by_group ON \"Order\" (\"Group\", ts DESC); \
         CREATE INDEX by_note ON \"Order\" (\"Group\", lower(note)); \
         CREATE INDEX some ON \"Order\" (price) WHERE price > 5; \
         INSERT INTO \"Order\" (id, \"Group\", ts, price, note, extra) \
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999) \
         SELECT 100 + 3 * i, CASE WHEN i % 4 = 0 THEN 'it''s' ELSE 'b' END, \
         1700000000000 + 500 * i, i / 8.0, 'note ' || i, x'00ff' FROM n; ANALYZE",
    );
    let text = sketched(&place, "sqlite:own.db", "Order");
    for part in [
        "Sketched from table Order and 2,000 of its rows",
        "generator = \"sequence\"\nstart = 100\nstep = 3",
        "values = [\"b\", \"it's\"]\nweights = [1500, 500]",
        "start = \"2023-11-14T22:13:20Z\"\ninterval = \"500ms\"",
        "min = 0.0\nmax = 249.875",
        "least = 6\nlength = 9",
        "# left out: total REAL, which the original computes",
        "# left out: extra BLOB",
        "CREATE UNIQUE INDEX order_like_1 ON order_like (\"id\")",
        "CREATE INDEX order_like_2 ON order_like (\"Group\", \"ts\")",
        "# left out: CREATE INDEX by_note",
        "# left out: CREATE INDEX some",
        "(\"id\" - (100)) / 3",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let queried = loaded_and_queried(&place, "sqlite:own.db");
    // Each query is about an existing row.
    let result = &queried.results[queried.results.len() - 1];
    assert!(result.acknowledged > 100);
    assert_eq!(result.response_rows, result.acknowledged);
    let ends = "min(id) || ' ' || max(id) || ' ' || count(DISTINCT \"Group\") || ' ' || max(ts)";
    let ends = place.query("own.db", &format!("SELECT {ends} FROM order_like"));
    assert_eq!(ends, "100 9097 2 1700001499500");
    // The original is unchanged.
    assert_eq!(place.query("own.db", "SELECT count(*) FROM \"Order\""), "2000");
}

#[test]
fn a_table_without_rows_is_sketched_from_its_declaration() {
    let place = Place::new().verbose();
    place.database(
        "own.db",
        "CREATE TABLE empty (a INTEGER, b VARCHAR(9), c DOUBLE, d DATETIME, e)",
    );
    let text = sketched(&place, "sqlite:own.db", "empty");
    for part in ["type = \"bigint\"", "type = \"text\"", "type = \"float\"", "# left out: e"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.contains("type = \"timestamp\"\ngenerator = \"timeline\""), "{text}");
    let called = place.call(&["workloads", "from", "sqlite:own.db", "--table", "empt"]);
    assert_eq!(called.code, Some(2), "{called:?}");
    called.reports("there is no table `empt`");
}

const SHOP: &str = "
CREATE EXTENSION pg_stat_statements;
CREATE TABLE shop (id uuid PRIMARY KEY, at timestamptz NOT NULL, state text NOT NULL,
    price double precision, day date);
CREATE INDEX ON shop (state, at DESC);
CREATE INDEX ON shop USING gin (to_tsvector('simple', state));
INSERT INTO shop SELECT gen_random_uuid(), '2024-01-01Z'::timestamptz + i * interval '2 seconds',
    CASE WHEN i % 4 = 0 THEN 'open' ELSE 'closed' END, i / 8.0, '2024-01-01'
FROM generate_series(0, 1999) AS i;
CREATE TABLE other (id uuid);
ANALYZE;
SELECT pg_stat_statements_reset();";

#[test]
fn statement_counts_of_a_server_become_the_weights_of_the_mix() {
    if skipped() {
        return;
    }
    let server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
        settings: vec!["shared_preload_libraries = 'pg_stat_statements'".to_owned()],
        ..Setup::default()
    });
    server.sql("postgres", SHOP);
    for _ in 0..6 {
        server.sql("postgres", "SELECT count(*) FROM shop WHERE state = 'open'");
    }
    for price in [10, 20, 30] {
        let sql = format!(
            "SELECT at, price FROM public.shop s WHERE s.price > {price} AND at >= '2024-01-01' ORDER BY at LIMIT 5"
        );
        server.sql("postgres", &sql);
    }
    for sql in [
        "SELECT date_trunc('minute', at) FROM shop",
        "SELECT state FROM shop JOIN other USING (id)",
        "SELECT max(day) FROM shop",
        "UPDATE shop SET price = 3 WHERE state = 'none'",
        "SELECT count(*) FROM other",
    ] {
        server.sql("postgres", sql);
    }
    let place = Place::new().verbose();
    let url = server.url(SUPERUSER, "postgres");
    let text = sketched(&place, &url, "shop");
    let weights = text.lines().last().unwrap();
    assert_eq!(weights, "ops = { recorded-1 = 6, recorded-2 = 3 }", "{text}");
    for part in [
        "# 9 of 13 calls",
        "SELECT count(*) FROM shop_like AS \"shop\" WHERE state = :state",
        "WHERE s.price > :price AND at >= :at ORDER BY at LIMIT 5",
        "the number of its LIMIT was not recorded",
        "· no column shows what its `$1` is",
        "· it queries `other` too",
        "· column `day` is left out",
        "UPDATE shop SET price = $1 WHERE state = $2 · no query",
        "# left out: CREATE INDEX shop_to_tsvector_idx",
        "CREATE UNIQUE INDEX shop_like_1 ON shop_like (\"id\")",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("count(*) FROM other"), "{text}");
    let queried = loaded_and_queried(&place, &url);
    let first = acknowledged(&queried, "recorded-1");
    let second = acknowledged(&queried, "recorded-2");
    let all = f64::from(u32::try_from(first + second).unwrap());
    let share = f64::from(u32::try_from(first).unwrap()) / all;
    // Two to one, within five deviations of √(n · ⅔ · ⅓).
    assert!(all > 50.0, "{first} {second}");
    assert!((share - 2.0 / 3.0).abs() < 5.0 * (2.0 / 9.0 / all).sqrt(), "{first} {second}");
    audits_are_no_ops(&server, &place, &url);
}

/// The load of the copy was audited, which the server counted, too.
fn audits_are_no_ops(server: &Postgres, place: &Place, url: &str) {
    let audits =
        "SELECT count(*) FROM pg_stat_statements WHERE query LIKE '%FROM \"shop_like\"%highwater%'";
    let audits: u64 = server.sql("postgres", audits).trim().parse().unwrap();
    assert!(audits > 0);
    let called = place.call(&["workloads", "from", url, "--table", "shop_like"]);
    let weights = called.stdout.lines().last().unwrap_or_default();
    assert!(weights.starts_with("ops = { recorded-1 = "), "{called:?}");
    assert!(weights.matches("recorded-").count() == 2, "{called:?}");
    // Neither as an op nor among the omitted statements, of which only the beginning would be shown.
    assert!(!called.stdout.contains("CASE WHEN k >="), "{called:?}");
}

#[test]
fn a_server_without_statement_counts_is_noted_in_the_file() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    server.sql("postgres", "CREATE TABLE t (a bigint)");
    let place = Place::new().verbose();
    let text = sketched(&place, &server.url(SUPERUSER, "postgres"), "t");
    assert!(text.contains("# This database has no pg_stat_statements"), "{text}");
    server.sql("postgres", "CREATE EXTENSION pg_stat_statements");
    let text = sketched(&place, &server.url(SUPERUSER, "postgres"), "t");
    assert!(text.contains("# pg_stat_statements cannot be read:"), "{text}");
}
