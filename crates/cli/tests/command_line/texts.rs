//! Help, versions, errors: the text on each stream.

use super::*;

#[test]
fn help_of_the_program() {
    assert_snapshot!(help(&["--help"]), @"
    Load-test a SQL database and get a number you can defend

    Usage: highwater <COMMAND>

    Commands:
      demo         Search, growth, and sizing on a simulated cluster, in seconds
      run          Load a database, verify what it stored, and judge the result
      load         Fill a workload's tables to a size for later runs, and verify what they hold
      find         Find the highest rate that a target sustains under an objective
      tune         Find the best batch size, sessions, shards, or other settings with few trials
      scale        Measure how a target grows with its nodes, and predict the next size
      faults       Kill, stop, pause, and throttle nodes under load, and tabulate what that did
      show         Show a finished run, or merge the shares of one run
      serve        Show the stored runs in a browser: list, open, compare, start
      audit        Compare what a finished or killed run had acknowledged with its database
      compare      Compare groups of runs: better, worse, equal, or inconclusive
      import       Import another tool's output as a record, to show or compare it
      size         Estimate the cluster that a rate needs, from measured or published figures
      table        Tabulate throughput over one setting, from a file or from runs
      check        Check that a target is usable, a workload or cluster file valid, or figures plausible
      cluster      Start, resize, and end the cluster that a cluster file describes
      workloads    List workloads, show the file of one, or start your own file
      tables       List the tables that Highwater created on a target, and drop them
      clean        List stored runs with their ages and sizes, and remove what is no longer needed
      completions  Print a completion script for a shell
      man          Print the manual page of a command, or write all pages

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Examples:
      highwater demo                                   search, growth, and sizing in one demo
      highwater run                                    as fast as an embedded database goes, 20 s
      highwater run cpu $URL --rate 50k --p99 50ms     a gate: exit code 1 if it is missed
      highwater find cpu $URL --p99 100ms              the highest rate with p99 ≤ 100 ms
      highwater show                                   the latest run again
      highwater size 1M --from highwater-runs          the cluster for a million rows per second

    `highwater run --help` shows the main flags of a command, `--help-all` all of them.
    ");
}

#[test]
fn no_command_and_help_print_the_help() {
    let program = help(&["--help"]);
    for words in [&[][..], &["help"], &["--help-all"]] {
        assert_eq!(help(words), program, "{words:?}");
    }
    assert_eq!(help(&["help", "find"]), help(&["find", "--help"]));
}

#[test]
fn help_of_run() {
    assert_snapshot!(help(&["run", "--help-all"]));
}

#[test]
fn help_of_run_shows_the_main_flags_first() {
    let short = help(&["run", "--help"]);
    assert_eq!(short, help(&["run", "-h"]));
    assert_snapshot!(short);
}

#[test]
fn help_of_show() {
    assert_snapshot!(help(&["show", "--help-all"]), @"
    Show a finished run, or merge the shares of one run

    Usage: highwater show [OPTIONS] [RUN]...

    Arguments:
      [RUN]...
              Directory, record.json, ID, unique beginning or end of an ID, or last. Several are merged
              as shares of one run [default: the latest]

    Options:
      -h, --help
              Print the flags and examples

          --help-all
              Also print all other flags, settings from the environment and file, and exit codes

    Output:
          --format <FORMAT>
              Print text, json, csv, telemetry-csv, html, markdown, or junit [default: text]

          --open
              Write report.html in the run's directory again, and open it in the browser

      -v, --verbose
              Print all details below the result

      -o, --out <DIR>
              Store each run in its own directory under DIR [default: highwater-runs]

          --config <FILE>
              Read settings from FILE, including targets, sinks, and commands to run

          --no-color
              Disable colors (same as setting NO_COLOR)

    Examples:
      highwater show
          the latest run
      highwater show 2026-11-20T18 --format csv
          the intervals of one run, named by the beginning of its ID
      highwater show --format junit > results.xml
          the judgments and objectives as test cases, for a pipeline
      highwater show m1/highwater-runs/a m2/highwater-runs/b
          two load generators' shares merged into one run

    Numbers take k, M, and G; durations ns, us, ms, s, m, and h, also combined (1h30m).

    Precedence: command line, then HIGHWATER_* variables, then the file of --config, highwater.toml in
    the working directory, and ~/.config/highwater/config.toml. A variable is HIGHWATER_ and the flag's
    name (HIGHWATER_RATE=50k, HIGHWATER_WARM_UP=5s); lists are separated by spaces, in HIGHWATER_TARGET
    also by commas. Keys of a file are the long flag names, at the top for all commands, or in a table
    named after one command. highwater.toml names no target, sink, or command.

    Highwater removes a password in a target URL from the process title at startup. Passwords from a
    prompt or the environment never appear there.

    Exit codes:
        0  success
        1  objective missed
        2  invalid usage or input
        3  measurement or figures not valid, or data unverified although an audit was requested
        4  data lost, duplicated, or altered
        5  target unreachable or rejected the connection or a statement
      130  interrupted
    ");
}

#[test]
fn help_of_check() {
    assert_snapshot!(help(&["check", "-h"]), @"
    Check that a target is usable, a workload or cluster file valid, or figures plausible

    Usage: highwater check [OPTIONS] [TARGET... | FILE.toml | FILE.sql | FILE.csv | RUN]...

    Arguments:
      [TARGET|FILE]...  Database URLs, one workload, SQL or cluster file, or figures: CSV files,
                        record.json files, and directories of runs [default: $HIGHWATER_TARGET, else a
                        new embedded database]

    Options:
      -h, --help      Print the flags and examples
          --help-all  Also print all other flags, settings from the environment and file, and exit codes

    Workload:
      -f, --file <FILE[@WEIGHT]>  Prepare the statements of your own workload file (.toml) or SQL files
                                  (.sql) on the target without executing them, instead of trying the
                                  built-in workloads
          --set <NAME=VALUE>      Set a workload parameter. Parameters of built-in workloads are also
                                  flags, such as --read-percent 0
          --insert <MODE>         Insert with MODE, one of the target's insert modes [default: the
                                  target's first]

    Figures:
          --model <MODEL>  Predict with this scaling model alone, and warn if too few sizes were
                           measured for it: linear, affine, amdahl, usl, or power [default: the last
                           three, averaged]

    Output:
      -o, --out <DIR>      Store each run in its own directory under DIR [default: highwater-runs]
      -v, --verbose        Also print every setting that a target reports
          --config <FILE>  Read settings from FILE, including targets, sinks, and commands to run
          --no-color       Disable colors (same as setting NO_COLOR)

    Examples:
      highwater check $URL
          connect to each host; print what would stop a run or distort its figures, and a line
          for each area without problems
      highwater check $URL -f my-query.sql
          prepare your own statements on the target, without executing them
      highwater check my-workload.toml
          read a workload file and describe it
      highwater check my-cluster.toml
          read a cluster file and describe it
      highwater check sweep.csv
          read figures, and report any that are implausible

    `highwater check --help-all` shows settings from the environment and file, and exit codes.
    ");
}

#[test]
fn version_goes_to_stdout() {
    assert_eq!(help(&["--version"]), format!("highwater {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_default_in_the_file_stops_the_command_and_shows_its_place() {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("highwater.toml"), "[run]\nsesions = 4\n").unwrap();
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
fn an_unknown_variable_gives_a_warning() {
    let directory = TempDir::new().unwrap();
    let output = highwater(&directory)
        .env("HIGHWATER_SESION", "4")
        .args(["run", "--rate", "50x"])
        .output()
        .unwrap();
    let first = stderr(&output).lines().next().unwrap_or_default().to_owned();
    assert_snapshot!(first, @"warning: the environment variable HIGHWATER_SESION is not a setting; did you mean HIGHWATER_SESSIONS?");
}

#[test]
fn completions_and_the_manual_are_generated() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(help(&["completions", shell]).contains("warm-up"), "{shell}");
    }
    assert!(help(&["man"]).contains(".TH highwater 1"));
    let of_find = help(&["man", "find"]);
    assert!(of_find.contains(".TH highwater-find 1") && of_find.contains("\\-\\-p99"), "{of_find}");
    let directory = TempDir::new().unwrap();
    let pages = directory.path().join("man1");
    help(&["man", "--dir", pages.to_str().unwrap()]);
    for page in ["highwater.1", "highwater-find.1", "highwater-completions.1"] {
        assert!(pages.join(page).is_file(), "{page}");
    }
    assert_eq!(call(&["man", "fnd"]).status.code(), Some(2));
    let wrong = call(&["completions", "tcsh"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert_snapshot!(stderr(&wrong), @"
    error: unknown shell `tcsh`

    hint: there are bash, elvish, fish, powershell and zsh
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_reader_is_no_error() {
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
