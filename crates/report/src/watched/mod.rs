//! What somebody who watches a run or an experiment is shown: its events, added up.
//!
//! Pure, and bounded however long it goes on: seconds are joined when there are many, lists keep their last
//! entries. What must not be here: markup (`html`), the format of metrics, and anything that is judged.

mod seconds;
#[cfg(test)]
mod tests;
mod totals;

use std::collections::VecDeque;

use highwater_model::event::{
    AuditProgress, Event, ExperimentProgress, LoadBounds, SecondProgress,
};
use highwater_model::judgment::Judgments;
use highwater_model::plan::{Objective, PhasePlan};

use super::events::{intervention, part_line, trial_begun, warmed_up, warning};
use super::text::{group_trial_line, probe_line, scale_trial_line, trial_line};
pub use seconds::{Seconds, Slot, SlotStream};
pub use totals::{StreamTotals, Totals};

/// Lines that are kept of trials, and of what happened.
const LINES_MAX: usize = 200;

/// Everything that is shown of what goes on.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// The run that goes on, or was the last one.
    pub run: RunWatched,
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
    /// Where it is kept; empty before it begins.
    pub directory: String,
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
}

/// What goes on in a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Stage {
    /// It has not begun.
    #[default]
    Before,
    /// A part without a pace, in words.
    Part(String),
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
            Event::Begun {
                directory,
                workload,
                urls,
                target,
                phases,
                objectives,
            } => {
                self.run = RunWatched {
                    directory: directory.clone(),
                    workload: workload.clone(),
                    urls: urls.clone(),
                    target: target.clone(),
                    phases: phases.clone(),
                    objectives: objectives.clone(),
                    ..RunWatched::default()
                };
            }
            Event::Part(part) => self.run.stage = Stage::Part(part_line(part)),
            Event::Load(bounds) => self.run.stage = Stage::Load(*bounds),
            Event::Second(second) => self.second(second),
            Event::WarmedUp { took, steady } => keep(&mut self.notes, warmed_up(*took, *steady)),
            Event::Intervention(done) => keep(&mut self.notes, intervention(done)),
            Event::Audit(progress) => self.run.stage = Stage::Audit(progress.clone()),
            Event::Ended {
                directory,
                judgments,
            } => {
                self.run.stage = Stage::Over;
                self.ended = Some((directory.clone(), judgments.clone()));
            }
            Event::Trial {
                number,
                trial,
                progress,
            } => {
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

    fn second(&mut self, second: &SecondProgress) {
        self.totals.add(second);
        self.run.seconds.add(second);
        self.run.last = Some(second.clone());
    }
}

fn keep(lines: &mut VecDeque<String>, line: String) {
    if lines.len() == LINES_MAX {
        lines.pop_front();
    }
    lines.push_back(line);
}
