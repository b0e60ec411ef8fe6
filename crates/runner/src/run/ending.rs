//! Describes how a run ended, as incidents of its record. Must not react to it.

use highwater_model::record::{Incident, IncidentKind};

use super::state::Run;
use crate::pass::Passes;
use crate::record::collector::Collector;

/// Why an audit cannot be trusted.
const STILL_RUNNING: &str = "statements of this run may still have been running";
/// Record text if the user stopped the run before the end of the measurement.
const STOPPED: &str = "Ctrl-C, or a signal";
/// Record text if the user stopped the run after the measurement.
const STOPPED_MEASURED: &str = "you stopped the run after the measurement was complete";

impl Run {
    /// Incidents that ended the run or spoiled its end; `idle` if none of its statements ran before the audit.
    pub(super) fn incidents(
        &self,
        passes: &Passes,
        idle: bool,
        collector: &mut Collector<'_>,
    ) -> Vec<Incident> {
        let interrupted = passes.interrupted() || self.interrupts.requested().is_some();
        let measured = passes.main.as_ref().is_some_and(|main| !main.interrupted);
        let stopped = match (interrupted, measured) {
            (false, _) => None,
            (true, false) => Some((IncidentKind::Interrupted, STOPPED)),
            (true, true) => Some((IncidentKind::AuditInterrupted, STOPPED_MEASURED)),
        };
        let incident = |kind| move |why: String| Incident::new(kind, why);
        let lost = passes.fatal().map(|error| error.message);
        let unwritten = collector.journal_error.take();
        let all = [
            stopped.map(|(kind, message)| Incident::new(kind, message)),
            lost.map(incident(IncidentKind::TargetLost)),
            (!idle).then(|| Incident::new(IncidentKind::NotIdle, STILL_RUNNING)),
            unwritten.map(incident(IncidentKind::RecordIncomplete)),
            self.disk_full.clone().map(incident(IncidentKind::DiskFull)),
            collector.hopeless.take().map(incident(IncidentKind::Hopeless)),
        ];
        all.into_iter().flatten().collect()
    }
}
