//! Names of settings in the environment and in the file, retired names included.

use crate::grammar::CommandSpec;
use crate::invocation::PREFIX;

/// A name of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    /// As it can be written; a retired name if it differs from the setting's.
    pub(super) written: &'static str,
    /// Of the setting.
    pub(super) setting: &'static str,
}

impl Name {
    pub(super) fn is_retired(self) -> bool {
        self.written != self.setting
    }
}

/// Every name of a command's settings: today's names and the retired ones.
pub(super) fn names(command: &CommandSpec) -> impl Iterator<Item = Name> {
    let retired = command
        .all_flags()
        .filter_map(|flag| Some(Name { written: flag.old_name?, setting: flag.name }));
    command.settings().map(|name| Name { written: name, setting: name }).chain(retired)
}

/// The environment variable of a setting.
pub fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_uppercase().replace('-', "_"))
}

/// Whether a setting takes several values that may be separated by spaces in the environment.
pub(super) fn is_list(command: &CommandSpec, name: &str) -> bool {
    let mut flags = command.all_flags();
    flags.any(|flag| flag.name == name && flag.repeats)
}
