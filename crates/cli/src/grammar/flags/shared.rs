//! Headings of the help, and flags that several commands have. Must not hold any command's list.

use super::flag::{Flag, switch, value};

pub(super) const LOAD: &str = "Load";
pub(super) const LENGTH: &str = "Length";
pub(super) const DATA: &str = "Workload";
pub(super) const OBJECTIVES: &str = "Objectives (exit code 1 if any is missed)";
pub(super) const AUDIT: &str = "Audit";
pub(super) const SHARES: &str = "Several load generators";
pub(super) const REPEATS: &str = "Several runs";
pub(super) const FIGURES: &str = "Figures";
pub(super) const CONDITIONS: &str = "Conditions";
pub(super) const CLUSTER: &str = "Cluster";
pub(super) const STORAGE: &str = "Rows and responses";
pub(super) const OUTPUT: &str = "Output";

/// Of all commands that store or find runs.
pub(super) const OUT: Flag = value(
    "out",
    "DIR",
    "Store each run in its own directory under DIR",
)
.short('o')
.default("highwater-runs")
.under(OUTPUT);
pub(super) const NO_COLOR: Flag =
    switch("no-color", "Disable colors (same as setting NO_COLOR)").under(OUTPUT);
pub(super) const LABEL: Flag = value("label", "KEY=VALUE", "Store a label in the record")
    .repeats()
    .under(OUTPUT);
/// Of all commands that run something.
pub(super) const QUIET: Flag = switch("quiet", "Print only the result, no progress")
    .short('q')
    .under(OUTPUT);
pub(super) const JSON: Flag =
    switch("json", "Print the record as JSON instead of the summary").under(OUTPUT);
pub(super) const EVENTS: Flag = value(
    "events",
    "FILE",
    "Write progress as JSON, one event per line, to FILE, or to standard output (-), with the \
     summary on standard error",
)
.under(OUTPUT);
/// Of `run` and `check`.
pub(super) const INSERT: Flag = value(
    "insert",
    "MODE",
    "Insert with MODE, one of the target's insert modes [default: the target's first]",
)
.under(DATA);
/// Of `size` and `check`.
pub(super) const MODEL: Flag = value(
    "model",
    "MODEL",
    "Predict with this scaling model alone, and warn if too few sizes were measured for it: \
     linear, affine, amdahl, usl, or power [default: the last three, averaged]",
)
.old_name("law")
.under(FIGURES);
/// Of `find` and `tune`.
pub(super) const BUDGET: Flag = value(
    "budget",
    "DURATION",
    "Limit the time of all probes together. When it runs short, the best candidate is confirmed \
     if time allows",
)
.default("1h");
/// Of `find` and `tune`.
pub(super) const DRY_RUN: Flag = switch(
    "dry-run",
    "Print the planned probes and their duration, then exit",
);
