//! Flags of `tune` alone.

use super::flag::{Flag, switch, value};
use super::shared::{BUDGET, DRY_RUN};

const HEADING: &str = "Tuning";

/// Flags of `tune` alone.
pub const TUNING: &[Flag] = &[
    value(
        "over",
        "AXIS=VALUES",
        "Vary AXIS: batch, sessions, shards, replicas, rows (preloaded), with.NAME \
         (a setting of new tables), or sim.NAME (a parameter of the simulated cluster). VALUES is \
         a list (3,9,12) or a range, which doubles (500..32k), or steps by one for replicas and \
         sim.nodes (1..5) [required]",
    )
    .repeats()
    .under(HEADING),
    value(
        "by",
        "FIGURE",
        "Choose the configuration with the highest throughput, or with the lowest \
         server_cpu_per_row or disk_bytes_per_row",
    )
    .default("throughput")
    .under(HEADING),
    value(
        "probe",
        "DURATION",
        "Measure each trial for DURATION [default: 20s; 5s with --quick]",
    )
    .under(HEADING),
    value(
        "settle",
        "DURATION",
        "Leave the target idle for DURATION before each trial [default: 5s; 1s with --quick]",
    )
    .under(HEADING),
    BUDGET.under(HEADING),
    value(
        "resume",
        "RUN",
        "Resume this tuning (directory or ID) without repeating its trials. All other flags must \
         be the same, except --budget [default: start a new one]",
    )
    .under(HEADING),
    switch("quick", "Use shorter trials for a rough result").under(HEADING),
    DRY_RUN.under(HEADING),
];
