//! What a run tells while it goes on. Observers cannot slow it: they are called about once a second,
//! beside the load, and return nothing.

use highwater_model::search::ProbeRecord;
use highwater_model::tune::TrialRecord;
use highwater_report::{AuditProgress, ExperimentProgress, IntervalLine, LoadBounds};

/// Something worth showing.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The run's directory is there and the target has answered: one line about each.
    Begun {
        /// Where the run is kept.
        directory: String,
        /// Which workload, which target.
        title: String,
    },
    /// A part of the run without a pace begins: `load`, `start`, `audit`.
    Phase {
        /// Its name.
        name: String,
        /// What is done, in a few words.
        about: String,
    },
    /// A table is to be filled; so many rows of it are there.
    Filling {
        /// Rows that are there.
        there: u64,
        /// Rows that are to be there.
        rows: u64,
    },
    /// A load begins, with or without a pace; its seconds follow.
    Load(LoadBounds),
    /// The audit has come this far.
    Audit(AuditProgress),
    /// A probe of a search begins.
    Probe {
        /// From 1.
        number: u32,
        /// What is probed, in a few words.
        about: String,
        /// How far the search is.
        progress: ExperimentProgress,
    },
    /// A probe of a search is over.
    Probed(ProbeRecord),
    /// A configuration of a tuning was measured.
    Measured {
        /// What it showed.
        trial: TrialRecord,
        /// Unit of its throughput.
        unit: &'static str,
    },
    /// A second of load is over.
    Second(IntervalLine),
    /// Something went wrong that does not end the run.
    Warning(String),
}

/// Who is told.
pub trait Observer {
    /// Called once per event.
    fn event(&self, event: &Event);
}

/// Nobody.
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _event: &Event) {}
}
