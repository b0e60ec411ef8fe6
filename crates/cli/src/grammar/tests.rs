//! The table of flags holds together, and other words than a command's are answered.

use std::collections::BTreeSet;

use insta::assert_snapshot;

use super::*;

fn failure(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    parse(&words).unwrap_err().render()
}

#[test]
fn the_grammar_is_consistent() {
    command_line().debug_assert();
}

#[test]
fn every_flag_has_a_heading_a_help_and_says_its_default_once() {
    for command in Command::ALL {
        let mut names = BTreeSet::new();
        for flag in command.flags() {
            let name = flag.name;
            assert!(names.insert(name), "{name} stands twice");
            assert!(!flag.heading.is_empty(), "{name} has no heading");
            assert!(flag.help.len() > 8, "{name} has no help");
            let told = flag.help.contains("[default: ") || flag.help.ends_with("[required]");
            let needs = flag.value.is_some();
            assert_eq!(told || flag.default.is_some(), needs, "default of {name}");
            assert!(
                !(told && flag.default.is_some()),
                "{name} tells two defaults"
            );
        }
    }
}

#[test]
fn a_setting_of_two_commands_repeats_in_both_or_in_none() {
    for name in Command::ALL.into_iter().flat_map(Command::settings) {
        let repeats: BTreeSet<bool> = Command::ALL
            .iter()
            .flat_map(|command| command.flags())
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
