//! Incidents that cut a run short or left part of it incomplete: a part of the record.
//!
//! The runner records incidents, and judgments read their kind. Must not judge: the kinds state what happened,
//! `analysis::judge` draws the conclusions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judgment::ReasonCode;

/// One event that cut a run short or left part of it incomplete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Incident {
    /// What happened.
    pub kind: IncidentKind,
    /// The details, for people.
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
    /// The user stopped the run before its last measured phase was over.
    Interrupted,
    /// The program ended without writing its record, which is made from the run's journal.
    Killed,
    /// The user stopped the run after the measurement was complete.
    AuditInterrupted,
    /// The target could not be reached any more.
    TargetLost,
    /// The run was stopped before the target's disk was full.
    DiskFull,
    /// Part of the record could not be written.
    RecordIncomplete,
    /// Statements of the run were still running when its audit began.
    NotIdle,
    /// Another run took the tables over.
    TablesLost,
    /// The plan stopped the run because an objective could no longer be met.
    Hopeless,
    /// The target changed: a node left, copies were on no node, a server was restarted or took another's place.
    ClusterChanged,
    /// A share began later than the others.
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
pub enum Ended {
    /// As its plan says.
    Complete,
    /// By its user, or with its program.
    Interrupted,
    /// Because the target could not be reached any more.
    TargetLost,
}

impl Ended {
    /// How a run with these incidents ended; a lost target has precedence over a stop by the user.
    pub fn of(incidents: &[Incident]) -> Self {
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
