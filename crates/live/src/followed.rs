//! Running runs of a store, as shown by their files: read as they grow, and only while a client views them, so that the
//! runs are not involved, and many clients cost no more than one. The records so far of a run and of its experiments
//! come from their directories. Must not serve.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater_model::event::Event;
use highwater_model::record::ExperimentRecord;
use highwater_model::units::Nanos;
use highwater_report::{self as report, LiveRights, WatchedPage};
use highwater_runner::record::{self, ReportsSoFar, SoFar};
use highwater_runner::store::{self, JournalReport, PROBES, ReportTail};

/// Maximum number of followed runs. With more, the least recently viewed one is dropped, and read again from the start.
const RUNS_MAX: usize = 8;
/// Minimum time between two reads of the files.
pub(crate) const EVERY: Nanos = Nanos::SECOND;
/// Maximum pieces of a few megabytes per read, so that other requests are served while a long run is read.
const READS_MAX: u32 = 4;

/// All followed runs; the most recently viewed one is last.
#[derive(Debug, Default)]
pub(crate) struct FollowedRuns(Vec<Following>);

/// A followed run.
#[derive(Debug)]
struct Following {
    /// Its directory in the store.
    directory: PathBuf,
    /// Directory of the growing files: the same, or that of a trial.
    running: PathBuf,
    reports: ReportsSoFar,
    /// Reports of the experiments that it belongs to.
    experiments: Vec<(PathBuf, ReportTail)>,
    follower: Follower,
    updated_at: Option<Nanos>,
    parts: Arc<str>,
}

impl FollowedRuns {
    /// The page of a run at time `now`; absent if no process is running it.
    pub(crate) fn page(&mut self, directory: &Path, now: Nanos) -> Option<String> {
        let of = self.updated(directory, now)?;
        Some(report::live_page(&of.follower.page, LiveRights::View))
    }

    /// The parts of that page that are swapped.
    pub(crate) fn parts(&mut self, directory: &Path, now: Nanos) -> Option<Arc<str>> {
        let of = self.updated(directory, now)?;
        Some(Arc::clone(&of.parts))
    }

    fn updated(&mut self, directory: &Path, now: Nanos) -> Option<&Following> {
        let place = self.0.iter().position(|of| of.directory == directory);
        let known = place.map(|place| self.0.remove(place));
        let running = store::at_work(directory)?;
        let mut of = known.unwrap_or_else(|| Following::new(directory, &running));
        of.update(running, now);
        if self.0.len() >= RUNS_MAX {
            self.0.remove(0);
        }
        self.0.push(of);
        self.0.last()
    }
}

impl Following {
    fn new(directory: &Path, running: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            running: running.to_owned(),
            reports: ReportsSoFar::new(running),
            experiments: tails_of(running, Vec::new()),
            follower: Follower::default(),
            updated_at: None,
            parts: Arc::from(""),
        }
    }

    /// Reads new data, unless the last read was less than [`EVERY`] ago.
    fn update(&mut self, running: PathBuf, now: Nanos) {
        let is_next = self.running != running;
        let is_soon = |at: Nanos| at.0.abs_diff(now.0) < EVERY.0;
        if !is_next && self.updated_at.is_some_and(is_soon) {
            return;
        }
        self.read();
        if is_next {
            self.reports = ReportsSoFar::new(&running);
            self.experiments = tails_of(&running, std::mem::take(&mut self.experiments));
            self.running = running;
            self.read();
        }
        self.follower.follow();
        self.updated_at = Some(now);
        self.parts = Arc::from(report::live_parts(&self.follower.page));
    }

    /// Applies the reported events in order.
    fn read(&mut self) {
        for _ in 0..READS_MAX {
            let mut read = self.reports.read();
            let mut is_behind = self.reports.is_behind();
            for (_, tail) in &mut self.experiments {
                read.extend(tail.read());
                is_behind |= tail.is_behind();
            }
            read.sort_by_key(|(at, _)| *at);
            for (_, reported) in read {
                match reported {
                    JournalReport::Event(event) => self.follower.event(event),
                    JournalReport::Telemetry(point) => self.follower.page.telemetry(&point),
                }
            }
            if !is_behind {
                break;
            }
        }
    }
}

/// The reports of a run's experiments; known ones are continued.
fn tails_of(run: &Path, mut known: Vec<(PathBuf, ReportTail)>) -> Vec<(PathBuf, ReportTail)> {
    let tails = experiments_of(run).into_iter().map(|directory| {
        let place = known.iter().position(|(of, _)| *of == directory);
        let new = || (directory.clone(), store::report_tail(&directory));
        place.map_or_else(new, |place| known.remove(place))
    });
    tails.collect()
}

/// Maximum depth of nested experiments, such as the search of a size of a growth.
const NESTED_MAX: usize = 3;

/// Follows the current run, for a page that shows the same seconds of its events and of its record.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    pub(crate) page: WatchedPage,
    /// The last second, which is not shown yet: its record is complete when the next one is reported.
    held: Option<Box<Event>>,
    so_far: Option<SoFar>,
    /// Directories of the experiments that it belongs to, the outermost first.
    experiments: Vec<PathBuf>,
    /// Whether a trial has ended since its experiment was last read.
    is_due: bool,
}

impl Follower {
    /// Applies an event, a second one second later, and determines what must be read.
    pub(crate) fn event(&mut self, event: Box<Event>) {
        match &*event {
            Event::Second(_) => {
                if let Some(held) = self.held.replace(event) {
                    self.page.event(&held);
                }
                return;
            }
            // These may come between two seconds, and belong to neither.
            Event::Intervention(_) | Event::Warning { .. } | Event::Dropped { .. } => {}
            _ => self.release(),
        }
        self.page.event(&event);
        match &*event {
            Event::Begun { directory, .. } => {
                let directory = Path::new(directory);
                self.so_far = Some(SoFar::new(directory));
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

    /// Applies the last second: no other one of this load follows.
    pub(crate) fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.page.event(&held);
        }
    }

    /// Reads the record of the run up to the second that is shown, and those of its experiments.
    pub(crate) fn follow(&mut self) {
        if let Some(experiments) = self.experiments() {
            self.page.experiments = experiments;
        }
        let run = &mut self.page.run;
        let (shown, phase) =
            run.last.as_ref().map_or((0, ""), |last| (last.second, last.phase.as_str()));
        let is_read = run.record.is_some() && run.record_until == shown;
        let Some(so_far) = self.so_far.as_mut().filter(|_| !is_read) else {
            return;
        };
        for _ in 0..READS_MAX {
            so_far.read(shown, phase);
            if !so_far.is_behind() {
                break;
            }
        }
        run.record = so_far.record(&run.telemetry).map(Arc::new);
        run.record_until = so_far.until();
        run.failures = so_far.failures();
    }

    /// The records of the experiments, if a trial ended since the last call.
    fn experiments(&mut self) -> Option<Vec<Arc<ExperimentRecord>>> {
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
    fn unreadable_runs_are_not_shown_and_break_nothing() {
        let mut follower = Follower::default();
        follower.follow();
        let begun = Event::Begun {
            directory: "no/such/probes/01".to_owned(),
            workload: String::new(),
            urls: Vec::new(),
            target: String::new(),
            simulated: false,
            phases: Vec::new(),
            objectives: Vec::new(),
            settings_file: None,
        };
        follower.event(Box::new(begun));
        assert_eq!(follower.experiments(), Some(Vec::new()));
        follower.follow();
        assert_eq!(follower.page.run.record, None);
        assert_eq!(follower.experiments(), None, "read once a trial");
    }
}
