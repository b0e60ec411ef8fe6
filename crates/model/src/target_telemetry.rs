//! What the target, its host and other endpoints said of themselves during a run.
//!
//! Series on the run's own time axis, bounded in number and in points. Only data; what they mean is
//! the business of `highwater_analysis::telemetry`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most series of a record; what comes beyond is counted and left out.
pub const SERIES_MAX: usize = 1_000;
/// Most points of a series; beyond, two neighbors become one, and the interval twice as long.
pub const POINTS_MAX: usize = 1_201;

/// Names that mean the same whoever says them. Others may be told besides.
pub mod names {
    /// Busy share of the CPUs of a node or host, 0 to 1.
    pub const CPU_BUSY: &str = "cpu_busy";
    /// Share of the time in whose periods a node used up its quota of CPU, 0 to 1.
    pub const CPU_THROTTLED: &str = "cpu_throttled";
    /// Share of the CPUs' time that a hypervisor gave to others, 0 to 1.
    pub const CPU_STEAL: &str = "cpu_steal";
    /// Share of the time that CPUs were idle while something waited for a disk, 0 to 1.
    pub const CPU_IOWAIT: &str = "cpu_iowait";
    /// The system's load average over a minute.
    pub const LOAD: &str = "load";
    /// Used share of the memory that the target gives itself, 0 to 1.
    pub const HEAP_USED: &str = "heap_used";
    /// Used share of a machine's memory, 0 to 1.
    pub const MEMORY_USED: &str = "memory_used";
    /// Pieces of work that execute.
    pub const ACTIVE: &str = "active";
    /// Pieces of work that wait to be executed.
    pub const QUEUE: &str = "queue";
    /// Pieces of work that were refused for lack of capacity; what a piece is, the target says.
    pub const REJECTED: &str = "rejected";
    /// Sessions that wait for a lock.
    pub const LOCK_WAITS: &str = "lock_waits";
    /// Those of them that wait for a lock of rows.
    pub const LOCK_WAITS_ROW: &str = "lock_waits_row";
    /// Those of them that wait for a lock of a whole table.
    pub const LOCK_WAITS_TABLE: &str = "lock_waits_table";
    /// Those of them that wait until a table's file has been made larger.
    pub const LOCK_WAITS_EXTEND: &str = "lock_waits_extend";
    /// Sessions that wait for a disk.
    pub const DISK_WAITS: &str = "disk_waits";
    /// Parts that wait to be merged, of the partition of a table that has most.
    pub const PARTS_OF_PARTITION: &str = "parts_of_fullest_partition";
    /// Inserts that the target holds up, because merging cannot keep up with them.
    pub const DELAYED_INSERTS: &str = "inserts_delayed";
    /// Nodes that take part in a cluster, as one of them counts them.
    pub const CLUSTER_SIZE: &str = "cluster_size";
    /// Copies of shards that are on no node.
    pub const COPIES_UNASSIGNED: &str = "copies_unassigned";
    /// Seconds since a server was started.
    pub const UPTIME: &str = "uptime";
    /// 1 where a server follows another one, 0 where it takes writes.
    pub const STANDBY: &str = "standby";
    /// Part of the time in which nodes did not replicate, because one of them had to catch up.
    pub const REPLICATION_PAUSED: &str = "flow_control_paused";
    /// How overloaded the compaction of a store is; 1 is what the target considers an overload.
    pub const COMPACTION_OVERLOAD: &str = "compaction_overload";
    /// Times that a store stopped writes to catch up.
    pub const WRITE_STALLS: &str = "write_stalls";
    /// Pieces of work that the target's admission control holds back, for lack of CPU.
    pub const ADMISSION_WAITS: &str = "admission_waits";
    /// The same for lack of a store's throughput.
    pub const ADMISSION_STORE_WAITS: &str = "admission_store_waits";
    /// Share of a disk's credit that is left, 0 to 1.
    pub const DISK_CREDIT: &str = "disk_credit";
    /// Checkpoints that began or were completed.
    pub const CHECKPOINTS: &str = "checkpoints";
    /// Bytes of the log that makes commits durable.
    pub const LOG_WRITTEN: &str = "log_written";
    /// Bytes read from disks.
    pub const DISK_READ: &str = "disk_read";
    /// Bytes written to disks.
    pub const DISK_WRITTEN: &str = "disk_written";
    /// Share of the time that a disk was busy, or held work back, 0 to 1.
    pub const DISK_BUSY: &str = "disk_busy";
    /// Bytes that can still be written.
    pub const DISK_FREE: &str = "disk_free";
    /// Bytes received from networks.
    pub const NET_RECEIVED: &str = "net_received";
    /// Bytes sent to networks.
    pub const NET_SENT: &str = "net_sent";
}

/// Names of sources that every record has the same.
pub mod sources {
    /// The target itself, by its own protocol.
    pub const TARGET: &str = "target";
    /// The machine, where the target is on it.
    pub const HOST: &str = "host";
    /// The control groups of the nodes that were started here, whose CPU is measured against their quotas.
    pub const CONTROL_GROUPS: &str = "control_groups";
}

/// Units that figures are converted by.
pub mod units {
    /// A share of the whole, 0 to 1.
    pub const SHARE: &str = "share";
}

/// All telemetry of a run but that of the load generator's own process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetTelemetry {
    /// Wished distance of two samples.
    pub interval_ns: u64,
    /// When each sample was complete, from the start of the run; ascending. The first one was taken
    /// before the first op, and is where counts begin.
    pub times_ns: Vec<u64>,
    /// The node or endpoint that was polled.
    pub sources: Vec<TelemetrySource>,
    /// What they said; at most 1,000 series.
    pub series: Vec<TelemetrySeries>,
    /// Series beyond that bound, which are not here.
    pub series_left_out: u64,
}

/// One that was polled, and what that cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TelemetrySource {
    /// `target`, `host` (the machine, when the target is on it), `control_groups` (of nodes that were started with
    /// a quota), or the URL of an endpoint.
    pub name: String,
    /// Times that it was polled.
    pub readings: u64,
    /// Of those, times that it gave no answer in time.
    pub failed: u64,
    /// One reason for that.
    pub failure: Option<String>,
    /// Time until its answers, together.
    pub reading_ns: u64,
    /// The longest of them.
    pub longest_ns: u64,
}

/// One figure over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TelemetrySeries {
    /// Name of the source.
    pub source: String,
    /// What it is.
    pub name: String,
    /// What it is counted in: `share` (0 to 1), `bytes`, `1` …
    pub unit: String,
    /// Which node, disk or network it is of, where there are several.
    pub node: Option<String>,
    /// How its values are to be read.
    pub kind: SeriesKind,
    /// One value for each of [`TargetTelemetry::times_ns`]; absent where nothing was said.
    pub values: Vec<Option<f64>>,
}

/// What was said at one time: a point of each series that has a value then.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TelemetryPoint {
    /// From the start of the run.
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
    /// Adds what was said at a time behind all others. Two neighbors become one where there would be `points_max`
    /// points; series beyond [`SERIES_MAX`] are counted and left out.
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
                    self.series.push(TelemetrySeries::of(value));
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

    /// Two neighboring points become one; the first one stays alone.
    pub fn halve(&mut self) {
        self.times_ns = halved(&self.times_ns, |pair| pair.last().copied());
        for series in &mut self.series {
            series.values = series.kind.halved(&series.values);
        }
    }
}

impl TelemetryValue {
    /// Whether both are of one series.
    pub fn is_same_series(&self, other: &Self) -> bool {
        self.name == other.name && self.node == other.node && self.source == other.source
    }
}

impl TelemetrySeries {
    fn of(value: &TelemetryValue) -> Self {
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
    /// Two neighbors become one: of levels their mean, of counts their sum. The first value stays alone: counts begin
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

/// The first value, and what becomes of each pair behind it.
fn halved<T: Copy>(values: &[T], joined: impl Fn(&[T]) -> Option<T>) -> Vec<T> {
    let (first, rest) = values.split_at(values.len().min(1));
    let joined = rest.chunks(2).filter_map(joined);
    first.iter().copied().chain(joined).collect()
}

/// How the values of a series are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// As it stood at the time; a point that stands for two is their mean.
    Level,
    /// The increase since the value before; a point that stands for two is their sum.
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
            // One that says nothing at first, and one that stops.
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
