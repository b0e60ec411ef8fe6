//! `highwater check`.

use crate::failure::Failure;
use crate::settings::CheckSettings;

/// Does what the settings ask for; returns the exit code.
pub fn check(_settings: &CheckSettings) -> Result<u8, Failure> {
    Err(Failure::usage(
        "`highwater check` is not part of this build yet",
    ))
}
