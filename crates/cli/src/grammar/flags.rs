//! Headings of the help, flags that several commands have, parameters of the built-in workloads as flags
//! (`--read-percent 0` means `--set read_percent=0`), and the end of the help texts. Must not contain flags of a single
//! command, or judge a value.

use std::collections::BTreeSet;

use highwater_workload::{WorkloadSpec, catalog};

use super::{CommandSpec, Flag, Reach, flag};
use crate::layers::Next;

pub(crate) const LOAD: &str = "Load";
pub(crate) const LENGTH: &str = "Length";
pub(crate) const DATA: &str = "Workload";
pub(crate) const OBJECTIVES: &str = "Objectives (exit code 1 if any is missed)";
pub(crate) const AUDIT: &str = "Audit";
pub(crate) const FIGURES: &str = "Figures";
pub(crate) const OUTPUT: &str = "Output";
pub(crate) const SHARES: &str = "Several load generators";

/// For all commands that store or find runs.
pub(crate) const OUT: Flag =
    flag("-o, --out <DIR>", "Store each run in its own directory under DIR")
        .reach(Reach::File)
        .default("highwater-runs");
/// For all commands.
pub(crate) const CONFIG: Flag = flag(
    "--config <FILE>",
    "Read settings from FILE, including targets, sinks, and commands to run",
)
.reach(Reach::Settings);
pub(crate) const NO_COLOR: Flag =
    flag("--no-color", "Disable colors (same as setting NO_COLOR)").once();
/// For all commands that print a summary.
pub(crate) const VERBOSE: Flag = flag("-v, --verbose", "Print all details below the result").once();
/// For all commands that run something.
pub(crate) const QUIET: Flag = flag("-q, --quiet", "Print only the result, no progress").once();
/// For `run` and `load`.
pub(crate) const PROGRESS: Flag = flag(
    "--progress <DURATION>",
    "Print a line of progress every DURATION, if standard error is not a terminal [default: 1s \
     for ten seconds, then 10s]",
)
.once();
pub(crate) const JSON: Flag =
    flag("--json", "Print the record as JSON instead of the summary").once();
pub(crate) const EVENTS: Flag = flag(
    "--events <FILE>",
    "Write progress as JSON, one event per line, to FILE, or to standard output (-), with the \
     summary on standard error",
)
.once()
.reach(Reach::File);
const UI: Flag = flag(
    "--ui <ADDR>",
    "Serve a live page of the load, on PORT of this machine or on ADDR, such as 0.0.0.0:4790, \
     which requires the printed token [default: 127.0.0.1:4790]",
)
.once()
.reach(Reach::Outside)
.alone("usual");
const UI_CONTROL: Flag = flag(
    "--ui-control",
    "Allow that page to stop the run, change its rates and sessions, and add notes",
)
.once()
.reach(Reach::Outside);
const METRICS_LISTEN: Flag = flag(
    "--metrics-listen <ADDR>",
    "Serve metrics in OpenMetrics format for Prometheus, on PORT of this machine or on ADDR",
)
.once()
.reach(Reach::Outside);
const OTLP: Flag = flag(
    "--otlp <URL>",
    "Push the same metrics every 5 s to a collector that accepts OTLP over HTTP, such as \
     http://localhost:4318",
)
.once()
.reach(Reach::Outside);
pub(crate) const LABEL: Flag = flag("--label <KEY=VALUE>...", "Store a label in the record");
/// For all commands that run a workload.
pub(crate) const STORED: &[Flag] =
    &[OUT, LABEL, VERBOSE, QUIET, JSON, EVENTS, UI, UI_CONTROL, METRICS_LISTEN, OTLP];
/// For `run` and `load`.
pub(crate) const PLAN: Flag =
    flag("--plan", "Print the plan as JSON and exit without connecting").once();
/// Also for `run` and `check`.
pub(crate) const INSERT: Flag = flag(
    "--insert <MODE>",
    "Insert with MODE, one of the target's insert modes [default: the target's first]",
);
/// For `size` and `check`.
pub(crate) const MODEL: Flag = flag(
    "--model <MODEL>",
    "Predict with this scaling model alone, and warn if too few sizes were measured for it: \
     linear, affine, amdahl, usl, or power [default: the last three, averaged]",
);
/// For `find` and `tune`.
pub(crate) const BUDGET: Flag = flag(
    "--budget <DURATION>",
    "Limit the time of all probes together. When it runs short, the best candidate is confirmed \
     if time allows",
)
.default("1h");
/// For `run`, `find`, and `tune`.
pub(crate) const DRY_RUN: Flag =
    flag("--dry-run", "Print the planned runs and their duration, then exit").once();
/// For all commands that run a workload.
pub(crate) const SESSIONS: Flag = flag(
    "-c, --sessions <N>",
    "Use N sessions. In closed load, each sends its next op when the previous one completes; \
     with --rate, N limits the ops in flight [default: set by the target's driver]",
);
pub(crate) const RATE: Flag = flag(
    "-R, --rate <RATE>",
    "Offer RATE per second (open load), in the unit of the first stream (rows for inserts, \
     queries for queries), such as 50k [default: as fast as the sessions go]",
);
pub(crate) const THINK: Flag = flag(
    "--think <DURATION>",
    "Pause each closed session for DURATION between a response and its next op, such as 1s \
     [default: no pause]",
);
pub(crate) const ARRIVALS: Flag = flag(
    "--arrivals <KIND>",
    "Space the ops of a rate evenly (constant) or randomly (poisson) [default: set by the \
     workload]",
);
pub(crate) const TIMEOUT: Flag =
    flag("--timeout <DURATION>", "Time out an op after DURATION").default("30s");
pub(crate) const RETRIES: Flag = flag(
    "--retries <N>",
    "Retry a failed op up to N times, if it is certain that it was not applied",
)
.default("0");
pub(crate) const LITERALS: Flag = flag(
    "--literals",
    "Send queries unprepared, with values in the SQL text, like clients without parameters. \
     Inserted rows are still sent as parameters",
);
pub(crate) const WARM_UP: Flag = flag(
    "--warm-up <DURATION>",
    "Run for DURATION before measuring. With `steady`, run until throughput is steady over the \
     latter half of the warm-up, for at most 2m; with `steady:DURATION`, for at most DURATION",
)
.default("2s");
pub(crate) const SHARED: &[Flag] = &[
    flag(
        "--share <i/n>",
        "Run part i of n of the plan; `auto` takes both from the program that starts the load generators, such as \
         srun, mpirun, or a Kubernetes indexed Job. Shares begin together, and end as one run",
    )
    .default("1/1"),
    flag(
        "--wait-for-shares <DURATION>",
        "End with exit code 3 if a share has not come within DURATION",
    )
    .default("1m"),
];
pub(crate) const ROWS: Flag = flag("--rows <N>", "Stop after sending N rows [default: no limit]");
pub(crate) const TUNED: Flag = flag(
    "--tuned <RUN>",
    "Use the settings found by this `highwater tune` run (directory or ID). Flags override them",
)
.reach(Reach::File);
/// For commands that load a cluster without changing its size.
pub(crate) const CLUSTER: Flag = flag(
    "--cluster <FILE>",
    "Load the cluster of this cluster file that `highwater cluster up` started: its URLs are the \
     target, and the CPU use of its nodes is measured against their quotas",
)
.reach(Reach::Shell);
pub(crate) const MIN_RATE: Flag = flag(
    "--min-rate <RATE>",
    "Require at least RATE acknowledged per second, in the stream's unit, such as 50k",
);
pub(crate) const MAX_CPU: Flag = flag(
    "--max-cpu <PERCENT>",
    "Require every target node's CPU use over the measured time to be at most PERCENT, such \
     as 80%",
);
/// Acts on the cluster during a load.
pub(crate) const FAULT: Flag = flag(
        "--fault <ACTIONS>...",
        "Act on the target's cluster during the load, and show what it did to it: 'kill node 2 at 30s, start it at 1m', \
         'pause node 1 for 5s at 20s', stop, restart, 'rolling restart at 30s', 'throttle cpu of node 2 to 0.2 for 30s at \
         1m' (with --cluster), \"sql 'STATEMENT' at 30s\", or \"run 'COMMAND' at 30s\". Times count from the start of \
         the measurement",
    )
    .reach(Reach::Shell);
/// For commands with actions on the cluster.
pub(crate) const OF_FAULTS: &[Flag] = &[
    flag(
        "--recover-within <DURATION>",
        "Require the full rate within DURATION of each action of --fault that the load feels",
    ),
    flag(
        "--during <rate>PERCENT>",
        "Require more than PERCENT of the offered rate in each second after an action of --fault, \
         such as 'rate>50%'",
    ),
    flag(
        "--lost <N>",
        "Allow the actions of --fault to lose N acknowledged rows; more are wrong data",
    )
    .default("0"),
];
pub(crate) const AUDIT_TIMEOUT: Flag =
    flag("--audit-timeout <DURATION>", "Stop the audit after DURATION").default("10m");
pub(crate) const FILE: Flag = flag(
    "-f, --file <FILE[@WEIGHT]>...",
    "Run your own workload file (.toml), or SQL files (.sql) with one statement or one \
     BEGIN…END transaction each, on your own tables. Repeat with weights for a mix",
)
.reach(Reach::File);
pub(crate) const SET: Flag = flag(
    "--set <NAME=VALUE>...",
    "Set a workload parameter. Parameters of built-in workloads are also flags, such as \
     --read-percent 0",
);
/// The workload and its tables.
pub(crate) const TABLES: &[Flag] = &[
    FILE,
    SET,
    flag(
        "--batch <N>",
        "Insert N rows per batch (same as --set batch=N) [default: set by the workload]",
    ),
    INSERT,
    flag(
        "--shards <N>",
        "Create each table with N shards, if the target has shards (same as --set shards=N) \
         [default: set by the workload]",
    ),
    flag(
        "--replicas <N>",
        "Create N replicas of each shard, such as 1 or 0-1, if the target has shards (same as \
         --set replicas=N) [default: set by the workload]",
    ),
    flag("--with <NAME=VALUE>...", "Create tables WITH (NAME = 'VALUE')").reach(Reach::Outside),
    flag(
        "--seed <N>",
        "Generate all random values from seed N. The same seed gives the same rows and ops",
    )
    .default("42"),
];
/// How existing tables and metrics are handled.
pub(crate) const RUNNING: &[Flag] = &[
    flag(
        "--drop",
        "Drop and recreate the workload's tables if Highwater created them. Without --drop, \
         tables that hold this workload are continued",
    ),
    flag("--drop-foreign <TABLE>...", "Drop TABLE even though Highwater did not create it")
        .once()
        .reach(Reach::Outside),
    flag(
        "--no-disk-guard",
        "Do not check free disk space: neither reject a run that may not fit, nor stop it when \
         the disk fills up",
    ),
    flag("--no-telemetry", "Do not poll the target and its host for metrics (once per second)"),
    flag(
        "--metrics <URL>...",
        "Also poll this Prometheus text endpoint, such as http://host:9100/metrics",
    )
    .next(Next::RepeatedUrl)
    .reach(Reach::Outside),
    flag(
        "--metric <NAME=METRIC>...",
        "Read METRIC from the --metrics endpoints as NAME. METRIC can select labels \
         (m{state=\"x\"}); NAME[LABEL] makes one series per label value [default: metrics of \
         well-known exporters]",
    ),
];
/// The objectives of a run.
pub(crate) const BOUNDS: &[Flag] = &[
    flag("--p50 <DURATION>...", "Require p50 latency (the median) of at most DURATION"),
    flag("--p90 <DURATION>...", "Require p90 latency of at most DURATION"),
    flag("--p95 <DURATION>...", "Require p95 latency of at most DURATION"),
    flag(
        "--p99 <DURATION>...",
        "Require p99 latency of at most DURATION for each op, or for only one op or stream, such \
         as 'insert<50ms'. The other percentile flags accept the same",
    ),
    flag("--p999 <DURATION>...", "Require p99.9 latency of at most DURATION"),
    flag(
        "--row-p99 <DURATION>",
        "Require p99 row latency (latency plus the wait for the batch to fill) of at most DURATION",
    ),
    flag(
        "--errors <PERCENT>",
        "Allow at most PERCENT of offered ops to fail or be dropped, such as 0.1% [default: 1% of those \
         sent may fail; find and tune: 0]",
    ),
    flag(
        "--rejected <PERCENT>",
        "Allow the target to reject at most PERCENT of ops for lack of capacity, such as 0 or 0.1%",
    ),
    flag(
        "--steady-within <PERCENT>",
        "Treat throughput as steady if its drift over the measured phase is shown to be within \
         PERCENT",
    )
    .default("10%"),
    flag("--require-steady", "Exit with 3 unless throughput is shown to be steady"),
];
/// For each run.
pub(crate) const AUDITED: &[Flag] = &[
    flag(
        "--audit <LEVEL>",
        "Compare the database with what it acknowledged: count (rows per key bucket), sums (also \
         checksums of all values, and a sample read back), full (every row read back), or off",
    )
    .default("sums"),
    AUDIT_TIMEOUT,
];

/// The arguments with every such flag replaced by `--set`; `None` if there is none.
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

/// The parameter that a word names as a flag, and its value if the word contains it.
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

/// The text below the list of commands.
pub(super) const TOP: &str = "\
Examples:
  highwater demo                                   search, growth, and sizing in one demo
  highwater run                                    as fast as an embedded database goes, 20 s
  highwater run cpu $URL --rate 50k --p99 50ms     a gate: exit code 1 if it is missed
  highwater find cpu $URL --p99 100ms              the highest rate with p99 ≤ 100 ms
  highwater show                                   the latest run again
  highwater size 1M --from highwater-runs          the cluster for a million rows per second

`highwater run --help` shows the main flags of a command, `--help-all` all of them.";

/// The other sources of settings.
pub(super) const SETTINGS: &str = "\
Numbers take k, M, and G; durations ns, us, ms, s, m, and h, also combined (1h30m).

Precedence: command line, then HIGHWATER_* variables, then the file of --config, highwater.toml \
in the working directory, and ~/.config/highwater/config.toml. A variable is HIGHWATER_ and the \
flag's name (HIGHWATER_RATE=50k, HIGHWATER_WARM_UP=5s); lists are separated by spaces, in \
HIGHWATER_TARGET also by commas. Keys of a file are the long flag names, at the top for all \
commands, or in a table named after one command. highwater.toml names no target, sink, or \
command.

Highwater removes a password in a target URL from the process title at startup. Passwords from a \
prompt or the environment never appear there.";

/// The end of a short help: where to find the rest.
pub(super) fn more(command: &CommandSpec) -> String {
    let hidden = if command.main_flags.is_some() { "all flags, " } else { "" };
    format!(
        "`highwater {} --help-all` shows {hidden}settings from the environment and file, and exit codes.",
        command.name
    )
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
        // A flag of the command itself is not a parameter, and other commands have no parameters.
        assert_eq!(settings(&["run", "kv", "--batch", "10"]), None);
        assert_eq!(settings(&["compare", "--read-percent", "0"]), None);
    }
}
