//! The table of flags is consistent, and wrong words of the command line have helpful errors.

use std::collections::BTreeSet;

use insta::assert_snapshot;

use super::*;
use crate::commands::ALL;

fn failure(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    parse(ALL, &words).unwrap_err().render()
}

#[test]
fn the_grammar_is_consistent() {
    command_line(ALL).debug_assert();
}

#[test]
fn every_flag_has_a_heading_a_help_and_at_most_one_default() {
    for command in ALL {
        assert!(command.flags.iter().all(|(heading, _)| !heading.is_empty()));
        let mut names = BTreeSet::new();
        for flag in command.all_flags() {
            let name = flag.name;
            assert!(names.insert(name), "{name} is listed twice");
            assert!(flag.help.len() > 8, "{name} has no help");
            let stated = flag.help.contains("[default: ") || flag.help.ends_with("[required]");
            assert!(!flag.help.contains("[default: none"), "default of {name}");
            assert!(flag.value.is_some() || !stated, "{name} is a switch");
            assert!(!(stated && flag.default.is_some()), "{name} states two defaults");
        }
    }
}

#[test]
fn an_old_name_is_no_other_setting_and_appears_in_no_help_or_completion() {
    let retired: Vec<(&CommandSpec, &str)> = ALL
        .iter()
        .copied()
        .flat_map(|command| {
            let flags = command.all_flags();
            flags.filter_map(move |flag| Some((command, flag.old_name?)))
        })
        .collect();
    assert!(retired.len() >= 10, "{retired:?}");
    let current: BTreeSet<&str> = ALL.iter().copied().flat_map(CommandSpec::settings).collect();
    let mut completions = Vec::new();
    for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh] {
        clap_complete::generate(shell, &mut command_line(ALL), "highwater", &mut completions);
    }
    let completions = String::from_utf8(completions).unwrap();
    for (command, old_name) in retired {
        assert!(!current.contains(old_name), "{old_name} is a setting");
        let mut grammar = command_line(ALL);
        let help = grammar.find_subcommand_mut(command.name).unwrap();
        let help = help.render_long_help().to_string();
        for text in [&help, &completions] {
            let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            let flag = format!("--{old_name}");
            assert_eq!(words.filter(|word| *word == flag).count(), 0, "{flag}");
        }
    }
}

#[test]
fn a_setting_of_two_commands_repeats_in_both_or_in_none() {
    for name in ALL.iter().copied().flat_map(CommandSpec::settings) {
        let repeats: BTreeSet<bool> = ALL
            .iter()
            .flat_map(|command| command.all_flags())
            .filter(|flag| flag.name == name)
            .map(|flag| flag.repeats)
            .collect();
        assert!(repeats.len() <= 1, "{name}");
    }
}

#[test]
fn wrong_commands() {
    assert_snapshot!(failure(&["highwater", "rnu"]), @"
    error: unknown command `rnu`

    hint: did you mean `run`?
    ");
    assert_snapshot!(failure(&["highwater", "quantum"]), @"
    error: unknown command `quantum`

    hint: `highwater --help` lists the commands
    ");
    assert_snapshot!(failure(&["highwater", "--rate", "5"]), @"
    error: unknown flag `--rate`

    hint: `highwater --help` lists the commands
    ");
    assert_snapshot!(failure(&["highwater"]), @"
    error: no command given

    hint: `highwater --help` lists the commands
    ");
    assert_snapshot!(failure(&["highwater", "completions"]), @"
    error: <SHELL> is missing

    hint: `highwater --help` lists the commands
    ");
}

#[test]
fn a_password_in_a_wrong_word_is_not_repeated() {
    let text = failure(&["highwater", "run", "--target=db://u:geheim@h"]);
    assert!(!text.contains("geheim"), "{text}");
    let text = failure(&["highwater", "db://u:geheim@h"]);
    assert!(!text.contains("geheim"), "{text}");
}
