//! The loads of pgbench and sysbench as built-in workloads: the tools run on the tables, the server counts the statements
//! that they send, and the audit notices a payment that is lost, doubled, or half applied.

use std::process::Command;

use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::record::RunRecord;
use highwater_testing::mariadb::{self, MariaDb};
use highwater_testing::postgres::{self, Postgres, SUPERUSER, Setup};
use highwater_testing::programs::SYSBENCH;

use crate::called::{Called, Place, acknowledged, record};

const LOAD: &str = "-c 2 -d 2s --warm-up 500ms --errors 100% --json";

fn run(place: &Place, workload: &str, target: &str) -> Called {
    place.typed(&format!("run {workload} {target} {LOAD}"))
}

/// A place, after a run that made the tables of pgbench there.
fn with_tables_of_pgbench(server: &Postgres) -> Place {
    let place = Place::new();
    record(&run(&place, "pgbench --audit off", &url(server)));
    place
}

fn url(server: &Postgres) -> String {
    server.url(SUPERUSER, "postgres")
}

/// What pgbench prints for a run without a change of the tables.
#[track_caller]
fn pgbench(server: &Postgres, script: &str) -> String {
    let output = Command::new(server.client_program("pgbench"))
        .args(["-h", "127.0.0.1", "-p", &server.port().to_string(), "-U", SUPERUSER])
        .args(["-n", "-t", "10", "-b", script, "postgres"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Acknowledged ops of a whole run, including its warm-up.
fn all(record: &RunRecord, op: &str) -> u64 {
    let of_op = record.results.iter().filter(|result| result.op == op);
    of_op.map(|result| result.acknowledged).sum()
}

/// The invariants that a run checked, with their values.
fn invariants(record: &RunRecord) -> Vec<(&str, &str)> {
    let all = record.audit.invariants.iter();
    all.map(|of| (of.name.as_str(), of.found.as_deref().unwrap_or("none"))).collect()
}

#[test]
fn pgbench_runs_on_the_tables_of_the_workload_which_continues_them() {
    if postgres::skipped() {
        return;
    }
    let (server, place) = (Postgres::start(), Place::new());
    let mut payments = 0;
    for script in ["tpcb-like", "simple-update", "select-only", "tpcb-like"] {
        let record =
            record(&run(&place, &format!("pgbench --scale 2 --stream {script}"), &url(&server)));
        assert_eq!(record.judgments.data.value, Data::Clean, "{:?}", record.judgments.data);
        if script != "select-only" {
            payments += all(&record, script);
        }
        let paid = payments.to_string();
        let mut expected = vec![("payments", paid.as_str()), ("accounts", "0")];
        match script {
            "tpcb-like" | "select-only" => {
                let off = &record.audit.invariants[2..];
                assert!(off.iter().all(|of| of.before == of.found), "{off:?}");
            }
            // The note says that tellers and branches were not checked.
            _ => {
                let notes: Vec<&str> =
                    record.notes.iter().map(|note| note.message.as_str()).collect();
                assert!(
                    notes.iter().any(|note| note.ends_with(": tellers, branches")),
                    "{notes:?}"
                );
            }
        }
        let checked = invariants(&record);
        expected.truncate(checked.len());
        assert_eq!(&checked[..2], expected);
        let said = pgbench(&server, script);
        assert!(said.contains("scaling factor: 2"), "{said}");
        assert!(said.contains("transactions actually processed: 10/10"), "{said}");
        payments += if script == "select-only" { 0 } else { 10 };
    }
    // A transaction that was tried several times is one payment.
    let serializable = "?options=-cdefault_transaction_isolation%3Dserializable --retries 50";
    let record = record(&run(&place, "pgbench --scale 2", &(url(&server) + serializable)));
    assert_eq!(record.judgments.data.value, Data::Clean, "{:?}", record.judgments.data);
    assert!(record.results.iter().any(|result| result.retries > 0), "{:?}", record.results);
    let tables = "SELECT string_agg(relname || ' ' || reltuples || ' ' || coalesce(reloptions[1], ''), ', ' \
                  ORDER BY relname) FROM pg_class WHERE relname IN ('pgbench_accounts', 'pgbench_accounts_pkey', \
                  'pgbench_branches', 'pgbench_tellers')";
    assert_eq!(
        server.sql("postgres", tables).trim(),
        "pgbench_accounts 200000 fillfactor=100, pgbench_accounts_pkey 200000 , \
         pgbench_branches 2 fillfactor=100, pgbench_tellers 20 fillfactor=100"
    );
}

/// A payment of one account in a hundred is applied wrongly, by a trigger on the history.
fn planted(fault: &str) -> String {
    format!(
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF NEW.aid % 100 = 0 AND pg_trigger_depth() = 1 THEN {fault} END IF; RETURN NULL; END $$; \
         CREATE TRIGGER spoil AFTER INSERT ON pgbench_history FOR EACH ROW EXECUTE FUNCTION spoil()"
    )
}

/// The statements of a payment again, with a factor; the last one is of the history.
const AGAIN: &str = "UPDATE pgbench_accounts SET abalance = abalance + F * NEW.delta WHERE aid = NEW.aid; \
                     UPDATE pgbench_tellers SET tbalance = tbalance + F * NEW.delta WHERE tid = NEW.tid; \
                     UPDATE pgbench_branches SET bbalance = bbalance + F * NEW.delta WHERE bid = NEW.bid;";

#[test]
fn a_payment_that_is_lost_or_doubled_or_half_applied_is_noticed() {
    if postgres::skipped() {
        return;
    }
    let server = Postgres::start();
    let place = with_tables_of_pgbench(&server);
    let lost = AGAIN.replace('F', "-1")
        + "DELETE FROM pgbench_history WHERE ctid = (SELECT ctid FROM pgbench_history h WHERE h = NEW LIMIT 1);";
    let doubled = AGAIN.replace('F', "1") + "INSERT INTO pgbench_history SELECT NEW.*;";
    let half = "UPDATE pgbench_branches SET bbalance = bbalance - NEW.delta WHERE bid = NEW.bid;"
        .to_owned();
    for (fault, broken) in [
        (lost, &["payments"][..]),
        (doubled, &["payments"]),
        (half, &["branches"]),
        ("NULL;".to_owned(), &[]),
    ] {
        server.sql("postgres", &planted(&fault));
        let called = run(&place, "pgbench", &url(&server));
        server.sql("postgres", "DROP FUNCTION spoil CASCADE");
        let record = record(&called);
        let wrong = record.audit.invariants.iter().filter(|of| !of.holds);
        let wrong: Vec<&str> = wrong.map(|of| of.name.as_str()).collect();
        assert_eq!(wrong, broken, "{fault}: {:?}", record.audit.invariants);
        if broken.is_empty() {
            assert_eq!(record.judgments.data.value, Data::Clean);
            continue;
        }
        assert_eq!(called.code, Some(4), "{called:?}");
        let reason = &record.judgments.data.reasons[0];
        assert_eq!(reason.code, ReasonCode::InvariantBroken);
        assert!(reason.evidence.contains(", before the load "), "{reason:?}");
    }
}

#[test]
fn postgresql_counts_the_same_statements_as_of_the_tools() {
    if postgres::skipped() {
        return;
    }
    let server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
        settings: vec!["shared_preload_libraries = 'pg_stat_statements'".to_owned()],
        ..Setup::default()
    });
    server.sql("postgres", "CREATE EXTENSION pg_stat_statements");
    let place = with_tables_of_pgbench(&server);
    record(&run(
        &place,
        "sysbench --audit off --table-size 1000 --stream oltp_point_select",
        &url(&server),
    ));
    // The calls of each statement on the tables since the last time, the fewest first.
    let calls = || {
        let of_each = "SELECT string_agg(calls::text, ' ' ORDER BY calls) FROM pg_stat_statements \
                       WHERE query ~ '^(UPDATE|SELECT|INSERT|DELETE).* (pgbench_|sbtest1).*\\$'";
        let counted = server.sql("postgres", of_each);
        server.sql("postgres", "SELECT pg_stat_statements_reset()");
        let counted: Vec<u64> =
            counted.split_whitespace().map(|calls| calls.parse().unwrap()).collect();
        counted
    };
    calls();
    let expect = |workload: &str, script: &str, tool: &dyn Fn(), each: &[u64]| {
        let stream = format!("{workload} --stream {script}@1c --audit off");
        let done = all(&record(&run(&place, &stream, &url(&server))), script);
        let of = |ops: u64| each.iter().map(|each| each * ops).collect::<Vec<u64>>();
        assert_eq!(calls(), of(done), "{script}");
        tool();
        assert_eq!(calls(), of(10), "{script}");
    };
    for (script, each) in
        [("tpcb-like", &[1; 5][..]), ("simple-update", &[1; 3]), ("select-only", &[1])]
    {
        expect("pgbench", script, &|| drop(pgbench(&server, script)), each);
    }
    if SYSBENCH.path().is_none() {
        return;
    }
    let connection = connection(&server);
    for (script, each) in [
        ("oltp_point_select", &[1][..]),
        ("oltp_read_only", &[1, 1, 1, 1, 10]),
        ("oltp_read_write", &[1, 1, 1, 1, 1, 1, 1, 1, 10]),
        ("oltp_write_only", &[1, 1, 1, 1]),
        ("oltp_update_index", &[1]),
        ("oltp_update_non_index", &[1]),
        ("oltp_insert", &[1]),
        ("oltp_delete", &[1]),
    ] {
        let workload = "sysbench --table-size 1000";
        expect(workload, script, &|| sysbench(script, &connection), each);
    }
}

/// The options of sysbench for a server.
fn connection(server: &Postgres) -> Vec<String> {
    let options = [
        "--db-driver=pgsql",
        "--pgsql-host=127.0.0.1",
        "--pgsql-user=postgres",
        "--pgsql-db=postgres",
    ];
    let port = format!("--pgsql-port={}", server.port());
    options.map(str::to_owned).into_iter().chain([port]).collect()
}

/// A run of a script of sysbench on existing tables.
#[track_caller]
fn sysbench(script: &str, connection: &[String]) {
    let output = Command::new("sysbench")
        .args([script, "--events=10", "--time=0", "--verbosity=1", "--db-ps-mode=auto"])
        .args(connection)
        .args(["--table-size=1000", "run"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

const SCRIPTS: [&str; 8] = [
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
];

/// Runs every script, then sysbench's own on the same table; the values of the invariants follow from the record.
fn expect_sysbench(place: &Place, target: &str, connection: &[String]) {
    let mut inserted = 0;
    for (number, script) in SCRIPTS.into_iter().enumerate() {
        let rand_type = ["uniform", "special", "zipfian"][number % 3];
        let workload = "sysbench --table-size 1000";
        // One session has no duplicates: two that insert a row again are in each other's way.
        let called = run(
            place,
            &format!("{workload} --stream {script}@1c --set rand_type={rand_type}"),
            target,
        );
        let record = record(&called);
        let data = &record.judgments.data;
        assert_eq!(data.value, Data::Clean, "{script}: {data:?} {:?}", record.audit);
        assert!(acknowledged(&record, script) > 20, "{script}");
        if script == "oltp_insert" {
            inserted += all(&record, script);
        }
        let checked = invariants(&record);
        assert_eq!(checked[0], ("inserts", inserted.to_string().as_str()), "{script}");
        let names: Vec<&str> = checked.iter().map(|(name, _)| *name).collect();
        let expected = match script {
            "oltp_read_write" | "oltp_write_only" => &["inserts", "rows"][..],
            "oltp_delete" => &["inserts"],
            _ => &["inserts", "rows", "updates"],
        };
        assert_eq!(names, expected, "{script}");
        if SYSBENCH.path().is_some() {
            sysbench(script, connection);
            inserted += if script == "oltp_insert" { 10 } else { 0 };
        }
    }
    let record = record(&run(place, "sysbench-bulk-insert --drop --batch 100", target));
    assert_eq!(record.judgments.data.value, Data::Clean);
}

#[test]
fn sysbench_runs_on_the_table_of_the_workload_in_postgresql() {
    if postgres::skipped() {
        return;
    }
    let server = Postgres::start();
    expect_sysbench(&Place::new(), &url(&server), &connection(&server));
}

#[test]
fn sysbench_runs_on_the_table_of_the_workload_in_mariadb() {
    if mariadb::skipped() {
        return;
    }
    let server = MariaDb::start();
    let connection =
        ["--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=root", "--mysql-db=bench"];
    let mut connection = connection.map(str::to_owned).to_vec();
    connection.push(format!("--mysql-port={}", server.port()));
    let place = Place::new();
    expect_sysbench(&place, &server.url(mariadb::SUPERUSER), &connection);
    let record = record(&run(&place, "pgbench", &server.url(mariadb::SUPERUSER)));
    assert_eq!(record.judgments.data.value, Data::Clean, "{:?}", record.judgments.data);
    assert_eq!(record.audit.invariants.len(), 4);
}
