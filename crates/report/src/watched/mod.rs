//! The state behind the page of a running run or experiment: its events, aggregated.
//!
//! Pure and bounded, however long the run takes: seconds and telemetry points are joined when there are many, and lists
//! keep their last entries. Must not contain markup (`html`) or the metrics format, or judge.

mod seconds;
#[cfg(test)]
mod tests;
mod totals;

use std::collections::VecDeque;
use std::sync::Arc;

use highwater_model::control::{Change, InterventionRecord};
use highwater_model::event::{
    AuditProgress, Event, ExperimentProgress, LoadBounds, Part, SecondProgress, Trial,
};
use highwater_model::judgment::Judgments;
use highwater_model::plan::{Objective, PhasePlan};
use highwater_model::record::{ExperimentRecord, FailureRecord, RunRecord};
use highwater_model::target_telemetry::{TargetTelemetry, TelemetryPoint};

use super::answer::short_target;
use super::events::{intervention, part_line, trial_begun, warmed_up, warning};
use crate::kinds::group::group_trial_line;
use crate::kinds::growth::scale_trial_line;
use crate::kinds::search::probe_line;
use crate::kinds::tuning::trial_line;
pub use seconds::{Seconds, Slot, SlotStream};
pub use totals::{StreamTotals, TimesTotal, Totals};

/// Maximum number of lines about trials, and about events.
const LINES_MAX: usize = 200;
/// Maximum number of telemetry points; half as many are left after joining.
const POINTS_MAX: usize = 600;

/// Everything that the page shows.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// The current run, or the last one.
    pub run: RunWatched,
    /// The experiment so far, and the experiment that its trial consists of, as in their records; the outermost first.
    pub experiments: Vec<Arc<ExperimentRecord>>,
    /// Whether an experiment pauses, or will pause after the current trial.
    pub is_held: bool,
    /// Trials of an experiment, in words, the latest last.
    pub trials: VecDeque<String>,
    /// The trial that runs, or ran last; of an experiment within another, the outermost first.
    pub trying: Vec<Trying>,
    /// Events other than the load, the latest last.
    pub notes: VecDeque<String>,
    /// Everything since the beginning, over all runs.
    pub totals: Totals,
    /// Where the last record is stored, and its judgments.
    pub ended: Option<(String, Judgments)>,
    /// Events that were dropped because the receiver was too slow.
    pub dropped: u64,
    /// Whether the command is over, so that no events follow.
    pub is_over: bool,
}

/// A trial of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Trying {
    /// What is tried.
    pub trial: Trial,
    /// How far the experiment was when it began.
    pub progress: ExperimentProgress,
}

/// One run as the page shows it.
#[derive(Debug, Clone, Default)]
pub struct RunWatched {
    /// Where it is stored.
    pub directory: String,
    /// Name of the workload.
    pub workload: String,
    /// URLs of the target.
    pub urls: Vec<String>,
    /// Name and version of the target, in short.
    pub target: String,
    /// Planned phases.
    pub phases: Vec<PhasePlan>,
    /// Objectives of the run.
    pub objectives: Vec<Objective>,
    /// Current stage.
    pub stage: Stage,
    /// The load so far.
    pub seconds: Seconds,
    /// The last second.
    pub last: Option<SecondProgress>,
    /// Changes that the user made, the latest last.
    pub interventions: VecDeque<InterventionRecord>,
    /// Telemetry of the target and its host during this load.
    pub telemetry: TargetTelemetry,
    /// The record so far, without its seconds; absent before it is known.
    pub record: Option<Arc<RunRecord>>,
    /// The record contains the seconds before this one.
    pub record_until: u64,
    /// Failed ops in these seconds by cause, most frequent first, each with the second in which it was seen last.
    pub failures: Vec<(FailureRecord, u64)>,
}

/// Stage of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Stage {
    /// Not begun.
    #[default]
    Before,
    /// A part without a pace, in words.
    Part(String),
    /// An experiment is paused between two trials.
    Paused,
    /// A load.
    Load(LoadBounds),
    /// The audit.
    Audit(AuditProgress),
    /// The record has been written.
    Over,
}

impl Watched {
    /// Applies an event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Begun { directory, workload, urls, target, phases, objectives, .. } => {
                self.run = RunWatched {
                    directory: directory.clone(),
                    workload: workload.clone(),
                    urls: urls.clone(),
                    target: short_target(target),
                    phases: phases.clone(),
                    objectives: objectives.clone(),
                    ..RunWatched::default()
                };
            }
            Event::Part(Part::Paused) => self.run.stage = Stage::Paused,
            Event::Part(part) => self.run.stage = Stage::Part(part_line(part)),
            Event::Load(bounds) => {
                self.run.stage = Stage::Load(*bounds);
                // Times restart with each load. The record so far has no data from filling tables.
                self.run.telemetry = TargetTelemetry::default();
                self.run.seconds = Seconds::default();
                self.run.last = None;
            }
            Event::Second(second) => {
                self.totals.add(second);
                self.run.seconds.add(second);
                self.run.last = Some(second.clone());
            }
            Event::WarmedUp { took, steady } => keep(&mut self.notes, warmed_up(*took, *steady)),
            Event::Intervention(done) => self.intervened(done),
            Event::Audit(progress) => self.run.stage = Stage::Audit(progress.clone()),
            Event::Ended { directory, judgments, rows_found } => {
                self.totals.rows_found += rows_found.unwrap_or(0);
                self.run.stage = Stage::Over;
                self.ended = Some((directory.clone(), judgments.clone()));
            }
            Event::Trial { number, trial, progress } => {
                self.try_next(trial, *progress);
                keep(&mut self.trials, trial_begun(*number, trial));
            }
            Event::Probed(probe) => keep(&mut self.trials, probe_line(probe)),
            Event::Measured { trial, unit } => {
                keep(&mut self.trials, trial_line(trial, unit.name()));
            }
            Event::Repeated { trial, unit } => {
                keep(&mut self.trials, group_trial_line(trial, unit.name()));
            }
            Event::Sized { trial, unit } => {
                keep(&mut self.trials, scale_trial_line(trial, unit.name()));
            }
            Event::Warning { kind, message } => keep(&mut self.notes, warning(*kind, message)),
            Event::Dropped { events } => self.dropped += events,
            Event::Stream { .. } | Event::Estimate(_) | Event::Filling { .. } => {}
        }
    }

    /// A trial replaces the one of its kind, and all of an experiment within that one.
    fn try_next(&mut self, trial: &Trial, progress: ExperimentProgress) {
        let kind = std::mem::discriminant(trial);
        let mut kinds = self.trying.iter().map(|trying| std::mem::discriminant(&trying.trial));
        if let Some(place) = kinds.position(|of| of == kind) {
            self.trying.truncate(place);
        }
        self.trying.push(Trying { trial: trial.clone(), progress });
    }

    fn intervened(&mut self, done: &InterventionRecord) {
        keep(&mut self.notes, intervention(done));
        keep(&mut self.run.interventions, done.clone());
        if matches!(done.change, Change::Pause { .. }) {
            self.run.stage = Stage::Before;
        }
    }

    /// Adds a telemetry point of the target or its host.
    pub fn telemetry(&mut self, point: &TelemetryPoint) {
        self.run.telemetry.add(point, POINTS_MAX);
    }
}

fn keep<T>(lines: &mut VecDeque<T>, line: T) {
    if lines.len() == LINES_MAX {
        lines.pop_front();
    }
    lines.push_back(line);
}
