//! Page content other than events: the record so far of a run, and of the experiments that it belongs to, read from
//! their directories. Must not affect the run, or read more often than the caller requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater_model::event::Event;
use highwater_model::record::ExperimentRecord;
use highwater_report::RunWatched;
use highwater_runner::record::{self, SoFar};
use highwater_runner::store::PROBES;

/// Maximum depth of nested experiments, such as the search of a size of a growth.
const NESTED_MAX: usize = 3;

/// Follows the current run.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    so_far: Option<SoFar>,
    /// Directories of the experiments that it belongs to, the outermost first.
    experiments: Vec<PathBuf>,
    /// Whether a trial ended since its experiment was last read.
    is_due: bool,
}

impl Follower {
    /// Notes what must be read.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Begun { directory, .. } => {
                let directory = Path::new(directory);
                self.so_far = Some(SoFar::of(directory));
                self.experiments = experiments_of(directory);
                self.is_due = true;
            }
            Event::Probed(_)
            | Event::Measured { .. }
            | Event::Repeated { .. }
            | Event::Sized { .. } => self.is_due = true,
            Event::Ended { .. } => {
                self.so_far = None;
                self.is_due = true;
            }
            _ => {}
        }
    }

    /// Reads new data of the run into `run`, up to the second before the last one, because data of the last one may
    /// still arrive.
    pub(crate) fn follow(&mut self, run: &mut RunWatched) {
        let Some(so_far) = &mut self.so_far else {
            return;
        };
        let last = run.last.as_ref().map_or(0, |last| last.second);
        so_far.read(last.saturating_sub(1));
        run.record = so_far.record(&run.telemetry).map(Arc::new);
        run.record_until = so_far.until();
        run.failures = so_far.failures();
    }

    /// Whether there is more data than one read takes.
    pub(crate) fn is_behind(&self) -> bool {
        self.so_far.as_ref().is_some_and(SoFar::is_behind)
    }

    /// The records of the experiments, if a trial ended since the last call.
    pub(crate) fn experiments(&mut self) -> Option<Vec<Arc<ExperimentRecord>>> {
        if !std::mem::take(&mut self.is_due) {
            return None;
        }
        let read = self.experiments.iter().filter_map(|directory| {
            let record = record::read(directory).ok()?;
            record.into_experiment().map(Arc::new)
        });
        Some(read.collect())
    }
}

/// The directories of the experiments that a trial belongs to, the outermost first.
pub(crate) fn experiments_of(trial: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut at = trial;
    while found.len() < NESTED_MAX {
        let of_experiment = at
            .parent()
            .filter(|parent| parent.file_name().is_some_and(|name| name == PROBES))
            .and_then(Path::parent);
        let Some(directory) = of_experiment else {
            break;
        };
        found.insert(0, directory.to_owned());
        at = directory;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_below_its_experiments_and_a_run_is_below_none() {
        let of = |path: &str| experiments_of(Path::new(path));
        assert!(of("runs/2026-a").is_empty() && of("probes").is_empty());
        assert_eq!(of("runs/find/probes/01-search"), [Path::new("runs/find")]);
        let nested = of("runs/scale/probes/02/probes/01-search");
        let expected = [Path::new("runs/scale"), Path::new("runs/scale/probes/02")];
        assert_eq!(nested, expected);
    }

    #[test]
    fn what_cannot_be_read_is_not_shown_and_breaks_nothing() {
        let mut follower = Follower::default();
        let mut run = RunWatched::default();
        follower.follow(&mut run);
        follower.event(&Event::Begun {
            directory: "no/such/probes/01".to_owned(),
            workload: String::new(),
            urls: Vec::new(),
            target: String::new(),
            phases: Vec::new(),
            objectives: Vec::new(),
            settings_file: None,
        });
        follower.follow(&mut run);
        assert_eq!(run.record, None);
        assert_eq!(follower.experiments(), Some(Vec::new()));
        assert_eq!(follower.experiments(), None, "read once a trial");
    }
}
