//! How a run ended, as the incidents of its record. What must not be here: what is done about it.

use highwater_model::record::{Incident, IncidentKind};

/// Why an audit cannot be trusted.
const STILL_RUNNING: &str = "statements of this run may still have been running";
/// What the record says when its user stopped the run before the end of the measurement.
const STOPPED: &str = "Ctrl-C, or a signal";
/// What it says when the user stopped the run after that.
const STOPPED_MEASURED: &str = "you stopped the run after the measurement was complete";

/// What ended a run, or spoiled its end.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// The user stopped it.
    pub(crate) interrupted: bool,
    /// Its measured phases ended as planned.
    pub(crate) measured: bool,
    /// Why the target was lost.
    pub(crate) target_lost: Option<String>,
    /// Statements of this run were still at work before the audit.
    pub(crate) not_idle: bool,
    /// Why the journal could not be written.
    pub(crate) journal_error: Option<String>,
    /// Why the run was stopped before a disk was full.
    pub(crate) disk_full: Option<String>,
    /// Which objective could no longer be met, so that the plan stopped the run.
    pub(crate) hopeless: Option<String>,
}

impl Ending {
    /// Everything that befell the run.
    pub(crate) fn incidents(self) -> Vec<Incident> {
        let stopped = match (self.interrupted, self.measured) {
            (false, _) => None,
            (true, false) => Some((IncidentKind::Interrupted, STOPPED)),
            (true, true) => Some((IncidentKind::AuditInterrupted, STOPPED_MEASURED)),
        };
        let incident = |kind| move |why: String| Incident::new(kind, why);
        let all = [
            stopped.map(|(kind, message)| Incident::new(kind, message)),
            self.target_lost.map(incident(IncidentKind::TargetLost)),
            self.not_idle
                .then(|| Incident::new(IncidentKind::NotIdle, STILL_RUNNING)),
            self.journal_error
                .map(incident(IncidentKind::RecordIncomplete)),
            self.disk_full.map(incident(IncidentKind::DiskFull)),
            self.hopeless.map(incident(IncidentKind::Hopeless)),
        ];
        all.into_iter().flatten().collect()
    }
}
