//! Metrics of the target, its host, and other endpoints during a run.
//!
//! Series on the run's time axis, bounded in number and in points. Data only; `highwater_analysis::telemetry`
//! interprets them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of series in a record; further ones are counted and dropped.
pub const SERIES_MAX: usize = 1_000;
/// Maximum number of points in a series; beyond it, pairs of neighbors are merged, and the interval doubles.
pub const POINTS_MAX: usize = 1_201;

/// Names with the same meaning for every source. Sources may report others.
pub mod names {
    /// Busy fraction of the CPUs of a node or host, 0 to 1.
    pub const CPU_BUSY: &str = "cpu_busy";
    /// Fraction of the time, by quota period, in which a node used up its CPU quota, 0 to 1.
    pub const CPU_THROTTLED: &str = "cpu_throttled";
    /// Fraction of a host's CPU time that the server's processes took, by the name of their program; without a name
    /// that of an embedded database, 0 to 1.
    pub const CPU_OF_SERVER: &str = "cpu_of_server";
    /// Fraction of a host's CPU time that the load generator took, 0 to 1.
    pub const CPU_OF_LOAD_GENERATOR: &str = "cpu_of_load_generator";
    /// Fraction of the CPUs' time that a hypervisor gave to others, 0 to 1.
    pub const CPU_STEAL: &str = "cpu_steal";
    /// Fraction of the time that CPUs were idle while something waited for a disk, 0 to 1.
    pub const CPU_IOWAIT: &str = "cpu_iowait";
    /// The system's load average over one minute.
    pub const LOAD: &str = "load";
    /// Used fraction of the memory that the target allocates for itself, 0 to 1.
    pub const HEAP_USED: &str = "heap_used";
    /// Used fraction of a machine's memory, 0 to 1.
    pub const MEMORY_USED: &str = "memory_used";
    /// Running tasks.
    pub const ACTIVE: &str = "active";
    /// Queued tasks.
    pub const QUEUE: &str = "queue";
    /// Tasks rejected for lack of capacity; the target defines a task.
    pub const REJECTED: &str = "rejected";
    /// Sessions that wait for a lock.
    pub const LOCK_WAITS: &str = "lock_waits";
    /// Sessions that wait for a row lock.
    pub const LOCK_WAITS_ROW: &str = "lock_waits_row";
    /// Sessions that wait for a table lock.
    pub const LOCK_WAITS_TABLE: &str = "lock_waits_table";
    /// Sessions that wait until a table's file has been extended.
    pub const LOCK_WAITS_EXTEND: &str = "lock_waits_extend";
    /// Sessions that wait for a disk.
    pub const DISK_WAITS: &str = "disk_waits";
    /// Parts waiting to be merged, in the partition with the most parts.
    pub const PARTS_OF_PARTITION: &str = "parts_of_fullest_partition";
    /// Inserts that the target delays because merging does not keep up.
    pub const DELAYED_INSERTS: &str = "inserts_delayed";
    /// Nodes in the cluster, as counted by one of them.
    pub const CLUSTER_SIZE: &str = "cluster_size";
    /// Unassigned copies of shards.
    pub const COPIES_UNASSIGNED: &str = "copies_unassigned";
    /// Seconds since a server started.
    pub const UPTIME: &str = "uptime";
    /// 1 if a server follows another one, 0 if it takes writes.
    pub const STANDBY: &str = "standby";
    /// Fraction of the time in which replication was paused because a node had to catch up.
    pub const REPLICATION_PAUSED: &str = "flow_control_paused";
    /// Compaction overload of a store; at or above 1, the target considers it overloaded.
    pub const COMPACTION_OVERLOAD: &str = "compaction_overload";
    /// Number of times that a store stopped writes to catch up.
    pub const WRITE_STALLS: &str = "write_stalls";
    /// Tasks held back by the target's admission control for lack of CPU.
    pub const ADMISSION_WAITS: &str = "admission_waits";
    /// Tasks held back for lack of a store's throughput.
    pub const ADMISSION_STORE_WAITS: &str = "admission_store_waits";
    /// Remaining fraction of a disk's credit, 0 to 1.
    pub const DISK_CREDIT: &str = "disk_credit";
    /// Checkpoints that began or completed.
    pub const CHECKPOINTS: &str = "checkpoints";
    /// Bytes written to the log that makes commits durable.
    pub const LOG_WRITTEN: &str = "log_written";
    /// Bytes read from disks.
    pub const DISK_READ: &str = "disk_read";
    /// Bytes written to disks.
    pub const DISK_WRITTEN: &str = "disk_written";
    /// Fraction of the time that a disk was busy, or throttled, 0 to 1.
    pub const DISK_BUSY: &str = "disk_busy";
    /// Free disk space in bytes.
    pub const DISK_FREE: &str = "disk_free";
    /// Bytes received from networks.
    pub const NET_RECEIVED: &str = "net_received";
    /// Bytes sent to networks.
    pub const NET_SENT: &str = "net_sent";
}

/// Source names common to all records.
pub mod sources {
    /// The target itself, through its own protocol.
    pub const TARGET: &str = "target";
    /// The machine, if the target runs on it.
    pub const HOST: &str = "host";
    /// The control groups of nodes started here, whose CPU is measured against their quotas.
    pub const CONTROL_GROUPS: &str = "control_groups";
}

/// Units that determine how figures are formatted.
pub mod units {
    /// A fraction, 0 to 1.
    pub const SHARE: &str = "share";
}

/// All metrics of a run, except those of the load generator's own process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetTelemetry {
    /// Requested polling interval in nanoseconds.
    pub interval_ns: u64,
    /// Times at which each sample was complete, in nanoseconds from the start of the run, ascending. The first sample
    /// was taken before the first op; counts start from it.
    pub times_ns: Vec<u64>,
    /// The polled sources.
    pub sources: Vec<TelemetrySource>,
    /// The metrics over time; at most 1,000 series.
    pub series: Vec<TelemetrySeries>,
    /// Number of further series that were dropped.
    pub series_left_out: u64,
}

/// A polled source, with the cost of polling it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TelemetrySource {
    /// Name of the source: `target`, `host` (the machine, if the target runs on it), `control_groups` (of nodes started
    /// with a quota), or the URL of an endpoint.
    pub name: String,
    /// Number of times that it was polled.
    pub readings: u64,
    /// Number of these polls without a response before the timeout.
    pub failed: u64,
    /// One of the causes; absent if no poll failed.
    pub failure: Option<String>,
    /// Total response time in nanoseconds.
    pub reading_ns: u64,
    /// Maximum response time in nanoseconds.
    pub longest_ns: u64,
}

/// A metric over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TelemetrySeries {
    /// Name of the source.
    pub source: String,
    /// Name of the metric.
    pub name: String,
    /// Unit, such as `share` (a fraction, 0 to 1), `bytes`, or `1`.
    pub unit: String,
    /// The node, disk, or network; absent if there is only one.
    pub node: Option<String>,
    /// How the values are to be read.
    pub kind: SeriesKind,
    /// One value for each of [`TargetTelemetry::times_ns`]; null if it was not reported.
    pub values: Vec<Option<f64>>,
}

/// The values polled at one time: a point of each series that has one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TelemetryPoint {
    /// Time from the start of the run, in nanoseconds.
    pub time_ns: u64,
    /// Values, by series.
    pub values: Vec<TelemetryValue>,
}

/// A value of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TelemetryValue {
    /// See [`TelemetrySeries::source`].
    pub source: String,
    /// See [`TelemetrySeries::name`].
    pub name: String,
    /// See [`TelemetrySeries::unit`].
    pub unit: String,
    /// See [`TelemetrySeries::node`].
    pub node: Option<String>,
    /// See [`TelemetrySeries::kind`].
    pub kind: SeriesKind,
    /// The value itself.
    pub value: f64,
}

impl TargetTelemetry {
    /// Adds values with a time after all others. Pairs of neighbors are merged if there would be more than `points_max`
    /// points; series beyond [`SERIES_MAX`] are counted and dropped.
    pub fn add(&mut self, point: &TelemetryPoint, points_max: usize) {
        if self.times_ns.last().is_some_and(|last| *last >= point.time_ns) {
            return;
        }
        let before = self.times_ns.len();
        self.times_ns.push(point.time_ns);
        for value in &point.values {
            let known = self.series.iter().position(|series| series.is_of(value));
            let place = match known {
                Some(place) => place,
                None if self.series.len() >= SERIES_MAX => {
                    self.series_left_out += 1;
                    continue;
                }
                None => {
                    self.series.push(TelemetrySeries::from_value(value));
                    self.series.len() - 1
                }
            };
            let values = &mut self.series[place].values;
            values.resize(before, None);
            values.push(Some(value.value));
        }
        for series in &mut self.series {
            series.values.resize(before + 1, None);
        }
        if self.times_ns.len() >= points_max.max(2) {
            self.halve();
        }
    }

    /// Merges pairs of neighboring points; the first point is kept.
    pub fn halve(&mut self) {
        self.times_ns = halved(&self.times_ns, |pair| pair.last().copied());
        for series in &mut self.series {
            series.values = series.kind.halved(&series.values);
        }
    }
}

impl TelemetryValue {
    /// Whether both belong to one series.
    pub fn is_same_series(&self, other: &Self) -> bool {
        self.name == other.name && self.node == other.node && self.source == other.source
    }
}

impl TelemetrySeries {
    fn from_value(value: &TelemetryValue) -> Self {
        Self {
            source: value.source.clone(),
            name: value.name.clone(),
            unit: value.unit.clone(),
            node: value.node.clone(),
            kind: value.kind,
            values: Vec::new(),
        }
    }

    fn is_of(&self, value: &TelemetryValue) -> bool {
        self.name == value.name && self.node == value.node && self.source == value.source
    }
}

impl SeriesKind {
    /// Merges pairs of neighbors: levels to their mean, counts to their sum. The first value is kept: counts begin
    /// there.
    pub fn halved(self, values: &[Option<f64>]) -> Vec<Option<f64>> {
        halved(values, |pair| {
            let said: Vec<f64> = pair.iter().copied().flatten().collect();
            let sum = said.iter().copied().reduce(|sum, value| sum + value);
            Some(match (self, said.len()) {
                (Self::Level, 2) => sum.map(|sum| sum / 2.0),
                _ => sum,
            })
        })
    }
}

/// Keeps the first value, and joins each pair after it.
fn halved<T: Copy>(values: &[T], joined: impl Fn(&[T]) -> Option<T>) -> Vec<T> {
    let (first, rest) = values.split_at(values.len().min(1));
    let joined = rest.chunks(2).filter_map(joined);
    first.iter().copied().chain(joined).collect()
}

/// How the values of a series are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// The value at the time of the sample. A merged point is the mean of two.
    Level,
    /// The increase since the previous value. A merged point is the sum of two.
    Count,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(second: u64, values: &[(&str, SeriesKind, f64)]) -> TelemetryPoint {
        let values = values.iter().map(|(name, kind, value)| TelemetryValue {
            source: sources::TARGET.to_owned(),
            name: (*name).to_owned(),
            unit: "1".to_owned(),
            node: None,
            kind: *kind,
            value: *value,
        });
        TelemetryPoint { time_ns: second, values: values.collect() }
    }

    #[test]
    fn points_are_joined_and_neither_a_count_nor_a_mean_is_lost() {
        let mut telemetry = TargetTelemetry::default();
        for second in 0..10_000 {
            let both = [("queue", SeriesKind::Level, 4.0), ("written", SeriesKind::Count, 3.0)];
            // One series starts late, and one stops.
            let said = if second < 5_000 { &both[1..] } else { &both };
            telemetry.add(&point(second, said), 100);
            assert!(telemetry.times_ns.len() < 100);
        }
        let [written, queue] = &telemetry.series[..] else {
            panic!("{:?}", telemetry.series);
        };
        let points = telemetry.times_ns.len();
        assert_eq!((written.values.len(), queue.values.len()), (points, points));
        let sum: f64 = written.values.iter().flatten().sum();
        assert!((sum - 30_000.0).abs() < 1e-6, "{sum}");
        let is_four = |value: &f64| (value - 4.0).abs() < 1e-9;
        assert!(queue.values.iter().flatten().all(is_four));
        assert_eq!(telemetry.times_ns.last(), Some(&9_999));
    }

    #[test]
    fn series_without_end_are_counted_and_left_out() {
        let mut telemetry = TargetTelemetry::default();
        for number in 0..1_000 {
            let name = format!("series {number}");
            telemetry.add(&point(number, &[(&name, SeriesKind::Level, 1.0)]), 100);
        }
        assert_eq!(telemetry.series.len(), SERIES_MAX);
        assert_eq!(telemetry.series_left_out, 1_000 - SERIES_MAX as u64);
    }
}
