//! The arguments and environment of this process, as texts. Must not interpret them.

use std::ffi::OsString;

use highwater_model::user_error::UserError;

/// Prefix of all environment variables of Highwater.
pub const PREFIX: &str = "HIGHWATER_";

/// The only variable that is not a setting: it is passed on when the process restarts itself.
pub const HANDOVER: &str = "HIGHWATER_HANDOVER";

/// Arguments and environment of this process. They may contain a password, so there is no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program's name, then the arguments.
    pub arguments: Vec<String>,
    /// Highwater's variables, by name.
    pub environment: Vec<(String, String)>,
}

impl Invocation {
    /// From the operating system's values.
    pub fn new(
        arguments: impl Iterator<Item = OsString>,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Self, UserError> {
        let arguments = arguments
            .enumerate()
            .map(|(number, word)| {
                word.into_string()
                    .map_err(|_| UserError::usage(format!("argument {number} is not UTF-8")))
            })
            .collect::<Result<_, _>>()?;
        let mut ours = Vec::new();
        for (name, value) in environment {
            let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
                continue;
            };
            let value = value
                .into_string()
                .map_err(|_| UserError::usage(format!("{name} is not UTF-8")))?;
            ours.push((name.to_owned(), value));
        }
        ours.sort();
        Ok(Self { arguments, environment: ours })
    }

    /// Whether colors are disabled, before the arguments are parsed.
    pub fn without_color(&self) -> bool {
        self.arguments.iter().any(|word| word == "--no-color")
    }
}
