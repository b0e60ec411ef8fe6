//! A target, sessions, and requests from recordings.
#![expect(clippy::expect_used, reason = "a recording that is not one fails its test")]

use std::sync::Arc;

use highwater_driver::{Connect, Driver, Request, Session, Target, TargetOptions, TargetUrl};
use highwater_driver_cratedb::CrateDbDriver;
use highwater_model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundTable, BoundWorkload, ColumnData, ColumnType,
    Dictionary, Op, OpBody, OpId, RowBatch,
};
use highwater_model::outcome::Outcome;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use serde_json::Value;

use crate::double::Recording;
use crate::support;

/// Opens a target.
pub(crate) fn open(url: &str, insert: &str) -> Result<Arc<dyn Target>, UserError> {
    let options = TargetOptions {
        insert: Some(insert.to_owned()),
        connect_timeout: Nanos::from_secs(5),
        ..support::options()
    };
    CrateDbDriver.open(&[TargetUrl::parse(url)?], &options)
}

/// Inserts into `pk (id, v, t)`, which has a key, into `cpu`, which has none, or into `blk`.
pub(crate) fn workload() -> Arc<BoundWorkload> {
    let metrics = [
        "user",
        "system",
        "idle",
        "nice",
        "iowait",
        "irq",
        "softirq",
        "steal",
        "guest",
        "guest_nice",
    ];
    let metrics: Vec<String> = metrics.iter().map(|name| format!("usage_{name}")).collect();
    let mut cpu = vec!["tags", "ts"];
    cpu.extend(metrics.iter().map(String::as_str));
    let table = |name: &str, columns: &[&str], create: &str| BoundTable {
        name: name.to_owned(),
        // Every column has the recorded JSON.
        columns: columns.iter().map(|name| BoundColumn::new(*name, ColumnType::Object)).collect(),
        create: vec![create.to_owned()],
        key: "id".to_owned(),
        ..BoundTable::default()
    };
    let op = |table| BoundOp {
        name: "insert".to_owned(),
        kind: BoundOpKind::Insert { table, batch: 3 },
    };
    Arc::new(BoundWorkload {
        tables: vec![
            table("pk", &["id", "v", "t"], "CREATE TABLE pk (id INT PRIMARY KEY, v INT, t TEXT)"),
            table("cpu", &cpu, "CREATE TABLE cpu (ts TIMESTAMP)"),
            table("blk", &cpu, "CREATE TABLE blk (ts TIMESTAMP)"),
        ],
        ops: vec![op(0), op(1), op(2)],
        rows: None,
    })
}

/// The op that inserts into `pk`, `cpu` or `blk`.
pub(crate) const PK: u16 = 0;
pub(crate) const CPU: u16 = 1;
pub(crate) const BLOCKED: u16 = 2;

/// A session.
pub(crate) struct Client {
    session: Box<dyn Session>,
}

impl Client {
    pub(crate) async fn connect(target: &dyn Target, number: u32) -> Result<Self, UserError> {
        let timeline = support::WallTimeline::start();
        let connect = Connect { workload: workload(), number, attempt: 0, timeline };
        let session = target.connect(connect).await?;
        Ok(Self { session })
    }

    /// Sends the rows of a recorded bulk request.
    pub(crate) async fn insert(&mut self, op: u16, recording: &str) -> Outcome {
        let body = Recording::read(recording).body();
        let rows = body["bulk_args"].as_array().expect("rows").clone();
        self.send(op, &rows).await
    }

    /// Sends rows in the session's mode.
    pub(crate) async fn send(&mut self, op: u16, rows: &[Value]) -> Outcome {
        let columns = rows.first().and_then(Value::as_array).map_or(0, Vec::len);
        let column = |column: usize| {
            let values = rows.iter().map(|row| row[column].to_string().into());
            ColumnData::ObjectDictionary(Dictionary {
                values: values.collect(),
                codes: (0..).take(rows.len()).collect(),
            })
        };
        let mut request = Request {
            op: Op {
                id: OpId(op),
                index: 0,
                body: OpBody::Insert(RowBatch {
                    first_row: 0,
                    rows: rows.len(),
                    columns: (0..columns).map(column).collect(),
                }),
            },
            bytes: Vec::new(),
        };
        self.session.encoder().encode(&mut request);
        self.session.execute(&mut request).await
    }
}
