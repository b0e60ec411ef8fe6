//! The grammar of every command as a specification: words in, settings or an error out.

mod find;
mod layers;
mod old_names;
mod others;
mod run;
mod tune;

use std::path::Path;

use insta::assert_snapshot;

use super::*;
use crate::failure::Failure;
use crate::grammar::{self, Command, Request};
use crate::layers::Layers;
use crate::layers::file::ConfigFile;

/// Where a test's settings come from.
#[derive(Default)]
struct Sources<'a> {
    words: &'a str,
    environment: &'a [(&'a str, &'a str)],
    file: &'a str,
}

fn layers(sources: &Sources<'_>) -> Result<(Command, Layers), Failure> {
    let mut words = vec!["highwater".to_owned()];
    words.extend(sources.words.split('|').map(|word| word.trim().to_owned()));
    let environment: Vec<(String, String)> = sources
        .environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let file = ConfigFile {
        name: "highwater.toml".to_owned(),
        text: sources.file.to_owned(),
    };
    match grammar::parse(&words)? {
        Request::Command(command, words) => {
            Layers::gather(command, words, &environment, Some(&file))
                .map(|layers| (command, layers))
        }
        other => panic!("not a command: {other:?}"),
    }
}

fn supported() -> TargetSchemes {
    TargetSchemes {
        schemes: vec!["db", "file"],
        default_url: Some("file:"),
    }
}

fn resolve(sources: &Sources<'_>) -> Result<RunSettings, Failure> {
    let (command, layers) = layers(sources)?;
    assert_eq!(command, Command::Run);
    RunSettings::resolve(&layers, &supported())
}

/// Settings of `run` with these words, separated by `|`.
fn run(words: &str) -> RunSettings {
    try_run(words).unwrap_or_else(|failure| panic!("{words}: {}", failure.render()))
}

fn try_run(words: &str) -> Result<RunSettings, Failure> {
    let separator = if words.is_empty() { "" } else { "|" };
    resolve(&Sources {
        words: &format!("run{separator}{words}"),
        ..Sources::default()
    })
}

/// The error texts for these lines of words, one after the other.
fn errors(lines: &[&str]) -> String {
    lines
        .iter()
        .map(|line| match try_run(line) {
            Ok(settings) => panic!("{line} is accepted: {settings:?}"),
            Err(failure) => {
                assert_eq!(failure.exit, crate::exit::USAGE);
                failure.render().replace("\n\n", "\n")
            }
        })
        .collect()
}

fn urls(settings: &RunSettings) -> Vec<String> {
    settings.targets.iter().map(ToString::to_string).collect()
}
