//! What the cluster says of itself during a load: nodes, the pools that write and read, health.
//!
//! Three small statements, the same over HTTP and over the PostgreSQL wire. Circuit breakers are not
//! among them: SQL does not show how full they are.

use super::describe::Texts;
use crate::telemetry::{Reading, names};

/// Nodes; pools of nodes; the cluster. The bounds keep answers small: a series beyond the bound of
/// a record would be left out anyway.
pub(crate) const STATEMENTS: [&str; 3] = [
    "SELECT name, load['1'], os['cpu']['used'], heap['used'], heap['max'], \
     fs['total']['bytes_written'], fs['total']['bytes_read'], fs['total']['available'] \
     FROM sys.nodes ORDER BY name LIMIT 16",
    "SELECT node, pool['name'], pool['active'], pool['queue'], pool['rejected'] FROM \
     (SELECT name AS node, unnest(thread_pools) AS pool FROM sys.nodes) AS pools \
     WHERE pool['name'] IN ('write', 'search') ORDER BY 1, 2 LIMIT 32",
    "SELECT (SELECT severity FROM sys.cluster_health), \
     (SELECT count(*) FROM sys.shards WHERE state = 'STARTED'), (SELECT count(*) FROM sys.jobs), \
     (SELECT sum(total_count) FROM sys.jobs_metrics), \
     (SELECT sum(failed_count) FROM sys.jobs_metrics), \
     (SELECT sum(total_affected_row_count) FROM sys.jobs_metrics \
     WHERE classification['type'] = 'INSERT')",
];

/// The answers to [`STATEMENTS`], in their order, as readings.
pub(crate) fn readings(answers: &[Texts]) -> Vec<Reading> {
    let mut readings = Vec::new();
    let rows = |statement: usize| answers.get(statement).into_iter().flatten();
    for row in rows(0) {
        node(row, &mut readings);
    }
    for row in rows(1) {
        pool(row, &mut readings);
    }
    for row in rows(2) {
        cluster(row, &mut readings);
    }
    readings
}

/// A cell as a number; what a node cannot tell is negative.
fn number(row: &[Option<String>], column: usize) -> Option<f64> {
    let number: f64 = row.get(column)?.as_deref()?.parse().ok()?;
    (number >= 0.0).then_some(number)
}

fn text(row: &[Option<String>], column: usize) -> Option<&str> {
    row.get(column)?.as_deref()
}

fn node(row: &[Option<String>], readings: &mut Vec<Reading>) {
    let Some(name) = text(row, 0) else { return };
    let mut tell = |reading: Option<Reading>| readings.extend(reading.map(|r| r.of(name)));
    let level = |name, unit, value| Reading::level(name, unit, value);
    let count = |name, value| Reading::count(name, "bytes", value);
    tell(number(row, 1).map(|load| level(names::LOAD, "1", load)));
    tell(number(row, 2).map(|percent| level(names::CPU_BUSY, "share", percent / 100.0)));
    let heap = number(row, 3).zip(number(row, 4).filter(|most| *most > 0.0));
    tell(heap.map(|(used, most)| level(names::HEAP_USED, "share", used / most)));
    tell(number(row, 5).map(|bytes| count(names::DISK_WRITTEN, bytes)));
    tell(number(row, 6).map(|bytes| count(names::DISK_READ, bytes)));
    tell(number(row, 7).map(|bytes| level(names::DISK_FREE, "bytes", bytes)));
}

/// The pool that writes has the common names: its rejections are what a load of inserts meets.
fn pool(row: &[Option<String>], readings: &mut Vec<Reading>) {
    let (Some(node), Some(pool)) = (text(row, 0), text(row, 1)) else {
        return;
    };
    let named = if pool == "write" {
        [names::ACTIVE, names::QUEUE, names::REJECTED]
    } else {
        ["search_active", "search_queue", "search_rejected"]
    };
    let mut tell = |reading: Option<Reading>| readings.extend(reading.map(|r| r.of(node)));
    tell(number(row, 2).map(|number| Reading::level(named[0], "1", number)));
    tell(number(row, 3).map(|number| Reading::level(named[1], "1", number)));
    tell(number(row, 4).map(|number| Reading::count(named[2], "1", number)));
}

fn cluster(row: &[Option<String>], readings: &mut Vec<Reading>) {
    let levels = [
        (0, "health_severity"),
        (1, "shards_started"),
        (2, "statements_running"),
    ];
    for (column, name) in levels {
        readings.extend(number(row, column).map(|value| Reading::level(name, "1", value)));
    }
    let counts = [
        (3, "statements", "1"),
        (4, "statements_failed", "1"),
        (5, "rows_inserted", "rows"),
    ];
    for (column, name, unit) in counts {
        readings.extend(number(row, column).map(|value| Reading::count(name, unit, value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Measure;

    fn row(cells: &[&str]) -> Vec<Option<String>> {
        let cell = |cell: &&str| (*cell != "null").then(|| (*cell).to_owned());
        cells.iter().map(cell).collect()
    }

    #[test]
    fn answers_of_a_node_become_readings_and_what_it_cannot_tell_is_absent() {
        let answers = [
            vec![row(&[
                "n1",
                "1.5",
                "-1",
                "250",
                "1000",
                "7000",
                "900",
                "39710302208",
            ])],
            vec![
                row(&["n1", "search", "0", "0", "2"]),
                row(&["n1", "write", "3", "11", "5"]),
            ],
            vec![row(&["1", "6", "4", "12", "0", "null"])],
        ];
        let readings = readings(&answers);
        let value = |name: &str| {
            let found = readings.iter().find(|reading| reading.name == name)?;
            Some((found.value, found.measure, found.node.as_deref()))
        };
        assert_eq!(value(names::CPU_BUSY), None, "-1 is no share");
        assert_eq!(
            value(names::HEAP_USED),
            Some((0.25, Measure::Level, Some("n1")))
        );
        assert_eq!(
            value(names::REJECTED),
            Some((5.0, Measure::Count, Some("n1")))
        );
        assert_eq!(
            value(names::QUEUE),
            Some((11.0, Measure::Level, Some("n1")))
        );
        assert_eq!(
            value("search_rejected"),
            Some((2.0, Measure::Count, Some("n1")))
        );
        assert_eq!(value("shards_started"), Some((6.0, Measure::Level, None)));
        assert_eq!(value("rows_inserted"), None, "nothing was inserted yet");
    }

    #[test]
    fn strange_answers_do_no_harm() {
        assert_eq!(readings(&[]), Vec::new());
        let short = [
            vec![row(&["n1"]), row(&["null"])],
            vec![row(&["n1", "write", "x"])],
        ];
        assert_eq!(readings(&short), Vec::new());
    }
}
