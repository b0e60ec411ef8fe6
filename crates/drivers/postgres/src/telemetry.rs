//! Polls the server's telemetry in one statement: transactions, waits, locks, the log, checkpoints,
//! disk. Its views depend on its version. Must not compute rates.

use super::connect::Opened;
use super::options::Node;
use super::wire::Connection;
use highwater_driver::contract::{Response, TargetError};
use highwater_driver::sql::connection::rows_of;
use highwater_driver::sql::cratedb_telemetry;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql_query::Texts;
use highwater_driver::telemetry::{Measure, MetricSample, TelemetryReader, names};

/// A figure: name, unit, how it is to be read, the versions that have it (the first one, and the
/// first one that has it no more), and the expression.
type Figure = (
    &'static str,
    &'static str,
    Measure,
    (u32, u32),
    &'static str,
);

const ALL: (u32, u32) = (0, u32::MAX);
/// `pg_stat_wal`.
const WAL: (u32, u32) = (14, u32::MAX);
/// Checkpoints are in `pg_stat_bgwriter`, and in a view of their own since version 17.
const BACKGROUND: (u32, u32) = (0, 17);
const CHECKPOINTER: (u32, u32) = (17, u32::MAX);
/// `pg_stat_io` counts blocks, and bytes since.
const IO_BLOCKS: (u32, u32) = (16, 18);
const IO_BYTES: (u32, u32) = (18, u32::MAX);

/// All of them; `d` is the row of the database, and `a` that of its sessions.
const FIGURES: &[Figure] = &[
    (
        "transactions",
        "1",
        Measure::Count,
        ALL,
        "d.xact_commit + d.xact_rollback",
    ),
    (
        "transactions_failed",
        "1",
        Measure::Count,
        ALL,
        "d.xact_rollback",
    ),
    (
        "rows_inserted",
        "rows",
        Measure::Count,
        ALL,
        "d.tup_inserted",
    ),
    ("deadlocks", "1", Measure::Count, ALL, "d.deadlocks"),
    (
        "temporary_written",
        "bytes",
        Measure::Count,
        ALL,
        "d.temp_bytes",
    ),
    ("blocks_read", "1", Measure::Count, ALL, "d.blks_read"),
    ("blocks_hit", "1", Measure::Count, ALL, "d.blks_hit"),
    (names::ACTIVE, "1", Measure::Level, ALL, "a.active"),
    (names::LOCK_WAITS, "1", Measure::Level, ALL, "a.lock"),
    (names::DISK_WAITS, "1", Measure::Level, ALL, "a.io"),
    ("latch_waits", "1", Measure::Level, ALL, "a.latch"),
    ("log_waits", "1", Measure::Level, ALL, "a.log"),
    (
        names::LOG_WRITTEN,
        "bytes",
        Measure::Count,
        WAL,
        "(SELECT wal_bytes FROM pg_catalog.pg_stat_wal)",
    ),
    (
        names::CHECKPOINTS,
        "1",
        Measure::Count,
        BACKGROUND,
        "(SELECT checkpoints_timed + checkpoints_req FROM pg_catalog.pg_stat_bgwriter)",
    ),
    (
        "checkpoint_blocks",
        "1",
        Measure::Count,
        BACKGROUND,
        "(SELECT buffers_checkpoint FROM pg_catalog.pg_stat_bgwriter)",
    ),
    (
        names::CHECKPOINTS,
        "1",
        Measure::Count,
        CHECKPOINTER,
        "(SELECT num_timed + num_requested FROM pg_catalog.pg_stat_checkpointer)",
    ),
    (
        "checkpoint_blocks",
        "1",
        Measure::Count,
        CHECKPOINTER,
        "(SELECT buffers_written FROM pg_catalog.pg_stat_checkpointer)",
    ),
    (
        "written_by_server",
        "bytes",
        Measure::Count,
        IO_BLOCKS,
        "(SELECT sum((coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes) \
         FROM pg_catalog.pg_stat_io)",
    ),
    (
        "written_by_server",
        "bytes",
        Measure::Count,
        IO_BYTES,
        "(SELECT sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) \
         FROM pg_catalog.pg_stat_io)",
    ),
];

/// The sessions of all clients but this one.
const SESSIONS: &str = "(SELECT count(*) FILTER (WHERE state = 'active') AS active, \
     count(*) FILTER (WHERE wait_event_type = 'Lock') AS lock, \
     count(*) FILTER (WHERE wait_event_type = 'IO') AS io, \
     count(*) FILTER (WHERE wait_event_type = 'LWLock') AS latch, \
     count(*) FILTER (WHERE wait_event ILIKE 'wal%') AS log \
     FROM pg_catalog.pg_stat_activity \
     WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND state = 'active') AS a";

/// Figures of this major version.
fn figures(version: u32) -> impl Iterator<Item = &'static Figure> {
    let is_supported = move |figure: &&Figure| {
        let (since, until) = figure.3;
        since <= version && version < until
    };
    FIGURES.iter().filter(is_supported)
}

fn statement(version: u32) -> String {
    let expressions: Vec<&str> = figures(version).map(|figure| figure.4).collect();
    format!(
        "SELECT {} FROM pg_catalog.pg_stat_database AS d, {SESSIONS} \
         WHERE d.datname = current_database()",
        expressions.join(", ")
    )
}

/// Polls one server.
pub(super) struct WireReader {
    connection: Connection,
    dialect: Dialect,
    place: String,
    /// Major version and its statement, once it is known.
    prepared: Option<(u32, String)>,
}

impl WireReader {
    /// None for a product without telemetry here.
    pub(super) fn new(opened: Opened, node: &Node) -> Option<Self> {
        (opened.dialect != Dialect::CockroachDb).then(|| Self {
            connection: opened.connection,
            dialect: opened.dialect,
            place: node.shown.clone(),
            prepared: None,
        })
    }

    async fn of_server(&mut self) -> Result<Vec<MetricSample>, TargetError> {
        let (version, sql) = if let Some(prepared) = self.prepared.take() {
            prepared
        } else {
            let rows = self.rows("SHOW server_version_num").await?;
            let number: u32 = rows
                .first()
                .and_then(|row| row.first()?.as_deref()?.parse().ok())
                .unwrap_or(0);
            let version = number / 10_000;
            (version, statement(version))
        };
        let rows = self.rows(&sql).await?;
        self.prepared = Some((version, sql));
        let values = rows.first().into_iter().flatten();
        let samples = figures(version).zip(values).filter_map(|(figure, value)| {
            let (name, unit, measure, ..) = *figure;
            let value = value.as_deref()?.parse().ok()?;
            Some(MetricSample::new(name, unit, measure, value))
        });
        Ok(samples.collect())
    }

    async fn of_cluster(&mut self) -> Result<Vec<MetricSample>, TargetError> {
        let mut responses = Vec::new();
        for sql in cratedb_telemetry::STATEMENTS {
            responses.push(self.rows(sql).await?);
        }
        Ok(cratedb_telemetry::metric_samples(&responses))
    }

    async fn rows(&mut self, sql: &str) -> Result<Texts, TargetError> {
        rows_of(&mut self.connection, &self.place, sql).await
    }
}

impl TelemetryReader for WireReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(async move {
            match self.dialect {
                Dialect::CrateDb => self.of_cluster().await,
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
            let mut names: Vec<&str> = figures(version).map(|figure| figure.0).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{version}");
        }
    }
}
