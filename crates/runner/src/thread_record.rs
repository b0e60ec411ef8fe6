//! The measurements of one executor thread, and how many of its sessions had work.

use highwater_model::record::SchedulingClass;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::ledger::Ledger;
use crate::recorder::Recorder;

/// The measurements of one executor thread.
pub(crate) struct ThreadRecord {
    pub(crate) recorder: Recorder,
    /// By table.
    pub(crate) ledgers: Vec<Ledger>,
    /// By host.
    pub(crate) hosts: Vec<HostCounts>,
    /// By stream: sessions that had work.
    pub(crate) worked: Vec<SessionsWorked>,
    /// When the last op was acknowledged.
    pub(crate) acknowledged_at: Option<Nanos>,
    /// Why the run cannot continue.
    pub(crate) fatal: Option<UserError>,
    /// Sessions that were reconnecting when the phases ended, and why.
    pub(crate) away: u32,
    pub(crate) away_for: Option<UserError>,
    /// The thread's scheduling class.
    pub(crate) scheduling: SchedulingClass,
}

/// Counts of one host.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HostCounts {
    /// Sessions opened.
    pub(crate) sessions: u64,
    /// Ops that it acknowledged, completely or partly.
    pub(crate) acknowledged: u64,
    /// Ops that failed, completely or partly.
    pub(crate) failed: u64,
}

impl HostCounts {
    /// Merges another thread's counts.
    pub(crate) fn merge(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.acknowledged += other.acknowledged;
        self.failed += other.failed;
    }
}

/// Sessions of a stream that had work, and why others could not connect.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionsWorked {
    /// Sessions that executed an op, without those that were lost while others continued.
    pub(crate) working: u32,
    /// Why the last unsuccessful session could not connect.
    pub(crate) missing_because: Option<UserError>,
}

impl SessionsWorked {
    /// Merges another thread's counts.
    pub(crate) fn merge(&mut self, other: Self) {
        self.working += other.working;
        self.missing_because = self.missing_because.take().or(other.missing_because);
    }
}
