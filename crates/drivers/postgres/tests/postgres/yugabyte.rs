//! A compatible server that was not run here: a double that identifies itself like YugabyteDB (issue #5154 of
//! yugabyte/yugabyte-db has the texts), and responds according to its documentation.

use std::sync::mpsc::Receiver;

use highwater_model::op::{ColumnType, OpBody, Value};
use highwater_model::outcome::{Certainty, ErrorClass};

use crate::client::{Client, open, points, queries};
use crate::cockroach::{Answer, introduced};
use crate::support;

/// A server for one connection: its received texts, and its URL.
fn server(answers: Vec<Answer>) -> (Receiver<String>, String) {
    let version = "15.12-YB-2025.2.6.0-b0".to_owned();
    let (texts, url) = introduced("server_version", version, answers);
    let url = url.replace("cockroach://", "postgres://");
    (texts, format!("{url}/yugabyte?sslmode=disable"))
}

/// The texts that the server receives until a session in this insert mode is ready.
fn sent(insert: Option<&str>) -> Vec<String> {
    let (texts, url) = server(vec![]);
    support::block_on(async {
        let target = open(&url, insert).unwrap();
        drop(Client::connect(target.as_ref(), &points()).await.unwrap());
    });
    texts.iter().collect()
}

#[test]
fn a_copy_is_one_transaction_because_each_session_begins_without_commits_between_rows() {
    for insert in [None, Some("copy")] {
        let sent = sent(insert);
        // The first one is the start-up message.
        assert!(
            sent[1].contains("set_config(name, '0', false)")
                && sent[1].contains("'yb_default_copy_from_rows_per_transaction'"),
            "{sent:?}"
        );
    }
}

#[test]
fn rows_are_inserted_by_statements_unless_a_copy_is_requested() {
    let whole = |sent: &[String]| sent.iter().any(|text| text.contains("($199, $200)"));
    assert!(whole(&sent(None)));
    assert!(!whole(&sent(Some("copy"))));
}

#[test]
fn a_write_that_lost_a_conflict_was_not_applied_and_one_that_was_canceled_is_unknown() {
    let (_texts, url) = server(vec![
        Err(("40001", "Restart read required")),
        Err(("57014", "canceling statement due to statement timeout")),
        Ok("INSERT 0 1"),
    ]);
    let insert = "INSERT INTO kv (k) VALUES ($1)";
    let workload = queries(&[(insert, &[ColumnType::Bigint])]);
    let parameters = || OpBody::Query(vec![Value::Integer(1)]);
    support::block_on(async {
        let target = open(&url, None).unwrap();
        let mut client = Client::connect(target.as_ref(), &workload).await.unwrap();
        let lost = client.send(0, parameters()).await;
        assert_eq!(lost.certainty, Certainty::NotApplied, "{lost:?}");
        assert_eq!(lost.error.unwrap().class, ErrorClass::Conflict);
        let canceled = client.send(0, parameters()).await;
        assert_eq!(canceled.certainty, Certainty::Unknown, "{canceled:?}");
        assert_eq!(canceled.error.unwrap().class, ErrorClass::Timeout);
        assert!(client.send(0, parameters()).await.is_success());
    });
}
