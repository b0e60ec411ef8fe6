//! Three separate judgments: whether the measurement is valid, the data are right, and the objective was met; and the
//! incidents that cut a run short, which they read.
//!
//! The measurement of a database that loses rows can be valid; a valid run can miss its objective. Must not judge:
//! `analysis::judge` draws the conclusions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The three judgments of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgments {
    /// Whether the figures describe the target rather than the load generator.
    pub measurement: Judgment<Measurement>,
    /// Whether acknowledged rows were found with the right values.
    pub data: Judgment<Data>,
    /// Whether the stated objective was met.
    pub objective: Judgment<ObjectiveValue>,
}

impl Judgments {
    /// Whether a process is still working on the run.
    pub fn is_running(&self) -> bool {
        self.measurement.reasons.first().is_some_and(|of| of.code == ReasonCode::Running)
    }

    /// The reasons to distrust the figures or the data; otherwise empty.
    pub fn distrusted(&self) -> String {
        let mut said = Vec::new();
        if self.measurement.value == Measurement::Invalid {
            said.push("measurement invalid");
        }
        if self.data.value.is_wrong() {
            said.push("data not right");
        }
        said.join(", ")
    }
}

/// A judgment with its reasons.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgment<T> {
    /// The verdict.
    pub value: T,
    /// The reasons; may include notes, which did not change the verdict.
    pub reasons: Vec<Reason>,
}

impl<T> Judgment<T> {
    /// The codes of its reasons.
    pub fn codes(&self) -> Vec<ReasonCode> {
        self.reasons.iter().map(|reason| reason.code).collect()
    }
}

/// Whether the figures can be trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measurement {
    /// The figures can be trusted.
    Valid,
    /// The load generator or an event during the run distorted the figures.
    Invalid,
    /// There were too few measurements to judge.
    #[default]
    Inconclusive,
}

/// Whether the stored data are correct.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// All acknowledged rows were found as sent.
    Clean,
    /// Acknowledged rows are missing.
    Lost,
    /// Acknowledged rows are missing, no more than the plan allows its actions on the cluster to lose.
    LostAllowed,
    /// Rows were found more often than they were sent.
    Duplicated,
    /// Rows were found that the target had refused.
    Surplus,
    /// Values differ from those sent.
    Altered,
    /// An audit was requested but could not be completed.
    Unverified,
    /// No audit was requested, or nothing was written.
    #[default]
    NotChecked,
}

impl Data {
    /// Whether rows were found to be wrong.
    pub const fn is_wrong(self) -> bool {
        matches!(self, Self::Lost | Self::Duplicated | Self::Surplus | Self::Altered)
    }
}

/// Whether the objective was met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveValue {
    /// Met in every step for every stream.
    Met,
    /// Missed at least once, or not shown to be met with enough confidence.
    Missed,
    /// A search ended without a mark, so the objective was not judged.
    NotDecided,
    /// No objective was set.
    #[default]
    NoneSet,
}

/// A reason for a judgment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Stable code, see [`ReasonCode`].
    pub code: ReasonCode,
    /// The reason in one sentence.
    pub message: String,
    /// The figures that support it.
    pub evidence: String,
    /// What to do, with the flag if there is one; absent if there is no advice.
    pub hint: Option<String>,
}

impl Reason {
    /// One sentence with its figures; the evidence alone if it is a complete sentence.
    pub fn sentence(&self) -> String {
        if self.evidence.is_empty() {
            return self.message.clone();
        }
        if self.code.evidence_is_a_sentence() {
            return self.evidence.clone();
        }
        format!("{}: {}", self.message, self.evidence)
    }

    /// A reason whose figures are not a complete sentence: its sentence always contains the message.
    pub fn with_figures(code: ReasonCode, message: &str, figures: &str) -> Self {
        let evidence = if code.evidence_is_a_sentence() && !figures.is_empty() {
            format!("{message}: {figures}")
        } else {
            figures.to_owned()
        };
        Self { code, message: message.to_owned(), evidence, hint: None }
    }
}

macro_rules! reason_codes {
    (@ sentence $code:expr) => { $code };
    ($($variant:ident = $name:literal, $judgment:literal, $about:literal $(, $sentence:ident)?;)*) => {
        /// Stable codes of reasons; generated into the reference.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ReasonCode { $(#[doc = $about] $variant,)* }

        impl ReasonCode {
            /// All codes with their judgment and meaning, for the reference.
            pub const ALL: &'static [(Self, &'static str, &'static str, &'static str)] =
                &[$((Self::$variant, $name, $judgment, $about),)*];

            /// The code as spelled in records.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Whether the evidence of such a reason states the measured value and its limit in a sentence.
            fn evidence_is_a_sentence(self) -> bool {
                [$($(reason_codes!(@ $sentence Self::$variant),)?)*].contains(&self)
            }
        }
    };
}

reason_codes! {
    ClientSaturated = "client_saturated", "measurement", "The load generator's CPU, or its calibrated ceiling, limited the run.", sentence;
    ClientLag = "client_lag", "measurement", "The load generator sent ops late although a session was idle.", sentence;
    ClientStalled = "client_stalled", "measurement", "The load generator itself stalled for 100 ms or more.", sentence;
    SessionsMissing = "sessions_missing", "measurement", "Fewer sessions worked than were planned.", sentence;
    RateNotOffered = "rate_not_offered", "measurement", "Less was offered than planned.", sentence;
    NotSteady = "not_steady", "measurement", "Throughput drifted during the measured phase.", sentence;
    BacklogGrew = "backlog_grew", "measurement", "The number of ops in flight or waiting kept growing during the measured phase: latencies depend on its length.", sentence;
    SteadinessNotShown = "steadiness_not_shown", "measurement", "Throughput may have drifted by more than the limit: the confidence interval of its drift is too wide.", sentence;
    SteadinessRequired = "steadiness_required", "measurement", "Steady throughput was required, and it was not shown.", sentence;
    TooShort = "too_short", "measurement", "A measured phase is too short to judge.", sentence;
    TooFewSamples = "too_few_samples", "measurement", "Too few ops for a percentile of the objective.";
    LittlesLaw = "littles_law", "measurement", "Sessions, throughput and latency contradict each other.", sentence;
    Interrupted = "interrupted", "measurement", "The run was stopped before its plan was complete.";
    Running = "running", "measurement", "A process is still working on the run; these are the figures so far.";
    TargetLost = "target_lost", "measurement", "The connection to the target was lost.";
    DiskFull = "disk_full", "measurement", "The run was stopped to keep the target's disk from filling up.";
    NothingAcknowledged = "nothing_acknowledged", "measurement", "No op was acknowledged in a measured phase.", sentence;
    LatencyUnknown = "latency_unknown", "measurement", "No op that was intended in a measured phase got a response, although others did.", sentence;
    OutcomeUnknown = "outcome_unknown", "measurement", "For more than 5% of the offered rows, it is unknown whether they were stored.", sentence;
    Imported = "imported", "measurement", "The record was imported from another tool that does not report what a judgment needs.";
    ImportPartial = "import_partial", "measurement", "The imported files cover only part of the measurement, or contradict each other.";
    WaitingNotCounted = "waiting_not_counted", "measurement", "Latency may not count from the intended start.";
    SharedHost = "shared_host", "measurement", "Other programs used much of the CPU of the target's host, so the figures are those of a shared host.", sentence;
    MachineDrifted = "machine_drifted", "measurement", "The first size of a growth gave another result when it was measured again at the end: growth and drift cannot be distinguished.";
    RecordIncomplete = "record_incomplete", "measurement", "Part of the record could not be written.";
    SharesDiffer = "shares_differ", "measurement", "Merged records do not belong to one plan or did not run at the same time, or shares are missing.";
    SharesApart = "shares_apart", "measurement", "A share started so much later than the others that their sum is not the planned load.";
    RowsLost = "rows_lost", "data", "Acknowledged rows were not found.", sentence;
    RowsSurplus = "rows_surplus", "data", "More rows were found than were sent.";
    RefusedFound = "refused_found", "data", "Rows were found that the target had refused.";
    ForeignWriter = "foreign_writer", "data", "Rows were found that this program never sent.";
    RowsAltered = "rows_altered", "data", "Rows were found with other values than were sent.", sentence;
    InvariantBroken = "invariant_broken", "data", "An invariant of the workload failed.", sentence;
    ResentUnknown = "resent_unknown", "data", "Rows of unknown outcome were found, which is allowed.", sentence;
    CounterDiffers = "counter_differs", "data", "The server's own count of rows contradicts what it acknowledged.", sentence;
    CopiesDiffer = "copies_differ", "data", "Copies of a shard hold different rows, or different numbers of them.";
    NotNarrowed = "not_narrowed", "data", "Wrong key buckets were found, but not which of their rows are wrong.";
    StoresNothing = "stores_nothing", "data", "The target stores nothing that could be checked.";
    AuditTimeout = "audit_timeout", "data", "The audit did not end within its limit.";
    AuditFailed = "audit_failed", "data", "An audit query failed.";
    AuditSqlWrong = "audit_sql_wrong", "data", "The audit's own SQL gave wrong results for rows that exist: an expression or a type of the workload does not match the table.", sentence;
    OneShare = "one_share", "data", "The target holds the rows of all shares; this record covers one.";
    ValueTooShort = "value_too_short", "data", "Rows replace each other, and their values are too short to identify their write.", sentence;
    NotAudited = "not_audited", "data", "The record was imported from another tool that did not look for acknowledged rows.";
    NoInvariant = "no_invariant", "data", "The workload defines nothing that could be checked.";
    NotIdle = "not_idle", "data", "Statements of this run were still running when the audit started.";
    ObjectiveLatency = "latency", "objective", "A percentile is above its limit, not below it with 95% confidence, or has too few ops to be judged.", sentence;
    ObjectiveErrors = "errors", "objective", "Too many ops failed.", sentence;
    ObjectiveRejected = "rejected", "objective", "Too many ops were rejected.", sentence;
    RateNotSustained = "rate_not_sustained", "objective", "Less was acknowledged than planned, or than the objective requires.", sentence;
    Backlog = "backlog", "objective", "Ops were still waiting for a session when the phase ended, or the number of ops in flight or waiting kept growing; percentiles are those of a backlog.", sentence;
    ObjectiveCpu = "cpu", "objective", "A node of the target used more CPU than allowed, or its use is unknown.", sentence;
    ObjectiveRecovery = "recovery", "objective", "After an action on the cluster, the offered rate was not acknowledged again in time.", sentence;
    ObjectiveDuring = "during", "objective", "After an action on the cluster, less of the offered rate was acknowledged than the objective requires.", sentence;
    ObjectiveLost = "lost", "objective", "Actions on the cluster lost more rows than the objective allows, or that is unknown.", sentence;
}

/// An event that cut a run short or left part of it incomplete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Incident {
    /// Kind of the event.
    pub kind: IncidentKind,
    /// Details, for people to read.
    pub message: String,
}

impl Incident {
    /// An incident of this kind.
    pub fn new(kind: IncidentKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// The kinds of incidents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IncidentKind {
    /// The user stopped the run before its last measured phase ended.
    Interrupted,
    /// The program ended without writing its record, which was reconstructed from the run's journal.
    Killed,
    /// The user stopped the run after the measurement was complete.
    AuditInterrupted,
    /// The target became unreachable.
    TargetLost,
    /// The run was stopped before the target's disk filled up.
    DiskFull,
    /// Part of the record could not be written.
    RecordIncomplete,
    /// Statements of the run were still running when its audit started.
    NotIdle,
    /// Another run took over the tables.
    TablesLost,
    /// The plan stopped the run because an objective could no longer be met.
    Hopeless,
    /// The target changed: a node left, shard copies were unassigned, or a server was restarted or replaced.
    ClusterChanged,
    /// A share started later than the others.
    SharesApart,
}

impl IncidentKind {
    /// The reason for a judgment; `None` if it changes no judgment.
    pub const fn reason(self) -> Option<ReasonCode> {
        match self {
            Self::Interrupted | Self::Killed => Some(ReasonCode::Interrupted),
            Self::AuditInterrupted | Self::Hopeless | Self::ClusterChanged => None,
            Self::TargetLost => Some(ReasonCode::TargetLost),
            Self::DiskFull => Some(ReasonCode::DiskFull),
            Self::RecordIncomplete => Some(ReasonCode::RecordIncomplete),
            Self::NotIdle => Some(ReasonCode::NotIdle),
            Self::TablesLost => Some(ReasonCode::ForeignWriter),
            Self::SharesApart => Some(ReasonCode::SharesApart),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunEnding {
    /// Its plan was completed.
    Complete,
    /// The user stopped it, or the program ended.
    Interrupted,
    /// The target became unreachable.
    TargetLost,
}

impl RunEnding {
    /// How a run with these incidents ended; a lost target has precedence over a stop by the user.
    pub fn from_incidents(incidents: &[Incident]) -> Self {
        let has = |kinds: &[IncidentKind]| incidents.iter().any(|i| kinds.contains(&i.kind));
        if has(&[IncidentKind::TargetLost]) {
            Self::TargetLost
        } else if has(&STOPPED) {
            Self::Interrupted
        } else {
            Self::Complete
        }
    }
}

/// Neither the plan nor the target ended these runs.
const STOPPED: [IncidentKind; 3] =
    [IncidentKind::Interrupted, IncidentKind::Killed, IncidentKind::AuditInterrupted];
