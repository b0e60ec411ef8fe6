//! A session and a workload of one small table, for tests of drivers of SQL servers.
//!
//! Must not know a server: its tests pass in its SQL.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Admin, Connect, Request, Session, TablePolicy, Target, Timeline};
use highwater_model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundTable, BoundWorkload, ColumnData, ColumnType, Op,
    OpBody, OpId, RowBatch, Value,
};
use highwater_model::outcome::Outcome;
use highwater_model::units::Seed;
use highwater_model::user_error::UserError;

use crate::support;

/// The empty tables of a workload, and its users.
pub struct Stage {
    /// The workload.
    pub workload: Arc<BoundWorkload>,
    /// The connection before and after the load.
    pub admin: Box<dyn Admin>,
    /// A session.
    pub client: Client,
}

impl Stage {
    /// Creates the tables, in place of earlier ones.
    pub async fn set(target: &dyn Target, workload: Arc<BoundWorkload>) -> Self {
        let policy = TablePolicy::new("f", Seed(1)).dropping(true);
        Self::set_by(target, workload, &policy).await
    }

    /// Creates the tables by this policy.
    pub async fn set_by(
        target: &dyn Target,
        workload: Arc<BoundWorkload>,
        policy: &TablePolicy<'_>,
    ) -> Self {
        let mut admin = admin(target).await.expect("an admin");
        let created = admin.create_tables(&workload, policy).await;
        created.expect("an empty table");
        let client = Client::connect(target, &workload).await;
        Self { client: client.expect("a session"), workload, admin }
    }
}

/// A session for a workload.
pub struct Client {
    /// The session.
    pub session: Box<dyn Session>,
    request: Request,
}

impl Client {
    /// Opens a session.
    pub async fn connect(
        target: &dyn Target,
        workload: &Arc<BoundWorkload>,
    ) -> Result<Self, UserError> {
        let session = target
            .connect(Connect {
                workload: Arc::clone(workload),
                number: 0,
                attempt: 0,
                timeline: support::WallTimeline::start(),
            })
            .await?;
        Ok(Self::new(session))
    }

    /// From an open session.
    pub fn new(session: Box<dyn Session>) -> Self {
        Self { session, request: Request::empty() }
    }

    /// Encodes and executes one op.
    pub async fn send(&mut self, id: u16, body: OpBody) -> Outcome {
        self.request.op = Op { id: OpId(id), index: 0, body };
        self.session.encoder().encode(&mut self.request);
        self.session.execute(&mut self.request).await
    }

    /// Inserts rows with the keys from `first` on.
    pub async fn insert(&mut self, first: i64, rows: i64) -> Outcome {
        self.send(0, OpBody::Insert(batch(first, rows))).await
    }
}

/// Opens the connection before and after the load.
pub async fn admin(target: &dyn Target) -> Result<Box<dyn Admin>, UserError> {
    let timeline: Rc<dyn Timeline> = support::WallTimeline::start();
    target.administer(timeline).await
}

/// A workload without tables, with these statements.
pub fn queries(statements: &[(&str, &[ColumnType])]) -> Arc<BoundWorkload> {
    let ops = statements
        .iter()
        .map(|(sql, parameters)| BoundOp {
            name: "ask".to_owned(),
            kind: BoundOpKind::Query { sql: (*sql).to_owned(), parameters: parameters.to_vec() },
        })
        .collect();
    Arc::new(BoundWorkload { ops, ..BoundWorkload::default() })
}

/// Op 0 inserts into `points(k, word)`, which `create` creates; op 1 reads one of its rows by key, given as this
/// placeholder.
pub fn points_of(create: &str, placeholder: &str) -> Arc<BoundWorkload> {
    let table = BoundTable {
        name: "points".to_owned(),
        columns: vec![
            BoundColumn::new("k", ColumnType::Bigint),
            BoundColumn::new("word", ColumnType::Text),
        ],
        create: vec![create.to_owned()],
        key: "k".to_owned(),
        ..BoundTable::default()
    };
    let insert =
        BoundOp { name: "insert".to_owned(), kind: BoundOpKind::Insert { table: 0, batch: 100 } };
    let select = BoundOp {
        name: "select".to_owned(),
        kind: BoundOpKind::Query {
            sql: format!("SELECT word FROM points WHERE k = {placeholder}"),
            parameters: vec![ColumnType::Integer],
        },
    };
    Arc::new(BoundWorkload { tables: vec![table], ops: vec![insert, select], rows: None })
}

/// Rows with the keys from `first` on.
pub fn batch(first: i64, rows: i64) -> RowBatch {
    let words = (first..first + rows).map(|k| format!("w{k}").into());
    RowBatch {
        first_row: 0,
        rows: usize::try_from(rows).expect("a number of rows"),
        columns: vec![
            ColumnData::Integer((first..first + rows).collect()),
            ColumnData::Text(words.collect()),
        ],
    }
}

/// The parameters of a select by key.
pub fn key(k: i64) -> OpBody {
    OpBody::Query(vec![Value::Integer(k)])
}

/// No parameters.
pub fn nothing() -> OpBody {
    OpBody::Query(Vec::new())
}
