//! The table of flags: the one list behind the parser, the help, the environment and the file.
//!
//! A default stands here as text and is parsed like any other text, so the help cannot drift.

/// A flag, and at the same time a setting of `highwater.toml` and of the environment.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Long name without dashes.
    pub name: &'static str,
    /// Short name.
    pub short: Option<char>,
    /// Another long name, on the command line only.
    pub alias: Option<&'static str>,
    /// What stands for its value in the help; `None` for a switch.
    pub value: Option<&'static str>,
    /// Whether it may be given several times.
    pub repeats: bool,
    /// The value without which the help would be incomplete and the setting absent.
    pub default: Option<&'static str>,
    /// Heading of the help under which it stands.
    pub heading: &'static str,
    /// One or two sentences with the unit, and with the default where it is not a text.
    pub help: &'static str,
}

const fn value(name: &'static str, value: &'static str, help: &'static str) -> Flag {
    Flag {
        name,
        short: None,
        alias: None,
        value: Some(value),
        repeats: false,
        default: None,
        heading: "",
        help,
    }
}

const fn switch(name: &'static str, help: &'static str) -> Flag {
    Flag {
        value: None,
        ..value(name, "", help)
    }
}

impl Flag {
    const fn short(self, short: char) -> Self {
        Self {
            short: Some(short),
            ..self
        }
    }

    const fn alias(self, alias: &'static str) -> Self {
        Self {
            alias: Some(alias),
            ..self
        }
    }

    const fn default(self, default: &'static str) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }

    const fn repeats(self) -> Self {
        Self {
            repeats: true,
            ..self
        }
    }

    const fn under(self, heading: &'static str) -> Self {
        Self { heading, ..self }
    }
}

mod find;
mod size;
mod tune;

pub use find::{DEMO, SEARCHING};
pub use size::SIZE;
pub use tune::TUNING;

const LOAD: &str = "Load";
const LENGTH: &str = "Length";
const DATA: &str = "Workload";
const OBJECTIVES: &str = "Objectives (exit code 1 if one is missed)";
const AUDIT: &str = "Audit";
const SHARES: &str = "Several load generators";
const REPEATS: &str = "Several runs";
const FIGURES: &str = "Figures";
const CONDITIONS: &str = "Conditions";
const CLUSTER: &str = "Cluster";
const STORAGE: &str = "Rows and answers";
const OUTPUT: &str = "Output";

const OUT: Flag = value("out", "DIR", "Directory that holds one directory per run")
    .short('o')
    .default("highwater-runs")
    .under(OUTPUT);
const NO_COLOR: Flag = switch("no-color", "No colors, as with NO_COLOR set").under(OUTPUT);
const INSERT: Flag = value(
    "insert",
    "MODE",
    "Way to insert, one of the target's own [default: the target's first]",
)
.under(DATA);

const TUNED: Flag = value(
    "tuned",
    "RUN",
    "Take the settings that this `highwater tune` found, by directory or id; flags win over them \
     [default: none]",
)
.under(DATA);

const LAW: Flag = value(
    "law",
    "LAW",
    "The law of growth that is asked for, with too few sizes for it named: linear, affine, amdahl, \
     usl or power [default: all five, averaged]",
)
.under(FIGURES);

/// Flags of `run`.
pub const RUN: &[Flag] = &[
    value(
        "sessions",
        "N",
        "Sessions: each asks again when answered; with a rate, the most that work at once \
         [default: the target's own]",
    )
    .short('c')
    .under(LOAD),
    value(
        "rate",
        "RATE",
        "Offer a fixed rate per second, in the unit of the workload's first stream (rows for \
         ingest, queries for queries), such as 50k [default: as fast as the sessions go]",
    )
    .short('R')
    .under(LOAD),
    value(
        "stream",
        "NAME[@PACE[,PACE…]]",
        "Ask this stream of the workload at a pace: a rate per second in its own unit (1k, 50/s), \
         8c for 8 closed sessions, or max for the default sessions; several paces are steps \
         [default: the workload's first stream, max]",
    )
    .repeats()
    .under(LOAD),
    value(
        "arrivals",
        "KIND",
        "How the arrivals of a rate are spread: constant or poisson [default: the workload's own]",
    )
    .under(LOAD),
    value(
        "spawn-rate",
        "N",
        "Start so many closed sessions per second, in a phase of its own before the warm-up \
         [default: all at once]",
    )
    .under(LOAD),
    value("timeout", "DURATION", "Give an op up after this long")
        .default("30s")
        .under(LOAD),
    value(
        "retries",
        "N",
        "Ask a failed op again up to so many times, where it certainly was not applied",
    )
    .default("0")
    .under(LOAD),
    switch(
        "literals",
        "Send queries with their values in the text, unprepared, as clients without parameters do; \
         rows of inserts stay parameters",
    )
    .under(LOAD),
    value(
        "duration",
        "DURATION",
        "Measure this long; MIN..MAX together with --until",
    )
    .short('d')
    .default("10s")
    .under(LENGTH),
    value(
        "step",
        "DURATION",
        "Length of each step of a stream with several paces [default: the duration]",
    )
    .under(LENGTH),
    value(
        "warm-up",
        "DURATION",
        "Leave out this long at the beginning",
    )
    .default("2s")
    .under(LENGTH),
    value("rows", "N", "Stop after so many rows [default: no limit]").under(LENGTH),
    value(
        "until",
        "PREDICATE",
        "Stop early when this holds: 'ci95<1%' (half width of the throughput's 95 % confidence \
         interval) or 'errors>100' (failed ops) [default: never]",
    )
    .under(LENGTH),
    value(
        "file",
        "FILE[@WEIGHT]",
        "Own workload file (.toml), in place of a workload's name; or one statement, or one \
         transaction from BEGIN to END (.sql), on own tables, several with their weights for a mix \
         [default: none]",
    )
    .short('f')
    .repeats()
    .under(DATA),
    value(
        "set",
        "NAME=VALUE",
        "Set a parameter of the workload; those of the workloads that come with the program also \
         stand as flags, as --read-percent 0 [default: the workload's own]",
    )
    .repeats()
    .under(DATA),
    value(
        "batch",
        "N",
        "Rows per insert, the same as --set batch=N [default: the workload's own]",
    )
    .under(DATA),
    INSERT,
    value(
        "shards",
        "N",
        "Shards of each table, where the target has shards, the same as --set shards=N [default: \
         the workload's own]",
    )
    .under(DATA),
    value(
        "replicas",
        "N",
        "Replicas of each shard, such as 1 or 0-1, where the target has shards, the same as \
         --set replicas=N [default: the workload's own]",
    )
    .under(DATA),
    value(
        "with",
        "NAME=VALUE",
        "Setting of new tables, as in WITH (NAME = 'VALUE') of CREATE TABLE [default: none]",
    )
    .repeats()
    .under(DATA),
    value(
        "seed",
        "N",
        "Everything random derives from it; the same seed gives the same rows and ops",
    )
    .default("42")
    .under(DATA),
    TUNED,
    switch(
        "drop",
        "Drop the workload's tables first, if Highwater created them; without it, tables that hold \
         this workload are continued",
    )
    .under(DATA),
    value(
        "drop-foreign",
        "TABLE",
        "Drop this table although Highwater did not create it [default: none]",
    )
    .repeats()
    .under(DATA),
    switch(
        "no-disk-guard",
        "Neither refuse a run that may not fit on the target's disk, nor stop it when that fills",
    )
    .under(DATA),
    switch(
        "no-telemetry",
        "Do not ask the target and its host, once a second, what they say of themselves",
    )
    .under(DATA),
    value(
        "metrics",
        "URL",
        "Ask this endpoint, too, such as http://host:9100/metrics; it speaks the Prometheus text \
         format [default: none]",
    )
    .repeats()
    .under(DATA),
    value(
        "metric",
        "NAME=METRIC",
        "Read this metric from the endpoints of --metrics and call it so; METRIC may choose labels \
         (m{state=\"x\"}), NAME[LABEL] tells the values of a label apart [default: those of \
         well-known exporters]",
    )
    .repeats()
    .under(DATA),
    value("p50", "DURATION", "Greatest median latency [default: none]").under(OBJECTIVES),
    value("p90", "DURATION", "Greatest 90th percentile of latency [default: none]")
        .under(OBJECTIVES),
    value("p95", "DURATION", "Greatest 95th percentile of latency [default: none]")
        .under(OBJECTIVES),
    value("p99", "DURATION", "Greatest 99th percentile of latency [default: none]")
        .under(OBJECTIVES),
    value("p999", "DURATION", "Greatest 99.9th percentile of latency [default: none]")
        .under(OBJECTIVES),
    value(
        "row-p99",
        "DURATION",
        "Greatest 99th percentile of row latency, which adds waiting for the batch to fill \
         [default: none]",
    )
    .under(OBJECTIVES),
    value(
        "errors",
        "PERCENT",
        "Most failed or dropped ops, of those offered, such as 0.1% [default: none]",
    )
    .under(OBJECTIVES),
    value(
        "rejected",
        "PERCENT",
        "Most ops that the target rejects for lack of capacity, such as 0 or 0.1% [default: none]",
    )
    .under(OBJECTIVES),
    value(
        "min-rate",
        "RATE",
        "Least acknowledged rate per second, in the stream's unit, such as 50k [default: none]",
    )
    .alias("floor")
    .under(OBJECTIVES),
    value(
        "max-cpu",
        "PERCENT",
        "Greatest CPU use of any node of the target, over the measured time, such as 80% [default: none]",
    )
    .alias("cpu")
    .under(OBJECTIVES),
    value(
        "audit",
        "LEVEL",
        "What is compared with the database afterwards: count (rows per key bucket), sums (and \
         checksums of all values, a sample read back), full (every row read back) or off",
    )
    .default("sums")
    .under(AUDIT),
    value("audit-timeout", "DURATION", "Longest time for the audit")
        .default("10m")
        .under(AUDIT),
    value(
        "share",
        "i/n",
        "Take part i of n of the plan; `highwater show` merges the records",
    )
    .default("1/1")
    .under(SHARES),
    value(
        "start-at",
        "TIME",
        "Begin at a point in time (2026-11-20T18:30:00Z) or after a delay (+10s) [default: at once]",
    )
    .under(SHARES),
    value(
        "repeat",
        "N",
        "Run so many times, into a directory of their own, so that `highwater compare` knows what \
         differs from run to run",
    )
    .default("1")
    .under(REPEATS),
    value(
        "interleave",
        "TARGET",
        "Take turns with this second target, and compare both [default: none]",
    )
    .under(REPEATS),
    value(
        "variant",
        "NAME=COMMAND",
        "Let the shell execute this before each run of a variant, to restart the same target in \
         another configuration; two or more are compared [default: none]",
    )
    .repeats()
    .under(REPEATS),
    OUT,
    value("label", "KEY=VALUE", "Note this in the record [default: none]")
        .repeats()
        .under(OUTPUT),
    switch("quiet", "No progress, only the result")
        .short('q')
        .under(OUTPUT),
    switch("json", "Print the record as JSON instead of the summary").under(OUTPUT),
    switch("plan", "Print the plan as JSON and stop: nothing is connected").under(OUTPUT),
    NO_COLOR,
];

/// Flags of `show`.
pub const SHOW: &[Flag] = &[
    value(
        "format",
        "FORMAT",
        "text, json, csv, telemetry-csv, html or markdown",
    )
    .default("text")
    .under(OUTPUT),
    switch(
        "open",
        "Write the run's page, report.html in its directory, anew and show it in the browser",
    )
    .under(OUTPUT),
    OUT,
    NO_COLOR,
];

/// Flags of `compare`.
pub const COMPARE: &[Flag] = &[
    value(
        "practical",
        "PERCENT",
        "A difference that matters; a smaller one is equal",
    )
    .default("5%")
    .under(FIGURES),
    value(
        "fail-if-worse",
        "PERCENT",
        "End with exit code 1 if anything is worse, and with 3 if no verdict is possible; differences \
         from this on matter [default: none; verdicts change no exit code]",
    )
    .under(FIGURES),
    value("format", "FORMAT", "text, markdown or html")
        .default("text")
        .under(OUTPUT),
    OUT,
    NO_COLOR,
];

/// Flags of `import`.
pub const IMPORT: &[Flag] = &[
    value(
        "tool",
        "NAME",
        "The tool that wrote the files: pgbench, sysbench, k6, hdrhistogram or nodeingestbench \
         [default: told from their content]",
    )
    .under(FIGURES),
    value(
        "unit",
        "UNIT",
        "Unit of values that have none in their file, as in HdrHistogram's: ns, us, ms or s \
         [default: what the file says]",
    )
    .under(FIGURES),
    value(
        "label",
        "KEY=VALUE",
        "Note this in the record [default: none]",
    )
    .repeats()
    .under(OUTPUT),
    OUT,
    NO_COLOR,
];

/// Flags of `table`.
pub const TABLE: &[Flag] = &[
    value(
        "over",
        "NAME",
        "The setting that the rows of a table differ in: one [default: nodes if they vary, else \
         what varies most]",
    )
    .repeats()
    .under(FIGURES),
    value(
        "series",
        "NAME",
        "Take this series of the files, by name or unique beginning [default: all]",
    )
    .repeats()
    .under(FIGURES),
    switch("json", "Print tables and objections as JSON").under(OUTPUT),
    OUT,
    NO_COLOR,
];

/// Flags of `check`.
pub const CHECK: &[Flag] = &[INSERT, LAW, OUT, NO_COLOR];
