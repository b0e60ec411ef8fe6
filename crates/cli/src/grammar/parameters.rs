//! Parameters of the built-in workloads as flags of the commands that run one: `--read-percent 0`
//! means `--set read_percent=0`. Must not judge their values.

use std::collections::BTreeSet;

use highwater_workload::{WorkloadSpec, catalog};

use super::command::CommandSpec;

/// The arguments with every such flag written as `--set`; `None` without such a flag.
pub(super) fn as_settings(commands: &[&CommandSpec], arguments: &[String]) -> Option<Vec<String>> {
    let (program, words) = arguments.split_first()?;
    let mut commands = commands.iter().filter(|command| command.takes_workload());
    let command =
        commands.find(|command| words.first().is_some_and(|word| word == command.name))?;
    let names = names();
    let mut changed = false;
    let mut all = vec![program.clone()];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            all.push(word.clone());
            all.extend(words.by_ref().cloned());
            break;
        }
        let Some((name, value)) = parameter(word, command, &names) else {
            all.push(word.clone());
            continue;
        };
        let Some(value) = value.or_else(|| words.next().cloned()) else {
            // The parser reports the missing value.
            all.push(word.clone());
            continue;
        };
        changed = true;
        all.extend(["--set".to_owned(), format!("{name}={value}")]);
    }
    changed.then_some(all)
}

/// The parameter that a word names as a flag, and its value if the same word holds it.
fn parameter(
    word: &str,
    command: &CommandSpec,
    names: &BTreeSet<String>,
) -> Option<(String, Option<String>)> {
    let flag = word.strip_prefix("--")?;
    let (flag, value) = match flag.split_once('=') {
        Some((flag, value)) => (flag, Some(value.to_owned())),
        None => (flag, None),
    };
    let name = flag.replace('-', "_");
    let taken = command.all_flags().any(|own| own.name == flag);
    (!taken && names.contains(&name)).then_some((name, value))
}

fn names() -> BTreeSet<String> {
    let names = catalog()
        .iter()
        .filter_map(|entry| WorkloadSpec::parse(entry.text).ok())
        .flat_map(|spec| spec.parameters().iter().map(|p| p.name.clone()).collect::<Vec<_>>());
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(words: &[&str]) -> Option<Vec<String>> {
        let arguments = ["highwater"].iter().chain(words);
        let all: Vec<String> = arguments.map(|word| (*word).to_owned()).collect();
        as_settings(crate::commands::ALL, &all)
    }

    #[test]
    fn every_command_that_runs_a_workload_takes_its_parameters_as_flags() {
        for command in ["run", "load", "find", "tune", "scale"] {
            let plain = settings(&[command, "kv", "--read-percent", "0"]);
            let words = ["highwater", command, "kv", "--set", "read_percent=0"];
            assert_eq!(plain.unwrap(), words, "{command}");
        }
        // What a command has as a flag of its own is not a parameter, and no other command has any.
        assert_eq!(settings(&["run", "kv", "--batch", "10"]), None);
        assert_eq!(settings(&["compare", "--read-percent", "0"]), None);
    }
}
