//! The arguments and environment of this process, as texts. Must not interpret them.

use std::ffi::OsString;

use crate::failure::Failure;

/// Prefix of all our environment variables.
pub const PREFIX: &str = "HIGHWATER_";

/// Our one variable that is not a setting: passed on when the process restarts itself.
pub const HANDOVER: &str = "HIGHWATER_HANDOVER";

/// Arguments and environment of this process. They may hold a password, so there is no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program's name, then the arguments.
    pub arguments: Vec<String>,
    /// Variables of ours, by name.
    pub environment: Vec<(String, String)>,
}

impl Invocation {
    /// From what the operating system gives.
    pub fn new(
        arguments: impl Iterator<Item = OsString>,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Self, Failure> {
        let arguments = arguments
            .enumerate()
            .map(|(number, word)| {
                word.into_string()
                    .map_err(|_| Failure::usage(format!("argument {number} is not UTF-8")))
            })
            .collect::<Result<_, _>>()?;
        let mut ours = Vec::new();
        for (name, value) in environment {
            let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
                continue;
            };
            let value =
                value.into_string().map_err(|_| Failure::usage(format!("{name} is not UTF-8")))?;
            ours.push((name.to_owned(), value));
        }
        ours.sort();
        Ok(Self { arguments, environment: ours })
    }

    /// Whether colors are unwanted, known before the words are parsed.
    pub fn without_color(&self) -> bool {
        self.arguments.iter().any(|word| word == "--no-color")
    }
}
