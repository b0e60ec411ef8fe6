//! Command line, environment, and file: precedence, and places of errors.

use super::*;
use crate::exit::render;
use crate::intent::streams::are_open;

#[test]
fn the_command_line_outranks_the_environment_the_environment_the_file_the_file_the_default() {
    let file = "rate = '1k'\n[run]\nrate = '2k'";
    let environment = [("HIGHWATER_RATE", "3k")];
    let rate = |words, environment, file| {
        let sources = Sources { words, environment, file };
        match resolve(&sources).unwrap().plan.streams[..] {
            [StreamInput { think: None, name: None, ref paces }] => match paces[..] {
                [PaceInput::Open(rate)] => Some(rate.micro_per_s / 1_000_000_000),
                _ => None,
            },
            _ => None,
        }
    };
    assert_eq!(rate("run|-R|4k", &environment[..], file), Some(4));
    assert_eq!(rate("run", &environment[..], file), Some(3));
    assert_eq!(rate("run", &[], file), Some(2));
    assert_eq!(rate("run", &[], "rate = '1k'"), Some(1));
    assert_eq!(rate("run", &[], "[show]\nformat = 'csv'"), None);
}

#[test]
fn settings_that_exclude_each_other_follow_the_stronger_layer() {
    let file = "stream = ['a@1k']\nworkload = 'kv'\nbatch = 500";
    let with = |words| resolve(&Sources { words, file, ..Sources::default() }).unwrap();
    let named = |words| with(words).plan.streams[0].name.is_some();
    assert!(named("run"));
    assert!(!named("run|-R|2k"));
    assert!(are_open(&with("run|-R|2k").plan.streams));
    assert_eq!(with("run|-f|my.toml").workload, WorkloadChoice::File("my.toml".into()));
    assert_eq!(with("run").parameters["batch"], "500");
    assert_eq!(with("run|--set|batch=9").parameters["batch"], "9");
}

#[test]
fn pairs_of_all_layers_add_up_and_lists_replace_each_other() {
    let settings = resolve(&Sources {
        words: "run|--set|a=1|--stream|x",
        environment: &[("HIGHWATER_SET", "b=2 a=3"), ("HIGHWATER_STREAM", "y z")],
        file: "set = { c = 4, a = 5 }\n[run]\nlabel = ['k=v', 'l=w']",
    })
    .unwrap();
    assert_eq!(format!("{:?}", settings.parameters), r#"{"a": "1", "b": "2", "c": "4"}"#);
    assert_eq!(settings.options.labels.len(), 2);
    let names = settings.plan.streams.into_iter().map(|stream| stream.name);
    assert_eq!(names.collect::<Vec<_>>(), [Some("x".to_owned())]);
}

#[test]
fn several_targets_come_from_the_environment_and_hosts_keep_their_commas() {
    for (text, targets) in [
        ("db://h1,h2:4200/n", vec!["db://h1,h2:4200/n"]),
        ("db://h1,db://h2", vec!["db://h1", "db://h2"]),
        ("db://h1, file:x  db://h2", vec!["db://h1", "file:x", "db://h2"]),
    ] {
        let environment = [("HIGHWATER_TARGET", text)];
        let with = |words| {
            let environment = &environment[..];
            urls(&resolve(&Sources { words, environment, file: "" }).unwrap())
        };
        assert_eq!(with("run"), targets);
        assert_eq!(with("run|file:y"), ["file:y"], "the command line wins");
    }
}

#[test]
fn switches_of_a_file_can_be_turned_off_by_the_environment() {
    let drop = |environment, file| {
        resolve(&Sources { words: "run", environment, file }).map(|settings| settings.options.drop)
    };
    assert_eq!(drop(&[], "drop = true"), Ok(true));
    assert_eq!(drop(&[("HIGHWATER_DROP", "0")], "drop = true"), Ok(false));
    assert_eq!(drop(&[("HIGHWATER_DROP", "")], "drop = true"), Ok(true));
}

#[test]
fn an_error_names_the_layer_and_the_place() {
    let text = |environment, file| {
        render(&resolve(&Sources { words: "run", environment, file }).unwrap_err())
    };
    assert_snapshot!(text(&[("HIGHWATER_WARM_UP", "5")], ""), @"
    error: HIGHWATER_WARM_UP: `5` has no unit

    hint: give a duration, such as `30s`; or `steady`, or `steady:5m`, to run until throughput is steady, for that long at most
    ");
    assert_snapshot!(text(&[], "seed = 1\n\n[run]\nsesions = 4\n"), @"
    error: unknown setting `sesions`
      --> highwater.toml:4:1
       |
     4 | sesions = 4
       | ^^^^^^^

    hint: did you mean `sessions`?
    ");
    assert_snapshot!(text(&[], "duration = 30"), @"
    error: duration: `30` has no unit
      --> highwater.toml:1:12
       |
     1 | duration = 30
       |            ^^

    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
    ");
    assert_snapshot!(text(&[], "[run]\nrate = ['1k', '2k']"), @"
    error: rate: expected one value, found type array
      --> highwater.toml:2:8
       |
     2 | rate = ['1k', '2k']
       |        ^^^^^^^^^^^^
    ");
}

#[test]
fn an_error_in_the_file_suggests_a_correction() {
    let text = |file| {
        let sources = Sources { words: "run", environment: &[], file };
        render(&resolve(&sources).unwrap_err())
    };
    assert_snapshot!(text("[run]\nformat = 'csv'"), @"
    error: unknown setting `format`
      --> highwater.toml:2:1
       |
     2 | format = 'csv'
       | ^^^^^^

    hint: it is a setting of `[show]`
    ");
    assert_snapshot!(text("runn = { rate = 1 }"), @"
    error: unknown setting `runn`
      --> highwater.toml:1:1
       |
     1 | runn = { rate = 1 }
       | ^^^^

    hint: did you mean `run`?
    ");
    assert_snapshot!(text("rate = \n"), @"
    error: highwater.toml is not TOML: string values must be quoted, expected literal string
      --> highwater.toml:1:8
       |
     1 | rate =
       |       ^
    ");
    assert_snapshot!(text("target = 'db://u:geheim@h:99999/n'"), @"
    error: `target` reaches beyond this directory, and is not taken from the working directory's file
      --> highwater.toml:1:1

    hint: give it on the command line, as HIGHWATER_TARGET, in a file that --config names, or in ~/.config/highwater/config.toml
    ");
    assert_snapshot!(text("warm_up = '1s'"), @"
    error: unknown setting `warm_up`
      --> highwater.toml:1:1
       |
     1 | warm_up = '1s'
       | ^^^^^^^

    hint: did you mean `warm-up`?
    ");
}

#[test]
fn an_unknown_variable_is_a_warning_because_others_may_set_it() {
    let (_, layers) = layers(&Sources {
        words: "run",
        environment: &[
            ("HIGHWATER_SESSION", "4"),
            ("HIGHWATER_FORMAT", "csv"),
            ("HIGHWATER_HANDOVER", "1:2"),
        ],
        file: "",
    })
    .unwrap();
    assert_snapshot!(layers.warnings.join("\n"), @"the environment variable HIGHWATER_SESSION is not a setting; did you mean HIGHWATER_SESSIONS?");
}
