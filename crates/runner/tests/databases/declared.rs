//! Column types that store less than was sent, or something else, and settings that change what is read back: no fault
//! of a healthy database is reported.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::Target;
use highwater_driver::interrupts;
use highwater_model::judgment::Data;
use highwater_model::plan::{AuditLevel, Share, StopRule};
use highwater_model::record::{AuditStatus, RunRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserErrorKind;
use highwater_runner::request::Silent;
use highwater_runner::stored_audit::{StoredAuditRequest, audit_stored};
use highwater_testing::mariadb::{self, MariaDb};

use crate::audit::database::{Database, on, on_both};
use crate::postgres::server::{self, target};
use crate::support::{Job, closed, try_run_on};

const ROWS: u64 = 400;

/// A table `typed` with a number and these columns: name, lines of the workload file, declared type.
pub(crate) fn typed(dialect: &str, columns: &[(&str, &str, &str)]) -> String {
    let mut text = "format = 1\nname = \"typed\"\nversion = 1\nsummary = \"types\"\n\
        [parameters]\nbatch = { type = \"integer\", default = 20, min = 1, max = 1000 }\n\
        [[tables.typed.columns]]\nname = \"id\"\ntype = \"bigint\"\ngenerator = \"sequence\"\n"
        .to_owned();
    let mut create = "id bigint primary key".to_owned();
    for (name, lines, declared) in columns {
        text.push_str(&format!("[[tables.typed.columns]]\nname = \"{name}\"\n{lines}\n"));
        create.push_str(&format!(", {name} {declared}"));
    }
    text.push_str(&format!(
        "[tables.typed.create]\n{dialect} = \"CREATE TABLE typed ({create})\"\n\
         [tables.typed.key]\n{dialect} = \"id\"\n\
         [ops.insert]\ninsert = \"typed\"\nbatch = \"${{batch}}\"\n"
    ));
    text
}

pub(crate) fn job(text: &str, level: AuditLevel) -> Job {
    let mut job = Job::new("", &[("insert", closed(2))]);
    job.text = Some(Box::leak(text.to_owned().into_boxed_str()));
    job.settings = vec![("batch", "20".to_owned())];
    job.sessions = 2;
    job.audit = level;
    job.drop_tables = true;
    job.stop = StopRule { rows: Some(ROWS), ..StopRule::default() };
    job
}

/// A column of words.
fn words(values: &str) -> String {
    format!("type = \"text\"\ngenerator = \"choice\"\nvalues = [{values}]")
}

fn assert_clean(record: &RunRecord, what: &str) {
    let judged = &record.judgments.data;
    assert_eq!(judged.value, Data::Clean, "{what}: {judged:?}\n{:#?}", record.audit);
    assert_eq!(record.audit.status, AuditStatus::Done, "{what}");
}

/// Audits a run of that name again, from its ledger.
fn audited_again(job: &Job, target: Arc<dyn Target>, root: &Path) -> RunRecord {
    let request = StoredAuditRequest {
        run: root.join("test"),
        workload: job.workload(),
        target,
        level: None,
        limit: Nanos::from_secs(60),
        now: "2026-01-01T01:00:00Z".to_owned(),
        page: |record| highwater_report::html(record),
    };
    let (_keep, interrupts) = interrupts::channel();
    audit_stored(request, Rc::new(Silent), interrupts).unwrap()
}

fn dialect_of(database: &Database) -> &'static str {
    match database {
        Database::MariaDb(_) => "mysql",
        Database::Sqlite(_) => "sqlite",
        _ => "postgresql",
    }
}

/// Runs on columns of a database at both levels that check values, audits again, and finds nothing wrong.
fn assert_healthy(database: &Database, columns: &[(&str, &str, &str)]) -> RunRecord {
    let text = typed(dialect_of(database), columns);
    let mut first = None;
    for level in [AuditLevel::Sums, AuditLevel::Full] {
        let root = tempfile::tempdir().unwrap();
        let (job, target) = (job(&text, level), database.open(None, None));
        let record = job.run_on(Arc::clone(&target), root.path()).record;
        assert_clean(&record, &format!("{level:?}"));
        assert_clean(&audited_again(&job, target, root.path()), "again");
        first.get_or_insert(record);
    }
    first.unwrap()
}

/// Milliseconds, which a column of whole seconds does not store.
const TIMES: &str = "type = \"timestamp\"\ngenerator = \"timeline\"\n\
                     start = \"2024-01-01T00:21:04Z\"\ninterval = \"2000333ms\"";
const FLOATS: &str = "type = \"float\"\ngenerator = \"uniform\"\nmin = -99.0\nmax = 99.0";

#[test]
fn times_are_compared_with_as_many_digits_as_their_column_keeps() {
    on(Database::mariadb(), |database, _| {
        assert_healthy(
            database,
            &[
                ("a", TIMES, "datetime"),
                ("b", TIMES, "datetime(1)"),
                ("c", TIMES, "date"),
                ("d", FLOATS, "decimal(10,3)"),
            ],
        );
        // A change within these digits is still found.
        let tamper = "UPDATE typed SET a = a + INTERVAL 1 SECOND WHERE id = 7";
        assert_altered(database, "mysql", &[("a", TIMES, "datetime")], tamper);
    });
    on(Database::postgres(), |database, _| {
        assert_healthy(
            database,
            &[
                ("a", TIMES, "timestamp(0) with time zone"),
                ("b", TIMES, "timestamp(2)"),
                ("c", TIMES, "date"),
                ("d", FLOATS, "numeric(10,3)"),
            ],
        );
        let tamper = "UPDATE typed SET d = d + 0.001 WHERE id = 7";
        assert_altered(database, "postgresql", &[("d", FLOATS, "numeric(10,3)")], tamper);
    });
}

/// A later audit finds a change made after a run.
fn assert_altered(
    database: &Database,
    dialect: &str,
    columns: &[(&str, &str, &str)],
    tamper: &str,
) {
    let root = tempfile::tempdir().unwrap();
    let job = job(&typed(dialect, columns), AuditLevel::Sums);
    let target = database.open(None, None);
    assert_clean(&job.run_on(Arc::clone(&target), root.path()).record, tamper);
    database.execute(tamper);
    let found = audited_again(&job, target, root.path());
    assert_eq!(found.judgments.data.value, Data::Altered, "{tamper}");
    assert_eq!(found.audit.altered, 1, "{tamper}: {:#?}", found.audit);
}

#[test]
fn types_without_a_checksum_are_compared_by_their_text() {
    on(Database::postgres(), |database, _| {
        database.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')");
        let integers = "type = \"integer\"\ngenerator = \"uniform\"\nmin = 0\nmax = 99999";
        let uuids = "type = \"text\"\ngenerator = \"uuid\"";
        let object = "type = \"object\"\ngenerator = \"object\"\n\
                      fields = [{ name = \"a\", type = \"integer\", generator = \"uniform\", min = 0, max = 9 }]";
        let record = assert_healthy(
            database,
            &[
                ("amount", integers, "numeric(38,4)"),
                ("m", &words("\"sad\", \"ok\", \"happy\""), "mood"),
                ("d", &words("\"2024-01-01\", \"2024-02-03\""), "date"),
                ("ip", &words("\"10.0.0.1\", \"10.0.0.2\""), "inet"),
                ("net", &words("\"10.0.0.0/8\""), "cidr"),
                ("arr", &words("\"{1,2,3}\", \"{4}\""), "int[]"),
                ("u", uuids, "uuid"),
                ("yes", &words("\"true\", \"false\""), "boolean"),
                ("t", &words("\"10:00:00\", \"23:59:59.5\""), "time"),
                ("ts", &words("\"2024-01-01 10:00:00\""), "timestamp"),
                ("doc", object, "jsonb"),
                ("j", &words(r#"'{"a": 1}', '{"b":2}'"#), "json"),
                ("jb", &words(r#"'{"b":1,"a":2}', '{"b":2}'"#), "jsonb"),
                ("price", &words("\"5\", \"7.50\""), "numeric(10,2)"),
                ("mac", &words("\"08:00:2b:01:02:03\""), "macaddr"),
                ("x", &words("\"<a/>\""), "xml"),
                ("plain", object, "text"),
                ("bytes", &words(r"'\x00ff', '\x'"), "bytea"),
                ("single", FLOATS, "real"),
                ("fixed", &words("\"abc\", \"de\""), "char(10)"),
                ("span", &words("\"1 day 02:00:00\""), "interval"),
                ("cash", &words("\"$5.00\""), "money"),
                ("bits", &words("\"1010\""), "bit(4)"),
                ("tsv", &words("\"'a':1 'b':2\""), "tsvector"),
            ],
        );
        // A column compared as a value has no checksum; all others have one.
        let columns = &record.audit.columns;
        assert!(columns.contains(&"typed.ip".to_owned()), "{columns:?}");
        assert_eq!(columns.len(), 22, "{columns:?}");
        let tamper = "UPDATE typed SET ip = '10.0.0.3' WHERE id = 7";
        let ip = words("\"10.0.0.1\", \"10.0.0.2\"");
        assert_altered(database, "postgresql", &[("ip", &ip, "inet")], tamper);
        let tamper = "UPDATE typed SET b = '\\x00fe' WHERE id = 7";
        let bytes = words(r"'\x00ff', '\x'");
        assert_altered(database, "postgresql", &[("b", &bytes, "bytea")], tamper);
        let tamper = "UPDATE typed SET x = x + 0.001 WHERE id = 7";
        assert_altered(database, "postgresql", &[("x", FLOATS, "real")], tamper);
    });
}

#[test]
fn settings_of_the_server_do_not_affect_the_comparison() {
    on(Database::postgres(), |database, root| {
        let text = include_str!("audit/meters.toml");
        let job = Job { drop_tables: false, ..job(text, AuditLevel::Full) };
        assert_clean(&job.run_on(database.open(None, None), root).record, "first");
        database.execute(
            "ALTER DATABASE postgres SET extra_float_digits = 0; \
             ALTER DATABASE postgres SET DateStyle = 'SQL, DMY'; \
             ALTER ROLE ALL SET TimeZone = 'Asia/Kathmandu'; \
             ALTER ROLE ALL SET IntervalStyle = 'sql_standard'; \
             ALTER ROLE ALL SET bytea_output = 'escape'",
        );
        let again = audited_again(&job, database.open(None, None), root);
        assert_clean(&again, "again");
        let more = tempfile::tempdir().unwrap();
        let on = Job { stop: StopRule { rows: Some(ROWS), ..StopRule::default() }, ..job };
        let continued = on.run_on(database.open(None, None), more.path()).record;
        assert_clean(&continued, "continued");
        assert!(continued.target.tables[0].rows_before > Some(0));
    });
}

#[test]
fn rows_that_a_policy_hides_are_not_lost() {
    let Some(database) = server::Database::new("policies") else {
        return;
    };
    database.sql("CREATE ROLE tenant LOGIN; GRANT ALL ON SCHEMA public TO tenant");
    let root = tempfile::tempdir().unwrap();
    let url = database.server.url("tenant", database.name);
    let target = target(&[url], database.name, None);
    let job =
        Job { drop_tables: false, ..job(include_str!("audit/meters.toml"), AuditLevel::Sums) };
    let run = |root: &Path| job.run_on(Arc::clone(&target), root).record;
    assert_clean(&run(root.path()), "without a policy");
    database.sql(
        "ALTER TABLE meters ENABLE ROW LEVEL SECURITY; ALTER TABLE meters FORCE ROW LEVEL SECURITY; \
         CREATE POLICY half ON meters USING (id % 2 = 0) WITH CHECK (true)",
    );
    let more = tempfile::tempdir().unwrap();
    let audited = audited_again(&job, Arc::clone(&target), root.path());
    for record in [audited, run(more.path())] {
        let judged = &record.judgments.data;
        assert_eq!(judged.value, Data::Unverified, "{judged:?}");
        let why = format!("{judged:?}");
        assert!(why.contains("row-level security"), "{why}");
    }
    // A policy that hides nothing does not prevent a run; a loss under it is not proved.
    database.sql("DROP POLICY half ON meters; CREATE POLICY all_rows ON meters USING (true)");
    let open = audited_again(&job, Arc::clone(&target), root.path());
    assert_clean(&open, "a policy for all rows");
}

#[test]
fn a_limit_of_rows_that_the_server_was_given_hides_none() {
    on(Database::mariadb(), |database, root| {
        let job =
            Job { drop_tables: false, ..job(include_str!("audit/meters.toml"), AuditLevel::Full) };
        assert_clean(&job.run_on(database.open(None, None), root).record, "first");
        database.execute("SET GLOBAL sql_select_limit = 1");
        assert_clean(&audited_again(&job, database.open(None, None), root), "again");
        let more = tempfile::tempdir().unwrap();
        let continued = job.run_on(database.open(None, None), more.path()).record;
        assert_clean(&continued, "continued");
    });
}

/// Why a run on these columns does not begin; nothing of its canary remains.
fn refusal(database: &Database, columns: &[(&str, &str, &str)]) -> String {
    refusal_of(database, columns, |job| job)
}

/// The same of a job that is changed.
fn refusal_of(
    database: &Database,
    columns: &[(&str, &str, &str)],
    changed: impl Fn(Job) -> Job,
) -> String {
    let dialect = dialect_of(database);
    let root = tempfile::tempdir().unwrap();
    let job = Job {
        stop: StopRule { rows: Some(40_000), ..StopRule::default() },
        ..job(&typed(dialect, columns), AuditLevel::Sums)
    };
    let refused = match try_run_on(&changed(job), database.open(None, None), root.path()) {
        Err(error) => error,
        Ok(end) => panic!("it ran: {:#?}", end.record.audit),
    };
    assert_eq!(refused.kind, UserErrorKind::Usage, "{refused}");
    let left = "SELECT count(*) FROM typed";
    let registered = "SELECT count(*) FROM highwater_tables WHERE fingerprint LIKE 'canary%'";
    for query in [left, registered] {
        assert_eq!(answer(database, query), "0", "{refused}");
    }
    refused.message
}

/// The only value of a query's only row.
fn answer(database: &Database, query: &str) -> String {
    match database {
        Database::Postgres(server) => server.sql("postgres", query),
        Database::MariaDb(server) => server.sql(query).trim().to_owned(),
        Database::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let number = connection.query_row(query, [], |row| row.get::<_, i64>(0));
            number.unwrap().to_string()
        }
        Database::ClickHouse(server) => server.sql(query),
    }
}

const COUNTER: &str = "type = \"integer\"\ngenerator = \"sequence\"\nstart = 1";

#[test]
fn a_value_that_its_column_cannot_store_is_named_before_the_load() {
    let assert_says = |message: &str, parts: &[&str]| {
        for part in parts {
            assert!(message.contains(part), "{part}: {message}");
        }
    };
    let long = words("\"a\", \"b\", \"cc\", \"much too long\"");
    let numbers = "type = \"integer\"\ngenerator = \"uniform\"\nmin = 0\nmax = 99999";
    let check = |database: &Database| {
        let says =
            refusal(database, &[("note", &words("\"a\""), "text"), ("q", COUNTER, "smallint")]);
        assert_says(&says, &["`typed`", "column `q` is smallint", "32768", "row 32,767"]);
        let says = refusal(database, &[("n", numbers, "smallint"), ("q", COUNTER, "bigint")]);
        assert_says(&says, &["column `n` is smallint"]);
        let says = refusal(database, &[("a", COUNTER, "bigint"), ("t", &long, "varchar(5)")]);
        assert_says(&says, &["column `t` is", "'much too long'"]);
    };
    on(Database::postgres(), |database, _| {
        check(database);
        let words = words("\"abc\", \"def\"");
        // Any row that is sent is rejected.
        let says = refusal(database, &[("q", COUNTER, "bigint"), ("u", &words, "uuid")]);
        assert_says(&says, &["column `u` is uuid", "'"]);
    });
    on(Database::mariadb(), |database, _| {
        check(database);
    });
    let root = tempfile::tempdir().unwrap();
    let database = Database::sqlite(root.path());
    let says = refusal(&database, &[("q", COUNTER, "text")]);
    assert_says(&says, &["column `q`", "cannot store the integer 1"]);
}

#[test]
fn values_that_hardly_any_row_has_are_tried_too() {
    let rare = "type = \"text\"\ngenerator = \"choice\"\nvalues = [\"a\", \"bb\", \"much too long\"]\n\
                weights = [1000000000, 1, 1]";
    let never = "type = \"text\"\ngenerator = \"choice\"\nvalues = [\"a\", \"much too long\"]\n\
                 weights = [1, 0]";
    let up_to = |max: u64| {
        format!(
            "type = \"integer\"\ngenerator = \"zipfian\"\nmin = 0\nmax = {max}\ntheta = 0.99\n\
                 order = \"ranked\""
        )
    };
    let letters = "type = \"text\"\ngenerator = \"text\"\nleast = 1\nlength = 100000";
    let check = |database: &Database| {
        for (lines, declared, value) in [
            (rare, "varchar(5)", "'much too long'"),
            (&up_to(32_768), "smallint", "the integer 32768"),
            (letters, "varchar(99999)", "the text '000"),
        ] {
            if declared == "varchar(99999)" && matches!(database, Database::MariaDb(_)) {
                continue;
            }
            let says = refusal(database, &[("x", lines, declared), ("q", COUNTER, "bigint")]);
            for part in ["column `x` is", value, "which its generator may make"] {
                assert!(says.contains(part), "{part}: {says}");
            }
        }
        // Values that are never chosen, and extremes that fit, are not a reason.
        let dialect = if matches!(database, Database::MariaDb(_)) { "mysql" } else { "postgresql" };
        let columns = [("x", never, "varchar(5)"), ("y", &*up_to(32_767), "smallint")];
        let job = job(&typed(dialect, &columns), AuditLevel::Full);
        let root = tempfile::tempdir().unwrap();
        assert_clean(&job.run_on(database.open(None, None), root.path()).record, "it fits");
    };
    on(Database::postgres(), |database, _| check(database));
    on(Database::mariadb(), |database, _| check(database));
}

/// A table `typed` whose creation is followed by this statement.
fn typed_and(dialect: &str, columns: &[(&str, &str, &str)], statement: &str) -> String {
    let key = "\n[tables.typed.key]";
    typed(dialect, columns)
        .replacen(&format!("{dialect} = \"CREATE"), &format!("{dialect} = [\"CREATE"), 1)
        .replacen(key, &format!(", \"{statement}\"]{key}"), 1)
}

/// A trigger counts inserts in a place that is not removed with the table.
#[test]
fn trying_a_slow_target_takes_a_moment() {
    const LOAD: u64 = 40;
    let numbers = "type = \"integer\"\ngenerator = \"uniform\"\nmin = 0\nmax = 9999999";
    on(Database::postgres(), |database, root| {
        // Each insert takes half a second: the third one ends after 1.2 s.
        database.execute(
            "CREATE SEQUENCE sent; CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             PERFORM nextval('sent'), pg_sleep(0.5); RETURN NULL; END $$",
        );
        let trigger = "CREATE TRIGGER slow AFTER INSERT ON typed EXECUTE FUNCTION slow()";
        let text = typed_and("postgresql", &[("n", numbers, "integer")], trigger);
        let stop = StopRule { rows: Some(LOAD), ..StopRule::default() };
        let job = Job { stop, ..job(&text, AuditLevel::Sums) };
        assert_clean(&job.run_on(database.open(None, None), root).record, "slow");
        let statements: u64 = answer(database, "SELECT last_value FROM sent").parse().unwrap();
        let tried = statements - LOAD / 20;
        assert!((1..=3).contains(&tried), "{tried}");
    });
}

/// Share 1 of 2, which starts after `start_in`.
fn first_share(job: Job, start_in: Nanos) -> Job {
    Job { share: Share { index: 1, of: 2, start_at: None }, start_in, ..job }
}

#[test]
fn the_first_of_several_shares_tries_the_audit_before_they_start() {
    on(Database::postgres(), |database, root| {
        let overflows = [("q", COUNTER, "smallint")];
        let later = |job| first_share(job, Nanos::from_secs(600));
        let says = refusal_of(database, &overflows, later);
        assert!(says.contains("column `q` is smallint"), "{says}");
        // If other shares write or load rows before the start, the canary is skipped, and no table is
        // recreated.
        let text = typed("postgresql", &overflows);
        for start_in in [Nanos::ZERO, Nanos::from_secs(6)] {
            let job = first_share(job(&text, AuditLevel::Sums), start_in);
            let more = tempfile::tempdir_in(root).unwrap();
            let record = job.run_on(database.open(None, None), more.path()).record;
            let rows = record.audit.acknowledged;
            assert_eq!(answer(database, "SELECT count(*) FROM typed"), rows.to_string());
            let tried = "SELECT count(*) FROM highwater_tables WHERE fingerprint LIKE 'canary%'";
            assert_eq!(answer(database, tried), "0");
        }
    });
}

#[test]
fn the_canary_of_a_killed_run_is_removed_by_the_next_one() {
    on_both(|database, root| {
        let text = include_str!("audit/meters.toml");
        let job = Job { drop_tables: false, ..job(text, AuditLevel::Sums) };
        let run = || job.run_on(database.open(None, None), root).record;
        assert_eq!(run().audit.found, ROWS);
        // The state after the process is killed during the canary.
        database.execute(
            "UPDATE highwater_tables SET fingerprint = 'canary of ' || fingerprint, \
             rows = 0, next_index = 0; DELETE FROM meters WHERE id > 7",
        );
        std::fs::remove_dir_all(root.join("test")).unwrap();
        let record = run();
        assert_clean(&record, "the next run");
        assert_eq!(answer(database, "SELECT count(*) FROM meters"), ROWS.to_string());
    });
}

#[test]
fn tables_are_recreated_despite_references_and_additional_objects() {
    let text = |dialect: &str, create: &str| {
        format!(
            "format = 1\nname = \"two\"\nversion = 1\nsummary = \"two tables\"\n\
             [[tables.parents.columns]]\nname = \"id\"\ntype = \"bigint\"\ngenerator = \"sequence\"\n\
             [[tables.children.columns]]\nname = \"id\"\ntype = \"bigint\"\ngenerator = \"sequence\"\n\
             [[tables.children.columns]]\nname = \"m\"\ntype = \"text\"\ngenerator = \"choice\"\n\
             values = [\"sad\", \"ok\"]\n\
             [tables.parents.create]\n\
             {dialect} = \"CREATE TABLE parents (id bigint PRIMARY KEY)\"\n\
             [tables.children.create]\n{dialect} = {create}\n\
             [tables.parents.key]\n{dialect} = \"id\"\n\
             [tables.children.key]\n{dialect} = \"id\"\n\
             [ops.insert]\ninsert = \"parents\"\nbatch = 20\n"
        )
    };
    let refers = "id bigint, m varchar(9), FOREIGN KEY (id) REFERENCES parents (id)";
    let run = |database: &Database, dialect: &str| {
        let create = format!("\"CREATE TABLE children ({refers})\"");
        let text = text(dialect, &create);
        for drop_tables in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let job = Job { settings: Vec::new(), drop_tables, ..job(&text, AuditLevel::Sums) };
            assert_clean(&job.run_on(database.open(None, None), root.path()).record, dialect);
            assert_eq!(answer(database, "SELECT count(*) FROM parents"), ROWS.to_string());
        }
    };
    on(Database::mariadb(), |database, _| run(database, "mysql"));
    on(Database::postgres(), |database, _| {
        run(database, "postgresql");
    });
    on(Database::postgres(), |database, root| {
        let create = "[\"CREATE TYPE mood AS ENUM ('sad', 'ok')\", \
                      \"CREATE TABLE children (id bigint, m mood)\"]";
        let job = Job {
            settings: Vec::new(),
            drop_tables: false,
            ..job(&text("postgresql", create), AuditLevel::Sums)
        };
        assert_clean(&job.run_on(database.open(None, None), root).record, create);
    });
}

#[test]
fn an_engine_that_keeps_nothing_is_named_as_such() {
    if mariadb::skipped() {
        return;
    }
    let server = MariaDb::start_with(&[
        "--plugin-load-add=ha_blackhole",
        "--default-storage-engine=BLACKHOLE",
    ]);
    let database = Database::MariaDb(Arc::new(server));
    let root = tempfile::tempdir().unwrap();
    let job = job(&typed("mysql", &[("a", COUNTER, "int")]), AuditLevel::Sums);
    let refused = try_run_on(&job, database.open(None, None), root.path());
    let Err(error) = refused else {
        panic!("it ran");
    };
    assert!(error.message.contains("the engine BLACKHOLE"), "{error}");
}

#[test]
fn a_schema_that_is_not_seen_any_more_is_no_loss() {
    let Some(database) = server::Database::new("elsewhere") else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let job =
        Job { drop_tables: false, ..job(include_str!("audit/meters.toml"), AuditLevel::Sums) };
    let target = database.target(None);
    assert_clean(&job.run_on(Arc::clone(&target), root.path()).record, "first");
    database.sql("CREATE SCHEMA other; ALTER DATABASE elsewhere SET search_path = other");
    let elsewhere = audited_again(&job, Arc::clone(&target), root.path());
    let judged = &elsewhere.judgments.data;
    assert_eq!(judged.value, Data::Unverified, "{judged:?}");
    assert!(format!("{judged:?}").contains("search path"), "{judged:?}");
    // A table that is dropped from its schema is lost.
    database.sql("ALTER DATABASE elsewhere RESET search_path; DROP TABLE public.meters");
    let dropped = audited_again(&job, target, root.path());
    assert_eq!(dropped.judgments.data.value, Data::Lost);
}

#[test]
fn a_type_that_returns_different_text_is_omitted_without_a_finding() {
    on(Database::postgres(), |database, _| {
        let columns = [
            ("gap", &*words("\"90 minutes\", \"1 day\""), "interval"),
            ("price", &*words("\"5\", \"7.50\""), "money"),
            ("arr", &*words("\"{1, 2}\", \"{4}\""), "int[]"),
            ("q", COUNTER, "bigint"),
        ];
        let record = assert_healthy(database, &columns);
        let compared = ["typed.id", "typed.q"].map(str::to_owned);
        assert_eq!(record.audit.columns, compared);
        let mut notes = record.notes.iter();
        let note = notes.find(|note| note.code == "columns_not_compared");
        let note = &note.unwrap().message;
        assert!(note.contains("typed.gap (interval)"), "{note}");
        let tamper = "UPDATE typed SET q = q + 1 WHERE id = 7";
        assert_altered(database, "postgresql", &columns, tamper);
    });
}

#[test]
fn rows_without_a_value_are_written_and_verified() {
    let nullable = |lines: &str| format!("{lines}\nnulls = 0.3");
    let columns = [
        ("a", nullable(TIMES), "timestamp"),
        ("b", nullable(FLOATS), "double precision"),
        ("c", nullable(&words("\"x\", \"y\"")), "varchar(9)"),
        ("d", nullable("type = \"text\"\ngenerator = \"text\"\nlength = 9"), "text"),
        (
            "e",
            nullable("type = \"boolean\"\ngenerator = \"choice\"\nvalues = [true, false]"),
            "boolean",
        ),
    ];
    let columns: Vec<_> =
        columns.iter().map(|(name, lines, of)| (*name, lines.as_str(), *of)).collect();
    let check = |database: &Database| {
        // SQLite keeps times as integers, and MariaDB's need a declaration to have none.
        let columns =
            if matches!(database, Database::Postgres(_)) { &*columns } else { &columns[1..] };
        assert_healthy(database, columns);
        for (tamper, null) in [("d = 'other'", "d IS NULL"), ("d = NULL", "d IS NOT NULL")] {
            let first = answer(database, &format!("SELECT min(id) FROM typed WHERE {null}"));
            let tamper = format!("UPDATE typed SET {tamper} WHERE id = {first}");
            assert_altered(database, dialect_of(database), columns, &tamper);
        }
    };
    on(Database::postgres(), |database, _| check(database));
    on(Database::mariadb(), |database, _| check(database));
    let root = tempfile::tempdir().unwrap();
    check(&Database::sqlite(root.path()));
}
