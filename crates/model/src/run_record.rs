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
use super::units::Seed;

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// What all records begin with.
    #[serde(flatten)]
    pub header: Header,
    /// What was intended.
    pub plan: PlanRecord,
    /// What was run.
    pub workload: WorkloadRecord,
    /// Which target it ran against.
    pub target: TargetRecord,
    /// What to make of it.
    pub judgments: Judgments,
    /// What kept it from being faster; absent for a run below saturation, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// What the run was expected to take, before it did.
    pub estimate: Option<EstimateRecord>,
    /// What happened when.
    pub phases: Vec<PhaseRecord>,
    /// The figures, per phase, stream and op.
    pub results: Vec<ResultRecord>,
    /// Throughput of each stream in each phase, over all its ops.
    pub streams: Vec<StreamRecord>,
    /// Whether the target answered all the time.
    pub availability: AvailabilityRecord,
    /// Whether the data are right.
    pub audit: AuditRecord,
    /// The load generators.
    pub clients: Vec<ClientRecord>,
    /// Once a second, what the load generator did.
    pub telemetry: Vec<TelemetrySample>,
    /// What the target and its host said of themselves; absent if none was polled, or none of them
    /// tells anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_telemetry: Option<TargetTelemetry>,
    /// What cut the run short or left part of it incomplete; judgments read it.
    pub incidents: Vec<Incident>,
    /// What its user changed or noted while it ran, in the order in which the run obeyed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interventions: Vec<InterventionRecord>,
    /// Sentences about the run, for people; nothing is decided by them.
    pub notes: Vec<RunNote>,
    /// One second of one op each.
    pub intervals: Vec<IntervalRecord>,
}

/// The plan and its identity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRecord {
    /// See [`Plan::hash`].
    pub hash: String,
    /// The seed.
    pub seed: Seed,
    /// All of it.
    pub definition: Plan,
}

/// The workload's identity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRecord {
    /// Name.
    pub name: String,
    /// Version.
    pub version: u32,
    /// Hash of everything that determines rows and ops.
    pub fingerprint: String,
    /// The same without the seed; absent in older records and in imports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseeded: Option<String>,
    /// Parameters, resolved.
    pub parameters: BTreeMap<String, String>,
}

/// The target as it was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// Without secrets.
    pub urls: Vec<String>,
    /// Which driver talked to it.
    pub driver: String,
    /// What it says it is.
    pub version: String,
    /// Durability, changed settings, insert mode.
    pub settings: BTreeMap<String, String>,
    /// A few words for the summary.
    pub traits: Vec<String>,
    /// A model, not a database.
    pub simulated: bool,
    /// Inside our process: its threads' CPU is not the client's.
    pub embedded: bool,
    /// Stores nothing: the figures are the load generator's ceiling, not a database's.
    pub sink: bool,
    /// Each URL's share of the work.
    pub hosts: Vec<HostRecord>,
    /// The workload's tables, as the first share found them and left them.
    pub tables: Vec<TableRecord>,
    /// Bytes of the workload's tables before the first measured phase.
    pub bytes_before: Option<u64>,
    /// Bytes of the workload's tables after the last phase.
    pub bytes_after: Option<u64>,
    /// Bytes that the tables grew by for each row that was acknowledged in between; what the target
    /// has not yet merged or cleaned up is part of it.
    pub disk_bytes_per_row: Option<f64>,
    /// Memory in which it can keep data, as far as it reports that.
    #[serde(default, skip_serializing_if = "MemoryRecord::is_unknown")]
    pub memory: MemoryRecord,
    /// Quotas of CPU of nodes that were started with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_quotas: Vec<CpuQuota>,
}

/// Memory in which a target can keep data, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRecord {
    /// Its own caches of data, by the names of the settings that size them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub caches: BTreeMap<String, u64>,
    /// What its machines' page caches can grow to.
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
    /// The effective value of a setting for the workload's tables: their own, or else the server's.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.of_tables(name).or_else(|| self.settings.get(name).map(String::as_str))
    }

    /// The tables' own value of a setting: as reported by the target, or else as given by the user.
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

/// What a node may use of the CPUs of its machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuQuota {
    /// The node, as the telemetry of control groups names it.
    pub node: String,
    /// Cores.
    pub cores: f64,
}

/// What a run was expected to take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EstimateRecord {
    /// All phases with a pace together, at most; absent where only rows end them and the target sets
    /// the pace. Load, drain and audit take what they take.
    pub duration_ns: Option<u64>,
    /// Rows that all shares may write, the load included; absent where the target sets the pace.
    pub rows: Option<u64>,
    /// Bytes that a row takes.
    pub bytes_per_row: Option<u64>,
    /// Whether they were measured on rows that were there; else they are the bytes of its values.
    pub bytes_per_row_measured: bool,
    /// Bytes that the run may write, where the number of rows is known.
    pub bytes: Option<u64>,
    /// Room on the target's disk, where it or this machine can tell.
    pub disk: Option<DiskRecord>,
}

/// Room on a disk before the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskRecord {
    /// A path or the name of a node.
    pub place: String,
    /// Bytes that could still be written.
    pub free_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Bytes that a run leaves free: it is refused or stopped before.
    pub reserve_bytes: u64,
}

/// What the table registry said before a run, and says after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableRecord {
    /// Its name.
    pub name: String,
    /// Whether this run began with rows of earlier runs in it.
    pub start: TableStart,
    /// Rows of earlier runs, as they were counted last; absent if they were not counted.
    pub rows_before: Option<u64>,
    /// Index of the first row that this run could write.
    pub first_index: u64,
    /// Index from which the next run goes on; absent if this run could not tell.
    pub next_index: Option<u64>,
    /// An earlier run did not say how far it came, and the table was queried.
    pub recovered: bool,
}

/// What a run found of one of its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableStart {
    /// No rows of earlier runs: it was created, recreated, or empty.
    Fresh,
    /// Rows of earlier runs, behind which this run wrote its own.
    Continued,
}

/// One host's share of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostRecord {
    /// Without secrets.
    pub url: String,
    /// Sessions opened to it, re-opened ones included.
    pub sessions: u64,
    /// Ops that it acknowledged in measured phases.
    pub acknowledged: u64,
    /// Ops that failed at it, as a whole or in part.
    #[serde(default)]
    pub failed: u64,
}

/// One phase as it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRecord {
    /// Its name in results.
    pub name: String,
    /// What it was for.
    pub kind: PhaseKind,
    /// Position in the streams' paces; absent where the phase has a pace that its user gave, and where it has
    /// none.
    pub step: Option<u32>,
    /// Begin, from the start of the run.
    pub start_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// Of a warm-up until throughput is steady: whether that was shown; if not, it took as long as it could.
    /// Absent of every other phase, and where the user ended it.
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

/// Whether the target answered all the time, over the measured phases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AvailabilityRecord {
    /// Longest time without an acknowledgement; resolution one millisecond.
    pub longest_gap_ns: u64,
    /// When it began.
    pub longest_gap_start_ns: u64,
    /// Whole seconds with less than half of the median second's acknowledgements.
    pub seconds_below_half: u64,
    /// Whole seconds without any.
    pub dips: u64,
    /// From the end of the longest dip until half of the median was reached again, in whole seconds.
    pub recovery_ns: Option<u64>,
    /// How the target recovered from the longest gap; absent if that was no outage, and without
    /// counts per 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryRecord>,
    /// The longest gaps, [start, length] in nanoseconds, at most 64, for merging shares.
    pub gaps: Vec<[u64; 2]>,
    /// Acknowledged ops per whole second of the measured phases.
    pub acknowledged_per_s: Vec<u64>,
}

/// How the target recovered from an outage: a gap in which more was offered than in 300 ms, and two
/// ops. Counts are per 100 ms, and no time is before the gap's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryRecord {
    /// The last acknowledgement before it, from the start of the run.
    pub start_ns: u64,
    /// From there until the offered rate was acknowledged again, for 10 s or to the phase's end;
    /// absent if it never was.
    pub rate_again_ns: Option<u64>,
    /// From there until what waited was worked off too; absent if it never was.
    pub recovered_ns: Option<u64>,
}

/// One load generator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientRecord {
    /// `1/1`, or which share.
    pub share: String,
    /// Cores that this process could use.
    pub cores: u32,
    /// CPU time of this process in measured phases, embedded drivers' threads left out.
    pub cpu_seconds: f64,
    /// The same, divided by measured time and cores; 1 is saturated.
    pub cpu_fraction: f64,
    /// CPU time of embedded drivers' threads in measured phases.
    pub embedded_cpu_seconds: f64,
    /// Busy share of the whole machine in measured phases, its other programs included.
    pub machine_cpu_fraction: Option<f64>,
    /// Share stolen by the hypervisor.
    pub steal_fraction: Option<f64>,
    /// Greatest resident set.
    pub max_rss_bytes: u64,
    /// Units per second against a sink, where calibrated; of a simulated load generator those that it sends at most.
    pub calibrated_ceiling: Option<f64>,
    /// Where it is not: what the ceiling of another number of sessions says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_at_least: Option<CeilingBound>,
    /// URL of the sink against which it is calibrated; absent in older records, and where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink: Option<String>,
    /// Executor threads.
    pub executors: u32,
    /// Times at which the load generator itself stood still; the longest ones.
    #[serde(default)]
    pub stalls: Vec<StallRecord>,
    /// The scheduling class of the executor threads.
    #[serde(default)]
    pub scheduling: SchedulingClass,
}

/// A lower bound of a ceiling: throughput against a sink never falls faster than the number of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CeilingBound {
    /// Units per second.
    pub units_per_s: f64,
    /// Sessions with which the ceiling was measured.
    pub sessions: u32,
}

/// In which class the kernel scheduled the threads of a load generator that send.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingClass {
    /// The normal one: nothing had to be sent on time beside a database on the same host.
    #[default]
    Normal,
    /// The real-time class.
    RealTime,
    /// The real-time class, until a thread used more than a quarter of a core.
    RealTimeGivenUp,
    /// The normal one, because the real-time class was not permitted.
    NotPermitted,
}

/// Shorter stalls of the load generator are visible only in its lag, nanoseconds.
pub const STALL_NS: u64 = 100_000_000;

/// A time at which a load generator stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StallRecord {
    /// Begin, from the start of the run.
    pub start_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// How that is known.
    pub kind: StallKind,
}

impl StallRecord {
    /// Its end, from the start of the run.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// How a stall is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// The process was stopped, or got no CPU: its own clock thread woke late.
    NotRunning,
    /// The clock of the time since boot ran ahead of the monotonic one: the machine was suspended.
    MachinePaused,
}

/// One second of the load generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TelemetrySample {
    /// End of the second, from the start of the run.
    pub time_ns: u64,
    /// CPU of this process without embedded drivers, in cores.
    pub client_cores: f64,
    /// CPU of embedded drivers, in cores.
    pub embedded_cores: f64,
    /// Busy share of the machine.
    pub machine_cpu_fraction: Option<f64>,
    /// Stolen share.
    pub steal_fraction: Option<f64>,
    /// Resident set now.
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
    /// From the start of the run.
    pub second: u64,
    /// Name of the phase.
    pub phase: String,
    /// Name of the stream.
    pub stream: String,
    /// Name of the op.
    pub op: String,
    /// Ops due in this second.
    pub offered: u64,
    /// Ops sent, by intended.
    pub sent: u64,
    /// Ops acknowledged, by finished.
    pub acknowledged: u64,
    /// Rows acknowledged, by finished.
    pub rows_acknowledged: u64,
    /// Ops failed, as a whole or in part, by finished.
    pub errors: u64,
    /// Those of them that the target rejected for lack of capacity.
    #[serde(default)]
    pub rejected: u64,
    /// Rows that the target said it did not store, by finished.
    #[serde(default)]
    pub rows_refused: u64,
    /// Ops dropped, by intended.
    pub dropped: u64,
    /// Median latency of ops due in this second.
    pub p50_ns: Option<u64>,
    /// 99th percentile, where there are 100 ops.
    pub p99_ns: Option<u64>,
    /// Greatest latency.
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
    /// Whether arrivals followed a rate; open and closed results are never compared.
    pub open: bool,
    /// Ops that were due.
    pub offered: u64,
    /// Ops that were sent, each counted once whatever its attempts.
    pub sent: u64,
    /// Ops that the target acknowledged, as a whole or in part.
    pub acknowledged: u64,
    /// Ops that were due and never sent.
    pub dropped: u64,
    /// What was acknowledged within the phase, whenever it was due; throughput counts this.
    #[serde(default)]
    pub answered: AnsweredRecord,
    /// Further attempts.
    pub retries: u64,
    /// Ops whose last attempt failed, as a whole or in part, by class.
    pub errors: BTreeMap<String, u64>,
    /// Those of them of which some rows were acknowledged, by class: these ops are among the acknowledged ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub partial: BTreeMap<String, u64>,
    /// One example of the target's words per class.
    pub error_examples: BTreeMap<String, String>,
    /// The same ops by class, code and message, most frequent first: at most 20 messages, and all others of a class
    /// together. Empty where only classes are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureRecord>,
    /// Rows written.
    pub rows: RowCounts,
    /// Acknowledged work per second of the phase, by the time of its answer.
    pub throughput: ThroughputRecord,
    /// Bytes of the answers.
    pub response_bytes: u64,
    /// Rows of the answers.
    pub response_rows: u64,
    /// Finished minus intended, of acknowledged ops; failed and dropped ones rank as infinite.
    pub latency_ns: LatencySummary,
    /// Finished minus started.
    pub service_ns: LatencySummary,
    /// How long an op was due while every session was busy.
    pub session_wait_ns: LatencySummary,
    /// How late our own program started an op.
    pub client_lag_ns: LatencySummary,
    /// Latency without the load generator's own delay of each op; open load only.
    #[serde(default)]
    pub undelayed_ns: Option<LatencySummary>,
    /// Latency of a row: waiting for its batch to fill, and the op's latency; rows that were not acknowledged rank as
    /// infinite. Open inserts only.
    pub row_latency_ns: Option<LatencySummary>,
    /// Finished minus intended, of failed ops.
    pub error_latency_ns: LatencySummary,
    /// Whether percentiles are those of a backlog.
    pub backlog: bool,
    /// Distributions, base64 of HdrHistogram's V2 compressed encoding, values in nanoseconds.
    pub histograms: Histograms,
    /// Counts per window of 100 ms, for the statistics.
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
    /// What kind of failure it is, as in `errors`.
    pub class: String,
    /// The target's own code, such as an SQLSTATE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The target's words about the first of them; those about others may differ in numbers.
    pub message: String,
    /// Ops.
    pub count: u64,
    /// What the driver advises for the code.
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

/// Rows of insert ops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowCounts {
    /// Rows of the ops that were sent.
    pub sent: u64,
    /// Rows that the target said it stored.
    pub acknowledged: u64,
    /// Rows that the target said it did not store.
    pub refused: u64,
    /// Rows whose outcome is unknown.
    pub unknown: u64,
}

/// Work that was acknowledged within a phase, by the time of its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredRecord {
    /// Ops, partial ones included.
    pub ops: u64,
    /// Their rows, as the target said it stored them.
    pub rows: u64,
}

impl AnsweredRecord {
    /// Mean rows per op; 0 without any op.
    pub fn rows_per_op(self) -> f64 {
        ratio(self.rows, self.ops.max(1))
    }
}

/// A rate and how well it is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughputRecord {
    /// Ops per second.
    pub ops_per_s: f64,
    /// Rows per second; 0 for queries.
    pub rows_per_s: f64,
    /// 95% confidence interval of the stream's unit per second; absent when not tested.
    pub ci95: Option<[f64; 2]>,
}

/// One stream in one phase, all its ops together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamRecord {
    /// Name of the phase.
    pub phase: String,
    /// Name of the stream.
    pub stream: String,
    /// What it counts in.
    pub unit: Unit,
    /// The planned rate, units per second, of this record's share of the plan; absent in closed
    /// load.
    pub planned_rate: Option<f64>,
    /// The weight of each of its ops; empty where it has only one, and in older records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u32>,
    /// Sessions that could be used, of this record's share of the plan.
    pub sessions: u32,
    /// Sessions of those that had any op; absent where that was not counted.
    #[serde(default)]
    pub working: Option<u32>,
    /// Why sessions that never connected could not, in the target's or the system's words.
    #[serde(default)]
    pub missing_because: Option<String>,
    /// Acknowledged work.
    pub throughput: ThroughputRecord,
    /// Independent windows that the series is worth.
    pub effective_windows: f64,
    /// Whether its throughput was steady over the phase.
    pub steadiness: Steadiness,
    /// Change over the phase that a straight line shows, percent of the mean.
    pub drift_percent: Option<f64>,
    /// Its 95% confidence interval.
    #[serde(default)]
    pub drift_ci95: Option<[f64; 2]>,
    /// Mean of the first and of the last third of the phase, units per second.
    #[serde(default)]
    pub thirds_per_s: Option<[f64; 2]>,
    /// Sessions that Little's law expects for this throughput and latency; closed load only.
    pub littles_law_sessions: Option<f64>,
}

/// From this drift on, as a percentage of the mean, a straight line is off by the whole mean, and percentages mislead.
const MISLEADING_PERCENT: f64 = 100.0;

impl StreamRecord {
    /// `-3.1% (95% CI -9.0% to +4.2%)`: its drift over the phase, if known. A drift as large as the mean itself is
    /// stated by its first and last third, like in [`StreamRecord::change`].
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

/// Whether a rate was steady over a phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// The interval of the drift lies within the plan's bound.
    Steady,
    /// The interval of the drift lies outside the plan's bound.
    NotSteady,
    /// Neither: the drift is not known well enough.
    NotShown,
    /// Too few independent windows.
    #[default]
    NotTested,
}

/// Base64 histograms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// Finished minus intended.
    pub latency: String,
    /// Finished minus started.
    pub service: String,
    /// Waiting for a session.
    pub session_wait: String,
    /// Our own delay.
    pub client_lag: String,
    /// Latency without our own delay; open load only.
    #[serde(default)]
    pub undelayed: Option<String>,
    /// Rows of open inserts.
    pub row_latency: Option<String>,
    /// Failed ops.
    pub error_latency: String,
}

/// Counts per window of 100 ms of the phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Windows {
    /// Acknowledged ops, by finished.
    pub acknowledged: Vec<u64>,
    /// Rows of these ops that were not acknowledged; empty where no op was acknowledged in part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u64>,
    /// Ops due, by intended; open load only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<u64>,
    /// Failed ops, by finished; open load only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<u64>,
    /// Ended or dropped ops, by intended; only where an objective bounds a percentile.
    pub ended: Vec<u64>,
    /// Per latency or row latency objective of the plan, in order: ended ops above its bound, failed and dropped ones
    /// among them; for a row latency objective their rows above it, of `ended` times the rows per op.
    pub over: Vec<Vec<u64>>,
}
