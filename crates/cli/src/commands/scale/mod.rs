//! `highwater scale`: settings → sizes, each a search or a run → growth → exit code. Must not choose sizes.

mod growths;
mod intent;
mod planned_sizes;
mod sized_runs;
mod sized_setting;
mod variants;

use self::growths::measure;
use self::intent::ScaleIntent;
use crate::grammar::flags::{
    ARRIVALS, AUDIT, AUDITED, BOUNDS, CONFIG, DATA, DRY_RUN, LENGTH, LITERALS, LOAD, MAX_CPU,
    NO_COLOR, OBJECTIVES, OUTPUT, RATE, RETRIES, RUNNING, SESSIONS, STORED, TABLES, THINK, TIMEOUT,
    TUNED, WARM_UP,
};
use crate::grammar::{CommandSpec, Flag, Reach, WORKLOAD_AND_TARGETS, flag};

/// `highwater scale`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "scale",
    summary: "Measure how a target grows with its nodes, and predict the next size",
    usage: "--nodes SIZES [WORKLOAD] [TARGET]...",
    positionals: WORKLOAD_AND_TARGETS,
    flags: &[
        ("Growth", GROWTH_FLAGS),
        ("Search or tuning at each size (--each find, --each tune)", SEARCH_FLAGS),
        (LOAD, LOAD_FLAGS),
        (LENGTH, LENGTH_FLAGS),
        (DATA, TABLES),
        (DATA, &[TUNED]),
        (DATA, RUNNING),
        (OBJECTIVES, BOUNDS),
        (OBJECTIVES, &[MAX_CPU]),
        (AUDIT, AUDITED),
        (OUTPUT, STORED),
        (OUTPUT, &[CONFIG, NO_COLOR]),
    ],
    main_flags: Some(
        "nodes each cluster until price budget resume quick dry-run sessions duration set drop p99 out",
    ),
    examples: "  highwater scale cpu 'sim:?nodes={nodes}&shards=60&replicas=0' --nodes 1..5 --p99 100ms
      the highest rate of rows within the objective at each of five sizes
  highwater scale cpu $URL --nodes 3,6,12 --each run --sessions 30,60,120 -d 10m
      what is acknowledged at three sizes, each with sessions of its own; {nodes} stands in the URL
  highwater scale cpu --cluster c.toml --nodes 1..3 --each run --grow
      a cluster to which nodes are added, from a cluster file; it is ended afterwards
  highwater scale cpu $URL --nodes 1..9 --start 100kn --until 1M --price 0.80
      as many nodes as 1,000,000 rows/s need, and what a million rows cost
  highwater scale cpu $URL --nodes 1..5 --each tune --over shards=8..64 --over sessions=8..64
      the best shards and sessions at each size, as clusters are compared that were set up well
  highwater scale cpu --cluster c.toml --nodes 1..3 --each find --over replicas=0,1
      how the mark grows without a replica and with one, side by side
  highwater scale cpu --cluster '{variant}.toml' --variant old --variant new --nodes 1..3 --each run
      two versions of a database, each with a cluster file of its own, side by side
  highwater size 2M --from RUN
      the cluster that a rate needs, from the sizes that were measured

Settings may depend on the size: a list with a value for each, or an expression in n, such as \
-c 16n or --shards '8+8n'. So may --batch, --replicas, --rate, --start, --max, and --set NAME=VALUE.",
    run: |layers| measure(&ScaleIntent::resolve_all(layers)?),
};

const GROWTH_FLAGS: &[Flag] = &[
    flag(
        "--nodes <SIZES>",
        "Measure these sizes, in ascending order, then the first one again: a range (1..5) or a \
         list (3,6,12,24) [required]",
    ),
    flag(
        "--each <KIND>",
        "Search for the mark at each size (find), run once (run), or find the best configuration \
         over the axes of --over (tune)",
    )
    .default("find"),
    flag(
        "--cluster <FILE>",
        "Start the cluster of this cluster file at each size, and end it. Without it, TARGET is a URL \
         with {nodes} in it: a cluster of each size that is there already",
    ).reach(Reach::Shell),
    flag(
        "--no-quota",
        "Start the cluster's nodes without their quotas of CPU and memory",
    ),
    flag(
        "--measure-nodes",
        "Before the first size, measure each node of the largest size alone, as a cluster of one, for 15 s at most; \
         without this flag, where the cluster file says `alone = true`, up to 8 nodes",
    ),
    flag("--no-measure-nodes", "Measure no node alone"),
    flag(
        "--variant <NAME[=COMMAND]>...",
        "Measure this variant beside others, each size of all in random order, and compare them; every variant has a \
         record of its own. {variant} in TARGET, FILE, COMMAND, or any setting but -o is NAME; COMMAND is run in a \
         shell before each size. Give two or more. They share --budget evenly",
    ).reach(Reach::Shell),
    flag(
        "--fresh",
        "Use a new cluster for each size, as without --grow",
    ),
    flag(
        "--grow",
        "Add nodes to the cluster that runs, instead of using a new one for each size",
    ),
    flag(
        "--until <RATE>",
        "Stop at the first size that reaches RATE per second, in the stream's unit, such as 1M \
         [default: measure all sizes]",
    ),
    flag(
        "--price <AMOUNT>",
        "Set the price of one node for one hour, such as 0.80, to show what a million units cost",
    ),
    flag(
        "--budget <DURATION>",
        "Limit the time of all sizes together. The first size is measured again in it; starting \
         clusters, bringing data back, and filling tables are not [default: no limit]",
    ),
    flag(
        "--settle <DURATION>",
        "Leave the target idle for DURATION between runs [default: 5s; 1s with --quick]",
    ).repeated(),
    flag(
        "--resume <RUN>",
        "Resume this growth (directory or ID) without repeating its sizes. All other flags must be \
         the same, except --nodes, which may add sizes, --until, --price, and --budget [default: \
         start a new one]",
    ).reach(Reach::File),
    flag("--quick", "Use shorter probes for a rough result").repeated(),
    DRY_RUN,
];

const SEARCH_FLAGS: &[Flag] = &[
    flag("--start <VALUE>", "Start at this rate [default: estimated with a closed-load probe]")
        .repeated(),
    flag("--max <VALUE>", "Never probe above this rate [default: no limit]").repeated(),
    flag(
        "--tolerance <PERCENT>",
        "Stop narrowing when the highest confirmed and the lowest failed rate differ by at most \
         PERCENT, 0.5% to 50%",
    )
    .repeated()
    .default("2%"),
    flag(
        "--probe <DURATION>",
        "Measure each probe for DURATION [default: 60s; 15s with --quick; of a tuning 20s and 5s]",
    )
    .repeated(),
    flag(
        "--confirm <DURATION>",
        "Measure each of the three confirmations for DURATION [default: 5m; 30s with --quick]",
    )
    .repeated(),
    flag(
        "--over <AXIS=VALUES>...",
        "Vary AXIS, as in `highwater tune`, such as batch=500..32k: with --each tune in the tuning at each size; else \
         each configuration is a variant, measured at every size",
    ),
    flag("--each-budget <DURATION>", "Limit the time of the probes at one size").default("1h"),
];

const LOAD_FLAGS: &[Flag] = &[
    SESSIONS,
    RATE,
    flag(
        "--stream <NAME[@PACE]>...",
        "Run stream NAME at PACE: a rate (1k, 50/s), 8c, or max; with --each find, @find marks the \
         stream to search [default: the first stream]",
    ),
    THINK,
    ARRIVALS,
    TIMEOUT,
    RETRIES,
    LITERALS,
];

const LENGTH_FLAGS: &[Flag] = &[
    flag("-d, --duration <DURATION>", "Measure for DURATION at each size, with --each run")
        .default("60s"),
    WARM_UP,
];
