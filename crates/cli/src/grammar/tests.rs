//! The table of flags is consistent, and wrong words of the command line have helpful errors.

use std::collections::BTreeSet;

use insta::assert_snapshot;

use super::*;
use crate::commands::ALL;
use crate::exit::render;

fn failure(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    render(&parse(ALL, &words).unwrap_err())
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
fn a_command_with_more_than_15_flags_shows_10_to_15_of_them_first() {
    for command in ALL {
        let flags = command.all_flags().count();
        assert_eq!(flags > 15, command.main_flags.is_some(), "{}", command.name);
        for flag in command.main_flags.into_iter().flat_map(|shown| shown.split(' ')) {
            assert!(command.all_flags().any(|own| own.name == flag), "{} --{flag}", command.name);
        }
        let shown = command.all_flags().filter(|flag| command.shows(flag.name)).count();
        assert!(command.main_flags.is_none() || (10..=15).contains(&shown), "{}", command.name);
    }
}

#[test]
fn a_setting_of_two_commands_repeats_in_both_or_in_none() {
    // `tables` takes the names that it drops from the command line only.
    let of_files =
        ALL.iter().copied().flat_map(CommandSpec::settings).filter(|name| *name != "drop");
    for name in of_files {
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
    assert_snapshot!(failure(&["highwater", "ls"]), @"
    error: unknown command `ls`

    hint: `highwater serve` lists what was measured, and `highwater show` prints the last one
    ");
    assert_snapshot!(failure(&["highwater", "postgres://h/db"]), @"
    error: unknown command `postgres://h/db`

    hint: `highwater run URL` loads this database, and `highwater check URL` only looks at it
    ");
    assert_snapshot!(failure(&["highwater", "--rate", "5"]), @"
    error: unknown flag `--rate`

    hint: `highwater --help` lists the commands
    ");
    assert_snapshot!(failure(&["highwater", "help", "rnu"]), @"
    error: unknown command `rnu`

    hint: did you mean `run`?
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
