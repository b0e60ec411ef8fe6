//! Names of settings in the environment.

use crate::grammar::CommandSpec;
use crate::invocation::PREFIX;

/// The environment variable of a setting.
pub fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_uppercase().replace('-', "_"))
}

/// Whether a setting takes several values that may be separated by spaces in the environment.
pub(super) fn is_list(command: &CommandSpec, name: &str) -> bool {
    command.all_flags().any(|flag| flag.name == name && flag.repeats)
}
