//! The grammar of every command as a specification: arguments in, settings or an error out.

mod find;
mod layers;
mod next;
mod origins;
mod others;
mod run;
mod tune;

use std::path::Path;

use insta::assert_snapshot;

use highwater_model::plan::{Arrivals, AuditLevel, Objective, Predicate, Share};
use highwater_model::quantity::Ppm;
use highwater_model::search::SearchAxis;
use highwater_model::units::Rate;
use highwater_model::user_error::UserError;
use highwater_runner::planner::{PaceInput, StreamInput};

use super::*;
use crate::commands;
use crate::exit::render;
use crate::grammar::{self, CommandSpec, Request};
use crate::layers::{Layers, TargetSchemes};
use crate::sources::{ConfigFile, FileKind, gather};

/// Sources of a test's settings.
#[derive(Default)]
struct Sources<'a> {
    words: &'a str,
    environment: &'a [(&'a str, &'a str)],
    file: &'a str,
}

fn layers(sources: &Sources<'_>) -> Result<(&'static CommandSpec, Layers), UserError> {
    let mut words = vec!["highwater".to_owned()];
    words.extend(sources.words.split('|').map(|word| word.trim().to_owned()));
    let environment: Vec<(String, String)> = sources
        .environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let file = ConfigFile {
        kind: FileKind::Directory,
        name: "highwater.toml".to_owned(),
        text: sources.file.to_owned(),
    };
    match grammar::parse(commands::ALL, &words)? {
        Request::Command(command, words) => {
            let mut layers = gather(command, commands::ALL, words, &environment, &[file])?;
            layers.supported = supported();
            Ok((command, layers))
        }
        other => panic!("not a command: {other:?}"),
    }
}

fn supported() -> TargetSchemes {
    TargetSchemes { schemes: vec!["db", "file"], default_url: Some("file:") }
}

fn resolve(sources: &Sources<'_>) -> Result<RunIntent, UserError> {
    let (command, layers) = layers(sources)?;
    assert_eq!(command.name, "run");
    RunIntent::resolve(&layers)
}

/// Settings of `run` with these arguments, separated by `|`.
fn run(words: &str) -> RunIntent {
    try_run(words).unwrap_or_else(|failure| panic!("{words}: {}", render(&failure)))
}

fn try_run(words: &str) -> Result<RunIntent, UserError> {
    let separator = if words.is_empty() { "" } else { "|" };
    resolve(&Sources { words: &format!("run{separator}{words}"), ..Sources::default() })
}

/// The error texts for these lines of arguments, in order.
fn errors(lines: &[&str]) -> String {
    lines
        .iter()
        .map(|line| match try_run(line) {
            Ok(settings) => panic!("{line} is accepted: {settings:?}"),
            Err(failure) => {
                assert_eq!(failure.exit_code(), crate::exit::USAGE);
                render(&failure).replace("\n\n", "\n")
            }
        })
        .collect()
}

fn urls(settings: &RunIntent) -> Vec<String> {
    settings.targets.iter().map(ToString::to_string).collect()
}
