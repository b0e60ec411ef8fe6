//! Operations before and after the load: facts, tables, quiescence, counts. Must not measure time.

use highwater_model::op::{self, BoundTable, BoundWorkload};
use highwater_model::stored::KeyRange;
use highwater_model::table_shape::TableShape;
use highwater_model::units::Nanos;

use super::query::{AdminConnection, PAUSE_MAX, PAUSE_MIN, name_list, number};
use super::{audit, facts, stability};
use highwater_driver::contract::{
    KeyCounts, KeySums, Response, RowTaker, ServerAdmin, ShardCopies, TableAdmin, TableDescriber,
    TableReader, TargetFacts,
};
use highwater_driver::regular_file::DiskSpace;
use highwater_driver::sql::connection::Texts;
use highwater_driver::sql::cratedb::CRATEDB;
use highwater_driver::sql::dialect::quoted;
use highwater_driver::sql::{audit as sql, cratedb, leases, tables};
use highwater_driver::table_registry::{
    self, Lease, LeaseAction, RegistryEntry, Right, TablePolicy,
};
use highwater_model::user_error::{UserError, UserErrorKind};

/// An abandoned op may still be unread in the server's sockets, or be parsed: on a busy machine, a long statement took
/// seconds before it was listed. The list of running statements is reliable only this long after the last abandoned op.
const AFTER_ABANDONED: Nanos = Nanos::from_secs(10);

/// Running inserts of all Highwater sessions: recent and older ones. A disconnected client cancels nothing, so this is
/// the only way to find them. Other clients quote their table differently.
const RUNNING: &str = "SELECT count(*) FILTER (WHERE started > now() - INTERVAL '90 seconds'), \
     count(*) FILTER (WHERE started <= now() - INTERVAL '90 seconds') FROM sys.jobs \
     WHERE username = current_user AND stmt LIKE 'INSERT INTO \"%'";
/// An insert listed for longer than the longest one observed (63 s) may be one whose client disconnected and that the
/// server never removes from its list. It counts as done when nothing was written for this long.
const STILL: Nanos = Nanos::from_secs(3);
/// Changes with every write to a table of the schema.
const WRITES: &str = "SELECT count(*), sum(seq_no_stats['max_seq_no']) FROM sys.shards \
     WHERE schema_name = current_schema";
/// The writable tables of the schema.
const TABLES: &str = "SELECT table_name FROM information_schema.tables \
     WHERE table_schema = current_schema AND table_type = 'BASE TABLE' ORDER BY 1";
/// Rows that inserts of all clients wrote since the nodes started.
const WRITTEN: &str = "SELECT sum(total_affected_row_count) FROM sys.jobs_metrics \
     WHERE classification['type'] = 'INSERT'";

/// Shards are spread evenly, so the node with the least free space is the limit for all.
const DISKS: &str = "SELECT count(*), min(fs['total']['available']), sum(fs['total']['size']) \
     FROM sys.nodes";

/// Operations before and after the load, on a separate connection.
pub(super) struct HttpAdmin {
    connection: AdminConnection,
    /// Tables of the workload.
    tables: Vec<String>,
    /// The server's counter before the load, if it was read.
    written_before: Option<u64>,
    /// Rows written to the table registry since then; the counter includes them.
    registry_rows: u64,
    /// The write pools' rejection count before the load.
    rejected_before: Option<u64>,
    /// The state of the cluster at the start of the load, if it was not normal.
    remarks: Vec<String>,
}

impl HttpAdmin {
    pub(super) fn new(connection: AdminConnection) -> Self {
        Self {
            connection,
            tables: Vec::new(),
            written_before: None,
            registry_rows: 0,
            rejected_before: None,
            remarks: Vec::new(),
        }
    }

    async fn wait_until_idle(&mut self, deadline: Nanos) -> Result<bool, UserError> {
        let mut pause = PAUSE_MIN;
        let mut writes = None;
        let mut still_since = self.connection.timeline.now();
        loop {
            let begun = self.connection.timeline.now();
            let running = self.connection.rows(RUNNING).await?;
            let recent = number(&running, 0).unwrap_or(0);
            let mut old = number(&running, 1).unwrap_or(0);
            if old > 0 {
                let now_written = self.connection.rows(WRITES).await?;
                if writes.as_ref() != Some(&now_written) {
                    writes = Some(now_written);
                    still_since = begun;
                } else if begun.saturating_sub(still_since) >= STILL {
                    old = 0;
                }
            }
            let stability = &self.connection.node.stability;
            if recent + old == 0 && stability.is_settled(begun, AFTER_ABANDONED) {
                return self.refresh_all().await.map(|()| true);
            }
            let now = self.connection.timeline.now();
            if now >= deadline {
                return Ok(false);
            }
            let next = pause.min(deadline.saturating_sub(now));
            self.connection.pause(next).await;
            pause = Nanos(pause.0.saturating_mul(2)).min(PAUSE_MAX);
        }
    }

    /// Makes writes to the tables of the schema visible: the user's own statements write to tables that were not
    /// created here, and the audit queries them. One of these may be closed.
    async fn refresh_all(&mut self) -> Result<(), UserError> {
        let names = self.connection.rows(TABLES).await?;
        for name in names.into_iter().flatten().flatten() {
            let is_ours = self.tables.contains(&name);
            match self.connection.refresh(&name).await {
                Err(error) if is_ours || error.kind != UserErrorKind::Statement => {
                    return Err(error);
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Waits until the cluster and the copies of these tables have settled.
    async fn settle(&mut self, tables: &[String]) -> Result<(), UserError> {
        self.tables = tables.to_vec();
        self.remarks = stability::settle(&mut self.connection, tables).await?;
        self.written_before = number(&self.connection.rows(WRITTEN).await?, 0);
        self.registry_rows = 0;
        self.rejected_before = self.rejected().await?;
        Ok(())
    }

    async fn rejected(&mut self) -> Result<Option<u64>, UserError> {
        let pool = stability::read_pools(&mut self.connection).await?;
        Ok(pool.map(|pool| pool.rejected))
    }

    /// Remarks on the state of the cluster before the load, and on rejections since then.
    async fn remark(&mut self) -> Result<Vec<String>, UserError> {
        let mut remarks = std::mem::take(&mut self.remarks);
        let counts = self.rejected().await?.zip(self.rejected_before);
        if let Some(requests @ 1..) = counts.and_then(|(now, before)| now.checked_sub(before)) {
            remarks.push(format!(
                "the write pools rejected {requests} requests to shards during the run; the \
                 cluster tries each three times again"
            ));
        }
        Ok(remarks)
    }

    /// Rows written by inserts since the tables were created; `None` if a restart has reset the counters, or if they
    /// are disabled.
    async fn written(&mut self) -> Result<Option<u64>, UserError> {
        let before = self.written_before;
        let now = number(&self.connection.rows(WRITTEN).await?, 0);
        Ok(now
            .zip(before)
            .and_then(|(now, before)| now.checked_sub(before)?.checked_sub(self.registry_rows)))
    }

    async fn bytes(&mut self, workload: &BoundWorkload) -> Result<Option<u64>, UserError> {
        let tables: Vec<String> = workload.tables.iter().map(|t| t.name.clone()).collect();
        if tables.is_empty() {
            return Ok(Some(0));
        }
        let rows = self
            .connection
            .rows(&format!(
                "SELECT sum(size) FROM sys.shards \
                 WHERE schema_name = current_schema AND table_name IN ({})",
                name_list(&tables)
            ))
            .await?;
        Ok(number(&rows, 0))
    }
}

impl ServerAdmin for HttpAdmin {
    fn facts(&mut self) -> Response<'_, TargetFacts> {
        Box::pin(facts::read(&mut self.connection))
    }

    fn quiesce(&mut self, deadline: Nanos) -> Response<'_, bool> {
        Box::pin(self.wait_until_idle(deadline))
    }

    fn disk(&mut self) -> Response<'_, Option<DiskSpace>> {
        Box::pin(async move {
            let rows = self.connection.rows(DISKS).await?;
            // A node that has no such value reports a negative number.
            let [Some(nodes), Some(least), Some(total_bytes)] =
                [0, 1, 2].map(|at| number(&rows, at))
            else {
                return Ok(None);
            };
            let place = if nodes == 1 {
                "the node's disk".to_owned()
            } else {
                format!("the disks of {nodes} nodes, by the fullest")
            };
            let free_bytes = least.saturating_mul(nodes);
            Ok(Some(DiskSpace { place, free_bytes, total_bytes }))
        })
    }

    fn try_rights<'a>(&'a mut self, table: &'a str) -> Response<'a, Option<Vec<Right>>> {
        Box::pin(async move {
            let rights = table_registry::try_all(&mut self.connection, &quoted(table), "").await;
            rights.map(Some)
        })
    }

    fn remarks(&mut self) -> Response<'_, Vec<String>> {
        Box::pin(self.remark())
    }
}

impl TableAdmin for HttpAdmin {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>> {
        Box::pin(async move {
            let made = tables::create(&mut self.connection, &CRATEDB, workload, policy).await;
            let made = made.map_err(|error| error.of_table(&self.connection.node.shown))?;
            let names: Vec<String> = workload.tables.iter().map(|t| t.name.clone()).collect();
            self.settle(&names).await?;
            Ok(made)
        })
    }

    fn update_registry<'a>(&'a mut self, entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        Box::pin(async move {
            self.registry_rows += entries.len() as u64;
            tables::update(&mut self.connection, &CRATEDB, entries).await
        })
    }

    fn leases<'a>(&'a mut self, action: LeaseAction<'a>) -> Response<'a, Vec<Lease>> {
        Box::pin(async move {
            let words = CRATEDB.leases;
            leases::perform(&mut self.connection, &words, action).await
        })
    }

    fn listed_tables<'a>(&'a mut self, drop: &'a [String]) -> Response<'a, Vec<RegistryEntry>> {
        Box::pin(tables::listed_tables(self, &CRATEDB, drop))
    }

    fn rows_inserted<'a>(&'a mut self, _workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(self.written())
    }

    fn storage_bytes<'a>(&'a mut self, workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(self.bytes(workload))
    }
}

impl TableReader for HttpAdmin {
    fn count_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> Response<'a, KeyCounts> {
        let statement = sql::counts(&CRATEDB, table, width);
        let connection = &mut self.connection;
        Box::pin(audit::of_integers(connection, table, statement, sql::counted))
    }

    fn sums_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64) -> Response<'a, KeySums> {
        let statement = sql::sums(&CRATEDB, table, width);
        let read = move |rows: &Texts| sql::summed(table, width, rows);
        let connection = &mut self.connection;
        Box::pin(audit::of_integers(connection, table, statement, read))
    }

    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()> {
        Box::pin(audit::read(&mut self.connection, table, ranges, take))
    }

    fn copies<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        _with_values: bool,
    ) -> Response<'a, Vec<ShardCopies>> {
        Box::pin(audit::copies(&mut self.connection, workload))
    }

    fn condition(&self, table: &BoundTable, row: &[op::Value]) -> Option<String> {
        Some(CRATEDB.condition(table, row))
    }

    fn query<'a>(&'a mut self, sql: &'a str) -> Response<'a, Texts> {
        Box::pin(self.connection.long_rows(sql))
    }
}

impl TableDescriber for HttpAdmin {
    fn describe<'a>(&'a mut self, table: &'a str) -> Response<'a, TableShape> {
        let place = self.connection.node.shown.clone();
        Box::pin(async move { cratedb::describe(&mut self.connection, &place, table).await })
    }
}
