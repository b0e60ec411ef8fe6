//! The location of a cluster's tables and rows, their ownership, and the reported facts of its
//! servers.

use highwater_driver::{Admin, TablePolicy, Target};
use highwater_model::op::BoundWorkload;
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserErrorKind;
use highwater_testing::clickhouse::SUPERUSER;
use highwater_testing::clickhouse_shards::{
    CLUSTER, CLUSTER_OF_ONE, SHARDS, SMALLER_CLUSTER, Shards,
};

use super::cluster::{client_on, everywhere, on_shards, open, own_rows, points, read, started};
use crate::points::{Client, Stage, admin};
use crate::support::{WallTimeline, block_on};

/// The policy of a run with `--drop` or not, and with these `--with` settings.
fn policy(drop: bool, settings: &[(String, String)]) -> TablePolicy<'_> {
    TablePolicy { settings, ..TablePolicy::new("f", Seed(1)).dropping(drop) }
}

/// Inserts this many rows on each server, each with different keys.
async fn insert_everywhere(
    target: &dyn Target,
    workload: &std::sync::Arc<BoundWorkload>,
    rows: i64,
) {
    for number in 0..3_u32 {
        let mut client = client_on(target, workload, number).await;
        let outcome = client.insert(i64::from(number) * 1_000, rows).await;
        assert!(outcome.is_success(), "{outcome:?}");
    }
}

async fn count(admin: &mut dyn Admin, workload: &BoundWorkload) -> u64 {
    let counts = admin.count_by_key(&workload.tables[0], 1 << 40).await.unwrap();
    counts.buckets.iter().map(|(_, rows)| rows).sum()
}

#[test]
fn a_session_inserts_on_its_own_server_and_reads_the_rows_of_all() {
    on_shards(async |shards, target| {
        let mut stage = Stage::set(target.as_ref(), points()).await;
        insert_everywhere(target.as_ref(), &stage.workload, 100).await;
        assert_eq!(own_rows(&shards), [100; SHARDS]);
        let mut client = client_on(target.as_ref(), &stage.workload, 0).await;
        for key in [0, 1_000, 2_099] {
            assert_eq!(read(&mut client, key).await.response_rows, 1, "{key}");
        }
        assert_eq!(count(stage.admin.as_mut(), &stage.workload).await, 300);
        let all = stage.admin.query("SELECT count() FROM points").await;
        assert_eq!(all.unwrap(), [[Some("300".to_owned())]]);
        let bytes = stage.admin.storage_bytes(&stage.workload).await.unwrap();
        let own = shards
            .server(0)
            .sql("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'points'");
        assert!(bytes.unwrap() > 2 * own.parse::<u64>().unwrap());
        let shape = stage.admin.describe("points").await.unwrap();
        assert_eq!((shape.rows, shape.rows_all), (300, Some(300)));
        assert_eq!(shape.indexes[0].columns, ["k"]);

        let facts = stage.admin.facts().await.unwrap();
        assert_eq!(facts.settings["clusters"], CLUSTER);
        assert_eq!(facts.settings["insert"], "native");
        assert_eq!(facts.settings["servers"].matches("127.0.0.1:").count(), SHARDS);
        for (name, count) in [("nodes", SHARDS), ("shards", SHARDS), ("replicas", 0)] {
            assert_eq!(facts.settings[name], count.to_string(), "{name}");
        }
        assert!(facts.traits.contains(&"3 shards".to_owned()), "{facts:?}");
        let rights = stage.admin.try_rights("highwater_rights").await.unwrap();
        assert!(rights.unwrap().iter().all(|right| right.refusal.is_none()));
        assert!(stage.admin.disk().await.unwrap().is_some());
    });
}

#[test]
fn a_distributed_insert_is_answered_when_all_servers_have_their_rows() {
    on_shards(async |shards, _target| {
        for mode in ["distributed", "distributed-rowbinary"] {
            let target = everywhere(&shards, Some(mode));
            let mut stage = Stage::set(target.as_ref(), points()).await;
            let outcome = stage.client.insert(0, 3_000).await;
            assert!(outcome.is_success(), "{outcome:?}");
            let own = own_rows(&shards);
            assert_eq!(own.iter().sum::<u64>(), 3_000, "{own:?}");
            // A thousand on each, within six standard deviations of a random choice (26).
            assert!(own.iter().all(|rows| rows.abs_diff(1_000) < 160), "{own:?}");
            assert!(stage.admin.quiesce(Nanos::from_secs(30)).await.unwrap());
            let facts = stage.admin.facts().await.unwrap();
            assert!(facts.settings["insert"] == mode && !facts.atomic_batches);
        }
    });
}

#[test]
fn one_server_passes_rows_on_to_a_cluster_that_is_only_itself() {
    let Some(shards) = started() else {
        return;
    };
    let is_made = |server: usize| {
        let target = open(&shards.url_of(&[server]), Some("distributed")).unwrap();
        block_on(async {
            let mut admin = admin(target.as_ref()).await.unwrap();
            let made = admin.create_tables(&points(), &policy(true, &[])).await;
            made.map(|_| ())
        })
    };
    let error = is_made(0).unwrap_err();
    let says = "the host of the URL is no cluster of its own";
    assert!(error.message.contains(says), "{error}");
    assert!(error.message.contains("two (1 of its 2 servers)"), "{error}");
    assert!(error.hint.unwrap().contains("--insert"));

    let target = open(&shards.url_of(&[2]), Some("distributed")).unwrap();
    block_on(async {
        let mut stage = Stage::set(target.as_ref(), points()).await;
        assert!(stage.client.insert(0, 10).await.is_success());
        assert_eq!(count(stage.admin.as_mut(), &stage.workload).await, 10);
        let own = "SELECT count() FROM default_local.points";
        assert_eq!(shards.server(2).sql(own), "10");
        let facts = stage.admin.facts().await.unwrap();
        assert_eq!(facts.settings["clusters"], CLUSTER_OF_ONE);
    });
}

#[test]
fn if_all_sessions_are_on_the_first_server_it_forwards_rows_or_takes_none() {
    let Some(shards) = started() else {
        return;
    };
    let url = format!("{}?initiator=first", shards.url());
    block_on(async {
        let target = open(&url, Some("distributed")).unwrap();
        let mut stage = Stage::set(target.as_ref(), points()).await;
        assert!(stage.client.insert(0, 300).await.is_success());
        let own = own_rows(&shards);
        assert!(own.iter().all(|rows| *rows > 0), "{own:?}");
        drop(stage);
        let local = open(&url, None).unwrap();
        let error = Client::connect(local.as_ref(), &points()).await.err();
        let error = error.unwrap();
        assert_eq!(error.kind, UserErrorKind::Usage, "{error}");
        assert!(error.hint.unwrap().contains("--insert distributed"));
    });
}

#[test]
fn hosts_that_form_no_cluster_are_rejected_with_their_description() {
    let Some(shards) = started() else {
        return;
    };
    let refused = |url: &str| {
        let target = open(url, None).unwrap();
        block_on(async {
            let mut admin = admin(target.as_ref()).await.unwrap();
            let table = &points().tables[0];
            let errors = [
                admin.create_tables(&points(), &policy(true, &[])).await.err().unwrap(),
                // Rows on an unlisted server would be missing.
                admin.count_by_key(table, 10).await.err().unwrap(),
            ];
            for error in errors {
                assert_eq!(error.kind, UserErrorKind::Usage, "{error}");
                assert!(error.message.contains("three (2 of its 3 servers)"), "{error}");
                assert!(error.hint.unwrap().contains("remote_servers"));
            }
        });
    };
    refused(&shards.url_of(&[0, 2]));
    refused(&shards.url_of(&[1, 2]));
    // The first two form another cluster.
    let target = open(&shards.url_of(&[1, 0]), None).unwrap();
    block_on(async {
        let mut stage = Stage::set(target.as_ref(), points()).await;
        assert!(stage.client.insert(0, 10).await.is_success());
        assert_eq!(count(stage.admin.as_mut(), &stage.workload).await, 10);
        let facts = stage.admin.facts().await.unwrap();
        assert_eq!(facts.settings["clusters"], SMALLER_CLUSTER);
    });
}

#[test]
fn of_several_clusters_of_the_same_servers_one_is_named() {
    if highwater_testing::clickhouse::skipped() {
        return;
    }
    let shards = Shards::start_with(&["again"]);
    let target = everywhere(&shards, None);
    block_on(async {
        let mut admin = admin(target.as_ref()).await.unwrap();
        let workload = points();
        let named = |name: &str| [("cluster".to_owned(), name.to_owned())];
        for (settings, says) in
            [(&[][..], "several clusters: again, three"), (&named("two"), "cluster=two")]
        {
            let created = admin.create_tables(&workload, &policy(true, settings)).await;
            let error = created.err().unwrap();
            assert!(error.message.contains(says), "{error}");
            assert!(error.hint.is_some());
        }
        let with = [named("again"), [("index_granularity".to_owned(), "1024".to_owned())]].concat();
        admin.create_tables(&workload, &policy(true, &with)).await.unwrap();
        let made = |database: &str| {
            shards.server(2).sql(&format!(
                "SELECT engine_full FROM system.tables \
                 WHERE database = '{database}' AND name = 'points'"
            ))
        };
        assert!(made("default").contains("again"), "{}", made("default"));
        let own = made("default_local");
        assert!(own.contains("index_granularity = 1024"), "{own}");
        // It is kept only with the cluster that it was created with.
        let kept = admin.create_tables(&workload, &policy(false, &[])).await;
        assert!(kept.err().unwrap().message.contains("several clusters"));
    });
}

#[test]
fn tables_of_a_cluster_and_of_one_server_are_not_taken_for_each_other() {
    on_shards(async |shards, cluster| {
        let alone = open(&shards.server(0).url(SUPERUSER), None).unwrap();
        let workload = points();
        drop(Stage::set(cluster.as_ref(), points()).await);
        insert_everywhere(cluster.as_ref(), &workload, 10).await;
        // It belongs to the same workload, so it is kept; but rows inserted there are stored elsewhere.
        let mut of_one = admin(alone.as_ref()).await.unwrap();
        of_one.create_tables(&workload, &policy(false, &[])).await.unwrap();
        let error = crate::points::Client::connect(alone.as_ref(), &workload).await;
        let error = error.err().unwrap();
        assert!(error.message.contains("engine Distributed"), "{error}");
        // With --drop it is replaced, and the rows of the cluster are left alone.
        let mut stage = Stage::set(alone.as_ref(), points()).await;
        assert!(stage.client.insert(0, 7).await.is_success());
        assert_eq!(count(stage.admin.as_mut(), &workload).await, 7);
        assert_eq!(own_rows(&shards), [10; SHARDS]);
        // And vice versa.
        let mut of_all = admin(cluster.as_ref()).await.unwrap();
        let kept = of_all.create_tables(&workload, &policy(false, &[])).await;
        let error = kept.err().unwrap();
        assert_eq!(error.kind, UserErrorKind::ForeignTable, "{error}");
        assert!(error.message.contains("its engine is MergeTree"), "{error}");
        assert_eq!(own_rows(&shards), [10; SHARDS]);
        of_all.create_tables(&workload, &policy(true, &[])).await.unwrap();
        assert_eq!(own_rows(&shards), [0; SHARDS]);
    });
}

#[test]
fn rows_that_replace_each_other_are_rejected_before_a_table_is_created() {
    on_shards(async |shards, target| {
        let mut workload = BoundWorkload::clone(&points());
        workload.tables[0].replaces = true;
        let mut admin = admin(target.as_ref()).await.unwrap();
        let policy = policy(true, &[]);
        let error = admin.create_tables(&workload, &policy).await.unwrap_err();
        assert_eq!(error.kind, UserErrorKind::Usage);
        assert!(error.message.contains("replace each other"), "{error}");
        let made = "SELECT count() FROM system.tables WHERE name = 'points'";
        assert_eq!(shards.server(0).sql(made), "0");
    });
}

#[test]
fn a_table_that_is_refused_on_one_server_changes_none() {
    on_shards(async |shards, target| {
        let mut stage = Stage::set(target.as_ref(), points()).await;
        insert_everywhere(target.as_ref(), &stage.workload, 10).await;
        for database in ["default", "default_local"] {
            let server = shards.server(1);
            server.sql(&format!("DROP TABLE {database}.points"));
            server.sql(&format!("CREATE TABLE {database}.points (x Int8) ENGINE = Memory"));
            server.sql(&format!(
                "ALTER TABLE {database}.highwater_tables DELETE WHERE name = 'points'"
            ));
            while server.sql("SELECT count() FROM system.mutations WHERE NOT is_done") != "0" {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let policy = policy(true, &[]);
            let created = stage.admin.create_tables(&stage.workload, &policy);
            let error = created.await.err().unwrap();
            assert_eq!(error.kind, UserErrorKind::ForeignTable, "{error}");
            let port = server.port().to_string();
            assert!(error.message.contains(&port), "{error}");
            for other in [0, 2] {
                let count = "SELECT count() FROM default_local.points";
                assert_eq!(shards.server(other).sql(count), "10");
            }
        }
    });
}

#[test]
fn each_server_is_polled_by_its_name() {
    on_shards(async |shards, target| {
        let stage = Stage::set(target.as_ref(), points()).await;
        insert_everywhere(target.as_ref(), &stage.workload, 500).await;
        let mut reader = target.telemetry(WallTimeline::start()).await.unwrap().unwrap();
        let samples = reader.read().await.unwrap();
        for number in 0..SHARDS {
            let node = format!("127.0.0.1:{}", shards.server(number).port());
            let of_node = samples.iter().filter(|sample| sample.node.as_ref() == Some(&node));
            let rows = of_node.clone().find(|sample| sample.name == "rows_inserted");
            assert!(rows.unwrap().value >= 500.0, "{node}: {samples:?}");
            assert!(of_node.clone().any(|sample| sample.name == "parts_of_fullest_partition"));
        }
        assert!(samples.iter().all(|sample| sample.node.is_some()));
    });
}
