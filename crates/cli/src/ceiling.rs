//! Stores the load generator's own ceilings. Must not measure any.

use std::path::{Path, PathBuf};

use highwater_model::record::RunRecord;
use highwater_runner::ceilings;

use crate::terminal;

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
