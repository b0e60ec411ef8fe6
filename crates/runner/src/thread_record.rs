//! What one executor thread has measured, and how many of its sessions had work.

use highwater_driver::TargetError;
use highwater_model::record::SchedulingClass;
use highwater_model::units::Nanos;

use crate::ledger::Ledger;
use crate::recorder::Recorder;

/// What one executor thread has measured.
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
    /// Why the run cannot go on.
    pub(crate) fatal: Option<TargetError>,
    /// Sessions that were trying to reconnect when the phases ended, and why they had to.
    pub(crate) away: u32,
    pub(crate) away_for: Option<TargetError>,
    /// In which class the thread was scheduled.
    pub(crate) scheduling: SchedulingClass,
}

/// What happened at one host.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HostCounts {
    /// Sessions that were opened.
    pub(crate) sessions: u64,
    /// Ops that it acknowledged, as a whole or in part.
    pub(crate) acknowledged: u64,
    /// Ops that failed, as a whole or in part.
    pub(crate) failed: u64,
}

impl HostCounts {
    /// Adds those of another thread.
    pub(crate) fn merge(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.acknowledged += other.acknowledged;
        self.failed += other.failed;
    }
}

/// Sessions of a stream that had work, and why others could not connect.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionsWorked {
    /// Sessions that executed any op, without those that were lost while others went on.
    pub(crate) working: u32,
    /// Why the last session that could not connect could not.
    pub(crate) missing_because: Option<TargetError>,
}

impl SessionsWorked {
    /// Adds those of another thread.
    pub(crate) fn merge(&mut self, other: Self) {
        self.working += other.working;
        self.missing_because = self.missing_because.take().or(other.missing_because);
    }
}
