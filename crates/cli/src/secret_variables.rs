//! Environment variables with secrets, which are removed for commands that are started for the user. Must not start
//! one.

use std::ffi::OsString;

use highwater_driver::redaction::redacted;
use highwater_drivers::drivers;
use highwater_live::OTLP_HEADER_VARIABLES;

use crate::invocation::PREFIX;

/// The variables from which drivers take a password, those with headers for a collector, and those of Highwater that
/// contain a URL with a password.
pub fn all() -> Vec<OsString> {
    let of_drivers = drivers().iter().flat_map(|driver| driver.secret_variables());
    let ours = std::env::vars_os().filter(|(name, value)| {
        name.to_string_lossy().starts_with(PREFIX) && redacted(&value.to_string_lossy()).is_some()
    });
    of_drivers
        .copied()
        .chain(OTLP_HEADER_VARIABLES)
        .map(OsString::from)
        .chain(ours.map(|(name, _)| name))
        .collect()
}
