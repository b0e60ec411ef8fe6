//! Running runs of a store, as shown by their files. The files are read as they grow and only while a client views
//! them, so the runs are not involved, and many clients cost no more than one. Must not serve.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater_model::units::Nanos;
use highwater_report::{self as report, LiveRights, Watched};
use highwater_runner::record::ReportsSoFar;
use highwater_runner::store::{self, ReportTail, Reported};

use crate::follower::{Follower, experiments_of};

/// Maximum number of followed runs. With more, the least recently viewed one is dropped, and read again from the start.
const RUNS_MAX: usize = 8;
/// Minimum time between two reads of the files.
pub(crate) const EVERY: Nanos = Nanos::SECOND;
/// Reads of the files per update of the record so far.
const UPDATES_OF_RECORD: u64 = 5;
/// Maximum pieces of a few megabytes per read, so that other requests are served while a long run is read.
const READS_MAX: u32 = 4;

/// All followed runs; the most recently viewed one is last.
#[derive(Debug, Default)]
pub(crate) struct Followed(Vec<Following>);

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
    watched: Watched,
    updates: u64,
    updated_at: Nanos,
    parts: Arc<str>,
}

impl Followed {
    /// The page of a run at time `now`; absent if no process is running it.
    pub(crate) fn page(&mut self, directory: &Path, now: Nanos) -> Option<String> {
        let of = self.updated(directory, now)?;
        Some(report::live_page(&of.watched, LiveRights::View))
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
        let mut of = known.unwrap_or_else(|| Following::of(directory, &running));
        of.update(running, now);
        if self.0.len() >= RUNS_MAX {
            self.0.remove(0);
        }
        self.0.push(of);
        self.0.last()
    }
}

impl Following {
    fn of(directory: &Path, running: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            running: running.to_owned(),
            reports: ReportsSoFar::of(running),
            experiments: tails_of(running, Vec::new()),
            follower: Follower::default(),
            watched: Watched::default(),
            updates: 0,
            updated_at: Nanos::ZERO,
            parts: Arc::from(""),
        }
    }

    /// Reads new data, unless the last read was less than [`EVERY`] ago.
    fn update(&mut self, running: PathBuf, now: Nanos) {
        let is_next = self.running != running;
        if !is_next && self.updates > 0 && self.updated_at.0.abs_diff(now.0) < EVERY.0 {
            return;
        }
        self.read();
        if is_next {
            self.reports = ReportsSoFar::of(&running);
            self.experiments = tails_of(&running, std::mem::take(&mut self.experiments));
            self.running = running;
            self.read();
        }
        if self.updates.is_multiple_of(UPDATES_OF_RECORD) || self.follower.is_behind() {
            self.follower.follow(&mut self.watched.run);
        }
        if let Some(experiments) = self.follower.experiments() {
            self.watched.experiments = experiments;
        }
        self.updates += 1;
        self.updated_at = now;
        self.parts = Arc::from(report::live_parts(&self.watched));
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
                    Reported::Event(event) => {
                        self.watched.event(&event);
                        self.follower.event(&event);
                    }
                    Reported::Telemetry(point) => self.watched.telemetry(&point),
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
