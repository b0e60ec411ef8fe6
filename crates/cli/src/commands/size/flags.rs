//! Flags of `size`.

use crate::grammar::flags::{CONFIG, FIGURES, MODEL, NO_COLOR, OUT, OUTPUT, VERBOSE};
use crate::grammar::{Flag, Reach, flag};

/// The flags, grouped by heading.
pub(super) const FLAGS: &[(&str, &[Flag])] = &[
    (FIGURES, FIGURES_FLAGS),
    ("Conditions", CONDITIONS_FLAGS),
    ("Cluster", CLUSTER_FLAGS),
    ("Rows and responses", ROWS_AND_RESPONSES_FLAGS),
    (OUTPUT, OUTPUT_FLAGS),
];

const FIGURES_FLAGS: &[Flag] = &[
    flag(
        "--from <FILE|RUN>...",
        "Use measured throughputs from a CSV file, a run, or a directory of runs [default: \
         --assume alone]",
    )
    .reach(Reach::File),
    flag(
        "--series <NAME>...",
        "Use only this series of the files, by name or unique prefix [default: the only one of \
         its unit]",
    ),
    flag(
        "--assume <NAME>...",
        "Assume that throughput grows as published clusters did, as is done with one measured size, \
         and take the throughputs of this published series if --from gives none. Give it once for \
         rows and once for queries",
    ),
    flag(
        "--nodes <N>",
        "Set the number of nodes of the measured cluster, if a run or file does not state it",
    ),
    flag(
        "--error <PERCENT>",
        "Set the standard deviation of one measurement, at least 3% [default: from sizes measured \
         several times, else 3%]",
    ),
    flag(
        "--replica-cost <PERCENT>",
        "Set the cost of writing a replica, relative to the primary [default: as measured, else \
         67% for rows, 5% to 122%, and 0% for queries]",
    ),
    MODEL,
    flag(
        "--squares <KIND>",
        "Minimize relative or absolute squares in the fits shown; predictions do not depend on it",
    )
    .default("relative"),
];

const CONDITIONS_FLAGS: &[Flag] = &[
    flag(
        "--p99 <DURATION>...",
        "Use only points with p99 latency of at most DURATION; the last one counts",
    ),
    flag("--confidence <PERCENT>", "Plan enough nodes with a probability of at least PERCENT")
        .default("95%"),
    flag("--headroom <PERCENT>", "Keep PERCENT of the capacity free").default("0%"),
    flag("--growth <PERCENT>", "Let the rates grow by PERCENT per month").default("0%"),
    flag("--months <N>", "Plan a cluster that is still large enough in N months").default("12"),
    flag("--tolerate-failures <N>", "Sustain the rates while N nodes are down").default("0"),
];

const CLUSTER_FLAGS: &[Flag] = &[
    flag(
        "--replicas <N>",
        "Plan N replicas of each shard [default: as measured, and at least --tolerate-failures]",
    ),
    flag(
        "--vcpus <N>",
        "Plan nodes with N vCPUs; throughput is scaled in proportion [default: as measured]",
    ),
    flag(
        "--price <AMOUNT>",
        "Set the price of one node for one hour, such as 0.80, or of one vCPU where sizes count vCPUs",
    ),
    flag(
        "--shards-per-vcpu <N>",
        "Plan N primary shards being written per vCPU [default: as the database's vendor advises]",
    ),
    flag(
        "--shard-size <BYTES>",
        "Keep shards at or below BYTES, such as 50GB [default: as the database's vendor advises]",
    ),
    flag(
        "--disk-fill <PERCENT>",
        "Fill disks to at most PERCENT [default: as the database's vendor advises]",
    ),
];

const ROWS_AND_RESPONSES_FLAGS: &[Flag] = &[
    flag(
        "--retention <DURATION>",
        "Keep rows for DURATION, such as 90d, 12w, or 2y [default: disk is not sized]",
    ),
    flag(
        "--bytes-per-row <BYTES>",
        "Set the size of one copy of a row on disk [default: as measured, else disk is not sized]",
    ),
    flag(
        "--sent-bytes-per-row <BYTES>",
        "Set the size of a row as sent [default: as stated in the files, else network is not \
         sized]",
    ),
    flag(
        "--bytes-per-answer <BYTES>",
        "Set the size of a query's response [default: network is not sized]",
    ),
];

const OUTPUT_FLAGS: &[Flag] = &[
    VERBOSE,
    flag("--json", "Print the plan as JSON instead of the report"),
    flag("--html <FILE>", "Also write the plan as an HTML page to FILE").reach(Reach::File),
    OUT,
    CONFIG,
    NO_COLOR,
];
