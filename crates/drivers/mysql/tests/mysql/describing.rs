//! The facts of a server, and the description of a table that Highwater did not create.

use highwater_model::op::ColumnType;
use highwater_model::units::Nanos;

use crate::client::{admin, on_server, open, started};
use crate::support::{WallTimeline, block_on};

#[test]
fn a_table_is_described_by_its_columns_a_sample_and_its_indexes() {
    on_server(started(), None, async |server, target| {
        server.sql(
        "CREATE TABLE `rows` (id BIGINT PRIMARY KEY, ts DATETIME(3) NOT NULL, ok BOOLEAN, f FLOAT, \
         `word` VARCHAR(20) CHARACTER SET utf8mb4, twice BIGINT AS (id * 2), INDEX w (word, ts)); \
         INSERT INTO `rows` (id, ts, ok, f, word) SELECT seq, '2016-01-01' + INTERVAL seq SECOND, \
         seq % 2, 0.5, concat('w', seq % 3) FROM seq_1_to_90",
    );
        let mut admin = admin(target.as_ref()).await.unwrap();
        let shape = admin.describe("rows").await.unwrap();
        assert_eq!((shape.rows, shape.dialect.as_str()), (90, "mysql"));
        let kinds: Vec<_> = shape.columns.iter().map(|column| column.kind).collect();
        let expected = [
            ColumnType::Bigint,
            ColumnType::Timestamp,
            ColumnType::Boolean,
            ColumnType::Float,
            ColumnType::Text,
            ColumnType::Bigint,
        ];
        assert_eq!(kinds, expected.map(Some));
        assert!(shape.columns[5].generated && shape.columns[1].required);
        assert_eq!(shape.columns[1].min.as_deref(), Some("1451606401000"));
        assert_eq!((shape.columns[4].distinct, shape.columns[4].common.len()), (3, 3));
        let index = shape.indexes.iter().find(|index| index.text == "w").unwrap();
        assert_eq!(index.columns, ["word", "ts"]);
        assert!(!index.unique);
        assert!(admin.describe("nowhere").await.is_err());
    });
}

#[test]
fn facts_name_product_dialects_and_durability() {
    let Some(server) = started() else {
        return;
    };
    let port = server.port();
    let url = format!("mysql://root@127.0.0.1:1,127.0.0.1:{port}/bench");
    let target = open(&url, None).unwrap();
    assert_eq!([0, 1, 2].map(|number| target.host_of(number, 0)), [0, 1, 0]);
    assert_eq!(target.host_of(0, 1), 1);
    block_on(async {
        // The admin uses the first host that responds.
        let mut admin = admin(target.as_ref()).await.unwrap();
        let facts = admin.facts().await.unwrap();
        assert!(facts.version.contains("MariaDB"), "{}", facts.version);
        assert_eq!(facts.dialects, ["mariadb", "mysql"]);
        assert_eq!(facts.settings["account"], "root@127.0.0.1");
        assert!(facts.settings["durability"].contains("innodb_flush_log_at_trx_commit=1"));
        assert!(!facts.settings.contains_key("durability.relaxed"));
        server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
        let facts = admin.facts().await.unwrap();
        assert!(facts.traits.contains(&"innodb_flush_log_at_trx_commit=0".to_owned()));
        assert!(admin.disk().await.unwrap().unwrap().total_bytes > 0);
        let rights = admin.try_rights("highwater_try").await.unwrap().unwrap();
        assert!(rights.iter().all(|right| right.refusal.is_none()), "{rights:?}");
        let timeline = WallTimeline::start();
        let mut telemetry = target.telemetry(timeline).await.unwrap().unwrap();
        let names: Vec<String> =
            telemetry.read().await.unwrap().into_iter().map(|s| s.name.into_owned()).collect();
        for name in ["active", "lock_waits", "log_written", "checkpoint_age", "deadlocks"] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        assert!(admin.quiesce(Nanos::from_secs(30)).await.unwrap());
    });
}
