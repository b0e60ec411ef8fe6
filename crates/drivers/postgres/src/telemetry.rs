//! Polls the server's telemetry in one statement: transactions, waits, locks, the log, checkpoints,
//! disk. Its views depend on its version. Must not compute rates.

use super::connect::OpenConnection;
use super::options::Node;
use super::wire::Connection;
use crate::product::Product;
use highwater_driver::contract::Response;
use highwater_driver::sql::connection::{Texts, first_value, rows_of};
use highwater_driver::sql::cratedb;
use highwater_driver::telemetry::{Figure, MetricSample, TelemetryReader, count, level, names};
use highwater_model::user_error::UserError;

/// A range of major versions, excluding the end.
type Versions = (u32, u32);

const ALL: Versions = (0, u32::MAX);
/// `pg_stat_wal`.
const WAL: Versions = (14, u32::MAX);
/// Checkpoints are in `pg_stat_bgwriter` before version 17, and in a separate view since.
const BACKGROUND: Versions = (0, 17);
const CHECKPOINTER: Versions = (17, u32::MAX);
/// `pg_stat_io` counts blocks before version 18, and bytes since.
const IO_BLOCKS: Versions = (16, 18);
const IO_BYTES: Versions = (18, u32::MAX);

/// All figures, by the versions that have them; `d` is the row of the database, and `a` that of its sessions.
const FIGURES: &[(Versions, &[Figure])] = &[
    (
        ALL,
        &[
            count("d.xact_commit + d.xact_rollback", "transactions"),
            count("d.xact_rollback", "transactions_failed"),
            count("d.tup_inserted", "rows_inserted").in_unit("rows"),
            count("d.deadlocks", "deadlocks"),
            count("d.temp_bytes", "temporary_written").in_unit("bytes"),
            count("d.blks_read", "blocks_read"),
            count("d.blks_hit", "blocks_hit"),
            level("a.active", names::ACTIVE),
            level("a.lock", names::LOCK_WAITS),
            level("a.lock_row", names::LOCK_WAITS_ROW),
            level("a.lock_table", names::LOCK_WAITS_TABLE),
            level("a.lock_extend", names::LOCK_WAITS_EXTEND),
            level("a.io", names::DISK_WAITS),
            level(
                "extract(epoch FROM now() - pg_catalog.pg_postmaster_start_time())",
                names::UPTIME,
            )
            .in_unit("s"),
            level("CASE WHEN pg_catalog.pg_is_in_recovery() THEN 1 ELSE 0 END", names::STANDBY),
            level("a.latch", "latch_waits"),
            level("a.log", "log_waits"),
        ],
    ),
    (
        WAL,
        &[count("(SELECT wal_bytes FROM pg_catalog.pg_stat_wal)", names::LOG_WRITTEN)
            .in_unit("bytes")],
    ),
    (
        BACKGROUND,
        &[
            count(
                "(SELECT checkpoints_timed + checkpoints_req FROM pg_catalog.pg_stat_bgwriter)",
                names::CHECKPOINTS,
            ),
            count(
                "(SELECT buffers_checkpoint FROM pg_catalog.pg_stat_bgwriter)",
                "checkpoint_blocks",
            ),
        ],
    ),
    (
        CHECKPOINTER,
        &[
            count(
                "(SELECT num_timed + num_requested FROM pg_catalog.pg_stat_checkpointer)",
                names::CHECKPOINTS,
            ),
            count(
                "(SELECT buffers_written FROM pg_catalog.pg_stat_checkpointer)",
                "checkpoint_blocks",
            ),
        ],
    ),
    (
        IO_BLOCKS,
        &[count(
            "(SELECT sum((coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes) \
             FROM pg_catalog.pg_stat_io)",
            "written_by_server",
        )
        .in_unit("bytes")],
    ),
    (
        IO_BYTES,
        &[count(
            "(SELECT sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) \
             FROM pg_catalog.pg_stat_io)",
            "written_by_server",
        )
        .in_unit("bytes")],
    ),
];

/// The sessions of all other clients.
const SESSIONS: &str = "(SELECT count(*) FILTER (WHERE state = 'active') AS active, \
     count(*) FILTER (WHERE wait_event_type = 'Lock') AS lock, \
     count(*) FILTER (WHERE wait_event_type = 'Lock' \
     AND wait_event IN ('transactionid', 'tuple', 'spectoken')) AS lock_row, \
     count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event = 'relation') AS lock_table, \
     count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event = 'extend') AS lock_extend, \
     count(*) FILTER (WHERE wait_event_type = 'IO') AS io, \
     count(*) FILTER (WHERE wait_event_type = 'LWLock') AS latch, \
     count(*) FILTER (WHERE wait_event ILIKE 'wal%') AS log \
     FROM pg_catalog.pg_stat_activity \
     WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND state = 'active') AS a";

/// QuestDB's figures: acknowledged rows that are not applied yet, suspended tables, and memory.
const LOG: &str = "SELECT t.pending, t.suspended, m.bytes FROM \
     (SELECT sum(wal_pending_row_count) AS pending, \
     sum(CASE WHEN table_suspended THEN 1 ELSE 0 END) AS suspended FROM tables()) AS t CROSS JOIN \
     (SELECT bytes FROM memory_metrics() WHERE memory_tag = 'RSS') AS m";
/// The figures of [`LOG`].
const LOG_FIGURES: &[Figure] = &[
    level("t.pending", "log_rows_waiting").in_unit("rows"),
    level("t.suspended", "tables_suspended"),
    level("m.bytes", "memory_resident").in_unit("bytes"),
];

/// Figures of this major version.
fn figures(version: u32) -> impl Iterator<Item = &'static Figure> {
    FIGURES
        .iter()
        .filter(move |((since, until), _)| (*since..*until).contains(&version))
        .flat_map(|(_, figures)| *figures)
}

fn statement(version: u32) -> String {
    let expressions: Vec<&str> = figures(version).map(|figure| figure.source).collect();
    format!(
        "SELECT {} FROM pg_catalog.pg_stat_database AS d, {SESSIONS} \
         WHERE d.datname = current_database()",
        expressions.join(", ")
    )
}

/// Polls one server.
pub(super) struct WireReader {
    connection: Connection,
    product: Product,
    place: String,
    /// Its major version, once known.
    version: Option<u32>,
}

impl WireReader {
    /// `None` for a product without supported telemetry: YugabyteDB has PostgreSQL's views, but they do not count its
    /// storage's work.
    pub(super) fn new(opened: OpenConnection, node: &Node) -> Option<Self> {
        let none = [Product::CockroachDb, Product::YugabyteDb];
        (!none.contains(&opened.product)).then(|| Self {
            connection: opened.connection,
            product: opened.product,
            place: node.shown.clone(),
            version: None,
        })
    }

    async fn of_server(&mut self) -> Result<Vec<MetricSample>, UserError> {
        let version = if let Some(version) = self.version {
            version
        } else {
            let number = first_value(self.rows("SHOW server_version_num").await?);
            let number: Option<u32> = number.and_then(|number| number.parse().ok());
            number.unwrap_or(0) / 10_000
        };
        self.version = Some(version);
        self.samples(&statement(version), figures(version)).await
    }

    async fn of_cluster(&mut self) -> Result<Vec<MetricSample>, UserError> {
        let mut responses = Vec::new();
        for sql in cratedb::TELEMETRY {
            responses.push(self.rows(sql).await?);
        }
        Ok(cratedb::metric_samples(&responses))
    }

    /// The figures in a statement's first row, in column order.
    async fn samples(
        &mut self,
        sql: &str,
        figures: impl Iterator<Item = &'static Figure>,
    ) -> Result<Vec<MetricSample>, UserError> {
        let rows = self.rows(sql).await?;
        let samples = figures
            .zip(rows.iter().take(1).flatten())
            .filter_map(|(figure, value)| Some(figure.sample(value.as_deref()?.parse().ok()?)));
        Ok(samples.collect())
    }

    async fn rows(&mut self, sql: &str) -> Result<Texts, UserError> {
        rows_of(&mut self.connection, &self.place, sql).await
    }
}

impl TelemetryReader for WireReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(async move {
            match self.product {
                Product::CrateDb => self.of_cluster().await,
                Product::QuestDb => self.samples(LOG, LOG_FIGURES.iter()).await,
                _ => self.of_server().await,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_queried_for_its_own_views() {
        let uses = |version: u32, view: &str| statement(version).contains(view);
        for (view, since, until) in [
            ("pg_stat_wal", 14, 99),
            ("pg_stat_bgwriter", 12, 17),
            ("pg_stat_checkpointer", 17, 99),
            ("op_bytes", 16, 18),
            ("write_bytes", 18, 99),
        ] {
            for version in 12..20 {
                let there = (since..until).contains(&version);
                assert_eq!(uses(version, view), there, "{view} in {version}");
            }
        }
    }

    #[test]
    fn no_version_is_queried_twice_for_a_metric() {
        for version in 12..20 {
            let mut names: Vec<&str> = figures(version).map(|figure| figure.name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{version}");
        }
    }
}
