//! Polls the telemetry of each server in one statement: counters and levels of `system.events` and `system.metrics`,
//! parts and merges. Missing ones of a version are absent. Must not compute rates.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use highwater_driver::contract::Response;
use highwater_driver::sql::connection::rows_of;
use highwater_driver::sql_query::pairs;
use highwater_driver::telemetry::{
    Figure, Measure, MetricSample, TelemetryReader, count, level, names, samples,
};
use highwater_model::user_error::UserError;

use super::wire::Wire;

/// All figures; those in lower case are computed by the statement.
const FIGURES: &[Figure] = &[
    level("Query", names::ACTIVE),
    level("HTTPConnection", "connections"),
    level("MemoryTracking", "memory_of_server").in_unit("bytes"),
    level("Merge", "merges_active"),
    level("DelayedInserts", names::DELAYED_INSERTS),
    count("InsertedRows", "rows_inserted").in_unit("rows"),
    count("InsertedBytes", "bytes_inserted").in_unit("bytes"),
    count("InsertQuery", "inserts"),
    count("SelectQuery", "selects"),
    count("FailedQuery", "queries_failed"),
    count("RejectedInserts", "inserts_rejected"),
    count("MergedRows", "rows_merged").in_unit("rows"),
    count("WriteBufferFromFileDescriptorWriteBytes", "written_by_server").in_unit("bytes"),
    count("ReadBufferFromFileDescriptorReadBytes", "read_by_server").in_unit("bytes"),
    level("uptime", names::UPTIME).in_unit("s"),
    level("parts", "parts_active"),
    level("parts_most", names::PARTS_OF_PARTITION),
];

/// Uptime; the number of parts in all tables of the database, and in the partition with most.
const PARTS: &str = "SELECT 'uptime', toInt64(uptime()) UNION ALL SELECT 'parts', toInt64(sum(n)) FROM \
    (SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase() \
     GROUP BY table, partition) UNION ALL \
    SELECT 'parts_most', toInt64(max(n)) FROM \
    (SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase() \
     GROUP BY table, partition)";

/// Polls one server, or those of a cluster. An error of one ends the reader: the next one determines which servers are
/// available.
pub(super) struct HttpReader {
    wires: Vec<Wire>,
    is_cluster: bool,
    sql: String,
}

impl HttpReader {
    /// For one server, or for several named ones.
    pub(super) fn new(wires: Vec<Wire>, is_cluster: bool) -> Self {
        // Some names are used for both an event and a metric.
        let sql = format!(
            "SELECT event AS name, toInt64(value) FROM system.events WHERE event IN ({}) \
             UNION ALL SELECT metric AS name, toInt64(value) FROM system.metrics \
             WHERE metric IN ({}) UNION ALL {PARTS}",
            names_of(Measure::Count),
            names_of(Measure::Level)
        );
        Self { wires, is_cluster, sql }
    }
}

/// The server's names of all counters, or of all levels, as a list.
fn names_of(measure: Measure) -> String {
    let names: Vec<String> = FIGURES
        .iter()
        .filter(|figure| figure.measure == measure)
        .map(|figure| format!("'{}'", figure.source))
        .collect();
    names.join(", ")
}

impl TelemetryReader for HttpReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(async move {
            let reading = self.wires.iter_mut().map(|wire| read(wire, &self.sql));
            let mut found = Vec::new();
            for (read, place) in join_all(reading).await.into_iter().zip(0..) {
                let samples = read?;
                let node = self.wires.get(place).filter(|_| self.is_cluster);
                let node = node.map(|wire| wire.node().address());
                found.extend(samples.into_iter().map(|sample| match &node {
                    Some(node) => sample.of(node.clone()),
                    None => sample,
                }));
            }
            Ok(found)
        })
    }
}

async fn read(wire: &mut Wire, sql: &str) -> Result<Vec<MetricSample>, UserError> {
    let place = wire.node().shown.clone();
    let values = pairs(rows_of(wire, &place, sql).await?);
    let values: BTreeMap<String, f64> =
        values.filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect();
    Ok(samples(FIGURES, |name| values.get(name).copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_has_is_told_without_the_question_itself() {
        let values = [("Query", 3.0), ("parts", 7.0), ("Other", 1.0)];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        let values = BTreeMap::from(values);
        let samples = samples(FIGURES, |name| values.get(name).copied());
        let found: Vec<_> = samples.iter().map(|s| (s.name.as_ref(), s.value)).collect();
        assert_eq!(found, [(names::ACTIVE, 2.0), ("parts_active", 7.0)]);
    }

    #[test]
    fn no_metric_has_two_sources() {
        let mut ours: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        ours.sort_unstable();
        assert!(ours.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
