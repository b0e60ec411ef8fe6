//! What `find` alone has of flags, and what it shares with `tune`; and the flags of `demo`.

use super::{Flag, LOAD, NO_COLOR, OUT, switch, value};

const SEARCH: &str = "Search";

/// Of `find` and `tune`.
pub(super) const BUDGET: Flag = value(
    "budget",
    "DURATION",
    "Time for all probes together; when it runs out, the best so far is confirmed while there is \
     time for that",
)
.default("1h");
pub(super) const DRY_RUN: Flag = switch(
    "dry-run",
    "Say what would be done and how long it takes, and stop",
);

/// Flags of `find` alone.
pub const SEARCHING: &[Flag] = &[
    value(
        "axis",
        "AXIS",
        "What is varied: rate (open load) or sessions (closed load)",
    )
    .default("rate")
    .under(SEARCH),
    value(
        "begin",
        "VALUE",
        "Where to begin: a rate, or sessions [default: what closed load reaches tells; 1 session]",
    )
    .under(SEARCH),
    value(
        "highest",
        "VALUE",
        "Probe nothing above this rate, or these sessions [default: no bound; 65536 sessions]",
    )
    .under(SEARCH),
    value(
        "width",
        "PERCENT",
        "The mark is narrow enough when the highest confirmed and the lowest failed value differ \
         by this, 0.5% to 50%",
    )
    .default("2%")
    .under(SEARCH),
    value(
        "probe",
        "DURATION",
        "How long each probe is measured [default: 60s; 15s with --quick]",
    )
    .under(SEARCH),
    value(
        "confirm",
        "DURATION",
        "How long each of three confirmations is measured; long enough for a checkpoint or a \
         merge of the database [default: 5m; 30s with --quick]",
    )
    .under(SEARCH),
    value(
        "settle",
        "DURATION",
        "Leave the target alone for so long between probes [default: 5s; 1s with --quick]",
    )
    .under(SEARCH),
    BUDGET.under(SEARCH),
    value(
        "then",
        "soak=DURATION",
        "After the mark, run its confirmed value for so long, beside the budget: whether it holds, \
         and what drifts, changes or stalls [default: none]",
    )
    .under(SEARCH),
    switch("quick", "Shorter probes: a rough mark, soon").under(SEARCH),
    DRY_RUN.under(SEARCH),
    value(
        "stream",
        "NAME[@PACE]",
        "Ask this stream of the workload; @find marks the one whose pace is searched, the others \
         have a fixed one (1k, 50/s, 8c or max) [default: the workload's first stream, @find]",
    )
    .repeats()
    .under(LOAD),
];

/// Flags of `demo`.
pub const DEMO: &[Flag] = &[OUT, NO_COLOR];
