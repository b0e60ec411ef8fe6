//! Flags of `size`: a part of the table in the module above, and nothing else.

use super::{
    CLUSTER, CONDITIONS, FIGURES, Flag, LAW, NO_COLOR, OUT, OUTPUT, STORAGE, switch, value,
};

/// Flags of `size`.
pub const SIZE: &[Flag] = &[
    value(
        "from",
        "FILE|RUN",
        "Measured throughputs: a CSV file, a run, or a directory of runs [default: none, but \
         --assume]",
    )
    .repeats()
    .under(FIGURES),
    value(
        "series",
        "NAME",
        "Take this series of the files, by name or unique beginning [default: the only one of its \
         unit]",
    )
    .repeats()
    .under(FIGURES),
    value(
        "assume",
        "NAME",
        "Take the growth of a published series as an assumption, and its throughputs too where \
         nothing was measured; once for rows, once for queries [default: none]",
    )
    .repeats()
    .under(FIGURES),
    value(
        "nodes",
        "N",
        "Nodes of the measured cluster, where a run or file does not say [default: as stated]",
    )
    .under(FIGURES),
    value(
        "error",
        "PERCENT",
        "Standard deviation of one measurement, never taken below 3% [default: from sizes measured \
         several times, else 3%]",
    )
    .under(FIGURES),
    value(
        "copy-cost",
        "PERCENT",
        "Cost of writing a further copy, of that of the first [default: as measured, else 100% for \
         rows and 0% for queries]",
    )
    .under(FIGURES),
    LAW,
    value(
        "squares",
        "KIND",
        "Squares that the fits shown make least, relative or absolute; predictions do not depend \
         on it",
    )
    .default("relative")
    .under(FIGURES),
    switch(
        "extrapolate",
        "Name nodes beyond twice the largest measured size; the plan says so",
    )
    .under(FIGURES),
    value(
        "p99",
        "DURATION",
        "Use only points whose 99th percentile of latency is at most this [default: none]",
    )
    .under(CONDITIONS),
    value(
        "chance",
        "PERCENT",
        "Chance with which the planned nodes must be enough",
    )
    .default("95%")
    .under(CONDITIONS),
    value(
        "spare",
        "PERCENT",
        "Part of the capacity that must stay free",
    )
    .default("0%")
    .under(CONDITIONS),
    value("growth", "PERCENT", "Growth of the rates per month")
        .default("0%")
        .under(CONDITIONS),
    value(
        "months",
        "N",
        "Months ahead for which the cluster must be enough",
    )
    .default("12")
    .under(CONDITIONS),
    value(
        "survive",
        "N",
        "Nodes that may be lost while the rates are still carried",
    )
    .default("0")
    .under(CONDITIONS),
    value(
        "replicas",
        "N",
        "Further copies of each shard [default: as measured, and no fewer than --survive]",
    )
    .under(CLUSTER),
    value(
        "vcpus",
        "N",
        "vCPUs of each planned node; throughput is taken in proportion [default: as measured]",
    )
    .under(CLUSTER),
    value(
        "price",
        "AMOUNT",
        "Price of one node for one hour, such as 0.80 [default: none]",
    )
    .under(CLUSTER),
    value(
        "shards-per-vcpu",
        "N",
        "Primary shards written at once for each vCPU [default: as the database's makers advise]",
    )
    .under(CLUSTER),
    value(
        "shard-size",
        "BYTES",
        "Greatest size of a shard, such as 50GB [default: as the database's makers advise]",
    )
    .under(CLUSTER),
    value(
        "disk-fill",
        "PERCENT",
        "Part of a disk that may be in use [default: as the database's makers advise]",
    )
    .under(CLUSTER),
    value(
        "retention",
        "DURATION",
        "How long rows are kept, such as 90d, 12w or 2y [default: none; disk is not sized]",
    )
    .under(STORAGE),
    value(
        "bytes-per-row",
        "BYTES",
        "A row on disk, each copy [default: as measured, else none; disk is not sized]",
    )
    .under(STORAGE),
    value(
        "sent-bytes-per-row",
        "BYTES",
        "A row as it is sent [default: as stated in the files, else none; network is not sized]",
    )
    .under(STORAGE),
    value(
        "bytes-per-answer",
        "BYTES",
        "An answer to a query [default: none; network is not sized]",
    )
    .under(STORAGE),
    switch("json", "Print the plan as JSON instead of the report").under(OUTPUT),
    value(
        "html",
        "FILE",
        "Also write the plan as a page to this file [default: none]",
    )
    .under(OUTPUT),
    OUT,
    NO_COLOR,
];
