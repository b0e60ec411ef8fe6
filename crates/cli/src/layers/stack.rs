//! The layers of values of one command: the strongest layer that has a setting decides. Must not
//! read the environment or a file.

use std::collections::BTreeMap;

use highwater_model::user_error::UserError;
use highwater_runner::request::TelemetryRequest;

use super::schemes::TargetSchemes;
use super::value::{Next, Origin, SettingValue};

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
    /// Positional arguments that are not settings: runs to show, what to check.
    pub positionals: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// What a target can be.
    pub supported: TargetSchemes,
    /// What becomes of the command's settings in a command that repeats it.
    pub next: BTreeMap<&'static str, Next>,
    /// What a cluster that is up adds to what is polled.
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
    /// The first that `text` makes none of.
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
