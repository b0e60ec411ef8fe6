//! Flags of `size`.

use super::flag::{Flag, switch, value};
use super::shared::{CLUSTER, CONDITIONS, FIGURES, MODEL, NO_COLOR, OUT, OUTPUT, STORAGE};

/// Flags of `size`.
pub const SIZE: &[Flag] = &[
    value(
        "from",
        "FILE|RUN",
        "Use measured throughputs from a CSV file, a run, or a directory of runs [default: \
         --assume alone]",
    )
    .repeats()
    .under(FIGURES),
    value(
        "series",
        "NAME",
        "Use only this series of the files, by name or unique prefix [default: the only one of \
         its unit]",
    )
    .repeats()
    .under(FIGURES),
    value(
        "assume",
        "NAME",
        "Assume that throughput grows as published clusters did, and take the throughputs of this \
         published series if --from gives none. Give it once for rows and once for queries",
    )
    .repeats()
    .under(FIGURES),
    value(
        "nodes",
        "N",
        "Set the number of nodes of the measured cluster, if a run or file does not state it",
    )
    .under(FIGURES),
    value(
        "error",
        "PERCENT",
        "Set the standard deviation of one measurement, at least 3% [default: from sizes measured \
         several times, else 3%]",
    )
    .under(FIGURES),
    value(
        "replica-cost",
        "PERCENT",
        "Set the cost of writing a replica, relative to the primary [default: as measured, else \
         100% for rows and 0% for queries]",
    )
    .old_name("copy-cost")
    .under(FIGURES),
    MODEL,
    value(
        "squares",
        "KIND",
        "Minimize relative or absolute squares in the fits shown; predictions do not depend on it",
    )
    .default("relative")
    .under(FIGURES),
    switch(
        "extrapolate",
        "Allow plans beyond twice the largest measured size; the plan is marked",
    )
    .under(FIGURES),
    value(
        "p99",
        "DURATION",
        "Use only points with p99 latency of at most DURATION",
    )
    .under(CONDITIONS),
    value(
        "confidence",
        "PERCENT",
        "Plan enough nodes with a probability of at least PERCENT",
    )
    .old_name("chance")
    .default("95%")
    .under(CONDITIONS),
    value("headroom", "PERCENT", "Keep PERCENT of the capacity free")
        .old_name("spare")
        .default("0%")
        .under(CONDITIONS),
    value(
        "growth",
        "PERCENT",
        "Let the rates grow by PERCENT per month",
    )
    .default("0%")
    .under(CONDITIONS),
    value(
        "months",
        "N",
        "Plan a cluster that is still large enough in N months",
    )
    .default("12")
    .under(CONDITIONS),
    value(
        "tolerate-failures",
        "N",
        "Sustain the rates while N nodes are down",
    )
    .old_name("survive")
    .default("0")
    .under(CONDITIONS),
    value(
        "replicas",
        "N",
        "Plan N replicas of each shard [default: as measured, and at least --tolerate-failures]",
    )
    .under(CLUSTER),
    value(
        "vcpus",
        "N",
        "Plan nodes with N vCPUs; throughput is scaled in proportion [default: as measured]",
    )
    .under(CLUSTER),
    value(
        "price",
        "AMOUNT",
        "Set the price of one node for one hour, such as 0.80",
    )
    .under(CLUSTER),
    value(
        "shards-per-vcpu",
        "N",
        "Plan N primary shards being written per vCPU [default: as the database's vendor advises]",
    )
    .under(CLUSTER),
    value(
        "shard-size",
        "BYTES",
        "Keep shards at or below BYTES, such as 50GB [default: as the database's vendor advises]",
    )
    .under(CLUSTER),
    value(
        "disk-fill",
        "PERCENT",
        "Fill disks to at most PERCENT [default: as the database's vendor advises]",
    )
    .under(CLUSTER),
    value(
        "retention",
        "DURATION",
        "Keep rows for DURATION, such as 90d, 12w, or 2y [default: disk is not sized]",
    )
    .under(STORAGE),
    value(
        "bytes-per-row",
        "BYTES",
        "Set the size of one copy of a row on disk [default: as measured, else disk is not sized]",
    )
    .under(STORAGE),
    value(
        "sent-bytes-per-row",
        "BYTES",
        "Set the size of a row as sent [default: as stated in the files, else network is not \
         sized]",
    )
    .under(STORAGE),
    value(
        "bytes-per-answer",
        "BYTES",
        "Set the size of a query's response [default: network is not sized]",
    )
    .under(STORAGE),
    switch("json", "Print the plan as JSON instead of the report").under(OUTPUT),
    value(
        "html",
        "FILE",
        "Also write the plan as an HTML page to FILE",
    )
    .under(OUTPUT),
    OUT,
    NO_COLOR,
];
