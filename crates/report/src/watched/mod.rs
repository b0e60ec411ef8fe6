//! What somebody who watches a run or an experiment is shown: its events, added up.
//!
//! Pure, and bounded however long it goes on: seconds and points of telemetry are joined when there are many, lists
//! keep their last entries. What must not be here: markup (`html`), the format of metrics, and anything that is judged.

mod seconds;
#[cfg(test)]
mod tests;
mod totals;

use std::collections::VecDeque;
use std::sync::Arc;

use highwater_model::control::{Change, InterventionRecord};
use highwater_model::event::{
    AuditProgress, Event, ExperimentProgress, LoadBounds, Part, SecondProgress,
};
use highwater_model::judgment::Judgments;
use highwater_model::plan::{Objective, PhasePlan};
use highwater_model::record::{ExperimentRecord, RunRecord};
use highwater_model::target_telemetry::{TargetTelemetry, TelemetryPoint};

use super::events::{intervention, part_line, trial_begun, warmed_up, warning};
use super::text::{group_trial_line, probe_line, scale_trial_line, trial_line};
pub use seconds::{Seconds, Slot, SlotStream};
pub use totals::{StreamTotals, TimesTotal, Totals};

/// Lines that are kept of trials, and of what happened.
const LINES_MAX: usize = 200;
/// Points that are kept of telemetry; half as many are left after joining.
const POINTS_MAX: usize = 600;

/// Everything that is shown of what goes on.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// The run that goes on, or was the last one.
    pub run: RunWatched,
    /// The experiment so far, and the one that its trial is, as their records show them; the outermost first.
    pub experiments: Vec<Arc<ExperimentRecord>>,
    /// Whether an experiment waits behind the trial that runs, or will.
    pub is_held: bool,
    /// Trials of an experiment, in words, the latest last.
    pub trials: VecDeque<String>,
    /// How far the experiment was when its last trial began.
    pub progress: Option<ExperimentProgress>,
    /// What happened beside the load, the latest last.
    pub notes: VecDeque<String>,
    /// Everything since the beginning, over all runs.
    pub totals: Totals,
    /// Where the last record is, and what to make of it.
    pub ended: Option<(String, Judgments)>,
    /// Events that could not be taken in time.
    pub dropped: u64,
    /// Whether the command is over: nothing more comes.
    pub is_over: bool,
}

/// One run as it is seen.
#[derive(Debug, Clone, Default)]
pub struct RunWatched {
    /// Name of the workload.
    pub workload: String,
    /// Where the target is.
    pub urls: Vec<String>,
    /// What the target is.
    pub target: String,
    /// What is planned.
    pub phases: Vec<PhasePlan>,
    /// What must hold.
    pub objectives: Vec<Objective>,
    /// What goes on.
    pub stage: Stage,
    /// The load so far.
    pub seconds: Seconds,
    /// The last second.
    pub last: Option<SecondProgress>,
    /// What its user did to it, the latest last.
    pub interventions: VecDeque<InterventionRecord>,
    /// What target and host said of themselves during this load.
    pub telemetry: TargetTelemetry,
    /// The record so far, without its seconds; absent before it is known.
    pub record: Option<Arc<RunRecord>>,
    /// That record has the seconds before this one.
    pub record_until: u64,
}

/// What goes on in a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Stage {
    /// It has not begun.
    #[default]
    Before,
    /// A part without a pace, in words.
    Part(String),
    /// An experiment waits between two trials.
    Paused,
    /// A load.
    Load(LoadBounds),
    /// The audit.
    Audit(AuditProgress),
    /// Its record is written.
    Over,
}

impl Watched {
    /// Takes in an event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Begun { workload, urls, target, phases, objectives, .. } => {
                self.run = RunWatched {
                    workload: workload.clone(),
                    urls: urls.clone(),
                    target: target.clone(),
                    phases: phases.clone(),
                    objectives: objectives.clone(),
                    ..RunWatched::default()
                };
            }
            Event::Part(Part::Paused) => self.run.stage = Stage::Paused,
            Event::Part(part) => self.run.stage = Stage::Part(part_line(part)),
            Event::Load(bounds) => {
                self.run.stage = Stage::Load(*bounds);
                // Its times count anew. The record so far has none of the filling of tables.
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
                self.progress = Some(*progress);
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

    fn intervened(&mut self, done: &InterventionRecord) {
        keep(&mut self.notes, intervention(done));
        keep(&mut self.run.interventions, done.clone());
        if matches!(done.change, Change::Pause { .. }) {
            self.run.stage = Stage::Before;
        }
    }

    /// Takes in what target and host said of themselves.
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
