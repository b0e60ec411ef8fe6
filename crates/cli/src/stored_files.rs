//! Files that commands write and read in addition to the run store: files at a path given by the user, the load
//! generator's own ceilings, and whether a record is trusted.
//!
//! Only a record that no other user can write decides what a command connects to and executes. Records of others are read,
//! but the target must be named on the command line. Must not depend on the content of a file.

use std::path::{Path, PathBuf};

use highwater_model::record::RunRecord;
use highwater_model::user_error::UserError;
use highwater_runner::{ceilings, store};

use crate::intent::parsers;
use crate::layers::{Layers, Strength};
use crate::terminal;

/// Settings that name a target.
const NAMES_TARGET: [&str; 2] = ["target", "cluster"];

/// The experiment that `--resume` names.
pub(crate) fn resumed(layers: &Layers) -> Result<Option<String>, UserError> {
    let name = layers.parse("resume", parsers::word)?;
    let out = layers.value("out").map(|out| PathBuf::from(&out.text));
    // A missing experiment is reported by the code that reads it.
    if let Ok(run) = store::find(&out.unwrap_or_default(), name.as_deref())
        && name.is_some()
    {
        of_settings(layers, &run)?;
    }
    Ok(name)
}

/// Fails if other users may have written a run, unless the command line names the target.
pub(crate) fn of_settings(layers: &Layers, run: &Path) -> Result<(), UserError> {
    let is_named = |name: &&str| layers.strength(name) == Some(Strength::CommandLine);
    of_target(run, NAMES_TARGET.iter().any(is_named))
}

/// Like [`of_settings`], if it is known whether the target `is_named`.
pub(crate) fn of_target(run: &Path, is_named: bool) -> Result<(), UserError> {
    let why = store::others_may_write(run).filter(|_| !is_named);
    why.map_or(Ok(()), |why| {
        let cause = format!("{why}: what the record says does not decide what is connected to");
        Err(UserError::usage(cause).with_hint("name the target on the command line"))
    })
}

/// Directory of ceilings: in the user's state directory, as the XDG specification defines it; absent without a home
/// directory.
pub fn directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = set("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(Path::new(&set("HOME")?).join(".local/state")));
    state.map(|state| state.join("highwater"))
}

/// Stores the rate of a run against a sink.
pub fn keep(record: &RunRecord) {
    let (Some(directory), Some(ceiling)) = (directory(), ceilings::of_record(record)) else {
        return;
    };
    if let Err(error) = ceilings::keep(&directory, ceiling) {
        let place = directory.display();
        terminal::warn(&format!("the ceiling cannot be kept in {place}: {error}"));
    }
}
