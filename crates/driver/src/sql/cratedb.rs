//! CrateDB's SQL, which two drivers use, and its telemetry by SQL: statements, and the samples from their responses.
//!
//! Three small statements, the same over HTTP and over the PostgreSQL wire: nodes, write and search thread pools,
//! health. Circuit breakers are not included: SQL does not show their use. Must not do I/O.

use highwater_model::units::Nanos;

use super::dialect::Dialect;
use super::dialect::{literal, quoted};
use super::leases::LeaseWords;
use super::with_clause::with_settings;
use crate::contract::TableFeatures;
use crate::sql_query::Texts;
use crate::telemetry::{Measure, MetricSample, names, units};

/// Its SQL.
pub const CRATEDB: Dialect = Dialect {
    table_features: TableFeatures { shards: true, settings: true },
    // It takes BEGIN for nothing.
    rolls_back: false,
    inserts_whole: false,
    // It does not list inserts long enough to be seen.
    unread_inserts: Some(Nanos::from_secs(10)),
    refresh: Some("REFRESH TABLE {quoted}"),
    milliseconds: "CAST({} AS bigint)",
    exact_milliseconds: "CAST({} AS bigint)",
    attribute: |column, attribute| format!("{column}[{}]", literal(attribute)),
    // In PostgreSQL, a setting may be two names joined by a dot; here it is one name with dots in it.
    with_settings: |create, settings| with_settings(create, settings, quoted),
    registry_options: ONE_SHARD,
    exists: "SELECT count(*) FROM information_schema.tables \
             WHERE table_schema = current_schema AND table_name = {name}",
    ..Dialect::standard(
        &["cratedb", "postgresql"],
        LeaseWords {
            table_options: ONE_SHARD,
            refresh: Some("REFRESH TABLE highwater_leases"),
            ..LeaseWords::plain(literal, "TEXT", "CAST(CURRENT_TIMESTAMP AS BIGINT)")
        },
        // Statements whose client disconnected sometimes stay listed forever.
        "SELECT count(*) FROM sys.jobs WHERE username = current_user \
         AND stmt LIKE 'INSERT INTO \"%' \
         AND started > now() - INTERVAL '90 seconds'",
    )
};

/// Follows the columns of Highwater's own tables.
const ONE_SHARD: &str = " CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = '0-1')";

/// Nodes; pools of nodes; the cluster. All rows: the record counts those beyond its limit.
pub const STATEMENTS: [&str; 3] = [
    "SELECT name, load['1'], os['cpu']['used'], heap['used'], heap['max'], \
     fs['total']['bytes_written'], fs['total']['bytes_read'], fs['total']['available'] \
     FROM sys.nodes ORDER BY name",
    "SELECT node, pool['name'], pool['active'], pool['queue'], pool['rejected'] FROM \
     (SELECT name AS node, unnest(thread_pools) AS pool FROM sys.nodes) AS pools \
     WHERE pool['name'] IN ('write', 'search') ORDER BY 1, 2",
    "SELECT (SELECT severity FROM sys.cluster_health), \
     (SELECT count(*) FROM sys.shards WHERE state = 'STARTED'), (SELECT count(*) FROM sys.jobs), \
     (SELECT sum(total_count) FROM sys.jobs_metrics), \
     (SELECT sum(failed_count) FROM sys.jobs_metrics), \
     (SELECT sum(total_affected_row_count) FROM sys.jobs_metrics \
     WHERE classification['type'] = 'INSERT'), \
     (SELECT count(*) FROM sys.nodes), \
     (SELECT count(*) FROM sys.shards WHERE routing_state = 'UNASSIGNED')",
];

/// Adds the samples of a row.
type Reader = fn(&[Option<String>], &mut Vec<MetricSample>);

/// Converts the responses to [`STATEMENTS`], in order, to samples.
pub fn metric_samples(responses: &[Texts]) -> Vec<MetricSample> {
    let readers: [Reader; 3] = [node, pool, cluster];
    let mut samples = Vec::new();
    for (rows, read) in responses.iter().zip(readers) {
        for row in rows {
            read(row, &mut samples);
        }
    }
    samples
}

/// A cell as a number; a node reports a negative number for a missing value.
fn number(row: &[Option<String>], column: usize) -> Option<f64> {
    let number: f64 = row.get(column)?.as_deref()?.parse().ok()?;
    (number >= 0.0).then_some(number)
}

fn text(row: &[Option<String>], column: usize) -> Option<&str> {
    row.get(column)?.as_deref()
}

fn node(row: &[Option<String>], samples: &mut Vec<MetricSample>) {
    let Some(name) = text(row, 0) else { return };
    let mut push = |sample: Option<MetricSample>| samples.extend(sample.map(|r| r.of(name)));
    let level = |name, unit, value| MetricSample::level(name, unit, value);
    let count = |name, value| MetricSample::count(name, "bytes", value);
    push(number(row, 1).map(|load| level(names::LOAD, "1", load)));
    push(number(row, 2).map(|percent| level(names::CPU_BUSY, units::SHARE, percent / 100.0)));
    let heap = number(row, 3).zip(number(row, 4).filter(|most| *most > 0.0));
    push(heap.map(|(used, most)| level(names::HEAP_USED, units::SHARE, used / most)));
    push(number(row, 5).map(|bytes| count(names::DISK_WRITTEN, bytes)));
    push(number(row, 6).map(|bytes| count(names::DISK_READ, bytes)));
    push(number(row, 7).map(|bytes| level(names::DISK_FREE, "bytes", bytes)));
}

/// The write pool uses the common names: its rejections affect inserts.
fn pool(row: &[Option<String>], samples: &mut Vec<MetricSample>) {
    let (Some(node), Some(pool)) = (text(row, 0), text(row, 1)) else {
        return;
    };
    let named = if pool == "write" {
        [names::ACTIVE, names::QUEUE, names::REJECTED]
    } else {
        ["search_active", "search_queue", "search_rejected"]
    };
    let mut push = |sample: Option<MetricSample>| samples.extend(sample.map(|r| r.of(node)));
    push(number(row, 2).map(|number| MetricSample::level(named[0], "1", number)));
    push(number(row, 3).map(|number| MetricSample::level(named[1], "1", number)));
    push(number(row, 4).map(|number| MetricSample::count(named[2], "1", number)));
}

fn cluster(row: &[Option<String>], samples: &mut Vec<MetricSample>) {
    let figures = [
        ("health_severity", "1", Measure::Level),
        ("shards_started", "1", Measure::Level),
        ("statements_running", "1", Measure::Level),
        ("statements", "1", Measure::Count),
        ("statements_failed", "1", Measure::Count),
        ("rows_inserted", "rows", Measure::Count),
        (names::CLUSTER_SIZE, "1", Measure::Level),
        (names::COPIES_UNASSIGNED, "1", Measure::Level),
    ];
    for (column, (name, unit, measure)) in figures.into_iter().enumerate() {
        let sample = |value| MetricSample::new(name, unit, measure, value);
        samples.extend(number(row, column).map(sample));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<Option<String>> {
        let cell = |cell: &&str| (*cell != "null").then(|| (*cell).to_owned());
        cells.iter().map(cell).collect()
    }

    #[test]
    fn responses_become_samples_and_missing_values_are_absent() {
        let answers = [
            vec![row(&["n1", "1.5", "-1", "250", "1000", "7000", "900", "39710302208"])],
            vec![row(&["n1", "search", "0", "0", "2"]), row(&["n1", "write", "3", "11", "5"])],
            vec![row(&["1", "6", "4", "12", "0", "null", "2", "4"])],
        ];
        let samples = metric_samples(&answers);
        let value = |name: &str| {
            let found = samples.iter().find(|sample| sample.name == name)?;
            Some((found.value, found.measure, found.node.as_deref()))
        };
        assert_eq!(value(names::CPU_BUSY), None, "-1 is not a fraction");
        let level = |value| Some((value, Measure::Level, None));
        assert_eq!(value(names::CLUSTER_SIZE), level(2.0));
        assert_eq!(value(names::COPIES_UNASSIGNED), level(4.0));
        assert_eq!(value(names::HEAP_USED), Some((0.25, Measure::Level, Some("n1"))));
        assert_eq!(value(names::REJECTED), Some((5.0, Measure::Count, Some("n1"))));
        assert_eq!(value(names::QUEUE), Some((11.0, Measure::Level, Some("n1"))));
        assert_eq!(value("search_rejected"), Some((2.0, Measure::Count, Some("n1"))));
        assert_eq!(value("shards_started"), Some((6.0, Measure::Level, None)));
        assert_eq!(value("rows_inserted"), None, "nothing was inserted yet");
    }

    #[test]
    fn malformed_responses_do_no_harm() {
        assert_eq!(metric_samples(&[]), Vec::new());
        let short = [vec![row(&["n1"]), row(&["null"])], vec![row(&["n1", "write", "x"])]];
        assert_eq!(metric_samples(&short), Vec::new());
    }
}
