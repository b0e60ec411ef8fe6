//! Everything around the load: facts, tables, quiescence, counts. Must not measure time.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;

use highwater_driver::contract::{
    KeyCounts, KeySums, Response, RowTaker, ServerAdmin, TableAdmin, TableDescriber, TableReader,
    TargetError, TargetFacts, Timeline,
};
use highwater_driver::disk::DiskSpace;
use highwater_driver::lease::{Lease, LeaseAction};
use highwater_driver::rights::{self, Right};
use highwater_driver::sql::audit;
use highwater_driver::sql::describe::number;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql::{leases, tables};
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
        let sql = audit::counts(DIALECT, table, width);
        let counts = audit::counted(&self.connection.long_rows(&sql).await?);
        counts.ok_or_else(|| audit::not_integers(self.connection.place()))
    }

    async fn sums(&mut self, table: &BoundTable, width: u64) -> Result<KeySums, TargetError> {
        let sql = audit::sums(DIALECT, table, width);
        let sums = audit::summed(table, width, &self.connection.long_rows(&sql).await?);
        sums.ok_or_else(|| audit::not_integers(self.connection.place()))
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
}

impl ServerAdmin for WireAdmin {
    fn facts(&mut self) -> Response<'_, TargetFacts> {
        Box::pin(facts::read(&mut self.connection, self.mode.is_atomic()))
    }

    fn quiesce(&mut self, deadline: Nanos) -> Response<'_, bool> {
        Box::pin(self.wait_until_idle(deadline))
    }

    fn disk(&mut self) -> Response<'_, Option<DiskSpace>> {
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

    fn try_rights<'a>(&'a mut self, table: &'a str) -> Response<'a, Option<Vec<Right>>> {
        Box::pin(async move {
            let name = DIALECT.identifier(table);
            rights::try_all(&mut self.connection, &name).await.map(Some)
        })
    }
}

impl TableAdmin for WireAdmin {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>> {
        Box::pin(async move {
            let made = tables::create(&mut self.connection, DIALECT, workload, policy).await;
            made.map_err(|error| error.of_table(self.connection.place()))
        })
    }

    fn update_registry<'a>(&'a mut self, entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        Box::pin(tables::update(&mut self.connection, DIALECT, entries))
    }

    fn leases<'a>(&'a mut self, action: LeaseAction<'a>) -> Response<'a, Vec<Lease>> {
        Box::pin(async move {
            let words = DIALECT.lease_words();
            leases::perform(&mut self.connection, &words, action).await
        })
    }

    fn storage_bytes<'a>(&'a mut self, workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(async move {
            let Some(named) = is_among(workload) else {
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
    ) -> Response<'a, KeyCounts> {
        Box::pin(self.count(table, width))
    }

    fn sums_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64) -> Response<'a, KeySums> {
        Box::pin(self.sums(table, width))
    }

    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()> {
        Box::pin(self.read(table, ranges, take))
    }

    fn condition(&self, table: &BoundTable, row: &[Value]) -> Option<String> {
        Some(DIALECT.condition(table, row))
    }

    fn query<'a>(&'a mut self, sql: &'a str) -> Response<'a, Vec<Vec<Option<String>>>> {
        Box::pin(self.connection.long_rows(sql))
    }
}

impl TableDescriber for WireAdmin {
    fn describe<'a>(&'a mut self, table: &'a str) -> Response<'a, TableShape> {
        Box::pin(describe::describe(&mut self.connection, table))
    }
}

/// A condition on `information_schema.tables` that leaves those of the workload; none if it has none.
fn is_among(workload: &BoundWorkload) -> Option<String> {
    let names = workload.tables.iter();
    let names: Vec<String> = names.map(|table| DIALECT.literal(&table.name)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "table_schema = database() AND table_name IN ({})",
            names.join(", ")
        )
    })
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
