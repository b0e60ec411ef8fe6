//! Ops of several statements: all of them or none, and their certainty if one ends early.

use highwater_model::op::{OpBody, Value};
use highwater_model::outcome::{Certainty, ErrorClass};
use highwater_testing::postgres::Postgres;

use crate::client::{Client, on_server, started};
use crate::support::block_on;
use crate::transaction::transaction;

/// Adds the op's only value to the account, returns the new balance, and stores the value in a log; a value of 13 fails
/// at once, and one of 14 at commit.
const TABLES: &str = "CREATE TABLE account (balance bigint NOT NULL); \
    INSERT INTO account VALUES (0); \
    CREATE TABLE known (delta bigint PRIMARY KEY); \
    INSERT INTO known SELECT n FROM generate_series(-100, 100) AS n WHERE n <> 14; \
    CREATE TABLE note (delta bigint CHECK (delta <> 13) \
        REFERENCES known DEFERRABLE INITIALLY DEFERRED)";

const TRANSFER: [&str; 3] = [
    "UPDATE account SET balance = balance + $1",
    "SELECT balance, 'text' FROM account",
    "INSERT INTO note VALUES ($1)",
];

fn delta(number: i64) -> OpBody {
    OpBody::Query(vec![Value::Integer(number)])
}

fn sums(server: &Postgres) -> String {
    server.sql(
        "postgres",
        "SELECT (SELECT balance FROM account), (SELECT count(*) FROM note), \
         (SELECT coalesce(sum(delta), 0) FROM note)",
    )
}

#[test]
fn all_statements_count_or_none_and_the_session_continues() {
    on_server(None, async |server, target| {
        server.sql("postgres", TABLES);
        let workload = transaction(&TRANSFER);
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let outcome = client.send(0, delta(5)).await;
        assert!(outcome.is_success(), "{outcome:?}");
        assert_eq!((outcome.rows_applied, outcome.response_rows), (2, 1));
        // Tag, length, columns, and two values with their lengths: `5` and `text`.
        assert_eq!(outcome.response_bytes, 1 + 4 + 2 + (4 + 1) + (4 + 4));
        assert_eq!(sums(&server), "5|1|5");
        // In the middle, and by COMMIT itself: certain in both cases.
        for (number, code) in [(13, "23514"), (14, "23503")] {
            let outcome = client.send(0, delta(number)).await;
            let error = outcome.error.as_ref().unwrap();
            assert_eq!(error.code.as_deref(), Some(code));
            assert_eq!(error.class, ErrorClass::Constraint);
            assert_eq!(outcome.certainty, Certainty::NotApplied, "{number}");
            assert!(outcome.session_usable, "{number}");
            // The earlier response, `18` or `19` and `text`, was received.
            let answered = (outcome.response_rows, outcome.response_bytes);
            assert_eq!(answered, (1, 1 + 4 + 2 + (4 + 2) + (4 + 4)), "{number}");
            assert_eq!(sums(&server), "5|1|5", "{number}");
        }
        assert!(client.send(0, delta(-2)).await.is_success());
        assert_eq!(sums(&server), "3|2|3");
    });
}

#[test]
fn a_session_that_ends_before_commit_has_certainly_applied_nothing() {
    on_server(None, async |server, target| {
        server.sql("postgres", TABLES);
        let workload = transaction(&[
            TRANSFER[0],
            "SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(60)",
        ]);
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let outcome = client.send(0, delta(5)).await;
        assert_eq!(outcome.certainty, Certainty::NotApplied, "{outcome:?}");
        assert!(!outcome.session_usable);
        assert_eq!(outcome.error.unwrap().code.as_deref(), Some("57P01"));
        assert_eq!(sums(&server), "0|0|0");
    });
}

#[test]
fn a_session_that_ends_in_commit_leaves_it_unknown() {
    on_server(None, async |server, target| {
        server.sql("postgres", TABLES);
        server.sql(
            "postgres",
            "CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60); RETURN NULL; END$$; \
         CREATE CONSTRAINT TRIGGER leave AFTER INSERT ON note DEFERRABLE INITIALLY DEFERRED \
         FOR EACH ROW EXECUTE FUNCTION leave()",
        );
        let workload = transaction(&TRANSFER);
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let outcome = client.send(0, delta(5)).await;
        assert_eq!(outcome.certainty, Certainty::Unknown, "{outcome:?}");
        assert!(!outcome.session_usable);
    });
}

#[test]
fn an_abandoned_transaction_is_rolled_back_with_its_connection() {
    let Some((server, target)) = started(None) else {
        return;
    };
    server.sql("postgres", TABLES);
    block_on(async {
        let workload = transaction(&[TRANSFER[0], "SELECT pg_sleep(60)"]);
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let limit = std::time::Duration::from_millis(200);
        let waited = tokio::time::timeout(limit, client.send(0, delta(5))).await;
        assert!(waited.is_err());
        assert!(!client.send(0, delta(5)).await.session_usable);
    });
    assert_eq!(sums(&server), "0|0|0");
}
