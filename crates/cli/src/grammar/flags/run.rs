//! Flags of `run`, some of which `load`, `find` and `tune` share.

use super::flag::{Flag, switch, value};
use super::shared::{
    AUDIT, DATA, EVENTS, INSERT, JSON, LABEL, LENGTH, LOAD, NO_COLOR, OBJECTIVES, OUT, OUTPUT,
    QUIET, REPEATS, SHARES,
};

const TUNED: Flag = value(
    "tuned",
    "RUN",
    "Use the settings found by this `highwater tune` run (directory or ID). Flags override them",
)
.under(DATA);

/// Flags of `run`.
pub const RUN: &[Flag] = &[
    value(
        "sessions",
        "N",
        "Use N sessions. In closed load, each sends its next op when the previous one completes; \
         with --rate, N limits the ops in flight [default: set by the target's driver]",
    )
    .short('c')
    .under(LOAD),
    value(
        "rate",
        "RATE",
        "Offer RATE per second (open load), in the unit of the first stream (rows for inserts, \
         queries for queries), such as 50k [default: as fast as the sessions go]",
    )
    .short('R')
    .under(LOAD),
    value(
        "stream",
        "NAME[@PACE[,PACE…]]",
        "Run stream NAME at PACE: a rate per second in the stream's unit (1k, 50/s), 8c for 8 \
         closed sessions, or max for the default sessions. Several paces run as steps [default: \
         the first stream, max]",
    )
    .repeats()
    .under(LOAD),
    value(
        "arrivals",
        "KIND",
        "Space the ops of a rate evenly (constant) or randomly (poisson) [default: set by the \
         workload]",
    )
    .under(LOAD),
    value(
        "spawn-rate",
        "N",
        "Start N closed sessions per second, in a separate phase before the warm-up [default: all \
         at once]",
    )
    .under(LOAD),
    value(
        "control",
        "FILE",
        "Obey commands while the load runs (change a rate or the sessions, note, stop): one JSON \
         object per line, from FILE, such as a named pipe, or from standard input (-)",
    )
    .under(LOAD),
    value("timeout", "DURATION", "Time out an op after DURATION")
        .default("30s")
        .under(LOAD),
    value(
        "retries",
        "N",
        "Retry a failed op up to N times, if it is certain that it was not applied",
    )
    .default("0")
    .under(LOAD),
    switch(
        "literals",
        "Send queries unprepared, with values in the SQL text, like clients without parameters. \
         Inserted rows are still sent as parameters",
    )
    .under(LOAD),
    value(
        "duration",
        "DURATION",
        "Measure for DURATION, or for MIN..MAX with --until",
    )
    .short('d')
    .default("10s")
    .under(LENGTH),
    value(
        "step",
        "DURATION",
        "Measure each step for DURATION, if a stream has several paces [default: --duration]",
    )
    .under(LENGTH),
    value("warm-up", "DURATION", "Run for DURATION before measuring")
        .default("2s")
        .under(LENGTH),
    value("rows", "N", "Stop after sending N rows [default: no limit]").under(LENGTH),
    value(
        "until",
        "PREDICATE",
        "Stop early when PREDICATE holds: 'ci95<1%' (half-width of the throughput's 95% \
         confidence interval) or 'errors>100' (failed ops)",
    )
    .under(LENGTH),
    value(
        "file",
        "FILE[@WEIGHT]",
        "Run your own workload file (.toml), or SQL files (.sql) with one statement or one \
         BEGIN…END transaction each, on your own tables. Repeat with weights for a mix",
    )
    .short('f')
    .repeats()
    .under(DATA),
    value(
        "set",
        "NAME=VALUE",
        "Set a workload parameter. Parameters of built-in workloads are also flags, such as \
         --read-percent 0",
    )
    .repeats()
    .under(DATA),
    value(
        "batch",
        "N",
        "Insert N rows per batch (same as --set batch=N) [default: set by the workload]",
    )
    .under(DATA),
    INSERT,
    value(
        "shards",
        "N",
        "Create each table with N shards, if the target has shards (same as --set shards=N) \
         [default: set by the workload]",
    )
    .under(DATA),
    value(
        "replicas",
        "N",
        "Create N replicas of each shard, such as 1 or 0-1, if the target has shards (same as \
         --set replicas=N) [default: set by the workload]",
    )
    .under(DATA),
    value("with", "NAME=VALUE", "Create tables WITH (NAME = 'VALUE')")
        .repeats()
        .under(DATA),
    value(
        "seed",
        "N",
        "Generate all random values from seed N. The same seed gives the same rows and ops",
    )
    .default("42")
    .under(DATA),
    TUNED,
    switch(
        "drop",
        "Drop and recreate the workload's tables if Highwater created them. Without --drop, \
         tables that hold this workload are continued",
    )
    .under(DATA),
    value(
        "drop-foreign",
        "TABLE",
        "Drop TABLE even though Highwater did not create it",
    )
    .repeats()
    .under(DATA),
    switch(
        "no-disk-guard",
        "Do not check free disk space: neither reject a run that may not fit, nor stop it when \
         the disk fills up",
    )
    .under(DATA),
    switch(
        "no-telemetry",
        "Do not poll the target and its host for metrics (once per second)",
    )
    .under(DATA),
    value(
        "metrics",
        "URL",
        "Also poll this Prometheus text endpoint, such as http://host:9100/metrics",
    )
    .repeats()
    .under(DATA),
    value(
        "metric",
        "NAME=METRIC",
        "Read METRIC from the --metrics endpoints as NAME. METRIC can select labels \
         (m{state=\"x\"}); NAME[LABEL] makes one series per label value [default: metrics of \
         well-known exporters]",
    )
    .repeats()
    .under(DATA),
    value(
        "p50",
        "DURATION",
        "Require p50 latency (the median) of at most DURATION",
    )
    .under(OBJECTIVES),
    value("p90", "DURATION", "Require p90 latency of at most DURATION").under(OBJECTIVES),
    value("p95", "DURATION", "Require p95 latency of at most DURATION").under(OBJECTIVES),
    value("p99", "DURATION", "Require p99 latency of at most DURATION").under(OBJECTIVES),
    value(
        "p999",
        "DURATION",
        "Require p99.9 latency of at most DURATION",
    )
    .under(OBJECTIVES),
    value(
        "row-p99",
        "DURATION",
        "Require p99 row latency (latency plus the wait for the batch to fill) of at most DURATION",
    )
    .under(OBJECTIVES),
    value(
        "errors",
        "PERCENT",
        "Allow at most PERCENT of offered ops to fail or be dropped, such as 0.1%",
    )
    .under(OBJECTIVES),
    value(
        "rejected",
        "PERCENT",
        "Allow the target to reject at most PERCENT of ops for lack of capacity, such as 0 or 0.1%",
    )
    .under(OBJECTIVES),
    value(
        "min-rate",
        "RATE",
        "Require at least RATE acknowledged per second, in the stream's unit, such as 50k",
    )
    .old_name("floor")
    .under(OBJECTIVES),
    value(
        "max-cpu",
        "PERCENT",
        "Require every target node's CPU use over the measured time to be at most PERCENT, such \
         as 80%",
    )
    .old_name("cpu")
    .under(OBJECTIVES),
    value(
        "audit",
        "LEVEL",
        "Compare the database with what it acknowledged: count (rows per key bucket), sums (also \
         checksums of all values, and a sample read back), full (every row read back), or off",
    )
    .default("sums")
    .under(AUDIT),
    value("audit-timeout", "DURATION", "Stop the audit after DURATION")
        .default("10m")
        .under(AUDIT),
    value(
        "share",
        "i/n",
        "Run part i of n of the plan. Merge the records with `highwater show`",
    )
    .default("1/1")
    .under(SHARES),
    value(
        "start-at",
        "TIME",
        "Start at a time (2026-11-20T18:30:00Z) or after a delay (+10s) [default: now]",
    )
    .under(SHARES),
    value(
        "repeat",
        "N",
        "Run N times, in one directory, so that `highwater compare` can see run-to-run variation",
    )
    .default("1")
    .under(REPEATS),
    value(
        "interleave",
        "TARGET",
        "Alternate runs with this second target and compare the two",
    )
    .under(REPEATS),
    value(
        "variant",
        "NAME=COMMAND",
        "Run COMMAND in a shell before each run of variant NAME, for example to restart the \
         target with another configuration. Give two or more to compare them",
    )
    .repeats()
    .under(REPEATS),
    OUT,
    LABEL,
    QUIET,
    JSON,
    EVENTS,
    switch("plan", "Print the plan as JSON and exit without connecting").under(OUTPUT),
    NO_COLOR,
];
