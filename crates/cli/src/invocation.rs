//! How this process was called: its words and its environment, as texts.

use std::ffi::OsString;

use crate::failure::Failure;

/// Begins the name of every environment variable of ours.
pub const PREFIX: &str = "HIGHWATER_";

/// Of ours, but no setting: what a process that starts itself again hands over.
pub const HANDOVER: &str = "HIGHWATER_HANDOVER";

/// Words and environment of a call. They may hold a password, so there is no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program's name, then the words of the command line.
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
            let value = value
                .into_string()
                .map_err(|_| Failure::usage(format!("{name} is not UTF-8")))?;
            ours.push((name.to_owned(), value));
        }
        ours.sort();
        Ok(Self {
            arguments,
            environment: ours,
        })
    }

    /// Whether colors are unwanted, known before the words are parsed.
    pub fn without_color(&self) -> bool {
        self.arguments.iter().any(|word| word == "--no-color")
    }
}
