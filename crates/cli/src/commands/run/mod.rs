//! `highwater run`: one run, or several equal ones for a comparison. Must not measure.

mod intent;
mod repeat;
mod single;

use crate::grammar::flags::{
    ARRIVALS, AUDIT, AUDITED, BOUNDS, CLUSTER, CONFIG, DATA, DRY_RUN, LENGTH, LITERALS, LOAD,
    MAX_CPU, MIN_RATE, NO_COLOR, OBJECTIVES, OUTPUT, PLAN, PROGRESS, RATE, RETRIES, ROWS, RUNNING,
    SESSIONS, STORED, TABLES, THINK, TIMEOUT, TUNED, WARM_UP,
};
use crate::grammar::{CommandSpec, Flag, Reach, WORKLOAD_AND_TARGETS, flag};
use crate::running_cluster::on_cluster;

pub(crate) use self::intent::RepeatIntent;
pub(super) use self::single::run;

/// `highwater run`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "run",
    summary: "Load a database, verify what it stored, and judge the result",
    usage: "[WORKLOAD] [TARGET]...",
    positionals: WORKLOAD_AND_TARGETS,
    flags: &[
        (LOAD, LOAD_FLAGS),
        (LENGTH, LENGTH_FLAGS),
        (DATA, TABLES),
        (DATA, &[TUNED, CLUSTER]),
        (DATA, RUNNING),
        (OBJECTIVES, BOUNDS),
        (OBJECTIVES, &[MIN_RATE, MAX_CPU]),
        (AUDIT, AUDITED),
        ("Several load generators", SEVERAL_LOAD_GENERATORS_FLAGS),
        ("Several runs", SEVERAL_RUNS_FLAGS),
        (OUTPUT, STORED),
        (OUTPUT, &[PROGRESS, PLAN, CONFIG, NO_COLOR]),
    ],
    main_flags: Some(
        "sessions rate stream duration warm-up file set batch drop p99 errors audit ui out verbose",
    ),
    examples: "  highwater run
      workload cpu on a new embedded database, closed load, 20 s
  highwater run cpu $URL -c 64 -d 60s
      as fast as 64 sessions go
  highwater run cpu $URL --rate 50k -d 5m --p99 50ms --errors 0.1%
      a gate in a pipeline: the target must sustain 50,000 rows/s
  highwater run cpu $URL --stream insert@1k --stream dashboards@50,100,150,200 --step 5m
      steady ingest while the dashboards' rate rises in steps
  highwater run cpu $URL --stream dashboards@50c..200c:10m,think=1s
      more and more users of dashboards, each with a pause of a second between two queries
  highwater run cpu $URL -d 1m..30m --until 'ci95<1%'
      until the throughput is known to 1%
  highwater run cpu $URL --drop --shards 12 --replicas 1 --with refresh_interval=5000
      new tables with 12 shards, one replica of each, and one more setting
  highwater run -f top.sql -f write.sql@3 $URL -c 50 --audit off
      your own statements on your own tables, mixed one to three
  highwater run kv --read-percent 0 -c 384 -d 2h URL1 … URL30
      workload parameters are flags too
  highwater run cpu --cluster lab.toml -c 64 -d 60s
      the cluster that `highwater cluster up lab.toml` started, whose nodes have quotas of CPU
  highwater run cpu $URL --share 2/4 --start-at 2026-11-20T18:30:00Z
      the second of four load generators",
    run: |layers| repeat::repeat(&RepeatIntent::resolve(&on_cluster(layers)?)?),
};

const LOAD_FLAGS: &[Flag] = &[
    SESSIONS,
    RATE,
    flag(
        "--stream <NAME[@PACE[,PACE…]]>...",
        "Run stream NAME at PACE: a rate per second in the stream's unit (1k, 50/s), 8c for 8 \
         closed sessions, or max for the default sessions. Several paces run as steps, and \
         50c..200c:10m as ten even steps within 10 minutes; 8c,think=1s pauses between ops [default: \
         the first stream, max]",
    ),
    THINK,
    ARRIVALS,
    flag(
        "--spawn-rate <N>",
        "Start N closed sessions per second, in a separate phase before the warm-up [default: all \
         at once]",
    )
    .repeated(),
    flag(
        "--control <FILE>",
        "Obey commands while the load runs (change a rate or the sessions, note, stop): one JSON \
         object per line, from FILE, such as a named pipe, or from standard input (-)",
    )
    .reach(Reach::File),
    TIMEOUT,
    RETRIES,
    LITERALS,
];

const LENGTH_FLAGS: &[Flag] = &[
    flag("-d, --duration <DURATION>", "Measure for DURATION, or for MIN..MAX with --until")
        .default("20s"),
    flag(
        "--step <DURATION>",
        "Measure each step for DURATION, if a stream has several paces [default: --duration]",
    ),
    WARM_UP,
    ROWS,
    flag(
        "--until <PREDICATE>",
        "Stop early when PREDICATE holds: 'ci95<1%' (half-width of the throughput's 95% \
         confidence interval) or 'errors>100' (failed ops)",
    ).repeated(),
    flag(
        "--abort-on-miss",
        "Stop when a latency, errors, or rejected objective can no longer be met by the ops that the \
         rest of the phase can be expected to bring; in closed load, from half of the phase on",
    ).repeated(),
];

const SEVERAL_LOAD_GENERATORS_FLAGS: &[Flag] = &[
    flag("--share <i/n>", "Run part i of n of the plan. Merge the records with `highwater show`")
        .default("1/1"),
    flag(
        "--start-at <TIME>",
        "Start at a time (2026-11-20T18:30:00Z) or after a delay (+10s) [default: now]",
    ),
];

const SEVERAL_RUNS_FLAGS: &[Flag] = &[
    flag("--repeat <N>", "Run N times, in one directory, to see run-to-run variation").default("1"),
    flag("--interleave <TARGET>", "Alternate runs with this second target and compare the two")
        .reach(Reach::Outside),
    flag(
        "--variant <NAME=COMMAND>...",
        "Run COMMAND in a shell before each run of variant NAME, for example to restart the \
         target with another configuration. Give two or more to compare them",
    )
    .reach(Reach::Shell),
    flag("--settle <DURATION>", "Leave the target idle for DURATION between runs")
        .repeated()
        .default("0s"),
    flag("--budget <DURATION>", "Limit the time of all runs together [default: no limit]"),
    flag(
        "--resume <GROUP>",
        "Resume these runs (directory or ID) without repeating those that were made. All other \
         flags must be the same, except --repeat, --settle, and --budget [default: start a new \
         group]",
    )
    .reach(Reach::File),
    DRY_RUN,
];
