//! An existing table becomes a workload file, which is checked, filled, and queried.

use highwater_model::judgment::Data;
use highwater_model::record::RunRecord;
use highwater_testing::mariadb::{self, MariaDb};
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
        "# 9 of 12 calls",
        "SELECT count(*) FROM shop_like AS \"shop\" WHERE state = :state",
        "WHERE s.price > :price AND at >= :at ORDER BY at LIMIT 5",
        "the number of its LIMIT was not recorded",
        "· no column shows what its `$1` is",
        "· it queries `other` too",
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

/// Every type that a table of everyday columns has; the values of some are all null.
const TYPES_OF_POSTGRESQL: &str = "
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN rating AS integer CHECK (value BETWEEN 1 AND 5);
CREATE DOMAIN email AS text CHECK (value ~ '@');
CREATE SCHEMA trade;
CREATE TABLE trade.\"Order\" (
    \"ID\" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    \"select\" int NOT NULL DEFAULT 5, \"user name\" varchar(40) NOT NULL, \"price €\" numeric(38, 10),
    amount numeric(12, 2) CHECK (amount >= 0), any_number numeric, small smallint, single real,
    ok boolean, day date, at time, at_zone timetz, ts timestamp(0), tstz timestamptz, span interval,
    m mood, stars rating, mail email, u uuid, ip inet, net cidr, mac macaddr, bytes bytea, j json,
    jb jsonb, arr int[], texts text[], pt point, rng int4range, period tstzrange, cash money,
    fixed char(10), bits bit(4), varbits varbit, x xml, tsv tsvector, path jsonpath,
    sorted text COLLATE \"C\", never inet,
    total numeric GENERATED ALWAYS AS (amount * 2) STORED,
    CHECK (small < 300), CHECK (length(\"user name\") > 5));
INSERT INTO trade.\"Order\" (\"user name\", \"price €\", amount, any_number, small, single, ok, day, at, at_zone,
    ts, tstz, span, m, stars, mail, u, ip, net, mac, bytes, j, jb, arr, texts, pt, rng, period, cash,
    fixed, bits, varbits, x, tsv, path, sorted)
SELECT 'user ' || g, 12345678901234567890.123456789 + g, (g % 1000) / 100.0, g / 7.0, g % 300, g / 3.0,
    g % 2 = 0, date '2024-01-01' + g % 300, time '10:00' + g * interval '1 second', '10:00+02',
    timestamp '2024-01-01' + g * interval '1 minute', timestamptz '2024-01-01Z' + g * interval '1 hour',
    g * interval '1 hour 1 day', (array['sad', 'ok', 'happy'])[1 + g % 3]::mood, 1 + g % 5, g || '@example.org',
    gen_random_uuid(), ('10.0.0.' || g % 250)::inet, '10.1.0.0/16', '08:00:2b:01:02:03',
    decode(md5(g::text), 'hex'), '{\"a\": 1}', jsonb_build_object('n', g, 's', g::text), array[g, g + 1],
    array['a', 'it''s \"b\"', null], point(g, g), int4range(g, g + 5), tstzrange(now(), null), g, 'abc',
    B'1010', B'10', '<a>1</a>', to_tsvector('hello world ' || g), '$.a[*]', 'line' || E'\\n' || g
FROM generate_series(1, 3000) g;";

/// Sketches a table, runs the file as it is, and returns its text, the record, and standard error.
fn run_of_a_sketch(place: &Place, url: &str, table: &str) -> (String, RunRecord, String) {
    let text = sketched(place, url, table);
    let load = "-c 1 -d 1s --warm-up 0s --json";
    let called = place.typed(&format!("run -f like.toml {url} {load}"));
    let record = record(&called);
    assert_eq!(record.judgments.data.value, Data::Clean, "{called:?}");
    assert!(record.audit.acknowledged >= 3_000, "{called:?}");
    let mut results = record.results.iter();
    assert!(results.all(|of| of.errors.is_empty()), "{called:?}");
    (text, record, called.stderr)
}

/// The columns that a run says it does not compare.
fn uncompared(record: &RunRecord) -> Option<&str> {
    let note = record.notes.iter().find(|note| note.code == "columns_not_compared");
    note.map(|note| note.message.as_str())
}

#[test]
fn everyday_types_of_postgresql_are_written_and_verified() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    server.sql("postgres", TYPES_OF_POSTGRESQL);
    let place = Place::new().verbose();
    let url = server.url(SUPERUSER, "postgres");
    let (text, record, stderr) = run_of_a_sketch(&place, &url, "trade.Order");
    assert_eq!(uncompared(&record), None);
    // Each column has a checksum, except decimals and JSON, whose values are read back.
    let summed = record.audit.columns.len();
    assert_eq!(summed, text.matches("order_like.columns]]").count() - 3, "{:?}", record.audit);
    let left_out: Vec<&str> = text.lines().filter(|line| line.starts_with("# left out")).collect();
    assert_eq!(
        left_out,
        [
            "# left out: never inet, which keeps its default",
            "# left out: total numeric, which the target computes",
            "# left out: CONSTRAINT \"Order_user name_check\" CHECK ((length((\"user name\")::text) > 5))",
        ]
    );
    assert!(
        stderr.contains("keep their defaults") && stderr.contains("order_like.never"),
        "{stderr}"
    );
    for part in [
        "\"select\" integer NOT NULL DEFAULT 5, \"user name\" character varying(40) NOT NULL",
        "\"single\" real, ",
        "\"sorted\" text COLLATE pg_catalog.\"C\"",
        "\"total\" numeric GENERATED ALWAYS AS ((amount * (2)::numeric)) STORED",
        "\"never\" inet, ",
        "CONSTRAINT \"Order_small_check\" CHECK ((small < 300))",
        "generator = \"uuid\"",
        "# 30 of 3,000 different values: no generator makes this type",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let widths = "SELECT (SELECT avg(pg_column_size(t.*)) FROM order_like t) /
                  (SELECT avg(pg_column_size(t.*)) FROM trade.\"Order\" t)";
    let ratio: f64 = server.sql("postgres", widths).trim().parse().unwrap();
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

const TYPES_OF_MARIADB: &str = "
CREATE TABLE parent (id int PRIMARY KEY);
INSERT INTO parent SELECT seq FROM seq_1_to_500;
CREATE TABLE `odd table` (
    id bigint unsigned AUTO_INCREMENT PRIMARY KEY, parent int NOT NULL, `select` int NOT NULL DEFAULT 5,
    `user name` varchar(40) CHARACTER SET latin1 NOT NULL, price decimal(38, 10), amount decimal(12, 2),
    tiny tinyint, ok tinyint(1), med mediumint unsigned, r float, dbl double, y year, d date, t time(3),
    ts timestamp(6) NULL, dt datetime, e enum('sad', 'ok', 'it''s'), s set('a', 'b', 'c'), u uuid, ip inet6,
    j json, b1 bit(1), b12 bit(12), bin binary(16), vb varbinary(40), bl blob, c char(10), txt mediumtext,
    pt point, doc longtext COLLATE utf8mb4_bin, total decimal(14, 2) AS (amount * 2) STORED,
    virt int AS (tiny + 1) VIRTUAL, CONSTRAINT fk FOREIGN KEY (parent) REFERENCES parent (id),
    CHECK (tiny < 100), KEY by_user (`user name`, dt), KEY pre (txt(10)), UNIQUE KEY (u)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO `odd table` (parent, `user name`, price, amount, tiny, ok, med, r, dbl, y, d, t, ts, dt, e, s, u, ip,
    j, b1, b12, bin, vb, bl, c, txt, pt, doc)
SELECT 1 + seq % 500, concat('user ', seq), 12345678901234567890.123456789 + seq, (seq % 1000) / 100, seq % 90,
    seq % 2, seq, seq / 3, seq / 7, 2000 + seq % 20, date_add('2024-01-01', INTERVAL seq % 300 DAY),
    sec_to_time(seq / 10), now(6) - INTERVAL seq SECOND, date_add('2024-01-01', INTERVAL seq MINUTE),
    elt(1 + seq % 3, 'sad', 'ok', 'it''s'), 'a,c', uuid(), concat('2001:db8::', hex(seq)),
    json_object('n', seq), seq % 2, seq % 4000, unhex(md5(seq)), unhex(sha1(seq)), repeat(unhex(md5(seq)), 3),
    'abc', repeat('text ', 20), point(seq, seq), concat('doc ', seq)
FROM seq_1_to_3000;";

#[test]
fn everyday_types_of_mariadb_are_written_and_verified() {
    if mariadb::skipped() {
        return;
    }
    let server = MariaDb::start();
    server.sql(TYPES_OF_MARIADB);
    let place = Place::new().verbose();
    let url = server.url(mariadb::SUPERUSER);
    let (text, record, stderr) = run_of_a_sketch(&place, &url, "odd table");
    assert_eq!(uncompared(&record), None);
    let summed = record.audit.columns.len();
    assert_eq!(summed, text.matches("odd_table_like.columns]]").count() - 1, "{:?}", record.audit);
    assert!(
        stderr.contains("keep their defaults") && stderr.contains("odd_table_like.pt"),
        "{stderr}"
    );
    for part in [
        "# left out: pt point, which keeps its default\n",
        "# left out: total decimal(14,2), which the target computes\n",
        "# left out: FOREIGN KEY (parent) REFERENCES parent (id)\n",
        "`user name` varchar(40) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL",
        "`r` float, ",
        "CHECK (`tiny` < 100), CHECK (json_valid(`j`))",
        "`virt` int(11) GENERATED ALWAYS AS (`tiny` + 1) VIRTUAL",
        "CREATE UNIQUE INDEX odd_table_like_5 ON odd_table_like (`u`)",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
