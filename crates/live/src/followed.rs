//! Runs of a store that go on, as their files show them. They are read as they grow while somebody looks, so a run has
//! no part in it, and many who look take no more than one. Must not serve.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater_model::units::Nanos;
use highwater_report::{self as report, LiveRights, Watched};
use highwater_runner::record::ReportsSoFar;
use highwater_runner::store::{self, ReportTail, Reported};

use crate::follower::{Follower, experiments_of};

/// Runs that are kept: of more, the one that nobody looked at for longest is read from its begin when somebody does.
const RUNS_MAX: usize = 8;
/// Between two times that files are read.
pub(crate) const EVERY: Nanos = Nanos::SECOND;
/// Times that files are read between two records so far.
const UPDATES_OF_RECORD: u64 = 5;
/// Some megabytes each, so that other requests are answered while a long run is read.
const READS_MAX: u32 = 4;

/// All of them; the one that somebody looked at last is the last one.
#[derive(Debug, Default)]
pub(crate) struct Followed(Vec<Following>);

/// One of them.
#[derive(Debug)]
struct Following {
    /// In the store.
    directory: PathBuf,
    /// Where the files are that grow: the same, or that of a trial.
    running: PathBuf,
    reports: ReportsSoFar,
    /// Of the experiments that it is of.
    experiments: Vec<(PathBuf, ReportTail)>,
    follower: Follower,
    watched: Watched,
    updates: u64,
    updated_at: Nanos,
    parts: Arc<str>,
}

impl Followed {
    /// The page of a run at a time; absent where no process is at work on it.
    pub(crate) fn page(&mut self, directory: &Path, now: Nanos) -> Option<String> {
        let of = self.updated(directory, now)?;
        Some(report::live_page(&of.watched, LiveRights::View))
    }

    /// What changes on that page.
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

    /// Reads what was written since, unless that was done a moment ago.
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

    /// Takes in what was reported, in its order.
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

/// What the experiments of a run report, those that are known read on.
fn tails_of(run: &Path, mut known: Vec<(PathBuf, ReportTail)>) -> Vec<(PathBuf, ReportTail)> {
    let tails = experiments_of(run).into_iter().map(|directory| {
        let place = known.iter().position(|(of, _)| *of == directory);
        let new = || (directory.clone(), store::report_tail(&directory));
        place.map_or_else(new, |place| known.remove(place))
    });
    tails.collect()
}
