//! The interim record of a running run, from its draft and its journal, without its seconds.
//!
//! The viewer reads it, so the run takes no part in it. Its size depends on the plan, not on the length of the run.
//! Must not judge finally: 100 ms windows, the audit, and the load generator's own counters are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use highwater_analysis as analysis;
use highwater_model::event::Event;
use highwater_model::judgment::{Judgments, Measurement, ObjectiveValue, Reason, ReasonCode};
use highwater_model::plan::{Pace, Plan};
use highwater_model::record::{
    Change, FailureRecord, InterventionRecord, Record, RecordRef, RunRecord, StreamRecord,
};
use highwater_model::target_telemetry::TargetTelemetry;
use highwater_model::units::Nanos;

use super::interval_lines::delta_of;
use super::journaled::Journaled;
use super::results::{LOAD, of_share};
use crate::store::{self, JournalLine, JournalTail, ReportTail, Reported, Written};

/// Maximum lines that wait for the end of their second; a run writes fewer.
const WAITING_MAX: usize = 65_536;

/// A running run.
#[derive(Debug)]
pub struct SoFar {
    directory: PathBuf,
    draft: Option<Box<RunRecord>>,
    tail: JournalTail,
    /// Lines of seconds that are not over.
    waiting: Vec<JournalLine>,
    /// Seconds in which one phase ended and another began: the journal does not show the split.
    shared: BTreeSet<u64>,
    journaled: Journaled,
    interventions: Vec<InterventionRecord>,
    /// Number of seconds read.
    until: u64,
}

impl SoFar {
    /// The run in this directory; reads nothing yet.
    pub fn of(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            draft: None,
            tail: store::journal_tail(directory),
            waiting: Vec::new(),
            shared: BTreeSet::new(),
            journaled: Journaled::default(),
            interventions: Vec::new(),
            until: 0,
        }
    }

    /// Reads the seconds before this one, at most some megabytes per call.
    pub fn read(&mut self, second: u64) {
        if self.draft.is_none() {
            self.draft = store::read_draft(&self.directory).and_then(|draft| match draft {
                Record::Run(draft) => Some(draft),
                _ => None,
            });
        }
        for written in self.tail.read() {
            match written {
                // The load phase numbers its own seconds.
                Written::Line(line) if line.phase == LOAD => {}
                Written::Line(line) if self.waiting.len() < WAITING_MAX => self.waiting.push(line),
                Written::Line(_) => {}
                Written::Intervention(done) => self.interventions.push(done),
            }
        }
        let lines = std::mem::take(&mut self.waiting).into_iter();
        let (over, waiting): (Vec<_>, Vec<_>) = lines.partition(|line| line.second < second);
        self.waiting = waiting;
        self.until = if self.tail.is_behind() {
            let last = over.iter().map(|line| line.second).max();
            last.map_or(self.until, |last| self.until.max(last))
        } else {
            second
        };
        self.note_shared(&over);
        for line in over {
            if !self.shared.contains(&line.second) {
                self.add(line);
            }
        }
    }

    /// Failed ops so far by cause, most frequent first, each with the second in which it was seen last.
    pub fn failures(&self) -> Vec<(FailureRecord, u64)> {
        self.journaled.failures()
    }

    /// The seconds before this one have been read.
    pub const fn until(&self) -> u64 {
        self.until
    }

    /// Whether more was written than the last call of [`Self::read`] took in; if so, call it again at once.
    pub const fn is_behind(&self) -> bool {
        self.tail.is_behind()
    }

    fn note_shared(&mut self, lines: &[JournalLine]) {
        let mut phases: BTreeMap<u64, &str> = BTreeMap::new();
        for line in lines {
            let phase = phases.entry(line.second).or_insert(&line.phase);
            if *phase != line.phase {
                self.shared.insert(line.second);
            }
        }
    }

    fn add(&mut self, line: JournalLine) {
        let delta = delta_of(&line);
        // After the end of a phase, its last ops still finish, but none is intended.
        if delta.offered > 0 {
            self.journaled.see(&line.phase, line.second);
        }
        self.journaled.add(&[line.phase, line.stream, line.op], &delta);
    }

    /// The interim record with its judgments and the telemetry of target and host; absent before the target has
    /// responded.
    pub fn record(&self, telemetry: &TargetTelemetry) -> Option<RunRecord> {
        let mut record = RunRecord::clone(self.draft.as_ref()?);
        self.journaled.fill(&mut record);
        record.interventions.clone_from(&self.interventions);
        let RunRecord { streams, plan, .. } = &mut record;
        for stream in streams {
            planned(stream, &plan.definition, &self.interventions);
        }
        record.target.hosts = super::hosts_at(record.target.urls.clone());
        record.target_telemetry = (!telemetry.times_ns.is_empty()).then(|| telemetry.clone());
        // An objective that cannot be judged yet counts as missed, which does not indicate any limit.
        record.judgments.objective.value = ObjectiveValue::NotDecided;
        record.limit = analysis::limit(&record);
        record.judgments = analysis::judge(&record);
        leave_windows_to_the_end(&mut record.judgments);
        Some(record)
    }
}

/// Reasons based on 100 ms windows, which are missing here.
const OF_WINDOWS: [ReasonCode; 3] =
    [ReasonCode::TooFewSamples, ReasonCode::SteadinessNotShown, ReasonCode::SteadinessRequired];

/// Removes from the judgments the reasons based on windows. If an objective is missed for no other reason, its judgment
/// becomes open, because it may still be met.
fn leave_windows_to_the_end(judgments: &mut Judgments) {
    let Judgments { measurement, objective, .. } = judgments;
    let before = measurement.reasons.len();
    let reasons = &mut measurement.reasons;
    reasons.retain(|reason| !OF_WINDOWS.contains(&reason.code));
    if before > 0 && reasons.is_empty() {
        measurement.value = Measurement::Valid;
    }
    let is_of_ops = |reason: &Reason| reason.code != ReasonCode::ObjectiveLatency;
    if objective.reasons.iter().any(is_of_ops) {
        objective.reasons.retain(is_of_ops);
    }
}

/// Sets a measured stream's pace to that of its phase.
fn planned(stream: &mut StreamRecord, plan: &Plan, interventions: &[InterventionRecord]) {
    let Some(position) = plan.streams.iter().position(|of| of.name == stream.stream) else {
        return;
    };
    if let Some(pace) = pace_in(plan, position, &stream.phase, interventions) {
        (stream.planned_rate, stream.sessions) = of_share(plan, position, pace);
    }
}

/// The pace of a stream in a phase: the plan's, or the last change.
pub(super) fn pace_in(
    plan: &Plan,
    stream: usize,
    phase: &str,
    interventions: &[InterventionRecord],
) -> Option<Pace> {
    let planned = |name: &str| {
        let found = plan.phases.iter().find(|phase| phase.name == name)?;
        Some(plan.pace(stream, found.step))
    };
    if let Some(pace) = planned(phase) {
        return Some(pace);
    }
    let of_stream = |done: &&InterventionRecord| match &done.change {
        Change::Pace { stream: name, .. } => *name == plan.streams[stream].name,
        _ => false,
    };
    // Up to the change that began the phase, of whichever stream.
    let last = interventions.iter().rposition(|done| done.phase == phase);
    let until = interventions.get(..=last?)?;
    match until.iter().rfind(of_stream).map(|done| &done.change) {
        Some(Change::Pace { to, .. }) => Some(*to),
        _ => planned(phase.rsplit_once('-')?.0),
    }
}

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
