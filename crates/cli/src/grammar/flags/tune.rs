//! What `tune` alone has of flags.

use super::find::{BUDGET, DRY_RUN};
use super::{Flag, switch, value};

const HEADING: &str = "Tuning";

/// Flags of `tune` alone.
pub const TUNING: &[Flag] = &[
    value(
        "over",
        "AXIS=VALUES",
        "Vary this: batch, sessions, shards, replicas, rows (of the workload, loaded before), \
         with.NAME (a setting of new tables) or sim.NAME (a parameter of the simulated cluster); \
         values are a list (3,9,12) or a range, which doubles (500..32k), or steps by one for \
         replicas and sim.nodes (1..5) [required]",
    )
    .repeats()
    .under(HEADING),
    value(
        "by",
        "FIGURE",
        "What the best cell has most of: throughput; or least of: server_cpu_per_row, \
         disk_bytes_per_row",
    )
    .default("throughput")
    .under(HEADING),
    value(
        "probe",
        "DURATION",
        "How long each cell is measured [default: 20s; 5s with --quick]",
    )
    .under(HEADING),
    value(
        "settle",
        "DURATION",
        "Leave the target alone for so long before each cell [default: 5s; 1s with --quick]",
    )
    .under(HEADING),
    BUDGET.under(HEADING),
    value(
        "resume",
        "RUN",
        "Go on with this tuning, by directory or id: its cells are not measured again; all other \
         flags must be the same but the budget [default: a new one]",
    )
    .under(HEADING),
    switch("quick", "Shorter cells: a rough answer, soon").under(HEADING),
    DRY_RUN.under(HEADING),
];
