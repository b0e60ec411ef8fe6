//! Which origin may give which setting: the rule goes by where a setting comes from, not by who owns a file, because
//! checkouts in containers belong to others than their user. Must not read a file.

use std::path::{Component, Path, PathBuf};

use highwater_model::user_error::UserError;

use crate::grammar::Reach;
use crate::layers::Strength;
use crate::tuned::WITH;

/// A file of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The user's own.
    User,
    /// `highwater.toml` of the working directory.
    Directory,
    /// The one that the command line names.
    Named,
}

impl FileKind {
    /// The layer of its top, or of a command's table in it.
    pub(super) fn strength(self, is_table: bool) -> Strength {
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

/// Fails at values that a file of this kind may not give a setting.
pub(super) fn check(
    kind: FileKind,
    setting: &str,
    reach: Reach,
    texts: &[String],
) -> Result<(), UserError> {
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

/// Fails where the environment may not give a setting.
pub(super) fn check_variable(variable: &str, reach: Reach) -> Result<(), UserError> {
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
        super::variable(setting)
    ))
}

/// Whether a setting of new tables can name neither a file nor a server: it has words and numbers only.
fn is_plain(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || "_.,=-+% ".contains(letter))
}

/// The path in a value; a workload file has its weight behind it.
fn path_of<'a>(setting: &str, text: &'a str) -> &'a Path {
    let weighted = text.rsplit_once('@').filter(|_| setting == "file");
    Path::new(weighted.map_or(text, |(path, _)| path))
}

/// Whether a path leads to no other place than the working directory, also through links.
fn is_within(path: &Path) -> bool {
    let own = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !path.components().all(own) {
        return false;
    }
    let Ok(here) = Path::new(".").canonicalize() else {
        return false;
    };
    // What is not there yet is made where the part of its path that is there leads.
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
