//! Ops whose sessions or servers end early, and idle connections.

use std::time::Duration;

use highwater_driver::{Driver, Target, TargetOptions, TargetUrl};
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_model::op::ColumnType;
use highwater_model::outcome::Certainty;
use highwater_model::units::Nanos;
use highwater_model::user_error::{RefusedStatement, UserErrorKind};

use crate::client::{
    Client, Stage, count, key, nothing, on_server, on_stage, points, queries, started,
    started_with, target,
};
use crate::killing::until_killed;
use crate::support::{self, block_on};

/// Rows of one batch of a load.
const ROWS: i64 = 1_000;

#[test]
fn rows_after_a_server_that_was_killed_in_mid_load_are_those_that_were_acknowledged() {
    let Some(mut server) = started() else {
        return;
    };
    for round in 0..3 {
        let target = target(&server);
        let (acknowledged, unknown) = block_on(async {
            let mut stage = Stage::set(target.as_ref(), points()).await;
            until_killed(&mut stage.client, ROWS, 21, || server.kill()).await
        });
        server.restart();
        let found = count(&server);
        assert!(
            found == acknowledged || found == acknowledged + unknown,
            "{round}: {acknowledged} acknowledged, {unknown} unknown, {found} found"
        );
        // The batch in flight may have been acknowledged before the end.
        assert!(acknowledged >= 20 * ROWS.unsigned_abs(), "{round}");
    }
}

#[test]
fn an_insert_whose_client_left_while_the_server_stood_still_is_applied_later_and_quiescence_waits()
{
    on_stage(started(), async |server, _, mut stage| {
        assert!(stage.client.insert(0, 10).await.is_success());
        server.freeze();
        let waited = tokio::time::timeout(Duration::from_millis(300), stage.client.insert(10, 10));
        assert!(waited.await.is_err(), "a server that stands still answered");
        drop(stage.client);
        server.thaw();
        assert!(stage.admin.quiesce(Nanos::from_secs(30)).await.unwrap());
        // The complete request had been sent, and nothing cancels it.
        assert_eq!(count(&server), 20);
    });
}

#[test]
fn a_connection_that_was_idle_is_replaced_before_it_is_used() {
    let configuration = "<keep_alive_timeout>1</keep_alive_timeout>";
    on_stage(started_with(configuration, ""), async |_server, _, mut stage| {
        assert!(stage.client.insert(0, 10).await.is_success());
        // Longer than either side keeps a connection, and watched as by a worker.
        let closed = std::future::poll_fn(|context| stage.client.session.poll_closed(context));
        let closed = tokio::time::timeout(Duration::from_millis(2_300), closed);
        let _watched = closed.await;
        let outcome = stage.client.insert(10, 10).await;
        assert!(outcome.is_success() && outcome.session_usable, "{outcome:?}");
        let rows = stage.admin.query("SELECT count() FROM points").await;
        assert_eq!(rows.unwrap(), [[Some("20".to_owned())]]);
    });
}

#[test]
fn a_stopped_server_accepts_nothing_and_a_session_reports_that_it_was_closed() {
    on_stage(started(), async |mut server, target, mut stage| {
        let mut other = Client::connect(target.as_ref(), &stage.workload).await.unwrap();
        assert!(other.insert(0, 10).await.is_success());
        assert!(stage.client.insert(10, 10).await.is_success());
        server.kill();
        std::future::poll_fn(|context| other.session.poll_closed(context)).await;
        for client in [&mut other, &mut stage.client] {
            let outcome = client.insert(20, 10).await;
            assert!(!outcome.session_usable);
            assert!(!outcome.is_success(), "{outcome:?}");
        }
        let outcome = other.insert(20, 10).await;
        assert_eq!(outcome.certainty, Certainty::NotApplied, "{outcome:?}");
    });
}

#[test]
fn questions_that_cannot_be_read_are_named_before_the_load() {
    on_server(started(), async |_server, target| {
        let _stage = Stage::set(target.as_ref(), points()).await;
        let check = |ops| {
            target.check_statements(highwater_driver::Connect {
                workload: ops,
                number: 0,
                attempt: 0,
                timeline: support::WallTimeline::start(),
            })
        };
        let right = queries(&[
            ("SELECT word FROM points WHERE k = $1 -- one", &[ColumnType::Bigint]),
            ("OPTIMIZE TABLE points", &[]),
        ]);
        check(right).await.unwrap();
        for sql in ["SELECT * FROM nowhere", "SELECT nothing FROM points", "SELECT 1 FROM"] {
            let error = check(queries(&[("SELECT 1", &[]), (sql, &[])])).await.unwrap_err();
            let refused = RefusedStatement { op: 1, statement: 0, position: None };
            assert_eq!(error.kind, UserErrorKind::Preparation(refused), "{error}");
        }
        let ops = queries(&[("SELECT $1 + $2", &[ColumnType::Integer])]);
        let error = Client::connect(target.as_ref(), &ops).await.err().unwrap();
        assert!(error.message.contains("2 placeholders"), "{error}");
    });
}

#[test]
fn servers_of_a_cluster_have_one_database_and_the_first_has_all_sessions_if_it_forwards_rows() {
    let open = |urls: &[&str], insert: Option<&str>| {
        let urls: Vec<TargetUrl> = urls.iter().map(|url| TargetUrl::parse(url).unwrap()).collect();
        let options = TargetOptions { insert: insert.map(str::to_owned), ..support::options() };
        ClickHouseDriver.open(&urls, &options)
    };
    let cluster = open(&["clickhouse://h1,h2/b", "clickhouse://h3/b"], Some("distributed"));
    let cluster = cluster.unwrap();
    assert_eq!(cluster.urls().len(), 3);
    let hosts = |target: &dyn Target| [0, 1, 2, 4].map(|number| target.host_of(number, 0));
    assert_eq!(hosts(cluster.as_ref()), [0, 1, 2, 1]);
    let behind_first =
        open(&["clickhouse://h1,h2,h3/b?initiator=first"], Some("distributed-rowbinary"));
    assert_eq!(hosts(behind_first.unwrap().as_ref()), [0; 4]);
    for (urls, insert, says) in [
        (&["clickhouse://h1/b", "clickhouse://h2/c"][..], None, "several databases"),
        (&["clickhouse://h1,h2/b?initiator=h2"], Some("distributed"), "no initiator"),
        (&["clickhouse://h1,h2/b"], Some("values"), "--insert values"),
    ] {
        let error = open(urls, insert).err().unwrap();
        assert_eq!(error.kind, UserErrorKind::Usage);
        assert!(error.message.contains(says) && error.hint.is_some(), "{error}");
    }
}

#[test]
fn answers_larger_than_the_buffer_are_counted_to_the_last_byte() {
    on_stage(started(), async |_server, target, mut stage| {
        assert!(stage.client.insert(0, 10).await.is_success());
        let sql = "SELECT toString(number), 'a\\nb\\tc' FROM numbers(300000)";
        let ops = queries(&[(sql, &[]), ("SELECT 1", &[])]);
        let mut client = Client::connect(target.as_ref(), &ops).await.unwrap();
        for op in [0, 1, 0] {
            let outcome = client.send(op, nothing()).await;
            let rows = if op == 1 { 1 } else { 300_000 };
            assert_eq!(outcome.response_rows, rows, "{outcome:?}");
        }
        assert_eq!(stage.client.send(1, key(3)).await.response_rows, 1);
        assert_eq!(stage.client.send(1, key(30)).await.response_rows, 0);
    });
}
