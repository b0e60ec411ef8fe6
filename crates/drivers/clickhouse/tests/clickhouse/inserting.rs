//! The stored result of inserts, and the recorded facts of the server.

use std::sync::Arc;

use highwater_model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundTable, BoundWorkload, ColumnData, ColumnType,
    Dictionary, OpBody, RowBatch,
};

use crate::client::{
    Client, Stage, admin, on_server, on_stage, open_as, points, queries, stage_with, started,
    target,
};
use crate::support::block_on;

#[test]
fn a_batch_is_one_part_and_a_repeated_batch_is_a_second_one() {
    on_stage(started(), async |server, _, mut stage| {
        server.sql("SYSTEM STOP MERGES");
        for batches in 1..4_u64 {
            // More rows than a part formed by the server has.
            let outcome = stage.client.insert(0, 1_200_000).await;
            assert!(outcome.is_success() && outcome.rows_applied == 1_200_000, "{outcome:?}");
            let parts = "SELECT count(), sum(rows) FROM system.parts \
                         WHERE active AND table = 'points'";
            let expected = format!("{batches}\t{}", batches * 1_200_000);
            assert_eq!(server.sql(parts), expected);
        }
        let facts = stage.admin.facts().await.unwrap();
        assert!(facts.atomic_batches && !facts.transactions);
        assert_eq!(facts.dialects, ["clickhouse"]);
        assert!(facts.version.starts_with("ClickHouse "), "{facts:?}");
        assert!(facts.settings.contains_key("parts_to_throw_insert"), "{facts:?}");
        let bytes = stage.admin.storage_bytes(&stage.workload).await.unwrap();
        assert!(bytes.unwrap() > 1_000_000, "{bytes:?}");
    });
}

#[test]
fn an_object_without_a_column_is_stored_as_a_column_for_each_attribute() {
    let Some(server) = started() else {
        return;
    };
    let target = target(&server);
    let objects = [r#"{"host":"h\"0","rack":7}"#, r#"{"host":"gr\u00fc\u00df","other":1}"#];
    let create = "CREATE TABLE tagged (k Int64, host String, rack String) \
                  ENGINE = MergeTree ORDER BY k";
    let workload = Arc::new(BoundWorkload {
        tables: vec![BoundTable {
            name: "tagged".to_owned(),
            columns: vec![
                BoundColumn {
                    attributes: vec!["host".to_owned(), "rack".to_owned()],
                    value: Some(
                        "toInt64(bitShiftRight(halfMD5(concat(host, '|', rack, '|')), 36))"
                            .to_owned(),
                    ),
                    ..BoundColumn::new("tags", ColumnType::Object)
                },
                BoundColumn::new("k", ColumnType::Bigint),
            ],
            create: vec![create.to_owned()],
            key: "k".to_owned(),
            ..BoundTable::default()
        }],
        ops: vec![BoundOp {
            name: "insert".to_owned(),
            kind: BoundOpKind::Insert { table: 0, batch: 3 },
        }],
        rows: None,
    });
    let batch = RowBatch {
        first_row: 0,
        rows: 3,
        columns: vec![
            ColumnData::ObjectDictionary(Dictionary {
                values: objects.iter().map(|object| Box::from(*object)).collect(),
                codes: vec![1, 0, 1],
            }),
            ColumnData::Integer(vec![0, 1, 2]),
        ],
    };
    block_on(async {
        let mut stage = Stage::set(target.as_ref(), workload).await;
        let outcome = stage.client.send(0, OpBody::Insert(batch.clone())).await;
        assert!(outcome.is_success(), "{outcome:?}");
        assert_eq!(
            server.sql("SELECT k, host, rack FROM tagged ORDER BY k"),
            "0\tgr\u{fc}\u{df}\t\n1\th\"0\t7\n2\tgr\u{fc}\u{df}\t"
        );
        let table = &stage.workload.tables[0];
        let all = [highwater_model::stored::KeyRange { first: 0, end: 9 }];
        let mut found = 0;
        let mut take = |row: highwater_model::stored::StoredRow| {
            let at = usize::try_from(row.key).unwrap();
            let differs =
                highwater_model::stored::difference(&table.columns, &batch, at, &row.values);
            assert_eq!(differs, None);
            found += 1;
        };
        stage.admin.read_rows(table, &all, &mut take).await.unwrap();
        assert_eq!(found, 3);
    });
}

#[test]
fn a_table_is_created_with_the_requested_engine_and_settings() {
    on_server(started(), async |server, target| {
        let settings = [("engine", "ReplacingMergeTree"), ("index_granularity", "1024")];
        let mut stage = stage_with(target.as_ref(), points(), &settings).await;
        assert!(stage.client.insert(0, 10).await.is_success());
        let made = server.sql("SELECT engine_full FROM system.tables WHERE name = 'points'");
        assert!(
            made.starts_with("ReplacingMergeTree ORDER BY k")
                && made.contains("index_granularity = 1024"),
            "{made}"
        );
        let rights = stage.admin.try_rights("highwater_rights").await.unwrap();
        let rights = rights.unwrap();
        assert_eq!(rights.len(), 4);
        assert!(rights.iter().all(|right| right.refusal.is_none()), "{rights:?}");
    });
}

#[test]
fn a_table_is_described_from_its_columns_and_a_sample() {
    on_server(started(), async |server, target| {
        server.sql(
            "CREATE TABLE made (host String, n Nullable(Int32), f Float64, day Date, \
         twice Nullable(Int64) MATERIALIZED n * 2) ENGINE = MergeTree ORDER BY (host, f)",
        );
        server.sql("INSERT INTO made VALUES ('a', 1, 0.5, '2016-01-01'), ('a', NULL, 1, '2016-01-01'), ('b', 3, 2, '2016-01-01')");
        let mut admin = admin(target.as_ref()).await.unwrap();
        let shape = admin.describe("made").await.unwrap();
        assert_eq!((shape.rows, shape.rows_all), (3, Some(3)));
        assert_eq!(shape.indexes[0].columns, ["host", "f"]);
        let column = |name: &str| {
            let mut columns = shape.columns.iter();
            columns.find(|column| column.name == name).unwrap()
        };
        let host = column("host");
        assert_eq!(host.kind, Some(ColumnType::Text));
        let common = [("a".to_owned(), 2), ("b".to_owned(), 1)];
        assert_eq!((host.distinct, &host.common[..]), (2, &common[..]));
        let n = column("n");
        assert_eq!((n.nulls, n.required), (1, false));
        assert_eq!((n.min.as_deref(), n.max.as_deref()), (Some("1"), Some("3")));
        assert_eq!(column("day").kind, None);
        assert!(column("twice").generated);
        assert!(admin.describe("nowhere").await.is_err());
    });
}

#[test]
fn running_work_of_the_server_is_reported() {
    on_stage(started(), async |_server, target, mut stage| {
        let timeline = crate::support::WallTimeline::start();
        let mut reader = target.telemetry(timeline).await.unwrap().unwrap();
        assert!(stage.client.insert(0, 5_000).await.is_success());
        let samples = reader.read().await.unwrap();
        let value = |name: &str| {
            let mut samples = samples.iter();
            samples.find(|sample| sample.name == name).map(|s| s.value)
        };
        assert!(value("rows_inserted").unwrap() >= 5_000.0, "{samples:?}");
        assert!(value("parts_of_fullest_partition").unwrap() >= 1.0, "{samples:?}");
        assert!(value("memory_of_server").is_some(), "{samples:?}");
        let ops = queries(&[("SELECT 1", &[])]);
        assert!(Client::connect(target.as_ref(), &ops).await.is_ok());
    });
}

#[test]
fn a_server_that_reads_fractions_inexactly_is_sent_none_as_text() {
    let Some(server) = started() else {
        return;
    };
    // 18.16 parses most numbers exactly, but not these two.
    let fractions = [-1.0 / 3.0, 1.071_566_039_146_582_6e-75, -8.750_186_241_947_517e123];
    server.sql("CREATE TABLE fractions (n UInt8, x Float64) ENGINE = MergeTree ORDER BY n");
    let rows: String =
        fractions.iter().zip(0..).map(|(x, n)| format!("{{\"n\":{n},\"x\":{x:?}}}\n")).collect();
    server.sql(&format!("INSERT INTO fractions FORMAT JSONEachRow\n{rows}"));
    let found = server.sql("SELECT x FROM fractions ORDER BY n");
    let found: Vec<f64> = found.lines().map(|x| x.parse().unwrap()).collect();
    let is_exact = found == fractions;
    let setting = "SELECT count() FROM system.settings WHERE name = 'precise_float_parsing'";
    // A server that has the setting may be inexact without it.
    let has_setting = server.sql(setting) == "1";
    assert!(!is_exact || has_setting, "{found:?}");
    let refused = block_on(admin(open_as(&server, "jsoneachrow").as_ref())).err();
    assert_eq!(refused.is_some(), !has_setting, "{refused:?}");
    if let Some(error) = refused {
        assert!(error.message.contains("precise_float_parsing"), "{error}");
        assert!(error.hint.is_some());
    }
}

#[test]
fn a_batch_in_rows_is_stored_as_sent_or_not_at_all_if_a_value_does_not_fit() {
    let Some(server) = started() else {
        return;
    };
    let target = open_as(&server, "rowbinary");
    block_on(async {
        let mut stage = Stage::set(target.as_ref(), points()).await;
        for (first, rows) in [(0, 1), (1, 2_000), (2_001, 0)] {
            let outcome = stage.client.insert(first, rows).await;
            assert!(outcome.is_success(), "{outcome:?}");
        }
        let stored = server
            .sql("SELECT count(), sum(k), countIf(word = concat('w', toString(k))) FROM points");
        assert_eq!(stored, format!("2001\t{}\t2001", 2_000 * 2_001 / 2));
        let facts = stage.admin.facts().await.unwrap();
        assert!(!facts.atomic_batches && facts.settings["insert"] == "rowbinary");
    });
}
