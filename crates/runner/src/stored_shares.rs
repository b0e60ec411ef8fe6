//! Where the shares of one run find each other's files: below one folder that all of them see, each in its own
//! directory. Of a trial, that directory is in the share's own copy of the experiment. Must not merge what it finds.

use std::path::{Path, PathBuf};

use highwater_driver::Timeline;
use highwater_model::plan::Share;
use highwater_model::record::{Record, RunRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::request::MeetingRequest;
use crate::store::{self, RunDirectory};

/// Precedes the number of a share in the name of its directory.
const SHARE: &str = "-share-";
/// Maximum time until a shared folder shows what another machine has written.
const SHOWN_LIMIT: Nanos = Nanos::from_secs(10);
/// Time between two looks at it.
const POLL: Nanos = Nanos::from_millis(200);

/// The end of the name of a share's directory; empty for a whole run.
pub fn suffix(share: &Share) -> String {
    if share.of > 1 { format!("{SHARE}{}", share.index) } else { String::new() }
}

/// A share that began at a meeting, as it is stored.
pub struct StoredShare {
    /// Its number.
    pub index: u32,
    /// Its directory.
    pub path: PathBuf,
    /// See [`highwater_model::record::MeetingRecord::error_ns`].
    pub error: Nanos,
}

/// The directories that may be runs of the same place in the plan as `own`, which is below the folder `store`: for a run
/// all runs there, for a trial the trials of all experiments.
///
/// # Errors
/// The folder cannot be read.
pub fn siblings(store: &Path, own: &Path) -> Result<Vec<PathBuf>, UserError> {
    let place = own.strip_prefix(store).unwrap_or(own).parent().unwrap_or(Path::new(""));
    let mut place = place.components();
    if place.next().is_none() {
        return store::list(store);
    }
    let trials = |experiment: PathBuf| store::list(&experiment.join(place.as_path()));
    let trials: Result<Vec<Vec<PathBuf>>, UserError> =
        store::list(store)?.into_iter().map(trials).collect();
    Ok(trials?.concat())
}

/// Those of these directories whose shares began together with this one, in order; of others, only those that have begun.
pub fn stored_shares(directories: Vec<PathBuf>, own: &RunRecord) -> Vec<StoredShare> {
    let Some(met) = &own.meeting else {
        return Vec::new();
    };
    let share = |path: PathBuf| {
        let run = draft_of(&path)?;
        let meeting = run.meeting.filter(|meeting| meeting.id == met.id)?;
        let index = run.plan.definition.share.index;
        Some(StoredShare { index, path, error: Nanos(meeting.error_ns) })
    };
    let mut shares: Vec<StoredShare> = directories.into_iter().filter_map(share).collect();
    shares.sort_by_key(|share| share.index);
    shares
}

/// Those of these directories that belong to a share.
pub fn of_shares(directories: Vec<PathBuf>) -> Vec<PathBuf> {
    let is_of_share = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().contains(SHARE))
    };
    directories.into_iter().filter(is_of_share).collect()
}

fn draft_of(directory: &Path) -> Option<RunRecord> {
    match store::read_draft(directory) {
        Some(Record::Run(run)) => Some(*run),
        _ => None,
    }
}

/// Waits until the folder shows the run of the first share of a meeting.
///
/// # Errors
/// It does not: the folder is not shared.
pub(crate) async fn find_first(
    meets: &MeetingRequest,
    own: &RunDirectory,
    meeting: &str,
    timeline: &dyn Timeline,
) -> Result<(), UserError> {
    let begin = timeline.now();
    let is_first = |path: &PathBuf| {
        let draft = draft_of(path).and_then(|run| run.meeting);
        draft.is_some_and(|draft| draft.id == meeting)
    };
    while !of_shares(siblings(&meets.store, own.path())?).iter().any(is_first) {
        if timeline.now() >= begin.saturating_add(SHOWN_LIMIT) {
            let message = format!("{}: share 1 stores its run elsewhere", meets.store.display());
            return Err(UserError::usage(message).with_hint(
                "name one folder for -o, which the machines of all shares see; or give --start-at, and merge with \
                 `highwater show SHARE…`",
            ));
        }
        timeline.sleep_until(timeline.now().saturating_add(POLL)).await;
    }
    Ok(())
}
