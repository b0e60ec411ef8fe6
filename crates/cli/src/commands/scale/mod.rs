//! `highwater scale`: settings → sizes, each a search or a run → how they grow → exit code. Must not choose sizes.

mod by_size;
mod intended;
mod intent;
mod resumed;
mod runs;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use highwater_experiment as experiment;
use highwater_experiment::scale::cluster::{Cluster, ReadyClusters, StartedCluster};
use highwater_runner::interrupts::Interrupts;
use highwater_runner::store::RunDirectory;

use self::intended::{intended, preview};
use self::intent::{ClusterChoice, ScaleIntent};
use self::resumed::resume;
use self::runs::SizedRuns;
use crate::cluster_file;
use crate::failure::Failure;
use crate::grammar::flags::{
    ARRIVALS, AUDIT, AUDITED, BOUNDS, DATA, DRY_RUN, LENGTH, LITERALS, LOAD, MAX_CPU, NO_COLOR,
    OBJECTIVES, OUTPUT, RATE, RETRIES, RUNNING, SESSIONS, STORED, TABLES, THINK, TIMEOUT, TUNED,
    WARM_UP,
};
use crate::grammar::{CommandSpec, Flag, WORKLOAD_AND_TARGETS, flag};
use crate::prepare::{self, stops, trials};
use crate::{event_log, exit, terminal};

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
        (OUTPUT, &[NO_COLOR]),
    ],
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
  highwater size 2M --from RUN
      the cluster that a rate needs, from the sizes that were measured

Settings may depend on the size: a list with a value for each, or an expression in n, such as \
-c 16n or --shards '8+8n'. So may --batch, --replicas, --rate, --start, --max, and --set NAME=VALUE.",
    run: |layers| scale(&ScaleIntent::resolve(layers)?),
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
    ),
    flag(
        "--no-quota",
        "Start the cluster's nodes without their quotas of CPU and memory",
    ),
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
    ),
    flag(
        "--resume <RUN>",
        "Resume this growth (directory or ID) without repeating its sizes. All other flags must be \
         the same, except --nodes, which may add sizes, --until, --price, and --budget [default: \
         start a new one]",
    ),
    flag("--quick", "Use shorter probes for a rough result"),
    DRY_RUN,
];

const SEARCH_FLAGS: &[Flag] = &[
    flag(
        "--start <VALUE>",
        "Start at this rate [default: estimated with a closed-load probe]",
    ),
    flag(
        "--max <VALUE>",
        "Never probe above this rate [default: no limit]",
    ),
    flag(
        "--tolerance <PERCENT>",
        "Stop narrowing when the highest confirmed and the lowest failed rate differ by at most \
         PERCENT, 0.5% to 50%",
    )
    .default("2%"),
    flag(
        "--probe <DURATION>",
        "Measure each probe for DURATION [default: 60s; 15s with --quick; of a tuning 20s and 5s]",
    ),
    flag(
        "--confirm <DURATION>",
        "Measure each of the three confirmations for DURATION [default: 5m; 30s with --quick]",
    ),
    flag(
        "--over <AXIS=VALUES>...",
        "Vary AXIS in the tuning at each size, as in `highwater tune`, such as batch=500..32k",
    ),
    flag(
        "--each-budget <DURATION>",
        "Limit the time of the probes at one size",
    )
    .default("1h"),
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
    flag(
        "-d, --duration <DURATION>",
        "Measure for DURATION at each size, with --each run",
    )
    .default("60s"),
    WARM_UP,
];

/// Does what the settings ask for; returns the exit code.
fn scale(settings: &ScaleIntent) -> Result<u8, Failure> {
    let (mut scale, first) = intended(settings)?;
    let resumed = settings.resume.as_ref();
    let unfinished = resumed.map(|name| resume(settings, name, &mut scale));
    let unfinished = unfinished.transpose()?.flatten();
    experiment::check(&scale)?;
    let preview = preview(&scale);
    if settings.dry_run {
        return terminal::data(&preview).map(|()| exit::SUCCESS);
    }
    let workload = prepare::workload(&settings.common_at(0)?)?;
    prepare::warn_about_audit(&workload, &first);
    let stops = stops()?;
    let interrupts = &stops.interrupts;
    let cluster = cluster(settings, interrupts)?;
    let observer = trials::observer(&settings.output, &preview, &stops)?;
    let id = prepare::id("scale", &first.workload.name, &scale.definition_hash);
    let directory = RunDirectory::create(&settings.out, &id, &first)?;
    let shown = directory.path().display().to_string();
    let runs = SizedRuns {
        settings,
        cluster: RefCell::new(cluster),
        interrupts: interrupts.clone(),
        unfinished,
        current: RefCell::default(),
        ready: RefCell::default(),
        directory: directory.clone(),
        observer: Rc::clone(&observer),
    };
    let settle = settings.settle;
    let record = experiment::run(scale, directory, settle, &runs, &observer, interrupts);
    let ended = runs.cluster.borrow_mut().end();
    let record = record.map_err(|failure| {
        let failure = runs.located(failure);
        // Nodes that do not come up because the user stops them are no fault of theirs.
        let is_stopped = failure.exit == exit::TARGET && interrupts.requested().is_some();
        Failure {
            exit: if is_stopped {
                exit::INTERRUPTED
            } else {
                failure.exit
            },
            ..failure
        }
    });
    // Ends the drawing.
    drop((runs, observer));
    let code = match record {
        Ok(record) => event_log::record(&settings.output, (&record).into(), &shown),
        Err(failure) => Err(failure),
    };
    match (code, ended) {
        // What is left of a cluster must be known, whatever was measured.
        (Ok(exit::SUCCESS), Err(error)) => Err(error.into()),
        (code, Err(error)) => {
            terminal::warn(&error.message);
            code
        }
        (code, Ok(())) => code,
    }
}

/// What can have the sizes.
fn cluster(settings: &ScaleIntent, interrupts: &Interrupts) -> Result<Box<dyn Cluster>, Failure> {
    if let Some(ClusterChoice { path, spec, flags }) = &settings.cluster {
        let started = cluster_file::open(path, spec.clone(), *flags, interrupts.clone())?;
        return Ok(Box::new(StartedCluster::new(started)));
    }
    let mut by_nodes = BTreeMap::new();
    for (at, size) in settings.sizes.iter().enumerate() {
        by_nodes.insert(size.nodes, settings.common_at(at)?.targets);
    }
    Ok(Box::new(ReadyClusters::new(by_nodes)))
}
