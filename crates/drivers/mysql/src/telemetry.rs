//! Polls the server's telemetry in one statement, `SHOW GLOBAL STATUS`: connections, locks, the log, the
//! buffer pool. What a product or a version does not have is absent. Must not compute rates.

use std::collections::BTreeMap;

use highwater_driver::contract::Response;
use highwater_driver::sql::connection::rows_of;
use highwater_driver::telemetry::{Measure, MetricSample, TelemetryReader, names};

use super::connect::Opened;
use super::options::Node;
use super::wire::Connection;

/// A figure: the server's name, ours, its unit, and how it is to be read.
type Figure = (&'static str, &'static str, &'static str, Measure);

/// All of them.
const FIGURES: [Figure; 22] = [
    ("Threads_running", names::ACTIVE, "1", Measure::Level),
    ("Threads_connected", "connections", "1", Measure::Level),
    (
        "Aborted_clients",
        "connections_aborted",
        "1",
        Measure::Count,
    ),
    (
        "Connection_errors_max_connections",
        "connections_refused",
        "1",
        Measure::Count,
    ),
    ("Com_commit", "transactions_committed", "1", Measure::Count),
    ("Com_rollback", "transactions_failed", "1", Measure::Count),
    (
        "Innodb_rows_inserted",
        "rows_inserted",
        "rows",
        Measure::Count,
    ),
    (
        "Innodb_row_lock_current_waits",
        names::LOCK_WAITS,
        "1",
        Measure::Level,
    ),
    (
        "Innodb_row_lock_waits",
        "row_lock_waits",
        "1",
        Measure::Count,
    ),
    ("Innodb_deadlocks", "deadlocks", "1", Measure::Count),
    (
        "Innodb_os_log_written",
        names::LOG_WRITTEN,
        "bytes",
        Measure::Count,
    ),
    ("Innodb_log_waits", "log_buffer_waits", "1", Measure::Count),
    (
        "Innodb_checkpoint_age",
        "checkpoint_age",
        "bytes",
        Measure::Level,
    ),
    (
        "Innodb_buffer_pool_pages_dirty",
        "pages_dirty",
        "1",
        Measure::Level,
    ),
    (
        "Innodb_buffer_pool_wait_free",
        "buffer_pool_waits",
        "1",
        Measure::Count,
    ),
    (
        "Innodb_buffer_pool_reads",
        "blocks_read",
        "1",
        Measure::Count,
    ),
    (
        "Innodb_buffer_pool_read_requests",
        "blocks_requested",
        "1",
        Measure::Count,
    ),
    (
        "Innodb_data_written",
        "written_by_server",
        "bytes",
        Measure::Count,
    ),
    ("Innodb_data_fsyncs", "fsyncs", "1", Measure::Count),
    (
        "Innodb_history_list_length",
        "history_length",
        "1",
        Measure::Level,
    ),
    (
        "Max_statement_time_exceeded",
        "statements_out_of_time",
        "1",
        Measure::Count,
    ),
    ("Memory_used", "memory_of_server", "bytes", Measure::Level),
];

/// Polls one server.
pub(super) struct WireReader {
    connection: Connection,
    place: String,
    sql: String,
}

impl WireReader {
    pub(super) fn new(opened: Opened, node: &Node) -> Self {
        let names = FIGURES.map(|figure| format!("'{}'", figure.0)).join(", ");
        Self {
            connection: opened.connection,
            place: node.shown.clone(),
            sql: format!("SHOW GLOBAL STATUS WHERE variable_name IN ({names})"),
        }
    }
}

impl TelemetryReader for WireReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(async move {
            let rows = rows_of(&mut self.connection, &self.place, &self.sql).await?;
            let values = rows.into_iter().filter_map(|row| {
                let mut texts = row.into_iter();
                let name = texts.next()??.to_lowercase();
                Some((name, texts.next()??.parse().ok()?))
            });
            Ok(samples(&values.collect()))
        })
    }
}

/// The samples, by the server's names in lower case.
fn samples(values: &BTreeMap<String, f64>) -> Vec<MetricSample> {
    let found = FIGURES.iter().filter_map(|(name, ours, unit, measure)| {
        let value = *values.get(&name.to_lowercase())?;
        // This statement runs too.
        let own = if *ours == names::ACTIVE { 1.0 } else { 0.0 };
        let value = (value - own).max(0.0);
        Some(MetricSample::new(ours, unit, *measure, value))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_has_is_told_without_the_question_itself() {
        let values = [
            ("threads_running", 3.0),
            ("innodb_deadlocks", 2.0),
            ("other", 1.0),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        let samples = samples(&values.into());
        let found: Vec<_> = samples.iter().map(|s| (s.name.as_ref(), s.value)).collect();
        assert_eq!(found, [(names::ACTIVE, 2.0), ("deadlocks", 2.0)]);
    }

    #[test]
    fn no_metric_has_two_sources() {
        let mut ours = FIGURES.map(|figure| figure.1);
        ours.sort_unstable();
        assert!(ours.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
