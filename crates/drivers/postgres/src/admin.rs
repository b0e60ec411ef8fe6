//! Everything around the load: facts, tables, quiescence, counts. Must not measure time.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;

use highwater_model::op::{BoundTable, BoundWorkload, Value};
use highwater_model::stored::{KeyRange, is_within};
use highwater_model::table_shape::TableShape;
use highwater_model::units::Nanos;
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::admin_connection::{AdminConnection, row};
use super::connect::Opened;
use super::describe;
use super::facts;
use super::message;
use super::options::Node;
use highwater_driver::contract::{
    KeyCounts, KeySums, Response, RowTaker, ServerAdmin, TableAdmin, TableDescriber, TableReader,
    TargetError, TargetFacts, Timeline,
};
use highwater_driver::disk::DiskSpace;
use highwater_driver::lease::{Lease, LeaseAction};
use highwater_driver::rights::{self, Right};
use highwater_driver::sql::audit;
use highwater_driver::sql::describe::{SqlQuery, number};
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql::{leases, tables};
use highwater_driver::table_registry::{RegistryEntry, TablePolicy};

/// First pause between two polls of a server that is not done.
const PAUSE_MIN: Nanos = Nanos::from_millis(10);
/// Longest pause between two polls.
const PAUSE_MAX: Nanos = Nanos::from_millis(250);
/// How long requests of a disconnected client may stay unread, if only running statements are
/// listed.
const UNREAD: Nanos = Nanos::from_secs(10);
/// A counter that did not move for so long is taken as final; backends report once a second.
const COUNTER_STILL: Nanos = Nanos::from_millis(1_200);
/// No longer than this for a counter to come to rest.
const COUNTER_WAIT_MAX: Nanos = Nanos::from_secs(12);

/// Everything around the load, on a connection of its own.
pub(super) struct WireAdmin {
    connection: AdminConnection,
    timeline: Rc<dyn Timeline>,
    /// The server's directories, if it is on this machine; empty until they were queried.
    directories: OnceCell<Vec<PathBuf>>,
}

impl WireAdmin {
    pub(super) fn new(
        opened: Opened,
        node: Node,
        insert: &'static str,
        timeline: Rc<dyn Timeline>,
    ) -> Self {
        Self {
            connection: AdminConnection::new(opened, node, insert, Rc::clone(&timeline)),
            timeline,
            directories: OnceCell::new(),
        }
    }

    async fn pause(&self, pause: Nanos) {
        self.timeline
            .sleep_until(self.timeline.now().saturating_add(pause))
            .await;
    }

    async fn wait_until_idle(&mut self, deadline: Nanos) -> Result<bool, TargetError> {
        let name = escape_literal(&self.connection.node.login.application_name);
        let mut pause = PAUSE_MIN;
        let begun = self.timeline.now();
        loop {
            let lingering = self.connection.node.lingering.list();
            let sql = self.connection.dialect().count_running(&name, &lingering);
            let unread = self.connection.dialect().hides_unread_inserts()
                && !lingering.is_empty()
                && self.timeline.now().saturating_sub(begun) < UNREAD;
            if number(&self.connection.rows(&sql).await?, 0) == 0 && !unread {
                self.connection.node.lingering.forget(&lingering);
                return self.make_all_visible().await.map(|()| true);
            }
            let now = self.timeline.now();
            if now >= deadline {
                return Ok(false);
            }
            self.pause(pause.min(deadline.saturating_sub(now))).await;
            pause = Nanos(pause.0.saturating_mul(2)).min(PAUSE_MAX);
        }
    }

    /// Makes visible what was written to the tables of the schema, where that takes a statement.
    async fn make_all_visible(&mut self) -> Result<(), TargetError> {
        if self.connection.dialect().refresh("").is_none() {
            return Ok(());
        }
        let tables = self
            .connection
            .rows(
                "SELECT table_name FROM information_schema.tables \
                 WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'",
            )
            .await?;
        for name in tables.into_iter().flatten().flatten() {
            if let Some(statement) = self.connection.dialect().refresh(&escape_identifier(&name)) {
                self.connection.texts(&statement).await?;
            }
        }
        Ok(())
    }

    async fn count(&mut self, table: &BoundTable, width: u64) -> Result<KeyCounts, TargetError> {
        self.connection.make_visible(table).await?;
        let sql = audit::counts(self.connection.dialect(), table, width);
        let counts = audit::counted(&self.connection.long_rows(&sql).await?);
        counts.ok_or_else(|| audit::not_integers(self.connection.place()))
    }

    async fn sums(&mut self, table: &BoundTable, width: u64) -> Result<KeySums, TargetError> {
        self.connection.make_visible(table).await?;
        let sql = audit::sums(self.connection.dialect(), table, width);
        let sums = audit::summed(table, width, &self.connection.long_rows(&sql).await?);
        sums.ok_or_else(|| audit::not_integers(self.connection.place()))
    }

    async fn read(
        &mut self,
        table: &BoundTable,
        ranges: &[KeyRange],
        take: &mut RowTaker<'_>,
    ) -> Result<(), TargetError> {
        self.connection.make_visible(table).await?;
        for (sql, ranges) in audit::reads(self.connection.dialect(), table, ranges) {
            let mut request = Vec::new();
            message::query(&mut request, &sql);
            let read = self.connection.wire.request(&request, |message| {
                if message.tag == b'D'
                    && let Some(stored) = audit::stored(table, row(message.body))
                    && is_within(ranges, stored.key)
                {
                    take(stored);
                }
            });
            read.await
                .map_err(|failure| failure.into_target_error(&self.connection.node.shown))?;
        }
        Ok(())
    }

    /// The sum of a function over the workload's tables and their partitions.
    async fn sum(
        &mut self,
        workload: &BoundWorkload,
        expression: &str,
    ) -> Result<u64, TargetError> {
        let names: Vec<String> = workload
            .tables
            .iter()
            .map(|table| escape_literal(&table.name))
            .collect();
        if names.is_empty() {
            return Ok(0);
        }
        let rows = self
            .connection
            .rows(&format!(
                "WITH RECURSIVE tree(oid) AS (\
                 SELECT c.oid FROM pg_catalog.pg_class c \
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = current_schema() AND c.relname IN ({}) \
                 UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i \
                 JOIN tree ON i.inhparent = tree.oid) \
                 SELECT coalesce(sum({expression}), 0)::bigint FROM tree",
                names.join(", ")
            ))
            .await?;
        Ok(number(&rows, 0))
    }

    /// Reads the counter until it rests: backends report what they did with a delay.
    async fn settled_inserts(&mut self, workload: &BoundWorkload) -> Result<u64, TargetError> {
        let read = "pg_catalog.pg_stat_get_tuples_inserted(oid)";
        let begun = self.timeline.now();
        let mut value = self.sum(workload, read).await?;
        let mut since = begun;
        loop {
            let now = self.timeline.now();
            if now.saturating_sub(since) >= COUNTER_STILL
                || now.saturating_sub(begun) >= COUNTER_WAIT_MAX
            {
                return Ok(value);
            }
            self.pause(PAUSE_MAX).await;
            let next = self.sum(workload, read).await?;
            if next != value {
                value = next;
                since = self.timeline.now();
            }
        }
    }
}

impl ServerAdmin for WireAdmin {
    fn facts(&mut self) -> Response<'_, TargetFacts> {
        Box::pin(facts::read(&mut self.connection))
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
            let name = escape_identifier(table);
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
            let dialect = self.connection.dialect();
            let made = tables::create(&mut self.connection, dialect, workload, policy).await;
            made.map_err(|error| error.of_table(self.connection.place()))
        })
    }

    fn update_registry<'a>(&'a mut self, entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        Box::pin(async move {
            let dialect = self.connection.dialect();
            tables::update(&mut self.connection, dialect, entries).await
        })
    }

    fn leases<'a>(&'a mut self, action: LeaseAction<'a>) -> Response<'a, Vec<Lease>> {
        Box::pin(async move {
            let words = self.connection.dialect().lease_words();
            leases::perform(&mut self.connection, &words, action).await
        })
    }

    fn rows_inserted<'a>(&'a mut self, workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(async move {
            match self.connection.dialect() {
                Dialect::PostgreSql => self.settled_inserts(workload).await.map(Some),
                _ => Ok(None),
            }
        })
    }

    fn storage_bytes<'a>(&'a mut self, workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(async move {
            match self.connection.dialect() {
                Dialect::PostgreSql => self
                    .sum(workload, "pg_catalog.pg_total_relation_size(oid)")
                    .await
                    .map(Some),
                _ => Ok(None),
            }
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
        Some(self.connection.dialect().condition(table, row))
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

/// Where new tables are made, if not in the data directory.
const TABLESPACE: &str = "SELECT pg_catalog.pg_tablespace_location(s.oid) \
    FROM pg_catalog.pg_tablespace s JOIN pg_catalog.pg_database d \
    ON d.datname = current_database() \
    AND CASE current_setting('default_tablespace') WHEN '' THEN s.oid = d.dattablespace \
    ELSE s.spcname = current_setting('default_tablespace') END";

/// Where the server writes, if it runs on this machine and reports it: tables, and its log.
async fn directories(connection: &mut AdminConnection) -> Vec<PathBuf> {
    if connection.dialect() != Dialect::PostgreSql || !connection.node.is_local() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for question in ["SHOW data_directory", TABLESPACE] {
        let rows = connection.rows(question).await.unwrap_or_default();
        let place = rows.into_iter().flatten().flatten().next();
        found.extend(place.filter(|place| !place.is_empty()).map(PathBuf::from));
    }
    // Often a link to a disk of its own.
    let log = found.first().map(|directory| directory.join("pg_wal"));
    found.extend(log);
    found
}
