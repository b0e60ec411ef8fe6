//! User errors: one clear message with place, cause, and hint, and nothing is run.

use insta::assert_snapshot;

use crate::called::{Place, split};

/// The message for an input error.
fn said(place: &Place, words: &[&str]) -> String {
    let called = place.call(words);
    assert_eq!((called.code, called.stdout.as_str()), (Some(2), ""), "{called:?}");
    assert_eq!(place.runs().len(), 0, "{words:?}");
    called.stderr
}

#[test]
fn a_wrong_target() {
    let place = Place::new();
    assert_snapshot!(said(&place, &["run", "oracle://h/x"]), @"
    error: TARGET: unknown scheme `oracle:`

    hint: a target's URL begins with one of `sqlite:`, `crate:`, `crate+https:`, `postgres:`, `postgresql:`, `cockroach:`, `mysql:`, `mariadb:`, `clickhouse:`, `clickhouse+https:`, `sim:`, `null:`
    ");
    assert_snapshot!(said(&place, &["run", "postgres://127.0.0.1:99999/x"]), @"
    error: TARGET: `99999` is not a port in the target's host `127.0.0.1`

    hint: a port is a number from 1 to 65535; percent-encode `@`, `:` and `/` in a password
    ");
    assert_snapshot!(said(&place, &["run", "postgres://h/x?sslmode=strict"]), @"
    error: `sslmode=strict` is not known

    hint: sslmode is one of disable, allow, prefer, require, verify-ca, verify-full
    ");
    assert_snapshot!(said(&place, &["run", "sim:?nodez=3"]), @"
    error: target `sim:`: unknown parameter `nodez`

    hint: known parameters are nodes, cores, request, row, query, service, shards, replicas, replica_cost, hot_shard, rtt, client, lock, queue, disk, burst, answer_bytes, slow_node, warm, stall, die, failover, start, rebuild, lag, drop, duplicate, alter, swap, offset, lose_ack, fail, clock
    ");
    assert_snapshot!(said(&place, &["run", "sim:?nodes=0"]), @"
    error: target `sim:`: parameter `nodes` is `0`, but should be a whole number from 1 to 1000

    hint: known parameters are nodes, cores, request, row, query, service, shards, replicas, replica_cost, hot_shard, rtt, client, lock, queue, disk, burst, answer_bytes, slow_node, warm, stall, die, failover, start, rebuild, lag, drop, duplicate, alter, swap, offset, lose_ack, fail, clock
    ");
    assert_snapshot!(said(&place, &["run", "sim:", "sqlite:"]), @"
    error: targets `sim:` and `sqlite:` are of different kinds

    hint: several targets of one run must share a driver
    ");
}

#[test]
fn a_rate_that_no_load_generator_can_pace() {
    let place = Place::new();
    assert_snapshot!(said(&place, &["run", "sim:", "--rate", "100G"]), @"
    error: stream `insert` is planned at 100,000,000,000 rows/s, and 1 load generator can pace 1,000,000,000 rows/s at most

    hint: lower --rate, or leave it out: then sessions send as fast as they are answered
    ");
    assert_snapshot!(said(&place, &["run", "sim:", "--rate", "50M", "--set", "batch=1"]), @"
    error: stream `insert` is planned at 50,000,000 rows/s, and 1 load generator can pace 10,000,000 rows/s at most

    hint: lower --rate, or leave it out: then sessions send as fast as they are answered
    ");
}

#[test]
fn features_that_tables_of_a_target_lack() {
    let place = Place::new();
    assert_snapshot!(said(&place, &["run", "cpu", "sqlite:mine.db", "--shards", "6"]), @"
    error: --shards: tables of SQLite 3.54.1 have no shards

    hint: leave it out for this target
    ");
    assert_snapshot!(said(&place, &["run", "cpu", "sqlite:mine.db", "--with", "codec=best"]), @"
    error: --with: tables of SQLite 3.54.1 have no settings of their own

    hint: leave it out for this target
    ");
    let of_url = said(&place, &["run", "cpu", "sim:", "--replicas", "0-1"]);
    assert_snapshot!(of_url, @"
    error: --replicas: a simulated cluster is described by its URL

    hint: write it there, such as `sim:?shards=6&replicas=1`; `tune` and `scale` vary it with `--over sim.replicas=0,1`, or `&replicas={variant}` and `--variant 0 --variant 1`
    ");
    // A preview rejects the same input as a run, and accepts the proposal of its hint.
    let sized = "scale cpu sim:?nodes={nodes}&replicas=0 --nodes 2,3 --each run --dry-run";
    let preview = |more: &str| {
        let words: Vec<&str> = sized.split(' ').chain(more.split(' ')).collect();
        place.call(&words)
    };
    for refused in ["--over replicas=0,1", "--shards 8+8n", "--with codec=best"] {
        let called = preview(refused);
        assert_eq!(called.code, Some(2), "{refused}: {called:?}");
        called.reports("a simulated cluster is described by its URL");
    }
    let tuned = ["tune", "cpu", "sim:", "--over", "shards=3,6", "--dry-run"];
    place.call(&tuned).reports("write `--over sim.shards=3,6`");
    assert_eq!(preview("--over sim.replicas=0,1").code, Some(0));
    let one_of = "scale cpu sim:?nodes={nodes}&replicas={variant} --variant 0 --variant 1 --nodes 2,3 --dry-run";
    assert_eq!(place.call(&one_of.split(' ').collect::<Vec<_>>()).code, Some(0));
    assert_snapshot!(
        said(&place, &["run", "cpu", "null:crate", "--shards", "6", "--set", "shards=6"]),
        @"error: --shards: cannot be given together with --set shards=…"
    );
}

#[test]
fn a_wrong_certificate() {
    let place = Place::new();
    place.file("empty.pem", "");
    let url = |rest: &str| format!("postgres://127.0.0.1:1/x?sslmode=verify-full&{rest}");
    let missing = url("sslrootcert=none.pem");
    assert_snapshot!(said(&place, &["run", &missing]), @"
    error: sslrootcert `none.pem`: No such file or directory (os error 2)

    hint: `sslrootcert` names a PEM file
    ");
    let empty = url("sslrootcert=empty.pem");
    assert_snapshot!(said(&place, &["check", &empty]), @"
    error: sslrootcert `empty.pem`: it holds no certificate

    hint: `sslrootcert` names a PEM file
    ");
    let without_key = url("sslcert=empty.pem");
    assert_snapshot!(said(&place, &["run", &without_key]), @"
    error: one of sslcert and sslkey is missing

    hint: a client certificate needs `?sslcert=FILE&sslkey=FILE`
    ");
}

#[test]
fn a_wrong_flag() {
    let place = Place::new();
    assert_snapshot!(said(&place, &["run", "sim:", "--sesions", "3"]), @"
    error: unknown flag `--sesions`

    hint: did you mean `--sessions`?
    ");
    assert_snapshot!(said(&place, &["run", "sim:", "-d", "5 parsecs"]), @"
    error: --duration: `5 parsecs` has the unknown unit ` parsecs`

    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
    ");
    assert_snapshot!(said(&place, &["run", "sim:", "--stream", "dashbords@1k"]), @"
    error: workload `cpu` has no stream or op `dashbords`

    hint: its streams are insert, dashboards
    ");
    assert_snapshot!(said(&place, &["run", "cpuu", "sim:"]), @"
    error: unknown workload `cpuu`

    hint: did you mean `cpu`?
    ");
    assert_snapshot!(said(&place, &["run", "sim:", "--set", "hostss=3"]), @"
    error: this workload has no parameter `hostss`

    hint: did you mean `hosts`?
    ");
    assert_snapshot!(said(&place, &["run", "sim:", "--share", "3/2"]), @"
    error: --share: `3/2` is not a share

    hint: a share is `i/n`, with i from 1 to n and n at most 64; or `auto`, to take both from the program that starts the load generators
    ");
    assert_snapshot!(said(&place, &["run", "sim:", "--share", "1/2"]), @"
    error: --share: each process would load a target of its own

    hint: name a server, or a file that all shares open
    ");
    assert_snapshot!(said(&place, &["run", "sqlite:", "--share", "1/2"]), @"
    error: --share: each process would load a target of its own

    hint: name a server, or a file that all shares open
    ");
    let alone = ["run", "sqlite:all.db", "--share", "2/2", "-c", "1"];
    assert_snapshot!(said(&place, &alone), @"
    error: --share: share 2 of 2 gets no session of stream `insert`, which has 1

    hint: use at least as many sessions as shares: -c 2
    ");
    assert_snapshot!(said(&place, &["show", "--format", "pdf"]), @"
    error: --format: `pdf` is not a format

    hint: there are `text`, `json`, `csv`, `telemetry-csv`, `html`, `markdown` and `junit`
    ");
    assert_snapshot!(said(&place, &["shw"]), @"
    error: unknown command `shw`

    hint: did you mean `show`?
    ");
}

#[test]
fn a_wrong_settings_file() {
    let place = Place::new();
    place.file("highwater.toml", "target = [\n");
    assert_snapshot!(said(&place, &["run"]), @"
    error: highwater.toml is not TOML: unclosed array, expected `]`
      --> highwater.toml:1:11
       |
     1 | target = [
       |           ^
    ");
    place.file("highwater.toml", "[run]\nduration = \"5 parsecs\"\n");
    assert_snapshot!(said(&place, &["run", "sim:"]), @r#"
    error: duration: `5 parsecs` has the unknown unit ` parsecs`
      --> highwater.toml:2:12
       |
     2 | duration = "5 parsecs"
       |            ^^^^^^^^^^^

    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
    "#);
}

#[test]
fn a_wrong_workload_file() {
    let place = Place::new();
    let head = "format = 1\nversion = 1\nname = \"mine\"\nsummary = \"Mine.\"\n";
    place.file("mine.toml", &format!("{head}\n[ops.read]\nsql = \n"));
    assert_snapshot!(said(&place, &["run", "sim:", "-f", "mine.toml"]), @"
    error: string values must be quoted, expected literal string
      --> mine.toml:7:7
       |
     7 | sql =
       |      ^
    ");
    place.file("mine.toml", &format!("{head}\n[ops.read]\nsqll = \"SELECT 1\"\n"));
    let wrong_key = said(&place, &["run", "sim:", "-f", "mine.toml"]);
    assert_snapshot!(wrong_key, @r#"
    error: op `read` must have either `insert`, `sql` or `transaction`
      --> mine.toml:6:1
       |
     6 | [ops.read]
       | ^^^^^^^^^^

    hint: insert = "table" and batch = 1000, or [ops.NAME.sql] with a statement for each dialect, or [ops.NAME.transaction] with a list of them

    error: unknown key `sqll` in op `read`
      --> mine.toml:7:1
       |
     7 | sqll = "SELECT 1"
       | ^^^^

    hint: did you mean `sql`?
    "#);
    assert_eq!(said(&place, &["check", "mine.toml"]), wrong_key);
    assert_snapshot!(said(&place, &["run", "sim:", "-f", "none.toml"]), @"
    error: cannot read none.toml: No such file or directory (os error 2)
    ");
    assert_snapshot!(said(&place, &["run", "mine.toml", "sim:"]), @"
    error: WORKLOAD: `mine.toml` is a file, not a workload's name

    hint: give it as `--file mine.toml`
    ");
}

#[test]
fn a_wrong_run_to_show() {
    let place = Place::new();
    place.file("notes.txt", "nothing\n");
    std::fs::create_dir(place.path().join("empty")).unwrap();
    assert_snapshot!(said(&place, &["show", "notes.txt"]), @"
    error: notes.txt: record cannot be read: expected ident at line 1 column 2
    ");
    assert_snapshot!(said(&place, &["show", "empty"]), @"
    error: empty: no run is in this directory

    hint: a run's directory holds plan.json; `-o DIR` names the store of several
    ");
    let no_runs = said(&place, &["show", "2026"]);
    assert_snapshot!(no_runs, @"
    error: no runs yet in highwater-runs

    hint: `highwater run` makes a first one; -o DIR names another store
    ");
    assert_eq!(said(&place, &["show"]), no_runs);
    let no_path = said(&place, &["show", "somewhere/else"]);
    assert!(no_path.contains("somewhere/else: there is no such file or directory"), "{no_path}");
    assert_snapshot!(said(&place, &["show", "-o", "notes.txt"]), @"
    error: notes.txt: Not a directory (os error 20)

    hint: -o DIR names another store
    ");
    place.call(&["run", "-q", "sim:", "-d", "1s"]);
    let called = place.call(&["show", "1999"]);
    assert_eq!(called.code, Some(2));
    assert_snapshot!(called.stderr, @"
    error: highwater-runs/1999: no such run

    hint: name a run's directory, its record.json, its id, a unique beginning or end of the id, or `last`
    ");
}

/// Otherwise nothing would ever be measured, and nothing would end.
#[test]
fn a_budget_that_nothing_fits_into_is_refused() {
    let place = Place::new();
    let said = |words: &[&str]| said(&place, words);
    assert_snapshot!(said(&["find", "cpu", "sim:", "--budget", "1s"]), @"
    error: --budget: not one trial of 62.0 s fits

    hint: raise --budget, or use shorter probes with --quick
    ");
    let tuning = split("tune cpu sim: --over batch=1,2 --probe 2s --budget 9s");
    assert_snapshot!(said(&tuning), @"
    error: --budget: not one trial of 4.00 s fits beside the 10 that confirm

    hint: raise --budget, or use shorter probes with --quick
    ");
}

#[test]
fn an_unknown_workload_or_action() {
    let place = Place::new();
    assert_snapshot!(said(&place, &["workloads", "nosuch"]), @"
    error: there is no workload `nosuch`

    hint: `highwater workloads` lists all workloads; for your own file write `highwater check FILE`, or `highwater run -f FILE`
    ");
    assert_snapshot!(said(&place, &["workloads", "sensor"]), @"
    error: there is no workload `sensor`

    hint: did you mean `sensors`?
    ");
    assert_snapshot!(said(&place, &["workloads", "shwo"]), @"
    error: there is no workload `shwo`

    hint: write `highwater workloads show NAME`
    ");
    let by_name = place.call(&["workloads", "kv"]);
    assert_eq!(by_name, place.call(&["workloads", "show", "kv"]));
    assert_eq!(by_name.code, Some(0));
}

#[test]
fn an_sql_file_without_a_statement() {
    let place = Place::new();
    place.file("empty.sql", "");
    let empty = said(&place, &["run", "-f", "empty.sql", "sqlite:"]);
    // The line is empty.
    assert_snapshot!(empty.replace("| \n", "|\n"), @"
    error: the file is empty
      --> empty.sql:1:1
       |
     1 |
       | ^

    hint: write one statement, such as `SELECT 1`, or several between BEGIN; and END;
    ");
    place.file("comment.sql", "-- later\n\\set id random(1, 9)\n");
    assert_snapshot!(said(&place, &["run", "-f", "comment.sql", "sqlite:"]), @"
    error: there is no statement in the file
      --> comment.sql:1:1
       |
     1 | -- later
       | ^

    hint: write one statement, such as `SELECT 1`, or several between BEGIN; and END;
    ");
}

/// Data that the audit will not check are reported before anything is sent.
#[test]
fn kv_with_values_that_cannot_be_compared_is_warned_of() {
    let place = Place::new();
    let warned = |more: &[&str]| {
        let words = split("run kv sqlite: --rows 10 --warm-up 0s -q");
        let called = place.call(&[&words[..], more].concat());
        called.stderr.contains("warning: the audit will compare keys only")
    };
    let of_the_original = ["--min-block-bytes", "1", "--max-block-bytes", "1"];
    assert!(warned(&of_the_original));
    assert!(!warned(&[&of_the_original[..], &["--audit", "count"]].concat()));
    assert!(!warned(&[]), "the default is checked");
}

/// A length that no judgment accepts is reported before anything is sent, whatever the load.
#[test]
fn a_run_that_is_too_short_is_warned_of() {
    let place = Place::new();
    let warned = |length: &str| {
        let called = place.call(&split(&format!("run cpu sim: -d {length} --warm-up 0s -q")));
        called.stderr.contains("is too short to judge a measurement")
    };
    assert!(warned("1s") && !warned("3s"));
}
