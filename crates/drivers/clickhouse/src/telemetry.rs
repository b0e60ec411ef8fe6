//! Polls the telemetry of each server in one statement: counters and levels of `system.events` and
//! `system.metrics`, parts and merges. What a version does not have is absent. Must not compute rates.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use highwater_driver::contract::{Response, TargetError};
use highwater_driver::sql::connection::rows_of;
use highwater_driver::telemetry::{Measure, MetricSample, TelemetryReader, names};

use super::wire::Wire;

/// A figure: the server's name, ours, its unit, and how it is to be read.
type Figure = (&'static str, &'static str, &'static str, Measure);

/// All of them; those in lower case are made by the statement.
const FIGURES: &[Figure] = &[
    ("Query", names::ACTIVE, "1", Measure::Level),
    ("HTTPConnection", "connections", "1", Measure::Level),
    (
        "MemoryTracking",
        "memory_of_server",
        "bytes",
        Measure::Level,
    ),
    ("Merge", "merges_active", "1", Measure::Level),
    (
        "DelayedInserts",
        names::DELAYED_INSERTS,
        "1",
        Measure::Level,
    ),
    ("InsertedRows", "rows_inserted", "rows", Measure::Count),
    ("InsertedBytes", "bytes_inserted", "bytes", Measure::Count),
    ("InsertQuery", "inserts", "1", Measure::Count),
    ("SelectQuery", "selects", "1", Measure::Count),
    ("FailedQuery", "queries_failed", "1", Measure::Count),
    ("RejectedInserts", "inserts_rejected", "1", Measure::Count),
    ("MergedRows", "rows_merged", "rows", Measure::Count),
    (
        "WriteBufferFromFileDescriptorWriteBytes",
        "written_by_server",
        "bytes",
        Measure::Count,
    ),
    (
        "ReadBufferFromFileDescriptorReadBytes",
        "read_by_server",
        "bytes",
        Measure::Count,
    ),
    ("parts", "parts_active", "1", Measure::Level),
    ("parts_most", names::PARTS_OF_PARTITION, "1", Measure::Level),
];

/// Parts of all tables of the database, and of the partition that has most.
const PARTS: &str = "SELECT 'parts', toInt64(sum(n)) FROM \
    (SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase() \
     GROUP BY table, partition) UNION ALL \
    SELECT 'parts_most', toInt64(max(n)) FROM \
    (SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase() \
     GROUP BY table, partition)";

/// Polls one server, or those of a cluster. An error of one ends the reader: the next one finds out who is
/// there.
pub(super) struct HttpReader {
    wires: Vec<Wire>,
    is_cluster: bool,
    sql: String,
}

impl HttpReader {
    /// Of a server.
    pub(super) fn of_server(wire: Wire) -> Self {
        Self::new(vec![wire], false)
    }

    /// Of several servers, each of which is named.
    pub(super) fn of_cluster(wires: Vec<Wire>) -> Self {
        Self::new(wires, true)
    }

    fn new(wires: Vec<Wire>, is_cluster: bool) -> Self {
        // Some names are those of an event and of a metric.
        let sql = format!(
            "SELECT event AS name, toInt64(value) FROM system.events WHERE event IN ({}) \
             UNION ALL SELECT metric AS name, toInt64(value) FROM system.metrics \
             WHERE metric IN ({}) UNION ALL {PARTS}",
            names_of(Measure::Count),
            names_of(Measure::Level)
        );
        Self {
            wires,
            is_cluster,
            sql,
        }
    }
}

/// The server's names of all counters, or of all levels, as a list.
fn names_of(measure: Measure) -> String {
    let names = FIGURES.iter().filter(|figure| figure.3 == measure);
    let names: Vec<String> = names.map(|figure| format!("'{}'", figure.0)).collect();
    names.join(", ")
}

impl TelemetryReader for HttpReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(async move {
            let reading = self.wires.iter_mut();
            let reading = reading.map(|wire| read(wire, &self.sql));
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

async fn read(wire: &mut Wire, sql: &str) -> Result<Vec<MetricSample>, TargetError> {
    let place = wire.node().shown.clone();
    let mut values = BTreeMap::new();
    for row in rows_of(wire, &place, sql).await? {
        let mut texts = row.into_iter().flatten();
        let name = texts.next().unwrap_or_default();
        let value = texts.next().and_then(|text| text.parse().ok());
        values.extend(value.map(|value: f64| (name, value)));
    }
    Ok(samples(&values))
}

/// The samples, by the server's names.
fn samples(values: &BTreeMap<String, f64>) -> Vec<MetricSample> {
    let found = FIGURES.iter().filter_map(|(name, ours, unit, measure)| {
        let value = *values.get(*name)?;
        // This question runs too.
        let own = if *ours == names::ACTIVE { 1.0 } else { 0.0 };
        Some(MetricSample::new(
            ours,
            unit,
            *measure,
            (value - own).max(0.0),
        ))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_has_is_told_without_the_question_itself() {
        let values = [("Query", 3.0), ("parts", 7.0), ("Other", 1.0)];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        let samples = samples(&values.into());
        let found: Vec<_> = samples.iter().map(|s| (s.name.as_ref(), s.value)).collect();
        assert_eq!(found, [(names::ACTIVE, 2.0), ("parts_active", 7.0)]);
    }

    #[test]
    fn no_metric_has_two_sources() {
        let mut ours: Vec<&str> = FIGURES.iter().map(|figure| figure.1).collect();
        ours.sort_unstable();
        assert!(ours.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
