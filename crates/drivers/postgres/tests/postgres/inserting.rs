//! Every insert mode: atomic, counted, and usable again after a rejection.

use std::sync::Arc;

use highwater_driver::TablePolicy;
use highwater_model::op::{BoundOp, BoundOpKind, ColumnData, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass};
use highwater_model::units::{Nanos, Seed};
use highwater_testing::postgres::{Postgres, SUPERUSER};

use crate::client::{MODES, Stage, batch, key, nothing, on_server, open, points};

#[test]
fn a_rejected_batch_stores_nothing_and_the_session_continues() {
    on_server(None, async |server, _target| {
        let url = server.url(SUPERUSER, "postgres");
        for mode in MODES {
            let target = open(&url, Some(mode)).unwrap();
            let Stage { workload, mut admin, mut client } =
                Stage::set(target.as_ref(), points()).await;
            assert_eq!(client.insert(0, 10).await.rows_applied, 10, "{mode}");
            let outcome = client.insert(5, 10).await;
            assert_eq!(outcome.certainty, Certainty::NotApplied, "{mode} {outcome:?}");
            assert_eq!((outcome.rows_applied, outcome.rows_refused), (0, 10));
            assert_eq!(outcome.error.as_ref().unwrap().class, ErrorClass::Constraint);
            assert_eq!(outcome.error.unwrap().code.as_deref(), Some("23505"));
            let mut wide = batch(20, 2);
            wide.columns[0] = ColumnData::Integer(vec![20, 1 << 40]);
            let outcome = client.send(0, OpBody::Insert(wide)).await;
            assert_eq!(outcome.error.unwrap().class, ErrorClass::Data, "{mode}");
            assert_eq!(outcome.certainty, Certainty::NotApplied);
            let outcome = client.insert(10, 5).await;
            assert!(outcome.session_usable && outcome.rows_applied == 5, "{mode} {outcome:?}");
            let counts = admin.count_by_key(&workload.tables[0], 10).await.unwrap();
            assert_eq!(counts.buckets, [(0, 10), (1, 5)], "{mode}");
        }
    });
}

#[test]
fn values_beyond_the_most_parameters_are_one_transaction() {
    on_server(Some("values"), async |server, target| {
        let Stage { workload, mut admin, mut client } = Stage::set(target.as_ref(), points()).await;
        // The last row's key already exists: the statements before it must be undone.
        assert_eq!(client.insert(69_999, 1).await.rows_applied, 1);
        let outcome = client.insert(0, 70_000).await;
        assert_eq!(outcome.certainty, Certainty::NotApplied, "{outcome:?}");
        assert_eq!(server.sql("postgres", "SELECT count(*) FROM points"), "1");
        assert_eq!(client.insert(100_000, 70_000).await.rows_applied, 70_000);
        // Many different sizes: statements are closed and prepared again.
        for rows in (1..40).chain(1..3) {
            let first = 1_000_000 + server_rows(&server);
            let outcome = client.insert(first, rows).await;
            assert_eq!(i64::try_from(outcome.rows_applied), Ok(rows), "{outcome:?}");
        }
        let inserted = admin.rows_inserted(&workload).await.unwrap();
        assert!(inserted.is_some());
        assert!(admin.storage_bytes(&workload).await.unwrap() > Some(1_000_000));
        let memory = admin.facts().await.unwrap().memory;
        let buffers = memory.caches.get("shared_buffers");
        assert!(buffers.is_some_and(|bytes| *bytes > 100_000), "{memory:?}");
    });
}

fn server_rows(server: &Postgres) -> i64 {
    server.sql("postgres", "SELECT count(*) FROM points").parse().unwrap()
}

#[test]
fn a_long_pipeline_does_not_block_on_its_own_answers() {
    on_server(Some("prepared"), async |_server, target| {
        let Stage { mut client, .. } = Stage::set(target.as_ref(), points()).await;
        assert_eq!(client.insert(0, 200_000).await.rows_applied, 200_000);
    });
}

#[test]
fn a_counter_of_the_server_agrees_once_the_session_is_closed() {
    on_server(None, async |_server, target| {
        let Stage { workload, mut admin, mut client } = Stage::set(target.as_ref(), points()).await;
        assert_eq!(client.insert(0, 1234).await.rows_applied, 1234);
        assert_eq!(client.send(1, key(7)).await.response_rows, 1);
        assert_eq!(client.send(1, key(-7)).await.response_rows, 0);
        drop(client);
        assert!(admin.quiesce(Nanos::from_secs(20)).await.unwrap());
        assert_eq!(admin.rows_inserted(&workload).await.unwrap(), Some(1234));
    });
}

#[test]
fn tables_go_to_the_schema_of_the_search_path() {
    on_server(None, async |server, _target| {
        server.sql("postgres", "CREATE SCHEMA bench; CREATE TABLE points (k int)");
        let url = server.url(SUPERUSER, "postgres");
        let target = open(&format!("{url}?options=-csearch_path%3Dbench"), None).unwrap();
        let policy = TablePolicy::new("f", Seed(1));
        let mut stage = Stage::set_by(target.as_ref(), points(), &policy).await;
        assert_eq!(stage.client.insert(0, 3).await.rows_applied, 3);
        for (question, answer) in [
            ("SELECT count(*) FROM bench.points", "3"),
            ("SELECT fingerprint FROM bench.highwater_tables", "f"),
        ] {
            assert_eq!(server.sql("postgres", question), answer);
        }
    });
}

/// So the first op's time does not include preparing.
#[test]
fn statements_for_the_announced_batch_are_prepared_before_the_first_op() {
    on_server(Some("values"), async |_server, target| {
        let mut workload = points().as_ref().clone();
        workload.ops.push(BoundOp {
            name: "prepared".to_owned(),
            kind: BoundOpKind::Query {
                sql:
                    "SELECT name FROM pg_prepared_statements WHERE statement LIKE '%INTO%VALUES%' \
                      AND cardinality(parameter_types) > 2"
                        .to_owned(),
                parameters: Vec::new(),
            },
        });
        let Stage { mut client, .. } = Stage::set(target.as_ref(), Arc::new(workload)).await;
        // The announced batch has 100 rows; another size is prepared when it occurs.
        for (first, rows, prepared) in [(0, 0, 1), (0, 100, 1), (200, 7, 2), (300, 100, 2)] {
            let outcome = client.insert(first, rows).await;
            assert_eq!(outcome.rows_applied, u64::try_from(rows).unwrap());
            let outcome = client.send(2, nothing()).await;
            assert_eq!(i64::try_from(outcome.response_rows).unwrap(), prepared);
        }
    });
}
