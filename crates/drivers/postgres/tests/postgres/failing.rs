//! Ops whose statements, sessions, or servers end early.

use highwater_model::op::{ColumnType, OpBody, Value};
use highwater_model::outcome::{Certainty, ErrorClass};
use highwater_model::units::Nanos;
use highwater_model::user_error::{RefusedStatement, UserErrorKind};
use highwater_testing::postgres::SUPERUSER;

use crate::client::{Client, Stage, admin, key, nothing, on_server, open, points, queries};

#[test]
fn a_statement_that_takes_too_long_is_canceled_and_the_session_continues() {
    on_server(None, async |server, _target| {
        let url = server.url(SUPERUSER, "postgres");
        let target = open(&format!("{url}?options=-cstatement_timeout%3D50"), None).unwrap();
        let ops = queries(&[("SELECT pg_sleep(60)", &[]), ("SELECT 1", &[])]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        let outcome = client.send(0, nothing()).await;
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert_eq!(outcome.error.unwrap().class, ErrorClass::Timeout);
        assert!(outcome.session_usable);
        assert!(client.send(1, nothing()).await.is_success());
    });
}

#[test]
fn a_backend_that_is_ended_in_the_middle_of_an_op_leaves_it_unknown() {
    on_server(None, async |_server, target| {
        // The op ends its own backend, as an administrator could.
        let ops = queries(&[("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(60)", &[])]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        let outcome = client.send(0, nothing()).await;
        assert_eq!(outcome.certainty, Certainty::Unknown, "{outcome:?}");
        let error = outcome.error.unwrap();
        assert_eq!((error.class, error.code.as_deref()), (ErrorClass::Unavailable, Some("57P01")));
        assert!(!outcome.session_usable);
        let outcome = client.send(0, nothing()).await;
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert!(!outcome.session_usable);
    });
}

#[test]
fn a_restarting_server_ends_its_sessions_and_accepts_new_ones() {
    on_server(None, async |mut server, target| {
        let Stage { workload, mut client, .. } = Stage::set(target.as_ref(), points()).await;
        assert!(client.insert(0, 5).await.is_success());
        server.restart();
        let outcome = client.insert(5, 5).await;
        assert!(!outcome.session_usable && outcome.error.is_some(), "{outcome:?}");
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        assert_eq!(client.send(1, key(4)).await.response_rows, 1);
        assert!(client.insert(5, 5).await.is_success());
    });
}

#[test]
fn an_abandoned_op_closes_its_connection_and_quiescence_waits_for_its_end() {
    on_server(None, async |_server, target| {
        let ops = queries(&[("SELECT pg_sleep($1)", &[ColumnType::Float])]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        let mut admin = admin(target.as_ref()).await.unwrap();
        let sleep = OpBody::Query(vec![Value::Float(3.0)]);
        let waited = tokio::time::timeout(
            std::time::Duration::from_millis(200),
            client.send(0, sleep.clone()),
        );
        assert!(waited.await.is_err(), "the op ended before it was abandoned");
        assert!(!admin.quiesce(Nanos::ZERO).await.unwrap(), "the statement still runs");
        let outcome = client.send(0, sleep).await;
        assert!(!outcome.session_usable && outcome.certainty == Certainty::NotApplied);
        assert!(admin.quiesce(Nanos::from_secs(30)).await.unwrap());
    });
}

#[test]
fn answers_larger_than_the_buffer_are_counted_to_the_last_byte() {
    on_server(None, async |_server, target| {
        let sql = "SELECT repeat('x', n * 1000) FROM generate_series(0, 300) AS n";
        let ops = queries(&[(sql, &[]), ("SELECT 1", &[])]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        let outcome = client.send(0, nothing()).await;
        let values: u64 = (0..=300).map(|n| n * 1000).sum();
        // Per row: tag, length, number of columns, length of the value.
        assert_eq!((outcome.response_rows, outcome.response_bytes), (301, values + 301 * 11));
        assert_eq!(client.send(1, nothing()).await.response_rows, 1);
    });
}

#[test]
fn statements_that_cannot_be_prepared_are_named() {
    on_server(None, async |_server, target| {
        let ops = queries(&[("SELECT * FROM nowhere", &[])]);
        let error = Client::connect(target.as_ref(), &ops).await.err().unwrap();
        let refused = |position| RefusedStatement { op: 0, statement: 0, position };
        let kind = UserErrorKind::Preparation(refused(Some("SELECT * FROM ".len())));
        assert_eq!(error.kind, kind);
        assert!(error.message.contains("op `ask`") && error.message.contains("42P01"), "{error}");
        let ops = queries(&[("SELECT $1::int + $2::int", &[ColumnType::Integer])]);
        let error = Client::connect(target.as_ref(), &ops).await.err().unwrap();
        assert!(error.message.contains("2 placeholders"), "{error}");
    });
}
