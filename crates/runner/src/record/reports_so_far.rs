//! Reads the reports of a running run from its report file, for programs other than its observer.
//!
//! The file exists while the process runs. If the run ended before the first read, only its start and end are
//! available. Must not judge.

use std::path::{Path, PathBuf};

use highwater_model::event::Event;
use highwater_model::record::{Record, RecordRef, RunRecord};
use highwater_model::units::Nanos;

use crate::store::{self, ReportTail, Reported};

/// A running run.
#[derive(Debug)]
pub struct ReportsSoFar {
    directory: PathBuf,
    tail: ReportTail,
    has_begun: bool,
    has_ended: bool,
}

impl ReportsSoFar {
    /// The run in this directory; reads nothing yet.
    pub fn of(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            tail: store::report_tail(directory),
            has_begun: false,
            has_ended: false,
        }
    }

    /// Whether more was written than the last call of [`Self::read`] returned.
    pub const fn is_behind(&self) -> bool {
        self.tail.is_behind()
    }

    /// New reports with their wall-clock times, at most some megabytes.
    pub fn read(&mut self) -> Vec<(Nanos, Reported)> {
        // The file is removed after its last line; open handles can still read it.
        let is_gone = store::has_record(&self.directory) && !store::has_reports(&self.directory);
        let mut read = self.tail.read();
        for (_, reported) in &mut read {
            self.place(reported);
        }
        if is_gone && !self.has_ended && !self.tail.is_behind() {
            let at = read.last().map_or(Nanos::ZERO, |(at, _)| *at);
            let record = super::read(&self.directory).ok().and_then(Record::into_run);
            let made = record.map(|record| self.begin_and_end(&record)).into_iter().flatten();
            read.extend(made.map(|event| (at, Reported::Event(Box::new(event)))));
            self.has_ended = true;
        }
        read
    }

    /// The running process may use another path to its directory.
    fn place(&mut self, reported: &mut Reported) {
        let Reported::Event(event) = reported else {
            return;
        };
        let seen = match event.as_mut() {
            Event::Begun { directory, .. } => (&mut self.has_begun, directory),
            Event::Ended { directory, .. } => (&mut self.has_ended, directory),
            _ => return,
        };
        *seen.0 = true;
        *seen.1 = self.directory.display().to_string();
    }

    /// The missing start and end events, from the record.
    fn begin_and_end(&self, record: &RunRecord) -> Vec<Event> {
        let plan = &record.plan.definition;
        let begun = (!self.has_begun).then(|| Event::Begun {
            directory: self.directory.display().to_string(),
            workload: plan.workload.name.clone(),
            urls: record.target.urls.clone(),
            target: record.target.version.clone(),
            phases: plan.phases.clone(),
            objectives: plan.objectives.clone(),
            settings_file: record.header.settings_file.clone(),
        });
        let ended = Event::Ended {
            directory: self.directory.display().to_string(),
            judgments: RecordRef::from(record).judgments().clone(),
            rows_found: record.audit.rows_found(),
        };
        begun.into_iter().chain([ended]).collect()
    }
}
