//! Everything around the load: facts, tables, quiescence, counts. Must not measure time.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;

use highwater_driver::contract::{
    BoxFuture, KeyCounts, KeySums, RowTaker, ServerAdmin, TableAdmin, TableDescriber, TableReader,
    TargetError, TargetErrorKind, TargetFacts, Timeline,
};
use highwater_driver::disk::DiskSpace;
use highwater_driver::lease::{Lease, LeaseAction};
use highwater_driver::rights::{self, Right, Rights};
use highwater_driver::sql::audit;
use highwater_driver::sql::describe::number;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql::leases;
use highwater_driver::table_registry::{RegistryEntry, TablePolicy};
use highwater_model::op::{BoundTable, BoundWorkload, Value};
use highwater_model::stored::{KeyRange, is_within};
use highwater_model::table_shape::TableShape;
use highwater_model::units::Nanos;

use super::admin_connection::AdminConnection;
use super::connect::Opened;
use super::describe;
use super::encode::Mode;
use super::facts;
use super::options::Node;
use super::tables;

/// Its SQL.
const DIALECT: Dialect = Dialect::MySql;
/// First pause between two polls of a server that is not done.
const PAUSE_MIN: Nanos = Nanos::from_millis(10);
/// Longest pause between two polls.
const PAUSE_MAX: Nanos = Nanos::from_millis(250);

/// Everything around the load, on a connection of its own.
pub(super) struct WireAdmin {
    connection: AdminConnection,
    mode: Mode,
    timeline: Rc<dyn Timeline>,
    /// The server's directories, if it is on this machine; empty until they were queried.
    directories: OnceCell<Vec<PathBuf>>,
}

impl WireAdmin {
    pub(super) fn new(opened: Opened, node: Node, mode: Mode, timeline: Rc<dyn Timeline>) -> Self {
        Self {
            connection: AdminConnection::new(opened, node, mode.name(), Rc::clone(&timeline)),
            mode,
            timeline,
            directories: OnceCell::new(),
        }
    }

    /// A statement whose client has left is listed until it is done, and so is a connection that we
    /// left until the server has read what we sent.
    async fn wait_until_idle(&mut self, deadline: Nanos) -> Result<bool, TargetError> {
        let mut pause = PAUSE_MIN;
        loop {
            let lingering = self.connection.node.lingering.list();
            let sql = DIALECT.count_running("", &lingering);
            if number(&self.connection.rows(&sql).await?, 0) == 0 {
                self.connection.node.lingering.forget(&lingering);
                return Ok(true);
            }
            let now = self.timeline.now();
            if now >= deadline {
                return Ok(false);
            }
            let next = now.saturating_add(pause.min(deadline.saturating_sub(now)));
            self.timeline.sleep_until(next).await;
            pause = Nanos(pause.0.saturating_mul(2)).min(PAUSE_MAX);
        }
    }

    async fn count(&mut self, table: &BoundTable, width: u64) -> Result<KeyCounts, TargetError> {
        let mut counts = KeyCounts::default();
        let sql = audit::counts(DIALECT, table, width);
        for row in self.connection.long_rows(&sql).await? {
            if !audit::take_count(&mut counts, &row) {
                return Err(self.unexpected());
            }
        }
        Ok(counts)
    }

    async fn sums(&mut self, table: &BoundTable, width: u64) -> Result<KeySums, TargetError> {
        let mut sums = KeySums {
            covered: vec![true; table.columns.len()],
            ..KeySums::default()
        };
        let sql = audit::sums(DIALECT, table, width);
        for row in self.connection.long_rows(&sql).await? {
            if !audit::take_sums(&mut sums, width, &row) {
                return Err(self.unexpected());
            }
        }
        Ok(sums)
    }

    async fn read(
        &mut self,
        table: &BoundTable,
        ranges: &[KeyRange],
        take: &mut RowTaker<'_>,
    ) -> Result<(), TargetError> {
        for (sql, ranges) in audit::reads(DIALECT, table, ranges) {
            self.connection
                .each_row(&sql, &mut |row| {
                    let stored = audit::stored(table, row);
                    if let Some(stored) = stored.filter(|row| is_within(ranges, row.key)) {
                        take(stored);
                    }
                    true
                })
                .await?;
        }
        Ok(())
    }

    fn unexpected(&self) -> TargetError {
        TargetError {
            kind: TargetErrorKind::Statement,
            message: format!(
                "{}: the count by key is not made of integers",
                self.connection.place()
            ),
            hint: Some("the workload's `key` must be an integer expression".to_owned()),
        }
    }
}

impl ServerAdmin for WireAdmin {
    fn facts(&mut self) -> BoxFuture<'_, Result<TargetFacts, TargetError>> {
        Box::pin(facts::read(&mut self.connection, self.mode.is_atomic()))
    }

    fn quiesce(&mut self, deadline: Nanos) -> BoxFuture<'_, Result<bool, TargetError>> {
        Box::pin(self.wait_until_idle(deadline))
    }

    fn disk(&mut self) -> BoxFuture<'_, Result<Option<DiskSpace>, TargetError>> {
        Box::pin(async move {
            if self.directories.get().is_none() {
                let found = directories(&mut self.connection).await;
                self.directories.get_or_init(|| found);
            }
            let directories = self.directories.get().into_iter().flatten();
            let disks = directories.filter_map(|path| DiskSpace::of_path(path));
            // The run ends with the first that is full.
            Ok(disks.min_by_key(|disk| disk.free_bytes))
        })
    }

    fn try_rights<'a>(
        &'a mut self,
        table: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<Right>>, TargetError>> {
        Box::pin(async move {
            let mut rights = Rights::default();
            for (name, sql) in rights::attempts(&DIALECT.identifier(table)) {
                if !rights.note(name, self.connection.run(&sql).await)? {
                    break;
                }
            }
            Ok(Some(rights.into_list()))
        })
    }
}

impl TableAdmin for WireAdmin {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> BoxFuture<'a, Result<Vec<RegistryEntry>, TargetError>> {
        Box::pin(tables::create(&mut self.connection, workload, policy))
    }

    fn update_registry<'a>(
        &'a mut self,
        entries: &'a [RegistryEntry],
    ) -> BoxFuture<'a, Result<(), TargetError>> {
        Box::pin(tables::update(&mut self.connection, entries))
    }

    fn leases<'a>(
        &'a mut self,
        action: LeaseAction<'a>,
    ) -> BoxFuture<'a, Result<Vec<Lease>, TargetError>> {
        Box::pin(async move {
            let words = DIALECT.lease_words();
            leases::perform(&mut self.connection, &words, action).await
        })
    }

    /// None of its counters leaves out what failed or was rolled back.
    fn rows_inserted<'a>(
        &'a mut self,
        _workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn storage_bytes<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>> {
        Box::pin(async move {
            let Some(named) = tables::is_among(workload) else {
                return Ok(Some(0));
            };
            let sql = format!(
                "SELECT CAST(coalesce(sum(data_length + index_length), 0) AS SIGNED) \
                 FROM information_schema.tables WHERE {named}"
            );
            Ok(Some(number(&self.connection.rows(&sql).await?, 0)))
        })
    }
}

impl TableReader for WireAdmin {
    fn count_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> BoxFuture<'a, Result<KeyCounts, TargetError>> {
        Box::pin(self.count(table, width))
    }

    fn sums_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> BoxFuture<'a, Result<KeySums, TargetError>> {
        Box::pin(self.sums(table, width))
    }

    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> BoxFuture<'a, Result<(), TargetError>> {
        Box::pin(self.read(table, ranges, take))
    }

    fn condition(&self, table: &BoundTable, row: &[Value]) -> Option<String> {
        Some(DIALECT.condition(table, row))
    }

    fn query<'a>(
        &'a mut self,
        sql: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Vec<Option<String>>>, TargetError>> {
        Box::pin(self.connection.long_rows(sql))
    }
}

impl TableDescriber for WireAdmin {
    fn describe<'a>(
        &'a mut self,
        table: &'a str,
    ) -> BoxFuture<'a, Result<TableShape, TargetError>> {
        Box::pin(describe::describe(&mut self.connection, table))
    }
}

/// Where the server writes, if it runs on this machine and reports it: tables, and its log.
async fn directories(connection: &mut AdminConnection) -> Vec<PathBuf> {
    if !connection.node.is_local() {
        return Vec::new();
    }
    let sql = "SELECT @@datadir, @@innodb_log_group_home_dir";
    let rows = connection.rows(sql).await.unwrap_or_default();
    let places = rows.into_iter().flatten().flatten().map(PathBuf::from);
    // A log that is beside the tables has no directory of its own.
    places.filter(|place| place.is_absolute()).collect()
}
