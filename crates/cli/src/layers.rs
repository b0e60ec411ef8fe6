//! The values given for one command, by layer: command line over environment over file over default.
//!
//! Values are still text here, each with its origin, so that an error can name its place. Must not read the environment or a
//! file, or interpret a value; that is the job of [`crate::intent`].

use std::collections::BTreeMap;
use std::fmt;

use highwater_model::user_error::{Place, UserError};
use highwater_runner::request::TelemetryRequest;

use crate::grammar::Flag;

/// The precedence of a layer; the greater one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Built in.
    Default,
    /// The top of the user's own file.
    UserFile,
    /// The command's own table in it.
    UserTable,
    /// The top of the working directory's file.
    DirectoryFile,
    /// The command's own table in it.
    DirectoryTable,
    /// The top of the file that the command line names.
    NamedFile,
    /// The command's own table in it.
    NamedTable,
    /// The environment.
    Environment,
    /// The result of the tuning named by `--tuned`.
    Tuned,
    /// The command line.
    CommandLine,
}

/// The values given for one command.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    by_strength: BTreeMap<Strength, BTreeMap<&'static str, Vec<SettingValue>>>,
    /// Positional arguments that are not settings, such as runs to show, or files to check.
    pub positionals: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// The supported targets.
    pub supported: TargetSchemes,
    /// The command's name.
    pub command: &'static str,
    /// Its flags, by name.
    pub flags: BTreeMap<&'static str, Flag>,
    /// Variables of the program that started this one, by name: only those that number a share.
    pub launched: BTreeMap<String, String>,
    /// Endpoints of a running cluster, which are polled as well.
    pub of_cluster: TelemetryRequest,
}

impl Layers {
    /// Adds a value to a layer.
    pub(crate) fn add(
        &mut self,
        strength: Strength,
        name: &'static str,
        text: impl Into<String>,
        origin: Origin,
    ) {
        let layer = self.by_strength.entry(strength).or_default();
        layer.entry(name).or_default().push(SettingValue { name, text: text.into(), origin });
    }

    /// The same layers without these settings.
    pub(crate) fn without(&self, names: &[&str]) -> Self {
        let mut layers = self.clone();
        for layer in layers.by_strength.values_mut() {
            layer.retain(|name, _| !names.contains(name));
        }
        layers
    }

    /// The same layers with other texts.
    ///
    /// # Errors
    /// The first value that `text` does not accept.
    pub(crate) fn with_texts(
        &self,
        text: impl Fn(&SettingValue) -> Result<String, UserError>,
    ) -> Result<Self, UserError> {
        let mut layers = self.clone();
        let values = layers.by_strength.values_mut().flat_map(BTreeMap::values_mut);
        for value in values.flatten() {
            value.text = text(value)?;
        }
        Ok(layers)
    }

    /// The strongest layer that has this setting.
    pub fn strength(&self, name: &str) -> Option<Strength> {
        let (strength, _) = self.every_layer(name).last()?;
        Some(strength)
    }

    /// The values of a setting in the strongest layer that has it.
    pub fn list(&self, name: &str) -> &[SettingValue] {
        let mut strongest_first = self.by_strength.values().rev();
        strongest_first.find_map(|layer| layer.get(name)).map_or(&[], Vec::as_slice)
    }

    /// The texts of [`Self::list`].
    pub fn texts(&self, name: &str) -> impl Iterator<Item = String> {
        self.list(name).iter().map(|given| given.text.clone())
    }

    /// The values of a setting in all layers, the weakest first.
    pub fn every_layer(&self, name: &str) -> impl Iterator<Item = (Strength, &SettingValue)> {
        self.by_strength.iter().flat_map(move |(strength, layer)| {
            let values = layer.get(name).map_or(&[][..], Vec::as_slice);
            values.iter().map(|given| (*strength, given))
        })
    }

    /// Whether the working directory's file decides any setting.
    pub fn directory_file(&self) -> Option<&str> {
        let names = self.by_strength.values().flat_map(BTreeMap::keys);
        let own = [Strength::DirectoryFile, Strength::DirectoryTable];
        let mut decided =
            names.filter(|name| self.strength(name).is_some_and(|of| own.contains(&of)));
        match &self.value(decided.next()?)?.origin {
            Origin::File(place) => Some(&place.file),
            _ => None,
        }
    }

    /// The value of a setting.
    pub fn value(&self, name: &str) -> Option<&SettingValue> {
        self.list(name).last()
    }

    /// The value of a setting, parsed, if it is given or has a default.
    pub fn parse<T>(
        &self,
        name: &str,
        parser: fn(&str) -> Result<T, UserError>,
    ) -> Result<Option<T>, UserError> {
        self.value(name).map(|given| given.parse(parser)).transpose()
    }

    /// The value of a setting that has a default.
    pub fn require<T>(
        &self,
        name: &str,
        parser: fn(&str) -> Result<T, UserError>,
    ) -> Result<T, UserError> {
        self.parse(name, parser)?.ok_or_else(|| UserError::usage(format!("--{name} is missing")))
    }

    /// Whether a switch is on.
    pub fn switch(&self, name: &str) -> Result<bool, UserError> {
        Ok(self.parse(name, parse_switch)?.unwrap_or(false))
    }

    /// Whether the second of two settings that exclude each other wins: the stronger layer does.
    /// Both in the same layer are an error.
    pub fn second_wins(&self, first: &str, second: &str) -> Result<bool, UserError> {
        match (self.value(first), self.value(second)) {
            (Some(a), Some(b)) if self.strength(first) == self.strength(second) => {
                Err(b.failure(format!("cannot be given together with {}", a.label())))
            }
            _ => Ok(self.strength(second) > self.strength(first)),
        }
    }
}

fn parse_switch(text: &str) -> Result<bool, UserError> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(UserError::usage(format!("`{text}` is neither true nor false"))
            .with_hint("a switch is `true` or `false`")),
    }
}

/// How a command that repeats or continues a run, such as the one after `next:`, treats a setting. The record
/// stores it for that purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is repeated as given.
    Repeated,
    /// It is repeated, as a URL without its password.
    RepeatedUrl,
    /// It is repeated, as shell commands without what may be a password.
    RepeatedCommand,
    /// It is not repeated.
    LeftOut,
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

/// Targets that the program supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetSchemes {
    /// URL schemes, without the colon.
    pub schemes: Vec<&'static str>,
    /// The target when none is named.
    pub default_url: Option<&'static str>,
}

impl Default for TargetSchemes {
    /// The targets with which this program was built.
    fn default() -> Self {
        let schemes = highwater_drivers::drivers().iter().flat_map(|driver| driver.schemes());
        Self { schemes: schemes.copied().collect(), default_url: highwater_drivers::default_url() }
    }
}
