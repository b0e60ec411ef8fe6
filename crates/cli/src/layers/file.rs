//! `highwater.toml` in the working directory: defaults under the names of the long flags.
//!
//! At the top they hold for every command that knows them; in a table named after a command, such
//! as `[run]`, for that one, and there they win over the top. Anything unknown is an error, with
//! its place: a misspelt default must not be passed over in silence.

use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::{Layers, Origin, Strength};
use crate::failure::{Failure, Place, did_you_mean};
use crate::grammar::Command;

/// The file's name in the working directory.
pub const NAME: &str = "highwater.toml";
/// A file beyond this many bytes is not one of ours.
const LARGEST: u64 = 1 << 20;

/// The file's name and text.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// As errors show it.
    pub name: String,
    /// TOML. It may hold a password.
    pub text: String,
}

/// A setting's name and its value.
type Entry<'a> = (&'static str, &'a Spanned<DeValue<'a>>);

impl ConfigFile {
    /// Reads the file of a directory, if there is one.
    pub fn read(directory: &Path) -> Result<Option<Self>, Failure> {
        let fail =
            |cause: &dyn std::fmt::Display| Failure::usage(format!("cannot read {NAME}: {cause}"));
        let file = match std::fs::File::open(directory.join(NAME)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fail(&error)),
        };
        let mut text = String::new();
        file.take(LARGEST + 1)
            .read_to_string(&mut text)
            .map_err(|error| fail(&error))?;
        if text.len() as u64 > LARGEST {
            return Err(fail(&"it is larger than 1 MiB"));
        }
        Ok(Some(Self {
            name: NAME.to_owned(),
            text,
        }))
    }

    /// Adds what the file says for a command. The rest of the file is checked all the same.
    pub(super) fn fill(&self, command: Command, layers: &mut Layers) -> Result<(), Failure> {
        let table = DeTable::parse(&self.text).map_err(|error| {
            let cause = error.message().lines().next().unwrap_or_default();
            let place = error.span().map(|span| self.place(&span));
            Failure::usage(format!("{} is not TOML: {cause}", self.name)).at(place)
        })?;
        for (key, value) in table.get_ref() {
            let table_of = Command::ALL
                .into_iter()
                .find(|command| command.name() == key.get_ref().as_ref());
            if let (Some(owner), DeValue::Table(table)) = (table_of, value.get_ref()) {
                for (key, value) in table {
                    let entry = self.known(key, value, &[owner])?;
                    self.add(layers, Strength::FileTable, owner == command, entry)?;
                }
            } else {
                let entry = self.known(key, value, &Command::ALL)?;
                let ours = command.settings().any(|name| name == entry.0);
                self.add(layers, Strength::File, ours, entry)?;
            }
        }
        Ok(())
    }

    fn known<'a>(
        &self,
        key: &Spanned<DeString<'_>>,
        value: &'a Spanned<DeValue<'a>>,
        owners: &[Command],
    ) -> Result<Entry<'a>, Failure> {
        let settings: Vec<&'static str> = owners
            .iter()
            .flat_map(|command| command.settings())
            .collect();
        let word = key.get_ref().as_ref();
        if let Some(name) = settings.iter().find(|name| **name == word) {
            return Ok((name, value));
        }
        let elsewhere = Command::ALL
            .into_iter()
            .find(|command| command.settings().any(|name| name == word));
        let tables = Command::ALL.map(Command::name);
        let names = settings.into_iter().chain(tables);
        let hint = match (elsewhere, did_you_mean(&word.replace('_', "-"), names)) {
            (Some(owner), _) => format!("it is a setting of `[{}]`", owner.name()),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => "settings have the names of the long flags".to_owned(),
        };
        Err(Failure::usage(format!("unknown setting `{word}`"))
            .at(Some(self.place(&key.span())))
            .with_hint(hint))
    }

    /// Adds an entry if it is `ours`; judges its type in any case.
    fn add(
        &self,
        layers: &mut Layers,
        strength: Strength,
        ours: bool,
        (name, value): Entry<'_>,
    ) -> Result<(), Failure> {
        let place = self.place(&value.span());
        let wrong = |expected: &str| {
            let found = value.get_ref().type_str();
            Failure::usage(format!("{name}: expected {expected}, found type {found}"))
                .at(Some(self.place(&value.span())))
        };
        let is_list = name == "target"
            || Command::ALL
                .iter()
                .any(|command| super::is_list(*command, name));
        let texts = match value.get_ref() {
            DeValue::Array(items) if is_list => items
                .iter()
                .map(|item| scalar(item.get_ref()).ok_or_else(|| wrong("a list of plain values")))
                .collect::<Result<Vec<_>, _>>()?,
            DeValue::Table(pairs) if matches!(name, "set" | "label") => pairs
                .iter()
                .map(|(key, value)| {
                    scalar(value.get_ref())
                        .map(|value| format!("{}={value}", key.get_ref()))
                        .ok_or_else(|| wrong("a table of plain values"))
                })
                .collect::<Result<Vec<_>, _>>()?,
            plain => vec![scalar(plain).ok_or_else(|| {
                wrong(if is_list {
                    "a value or a list"
                } else {
                    "one value"
                })
            })?],
        };
        if ours {
            for text in texts {
                layers.add(strength, name, text, Origin::File(place.clone()));
            }
        }
        Ok(())
    }

    fn place(&self, range: &Range<usize>) -> Place {
        Place::new(&self.name, &self.text, range)
    }
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
