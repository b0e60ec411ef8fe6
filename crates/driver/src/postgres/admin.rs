//! What a run needs around its load: facts, tables, quiescence, counts. Text protocol, one
//! statement at a time; nothing here is timed.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;

use highwater_core::model::op::{BoundTable, BoundWorkload};
use highwater_core::model::stored::{KeyRange, is_within};
use highwater_core::model::table_shape::TableShape;
use highwater_core::model::units::Nanos;
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::audit;
use super::connect::Opened;
use super::describe;
use super::dialect::Dialect;
use super::facts;
use super::message;
use super::options::Node;
use super::tables;
use super::wire::Connection;
use crate::contract::{
    Admin, BoxFuture, KeyCounts, KeySums, RowTaker, TargetError, TargetFacts, Timeline,
};
use crate::describing::{AUDITED, SqlQuery};
use crate::disk::DiskSpace;
use crate::rights::{self, Right, Rights};
use crate::table_registry::{RegistryEntry, TablePolicy};

/// First pause between two looks at a server that is not done.
const PAUSE_MIN: Nanos = Nanos::from_millis(10);
/// Longest pause between two looks.
const PAUSE_MAX: Nanos = Nanos::from_millis(250);
/// How long what a departed client left may stay unread, where only the list of statements tells.
const UNREAD: Nanos = Nanos::from_secs(10);
/// A counter that did not move for so long is taken as final; backends report once a second.
const COUNTER_STILL: Nanos = Nanos::from_millis(1_200);
/// No longer than this for a counter to come to rest.
const COUNTER_WAIT_MAX: Nanos = Nanos::from_secs(12);

/// The rows of an answer as text, null as none.
pub(super) type Rows = Vec<Vec<Option<String>>>;

/// The connection for everything but the load.
pub(super) struct WireAdmin {
    connection: Connection,
    dialect: Dialect,
    node: Node,
    /// The insert mode, for the facts.
    insert: &'static str,
    timeline: Rc<dyn Timeline>,
    /// Where the server keeps its data, if that is on this machine; absent until it was asked.
    directory: OnceCell<Option<PathBuf>>,
}

impl WireAdmin {
    pub(super) fn new(
        opened: Opened,
        node: Node,
        insert: &'static str,
        timeline: Rc<dyn Timeline>,
    ) -> Self {
        Self {
            connection: opened.connection,
            dialect: opened.dialect,
            node,
            insert,
            timeline,
            directory: OnceCell::new(),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(super) fn place(&self) -> &str {
        &self.node.shown
    }

    pub(super) fn insert(&self) -> &'static str {
        self.insert
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.connection.is_encrypted()
    }

    /// Runs a statement for its effect.
    pub(super) async fn run(&mut self, sql: &str) -> Result<(), TargetError> {
        self.rows(sql).await.map(drop)
    }

    /// Runs a statement and reads its rows.
    pub(super) async fn rows(&mut self, sql: &str) -> Result<Rows, TargetError> {
        rows_of(&mut self.connection, &self.node, sql).await
    }

    async fn pause(&self, pause: Nanos) {
        self.timeline
            .sleep_until(self.timeline.now().saturating_add(pause))
            .await;
    }

    async fn wait_until_idle(&mut self, deadline: Nanos) -> Result<bool, TargetError> {
        let name = escape_literal(&self.node.login.application_name);
        let mut pause = PAUSE_MIN;
        let begun = self.timeline.now();
        loop {
            let departed = self.node.departed.list();
            let sql = self.dialect.count_running(&name, &departed);
            let unread = self.dialect.hides_departed()
                && !departed.is_empty()
                && self.timeline.now().saturating_sub(begun) < UNREAD;
            if number(&self.rows(&sql).await?) == 0 && !unread {
                self.node.departed.forget(&departed);
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
        if self.dialect.refresh("").is_none() {
            return Ok(());
        }
        let tables = self
            .rows(
                "SELECT table_name FROM information_schema.tables \
                 WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'",
            )
            .await?;
        for name in tables.into_iter().flatten().flatten() {
            if let Some(statement) = self.dialect.refresh(&escape_identifier(&name)) {
                self.run(&statement).await?;
            }
        }
        Ok(())
    }

    async fn count(&mut self, table: &BoundTable, width: u64) -> Result<KeyCounts, TargetError> {
        self.make_visible(table).await?;
        let width = i64::try_from(width.max(1)).unwrap_or(i64::MAX);
        let bucket = self.dialect.divide("k", width);
        let rows = self
            .rows(&format!(
                "SELECT CASE WHEN k >= 0 THEN {bucket} ELSE -1 END AS bucket, count(*) \
                 FROM (SELECT CAST(({}) AS bigint) AS k FROM {}) AS {AUDITED} \
                 GROUP BY 1 ORDER BY 1",
                table.key,
                escape_identifier(&table.name)
            ))
            .await?;
        let mut counts = KeyCounts::default();
        for row in &rows {
            let [Some(bucket), Some(count)] = row.as_slice() else {
                return Err(unexpected(&self.node.shown));
            };
            let count: u64 = count.parse().map_err(|_| unexpected(&self.node.shown))?;
            match bucket.parse::<i64>().map(u64::try_from) {
                Ok(Ok(bucket)) => counts.buckets.push((bucket, count)),
                Ok(Err(_)) => counts.without_key += count,
                Err(_) => return Err(unexpected(&self.node.shown)),
            }
        }
        Ok(counts)
    }

    async fn sums(&mut self, table: &BoundTable, width: u64) -> Result<KeySums, TargetError> {
        self.make_visible(table).await?;
        let mut sums = KeySums {
            covered: vec![true; table.columns.len()],
            ..KeySums::default()
        };
        let sql = audit::sums(self.dialect, table, width);
        for row in self.rows(&sql).await? {
            if !audit::take_sums(&mut sums, width, &row) {
                return Err(unexpected(&self.node.shown));
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
        self.make_visible(table).await?;
        for (sql, ranges) in audit::reads(self.dialect, table, ranges) {
            let mut request = Vec::new();
            message::query(&mut request, &sql);
            let read = self.connection.ask(&request, |message| {
                if message.tag == b'D'
                    && let Some(stored) = audit::stored(table, row(message.body))
                    && is_within(ranges, stored.key)
                {
                    take(stored);
                }
            });
            read.await
                .map_err(|failure| failure.into_target_error(&self.node.shown))?;
        }
        Ok(())
    }

    async fn make_visible(&mut self, table: &BoundTable) -> Result<(), TargetError> {
        if let Some(question) = self.dialect.before_a_look() {
            self.rows(question).await?;
        }
        match self.dialect.refresh(&escape_identifier(&table.name)) {
            Some(statement) => self.run(&statement).await,
            None => Ok(()),
        }
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
        Ok(number(&rows))
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

impl Admin for WireAdmin {
    fn facts(&mut self) -> BoxFuture<'_, Result<TargetFacts, TargetError>> {
        Box::pin(facts::read(self))
    }

    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        wish: &'a TablePolicy<'a>,
    ) -> BoxFuture<'a, Result<Vec<RegistryEntry>, TargetError>> {
        Box::pin(tables::create(self, workload, wish))
    }

    fn note_tables<'a>(
        &'a mut self,
        notes: &'a [RegistryEntry],
    ) -> BoxFuture<'a, Result<(), TargetError>> {
        Box::pin(tables::note(self, notes))
    }

    fn quiesce(&mut self, deadline: Nanos) -> BoxFuture<'_, Result<bool, TargetError>> {
        Box::pin(self.wait_until_idle(deadline))
    }

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

    fn query<'a>(
        &'a mut self,
        sql: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Vec<Option<String>>>, TargetError>> {
        Box::pin(self.texts(sql))
    }

    fn describe<'a>(
        &'a mut self,
        table: &'a str,
    ) -> BoxFuture<'a, Result<TableShape, TargetError>> {
        Box::pin(describe::describe(self, table))
    }

    fn rows_inserted<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>> {
        Box::pin(async move {
            match self.dialect {
                Dialect::PostgreSql => self.settled_inserts(workload).await.map(Some),
                Dialect::CockroachDb | Dialect::CrateDb => Ok(None),
            }
        })
    }

    fn disk(&mut self) -> BoxFuture<'_, Result<Option<DiskSpace>, TargetError>> {
        Box::pin(async move {
            if self.directory.get().is_none() {
                let found = data_directory(self).await;
                self.directory.get_or_init(|| found);
            }
            let directory = self.directory.get().and_then(Option::as_deref);
            Ok(directory.and_then(DiskSpace::of_path))
        })
    }

    fn try_rights<'a>(
        &'a mut self,
        table: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<Right>>, TargetError>> {
        Box::pin(async move {
            let mut rights = Rights::default();
            for (name, sql) in rights::attempts(&escape_identifier(table)) {
                if !rights.note(name, self.run(&sql).await)? {
                    break;
                }
            }
            Ok(Some(rights.told()))
        })
    }

    fn storage_bytes<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>> {
        Box::pin(async move {
            match self.dialect {
                Dialect::PostgreSql => self
                    .sum(workload, "pg_catalog.pg_total_relation_size(oid)")
                    .await
                    .map(Some),
                Dialect::CockroachDb | Dialect::CrateDb => Ok(None),
            }
        })
    }
}

/// The server's data directory, if the server runs on this machine and tells it; tablespaces
/// elsewhere are not looked at.
async fn data_directory(admin: &mut WireAdmin) -> Option<PathBuf> {
    if admin.dialect != Dialect::PostgreSql || !admin.node.is_local() {
        return None;
    }
    let rows = admin.rows("SHOW data_directory").await.ok()?;
    rows.first()?.first()?.as_ref().map(PathBuf::from)
}

/// Runs a statement on a connection to that server and reads its rows.
pub(super) async fn rows_of(
    connection: &mut Connection,
    node: &Node,
    sql: &str,
) -> Result<Rows, TargetError> {
    let mut request = Vec::new();
    message::query(&mut request, sql);
    let mut rows = Vec::new();
    let answered = connection.ask(&request, |message| {
        if message.tag == b'D' {
            rows.push(row(message.body));
        }
    });
    let answered = answered.await;
    answered.map_err(|failure| failure.into_target_error(&node.shown))?;
    Ok(rows)
}

/// The first value of the first row as a number; 0 where there is none.
pub(super) fn number(rows: &Rows) -> u64 {
    rows.first()
        .and_then(|row| row.first())
        .and_then(|value| value.as_deref()?.parse().ok())
        .unwrap_or(0)
}

fn unexpected(place: &str) -> TargetError {
    TargetError {
        kind: crate::contract::TargetErrorKind::Statement,
        message: format!("{place}: the count by key is not made of integers"),
        hint: Some("the workload's `key` must be an integer expression".to_owned()),
    }
}

/// The values of a data row in text format; what is cut short stays null.
fn row(body: &[u8]) -> Vec<Option<String>> {
    let Some((count, mut rest)) = body.split_first_chunk::<2>() else {
        return Vec::new();
    };
    (0..u16::from_be_bytes(*count))
        .map(|_| {
            let (length, after) = rest.split_first_chunk::<4>()?;
            rest = after;
            let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
            let (value, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(String::from_utf8_lossy(value).into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_rows_are_read_and_short_ones_do_no_harm() {
        let body = [
            &3u16.to_be_bytes()[..],
            &1i32.to_be_bytes(),
            b"7",
            &(-1i32).to_be_bytes(),
            &9i32.to_be_bytes(),
            b"ab",
        ]
        .concat();
        assert_eq!(row(&body), vec![Some("7".to_owned()), None, None]);
        assert_eq!(row(&[0]), Vec::<Option<String>>::new());
        assert_eq!(number(&vec![vec![Some("42".to_owned())]]), 42);
        assert_eq!(number(&Vec::new()), 0);
    }
}
