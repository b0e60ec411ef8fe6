//! Help, versions, mistakes: what stands on which stream.

use super::*;

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
              No colors, as with NO_COLOR set

    Examples:
      highwater show
          the newest run
      highwater show 2026-11-20T18 --format csv
          one run's intervals, found by the beginning of its id
      highwater show m1/highwater-runs/a m2/highwater-runs/b
          two load generators' shares as one run

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
          --no-color   No colors, as with NO_COLOR set

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
