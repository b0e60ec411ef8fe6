//! A value as the user gave it: still text, with its origin, so that an error can name its place.

use std::fmt;

use highwater_model::user_error::{Place, UserError};

/// What becomes of a setting in a command that repeats or continues a run, such as that after `next:`. The record
/// keeps it for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is not repeated, or what it decided is taken from the run's plan: the load, its length, its objectives.
    LeftOut,
    /// It is repeated as it was given.
    Repeated,
    /// It is a switch, and repeated.
    RepeatedSwitch,
    /// It is repeated, as a URL without its password.
    RepeatedUrl,
    /// It sets a parameter of the workload, which `--set` does as well: it is repeated in the way that it was given.
    Parameter,
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// On the command line.
    CommandLine,
    /// In this environment variable.
    Environment(String),
    /// In a file of settings.
    File(Place),
    /// The default.
    Default,
}

/// A value as the user gave it.
#[derive(Clone, PartialEq, Eq)]
pub struct SettingValue {
    /// The setting's name.
    pub name: &'static str,
    /// The value. It may hold a password, so this type's `Debug` does not show it.
    pub text: String,
    /// Its source.
    pub origin: Origin,
}

impl fmt::Debug for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SettingValue({} from {:?})", self.name, self.origin)
    }
}

impl SettingValue {
    /// Its name as the user wrote it: flag, variable or key.
    pub(crate) fn label(&self) -> String {
        match (&self.origin, self.name) {
            (Origin::CommandLine | Origin::Default, "workload" | "target") => {
                self.name.to_uppercase()
            }
            (Origin::CommandLine | Origin::Default, name) => format!("--{name}"),
            (Origin::Environment(variable), _) => variable.clone(),
            (Origin::File(_), name) => name.to_owned(),
        }
    }

    /// Its name and file, for the reader of a result.
    pub fn place(&self) -> String {
        match &self.origin {
            Origin::File(place) => format!("{} in {}", self.name, place.file),
            _ => self.label(),
        }
    }

    /// An error of this value, at its place.
    pub fn failure(&self, cause: impl fmt::Display) -> UserError {
        let place = match &self.origin {
            Origin::File(place) => Some(place.clone()),
            Origin::CommandLine | Origin::Environment(_) | Origin::Default => None,
        };
        UserError::usage(format!("{}: {cause}", self.label())).at(place)
    }

    /// The value, parsed; an error names its place.
    pub fn parse<T>(
        &self,
        parser: impl FnOnce(&str) -> Result<T, UserError>,
    ) -> Result<T, UserError> {
        parser(&self.text).map_err(|error| self.failure(&error).hinted(error.hint))
    }
}

/// Whether the text begins with `scheme:`.
pub fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}
