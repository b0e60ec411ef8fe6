//! Trust in records: only a record that no other user can write decides what a command connects to and executes.
//! Records of others are read, but the target must be named on the command line. Must not read a record.

use std::path::{Path, PathBuf};

use highwater_model::user_error::UserError;
use highwater_runner::store;

use crate::intent::parsers;
use crate::layers::{Layers, Strength};

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

/// As [`of_settings`], if it is known whether the target `is_named`.
pub(crate) fn of_target(run: &Path, is_named: bool) -> Result<(), UserError> {
    let why = store::others_may_write(run).filter(|_| !is_named);
    why.map_or(Ok(()), |why| {
        let cause = format!("{why}: what the record says does not decide what is connected to");
        Err(UserError::usage(cause).with_hint("name the target on the command line"))
    })
}
