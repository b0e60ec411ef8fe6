//! An existing table becomes a workload file, which can be created and filled.

use std::sync::Arc;

use highwater_driver::TablePolicy;
use highwater_model::units::Seed;
use highwater_model::user_error::UserErrorKind;
use highwater_testing::postgres::Postgres;
use highwater_workload::{OpContext, WorkloadSpec, sketch};

use crate::client::{Client, admin, on_server};

const SHOP: &str = "
CREATE TABLE shop (id bigint PRIMARY KEY, at timestamptz NOT NULL, state text NOT NULL,
    price double precision, ok boolean, note varchar(40), extra jsonb);
INSERT INTO shop SELECT 100 + i, '2024-01-01Z'::timestamptz + i * interval '2 seconds',
    CASE WHEN i % 4 = 0 THEN 'open' ELSE 'closed' END, i / 8.0, i % 2 = 0, 'note ' || i, '{}'
FROM generate_series(0, 999) AS i;
ANALYZE shop;";

#[test]
fn a_table_becomes_a_workload_that_can_be_created_and_filled() {
    on_server(None, async |server, target| {
        server.sql("postgres", SHOP);
        let mut admin = admin(target.as_ref()).await.unwrap();
        let shape = admin.describe("shop").await.unwrap();
        assert_eq!((shape.rows, shape.columns.len()), (1_000, 7));
        assert_eq!(shape.rows_all, Some(1_000));
        let [id, at, state, ..] = shape.columns.as_slice() else {
            panic!("{shape:?}");
        };
        let ends = (id.min.as_deref(), id.max.as_deref(), id.distinct);
        assert_eq!(ends, (Some("100"), Some("1099"), 1_000));
        assert_eq!(at.min.as_deref(), Some("1704067200000"));
        let different = (id.distinct_all, state.distinct_all);
        assert_eq!(different, (Some(1_000), Some(2)));
        let common = [("closed".to_owned(), 750), ("open".to_owned(), 250)];
        assert_eq!(state.common, common);
        let ok = &shape.columns[4].common;
        assert_eq!(*ok, [("false".to_owned(), 500), ("true".to_owned(), 500)]);
        let spec = WorkloadSpec::parse(&sketch(&shape)).unwrap();
        let workload = spec.instantiate(&[].into(), Seed(1)).unwrap();
        let dialects = admin.facts().await.unwrap().dialects;
        let bound = Arc::new(workload.bind(&dialects, target.placeholders()).unwrap());
        let policy = TablePolicy::new(workload.fingerprint(), Seed(1));
        admin.create_tables(&bound, &policy).await.unwrap();
        let mut client = Client::connect(target.as_ref(), &bound).await.unwrap();
        let stream = workload.stream("insert").unwrap();
        let op = workload.op(&stream, 0, &OpContext::default());
        let outcome = client.send(op.id.0, op.body).await;
        assert_eq!(outcome.rows_applied, 1_000, "{outcome:?}");
        assert_eq!(same(&server, "min(id), max(id), min(at)"), "t");
        let key = &bound.tables[0].key;
        let keys = format!("SELECT min({key}) || ' ' || max({key}) FROM shop_like");
        assert_eq!(server.sql("postgres", &keys), "0 999");
    });
}

/// Whether these are equal in the table and in the one modeled on it.
fn same(server: &Postgres, what: &str) -> String {
    let of = |table| format!("(SELECT row({what})::text FROM {table})");
    let sql = format!("SELECT {} = {}", of("shop"), of("shop_like"));
    server.sql("postgres", &sql)
}

#[test]
fn a_missing_table_is_a_user_error() {
    on_server(None, async |_server, target| {
        let mut admin = admin(target.as_ref()).await.unwrap();
        let error = admin.describe("shopp").await.unwrap_err();
        assert_eq!(error.kind, UserErrorKind::Usage);
        assert!(error.message.contains("no table `shopp`"), "{error}");
    });
}
