//! More lines of the table of certainties in `docs/reference/mariadb.md`: errors of single statements, deadlocks, a
//! full table, and rejected logins.

use highwater_model::op::ColumnType;
use highwater_model::outcome::ErrorClass;
use highwater_model::user_error::UserErrorKind;
use highwater_testing::mariadb::{MariaDb, SUPERUSER, skipped};

use crate::client::{
    Client, Stage, key, nothing, on_server, open, points, points_of, queries, started,
    started_with, target, words,
};
use crate::said::{refused, said};
use crate::support::block_on;

#[test]
fn a_value_or_a_row_that_does_not_fit_is_refused_by_its_number() {
    on_server(started(), None, async |server, target| {
        server.sql(
            "CREATE TABLE parent (id INT PRIMARY KEY); \
         CREATE TABLE zero (n BIGINT UNSIGNED NOT NULL); INSERT INTO zero VALUES (0); \
         CREATE TABLE child (id INT NOT NULL, must INT NOT NULL, parent INT, kind ENUM('a'), \
         at DATETIME, big BIGINT UNSIGNED, FOREIGN KEY (parent) REFERENCES parent (id))",
        );
        let cases = [
            ("(id, must) VALUES (NULL, 1)", 1048, ErrorClass::Constraint),
            ("(id, must, parent) VALUES (1, 1, 5)", 1452, ErrorClass::Constraint),
            ("(id, must) VALUES (1 << 40, 1)", 1264, ErrorClass::Data),
            ("(id, must, kind) VALUES (1, 1, 'b')", 1265, ErrorClass::Data),
            ("(id, must, at) VALUES (1, 1, 'never')", 1292, ErrorClass::Data),
            ("(id) VALUES (1)", 1364, ErrorClass::Data),
            ("(id, must) VALUES ('x', 1)", 1366, ErrorClass::Data),
            ("(id, must, big) SELECT 1, 1, n - 1 FROM zero", 1690, ErrorClass::Data),
        ];
        let statements: Vec<String> = cases
            .iter()
            .map(|(rest, ..)| format!("INSERT INTO child {rest}"))
            .chain(["INSERT INTO child (id, must) VALUES (1, 1)".to_owned()])
            .collect();
        let statements: Vec<(&str, &[ColumnType])> =
            statements.iter().map(|sql| (sql.as_str(), &[][..])).collect();
        let mut client = Client::connect(target.as_ref(), &queries(&statements)).await.unwrap();
        for (op, (_, code, class)) in (0..).zip(cases) {
            let outcome = client.send(op, nothing()).await;
            assert_eq!(said(&outcome), refused(code, class), "{code}");
            assert_eq!(server.sql("SELECT count(*) FROM child"), "0", "{code}");
        }
        let last = u16::try_from(cases.len()).unwrap();
        assert!(client.send(last, nothing()).await.is_success());
    });
}

#[test]
fn a_forbidden_action_is_an_error_of_the_statement_and_the_session_continues() {
    let Some(server) = started() else {
        return;
    };
    server.sql(
        "CREATE USER ann@'127.0.0.1'; DROP USER IF EXISTS ''@localhost; \
         CREATE TABLE own (k INT); GRANT SELECT, INSERT ON bench.own TO ann@'127.0.0.1'",
    );
    let statement = |code| refused(code, ErrorClass::Statement);
    let ann = open(&server.url("ann"), None).unwrap();
    block_on(async {
        let ops = queries(&[
            ("INSERT INTO own VALUES (1)", &[]),
            ("SET SESSION TRANSACTION READ ONLY", &[]),
            ("SELECT 1", &[]),
            ("SET SESSION TRANSACTION READ WRITE", &[]),
        ]);
        // This one is rejected during preparation, before a run begins.
        let of_admins = queries(&[("SET GLOBAL max_connections = 100", &[])]);
        let denied = Client::connect(ann.as_ref(), &of_admins).await.err().unwrap();
        assert!(denied.message.contains("(1227)"), "{denied:?}");
        let mut client = Client::connect(ann.as_ref(), &ops).await.unwrap();
        assert!(client.send(0, nothing()).await.is_success());
        assert!(client.send(1, nothing()).await.is_success());
        assert_eq!(said(&client.send(0, nothing()).await), statement(1792));
        assert!(client.send(3, nothing()).await.is_success());
        server.sql("REVOKE INSERT ON bench.own FROM ann@'127.0.0.1'");
        assert_eq!(said(&client.send(0, nothing()).await), statement(1142));
        assert!(client.send(2, nothing()).await.is_success());
        assert_eq!(server.sql("SELECT count(*) FROM own"), "1");
    });
    let root = target(&server, None);
    block_on(async {
        let mut stage = Stage::set(root.as_ref(), points()).await;
        server.sql("ALTER TABLE points DROP CONSTRAINT CONSTRAINT_1, DROP COLUMN word");
        assert_eq!(said(&stage.client.insert(0, 3).await), statement(1054));
        assert_eq!(server.sql("SELECT count(*) FROM points"), "0");
    });
}

#[test]
fn one_of_two_deadlocked_transactions_is_undone_and_its_session_continues() {
    on_server(started(), None, async |server, target| {
        server.sql(
            "CREATE TABLE pair (k INT PRIMARY KEY, n INT); INSERT INTO pair VALUES (1, 0), (2, 0)",
        );
        let ops = queries(&[
            ("START TRANSACTION", &[]),
            ("UPDATE pair SET n = n + 1 WHERE k = ?1", &[ColumnType::Integer]),
            ("COMMIT", &[]),
        ]);
        let mut one = Client::connect(target.as_ref(), &ops).await.unwrap();
        let mut other = Client::connect(target.as_ref(), &ops).await.unwrap();
        for (client, own) in [(&mut one, 1), (&mut other, 2)] {
            assert!(client.send(0, nothing()).await.is_success());
            assert!(client.send(1, key(own)).await.is_success());
        }
        let outcomes = tokio::join!(one.send(1, key(2)), other.send(1, key(1)));
        let outcomes = [outcomes.0, outcomes.1];
        let mut lost = outcomes.iter().filter(|outcome| !outcome.is_success());
        let lost_one = lost.next().unwrap();
        assert_eq!(said(lost_one), refused(1213, ErrorClass::Conflict));
        assert!(lost.next().is_none(), "{outcomes:?}");
        for client in [&mut one, &mut other] {
            assert!(client.send(2, nothing()).await.is_success());
        }
        // Both updates of one of them, and none of the other.
        assert_eq!(server.sql("SELECT group_concat(n) FROM pair"), "1,1");
    });
}

#[test]
fn a_table_that_is_full_refuses_the_batch_for_want_of_room() {
    on_server(
        started_with(&[
            "--innodb-file-per-table=0",
            "--innodb-data-file-path=ibdata1:12M:autoextend:max:24M",
        ]),
        None,
        async |server, target| {
            let wide = "CREATE TABLE points (k INT PRIMARY KEY, word MEDIUMTEXT NOT NULL)";
            let mut stage = Stage::set(target.as_ref(), points_of(wide, "?1")).await;
            let long = "x".repeat(100_000);
            let ten = [long.as_str(); 10];
            let mut acknowledged = 0;
            let outcome = loop {
                let outcome = stage.client.send(0, words(acknowledged, &ten)).await;
                if !outcome.is_success() {
                    break outcome;
                }
                acknowledged += 10;
                assert!(acknowledged < 400, "24 MiB have room for no 40 MB");
            };
            assert_eq!(said(&outcome), refused(1114, ErrorClass::Resource));
            assert_eq!(outcome.rows_refused, 10);
            let there = server.sql("SELECT count(*) FROM points");
            assert_eq!(there, acknowledged.to_string());
            assert_eq!(stage.client.send(1, key(-1)).await.response_rows, 0);
        },
    );
}

#[test]
fn users_without_access_are_rejected_and_too_many_sessions_are_one_message() {
    if skipped() {
        return;
    }
    let server = MariaDb::start_with(&["--max-user-connections=3"]);
    server.sql(
        "DROP USER IF EXISTS ''@localhost; \
         CREATE USER 'out'@'127.0.0.1'; CREATE USER 'local'@'127.0.0.1' IDENTIFIED VIA unix_socket; \
         CREATE USER 'many'@'127.0.0.1'; GRANT SELECT ON bench.* TO 'many'@'127.0.0.1'",
    );
    let ask = queries(&[("SELECT 1", &[])]);
    let open = |user: &str| open(&server.url(user), None).unwrap();
    block_on(async {
        for (url, code) in [
            (server.url("out"), "1044"),
            (server.url("local"), "1698"),
            (server.url(SUPERUSER).replace("/bench", "/nowhere"), "1049"),
        ] {
            let target = crate::client::open(&url, None).unwrap();
            let error = Client::connect(target.as_ref(), &ask).await.err().unwrap();
            assert_eq!(error.kind, UserErrorKind::Refused, "{error}");
            assert!(error.message.contains(code) && error.hint.is_some(), "{error}");
        }
        let many = open("many");
        let mut clients = Vec::new();
        let error = loop {
            match Client::connect(many.as_ref(), &ask).await {
                Ok(client) => clients.push(client),
                Err(error) => break error,
            }
            assert!(clients.len() < 10);
        };
        assert_eq!(error.kind, UserErrorKind::Unreachable);
        assert!(error.message.contains("1203"), "{error}");
    });
}
