//! `highwater load`: a run that fills the tables of a workload. Must not fill them itself.

use highwater_model::plan::StopRule;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::run;
use crate::grammar::flags::{
    AUDIT, AUDITED, CLUSTER, CONFIG, DATA, LENGTH, LOAD, NO_COLOR, OUTPUT, PLAN, PROGRESS, RATE,
    RETRIES, ROWS, RUNNING, SESSIONS, STORED, TABLES, TIMEOUT,
};
use crate::grammar::{CommandSpec, WORKLOAD_AND_TARGETS};
use crate::intent::{RunIntent, parsers, streams};
use crate::layers::Layers;
use crate::running_cluster::on_cluster;

/// `highwater load`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "load",
    summary: "Fill a workload's tables to a size for later runs, and verify what they hold",
    usage: "[WORKLOAD] [TARGET]...",
    positionals: WORKLOAD_AND_TARGETS,
    flags: &[
        (LOAD, &[SESSIONS, RATE.help(RATE_HELP), TIMEOUT, RETRIES]),
        (LENGTH, &[ROWS.help(ROWS_HELP)]),
        (DATA, TABLES),
        (DATA, &[CLUSTER]),
        (DATA, RUNNING),
        (AUDIT, AUDITED),
        (OUTPUT, STORED),
        (OUTPUT, &[PROGRESS, PLAN, CONFIG, NO_COLOR]),
    ],
    main_flags: Some("sessions rate rows file set batch drop audit out json"),
    examples: "  highwater load sensors $URL --rows 314M
      fill the table; run the same command again to continue after an interruption
  highwater load kv $URL --rows 10M --batch 1
      the keys that later reads look up",
    run: |layers| run::run(&intent(&on_cluster(layers)?)?),
};

const RATE_HELP: &str =
    "Write RATE rows per second, such as 50k [default: as fast as the sessions go]";
const ROWS_HELP: &str = "Fill the table to N rows, including those it already holds, such as 314M \
                         [default: set by the workload, as --set rows=…]";

/// A load ends when all rows are written; this limit is never reached.
const WITHOUT_END: Nanos = Nanos::from_secs(365 * 86_400);

fn intent(layers: &Layers) -> Result<RunIntent, UserError> {
    let stop = StopRule {
        rows: layers.parse("rows", parsers::positive_long)?,
        fills: true,
        ..StopRule::default()
    };
    RunIntent::of(layers, streams::first(layers)?, WITHOUT_END, stop)
}
