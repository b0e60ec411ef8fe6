//! Flags of `tune`: those of the tuning, and of `run` what concerns each cell.

use super::find::of_run;
use super::{Flag, INSERT, NO_COLOR, OUT, switch, value};

const TUNING: &str = "Tuning";

/// Flags of `tune`.
pub const TUNE: &[Flag] = &[
    value(
        "over",
        "AXIS=VALUES",
        "Vary this: batch, sessions, shards, replicas, rows (of the workload, loaded before), \
         with.NAME (a setting of new tables) or sim.NAME (a parameter of the simulated cluster); \
         values are a list (3,9,12) or a range, which doubles (500..32k), or steps by one for \
         replicas and sim.nodes (1..5) [required]",
    )
    .repeats()
    .under(TUNING),
    value(
        "by",
        "FIGURE",
        "What the best cell has most of: throughput; or least of: server_cpu_per_row, \
         disk_bytes_per_row",
    )
    .default("throughput")
    .under(TUNING),
    value(
        "probe",
        "DURATION",
        "How long each cell is measured [default: 20s; 5s with --quick]",
    )
    .under(TUNING),
    value(
        "settle",
        "DURATION",
        "Leave the target alone for so long before each cell [default: 5s; 1s with --quick]",
    )
    .under(TUNING),
    value(
        "budget",
        "DURATION",
        "Time for the whole tuning; when it runs out, the best so far is confirmed while there is \
         time for that",
    )
    .default("1h")
    .under(TUNING),
    value(
        "resume",
        "RUN",
        "Go on with this tuning, by directory or id: its cells are not measured again; all other \
         flags must be the same but the budget [default: a new one]",
    )
    .under(TUNING),
    switch("quick", "Shorter cells: a rough answer, soon").under(TUNING),
    switch(
        "dry-run",
        "Say what would be done and how long it takes, and stop",
    )
    .under(TUNING),
    of_run("sessions"),
    of_run("rate"),
    of_run("arrivals"),
    of_run("timeout"),
    of_run("retries"),
    of_run("literals"),
    of_run("warm-up"),
    of_run("file"),
    of_run("set"),
    of_run("batch"),
    of_run("shards"),
    of_run("replicas"),
    of_run("with"),
    of_run("seed"),
    of_run("drop"),
    of_run("drop-foreign"),
    of_run("no-disk-guard"),
    INSERT,
    of_run("p50"),
    of_run("p90"),
    of_run("p95"),
    of_run("p99"),
    of_run("p999"),
    of_run("row-p99"),
    of_run("errors"),
    of_run("rejected"),
    of_run("max-cpu"),
    of_run("audit"),
    of_run("audit-timeout"),
    OUT,
    of_run("label"),
    of_run("quiet"),
    of_run("json"),
    NO_COLOR,
];
