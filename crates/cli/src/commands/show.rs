//! `highwater show`.

use crate::failure::Failure;
use crate::settings::ShowSettings;

/// Does what the settings ask for; returns the exit code.
pub fn show(_settings: &ShowSettings) -> Result<u8, Failure> {
    Err(Failure::usage(
        "`highwater show` is not part of this build yet",
    ))
}
