//! Failed ops: the summary names them by op and cause, and its advice follows from the cause.

use highwater_testing::mariadb;
use highwater_testing::pgbouncer::{self, PgBouncer};
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::called::{Called, Place, record};

/// A run of a script against these servers, with at most 1% of failed ops allowed.
fn run(place: &Place, script: &str, servers: &[&Postgres]) -> Called {
    let hosts: Vec<String> =
        servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
    let url = format!("postgres://{SUPERUSER}@{}/postgres", hosts.join(","));
    place.typed(&format!(
        "run -f {script} {url} -c 2 -d 1s --warm-up 0s --audit off --errors 1% --json"
    ))
}

#[test]
fn failures_are_named_by_op_and_message_and_counted_with_none_left_out() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    server.sql(
        "postgres",
        "CREATE TABLE orders (total integer CONSTRAINT orders_total_check CHECK (total < 9))",
    );
    let place = Place::new();
    place.file("put.sql", "\\set total random(0, 9)\nINSERT INTO orders VALUES (:total);\n");
    let called = run(&place, "put.sql", &[&server]);
    let run = record(&called);
    let result = run.results.iter().find(|result| result.op == "put").unwrap();
    let [failure] = &result.failures[..] else {
        panic!("one cause: {:?}", result.failures);
    };
    assert_eq!(failure.code.as_deref(), Some("23514"));
    assert_eq!(failure.count, result.errors["constraint"]);
    let stored = place.runs().pop().unwrap();
    let shown = place.call(&["show", &stored.display().to_string()]);
    shown.prints("put: ");
    shown.prints(" failed: 23514 new row for relation \"orders\"");
    shown.prints("correct its constraints");
}

#[test]
fn conflicts_are_answered_by_retries_and_a_standby_by_target_session_attrs() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    server.sql(
        "postgres",
        "CREATE TABLE t (n integer); CREATE SEQUENCE s; \
         CREATE FUNCTION turn() RETURNS bigint AS $$ BEGIN \
         IF nextval('s') % 2 = 0 THEN RAISE EXCEPTION 'turned' USING ERRCODE = '40001'; END IF; \
         RETURN 1; END $$ LANGUAGE plpgsql",
    );
    let place = Place::new();
    place.file("turn.sql", "SELECT turn();\n");
    let conflicts = run(&place, "turn.sql", &[&server]);
    let stored = place.runs().pop().unwrap();
    assert_eq!(
        record(&conflicts).results.last().unwrap().failures[0].code.as_deref(),
        Some("40001")
    );
    let shown = place.call(&["show", &stored.display().to_string()]);
    shown.prints("--retries");

    let standby = server.standby();
    place.file("put.sql", "INSERT INTO t VALUES (1);\n");
    let refused = run(&place, "put.sql", &[&server, &standby]);
    let refused = record(&refused);
    let failures = &refused.results.last().unwrap().failures;
    assert_eq!(failures[0].code.as_deref(), Some("25006"));
    let stored = place.runs().pop().unwrap();
    let shown = place.call(&["show", &stored.display().to_string()]);
    shown.prints("target_session_attrs=read-write");
    let url = format!(
        "postgres://{SUPERUSER}@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
        standby.port(),
        server.port()
    );
    let words = format!("run -f put.sql {url} -c 2 -d 1s --warm-up 0s --audit off --json");
    let written = record(&place.typed(&words));
    assert!(written.results.iter().all(|result| result.errors.is_empty()));
}

#[test]
fn a_limit_of_prepared_statements_is_answered_by_literals() {
    if mariadb::skipped() {
        return;
    }
    let server = mariadb::MariaDb::start();
    server.sql("CREATE TABLE t (n integer)");
    let place = Place::new();
    place.file("get.sql", "\\set n random(0, 9)\nSELECT n FROM t WHERE n = :n;\n");
    let url = server.url(mariadb::SUPERUSER);
    let words = format!("run -f get.sql {url} -c 4 -d 1s --warm-up 0s --json");
    // None, and too few for all sessions.
    for most in [0, 2] {
        server.sql(&format!("SET GLOBAL max_prepared_stmt_count = {most}"));
        let refused = place.typed(&words);
        assert!(matches!(refused.code, Some(2 | 5)), "{refused:?}");
        refused.reports("(1461)");
        refused.reports("--literals");
    }
    let sent = record(&place.typed(&format!("{words} --literals")));
    let result = sent.results.last().unwrap();
    assert!(result.acknowledged > 0 && result.errors.is_empty(), "{result:?}");
}

#[test]
fn built_in_workloads_and_scripts_run_through_a_pooler_that_check_names() {
    if skipped() || pgbouncer::skipped() {
        return;
    }
    let server = Postgres::start();
    let pooler = PgBouncer::before(&server, 4);
    let url = pooler.url("postgres");
    let place = Place::new();
    let checked = place.call(&["check", &url]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    checked.prints("behind a pooler");
    server.sql("postgres", "CREATE TABLE account (balance bigint); INSERT INTO account VALUES (0)");
    place.file(
        "transfer.sql",
        "\\set sum random(1, 9)\nBEGIN;\nUPDATE account SET balance = balance + :sum;\n\
         SELECT balance FROM account;\nEND;\n",
    );
    for words in [
        "run cpu --insert values --batch 100",
        "run kv --insert unnest --drop",
        "run kv --read-percent 50 --drop",
        "run -f transfer.sql --audit off",
    ] {
        let called = place.typed(&format!("{words} {url} -c 6 -d 1s --warm-up 0s --json"));
        // A second is too short to judge the measurement.
        assert!(matches!(called.code, Some(0 | 3)), "{words}: {called:?}");
        let run = record(&called);
        for result in &run.results {
            assert!(result.acknowledged > 0 && result.errors.is_empty(), "{words}: {result:?}");
        }
    }
    let refused = place.typed(&format!("run cpu {url} --insert copy -d 1s"));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("behind a pooler"), "{refused:?}");
}

/// A related database may make the tables, answer the queries, and refuse the rows.
#[test]
fn check_sends_a_batch_of_a_built_in_workload() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    server.sql(
        "postgres",
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         RAISE EXCEPTION 'no rows here' USING ERRCODE = '0A000'; END $$; \
         CREATE FUNCTION attach() RETURNS event_trigger LANGUAGE plpgsql AS $$ DECLARE made record; BEGIN \
         FOR made IN SELECT * FROM pg_event_trigger_ddl_commands() \
         WHERE command_tag = 'CREATE TABLE' AND object_identity LIKE '%\\_cpu' LOOP \
         EXECUTE format('CREATE TRIGGER refuse BEFORE INSERT ON %s FOR EACH STATEMENT \
         EXECUTE FUNCTION public.refuse()', made.object_identity); END LOOP; END $$; \
         CREATE EVENT TRIGGER attach ON ddl_command_end WHEN TAG IN ('CREATE TABLE') \
         EXECUTE FUNCTION attach()",
    );
    let checked = Place::new().call(&["check", &server.url(SUPERUSER, "postgres")]);
    assert_eq!(checked.code, Some(5), "{checked:?}");
    checked.prints("NOT cpu: insert: no rows here");
    let workloads = checked.stdout.lines().find(|line| line.starts_with("workloads"));
    assert!(workloads.unwrap().contains("kv"), "{checked:?}");
}

#[test]
fn check_rejects_a_target_that_would_reject_a_built_in_workload() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    // Like a related database without a feature that the workload's tables use.
    server.sql(
        "postgres",
        "CREATE FUNCTION refuse() RETURNS event_trigger AS $$ BEGIN \
         RAISE EXCEPTION 'no indexes here' USING ERRCODE = '0A000'; END $$ LANGUAGE plpgsql; \
         CREATE EVENT TRIGGER refusing ON ddl_command_start WHEN TAG IN ('CREATE INDEX') \
         EXECUTE FUNCTION refuse()",
    );
    let url = server.url(SUPERUSER, "postgres");
    let place = Place::new();
    let checked = place.call(&["check", &url]);
    assert_eq!(checked.code, Some(5), "{checked:?}");
    checked.prints("NOT cpu: ");
    assert!(checked.stderr.contains("no indexes here"), "{checked:?}");
    let workloads = checked.stdout.lines().find(|line| line.starts_with("workloads"));
    assert!(workloads.unwrap().contains("kv"), "{checked:?}");
    let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'highwater_check%'";
    assert_eq!(server.sql("postgres", left).trim(), "0");
    let run = place.typed(&format!("run cpu {url} -d 1s"));
    assert_eq!(run.code, Some(5), "{run:?}");
}
