//! Where settings come from: command line over environment over file over default.
//!
//! Everything is still text here, each with its origin, so that an error can say where the wrong
//! value stands. What the texts mean is [`crate::settings`]' business.

use std::collections::BTreeMap;
use std::fmt;

use highwater_core::model::quantity::QuantityError;

use crate::failure::{Failure, Place, did_you_mean};
use crate::grammar::{Command, Words};
use crate::invocation::{HANDOVER, PREFIX};

pub mod file;

use file::ConfigFile;

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// On the command line.
    CommandLine,
    /// In this environment variable.
    Environment(String),
    /// In `highwater.toml`.
    File(Place),
    /// Nowhere; it is the default.
    Default,
}

/// A value as it was given.
#[derive(Clone, PartialEq, Eq)]
pub struct Given {
    /// The setting's name.
    pub name: &'static str,
    /// The value. It may hold a password, so this type's `Debug` does not show it.
    pub text: String,
    /// Where it stands.
    pub origin: Origin,
}

/// How strong a layer is; a greater one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Built in.
    Default,
    /// The top of the file.
    File,
    /// The command's own table in the file.
    FileTable,
    /// The environment.
    Environment,
    /// What a tuning found, which the command line names.
    Tuned,
    /// The command line.
    CommandLine,
}

/// All that was given for one command.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    by_strength: BTreeMap<Strength, BTreeMap<&'static str, Vec<Given>>>,
    /// Positional arguments that are not settings: runs to show, what to check.
    pub positionals: Vec<String>,
    /// What the user should know although it is no error.
    pub warnings: Vec<String>,
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Given({} from {:?})", self.name, self.origin)
    }
}

impl Given {
    /// What the user calls it, where it was given.
    fn label(&self) -> String {
        match (&self.origin, self.name) {
            (Origin::CommandLine | Origin::Default, "workload" | "target") => {
                self.name.to_uppercase()
            }
            (Origin::CommandLine | Origin::Default, name) => format!("--{name}"),
            (Origin::Environment(variable), _) => variable.clone(),
            (Origin::File(_), name) => name.to_owned(),
        }
    }

    /// Where it was given, as the reader of a result would look for it.
    pub fn place(&self) -> String {
        match &self.origin {
            Origin::File(place) => format!("{} in {}", self.name, place.file),
            _ => self.label(),
        }
    }

    /// An error of this value, at its place.
    pub fn failure(&self, cause: impl fmt::Display) -> Failure {
        let place = match &self.origin {
            Origin::File(place) => Some(place.clone()),
            Origin::CommandLine | Origin::Environment(_) | Origin::Default => None,
        };
        Failure::usage(format!("{}: {cause}", self.label())).at(place)
    }

    /// The value, parsed; an error names its place.
    pub fn parse<T>(&self, parser: fn(&str) -> Result<T, QuantityError>) -> Result<T, Failure> {
        parser(&self.text).map_err(|error| self.failure(&error).with_hint(error.hint))
    }
}

impl Layers {
    /// Puts the layers together. `environment` holds every variable; others are passed over.
    pub fn gather(
        command: Command,
        words: Words,
        environment: &[(String, String)],
        file: Option<&ConfigFile>,
    ) -> Result<Self, Failure> {
        let mut layers = Self::default();
        for flag in command.flags() {
            if let Some(default) = flag.default {
                layers.add(Strength::Default, flag.name, default, Origin::Default);
            }
        }
        if let Some(file) = file {
            file.fill(command, &mut layers)?;
        }
        layers.add_environment(command, environment);
        for (name, texts) in words.flags {
            for text in texts {
                layers.add(Strength::CommandLine, name, text, Origin::CommandLine);
            }
        }
        if matches!(
            command,
            Command::Run | Command::Load | Command::Find | Command::Tune
        ) {
            layers.add_run_positionals(words.positionals);
        } else {
            layers.positionals = words.positionals;
        }
        Ok(layers)
    }

    /// Adds a value to a layer.
    pub(crate) fn add(
        &mut self,
        strength: Strength,
        name: &'static str,
        text: impl Into<String>,
        origin: Origin,
    ) {
        let layer = self.by_strength.entry(strength).or_default();
        layer.entry(name).or_default().push(Given {
            name,
            text: text.into(),
            origin,
        });
    }

    /// The first positional without a scheme is the workload; all others are targets.
    fn add_run_positionals(&mut self, positionals: Vec<String>) {
        let mut workload_named = false;
        for text in positionals {
            let name = if !workload_named && !has_scheme(&text) {
                workload_named = true;
                "workload"
            } else {
                "target"
            };
            self.add(Strength::CommandLine, name, text, Origin::CommandLine);
        }
    }

    fn add_environment(&mut self, command: Command, environment: &[(String, String)]) {
        let known: Vec<(&'static str, String)> = Command::ALL
            .into_iter()
            .flat_map(Command::settings)
            .map(|name| (name, variable(name)))
            .collect();
        for (given_variable, text) in environment {
            let internal = given_variable == HANDOVER;
            if !given_variable.starts_with(PREFIX) || internal || text.is_empty() {
                continue;
            }
            let Some((name, _)) = known.iter().find(|(_, known)| known == given_variable) else {
                let near = did_you_mean(given_variable, known.iter().map(|(_, v)| v.as_str()));
                let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
                self.warnings.push(format!(
                    "the environment variable {given_variable} is not a setting{near}"
                ));
                continue;
            };
            if !command.settings().any(|setting| setting == *name) {
                continue;
            }
            let origin = Origin::Environment(given_variable.clone());
            if is_list(command, name) {
                for word in text.split_whitespace() {
                    self.add(Strength::Environment, name, word, origin.clone());
                }
            } else {
                self.add(Strength::Environment, name, text.trim(), origin);
            }
        }
    }

    /// How strong the strongest layer is that has this setting.
    pub fn strength(&self, name: &str) -> Option<Strength> {
        let mut strongest_first = self.by_strength.iter().rev();
        strongest_first
            .find(|(_, layer)| layer.contains_key(name))
            .map(|(strength, _)| *strength)
    }

    /// The values of a setting in the strongest layer that has it.
    pub fn list(&self, name: &str) -> &[Given] {
        let mut strongest_first = self.by_strength.values().rev();
        strongest_first
            .find_map(|layer| layer.get(name))
            .map_or(&[], Vec::as_slice)
    }

    /// The values of a setting in all layers, the weakest first.
    pub fn everywhere(&self, name: &str) -> impl Iterator<Item = (Strength, &Given)> {
        self.by_strength.iter().flat_map(move |(strength, layer)| {
            let values = layer.get(name).map_or(&[][..], Vec::as_slice);
            values.iter().map(|given| (*strength, given))
        })
    }

    /// The value of a setting.
    pub fn one(&self, name: &str) -> Option<&Given> {
        self.list(name).last()
    }

    /// The value of a setting, parsed, if it is given or has a default.
    pub fn parse<T>(
        &self,
        name: &str,
        parser: fn(&str) -> Result<T, QuantityError>,
    ) -> Result<Option<T>, Failure> {
        self.one(name).map(|given| given.parse(parser)).transpose()
    }

    /// The value of a setting that has a default.
    pub fn require<T>(
        &self,
        name: &str,
        parser: fn(&str) -> Result<T, QuantityError>,
    ) -> Result<T, Failure> {
        self.parse(name, parser)?
            .ok_or_else(|| Failure::usage(format!("--{name} is missing")))
    }

    /// Whether a switch is on.
    pub fn switch(&self, name: &str) -> Result<bool, Failure> {
        Ok(self.parse(name, parse_switch)?.unwrap_or(false))
    }

    /// Of two settings that exclude each other, whether the second one counts. Both in the same
    /// layer are an error; else the stronger layer wins.
    pub fn second_counts(&self, first: &str, second: &str) -> Result<bool, Failure> {
        match (self.one(first), self.one(second)) {
            (Some(a), Some(b)) if self.strength(first) == self.strength(second) => {
                Err(b.failure(format!("cannot be given together with {}", a.label())))
            }
            _ => Ok(self.strength(second) > self.strength(first)),
        }
    }
}

/// Whether the text begins with `scheme:`.
pub fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// The environment variable of a setting.
pub fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_uppercase().replace('-', "_"))
}

/// Whether a setting takes several values that may be separated by spaces in the environment.
fn is_list(command: Command, name: &str) -> bool {
    let mut flags = command.flags().iter();
    flags.any(|flag| flag.name == name && flag.repeats)
}

fn parse_switch(text: &str) -> Result<bool, QuantityError> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(QuantityError {
            message: format!("`{text}` is neither true nor false"),
            hint: "a switch is `true` or `false`",
        }),
    }
}
