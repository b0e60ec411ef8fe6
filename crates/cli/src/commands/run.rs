//! `highwater run`.

use crate::failure::Failure;
use crate::settings::RunSettings;

/// Does what the settings ask for; returns the exit code.
pub fn run(_settings: &RunSettings) -> Result<u8, Failure> {
    Err(Failure::usage(
        "`highwater run` is not part of this build yet",
    ))
}
