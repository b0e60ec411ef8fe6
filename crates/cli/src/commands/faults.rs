//! `highwater faults`: the standard set of faults, one after the other, each after a baseline, as a group of runs. Must not
//! perform an action.

use highwater_driver::TargetUrl;
use highwater_model::fault::{FaultAction, PlannedFault};
use highwater_model::quantity::parse_duration;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::run::{GROUP_BUDGET, GROUP_RESUME, RepeatIntent, SETTLE, Variant, repeat};
use crate::cluster_file::on_cluster;
use crate::grammar::flags::{
    ARRIVALS, AUDIT, AUDITED, BOUNDS, CLUSTER, CONFIG, DATA, DRY_RUN, LENGTH, LOAD, NO_COLOR,
    OBJECTIVES, OF_FAULTS, OUTPUT, RATE, RETRIES, RUNNING, SESSIONS, STORED, TABLES, TIMEOUT,
    WARM_UP,
};
use crate::grammar::{CommandSpec, Flag, Reach, WORKLOAD_AND_TARGETS, flag};
use crate::intent::{RunIntent, parsers, resolve};
use crate::layers::Layers;
use crate::{prepare, stored_files};

/// `highwater faults`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "faults",
    summary: "Kill, stop, pause, and throttle nodes under load, and tabulate what that did",
    usage: "[WORKLOAD] [TARGET]...",
    positionals: WORKLOAD_AND_TARGETS,
    flags: &[
        ("Faults", FAULT_FLAGS),
        (LOAD, &[RATE, SESSIONS, ARRIVALS, TIMEOUT, RETRIES]),
        (LENGTH, LENGTH_FLAGS),
        (DATA, TABLES),
        (DATA, &[CLUSTER]),
        (DATA, RUNNING),
        (OBJECTIVES, BOUNDS),
        (OBJECTIVES, OF_FAULTS),
        (AUDIT, AUDITED),
        (OUTPUT, STORED),
        (OUTPUT, &[CONFIG, NO_COLOR]),
    ],
    main_flags: Some(
        "node sql rate sessions duration cluster repeat resume dry-run recover-within lost errors out json",
    ),
    examples: "  highwater faults kv --cluster c.toml --rate 200
      each fault of node 1, as a table
  highwater faults cpu 'sim:?failover=4s&queue=inf' --rate 20k
      the same on a simulated cluster
  highwater faults kv $URL --rate 2k --sql 'ALTER TABLE kv ADD COLUMN note TEXT'
      what a statement does to the load, on any target

The set, with their times after the start of each measurement: kill at 10 s, start at 20 s; stop \
at 10 s, start at 20 s; pause for 5 s; restart; rolling restart; CPU throttled to 0.2 for 10 s. A \
baseline without a fault is run before each.",
    run: |layers| repeat(&resolve(&on_cluster(layers)?)?),
};

const FAULT_FLAGS: &[Flag] = &[
    flag("--node <N>", "Act on node N").default("1"),
    flag("--sql <STATEMENT>", "Also execute STATEMENT on the target, as a fault of its own")
        .reach(Reach::Shell),
    flag("--repeat <N>", "Repeat the whole set N times").default("1"),
    SETTLE,
    GROUP_BUDGET,
    GROUP_RESUME,
    DRY_RUN,
];

const LENGTH_FLAGS: &[Flag] =
    &[flag("-d, --duration <DURATION>", "Measure each run for DURATION").default("60s"), WARM_UP];

/// When each fault is.
const AT: Nanos = Nanos::from_secs(10);
/// When a node that was taken away is started again.
const BACK_AT: Nanos = Nanos::from_secs(20);
const PAUSE: Nanos = Nanos::from_secs(5);
const THROTTLE: Nanos = Nanos::from_secs(10);
const THROTTLE_PPM: u32 = 200_000;

fn resolve(layers: &Layers) -> Result<RepeatIntent, UserError> {
    if layers.value("rate").is_none() {
        let message = "a fault is measured at a rate, and none is given";
        return Err(
            UserError::usage(message).with_hint("add --rate, such as half of what `find` found")
        );
    }
    let run = RunIntent::resolve(layers)?;
    let node = layers.require("node", parsers::positive)?;
    let sql = layers.parse("sql", parsers::word)?;
    let target = prepare::open(&run, &run.targets, &run.out)?;
    let has_nodes = run.faults.1.is_some() || target.actions().is_some();
    Ok(RepeatIntent {
        times: layers.require("repeat", parsers::positive)?,
        variants: variants(&run.targets, has_nodes.then_some(node), sql)?,
        settle: layers.require("settle", parse_duration)?,
        budget: resolve::duration_above_zero(layers, "budget")?,
        resume: stored_files::resumed(layers)?,
        dry_run: layers.switch("dry-run")?,
        run,
    })
}

/// The baseline, and each fault.
fn variants(
    targets: &[TargetUrl],
    node: Option<u32>,
    sql: Option<String>,
) -> Result<Vec<Variant>, UserError> {
    let at = |at, action| PlannedFault { at, action };
    let mut all = vec![("baseline", Vec::new())];
    if let Some(node) = node {
        let start = || at(BACK_AT, FaultAction::Start { node });
        all.extend([
            ("kill", vec![at(AT, FaultAction::Kill { node }), start()]),
            ("stop", vec![at(AT, FaultAction::Stop { node }), start()]),
            ("pause", vec![at(AT, FaultAction::Pause { node, for_ns: PAUSE.0 })]),
            ("restart", vec![at(AT, FaultAction::Restart { node })]),
            ("rolling-restart", vec![at(AT, FaultAction::RollingRestart)]),
            (
                "throttle",
                vec![at(
                    AT,
                    FaultAction::Throttle { node, cpu_ppm: THROTTLE_PPM, for_ns: THROTTLE.0 },
                )],
            ),
        ]);
    }
    let statement = |statement| vec![at(AT, FaultAction::Sql { statement })];
    all.extend(sql.map(|sql| ("sql", statement(sql))));
    if all.len() == 1 {
        let message = "the target has no nodes that could be acted on";
        let hint = "add --cluster FILE, or a statement (--sql 'STATEMENT')";
        return Err(UserError::usage(message).with_hint(hint));
    }
    let variant = |(name, faults): (&str, Vec<PlannedFault>)| Variant {
        name: name.to_owned(),
        targets: targets.to_vec(),
        command: None,
        faults,
    };
    Ok(all.into_iter().map(variant).collect())
}
