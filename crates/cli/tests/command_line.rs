//! The program as a script sees it: texts, streams, exit codes.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

use std::process::Output;

use assert_cmd::Command;
use insta::assert_snapshot;
use tempfile::TempDir;

/// The program in an empty directory, without any of our variables.
fn highwater(directory: &TempDir) -> Command {
    let mut command = Command::cargo_bin("highwater").unwrap();
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("HIGHWATER_")) {
        command.env_remove(name);
    }
    command.current_dir(directory).env_remove("NO_COLOR");
    command
}

fn call(words: &[&str]) -> Output {
    highwater(&TempDir::new().unwrap())
        .args(words)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The help on stdout, with exit code 0 and nothing on stderr.
fn help(words: &[&str]) -> String {
    let output = call(words);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

#[test]
fn help_of_the_program() {
    assert_snapshot!(help(&["--help"]), @"
    Load-test a SQL database and get a number you can defend

    Usage: highwater <COMMAND>

    Commands:
      demo       Show the whole path on a simulated cluster, in seconds
      run        Put load on a target, audit what it kept, judge the result
      load       Fill a workload's tables to a size, audit what is kept, for later runs
      find       Find the highest rate that a target sustains under an objective
      tune       Find the best batch, sessions, shards or other settings, with few probes
      show       Show a finished run, or merge the shares of one
      compare    Compare groups of runs: better, worse, equal, or cannot tell
      import     Make a record of another tool's output, to show it and to compare it
      size       Say which cluster a rate needs, from measured or published figures
      table      Show what one setting does to the throughput, from a file or from runs
      check      Check that a target can be used, a workload file is right, or figures can be right
      workloads  List the workloads, show one's file, or begin a file of your own

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Examples:
      highwater demo                                   the whole path on a simulated cluster
      highwater run                                    as fast as an embedded database goes, 10 s
      highwater run cpu $URL --rate 50k --p99 50ms     a gate: exit code 1 if it is missed
      highwater find cpu $URL --p99 50ms               the highest rate that holds 50 ms
      highwater show                                   the newest run again
      highwater size 1M --from highwater-runs          which cluster carries a million rows per second

    `highwater run --help` tells the rest.
    ");
}

#[test]
fn help_of_run() {
    assert_snapshot!(help(&["run", "--help"]));
}

#[test]
fn help_of_show() {
    assert_snapshot!(help(&["show", "--help"]), @"
    Show a finished run, or merge the shares of one

    Usage: highwater show [OPTIONS] [RUN]...

    Arguments:
      [RUN]...
              Directory, record.json, id or unique beginning of an id; several are merged as shares of
              one run [default: the newest]

    Options:
      -h, --help
              Print help (see a summary with '-h')

    Output:
          --format <FORMAT>
              text, json, csv, telemetry-csv, html or markdown [default: text]

          --open
              Write the run's page, report.html in its directory, anew and show it in the browser

      -o, --out <DIR>
              Directory that holds one directory per run [default: highwater-runs]

          --no-color
              No colours, as with NO_COLOR set

    Examples:
      highwater show
          the newest run
      highwater show 2026-11-20T18 --format csv
          one run's intervals, found by the beginning of its id
      highwater show m1/highwater-runs/a m2/highwater-runs/b
          two load machines' shares as one run

    Numbers take k, M and G; durations ns, us, ms, s, m and h, also combined (1h30m).

    Every flag can also be set in the environment, as HIGHWATER_ and its name (HIGHWATER_RATE=50k,
    HIGHWATER_WARM_UP=5s), and in highwater.toml in the working directory, under its long name, at the
    top or in a table named after the command. The command line wins over the environment, the
    environment over the file. Lists in the environment are separated by spaces; HIGHWATER_TARGET also
    by commas.

    A password in a target's URL is cut out of the process title at once; one that is asked for, or
    comes from the environment, is never there.

    Exit codes:
        0  all well
        1  an objective was missed
        2  bad usage or input
        3  measurement or figures not sound, or data unverified although an audit was asked for
        4  data lost, duplicated or altered
        5  target not reachable, or it refused
      130  interrupted
    ");
}

#[test]
fn help_of_check() {
    assert_snapshot!(help(&["check", "-h"]), @"
    Check that a target can be used, a workload file is right, or figures can be right

    Usage: highwater check [OPTIONS] [TARGET... | FILE.toml | FILE.csv | RUN]...

    Arguments:
      [TARGET|FILE]...  URLs of a database, one workload file, or figures: CSV files, record.json files
                        and directories of runs [default: HIGHWATER_TARGET, else a fresh embedded
                        database]

    Options:
      -h, --help  Print help (see more with '--help')

    Workload:
          --insert <MODE>  Way to insert, one of the target's own [default: the target's first]

    Figures:
          --law <LAW>  The law of growth that is asked for, with too few sizes for it named: linear,
                       affine, amdahl, usl or power [default: all five, averaged]

    Output:
      -o, --out <DIR>  Directory that holds one directory per run [default: highwater-runs]
          --no-color   No colours, as with NO_COLOR set

    `--help` adds examples, the environment, the file and the exit codes.
    ");
}

#[test]
fn version_goes_to_stdout() {
    assert_eq!(
        help(&["--version"]),
        format!("highwater {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn an_error_goes_to_stderr_with_exit_code_2() {
    let output = call(&["run", "--rate", "50x"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    assert_snapshot!(stderr(&output), @"
    error: --rate: `50x` has the unknown unit `x`

    hint: a rate is a number per second, such as `500`, `50k`, `1.5M` or `0.5/s`
    ");
}

#[test]
fn a_wrong_default_in_the_file_stops_the_command_and_shows_its_place() {
    let directory = TempDir::new().unwrap();
    std::fs::write(
        directory.path().join("highwater.toml"),
        "[run]\nsesions = 4\n",
    )
    .unwrap();
    let output = highwater(&directory).arg("run").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_snapshot!(stderr(&output), @"
    error: unknown setting `sesions`
      --> highwater.toml:2:1
       |
     2 | sesions = 4
       | ^^^^^^^

    hint: did you mean `sessions`?
    ");
    let help = highwater(&directory).args(["run", "-h"]).output().unwrap();
    assert_eq!(help.status.code(), Some(0), "help works all the same");
}

#[test]
fn a_file_that_is_not_text_is_an_error() {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("highwater.toml"), b"\xff\xfe").unwrap();
    let output = highwater(&directory).arg("show").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_snapshot!(stderr(&output), @"error: cannot read highwater.toml: stream did not contain valid UTF-8");
}

#[test]
fn a_variable_that_is_no_setting_is_warned_of() {
    let directory = TempDir::new().unwrap();
    let output = highwater(&directory)
        .env("HIGHWATER_SESION", "4")
        .args(["run", "--rate", "50x"])
        .output()
        .unwrap();
    let first = stderr(&output)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    assert_snapshot!(first, @"warning: the environment variable HIGHWATER_SESION is not a setting; did you mean HIGHWATER_SESSIONS?");
}

#[test]
fn completions_and_the_manual_are_generated() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(help(&["completions", shell]).contains("warm-up"), "{shell}");
    }
    assert!(help(&["man"]).contains(".TH highwater"));
    let wrong = call(&["completions", "tcsh"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert_snapshot!(stderr(&wrong), @"
    error: unknown shell `tcsh`

    hint: there are bash, elvish, fish, powershell and zsh
    ");
}

#[test]
fn check_says_what_a_target_is() {
    let output = call(&["check", "sim:"]);
    assert_eq!(stderr(&output), "");
    assert_eq!(output.status.code(), Some(0));
    assert_snapshot!(stdout(&output), @r#"
    connected                        sim:
    version                          simulated cluster, model 1
    dialects                         sim, sqlite, postgresql
    --insert                         bulk
    --sessions                       16 by default
    spread                           all 16 sessions to one URL
    rights                           nobody is refused anything
    disk                             the target does not tell
    note                             simulated · 3 nodes × 4 cores · 6 shards · 1 replica
    alter                            0
    answer_bytes                     128
    capacity.queries_per_s           2400.0
    capacity.rows_per_s.batch_1      11111.1
    capacity.rows_per_s.batch_100    85714.3
    capacity.rows_per_s.batch_1000   139534.9
    capacity.rows_per_s.batch_10000  148883.4
    clock                            sim
    cores                            4
    drop                             0
    duplicate                        0
    fail                             0
    insert                           bulk
    lose_ack                         0
    nodes                            3
    offset                           0
    query                            5ms
    queue                            200
    replica_cost                     1
    replicas                         1
    request                          500us
    row                              40us
    rtt                              300us
    service                          exp
    shards                           6
    swap                             0
    "#);
    let default = call(&["check"]);
    assert_eq!(stderr(&default), "");
    assert!(stdout(&default).contains("SQLite"));
}

#[test]
fn a_target_that_cannot_be_used_has_its_own_exit_code() {
    let output = call(&["check", "sqlite:no/such/directory/bench.db"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    let wrong = call(&["check", "sim:", "--insert", "magic"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
}

#[test]
fn check_reads_a_workload_file_and_shows_every_mistake_at_its_place() {
    let directory = TempDir::new().unwrap();
    let cpu = highwater_core::workload::builtin("cpu").unwrap().text;
    std::fs::write(directory.path().join("mine.toml"), cpu).unwrap();
    let output = highwater(&directory)
        .args(["check", "mine.toml"])
        .output()
        .unwrap();
    assert_eq!(stderr(&output), "");
    assert!(stdout(&output).starts_with("workload "));
    std::fs::write(
        directory.path().join("wrong.toml"),
        "name = 1\nverison = 1\n",
    )
    .unwrap();
    let output = highwater(&directory)
        .args(["check", "wrong.toml"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_snapshot!(stderr(&output), @r#"
    error: the workload file has no `format`
      --> wrong.toml:1:1
       |
     1 | name = 1
       | ^

    hint: add format = 1

    error: the workload file has no `version`
      --> wrong.toml:1:1
       |
     1 | name = 1
       | ^

    hint: add version = 1

    error: the workload file has no `summary`
      --> wrong.toml:1:1
       |
     1 | name = 1
       | ^

    hint: add summary = "…"

    error: the workload file has no ops
      --> wrong.toml:1:1
       |
     1 | name = 1
       | ^

    hint: add [ops.NAME] with `insert`, `sql` or `transaction`

    error: `name` of the workload file must be text in quotes, not integer
      --> wrong.toml:1:8
       |
     1 | name = 1
       |        ^

    hint: write "…", in quotes

    error: unknown key `verison` in the workload file
      --> wrong.toml:2:1
       |
     2 | verison = 1
       | ^^^^^^^

    hint: did you mean `version`?
    "#);
    let missing = highwater(&directory)
        .args(["check", "none.toml"])
        .output()
        .unwrap();
    assert_snapshot!(stderr(&missing), @"error: cannot read none.toml: No such file or directory (os error 2)");
}

#[test]
fn show_without_a_run_says_how_to_make_one() {
    let output = call(&["show"]);
    assert_eq!(output.status.code(), Some(2));
    assert_snapshot!(stderr(&output), @r#"
    error: no runs yet in highwater-runs

    hint: `highwater run` makes a first one; -o DIR names another store
    "#);
}

/// A run on simulated time, which takes a moment; what it printed, and its exit code.
fn run(directory: &TempDir, words: &[&str]) -> (Option<i32>, String) {
    let output = highwater(directory)
        .env("HIGHWATER_DURATION", "10s")
        .args(["run", "-q"])
        .args(words)
        .output()
        .unwrap();
    assert_eq!(stderr(&output), "", "{words:?}");
    (output.status.code(), stdout(&output))
}

#[test]
fn the_exit_code_is_the_judgement() {
    let directory = TempDir::new().unwrap();
    for (code, words) in [
        (0, &["sim:"][..]),
        (1, &["sim:", "--min-rate", "10M"]),
        (3, &["sim:", "-d", "1s"]),
        (4, &["sim:?drop=0.01"]),
        (4, &["sim:?drop=0.01", "--min-rate", "10M"]),
    ] {
        let (found, text) = run(&directory, words);
        assert_eq!(found, Some(code), "{words:?}: {text}");
    }
}

#[test]
fn a_run_is_stored_and_shown_again_as_it_was_with_its_exit_code() {
    let directory = TempDir::new().unwrap();
    let (code, json) = run(
        &directory,
        &["sim:", "--json", "--label", "team=x", "--min-rate", "10M"],
    );
    assert_eq!(code, Some(1));
    let record = highwater_core::report::parse(&json).unwrap();
    assert_eq!(record.labels["team"], "x");
    let show = |words: &[&str]| {
        highwater(&directory)
            .arg("show")
            .args(words)
            .output()
            .unwrap()
    };
    let newest = show(&["--format", "json"]);
    assert!(stdout(&newest) == json, "the bytes are those of the run");
    assert_eq!(newest.status.code(), Some(1));
    let by_id = show(&[&record.id, "--format", "csv"]);
    assert!(stdout(&by_id).starts_with("second,phase,stream,op,"));
    let none = show(&["1999"]);
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn the_plan_is_printed_and_nothing_is_left_behind() {
    let directory = TempDir::new().unwrap();
    let (code, json) = run(
        &directory,
        &["sim:", "--plan", "--rate", "1k", "--p99", "50ms"],
    );
    assert_eq!(code, Some(0));
    assert!(json.contains("highwater-plan/1"));
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn what_the_workload_does_not_know_is_a_usage_error() {
    for words in [
        &["run", "cpuu", "sim:"][..],
        &["run", "sim:", "--set", "hostss=3"],
        &["run", "sim:", "--stream", "nothing@1k"],
        &["run", "-f", "none.toml", "sim:"],
    ] {
        let output = call(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).starts_with("error: "), "{words:?}");
    }
}

#[test]
fn workloads_are_listed_shown_and_begun() {
    let directory = TempDir::new().unwrap();
    let ask = |words: &[&str]| {
        let mut command = highwater(&directory);
        command.arg("workloads").args(words).output().unwrap()
    };
    let list = stdout(&ask(&[]));
    for name in [
        "cpu",
        "nib-cpu",
        "nib-cpu-strict",
        "loadtest",
        "sensors",
        "tsbs",
    ] {
        assert!(
            list.lines()
                .any(|line| line.starts_with(&format!("{name} "))),
            "{list}"
        );
    }
    let shown = stdout(&ask(&["show", "loadtest"]));
    assert!(shown.contains("name = \"loadtest\""), "{shown}");
    assert!(stdout(&ask(&["schema"])).contains("\"title\": \"Highwater workload file\""));
    let printed = stdout(&ask(&["new"]));
    assert!(stdout(&ask(&["new", "my.toml"])).contains("highwater check my.toml"));
    let written = std::fs::read_to_string(directory.path().join("my.toml")).unwrap();
    assert_eq!(written, printed);
    let check = highwater(&directory).args(["check", "my.toml"]).output();
    assert_eq!(check.unwrap().status.code(), Some(0));
    for (words, said) in [
        (&["show", "cpuu"][..], "did you mean `cpu`?"),
        (&["new", "my.toml"], "never written over"),
        (&["shwo", "cpu"], "workloads show NAME"),
    ] {
        let output = ask(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn rows_that_repeat_are_counted_in_the_plan_and_never_audited() {
    let strict = ["run", "nib-cpu-strict", "sim:", "--plan", "--batch", "500"];
    let refused = call(&strict);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("run it with --audit off"));
    let planned = call(&[&strict[..], &["--audit", "off"]].concat());
    let plan = stdout(&planned);
    assert!(plan.contains("\"distinct_rows\": 500"), "{plan}");
}

#[test]
fn a_start_that_follows_the_clock_is_fixed_in_the_plan() {
    let directory = TempDir::new().unwrap();
    let (code, live) = run(&directory, &["sim:", "--plan", "--set", "time=live"]);
    assert_eq!(code, Some(0));
    assert!(!live.contains("2016-01-01T00:00:00Z"), "{live}");
    let (_, fixed) = run(&directory, &["sim:", "--plan"]);
    assert!(fixed.contains("2016-01-01T00:00:00Z"), "{fixed}");
    for (words, said) in [
        (
            &["--share", "1/2"][..],
            "give all of them the same `--set start=",
        ),
        (
            &["--set", "start=2020-01-01T00:00:00Z"],
            "leave `start` out",
        ),
    ] {
        let command = [&["run", "sim:", "--set", "time=live", "--plan"], words].concat();
        let output = call(&command);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_went_away_is_no_error() {
    use std::process::Stdio;

    let directory = TempDir::new().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = std::process::Command::new(highwater(&directory).get_program())
        .args(["run", "--help"])
        .stdout(Stdio::from(writer))
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
}
