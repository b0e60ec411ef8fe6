//! Three judgments, kept apart: is the measurement valid, are the data right, was the objective met.
//!
//! A database that loses rows can be measured well; a valid run can miss its objective.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The three judgments of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgments {
    /// Whether the figures are the target's and not the load generator's.
    pub measurement: Judgment<Measurement>,
    /// Whether what was acknowledged was found.
    pub data: Judgment<Data>,
    /// Whether the stated objective was met.
    pub objective: Judgment<ObjectiveValue>,
}

impl Judgments {
    /// Those of a record that is not judged yet.
    pub const fn unjudged() -> Self {
        Self {
            measurement: Judgment {
                value: Measurement::Inconclusive,
                reasons: Vec::new(),
            },
            data: Judgment {
                value: Data::NotChecked,
                reasons: Vec::new(),
            },
            objective: Judgment {
                value: ObjectiveValue::NoneSet,
                reasons: Vec::new(),
            },
        }
    }
}

/// A value and what led to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgment<T> {
    /// The value.
    pub value: T,
    /// Why; may hold reasons that did not change the value (notes).
    pub reasons: Vec<Reason>,
}

/// Whether the figures can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measurement {
    /// They can.
    Valid,
    /// Something on our side, or in the course of the run, spoils them.
    Invalid,
    /// Too little was seen to tell.
    Inconclusive,
}

/// Whether the data are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// Found as acknowledged.
    Clean,
    /// Acknowledged rows are missing.
    Lost,
    /// Rows are there more often than asked.
    Duplicated,
    /// Rows are there that the target refused.
    Surplus,
    /// Values differ.
    Altered,
    /// An audit was requested and could not be done.
    Unverified,
    /// No audit was requested, or nothing was written.
    NotChecked,
}

/// Whether the objective was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveValue {
    /// In every step, for every stream.
    Met,
    /// At least once not, or not shown with enough confidence.
    Missed,
    /// A search ended without a mark, so nothing was decided.
    NotDecided,
    /// None was stated.
    NoneSet,
}

/// Why a judgment is what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Stable, from [`ReasonCode`].
    pub code: ReasonCode,
    /// One sentence.
    pub message: String,
    /// The figures behind it.
    pub evidence: String,
    /// What to do, naming a flag where there is one.
    pub hint: Option<String>,
}

impl Reason {
    /// One sentence with its figures: the evidence alone if it states the case.
    pub fn sentence(&self) -> String {
        if self.evidence.is_empty() {
            return self.message.clone();
        }
        if self.code.evidence_is_a_sentence() {
            return self.evidence.clone();
        }
        format!("{}: {}", self.message, self.evidence)
    }

    /// A reason whose figures are no sentence of their own: its sentence always has the message.
    pub fn with_figures(code: ReasonCode, message: &str, figures: &str) -> Self {
        let evidence = if code.evidence_is_a_sentence() && !figures.is_empty() {
            format!("{message}: {figures}")
        } else {
            figures.to_owned()
        };
        Self {
            code,
            message: message.to_owned(),
            evidence,
            hint: None,
        }
    }
}

macro_rules! reason_codes {
    ($($variant:ident = $name:literal, $judgment:literal, $about:literal;)*) => {
        /// Stable codes of reasons; generated into the reference.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ReasonCode { $(#[doc = $about] $variant,)* }

        impl ReasonCode {
            /// All codes with their judgment and meaning, for the reference.
            pub const ALL: &'static [(Self, &'static str, &'static str, &'static str)] =
                &[$((Self::$variant, $name, $judgment, $about),)*];

            /// The code as records spell it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

reason_codes! {
    ClientSaturated = "client_saturated", "measurement", "The load generator's CPU, or its calibrated ceiling, limited the run.";
    ClientLag = "client_lag", "measurement", "The load generator sent ops late although a session was idle.";
    ClientStalled = "client_stalled", "measurement", "The load generator itself stood still for 100 ms or more.";
    SessionsMissing = "sessions_missing", "measurement", "Fewer sessions worked than were planned.";
    RateNotOffered = "rate_not_offered", "measurement", "Less was offered than planned.";
    NotSteady = "not_steady", "measurement", "Throughput drifted during the measured phase.";
    SteadinessNotShown = "steadiness_not_shown", "measurement", "Throughput may have drifted by more than the bound: its drift is not known well enough.";
    SteadinessRequired = "steadiness_required", "measurement", "Steady throughput was required, and it was not shown.";
    TooShort = "too_short", "measurement", "A measured phase is too short to judge.";
    TooFewSamples = "too_few_samples", "measurement", "Too few ops for a percentile of the objective.";
    LittlesLaw = "littles_law", "measurement", "Sessions, throughput and latency contradict each other.";
    Interrupted = "interrupted", "measurement", "The run was stopped before its plan was complete.";
    TargetLost = "target_lost", "measurement", "The connection to the target was lost.";
    DiskFull = "disk_full", "measurement", "The run was stopped to keep the target's disk from filling up.";
    NothingAcknowledged = "nothing_acknowledged", "measurement", "No op was acknowledged in a measured phase.";
    LatencyUnknown = "latency_unknown", "measurement", "No op that was due in a measured phase was answered, although others were.";
    OutcomeUnknown = "outcome_unknown", "measurement", "Of more than 5 % of the offered rows it is unknown whether they were stored.";
    Imported = "imported", "measurement", "Another tool measured, and does not report what a judgment needs.";
    WaitingNotCounted = "waiting_not_counted", "measurement", "Latency may not count from the intended start.";
    MachineDrifted = "machine_drifted", "measurement", "The first size of a growth, measured again at its end, was not what it had been: growth and drift cannot be distinguished.";
    RecordIncomplete = "record_incomplete", "measurement", "Part of the record could not be written.";
    SharesDiffer = "shares_differ", "measurement", "Merged records do not belong to one plan, or shares are missing.";
    RowsLost = "rows_lost", "data", "Acknowledged rows were not found.";
    RowsSurplus = "rows_surplus", "data", "More rows were found than were sent.";
    RefusedFound = "refused_found", "data", "Rows were found that the target had refused.";
    ForeignWriter = "foreign_writer", "data", "Rows were found that this program never sent.";
    RowsAltered = "rows_altered", "data", "Rows were found with other values than were sent.";
    InvariantBroken = "invariant_broken", "data", "An invariant of the workload failed.";
    ResentUnknown = "resent_unknown", "data", "Rows of unknown outcome were found, which is allowed.";
    CounterDiffers = "counter_differs", "data", "The server's own count of rows contradicts what it acknowledged.";
    CopiesDiffer = "copies_differ", "data", "Copies of a shard hold different rows, or different numbers of them.";
    NotNarrowed = "not_narrowed", "data", "Wrong key buckets were found, but not which of their rows are wrong.";
    StoresNothing = "stores_nothing", "data", "The target keeps nothing that could be checked.";
    AuditTimeout = "audit_timeout", "data", "The audit did not end within its limit.";
    AuditFailed = "audit_failed", "data", "An audit query failed.";
    AuditSqlWrong = "audit_sql_wrong", "data", "The audit's own SQL is wrong about rows that are there: an expression or a type of the workload does not fit the table.";
    OneShare = "one_share", "data", "The target holds the rows of all shares; this record covers one.";
    ValueTooShort = "value_too_short", "data", "Rows replace each other, and their values are too short to identify their write.";
    NotAudited = "not_audited", "data", "Another tool measured, and did not look for acknowledged rows.";
    NoInvariant = "no_invariant", "data", "The workload names nothing that could be checked.";
    NotIdle = "not_idle", "data", "Statements of this run were still running when the audit started.";
    ObjectiveLatency = "latency", "objective", "A percentile is above its limit, or not below it with 95 % confidence.";
    ObjectiveErrors = "errors", "objective", "Too many ops failed.";
    ObjectiveRejected = "rejected", "objective", "Too many ops were rejected.";
    RateNotSustained = "rate_not_sustained", "objective", "Less was acknowledged than planned, or than the objective requires.";
    Backlog = "backlog", "objective", "Ops were still waiting for a session when the phase ended; percentiles are those of a backlog.";
    ObjectiveCpu = "cpu", "objective", "A node of the target used more CPU than allowed, or its use is unknown.";
}

impl ReasonCode {
    /// Whether the evidence of such a reason names the measured value and its limit in a sentence.
    const fn evidence_is_a_sentence(self) -> bool {
        matches!(
            self,
            Self::ClientSaturated
                | Self::ClientLag
                | Self::ClientStalled
                | Self::SessionsMissing
                | Self::RateNotOffered
                | Self::LittlesLaw
                | Self::NotSteady
                | Self::SteadinessNotShown
                | Self::SteadinessRequired
                | Self::TooShort
                | Self::NothingAcknowledged
                | Self::LatencyUnknown
                | Self::OutcomeUnknown
                | Self::RowsLost
                | Self::RowsAltered
                | Self::AuditSqlWrong
                | Self::InvariantBroken
                | Self::ResentUnknown
                | Self::CounterDiffers
                | Self::ValueTooShort
                | Self::ObjectiveLatency
                | Self::ObjectiveErrors
                | Self::ObjectiveRejected
                | Self::RateNotSustained
                | Self::Backlog
                | Self::ObjectiveCpu
        )
    }
}
