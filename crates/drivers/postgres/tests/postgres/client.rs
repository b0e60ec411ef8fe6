//! A target, a session and a workload of one small table, for the tests beside this file.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{
    Admin, Connect, Driver, Request, Session, TablePolicy, Target, TargetError, TargetOptions,
    TargetUrl, Timeline,
};
use highwater_driver_postgres::PostgresDriver;
use highwater_model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundTable, BoundWorkload, ColumnData, ColumnType, Op,
    OpBody, OpId, RowBatch, Value,
};
use highwater_model::outcome::Outcome;
use highwater_model::units::Seed;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::support;

/// Ways to insert.
pub(crate) const MODES: [&str; 4] = ["copy", "values", "unnest", "prepared"];

/// Opens a target.
pub(crate) fn open(url: &str, insert: Option<&str>) -> Result<Arc<dyn Target>, TargetError> {
    let options = TargetOptions {
        insert: insert.map(str::to_owned),
        application_name: "highwater test".to_owned(),
        ..support::options()
    };
    PostgresDriver.open(&[TargetUrl::parse(url)?], &options)
}

/// A server of its own and a target there; nothing if the user excluded PostgreSQL.
pub(crate) fn started(insert: Option<&str>) -> Option<(Postgres, Arc<dyn Target>)> {
    if skipped() {
        return None;
    }
    let server = Postgres::start();
    let target = open(&server.url(SUPERUSER, "postgres"), insert);
    Some((server, target.expect("a target")))
}

/// The empty table of [`points`], and who uses it.
pub(crate) struct Stage {
    pub(crate) workload: Arc<BoundWorkload>,
    pub(crate) admin: Box<dyn Admin>,
    pub(crate) client: Client,
}

impl Stage {
    pub(crate) async fn set(target: &dyn Target) -> Self {
        let workload = points();
        let mut admin = admin(target).await.expect("an admin");
        let policy = TablePolicy::new("f", Seed(1)).dropping(true);
        let created = admin.create_tables(&workload, &policy).await;
        created.expect("an empty table");
        let client = Client::connect(target, &workload).await;
        Self {
            client: client.expect("a session"),
            workload,
            admin,
        }
    }
}

/// A session for a workload.
pub(crate) struct Client {
    pub(crate) session: Box<dyn Session>,
    request: Request,
}

impl Client {
    pub(crate) async fn connect(
        target: &dyn Target,
        workload: &Arc<BoundWorkload>,
    ) -> Result<Self, TargetError> {
        let timeline = support::WallTimeline::start();
        let session = target
            .connect(Connect {
                workload: Arc::clone(workload),
                number: 0,
                attempt: 0,
                timeline,
            })
            .await?;
        let op = Op {
            id: OpId(0),
            index: 0,
            body: OpBody::Query(Vec::new()),
        };
        Ok(Self {
            session,
            request: Request {
                op,
                bytes: Vec::new(),
            },
        })
    }

    /// Encodes and executes one op.
    pub(crate) async fn send(&mut self, id: u16, body: OpBody) -> Outcome {
        self.request.op = Op {
            id: OpId(id),
            index: 0,
            body,
        };
        self.session.encoder().encode(&mut self.request);
        self.session.execute(&mut self.request).await
    }

    pub(crate) async fn insert(&mut self, first: i64, rows: i64) -> Outcome {
        self.send(0, OpBody::Insert(batch(first, rows))).await
    }
}

/// Opens what is needed around the load.
pub(crate) async fn admin(target: &dyn Target) -> Result<Box<dyn Admin>, TargetError> {
    let timeline: Rc<dyn Timeline> = support::WallTimeline::start();
    target.administer(timeline).await
}

/// A workload without tables, with these statements.
pub(crate) fn workload_of_queries(statements: &[(&str, &[ColumnType])]) -> Arc<BoundWorkload> {
    let ops = statements
        .iter()
        .map(|(sql, parameters)| BoundOp {
            name: "ask".to_owned(),
            kind: BoundOpKind::Query {
                sql: (*sql).to_owned(),
                parameters: parameters.to_vec(),
            },
        })
        .collect();
    Arc::new(BoundWorkload {
        tables: Vec::new(),
        ops,
        rows: None,
    })
}

/// Op 0 inserts into `points(k, word)`, op 1 reads one of its rows.
pub(crate) fn points() -> Arc<BoundWorkload> {
    let column = |name: &str, kind| BoundColumn::new(name, kind);
    let table = BoundTable {
        name: "points".to_owned(),
        columns: vec![
            column("k", ColumnType::Bigint),
            column("word", ColumnType::Text),
        ],
        create: vec![
            "CREATE TABLE points (k integer PRIMARY KEY, word text NOT NULL CHECK (word <> 'no'))"
                .to_owned(),
        ],
        key: "k".to_owned(),
        locate: None,
    };
    let insert = BoundOp {
        name: "insert".to_owned(),
        kind: BoundOpKind::Insert {
            table: 0,
            batch: 100,
        },
    };
    let select = BoundOp {
        name: "select".to_owned(),
        kind: BoundOpKind::Query {
            sql: "SELECT word FROM points WHERE k = $1".to_owned(),
            parameters: vec![ColumnType::Integer],
        },
    };
    Arc::new(BoundWorkload {
        tables: vec![table],
        ops: vec![insert, select],
        rows: None,
    })
}

/// Rows with the keys from `first` on.
pub(crate) fn batch(first: i64, rows: i64) -> RowBatch {
    RowBatch {
        first_row: 0,
        rows: usize::try_from(rows).expect("a number of rows"),
        columns: vec![
            ColumnData::Integer((first..first + rows).collect()),
            ColumnData::Text(
                (first..first + rows)
                    .map(|k| format!("w{k}").into())
                    .collect(),
            ),
        ],
    }
}

/// The parameters of a select by key.
pub(crate) fn key(k: i64) -> OpBody {
    OpBody::Query(vec![Value::Integer(k)])
}
