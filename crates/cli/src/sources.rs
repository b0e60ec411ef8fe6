//! The sources of a command's values: the command line, the environment, and settings files.
//!
//! There are three files: the user's own, `highwater.toml` in the working directory, and the one that `--config` names.
//! The contents of the working directory may come from anyone, so its file cannot set anything with effects outside the
//! directory. The file's owner is irrelevant, because checkouts in containers often have a different owner than their
//! user. Keys at the top level apply to every command that has the flag. Keys in a table named after a command, such as
//! `[run]`, apply to that command and override the top level. An unknown key is an error with its place, so that a
//! misspelled default is never ignored. Must not interpret a value.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use highwater_driver::regular_file::{self, WRITTEN_BYTES_MAX};
use highwater_model::user_error::{Place, UserError};

use crate::exit::did_you_mean;
use crate::grammar::{self, Arguments, CommandSpec, Reach, Request};
use crate::launchers;
use crate::layers::{Layers, Origin, Strength, has_scheme};
use crate::variants::WITH;

/// Combines the layers of one of the `commands`; `files` are in ascending precedence. Variables of other programs in
/// `environment` are ignored.
pub fn gather(
    command: &CommandSpec,
    commands: &[&CommandSpec],
    arguments: Arguments,
    environment: &[(String, String)],
    files: &[ConfigFile],
) -> Result<Layers, UserError> {
    let mut layers = Layers::default();
    layers.command = command.name;
    for flag in command.all_flags() {
        layers.flags.insert(flag.name, *flag);
        if let Some(default) = flag.default {
            layers.add(Strength::Default, flag.name, default, Origin::Default);
        }
    }
    for file in files {
        file.fill(command, commands, &mut layers)?;
    }
    add_environment(&mut layers, command, commands, environment)?;
    for (name, texts) in arguments.flags {
        for text in texts {
            layers.add(Strength::CommandLine, name, text, Origin::CommandLine);
        }
    }
    if command.takes_workload() {
        add_workload_and_targets(&mut layers, arguments.positionals);
    } else {
        layers.positionals = arguments.positionals;
    }
    Ok(layers)
}

/// The layers of a command from its arguments only, without environment and files.
pub fn of_words(command: &'static CommandSpec, words: &[&str]) -> Result<Layers, UserError> {
    let program = ["highwater"].iter().chain(words);
    let arguments: Vec<String> = program.map(|word| (*word).to_owned()).collect();
    match grammar::parse(&[command], &arguments)? {
        Request::Command(command, words) => gather(command, &[command], words, &[], &[]),
        _ => Err(UserError::usage("these words are no command")),
    }
}

/// The first positional without a scheme is the workload; all others are targets.
fn add_workload_and_targets(layers: &mut Layers, positionals: Vec<String>) {
    let workload = positionals.iter().position(|text| !has_scheme(text));
    for (at, text) in positionals.into_iter().enumerate() {
        let is_workload = workload == Some(at);
        let name = if is_workload { "workload" } else { "target" };
        layers.add(Strength::CommandLine, name, text, Origin::CommandLine);
    }
}

/// Adds the variables that are settings of this command. A list's values are separated by spaces.
fn add_environment(
    layers: &mut Layers,
    command: &CommandSpec,
    commands: &[&CommandSpec],
    environment: &[(String, String)],
) -> Result<(), UserError> {
    let variables: Vec<(&str, String)> = commands
        .iter()
        .flat_map(|command| command.settings())
        .map(|name| (name, variable(name)))
        .collect();
    for (given, text) in environment {
        if launchers::uses(given) {
            layers.launched.insert(given.clone(), text.clone());
            continue;
        }
        if !given.starts_with(PREFIX) || given == HANDOVER || text.is_empty() {
            continue;
        }
        let Some((setting, _)) = variables.iter().find(|(_, variable)| variable == given) else {
            layers.warnings.push(unknown_variable(given, &variables));
            continue;
        };
        if !command.settings().any(|of_command| of_command == *setting) {
            continue;
        }
        check_variable(given, command.reach(setting).unwrap_or(Reach::Behavior))?;
        let origin = Origin::Environment(given.clone());
        if is_list(command, setting) {
            for word in text.split_whitespace() {
                layers.add(Strength::Environment, setting, word, origin.clone());
            }
        } else {
            layers.add(Strength::Environment, setting, text.trim(), origin);
        }
    }
    Ok(())
}

fn unknown_variable(given: &str, variables: &[(&str, String)]) -> String {
    let near = did_you_mean(given, variables.iter().map(|(_, variable)| variable.as_str()));
    let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    format!("the environment variable {given} is not a setting{near}")
}

/// The file's name in the working directory.
pub const NAME: &str = "highwater.toml";
/// The name of the user's own file, below the user's configuration directory.
const OF_USER: &str = "highwater/config.toml";

/// A file's text.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Its kind.
    pub kind: FileKind,
    /// Its name in errors.
    pub name: String,
    /// TOML, which may contain a password.
    pub text: String,
}

/// A value of the file.
type Value<'a> = Spanned<DeValue<'a>>;

impl ConfigFile {
    /// The existing files in ascending precedence; the command line names the file `named`.
    ///
    /// # Errors
    /// A file cannot be read, or the named one does not exist.
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

    /// Adds the values for a command. The rest of the file is checked as well.
    fn fill(
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

    /// Rejects settings that a file of this kind may not set, for any command.
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
        check(self.kind, setting, reach, texts)
            .map_err(|failure| failure.at(Some(self.place(&key.span()))))
    }

    /// The setting named by a key.
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

/// The user's configuration directory, according to the XDG specification; `None` without a home
/// directory.
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

/// A file of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The user's own file.
    User,
    /// `highwater.toml` of the working directory.
    Directory,
    /// The file named by the command line.
    Named,
}

impl FileKind {
    /// The layer of its top level, or of a command's table in it.
    fn strength(self, is_table: bool) -> Strength {
        match (self, is_table) {
            (Self::User, false) => Strength::UserFile,
            (Self::User, true) => Strength::UserTable,
            (Self::Directory, false) => Strength::DirectoryFile,
            (Self::Directory, true) => Strength::DirectoryTable,
            (Self::Named, false) => Strength::NamedFile,
            (Self::Named, true) => Strength::NamedTable,
        }
    }
}

/// Fails for values that a file of this kind may not set.
fn check(kind: FileKind, setting: &str, reach: Reach, texts: &[String]) -> Result<(), UserError> {
    let is_of_directory = kind == FileKind::Directory;
    match reach {
        Reach::Shell if kind != FileKind::Named => Err(of_shell(setting)),
        Reach::Settings => Err(of_settings(setting)),
        // Settings of new tables can name files and servers.
        Reach::Outside
            if is_of_directory && setting == "with" && texts.iter().all(|text| is_plain(text)) =>
        {
            Ok(())
        }
        Reach::Outside if is_of_directory => Err(beyond(setting, "reaches beyond this directory")),
        Reach::File if is_of_directory => {
            let mut places = texts.iter().map(|text| path_of(setting, text));
            places
                .all(is_within)
                .then_some(())
                .ok_or_else(|| beyond(setting, "names a place outside of this directory"))
        }
        Reach::Behavior if is_of_directory && setting == "over" => {
            let mut axes = texts.iter();
            let names_more =
                axes.any(|axis| axis.trim_start().starts_with(WITH) && !is_plain(axis));
            if names_more { Err(beyond(setting, "reaches beyond this directory")) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// Fails for settings that the environment may not set.
fn check_variable(variable: &str, reach: Reach) -> Result<(), UserError> {
    match reach {
        Reach::Shell => Err(of_shell(variable)),
        Reach::Settings => Err(of_settings(variable)),
        Reach::Behavior | Reach::File | Reach::Outside => Ok(()),
    }
}

fn of_shell(name: &str) -> UserError {
    UserError::usage(format!("`{name}` runs commands, and is not taken from here"))
        .with_hint("give it on the command line, or in a file that --config names there")
}

fn of_settings(name: &str) -> UserError {
    UserError::usage(format!("`{name}` names a file of settings, and is not taken from here"))
        .with_hint("give --config on the command line")
}

fn beyond(setting: &str, why: &str) -> UserError {
    UserError::usage(format!(
        "`{setting}` {why}, and is not taken from the working directory's file"
    ))
    .with_hint(format!(
        "give it on the command line, as {}, in a file that --config names, or in \
         ~/.config/highwater/config.toml",
        variable(setting)
    ))
}

/// Whether a setting of new tables cannot name a file or a server, because it contains only words and
/// numbers.
fn is_plain(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || "_.,=-+% ".contains(letter))
}

/// The path in a value; for a workload file, its weight follows.
fn path_of<'a>(setting: &str, text: &'a str) -> &'a Path {
    let weighted = text.rsplit_once('@').filter(|_| setting == "file");
    Path::new(weighted.map_or(text, |(path, _)| path))
}

/// Whether a path stays within the working directory, even through links.
fn is_within(path: &Path) -> bool {
    let own = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !path.components().all(own) {
        return false;
    }
    let Ok(here) = Path::new(".").canonicalize() else {
        return false;
    };
    // A missing path will be created below the existing part of it.
    let mut there = here.join(path);
    loop {
        if there.symlink_metadata().is_ok() {
            return there.canonicalize().is_ok_and(|place: PathBuf| place.starts_with(&here));
        }
        if !there.pop() {
            return false;
        }
    }
}

/// The environment variable of a setting.
pub fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_uppercase().replace('-', "_"))
}

/// Whether a setting takes several values that may be separated by spaces in the environment.
fn is_list(command: &CommandSpec, name: &str) -> bool {
    command.all_flags().any(|flag| flag.name == name && flag.repeats)
}

/// Prefix of all environment variables of Highwater.
pub const PREFIX: &str = "HIGHWATER_";

/// A variable that is not a setting: it is passed on when the process restarts itself.
pub const HANDOVER: &str = "HIGHWATER_HANDOVER";

/// Arguments and environment of this process. They may contain a password, so there is no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program's name, then the arguments.
    pub arguments: Vec<String>,
    /// Highwater's variables, and those of launchers that number a share, by name.
    pub environment: Vec<(String, String)>,
}

impl Invocation {
    /// Reads the operating system's values.
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
            let of_ours = |name: &&str| name.starts_with(PREFIX) || launchers::uses(name);
            let Some(name) = name.to_str().filter(of_ours) else {
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
