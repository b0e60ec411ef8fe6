//! The grammar of every command as a specification: words in, settings or an error out.

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

fn known() -> KnownTargets {
    KnownTargets {
        schemes: vec!["db", "file"],
        default_url: Some("file:"),
    }
}

fn resolve(sources: &Sources<'_>) -> Result<RunSettings, Failure> {
    let (command, layers) = layers(sources)?;
    assert_eq!(command, Command::Run);
    RunSettings::resolve(&layers, &known())
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

#[test]
fn nothing_given_means_the_workload_cpu_on_the_default_target_closed_for_ten_seconds() {
    let settings = run("");
    assert_eq!(settings.workload, WorkloadChoice::Named("cpu".to_owned()));
    assert_eq!(urls(&settings), ["file:"]);
    assert_eq!(settings.load.streams, Streams::First { rate: None });
    assert_eq!(settings.load.sessions, None);
    assert_eq!(settings.length.warm_up, Nanos::from_secs(2));
    assert_eq!(settings.length.at_least, Nanos::ZERO);
    assert_eq!(settings.length.at_most, Nanos::from_secs(10));
    assert_eq!(settings.timeout, Nanos::from_secs(30));
    assert_eq!(settings.audit, AuditLevel::Sums);
    assert_eq!(settings.audit_timeout, Nanos::from_secs(600));
    assert_eq!(settings.share, Share { index: 1, of: 1 });
    assert_eq!(settings.seed, Seed(42));
    assert_eq!(settings.objectives, Objectives::default());
    assert_eq!(settings.out, Path::new("highwater-runs"));
}

#[test]
fn the_first_word_without_a_scheme_is_the_workload_and_all_others_are_targets() {
    for (words, workload, targets) in [
        ("kv", "kv", vec!["file:"]),
        ("kv|db://h1|db://h2/n", "kv", vec!["db://h1", "db://h2/n"]),
        ("db://h|kv|-c|4", "kv", vec!["db://h"]),
        ("db://h1,h2:4200/n", "cpu", vec!["db://h1,h2:4200/n"]),
        ("-d|5s|file:a.db", "cpu", vec!["file:a.db"]),
    ] {
        let settings = run(words);
        assert_eq!(
            settings.workload,
            WorkloadChoice::Named(workload.to_owned()),
            "{words}"
        );
        assert_eq!(urls(&settings), targets, "{words}");
    }
    assert_eq!(
        run("-f|my.toml|db://h").workload,
        WorkloadChoice::File("my.toml".into())
    );
}

#[test]
fn wrong_workloads_and_targets() {
    assert_snapshot!(errors(&[
        "kv|localhost",
        "kv|localhost:4200",
        "kv|dbs://u:geheim@h",
        "kv|db://u:geheim@h:99999",
        "my.toml",
        "kv|-f|my.toml",
    ]), @"
    error: TARGET: `localhost` is not a URL
    hint: a target's URL begins with one of `db:`, `file:`
    error: TARGET: unknown scheme `localhost:`
    hint: a target's URL begins with one of `db:`, `file:`
    error: TARGET: unknown scheme `dbs:`
    hint: a target's URL begins with one of `db:`, `file:`
    error: TARGET: `99999` is not a port in the target's host `h`
    hint: a port is a number from 1 to 65535; percent-encode `@`, `:` and `/` in a password
    error: WORKLOAD: `my.toml` is a file, not a workload's name
    hint: give it as `--file my.toml`
    error: --file: cannot be given together with WORKLOAD
    ");
}

#[test]
fn streams_and_paces() {
    let settings = run("--stream|insert@1k|--stream|dashboards@50,100/s,0.5|--step|5m");
    let per_second = Rate::per_second;
    assert_eq!(
        settings.load.streams,
        Streams::Named(vec![
            StreamSetting {
                name: "insert".to_owned(),
                paces: vec![PaceSetting::Open(per_second(1_000))],
            },
            StreamSetting {
                name: "dashboards".to_owned(),
                paces: vec![
                    PaceSetting::Open(per_second(50)),
                    PaceSetting::Open(per_second(100)),
                    PaceSetting::Open(Rate {
                        micro_per_s: 500_000
                    }),
                ],
            },
        ])
    );
    assert_eq!(settings.length.at_most, Nanos::from_secs(300));
    let closed = run("--stream|a@8c,16c,max|--stream|b|-d|1m|-c|4|--spawn-rate|2");
    assert_eq!(
        closed.load.streams,
        Streams::Named(vec![
            StreamSetting {
                name: "a".to_owned(),
                paces: vec![
                    PaceSetting::Closed(Some(8)),
                    PaceSetting::Closed(Some(16)),
                    PaceSetting::Closed(None),
                ],
            },
            StreamSetting {
                name: "b".to_owned(),
                paces: vec![PaceSetting::Closed(None)],
            },
        ])
    );
    assert_eq!(closed.length.at_most, Nanos::from_secs(60));
    assert_eq!(closed.load.sessions, Some(4));
    assert_eq!(closed.load.spawn_rate, Some(per_second(2)));
    let open = run("-R|50k|--arrivals|poisson");
    assert_eq!(
        open.load.streams,
        Streams::First {
            rate: Some(per_second(50_000))
        }
    );
    assert_eq!(open.load.arrivals, Some(Arrivals::Poisson));
}

#[test]
fn wrong_streams_and_paces() {
    assert_snapshot!(errors(&[
        "--stream|@1k",
        "--stream|a@",
        "--stream|a@1k,",
        "--stream|a@0c",
        "--stream|a@8x",
        "--stream|a@1k,8c",
        "--stream|a@1,2|--stream|b@1,2,3",
        "--stream|a|--stream|a",
        "--stream|a@1k|--rate|2k",
        "--rate|50x",
        "--rate|-5",
        "--sessions|0",
        "--arrivals|random",
        "--rate|50|--step|5s",
    ]), @"
    error: --stream: `@1k` has no name
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`
    error: --stream: pace `` is empty
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`
    error: --stream: pace `` is empty
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`
    error: --stream: pace `0` is not above zero
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`
    error: --stream: pace `8x` has the unknown unit `x`
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`
    error: --stream: `a@1k,8c` mixes open and closed paces, which cannot be compared
    hint: a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, 50/s), `8c` for 8 closed sessions, or `max`
    error: --stream: `b` has 3 steps, but `a` has 2
    hint: give all streams the same number of paces, or just one
    error: --stream: `a` is given twice
    hint: several paces of one stream are steps: `NAME@PACE,PACE`
    error: --stream: cannot be given together with --rate
    error: --rate: `50x` has the unknown unit `x`
    hint: a rate is a number per second, such as `500`, `50k`, `1.5M` or `0.5/s`
    error: --rate: `-5` is negative
    hint: a rate is a number per second, such as `500`, `50k`, `1.5M` or `0.5/s`
    error: --sessions: `0` is not above zero
    hint: give at least 1
    error: --arrivals: `random` is not a kind of arrivals
    hint: there are `constant` and `poisson`
    error: --step: no stream has steps
    hint: give a stream several paces, such as --stream NAME@50,100,150
    ");
}

#[test]
fn how_long_a_run_lasts() {
    let length = run("-d|1m..30m|--until|ci95 < 0.5%|--warm-up|0|--rows|1M").length;
    assert_eq!(length.warm_up, Nanos::ZERO);
    assert_eq!(length.at_least, Nanos::from_secs(60));
    assert_eq!(length.at_most, Nanos::from_secs(1_800));
    assert_eq!(length.rows, Some(1_000_000));
    assert_eq!(
        length.until,
        Some(Predicate::RelativeCiBelow { ppm: 5_000 })
    );
    assert_eq!(
        run("--until|errors>100").length.until,
        Some(Predicate::ErrorsAbove { count: 100 })
    );
    assert_snapshot!(errors(&[
        "-d|60",
        "-d|0s",
        "-d|1m..30m",
        "-d|2m..1m|--until|errors>1",
        "--until|p99<1ms",
        "--until|ci95<0%",
        "--rows|0",
        "--timeout|0s",
    ]), @"
    error: --duration: `60` has no unit
    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
    error: --duration: nothing can be measured in no time
    error: --duration: `1m..30m` lacks what decides when to stop
    hint: add --until, such as --until 'ci95<1%'
    error: --duration: `2m..1m` does not go upwards
    hint: a range is written `MIN..MAX`, such as `1m..30m`
    error: --until: `p99<1ms` is not a predicate
    hint: there are `ci95<PERCENT` and `errors>N`, such as 'ci95<1%' and 'errors>100'
    error: --until: `ci95<0%` can never hold
    hint: there are `ci95<PERCENT` and `errors>N`, such as 'ci95<1%' and 'errors>100'
    error: --rows: `0` is not above zero
    hint: give at least 1
    error: --timeout: is not above zero
    ");
}

#[test]
fn objectives_and_the_audit() {
    let settings = run(
        "--p50|1ms|--p999|2s|--row-p99|100ms|--errors|0.1%|--rejected|0|--min-rate|49.5k|\
         --max-cpu|80%|--audit|off",
    );
    assert_eq!(
        settings.objectives,
        Objectives {
            latency: vec![
                (Quantile(500_000), Nanos::from_millis(1)),
                (Quantile(999_000), Nanos::from_secs(2)),
            ],
            row_p99: Some(Nanos::from_millis(100)),
            errors: Some(Ppm(1_000)),
            rejected: Some(Ppm(0)),
            min_rate: Some(Rate::per_second(49_500)),
            max_cpu: Some(Ppm(800_000)),
        }
    );
    assert_eq!(settings.audit, AuditLevel::Off);
    assert_eq!(run("--audit|count").audit, AuditLevel::Count);
    assert_eq!(run("--audit|full").audit, AuditLevel::Full);
    assert_eq!(run("--rejected|2%").objectives.rejected, Some(Ppm(20_000)));
    assert_snapshot!(errors(&["--p99|50", "--errors|1", "--max-cpu|120%", "--audit|all"]), @"
    error: --p99: `50` has no unit
    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
    error: --errors: `1` does not end in `%`
    hint: a percentage ends in `%`, such as `0.1%`
    error: --max-cpu: `120%` is more than 100 %
    hint: a percentage ends in `%`, such as `0.1%`
    error: --audit: `all` is not an audit level
    hint: there are `count`, `sums`, `full` and `off`
    ");
}

#[test]
fn everything_else_of_a_run() {
    let settings = run(
        "--set|hosts=4000|--batch|2k|--insert|copy|--retries|3|--seed|7|--drop|--drop-foreign|a|--drop-foreign|b|\
         --share|2/4|--start-at|2026-11-20T18:30:00Z|--label|team=x=y|-q|--json|--plan|-o|runs",
    );
    let parameters: Vec<_> = settings.parameters.iter().collect();
    assert_eq!(
        format!("{parameters:?}"),
        r#"[("batch", "2000"), ("hosts", "4000")]"#
    );
    assert_eq!(settings.insert.as_deref(), Some("copy"));
    assert_eq!(settings.drop_foreign, ["a", "b"]);
    assert_eq!(
        (settings.retries, settings.seed, settings.drop),
        (3, Seed(7), true)
    );
    assert_eq!(settings.share, Share { index: 2, of: 4 });
    assert_eq!(
        settings.start_at,
        Some(StartAt::Instant(Nanos::from_secs(1_795_199_400)))
    );
    assert_eq!(settings.labels["team"], "x=y");
    assert_eq!(settings.out, Path::new("runs"));
    let RunOutput {
        quiet,
        json,
        plan_only,
        no_color,
    } = settings.output;
    assert_eq!(
        (quiet, json, plan_only, no_color),
        (true, true, true, false)
    );
    assert_eq!(
        run("--start-at|+10s").start_at,
        Some(StartAt::Delay(Nanos::from_secs(10)))
    );
    assert_snapshot!(errors(&[
        "--share|0/4",
        "--share|5/4",
        "--share|1/65",
        "--start-at|noon",
        "--set|hosts",
        "--set|a b=1",
        "--set|batch=1|--batch|2",
        "--batch|0",
        "--seed|-1",
        "--retries|5k",
    ]), @"
    error: --share: `0/4` is not a share
    hint: a share is written `i/n`, with i from 1 to n and n at most 64
    error: --share: `5/4` is not a share
    hint: a share is written `i/n`, with i from 1 to n and n at most 64
    error: --share: `1/65` is not a share
    hint: a share is written `i/n`, with i from 1 to n and n at most 64
    error: --start-at: `noon` is not a point in time
    hint: give a point in time, such as `2026-11-20T18:30:00Z`, or a delay, such as `+10s`
    error: --set: `hosts` has no `=`
    hint: it is written `NAME=VALUE`; a name has letters, digits, `_`, `-` and `.`
    error: --set: `a b` is not a name
    hint: it is written `NAME=VALUE`; a name has letters, digits, `_`, `-` and `.`
    error: --batch: cannot be given together with --set batch=…
    error: --batch: `0` is not above zero
    hint: give at least 1
    error: --seed: `-1` is not a seed
    hint: a seed is a whole number from 0 to 18446744073709551615
    error: --retries: `5k` is too large
    hint: give at most 1000
    ");
}

#[test]
fn wrong_words() {
    assert_snapshot!(errors(&[
        "--sesions|4",
        "--colour",
        "-x",
        "--rate",
        "--drop=yes",
        "--rate|1|--rate|2",
        "--audti=count",
    ]), @"
    error: unknown flag `--sesions`
    hint: did you mean `--sessions`?
    error: unknown flag `--colour`
    hint: `highwater run --help` lists the flags
    error: unknown flag `-x`
    hint: `highwater run --help` lists the flags
    error: --rate needs a value
    hint: `highwater run --help` lists the flags
    error: --drop takes no value
    hint: `highwater run --help` lists the flags
    error: --rate is given more than once
    hint: `highwater run --help` lists the flags
    error: unknown flag `--audti`
    hint: did you mean `--audit`?
    ");
}

#[test]
fn the_command_line_outranks_the_environment_the_environment_the_file_the_file_the_default() {
    let file = "rate = '1k'\n[run]\nrate = '2k'";
    let environment = [("HIGHWATER_RATE", "3k")];
    let rate = |words, environment, file| {
        let sources = Sources {
            words,
            environment,
            file,
        };
        match resolve(&sources).unwrap().load.streams {
            Streams::First { rate } => rate.map(|rate| rate.micro_per_s / 1_000_000_000),
            Streams::Named(_) => None,
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
    let with = |words| {
        resolve(&Sources {
            words,
            file,
            ..Sources::default()
        })
        .unwrap()
    };
    assert!(matches!(with("run").load.streams, Streams::Named(_)));
    assert!(matches!(
        with("run|-R|2k").load.streams,
        Streams::First { rate: Some(_) }
    ));
    assert_eq!(
        with("run|-f|my.toml").workload,
        WorkloadChoice::File("my.toml".into())
    );
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
    assert_eq!(
        format!("{:?}", settings.parameters),
        r#"{"a": "1", "b": "2", "c": "4"}"#
    );
    assert_eq!(settings.labels.len(), 2);
    let Streams::Named(streams) = settings.load.streams else {
        panic!("streams were named");
    };
    assert_eq!(streams.len(), 1);
}

#[test]
fn several_targets_come_from_the_environment_and_hosts_keep_their_commas() {
    for (text, targets) in [
        ("db://h1,h2:4200/n", vec!["db://h1,h2:4200/n"]),
        ("db://h1,db://h2", vec!["db://h1", "db://h2"]),
        (
            "db://h1, file:x  db://h2",
            vec!["db://h1", "file:x", "db://h2"],
        ),
    ] {
        let environment = [("HIGHWATER_TARGET", text)];
        let with = |words| {
            let environment = &environment[..];
            urls(
                &resolve(&Sources {
                    words,
                    environment,
                    file: "",
                })
                .unwrap(),
            )
        };
        assert_eq!(with("run"), targets);
        assert_eq!(with("run|file:y"), ["file:y"], "the command line wins");
    }
}

#[test]
fn switches_of_a_file_can_be_turned_off_by_the_environment() {
    let drop = |environment, file| {
        resolve(&Sources {
            words: "run",
            environment,
            file,
        })
        .map(|settings| settings.drop)
    };
    assert_eq!(drop(&[], "drop = true"), Ok(true));
    assert_eq!(drop(&[("HIGHWATER_DROP", "0")], "drop = true"), Ok(false));
    assert_eq!(drop(&[("HIGHWATER_DROP", "")], "drop = true"), Ok(true));
}

#[test]
fn an_error_names_the_layer_and_the_place() {
    let text = |environment, file| {
        resolve(&Sources {
            words: "run",
            environment,
            file,
        })
        .unwrap_err()
        .render()
    };
    assert_snapshot!(text(&[("HIGHWATER_WARM_UP", "5")], ""), @"
    error: HIGHWATER_WARM_UP: `5` has no unit

    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
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
fn an_error_of_the_file_says_what_it_could_be() {
    let text = |file| {
        let sources = Sources {
            words: "run",
            environment: &[],
            file,
        };
        resolve(&sources).unwrap_err().render()
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
    error: target: `99999` is not a port in the target's host `h`
      --> highwater.toml:1:10

    hint: a port is a number from 1 to 65535; percent-encode `@`, `:` and `/` in a password
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

#[test]
fn show_takes_runs_and_a_format() {
    let show = |words| {
        let (_, layers) = layers(&Sources {
            words,
            ..Sources::default()
        })?;
        ShowSettings::resolve(&layers)
    };
    let settings = show("show|a|b/record.json|--format|csv|-o|runs").unwrap();
    assert_eq!(settings.runs, ["a", "b/record.json"]);
    assert_eq!(settings.format, Format::Csv);
    assert_eq!(settings.out, Path::new("runs"));
    assert_eq!(show("show").unwrap().format, Format::Text);
    assert_snapshot!(show("show|--format|pdf").unwrap_err().render(), @"
    error: --format: `pdf` is not a format

    hint: there are `text`, `json`, `csv`, `telemetry-csv`, `html` and `markdown`
    ");
}

#[test]
fn check_takes_targets_or_a_workload_file() {
    let check = |words, environment| {
        let (_, layers) = layers(&Sources {
            words,
            environment,
            file: "",
        })?;
        CheckSettings::resolve(&layers, &known()).map(|settings| settings.subject)
    };
    assert_eq!(
        check("check|my.toml|a.csv", &[]).unwrap(),
        CheckSubject::Files {
            names: vec!["my.toml".to_owned(), "a.csv".to_owned()],
            law: None,
        }
    );
    for (words, expected) in [
        ("check|db://h1|db://h2", vec!["db://h1", "db://h2"]),
        ("check", vec!["db://h"]),
    ] {
        let subject = check(words, &[("HIGHWATER_TARGET", "db://h")]).unwrap();
        let CheckSubject::Target { urls, .. } = subject else {
            panic!("{words} names targets");
        };
        let urls: Vec<String> = urls.iter().map(ToString::to_string).collect();
        assert_eq!(urls, expected);
    }
    assert_snapshot!(check("check|my.toml|db://h", &[]).unwrap_err().render(), @"
    error: TARGET: `my.toml` is not a URL

    hint: a target's URL begins with one of `db:`, `file:`
    ");
}

#[test]
fn debug_output_of_settings_hides_passwords() {
    let settings = run("db://u:geheim@h/n");
    assert_eq!(
        settings.targets[0].password.as_ref().unwrap().reveal(),
        "geheim"
    );
    assert!(!format!("{settings:?}").contains("geheim"));
}

fn try_find(words: &str) -> Result<FindSettings, Failure> {
    let separator = if words.is_empty() { "" } else { "|" };
    let words = format!("find{separator}{words}");
    let (command, layers) = layers(&Sources {
        words: &words,
        ..Sources::default()
    })?;
    assert_eq!(command, Command::Find);
    FindSettings::resolve(&layers, &known())
}

fn find(words: &str) -> FindSettings {
    try_find(words).unwrap_or_else(|failure| panic!("{words}: {}", failure.render()))
}

#[test]
fn a_search_without_a_flag_has_an_objective_all_the_same() {
    let settings = find("");
    assert_eq!(settings.axis, SearchAxis::Rate);
    assert_eq!((settings.first, settings.highest), (None, None));
    assert_eq!(settings.width, Ppm(20_000));
    assert_eq!(settings.probe, Nanos::from_secs(60));
    assert_eq!(settings.confirm, Nanos::from_secs(300));
    assert_eq!(settings.budget, Nanos::from_secs(3_600));
    assert_eq!(settings.run.objectives.rejected, Some(Ppm(0)));
    assert!(settings.no_errors);
    assert_eq!(settings.searched, 0);
    assert_eq!(settings.run.targets.len(), 1);
}

#[test]
fn what_is_said_about_errors_and_rejections_takes_the_place_of_the_default() {
    let settings = find("--errors|1%|--rejected|2%");
    assert!(!settings.no_errors);
    assert_eq!(settings.run.objectives.rejected, Some(Ppm(20_000)));
    let settings = find("--p99|50ms|--rejected|0");
    assert!(settings.no_errors);
    assert_eq!(settings.run.objectives.rejected, Some(Ppm(0)));
}

#[test]
fn a_floor_is_asked_of_the_mark_and_not_of_each_probe() {
    let settings = find("kv|db://h|--min-rate|50k|--quick");
    assert_eq!(settings.floor, Some(Rate::per_second(50_000)));
    assert_eq!(settings.run.objectives.min_rate, None);
    assert_eq!(settings.probe, Nanos::from_secs(15));
    assert_eq!(settings.run.length.at_most, settings.probe);
    let settings = find("--floor|200k|--cpu|80%");
    assert_eq!(settings.floor, Some(Rate::per_second(200_000)));
    assert_eq!(settings.run.objectives.max_cpu, Some(Ppm(800_000)));
}

#[test]
fn one_stream_of_a_mix_is_searched() {
    let settings = find("--stream|insert@1k|--stream|dashboards@find");
    assert_eq!(settings.searched, 1);
    let Streams::Named(streams) = &settings.run.load.streams else {
        panic!("{:?}", settings.run.load.streams);
    };
    assert_eq!(
        streams[0].paces,
        [PaceSetting::Open(Rate::per_second(1_000))]
    );
    assert_eq!(streams[1].name, "dashboards");
}

#[test]
fn values_of_a_search_are_those_of_its_axis() {
    let settings = find("--begin|10k|--highest|1M");
    assert_eq!(
        (settings.first, settings.highest),
        (Some(10_000.0), Some(1e6))
    );
    let settings = find("--axis|sessions|--p99|50ms");
    assert_eq!(
        (settings.first, settings.highest),
        (Some(1.0), Some(65_536.0))
    );
}

#[test]
fn mistakes_in_a_search_are_told_with_their_place() {
    let lines = [
        "--axis|nodes",
        "--width|90%",
        "--stream|insert@1k",
        "--stream|a@find|--stream|b@find",
        "--stream|a@find|--stream|b@1,2",
        "--begin|10k|--highest|1k",
        "--rate|5k",
    ];
    let said: String = lines
        .iter()
        .map(|line| match try_find(line) {
            Ok(settings) => panic!("{line} is accepted: {settings:?}"),
            Err(failure) => failure.render().replace("\n\n", "\n"),
        })
        .collect();
    assert_snapshot!(said, @"
    error: --axis: `nodes` is not an axis
    hint: there are `rate` and `sessions`
    error: --width: `90%` is out of range
    hint: give 0.5% to 50%
    error: --stream: no stream is marked `@find`
    hint: write `--stream NAME@find` for the one whose pace is searched
    error: --stream: a second stream is marked `@find`
    hint: one pace is searched while the others stay fixed
    error: --stream: `b@1,2` has several paces
    hint: a stream that is not searched has one pace
    error: --highest: 1000 is below --begin 10000
    error: unknown flag `--rate`
    hint: `highwater find --help` lists the flags
    ");
}

#[test]
fn what_follows_a_mark_is_a_soak_of_a_length() {
    assert_eq!(find("").soak, None);
    let settings = find("--then|soak=30m");
    assert_eq!(settings.soak, Some(Nanos::from_secs(1_800)));
    let error = |words| try_find(words).unwrap_err().render();
    assert_snapshot!([error("--then|rest=1h"), error("--then|soak=0"), error("--then|soak=long")].concat().replace("\n\n", "\n"), @r"
    error: --then: `rest=1h` is nothing that can follow
    hint: write `soak=30m`
    error: --then: `soak=0` is not above zero
    hint: write `soak=30m`
    error: --then: `long` is not a number
    hint: a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` or `1h30m`
    ");
}
