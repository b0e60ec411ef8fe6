//! A run or an experiment in several shares: the first load generator merges what all have stored below one folder, and
//! the others continue with its result.
//!
//! Every share runs the same command, so each selects the same next trial from the first one's record: nothing else passes
//! between them, and none takes an instruction that its own command line does not hold. Must not measure, and must not
//! read the others' runs before they have announced them.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use highwater_analysis as analysis;
use highwater_driver::Timeline;
use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::interrupts::Interrupts;
use highwater_model::display::duration;
use highwater_model::plan::Share;
use highwater_model::record::{Question, Record, RunRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_runner::leases::KeptLeases;
use highwater_runner::record;
use highwater_runner::request::{MeetingRequest, RunEnd, RunEnding, Silent};
use highwater_runner::store::RunDirectory;
use highwater_runner::stored_shares::{of_shares, siblings, stored_shares, suffix};

/// Time between two looks at the first share's results.
const POLL: Nanos = Nanos::from_millis(200);
const RESUME: &str = "start all shares again, with --drop, --resume, and the experiment of share 1";

/// The part of an experiment that this load generator runs.
#[derive(Debug, Clone)]
pub struct ExperimentShare {
    share: Share,
    meets: MeetingRequest,
    /// The directory of the first share's experiment in the folder, once its first run is found there. Experiments in it
    /// have it in common.
    first: Rc<OnceCell<PathBuf>>,
}

/// Waits until every other share of a run has ended; returns whether this one merges them, which is the lowest that is
/// there.
///
/// # Errors
/// The target does not answer, or the user stops the wait.
pub fn wait_for_others(
    meets: &MeetingRequest,
    leases: &KeptLeases,
    directory: &Path,
    interrupts: &Interrupts,
) -> Result<bool, UserError> {
    // Whoever merges the shares moves their directories into that of the whole.
    let is_concluded = || !directory.exists();
    let waited = leases.wait_to_conclude(&Silent, interrupts, &is_concluded);
    let is_lowest = waited.map_err(|error| not_merged(&error.message, &meets.store))?;
    Ok(is_lowest && !is_concluded())
}

/// Merges the runs that met with this one, and stores them in the directory that `make` creates; adds to `unstored` why
/// the record could not be written there, or a share's directory not moved there: the result is not lost with it.
///
/// # Errors
/// They cannot be read or merged, or the directory cannot be made.
pub fn merge(
    meets: &MeetingRequest,
    own: &RunRecord,
    directory: &Path,
    unstored: &mut Vec<UserError>,
    make: impl FnOnce(&RunRecord, &str) -> Result<RunDirectory, UserError>,
) -> Result<(RunRecord, RunDirectory), UserError> {
    let siblings = of_shares(siblings(&meets.store, directory)?);
    let mut shares = Vec::new();
    for share in stored_shares(siblings, own) {
        if share.path == directory {
            // The folder may have been full.
            shares.push((share.path, own.clone()));
        } else if let Record::Run(run) = record::read(&share.path)? {
            shares.push((share.path, *run));
        }
    }
    let records: Vec<&RunRecord> = shares.iter().map(|(_, record)| record).collect();
    let mut merged =
        analysis::merge(&records).map_err(|error| not_merged(&error.to_string(), &meets.store))?;
    let first = &records[0].header.id;
    let id = first.strip_suffix(&suffix(&records[0].plan.definition.share)).unwrap_or(first);
    let whole = make(&merged, id)?;
    merged.header.id = whole.id();
    unstored.extend(whole.write_record(&merged).err());
    for (path, record) in &shares {
        unstored.extend(whole.take_in_share(path, record.plan.definition.share.index).err());
    }
    Ok((merged, whole))
}

fn not_merged(why: &str, out: &Path) -> UserError {
    let message = format!("the shares were not merged: {why}");
    UserError::new(UserErrorKind::MissingShare, message).with_hint(format!(
        "what was measured is below {}: merge it with `highwater show SHARE…`",
        out.display()
    ))
}

impl ExperimentShare {
    /// The share of a plan, whose runs meet those of the others so.
    pub fn new(share: Share, meets: MeetingRequest) -> Self {
        Self { share, meets, first: Rc::default() }
    }

    /// Whether this share decides and records.
    pub const fn is_first(&self) -> bool {
        self.share.index == 1
    }

    /// How its runs meet those of the others.
    pub(crate) const fn meets(&self) -> &MeetingRequest {
        &self.meets
    }

    /// The name of the directory of this share's run.
    pub(crate) fn name(&self, trial: &str) -> String {
        format!("{trial}{}", suffix(&self.share))
    }

    /// The run of all shares, whose part in `directory` has ended: the first share makes it, in the directory that `make`
    /// creates; the others read it.
    pub(crate) fn whole(
        &self,
        own: &RunRecord,
        directory: &Path,
        leases: &KeptLeases,
        interrupts: &Interrupts,
        make: impl FnOnce(&RunRecord) -> Result<RunDirectory, UserError>,
    ) -> Result<RunEnd, UserError> {
        let is_lowest = wait_for_others(&self.meets, leases, directory, &interrupts.later())?;
        let record = match (is_lowest, self.is_first()) {
            (true, true) => {
                let mut unstored = Vec::new();
                let make = |merged: &RunRecord, _: &str| make(merged);
                let (merged, _) = merge(&self.meets, own, directory, &mut unstored, make)?;
                // The other shares read the merged run in its directory.
                if let Some(error) = unstored.pop() {
                    return Err(error);
                }
                leases.conclude();
                merged
            }
            (false, false) => self.read("the merged run", || self.merged(own, directory))?,
            _ => return Err(self.without_first()),
        };
        Ok(RunEnd { ended: RunEnding::from_incidents(&record.incidents), record })
    }

    /// Gives the first share's record of this experiment to `take_over` until that accepts it; this share's own one would
    /// be in `directory`.
    pub(crate) fn follow(
        &self,
        directory: &Path,
        take_over: &mut dyn FnMut(Question) -> bool,
    ) -> Result<(), UserError> {
        self.read("what comes next", || {
            let experiment = record::read(&self.of_first(directory)?).ok()?.into_experiment()?;
            take_over(experiment.question).then_some(())
        })
    }

    /// The run of all shares that the first one has stored; absent as long as it has not.
    fn merged(&self, own: &RunRecord, directory: &Path) -> Option<RunRecord> {
        let name = directory.file_name()?.to_string_lossy().into_owned();
        let whole = name.strip_suffix(&suffix(&self.share))?;
        let candidates = match self.of_first(directory) {
            Some(of_first) => vec![of_first.with_file_name(whole)],
            None => siblings(&self.meets.store, directory).ok()?,
        };
        let read = |path: PathBuf| {
            let is_whole = path.file_name()? == whole;
            let Record::Run(run) = is_whole.then(|| record::read(&path).ok())?? else {
                return None;
            };
            let [met, mine] = [run.meeting.as_ref()?, own.meeting.as_ref()?];
            (met.id == mine.id).then_some((path, *run))
        };
        let (path, merged) = candidates.into_iter().find_map(read)?;
        let first = path.strip_prefix(&self.meets.store).ok()?.components().next()?;
        drop(self.first.set(self.meets.store.join(first)));
        Some(merged)
    }

    /// Where the first share has what this one has in `directory`.
    fn of_first(&self, directory: &Path) -> Option<PathBuf> {
        let mut below = directory.strip_prefix(&self.meets.store).ok()?.components();
        below.next()?;
        Some(self.first.get()?.join(below.as_path()))
    }

    /// Repeats `look` until it finds what the first share writes.
    fn read<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, UserError> {
        let wait = self.meets.wait;
        let found = RealTimeline::block_on(RealClock::start(), |timeline| async move {
            loop {
                let found = look();
                if found.is_some() || timeline.now() >= wait {
                    return found;
                }
                timeline.sleep_until(timeline.now().saturating_add(POLL)).await;
            }
        });
        let found = found.map_err(|error| UserError::cannot("run", &error))?;
        found.ok_or_else(|| {
            let (of, wait) = (self.share.of, duration(wait.0));
            let message = format!("share 1 of {of} has not stored {what} within {wait}");
            UserError::new(UserErrorKind::MissingShare, message).with_hint(RESUME)
        })
    }

    fn without_first(&self) -> UserError {
        let of = self.share.of;
        let message = format!("share 1 of {of} has ended, which decides what all of them run next");
        UserError::new(UserErrorKind::MissingShare, message).with_hint(RESUME)
    }
}

/// After the first trial, an experiment that a share left can be resumed.
pub(crate) fn with_advice(error: UserError, is_first_trial: bool) -> UserError {
    let is_resumable = error.kind == UserErrorKind::MissingShare && !is_first_trial;
    if is_resumable { error.with_hint(RESUME) } else { error }
}
