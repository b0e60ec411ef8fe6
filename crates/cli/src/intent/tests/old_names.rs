//! Retired names of flags still work on the command line, in the environment and in the file; two
//! names of one setting at the same place are an error.

use super::*;

/// A command with an old and a new name of a flag, and a value.
const RETIRED: [(&str, &str, &str, &str); 11] = [
    ("find", "begin", "start", "10k"),
    ("find", "highest", "max", "1M"),
    ("find", "width", "tolerance", "5%"),
    ("compare", "practical", "threshold", "2%"),
    ("size", "law", "model", "usl"),
    ("check", "law", "model", "usl"),
    ("size", "chance", "confidence", "90%"),
    ("size", "copy-cost", "replica-cost", "50%"),
    ("size", "spare", "headroom", "20%"),
    ("size", "survive", "tolerate-failures", "1"),
    ("run", "floor", "min-rate", "1k"),
];

fn error(sources: &Sources<'_>) -> String {
    layers(sources).unwrap_err().render().replace("\n\n", "\n")
}

#[test]
fn an_old_name_sets_the_same_setting_everywhere() {
    for (command, old, new, value) in RETIRED {
        let variable = crate::sources::variable(old);
        let words = format!("{command}|--{old}|{value}");
        let top = format!("{old} = '{value}'");
        let table = format!("[{command}]\n{old} = '{value}'");
        for sources in [
            Sources { words: &words, ..Sources::default() },
            Sources { words: command, environment: &[(&variable, value)], ..Sources::default() },
            Sources { words: command, file: &top, ..Sources::default() },
            Sources { words: command, file: &table, ..Sources::default() },
        ] {
            let (_, layers) = layers(&sources).unwrap();
            let text = layers.value(new).map(|value| value.text.as_str());
            assert_eq!(text, Some(value), "{words}");
            assert_eq!(layers.warnings, [""; 0], "{words}");
        }
    }
}

#[test]
fn the_stronger_layer_wins_whichever_name_it_uses() {
    let start = |words, environment: &[(&str, &str)], file| {
        let sources = Sources { words, environment, file };
        let (_, layers) = layers(&sources).unwrap();
        layers.value("start").unwrap().text.clone()
    };
    let environment = [("HIGHWATER_BEGIN", "2")];
    assert_eq!(start("find|--begin|3", &environment, "start = 1"), "3");
    assert_eq!(start("find", &environment, "start = 1"), "2");
    assert_eq!(start("find", &[], "start = 1\n[find]\nbegin = 4"), "4");
}

#[test]
fn both_names_at_the_same_place_are_an_error_that_names_them() {
    let words = Sources { words: "find|--begin|1k|--start=2k", ..Sources::default() };
    assert_snapshot!(error(&words), @"
    error: --start and --begin are two names of one flag
    hint: `highwater find --help-all` lists the flags
    ");
    let environment = Sources {
        words: "size|1M",
        environment: &[("HIGHWATER_SURVIVE", "1"), ("HIGHWATER_TOLERATE_FAILURES", "2")],
        ..Sources::default()
    };
    assert_snapshot!(error(&environment), @"
    error: HIGHWATER_SURVIVE and HIGHWATER_TOLERATE_FAILURES are two names of one setting
    hint: set only HIGHWATER_TOLERATE_FAILURES
    ");
    let file =
        Sources { words: "run", file: "[find]\nhighest = 5\nmax = 6\n", ..Sources::default() };
    assert_snapshot!(error(&file), @"
    error: `highest` and `max` are two names of one setting
      --> highwater.toml:3:1
       |
     3 | max = 6
       | ^^^
    hint: set only `max`
    ");
}

#[test]
fn a_flag_given_twice_under_one_name_is_reported_under_that_name() {
    let words = Sources { words: "find|--start|1k|--start|2k", ..Sources::default() };
    assert_snapshot!(error(&words), @"
    error: --start is given more than once
    hint: `highwater find --help-all` lists the flags
    ");
}
