//! Puts the layers of a command together: command line, environment, file and defaults.

use crate::failure::{Failure, did_you_mean};
use crate::grammar::{Arguments, Command};
use crate::invocation::{HANDOVER, PREFIX};

use super::file::ConfigFile;
use super::names::{Name, is_list, names, variable};
use super::stack::{Layers, Strength};
use super::value::{Origin, has_scheme};

impl Layers {
    /// Puts the layers together. `environment` may hold variables of other programs; they are ignored.
    pub fn gather(
        command: Command,
        arguments: Arguments,
        environment: &[(String, String)],
        file: Option<&ConfigFile>,
    ) -> Result<Self, Failure> {
        let mut layers = Self::default();
        for flag in command.flags() {
            if let Some(default) = flag.default {
                layers.add(Strength::Default, flag.name, default, Origin::Default);
            }
        }
        if let Some(file) = file {
            file.fill(command, &mut layers)?;
        }
        layers.add_environment(command, environment)?;
        for (name, texts) in arguments.flags {
            for text in texts {
                layers.add(Strength::CommandLine, name, text, Origin::CommandLine);
            }
        }
        if matches!(
            command,
            Command::Run | Command::Load | Command::Find | Command::Tune
        ) {
            layers.add_run_positionals(arguments.positionals);
        } else {
            layers.positionals = arguments.positionals;
        }
        Ok(layers)
    }

    /// The first positional without a scheme is the workload; all others are targets.
    fn add_run_positionals(&mut self, positionals: Vec<String>) {
        let mut workload_named = false;
        for text in positionals {
            let name = if !workload_named && !has_scheme(&text) {
                workload_named = true;
                "workload"
            } else {
                "target"
            };
            self.add(Strength::CommandLine, name, text, Origin::CommandLine);
        }
    }

    /// Adds the variables that are settings of this command. A list's values are separated by
    /// spaces.
    fn add_environment(
        &mut self,
        command: Command,
        environment: &[(String, String)],
    ) -> Result<(), Failure> {
        let variables: Vec<(Name, String)> = Command::ALL
            .into_iter()
            .flat_map(names)
            .map(|name| (name, variable(name.written)))
            .collect();
        for (given, text) in environment {
            if !given.starts_with(PREFIX) || given == HANDOVER || text.is_empty() {
                continue;
            }
            let Some((name, _)) = variables.iter().find(|(_, variable)| variable == given) else {
                self.warnings.push(unknown_variable(given, &variables));
                continue;
            };
            let setting = name.setting;
            if !command.settings().any(|of_command| of_command == setting) {
                continue;
            }
            let origin = Origin::Environment(given.clone());
            self.check_one_name(setting, &origin)?;
            if is_list(command, setting) {
                for word in text.split_whitespace() {
                    self.add(Strength::Environment, setting, word, origin.clone());
                }
            } else {
                self.add(Strength::Environment, setting, text.trim(), origin);
            }
        }
        Ok(())
    }

    /// Fails if another variable gave the same setting: its new or its retired name.
    fn check_one_name(&self, setting: &'static str, origin: &Origin) -> Result<(), Failure> {
        let mut earlier = self.every_layer(setting);
        let other = earlier.find_map(|(_, value)| match &value.origin {
            Origin::Environment(variable) if value.origin != *origin => Some(variable),
            _ => None,
        });
        match (other, origin) {
            (Some(other), Origin::Environment(variable)) => Err(Failure::usage(format!(
                "{other} and {variable} are two names of one setting"
            ))
            .with_hint(format!("set only {}", super::variable(setting)))),
            _ => Ok(()),
        }
    }
}

fn unknown_variable(given: &str, variables: &[(Name, String)]) -> String {
    let current = variables.iter().filter(|(name, _)| !name.is_retired());
    let near = did_you_mean(given, current.map(|(_, variable)| variable.as_str()));
    let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    format!("the environment variable {given} is not a setting{near}")
}
