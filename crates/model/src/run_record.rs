//! The record of one run: all measurements and judgments, with the figures of each op, and of each stream, in each
//! phase.
//!
//! Durations end in `_ns`; times count from the start of the first phase with a pace, those of the load phase from its
//! own start. Data only; `analysis` interprets them. Must not hold passwords.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::audit_record::AuditRecord;
use super::control::InterventionRecord;
use super::display::{percent_signed, rate, ratio};
use super::histogram::LatencySummary;
use super::judgment::{Incident, Judgments};
use super::limit::Limit;
use super::plan::{PhaseKind, Plan, Unit};
use super::record::Header;
use super::target_telemetry::TargetTelemetry;
use super::units::{Seed, is_default};

/// A run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// The header that all records have.
    #[serde(flatten)]
    pub header: Header,
    /// The plan of the run.
    pub plan: PlanRecord,
    /// The workload of the run.
    pub workload: WorkloadRecord,
    /// The target of the run.
    pub target: TargetRecord,
    /// The judgments: whether the measurement is valid, the data are correct, and the objective is met.
    pub judgments: Judgments,
    /// The resource that limited the run; absent for a run below saturation and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The estimate made before the run of its duration, rows, and bytes.
    pub estimate: Option<EstimateRecord>,
    /// The common begin with the other shares of its plan; absent if they did not meet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meeting: Option<MeetingRecord>,
    /// The phases of the run, in order.
    pub phases: Vec<PhaseRecord>,
    /// Results per phase, stream, and op.
    pub results: Vec<ResultRecord>,
    /// Throughput of each stream in each phase, over all its ops.
    pub streams: Vec<StreamRecord>,
    /// The target's availability: times without acknowledgments.
    pub availability: AvailabilityRecord,
    /// The result of the audit, which checks the stored data.
    pub audit: AuditRecord,
    /// The load generators.
    pub clients: Vec<ClientRecord>,
    /// Metrics of the load generator, one sample per second.
    pub telemetry: Vec<TelemetrySample>,
    /// Metrics of the target and its host; absent if none were polled or none were reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_telemetry: Option<TargetTelemetry>,
    /// Events that cut the run short or left part of it incomplete; the judgments take them into account.
    pub incidents: Vec<Incident>,
    /// Changes and notes that the user made during the run, in the order in which they took effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interventions: Vec<InterventionRecord>,
    /// Sentences about the run, for people to read; no judgment depends on them.
    pub notes: Vec<RunNote>,
    /// Figures per second and op.
    pub intervals: Vec<IntervalRecord>,
}

/// The common begin of a plan's shares, agreed at the target and by its clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeetingRecord {
    /// The same in the records of all shares that began together.
    pub id: String,
    /// How much later than agreed it began; 0 if it was ready.
    pub late_ns: u64,
    /// How far its begin can be off from the others', as far as the target's clock could be read.
    pub error_ns: u64,
}

/// The plan and its identity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRecord {
    /// Hash of the plan, see [`Plan::hash`].
    pub hash: String,
    /// The seed of all random values.
    pub seed: Seed,
    /// The complete plan.
    pub definition: Plan,
}

/// The workload's identity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRecord {
    /// Name of the workload.
    pub name: String,
    /// Version of the workload.
    pub version: u32,
    /// Hash of everything that determines rows and ops.
    pub fingerprint: String,
    /// The same hash without the seed; absent in older records and imported results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseeded: Option<String>,
    /// All parameters with their effective values.
    pub parameters: BTreeMap<String, String>,
}

/// The target, as found at the start of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// URLs of the target, without passwords.
    pub urls: Vec<String>,
    /// Name of the driver.
    pub driver: String,
    /// Version, as reported by the target.
    pub version: String,
    /// Durability, settings that differ from their defaults, and the insert mode.
    pub settings: BTreeMap<String, String>,
    /// Short descriptions for the summary.
    pub traits: Vec<String>,
    /// Whether the target is a simulation rather than a database.
    pub simulated: bool,
    /// Whether the database runs inside the load generator's process. The CPU time of its threads does not count as the
    /// load generator's.
    pub embedded: bool,
    /// Whether the database was made for this run alone, in the run's directory, and was removed after its clean audit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub removed: bool,
    /// Whether the target stores nothing. The figures are then the load generator's ceiling, not a database's
    /// throughput.
    pub sink: bool,
    /// The work that each URL received.
    pub hosts: Vec<HostRecord>,
    /// The workload's tables, as found by the first share and as they were at the end of the run.
    pub tables: Vec<TableRecord>,
    /// Size of the workload's tables before the first measured phase, in bytes.
    pub bytes_before: Option<u64>,
    /// Size of the workload's tables after the last phase, in bytes.
    pub bytes_after: Option<u64>,
    /// Growth of the tables in bytes per row acknowledged between the two sizes. It includes data that the target has
    /// not yet merged or cleaned up.
    pub disk_bytes_per_row: Option<f64>,
    /// Memory in which the target can keep data, as far as the target reports it.
    #[serde(default, skip_serializing_if = "MemoryRecord::is_unknown")]
    pub memory: MemoryRecord,
    /// CPU quotas of the nodes that were started with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_quotas: Vec<CpuQuota>,
}

/// Memory in which a target can keep data, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRecord {
    /// The target's own data caches, by the names of the settings that size them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub caches: BTreeMap<String, u64>,
    /// The size that the page caches of its machines can reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache: Option<u64>,
}

impl MemoryRecord {
    /// Whether everything about it is unknown.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

impl TargetRecord {
    /// The effective value of a setting for the workload's tables: their own if they have one, otherwise the server's.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.of_tables(name).or_else(|| self.settings.get(name).map(String::as_str))
    }

    /// The tables' own value of a setting: as reported by the target, otherwise as given by the user.
    pub fn of_tables(&self, name: &str) -> Option<&str> {
        let mut origins = [OWN_SETTING, TABLE_SETTING].into_iter();
        let found = origins.find_map(|origin| self.settings.get(&format!("{origin}{name}")));
        found.map(String::as_str)
    }
}

/// Prefix of the names of settings given to the workload's tables by `--with`.
pub const TABLE_SETTING: &str = "with.";
/// Prefix of the names of the tables' own settings, no matter who created the tables.
pub const OWN_SETTING: &str = "table.";

/// The CPU quota of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuQuota {
    /// The node, as named in control-group telemetry.
    pub node: String,
    /// Quota in cores.
    pub cores: f64,
}

/// The estimate made before a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EstimateRecord {
    /// Maximum total duration of all paced phases, in nanoseconds. Absent if only a number of rows ends them and the
    /// target sets the pace. Load, drain, and audit are not included.
    pub duration_ns: Option<u64>,
    /// Maximum number of rows that all shares write, including the load phase; absent if the target sets the pace.
    pub rows: Option<u64>,
    /// Size of a row in bytes.
    pub bytes_per_row: Option<u64>,
    /// Whether the row size was measured on existing rows. If not, it is the size of the row's values.
    pub bytes_per_row_measured: bool,
    /// Maximum number of bytes that the run writes; absent if the number of rows is unknown.
    pub bytes: Option<u64>,
    /// Free space on the target's disk; absent if neither the target nor this machine reports it.
    pub disk: Option<DiskRecord>,
}

/// Free disk space before a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskRecord {
    /// A path or the name of a node.
    pub place: String,
    /// Free space in bytes.
    pub free_bytes: u64,
    /// Total size in bytes.
    pub total_bytes: u64,
    /// Space in bytes that a run leaves free. A run that would use it is refused or stopped.
    pub reserve_bytes: u64,
}

/// A table's entries in the table registry before and after a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableRecord {
    /// Name of the table.
    pub name: String,
    /// Whether the table held rows of earlier runs when this run started.
    pub start: TableStart,
    /// Number of rows of earlier runs, as last counted; absent if they were not counted.
    pub rows_before: Option<u64>,
    /// Index of the first row that this run could write.
    pub first_index: u64,
    /// Index from which the next run continues; absent if this run could not determine it.
    pub next_index: Option<u64>,
    /// Whether an earlier run ended without registering its last row, so that the table was queried for it.
    pub recovered: bool,
}

/// The state of a table at the start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableStart {
    /// Without rows of earlier runs: the table was created, recreated, or empty.
    Fresh,
    /// With rows of earlier runs; this run appended its own.
    Continued,
}

/// The work that one host received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostRecord {
    /// URL of the host, without passwords.
    pub url: String,
    /// Sessions opened to the host, including reopened ones.
    pub sessions: u64,
    /// Ops that the host acknowledged in measured phases.
    pub acknowledged: u64,
    /// Ops that failed on the host, completely or in part.
    #[serde(default)]
    pub failed: u64,
}

/// A phase of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRecord {
    /// Name of the phase, as in the results.
    pub name: String,
    /// Kind of the phase.
    pub kind: PhaseKind,
    /// Position in the streams' paces. Absent for phases without a pace, and for those whose pace the user set during
    /// the run.
    pub step: Option<u32>,
    /// Start, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// Duration in nanoseconds.
    pub duration_ns: u64,
    /// For a warm-up that lasts until throughput is steady: whether steady throughput was shown. If not, the warm-up
    /// ran until its time limit. Absent for every other phase, and if the user ended the warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<bool>,
}

impl PhaseRecord {
    /// Whether the phase of this name loaded rows before the measurement.
    pub fn is_load(phases: &[Self], name: &str) -> bool {
        let mut phases = phases.iter();
        phases.any(|phase| phase.kind == PhaseKind::Load && phase.name == name)
    }
}

/// The target's availability over the measured phases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AvailabilityRecord {
    /// Longest time without an acknowledgment, in nanoseconds, to within a millisecond.
    pub longest_gap_ns: u64,
    /// Start of that time, in nanoseconds from the start of the run.
    pub longest_gap_start_ns: u64,
    /// Number of whole seconds with less than half of the median second's acknowledgments.
    pub seconds_below_half: u64,
    /// Number of whole seconds without any acknowledgment.
    pub dips: u64,
    /// Time from the end of the longest dip until half of the median was reached again, in whole seconds, stated in
    /// nanoseconds.
    pub recovery_ns: Option<u64>,
    /// The target's recovery after the longest gap; absent if the gap was no outage, or without counts per 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryRecord>,
    /// The longest gaps, [start, length] in nanoseconds, at most 64, for merging shares.
    pub gaps: Vec<[u64; 2]>,
    /// Acknowledged ops in each whole second of the measured phases.
    pub acknowledged_per_s: Vec<u64>,
}

/// Recovery of the target after an outage: a gap during which more ops were offered than in 300 ms plus two. Counts are
/// per 100 ms. No time is earlier than the end of the gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryRecord {
    /// Time of the last acknowledgment before the outage, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// Time from there until the offered rate was acknowledged again, for 10 s or to the end of the phase, in
    /// nanoseconds; absent if it never was.
    pub rate_again_ns: Option<u64>,
    /// Time from there until the backlog was also worked off, in nanoseconds; absent if it never was.
    pub recovered_ns: Option<u64>,
}

/// A load generator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientRecord {
    /// Its share of the plan, such as `1/1`.
    pub share: String,
    /// Number of cores available to this process.
    pub cores: u32,
    /// CPU time of this process in measured phases, in seconds, without the threads of embedded drivers.
    pub cpu_seconds: f64,
    /// The same, divided by measured time and cores; 1 is saturated.
    pub cpu_fraction: f64,
    /// CPU time of embedded drivers' threads in measured phases, in seconds.
    pub embedded_cpu_seconds: f64,
    /// CPU use of the whole machine in measured phases, as a fraction, including other programs.
    pub machine_cpu_fraction: Option<f64>,
    /// CPU time stolen by the hypervisor, as a fraction.
    pub steal_fraction: Option<f64>,
    /// Maximum resident set size in bytes.
    pub max_rss_bytes: u64,
    /// Throughput against a sink, in units per second; absent if it was not calibrated. For a simulated load generator,
    /// its maximum rate.
    pub calibrated_ceiling: Option<f64>,
    /// A lower bound of the ceiling, derived from a calibration with another number of sessions. Present only if there
    /// is no calibration for this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_at_least: Option<CeilingBound>,
    /// URL of the sink used for calibration; absent in older records and if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink: Option<String>,
    /// Number of executor threads.
    pub executors: u32,
    /// The longest times at which the load generator itself stalled.
    #[serde(default)]
    pub stalls: Vec<StallRecord>,
    /// The scheduling class of the executor threads.
    #[serde(default)]
    pub scheduling: SchedulingClass,
}

/// A lower bound of the load generator's ceiling. Throughput against a sink falls at most in proportion to the number
/// of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CeilingBound {
    /// Throughput in units per second.
    pub units_per_s: f64,
    /// Number of sessions with which the ceiling was measured.
    pub sessions: u32,
}

/// The kernel's scheduling class of the load generator's sending threads.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingClass {
    /// Normal: the load generator did not have to send on time next to a database on the same host.
    #[default]
    Normal,
    /// Real-time.
    RealTime,
    /// Real-time, until a thread used more than a quarter of a core.
    RealTimeGivenUp,
    /// Normal, because the real-time class was not permitted.
    NotPermitted,
}

/// Shorter stalls of the load generator are visible only in its lag, nanoseconds.
pub const STALL_NS: u64 = 100_000_000;

/// A stall of the load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StallRecord {
    /// Start, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// Duration in nanoseconds.
    pub duration_ns: u64,
    /// The kind of stall.
    pub kind: StallKind,
}

impl StallRecord {
    /// Its end, from the start of the run.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// The kind of a stall, with its evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// The process was stopped or got no CPU: its clock thread woke late.
    NotRunning,
    /// The machine was suspended: the boot-time clock ran ahead of the monotonic clock.
    MachinePaused,
}

/// One second of the load generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TelemetrySample {
    /// End of the second, in nanoseconds from the start of the run.
    pub time_ns: u64,
    /// CPU use of this process without embedded drivers, in cores.
    pub client_cores: f64,
    /// CPU use of embedded drivers, in cores.
    pub embedded_cores: f64,
    /// CPU use of the whole machine, as a fraction; absent if unknown.
    pub machine_cpu_fraction: Option<f64>,
    /// CPU time stolen by the hypervisor, as a fraction; absent if unknown.
    pub steal_fraction: Option<f64>,
    /// Current resident set size in bytes.
    pub rss_bytes: u64,
}

/// A sentence about the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunNote {
    /// Stable code.
    pub code: String,
    /// The sentence.
    pub message: String,
}

/// One second of one op.
// Its fields, in this order, are also the columns of the CSV of seconds, which has none that may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalRecord {
    /// The second, counted from the start of the run.
    pub second: u64,
    /// Name of the phase.
    pub phase: String,
    /// Name of the stream.
    pub stream: String,
    /// Name of the op.
    pub op: String,
    /// Ops intended in this second.
    pub offered: u64,
    /// Ops sent, by intended time.
    pub sent: u64,
    /// Ops acknowledged, by finish time.
    pub acknowledged: u64,
    /// Rows acknowledged, by finish time.
    pub rows_acknowledged: u64,
    /// Ops failed, completely or in part, by finish time.
    pub errors: u64,
    /// Of the failed ops, those that the target rejected for lack of capacity.
    #[serde(default)]
    pub rejected: u64,
    /// Rows that the target reported as not stored, by finish time.
    #[serde(default)]
    pub rows_refused: u64,
    /// Ops dropped, by intended time.
    pub dropped: u64,
    /// Median latency of ops intended in this second, in nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of their latency, in nanoseconds; absent below 100 ops.
    pub p99_ns: Option<u64>,
    /// Maximum latency, in nanoseconds.
    pub max_ns: Option<u64>,
}

/// The length of a window of [`Windows`], nanoseconds.
pub const WINDOW_NS: u64 = 100_000_000;

/// The figures of one op of one stream in one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultRecord {
    /// Name of the phase.
    pub phase: String,
    /// Name of the stream.
    pub stream: String,
    /// Name of the op.
    pub op: String,
    /// Whether the load is open, with arrivals at a given rate. Results of open and closed load are never compared.
    pub open: bool,
    /// Number of ops intended.
    pub offered: u64,
    /// Number of ops sent; retries are not counted.
    pub sent: u64,
    /// Number of ops that the target acknowledged, completely or in part.
    pub acknowledged: u64,
    /// Of these, transactions that ended with the ROLLBACK that the workload orders.
    #[serde(default, skip_serializing_if = "crate::audit_record::is_zero")]
    pub rolled_back: u64,
    /// Number of ops intended but never sent.
    pub dropped: u64,
    /// Work acknowledged within the phase, regardless of its intended time; throughput is calculated from it.
    #[serde(default)]
    pub answered: AnsweredRecord,
    /// Number of retries.
    pub retries: u64,
    /// Number of ops whose last attempt failed, completely or in part, by error class.
    pub errors: BTreeMap<String, u64>,
    /// Of these, ops for which the target acknowledged some rows, by error class. They are also counted as
    /// acknowledged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partial: BTreeMap<String, u64>,
    /// One example of the target's message per error class.
    pub error_examples: BTreeMap<String, String>,
    /// The failed ops by class, code, and message, most frequent first: at most 20 messages; any others are combined
    /// per class. Empty if only classes are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureRecord>,
    /// Rows written.
    pub rows: RowCounts,
    /// Acknowledged work per second of the phase, by time of response.
    pub throughput: ThroughputRecord,
    /// Size of the responses in bytes.
    pub response_bytes: u64,
    /// Rows in the responses.
    pub response_rows: u64,
    /// Latency of acknowledged ops: finished minus intended. Failed and dropped ops rank as infinite.
    pub latency_ns: LatencySummary,
    /// Service time: finished minus started.
    pub service_ns: LatencySummary,
    /// Session wait: the time that an intended op waited while all sessions were busy.
    pub session_wait_ns: LatencySummary,
    /// Client lag: the time by which the load generator started an op late.
    pub client_lag_ns: LatencySummary,
    /// Latency without each op's client lag; open load only.
    #[serde(default)]
    pub undelayed_ns: Option<LatencySummary>,
    /// Latency of a row: the wait for its batch to fill, plus the op's latency. Unacknowledged rows rank as infinite.
    /// Open inserts only.
    pub row_latency_ns: Option<LatencySummary>,
    /// Latency of failed ops: finished minus intended.
    pub error_latency_ns: LatencySummary,
    /// Whether the percentiles are those of a backlog: open load of which too many ops were dropped.
    pub backlog: bool,
    /// Distributions in nanoseconds, in HdrHistogram's V2 compressed encoding, base64.
    pub histograms: Histograms,
    /// Counts per window of 100 ms, for statistics.
    pub windows: Windows,
}

impl ResultRecord {
    /// Ops that failed completely.
    pub fn failed_ops(&self) -> u64 {
        let with_errors: u64 = self.errors.values().sum();
        with_errors.saturating_sub(self.partial_ops())
    }

    /// Ops with only some rows acknowledged.
    pub fn partial_ops(&self) -> u64 {
        self.partial.values().sum()
    }
}

/// Ops that failed for the same reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureRecord {
    /// The error class, as in `errors`.
    pub class: String,
    /// The target's own code, such as an SQLSTATE; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The target's message for the first of these ops; the messages of the others may contain different numbers.
    pub message: String,
    /// Number of ops.
    pub count: u64,
    /// The driver's advice for this code; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl FailureRecord {
    /// The code, if any, and the message.
    pub fn cause(&self) -> String {
        self.code.iter().map(|code| format!("{code} ")).chain([self.message.clone()]).collect()
    }

    /// Whether it has the same cause as another one.
    pub fn is_as(&self, other: &Self) -> bool {
        (&self.class, &self.code, &self.message) == (&other.class, &other.code, &other.message)
    }
}

/// Row counts of insert ops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowCounts {
    /// Rows of the ops that were sent.
    pub sent: u64,
    /// Rows that the target reported as stored.
    pub acknowledged: u64,
    /// Rows that the target reported as not stored.
    pub refused: u64,
    /// Rows whose outcome is unknown.
    pub unknown: u64,
}

/// Work acknowledged within a phase, by time of response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredRecord {
    /// Number of ops, including partial ones.
    pub ops: u64,
    /// Number of their rows that the target reported as stored.
    pub rows: u64,
}

impl AnsweredRecord {
    /// Mean rows per op; 0 without any op.
    pub fn rows_per_op(self) -> f64 {
        ratio(self.rows, self.ops.max(1))
    }
}

/// Throughput with its confidence interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughputRecord {
    /// Ops per second.
    pub ops_per_s: f64,
    /// Rows per second; 0 for queries.
    pub rows_per_s: f64,
    /// 95% confidence interval of the throughput in the stream's unit per second; absent if not tested.
    pub ci95: Option<[f64; 2]>,
}

/// One stream in one phase, over all its ops.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamRecord {
    /// Name of the phase.
    pub phase: String,
    /// Name of the stream.
    pub stream: String,
    /// The unit of its rates.
    pub unit: Unit,
    /// The planned rate of this record's share of the plan, in units per second; absent in closed load.
    pub planned_rate: Option<f64>,
    /// The weight of each op; empty if the stream has only one, and in older records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u32>,
    /// Number of sessions available to this record's share of the plan.
    pub sessions: u32,
    /// Number of those sessions that ran at least one op; absent if this was not counted.
    #[serde(default)]
    pub working: Option<u32>,
    /// The reason why some sessions never connected, as reported by the target or the system; absent if all connected.
    #[serde(default)]
    pub missing_because: Option<String>,
    /// Throughput of acknowledged work.
    pub throughput: ThroughputRecord,
    /// Effective sample size of the throughput series: its equivalent number of independent windows.
    pub effective_windows: f64,
    /// Whether throughput was steady over the phase.
    pub steadiness: Steadiness,
    /// Linear drift of throughput over the phase, as a percentage of the mean.
    pub drift_percent: Option<f64>,
    /// 95% confidence interval of the drift.
    #[serde(default)]
    pub drift_ci95: Option<[f64; 2]>,
    /// Mean throughput of the first and the last third of the phase, in units per second.
    #[serde(default)]
    pub thirds_per_s: Option<[f64; 2]>,
    /// Number of sessions that Little's law predicts for this throughput and latency; closed load only.
    pub littles_law_sessions: Option<f64>,
}

/// Drift at or above this percentage of the mean is as large as the mean itself, and a percentage would mislead.
const MISLEADING_PERCENT: f64 = 100.0;

impl StreamRecord {
    /// The drift over the phase, such as `-3.1% (95% CI -9.0% to +4.2%)`, if known. Drift as large as the mean itself
    /// is stated as the means of the first and last third, as in [`StreamRecord::change`].
    pub fn drift(&self) -> Option<String> {
        let (percent, [low, high]) = (self.drift_percent?, self.drift_ci95?);
        if [percent, low, high].iter().any(|of| of.abs() >= MISLEADING_PERCENT) {
            let unknown = || "as much as the mean itself".to_owned();
            return Some(self.change().unwrap_or_else(unknown));
        }
        let [percent, low, high] = [percent, low, high].map(|of| percent_signed(of / 100.0));
        Some(format!("{percent} (95% CI {low} to {high})"))
    }

    /// `from 1,858 rows/s in the first third to 668 in the last`; absent in older records.
    pub fn change(&self) -> Option<String> {
        let [first, last] = self.thirds_per_s?.map(rate);
        let unit = self.unit.name();
        Some(format!("from {first} {unit}/s in the first third to {last} in the last"))
    }
}

/// Whether throughput was steady over a phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// The drift's confidence interval lies within the plan's limit.
    Steady,
    /// The drift's confidence interval lies outside the plan's limit.
    NotSteady,
    /// Inconclusive: the confidence interval is too wide.
    NotShown,
    /// Not tested: too few independent windows.
    #[default]
    NotTested,
}

/// Histograms, each in base64.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// Latency: finished minus intended.
    pub latency: String,
    /// Service time: finished minus started.
    pub service: String,
    /// Session wait.
    pub session_wait: String,
    /// Client lag.
    pub client_lag: String,
    /// Latency without client lag; open load only.
    #[serde(default)]
    pub undelayed: Option<String>,
    /// Row latency; open inserts only.
    pub row_latency: Option<String>,
    /// Latency of failed ops.
    pub error_latency: String,
}

/// Counts per window of 100 ms of the phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Windows {
    /// Acknowledged ops, by finish time.
    pub acknowledged: Vec<u64>,
    /// Unacknowledged rows of these ops; empty if no op was acknowledged in part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u64>,
    /// Intended ops, by intended time; open load only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<u64>,
    /// Failed ops, by finish time; open load only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<u64>,
    /// Ended or dropped ops, by intended time; only if an objective limits a percentile.
    pub ended: Vec<u64>,
    /// For each latency or row latency objective of the plan, in order: ended ops over the limit, including failed and
    /// dropped ones. For a row latency objective, their rows over the limit, out of `ended` times the rows per op.
    pub over: Vec<Vec<u64>>,
}
