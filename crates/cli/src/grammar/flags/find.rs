//! Flags of `find` alone, and those of `demo`.

use super::flag::{Flag, switch, value};
use super::shared::{BUDGET, DRY_RUN, LOAD, NO_COLOR, OUT};

const SEARCH: &str = "Search";

/// Flags of `find` alone.
pub const SEARCHING: &[Flag] = &[
    value(
        "axis",
        "AXIS",
        "Search over rate (open load) or sessions (closed load)",
    )
    .default("rate")
    .under(SEARCH),
    value(
        "start",
        "VALUE",
        "Start at this rate or number of sessions [default: estimated with a closed-load probe; 1 \
         with --axis sessions]",
    )
    .old_name("begin")
    .under(SEARCH),
    value(
        "max",
        "VALUE",
        "Never probe above this rate or number of sessions [default: no limit; 65536 sessions]",
    )
    .old_name("highest")
    .under(SEARCH),
    value(
        "tolerance",
        "PERCENT",
        "Stop narrowing when the highest confirmed and the lowest failed value differ by at most \
         PERCENT, 0.5% to 50%",
    )
    .old_name("width")
    .default("2%")
    .under(SEARCH),
    value(
        "probe",
        "DURATION",
        "Measure each probe for DURATION [default: 60s; 15s with --quick]",
    )
    .under(SEARCH),
    value(
        "confirm",
        "DURATION",
        "Measure each of the three confirmations for DURATION. Choose a time that covers a \
         checkpoint or merge [default: 5m; 30s with --quick]",
    )
    .under(SEARCH),
    value(
        "settle",
        "DURATION",
        "Leave the target idle for DURATION between probes [default: 5s; 1s with --quick]",
    )
    .under(SEARCH),
    BUDGET.under(SEARCH),
    value(
        "then",
        "soak=DURATION",
        "After the search, run at the confirmed value for DURATION, outside the budget, and \
         report whether it holds and any drift, changes, or stalls",
    )
    .under(SEARCH),
    value(
        "resume",
        "RUN",
        "Resume this search (directory or ID) without repeating its probes. All other flags must \
         be the same, except --budget and --then [default: start a new one]",
    )
    .under(SEARCH),
    switch("quick", "Use shorter probes for a rough mark").under(SEARCH),
    DRY_RUN.under(SEARCH),
    value(
        "stream",
        "NAME[@PACE]",
        "Run stream NAME. @find marks the stream to search; the others keep a fixed pace (1k, \
         50/s, 8c, or max) [default: the first stream, @find]",
    )
    .repeats()
    .under(LOAD),
];

/// Flags of `demo`.
pub const DEMO: &[Flag] = &[OUT, NO_COLOR];
