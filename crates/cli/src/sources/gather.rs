//! Puts the layers of a command together: command line, environment, file and defaults.

use highwater_model::user_error::UserError;

use crate::error_text::did_you_mean;
use crate::grammar::{self, Arguments, CommandSpec, Reach, Request};
use crate::invocation::{HANDOVER, PREFIX};
use crate::layers::{Layers, Origin, Strength, has_scheme};

use super::file::ConfigFile;
use super::names::{is_list, variable};
use super::reach::check_variable;

/// Puts the layers of one of the `commands` together; `files` have the weakest first. `environment` may hold variables of other
/// programs; they are ignored.
pub fn gather(
    command: &CommandSpec,
    commands: &[&CommandSpec],
    arguments: Arguments,
    environment: &[(String, String)],
    files: &[ConfigFile],
) -> Result<Layers, UserError> {
    let mut layers = Layers::default();
    for flag in command.all_flags() {
        layers.next.insert(flag.name, flag.next);
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

/// The layers of a command from its words alone, without environment and file.
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
