//! Files of settings: defaults under the names of the long flags.
//!
//! There are three: the user's own, `highwater.toml` of the working directory, and the one that `--config` names. The
//! working directory may be anybody's, so its file sets nothing that reaches beyond it, whoever owns it. Keys at the top apply to every command that has the flag. Keys in a table named after a command,
//! such as `[run]`, apply to that command and override the top. An unknown key is an error with its
//! place, so that a misspelled default is never ignored. Must not interpret a value.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use highwater_driver::regular_file::{self, WRITTEN_BYTES_MAX};
use highwater_model::user_error::{Place, UserError};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::names::is_list;
use super::reach::{self, FileKind};
use crate::error_text::did_you_mean;
use crate::grammar::{CommandSpec, Reach};
use crate::layers::{Layers, Origin};

/// The file's name in the working directory.
pub const NAME: &str = "highwater.toml";
/// The name of the user's own, below the directory of his configuration.
const OF_USER: &str = "highwater/config.toml";

/// A file's text.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Which of the three it is.
    pub kind: FileKind,
    /// What it is called in errors.
    pub name: String,
    /// TOML. It may hold a password.
    pub text: String,
}

/// A value of the file.
type Value<'a> = Spanned<DeValue<'a>>;

impl ConfigFile {
    /// Those that are there, the weakest first; `named` by the command line.
    ///
    /// # Errors
    /// One of them cannot be read, or the named one is not there.
    pub fn all(named: Option<&str>) -> Result<Vec<Self>, UserError> {
        let usual = user_directory()
            .map(|directory| (FileKind::User, directory.join(OF_USER)))
            .into_iter()
            .chain([(FileKind::Directory, PathBuf::from(NAME))]);
        let named = named.map(|path| (FileKind::Named, PathBuf::from(path)));
        let all = usual.chain(named);
        all.filter_map(|(kind, path)| Self::read(kind, &path).transpose()).collect()
    }

    fn read(kind: FileKind, path: &Path) -> Result<Option<Self>, UserError> {
        let name = path.display().to_string();
        match regular_file::read_text(path, WRITTEN_BYTES_MAX) {
            Ok(text) => Ok(Some(Self { kind, name, text })),
            Err(error) if error.kind() == ErrorKind::NotFound && kind != FileKind::Named => {
                Ok(None)
            }
            Err(error) => Err(UserError::usage(format!("cannot read {name}: {error}"))),
        }
    }

    /// Adds the values for a command. The rest of the file is checked all the same.
    pub(super) fn fill(
        &self,
        command: &CommandSpec,
        commands: &[&CommandSpec],
        layers: &mut Layers,
    ) -> Result<(), UserError> {
        let table = DeTable::parse(&self.text).map_err(|error| {
            let cause = error.message().lines().next().unwrap_or_default();
            let place = error.span().map(|span| self.place(&span));
            UserError::usage(format!("{} is not TOML: {cause}", self.name)).at(place)
        })?;
        let mut add = |is_table, setting, value: &Value<'_>, texts: Vec<String>| {
            let strength = self.kind.strength(is_table);
            let origin = Origin::File(self.place(&value.span()));
            for text in texts {
                layers.add(strength, setting, text, origin.clone());
            }
        };
        for (key, value) in table.get_ref() {
            let mut owners = commands.iter();
            let owner = owners.find(|command| command.name == key.get_ref().as_ref());
            if let (Some(owner), DeValue::Table(table)) = (owner, value.get_ref()) {
                for (key, value) in table {
                    let setting = self.setting(key, &[owner], commands)?;
                    let texts = self.texts(setting, value, commands)?;
                    self.check_reach(setting, key, &texts, commands)?;
                    if owner.name == command.name {
                        add(true, setting, value, texts);
                    }
                }
            } else {
                let setting = self.setting(key, commands, commands)?;
                let texts = self.texts(setting, value, commands)?;
                self.check_reach(setting, key, &texts, commands)?;
                if command.settings().any(|name| name == setting) {
                    add(false, setting, value, texts);
                }
            }
        }
        Ok(())
    }

    /// Refuses what a file of this kind may not set, whichever command it is for.
    fn check_reach(
        &self,
        setting: &'static str,
        key: &Spanned<DeString<'_>>,
        texts: &[String],
        commands: &[&CommandSpec],
    ) -> Result<(), UserError> {
        let reach = commands
            .iter()
            .filter_map(|command| command.reach(setting))
            .max()
            .unwrap_or(Reach::Behavior);
        reach::check(self.kind, setting, reach, texts)
            .map_err(|failure| failure.at(Some(self.place(&key.span()))))
    }

    /// The setting that a key names.
    fn setting(
        &self,
        key: &Spanned<DeString<'_>>,
        owners: &[&CommandSpec],
        commands: &[&CommandSpec],
    ) -> Result<&'static str, UserError> {
        let word = key.get_ref().as_ref();
        let mut settings = owners.iter().flat_map(|command| command.settings());
        settings.find(|name| *name == word).ok_or_else(|| self.unknown_key(key, owners, commands))
    }

    fn unknown_key(
        &self,
        key: &Spanned<DeString<'_>>,
        owners: &[&CommandSpec],
        commands: &[&CommandSpec],
    ) -> UserError {
        let word = key.get_ref().as_ref();
        let mut others = commands.iter();
        let elsewhere = others.find(|command| command.settings().any(|name| name == word));
        let settings = owners.iter().flat_map(|command| command.settings());
        let near = settings.chain(commands.iter().map(|command| command.name));
        let hint = match (elsewhere, did_you_mean(&word.replace('_', "-"), near)) {
            (Some(owner), _) => format!("it is a setting of `[{}]`", owner.name),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => "settings have the names of the long flags".to_owned(),
        };
        UserError::usage(format!("unknown setting `{word}`"))
            .at(Some(self.place(&key.span())))
            .with_hint(hint)
    }

    /// The values of a setting as texts; fails if their type is wrong.
    fn texts(
        &self,
        setting: &str,
        value: &Value<'_>,
        commands: &[&CommandSpec],
    ) -> Result<Vec<String>, UserError> {
        let wrong = |expected: &str| {
            let found = value.get_ref().type_str();
            UserError::usage(format!("{setting}: expected {expected}, found type {found}"))
                .at(Some(self.place(&value.span())))
        };
        let is_list =
            setting == "target" || commands.iter().any(|command| is_list(command, setting));
        match value.get_ref() {
            DeValue::Array(items) if is_list => items
                .iter()
                .map(|item| scalar(item.get_ref()).ok_or_else(|| wrong("a list of plain values")))
                .collect(),
            DeValue::Table(pairs) if matches!(setting, "set" | "label") => pairs
                .iter()
                .map(|(key, value)| {
                    scalar(value.get_ref())
                        .map(|value| format!("{}={value}", key.get_ref()))
                        .ok_or_else(|| wrong("a table of plain values"))
                })
                .collect(),
            plain => {
                let expected = if is_list { "a value or a list" } else { "one value" };
                Ok(vec![scalar(plain).ok_or_else(|| wrong(expected))?])
            }
        }
    }

    fn place(&self, range: &Range<usize>) -> Place {
        Place::new(&self.name, &self.text, range)
    }
}

/// The directory of the user's configuration, as the XDG specification says; none where there is no home.
fn user_directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&set("HOME")?).join(".config")))
}

/// A plain value as it would be written on the command line.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        DeValue::Datetime(instant) => Some(instant.to_string()),
        DeValue::Integer(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
