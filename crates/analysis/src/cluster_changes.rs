//! Changes in a target during polling, from its own telemetry: nodes that left, unassigned copies, restarts, and
//! replaced servers. Pure. Must not judge.

use highwater_model::display::{duration, plain};
use highwater_model::judgment::{Incident, IncidentKind};
use highwater_model::target_telemetry::{TargetTelemetry, TelemetrySeries, names};

use crate::telemetry::named;

/// Maximum number of changes reported per kind; the telemetry holds the rest.
const SERIES_MAX: usize = 8;

/// A value and its polling time, nanoseconds.
type Polled = (u64, f64);

/// The change that a series shows.
type Rule = fn(&[Polled]) -> Option<String>;

const RULES: [(&str, Rule); 4] = [
    (names::CLUSTER_SIZE, nodes_left),
    (names::COPIES_UNASSIGNED, copies_unassigned),
    (names::UPTIME, restarted),
    (names::STANDBY, changed_places),
];

/// In the order of the rules. A change that several nodes report identically is reported once.
pub fn cluster_changes(telemetry: &TargetTelemetry) -> Vec<Incident> {
    let mut messages: Vec<String> = Vec::new();
    for (name, rule) in RULES {
        for series in named(telemetry, name).take(SERIES_MAX) {
            let Some(change) = rule(&polled(telemetry, series)) else {
                continue;
            };
            let is_of_node = matches!(name, names::UPTIME | names::STANDBY);
            let node = series.node.as_ref().filter(|_| is_of_node);
            let message = node.map_or_else(|| change.clone(), |node| format!("{node}: {change}"));
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
    }
    messages
        .into_iter()
        .map(|message| Incident::new(IncidentKind::ClusterChanged, message))
        .collect()
}

/// Whether a server was restarted, which resets its counters.
pub(crate) fn has_restarted(telemetry: &TargetTelemetry) -> bool {
    named(telemetry, names::UPTIME).any(|series| restarted(&polled(telemetry, series)).is_some())
}

fn polled(telemetry: &TargetTelemetry, series: &TelemetrySeries) -> Vec<Polled> {
    telemetry
        .times_ns
        .iter()
        .zip(&series.values)
        .filter_map(|(at, value)| Some((*at, (*value)?)))
        .collect()
}

/// `until 41.0 s`, or the end of polling.
fn until(end: Option<&Polled>) -> String {
    end.map_or_else(|| "until the end".to_owned(), |(at, _)| format!("until {}", duration(*at)))
}

/// When the change that the reading `index` shows came about: `at 4.00 s`, or between two readings that are far apart.
fn at(polled: &[Polled], index: usize) -> String {
    let usual = polled.windows(2).map(|pair| pair[1].0 - pair[0].0).min().unwrap_or(0);
    let (before, after) = (polled[index - 1].0, polled[index].0);
    if after - before > 2 * usual {
        format!("between {} and {}", duration(before), duration(after))
    } else {
        format!("at {}", duration(after))
    }
}

/// The greatest number of nodes, the time from which there were fewer, the fewest, and the time at which all were back.
fn nodes_left(polled: &[Polled]) -> Option<String> {
    let (first, most) = (1..polled.len()).find_map(|at| {
        let before = polled[..at].iter().map(|(_, nodes)| *nodes).fold(0.0, f64::max);
        (polled[at].1 < before).then_some((at, before))
    })?;
    let left = &polled[first..];
    let fewest = left.iter().map(|(_, nodes)| *nodes).fold(f64::MAX, f64::min);
    let back = left.iter().find(|(_, nodes)| *nodes >= most);
    // Points of a long run are means of several polls.
    let gone = (most - fewest).ceil();
    let plural = if gone > 1.0 { "nodes" } else { "node" };
    Some(format!(
        "{} {plural} of {} left the cluster {}, {}",
        plain(gone),
        plain(most),
        at(polled, first),
        until(back)
    ))
}

fn copies_unassigned(polled: &[Polled]) -> Option<String> {
    let first = polled.iter().position(|(_, copies)| *copies > 0.0)?;
    let from = &polled[first..];
    let most = from.iter().map(|(_, copies)| *copies).fold(0.0, f64::max);
    let assigned = from.iter().find(|(_, copies)| *copies <= 0.0);
    let plural = if most > 1.0 { "copies of shards were" } else { "copy of a shard was" };
    Some(format!(
        "{} {plural} on no node from {} {}",
        plain(most),
        duration(from[0].0),
        until(assigned)
    ))
}

fn restarted(polled: &[Polled]) -> Option<String> {
    let mut pairs = polled.windows(2);
    let after = pairs.find_map(|pair| (pair[1].1 < pair[0].1).then_some(pair[1]))?;
    Some(format!("the server was restarted before {}", duration(after.0)))
}

fn changed_places(polled: &[Polled]) -> Option<String> {
    let mut pairs = polled.windows(2);
    let after = pairs.find_map(|pair| ((pair[1].1 - pair[0].1).abs() > 0.5).then_some(pair[1]))?;
    let what = if after.1 > 0.5 {
        "the primary became a standby"
    } else {
        "a standby became the primary (failover)"
    };
    Some(format!("{what} before {}", duration(after.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_model::target_telemetry::SeriesKind;

    const GAP: f64 = -1.0;

    /// Reported changes of series that were polled once a second from second 1; a negative value is a failed poll.
    fn reported(series: &[(&str, Option<&str>, &[f64])]) -> Vec<String> {
        let most = series.iter().map(|(.., values)| values.len()).max().unwrap_or(0);
        let times = (1..=u64::try_from(most).unwrap()).map(|second| second * 1_000_000_000);
        let series = series.iter().map(|(name, node, values)| TelemetrySeries {
            name: (*name).to_owned(),
            node: node.map(str::to_owned),
            kind: SeriesKind::Level,
            values: values.iter().map(|value| (*value >= 0.0).then_some(*value)).collect(),
            source: "target".to_owned(),
            unit: "1".to_owned(),
        });
        let telemetry = TargetTelemetry {
            times_ns: times.collect(),
            series: series.collect(),
            ..TargetTelemetry::default()
        };
        let changes = cluster_changes(&telemetry);
        assert!(changes.iter().all(|change| change.kind == IncidentKind::ClusterChanged));
        changes.into_iter().map(|change| change.message).collect()
    }

    #[test]
    fn a_node_that_left_is_reported_with_its_times_and_copies_on_no_node_too() {
        let killed = reported(&[
            (names::CLUSTER_SIZE, None, &[3.0, 3.0, GAP, 2.0, 2.0, 3.0]),
            (names::COPIES_UNASSIGNED, None, &[0.0, 0.0, GAP, 4.0, 2.0, 0.0]),
        ]);
        let expected = [
            "1 node of 3 left the cluster at 4.00 s, until 6.00 s",
            "4 copies of shards were on no node from 4.00 s until 6.00 s",
        ];
        assert_eq!(killed, expected);
        let gone = reported(&[(names::CLUSTER_SIZE, None, &[3.0, 1.0, 2.0])]);
        assert_eq!(gone, ["2 nodes of 3 left the cluster at 2.00 s, until the end"]);
        let seldom_read = [3.0, 3.0, GAP, GAP, GAP, GAP, 2.0];
        let gone = reported(&[(names::CLUSTER_SIZE, None, &seldom_read)]);
        assert_eq!(gone, ["1 node of 3 left the cluster between 2.00 s and 7.00 s, until the end"]);
        let never_there = reported(&[(names::COPIES_UNASSIGNED, None, &[1.0, 1.0])]);
        assert_eq!(never_there, ["1 copy of a shard was on no node from 1.00 s until the end"]);
    }

    #[test]
    fn restarts_and_failovers_name_their_server_and_common_reports_appear_once() {
        let restarted = reported(&[(names::UPTIME, Some("n2"), &[100.0, 101.0, GAP, 0.0, 1.0])]);
        assert_eq!(restarted, ["n2: the server was restarted before 4.00 s"]);
        let promoted = reported(&[(names::STANDBY, None, &[1.0, 0.0])]);
        assert_eq!(promoted, ["a standby became the primary (failover) before 2.00 s"]);
        let sizes: &[f64] = &[2.0, 1.0];
        let twice =
            [(names::CLUSTER_SIZE, Some("n1"), sizes), (names::CLUSTER_SIZE, Some("n2"), sizes)];
        assert_eq!(reported(&twice).len(), 1);
    }

    #[test]
    fn constant_or_growing_values_are_no_change() {
        let calm = reported(&[
            (names::CLUSTER_SIZE, None, &[3.0, 3.0, 4.0]),
            (names::COPIES_UNASSIGNED, None, &[0.0, 0.0, 0.0]),
            (names::UPTIME, None, &[5.0, 6.0, 6.0]),
            (names::STANDBY, None, &[1.0, GAP, 1.0]),
        ]);
        assert!(calm.is_empty(), "{calm:?}");
    }
}
