//! The target under test, and a minimal client for it.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use highwater_model::op::{BoundTable, BoundWorkload, Op, OpBody, OpId, RowBatch, Value};
use highwater_model::outcome::{Certainty, Outcome};
use highwater_model::units::{Nanos, Seed};

use highwater_driver::contract::{
    Admin, Connect, Driver, Encoder, Request, Session, Target, TargetOptions, Timeline,
};
use highwater_driver::table_registry::TablePolicy;
use highwater_driver::target_url::TargetUrl;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::broken::{Broken, require, same};
use super::dialect::SqlWords;

/// How long the suite waits for quiescence.
const QUIESCE_LIMIT: Nanos = Nanos::from_secs(30);

/// Session numbers, so that sessions use the hosts of a target in turn.
static NEXT_SESSION: AtomicU32 = AtomicU32::new(0);

/// The registered seed of the suite's tables; it uses all 64 bits, which must all be returned.
pub(super) const SEED: Seed = Seed(u64::MAX - 1);
/// The suite's table policy, which drops nothing.
pub(super) const POLICY: TablePolicy<'_> = TablePolicy::new("conformance", SEED);

/// A target under test: how to open it, its timeline, and its SQL.
pub struct Subject {
    /// The driver that opens it.
    pub driver: &'static dyn Driver,
    /// URLs as given by a user.
    pub urls: Vec<String>,
    /// Options; the suite replaces the insert mode.
    pub options: TargetOptions,
    /// Real or simulated, according to the target's capabilities.
    pub timeline: Rc<dyn Timeline>,
    /// The dialect.
    pub sql: SqlWords,
    /// Closes the connections of all sessions on the target's side, if a test can.
    pub cut: Option<Rc<dyn Fn()>>,
}

impl Subject {
    /// Opens the target for one insert mode, or the default one.
    pub fn open(&self, insert: Option<&str>) -> Result<Arc<dyn Target>, UserError> {
        let options = TargetOptions { insert: insert.map(str::to_owned), ..self.options.clone() };
        self.driver.open(&TargetUrl::parse_all(&self.urls)?, &options)
    }

    /// Insert modes of the target, except one that the server rejects completely, with a hint.
    pub(super) async fn insert_modes(&self) -> Result<Vec<&'static str>, Broken> {
        let mut modes = Vec::new();
        for mode in self.open(None)?.capabilities().insert_modes {
            match self.admin(self.open(Some(mode))?.as_ref()).await {
                Err(error) if error.kind == UserErrorKind::Usage && error.hint.is_some() => {}
                Err(error) => return Err(error.into()),
                Ok(_) => modes.push(*mode),
            }
        }
        require!(!modes.is_empty(), "every insert mode is refused");
        Ok(modes)
    }

    pub(super) async fn admin(&self, target: &dyn Target) -> Result<Box<dyn Admin>, UserError> {
        target.administer(Rc::clone(&self.timeline)).await
    }

    /// Creates the workload's tables, empty.
    pub(super) async fn create(
        &self,
        target: &dyn Target,
        workload: &BoundWorkload,
    ) -> Result<Box<dyn Admin>, UserError> {
        let mut admin = self.admin(target).await?;
        admin.create_tables(workload, &POLICY.dropping(true)).await?;
        Ok(admin)
    }

    /// A target with this insert mode, an insert-only workload, its empty tables, and a session.
    pub(super) async fn stage(
        &self,
        insert: Option<&str>,
        name: &str,
    ) -> Result<(Arc<dyn Target>, BoundWorkload, Box<dyn Admin>, Client), UserError> {
        let target = self.open(insert)?;
        let workload = super::sample::insert_only(name, self.sql);
        let admin = self.create(target.as_ref(), &workload).await?;
        let client = self.connect(target.as_ref(), &workload).await?;
        Ok((target, workload, admin, client))
    }

    /// A target with the table of this name, with ten rows added by a session that has ended.
    pub(super) async fn filled(
        &self,
        name: &str,
    ) -> Result<(Arc<dyn Target>, BoundWorkload, Box<dyn Admin>), Broken> {
        let (target, workload, admin, mut client) = self.stage(None, name).await?;
        client.adds(0, 10).await?;
        Ok((target, workload, admin))
    }

    pub(super) async fn connect(
        &self,
        target: &dyn Target,
        workload: &BoundWorkload,
    ) -> Result<Client, UserError> {
        let number = NEXT_SESSION.fetch_add(1, Ordering::Relaxed);
        self.connect_as(number, target, workload).await
    }

    async fn connect_as(
        &self,
        number: u32,
        target: &dyn Target,
        workload: &BoundWorkload,
    ) -> Result<Client, UserError> {
        let session = target
            .connect(Connect {
                workload: Arc::new(workload.clone()),
                number,
                attempt: 0,
                timeline: Rc::clone(&self.timeline),
            })
            .await?;
        Ok(Client { encoder: session.encoder(), session })
    }

    /// Executes one statement without parameters on a separate session, on each host if a user would have to.
    pub(super) async fn statement(&self, target: &dyn Target, sql: &str) -> Result<(), Broken> {
        let workload = BoundWorkload {
            ops: vec![super::sample::query("statement", sql.to_owned(), &[])],
            ..BoundWorkload::default()
        };
        let hosts = if self.sql.each_host { target.urls().len() } else { 1 };
        for number in (0..).take(hosts) {
            let mut client = self.connect_as(number, target, &workload).await?;
            let outcome = client.send(OpId(0), &[]).await;
            require!(outcome.is_success(), "`{sql}` failed: {outcome:?}");
        }
        Ok(())
    }

    /// Drops a table as a user would.
    pub(super) async fn drop_table(&self, target: &dyn Target, name: &str) -> Result<(), Broken> {
        for sql in (self.sql.drop)(name) {
            self.statement(target, &sql).await?;
        }
        Ok(())
    }

    /// Waits until nothing is running and everything is visible.
    pub(super) async fn quiesce(&self, admin: &mut dyn Admin) -> Result<(), Broken> {
        let deadline = self.timeline.now().saturating_add(QUIESCE_LIMIT);
        let idle = admin.quiesce(deadline).await?;
        require!(idle, "not quiet after {} s", QUIESCE_LIMIT.as_secs_f64());
        Ok(())
    }

    /// Rows of a table, once everything is visible.
    pub(super) async fn count(
        &self,
        admin: &mut dyn Admin,
        table: &BoundTable,
    ) -> Result<u64, Broken> {
        self.quiesce(admin).await?;
        let counts = admin.count_by_key(table, u64::MAX).await?;
        let with_key: u64 = counts.buckets.iter().map(|(_, rows)| rows).sum();
        Ok(with_key + counts.without_key)
    }

    /// Fails unless a table has this many rows.
    pub(super) async fn expect_rows(
        &self,
        admin: &mut dyn Admin,
        table: &BoundTable,
        rows: u64,
        what: &str,
    ) -> Result<(), Broken> {
        same(&self.count(admin, table).await?, &rows, what)
    }
}

/// A session with its encoder.
pub(super) struct Client {
    pub(super) session: Box<dyn Session>,
    pub(super) encoder: Box<dyn Encoder>,
}

impl Client {
    pub(super) async fn execute(&mut self, request: &mut Request) -> Outcome {
        self.encoder.encode(request);
        self.session.execute(request).await
    }

    pub(super) async fn insert(&mut self, batch: RowBatch) -> Outcome {
        self.execute(&mut insert_request(batch)).await
    }

    /// Inserts rows, and expects all of them to be applied.
    pub(super) async fn applies(&mut self, batch: RowBatch, mode: &str) -> Result<(), Broken> {
        let rows = batch.rows;
        let outcome = self.insert(batch).await;
        expect_applied(&outcome, rows, mode)
    }

    /// Inserts rows from `first_row`, and expects all of them to be applied.
    pub(super) async fn adds(&mut self, first_row: u64, rows: usize) -> Result<(), Broken> {
        self.applies(super::sample::batch(first_row, rows), "default").await
    }

    pub(super) async fn send(&mut self, id: OpId, parameters: &[Value]) -> Outcome {
        let body = OpBody::Query(parameters.to_vec());
        self.execute(&mut request(id, 0, body)).await
    }
}

/// A request of the sample's insert op.
pub(super) fn insert_request(batch: RowBatch) -> Request {
    let first_row = batch.first_row;
    request(super::sample::INSERT, first_row, OpBody::Insert(batch))
}

fn request(id: OpId, index: u64, body: OpBody) -> Request {
    Request { op: Op { id, index, body }, bytes: Vec::new() }
}

/// Expects that the batch of `rows` rows was applied completely.
pub(super) fn expect_applied(outcome: &Outcome, rows: usize, mode: &str) -> Result<(), Broken> {
    let whole = outcome.certainty == Certainty::Applied
        && outcome.rows_applied == rows as u64
        && outcome.rows_refused == 0
        && outcome.error.is_none()
        && outcome.session_usable;
    require!(whole, "insert mode {mode}, {rows} rows: {outcome:?}");
    Ok(())
}
