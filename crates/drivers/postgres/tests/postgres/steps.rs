//! Scripts whose steps depend on values, against pgbench itself: both leave the same rows.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use highwater_driver::Target;
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_model::units::Seed;
use highwater_testing::postgres::Postgres;
use highwater_workload::{OpContext, Script, WorkloadSpec};

use crate::client::{Client, on_server};

/// What pgbench's documentation leaves open: truth, order, and variables of branches that are not taken.
const SCRIPTS: [&str; 16] = [
    "\\if 1\nINSERT INTO seen VALUES ('one');\n\\else\nINSERT INTO seen VALUES ('else');\n\\endif",
    "\\if 0.0\nINSERT INTO seen VALUES ('zero');\n\\elif null\nINSERT INTO seen VALUES ('null');\n\
     \\elif 0.5\nINSERT INTO seen VALUES ('half');\n\\else\nINSERT INTO seen VALUES ('else');\n\\endif",
    "\\set a 1\n\\if true\n\\set a :a + 1\n\\elif 1 / 0 = 1\n\\set a 7\n\\else\n\\set a 8\n\\endif\n\
     INSERT INTO seen VALUES (:a);",
    "\\set a 1\n\\if false\n\\set a 2\n\\endif\nINSERT INTO seen VALUES (:a);",
    "\\set a 5\n\\if false\n\\if 1 / 0 = 1\nINSERT INTO seen VALUES ('inner');\n\\endif\n\\else\n\
     \\if :a > 4\nINSERT INTO seen VALUES ('over');\n\\endif\nINSERT INTO seen VALUES (:a);\n\\endif",
    // A command ends the statement before it.
    "INSERT INTO seen VALUES ('first')\n\\if true\nINSERT INTO seen VALUES ('second');\n\\endif",
    "INSERT INTO seen VALUES ('kept');\n\\if :yes\nEND;\n\\else\nROLLBACK;\n\\endif",
    "INSERT INTO seen VALUES ('lost');\n\\if not :yes\nEND;\n\\else\nABORT;\n\\endif",
    "SAVEPOINT s;\nINSERT INTO seen VALUES ('lost');\nROLLBACK TO s;\n\\sleep 10 ms\n\
     INSERT INTO seen VALUES ('kept');\nROLLBACK AND NO CHAIN;",
    "SELECT 7 AS a, 'x' AS b \\gset\nINSERT INTO seen VALUES (:a), (:b);",
    "SELECT 7 AS a \\gset p_\n\\set b :p_a * 2\nINSERT INTO seen VALUES (:b);",
    "\\set a 1\nINSERT INTO seen VALUES (:a);\nSELECT 2 AS a\n\\gset\nINSERT INTO seen VALUES (:a);",
    "SELECT 5 AS n \\gset\n\\if :n > 4\nINSERT INTO seen VALUES ('over');\n\\else\n\
     INSERT INTO seen VALUES ('under');\n\\endif",
    "SELECT generate_series(1, 3) AS a \\aset\nINSERT INTO seen VALUES (:a);",
    "\\set a 9\nSELECT 1 AS a WHERE false \\aset\nINSERT INTO seen VALUES (:a);",
    "INSERT INTO seen VALUES ('new') RETURNING step || '!' AS s \\gset\n\
     INSERT INTO seen VALUES (:s);\nSELECT true AS t \\gset\n\\if :t\nEND;\n\\else\nROLLBACK;\n\\endif",
];

/// A whole script: those without an end commit.
fn whole(steps: &str) -> String {
    let ends = ["END;", "ROLLBACK;", "ROLLBACK AND"].iter().any(|end| steps.contains(end));
    format!("BEGIN;\n{steps}\n{}", if ends { "" } else { "END;\n" })
}

/// pgbench runs a script once.
pub(crate) fn pgbench(server: &Postgres, script: &str) -> Output {
    let mut command = Command::new(server.client_program("pgbench"));
    // As we do: statements are prepared, so that a text of an answer needs no quotes.
    command.args(["-n", "-M", "prepared", "-t", "1", "-D", "yes=true", "-f", "-"]);
    command.arg(server.url("postgres", "postgres"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Runs a script's op 0 as a driver does; the error is that of its preparation.
pub(crate) async fn ours(target: &dyn Target, script: &str) -> Result<Outcome, String> {
    let settings: BTreeMap<String, String> = script
        .contains(":yes")
        .then(|| ("yes".to_owned(), "true".to_owned()))
        .into_iter()
        .collect();
    let read = Script { name: "script", text: script, weight: 1 };
    let spec = WorkloadSpec::from_scripts(&[read], &settings).unwrap();
    let workload = spec.instantiate(&settings, Seed(1)).unwrap();
    let bound = workload.bind(&["postgresql".to_owned()], target.placeholders()).unwrap();
    let mut client =
        Client::connect(target, &Arc::new(bound)).await.map_err(|error| error.to_string())?;
    let op = workload.op(&workload.streams()[0], 0, &OpContext::default());
    Ok(client.send(0, op.body).await)
}

fn seen(server: &Postgres) -> String {
    let rows = server.sql("postgres", "SELECT string_agg(step, ' ' ORDER BY number) FROM seen");
    server.sql("postgres", "TRUNCATE seen");
    rows
}

const SEEN: &str = "CREATE TABLE seen (step text, number serial)";

#[test]
fn steps_are_those_that_pgbench_takes() {
    on_server(None, async |server, target| {
        server.sql("postgres", SEEN);
        let mut all = Vec::new();
        for steps in SCRIPTS {
            let script = whole(steps);
            let output = pgbench(&server, &script);
            assert!(output.status.success(), "{script}: {output:?}");
            let theirs = seen(&server);
            let outcome = ours(target.as_ref(), &script).await.unwrap();
            assert!(outcome.is_success() && outcome.session_usable, "{script}: {outcome:?}");
            assert_eq!(seen(&server), theirs, "{script}");
            assert_eq!(outcome.rolled_back, theirs.is_empty(), "{script}: {outcome:?}");
            all.push(theirs);
        }
        let expected = [
            "one",
            "half",
            "2",
            "1",
            "over 5",
            "first second",
            "kept",
            "",
            "",
            "7 x",
            "14",
            "1 2",
            "over",
            "3",
            "9",
            "new new!",
        ];
        assert_eq!(all, expected);
    });
}

#[test]
fn a_transaction_that_is_rolled_back_as_ordered_is_complete_and_keeps_no_row() {
    on_server(None, async |server, target| {
        server.sql("postgres", SEEN);
        let script = "BEGIN;\nINSERT INTO seen VALUES ('a'), ('b');\nSELECT 1;\nROLLBACK;";
        let outcome = ours(target.as_ref(), script).await.unwrap();
        assert_eq!((outcome.certainty, outcome.error), (Certainty::Applied, None));
        assert!(outcome.rolled_back);
        assert_eq!((outcome.rows_applied, outcome.response_rows), (0, 1));
        // One that fails before its ROLLBACK has failed.
        let script = "BEGIN;\nSELECT 1 / (random() * 0)::int;\nROLLBACK;";
        let outcome = ours(target.as_ref(), script).await.unwrap();
        assert!(!outcome.rolled_back && outcome.session_usable);
        assert_eq!(outcome.error.unwrap().code.as_deref(), Some("22012"));
        assert_eq!(outcome.certainty, Certainty::NotApplied);
    });
}

#[test]
fn a_pause_holds_the_transaction_open() {
    on_server(None, async |server, target| {
        server.sql("postgres", SEEN);
        let script =
            "BEGIN;\n\\sleep 150 ms\nINSERT INTO seen VALUES (clock_timestamp() - now());\nEND;";
        assert!(ours(target.as_ref(), script).await.unwrap().is_success());
        // The server's transaction began before the pause.
        let held = "SELECT step::interval >= '150 ms' FROM seen";
        assert_eq!(server.sql("postgres", held), "t");
    });
}

#[test]
fn an_answer_without_its_one_row_fails_the_transaction_and_not_the_session() {
    on_server(None, async |server, target| {
        server.sql("postgres", SEEN);
        for (query, why) in [
            ("SELECT 1 AS a WHERE false", "expected one row, got 0"),
            ("SELECT generate_series(1, 2) AS a", "expected one row, got 2"),
        ] {
            let script = format!(
                "BEGIN;\nINSERT INTO seen VALUES ('lost');\n{query} \\gset\n\
                 INSERT INTO seen VALUES (:a);\nEND;"
            );
            let theirs = pgbench(&server, &script);
            assert!(String::from_utf8_lossy(&theirs.stderr).contains(why), "{theirs:?}");
            let outcome = ours(target.as_ref(), &script).await.unwrap();
            assert_eq!(outcome.certainty, Certainty::NotApplied);
            assert!(outcome.session_usable && !outcome.rolled_back);
            let error = outcome.error.unwrap();
            assert_eq!((error.class, error.message.as_str()), (ErrorClass::Data, why));
            assert_eq!(seen(&server), "");
        }
        let script = "BEGIN;\nSELECT 'x' AS a \\gset\n\\set b :a + 1\nSELECT :b;\nEND;";
        let error = ours(target.as_ref(), script).await.unwrap().error.unwrap();
        let why = "`:b` cannot be computed: `x` is neither a number nor a truth value";
        assert_eq!((error.class, error.message.as_str()), (ErrorClass::Data, why));
        // A column that the statement does not return is found before any load.
        let script = "BEGIN;\nSELECT 1 AS a, 2 \\gset\nSELECT :b;\nEND;";
        let error = ours(target.as_ref(), script).await.unwrap_err();
        let why = "op `script`, statement 1: the statement returns no column `b` for a later value; \
                   it returns `a`, `?column?`";
        assert!(error.contains(why), "{error}");
    });
}
