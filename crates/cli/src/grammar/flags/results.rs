//! Flags of the commands that read results and figures: `show`, `compare`, `import`, `table` and
//! `check`.

use super::flag::{Flag, switch, value};
use super::shared::{
    AUDIT, EVENTS, FIGURES, INSERT, JSON, LABEL, MODEL, NO_COLOR, OUT, OUTPUT, QUIET,
};

/// Flags of `show`.
pub const SHOW: &[Flag] = &[
    value(
        "format",
        "FORMAT",
        "Print text, json, csv, telemetry-csv, html, or markdown",
    )
    .default("text")
    .under(OUTPUT),
    switch(
        "open",
        "Write report.html in the run's directory again, and open it in the browser",
    )
    .under(OUTPUT),
    OUT,
    NO_COLOR,
];

/// Flags of `audit`.
pub const AUDIT_AGAIN: &[Flag] = &[
    value(
        "audit",
        "LEVEL",
        "Compare no more than count, sums, or full [default: the level of the run]",
    )
    .under(AUDIT),
    value("audit-timeout", "DURATION", "Stop the audit after DURATION")
        .default("10m")
        .under(AUDIT),
    OUT,
    QUIET,
    JSON,
    EVENTS,
    NO_COLOR,
];

/// Flags of `compare`.
pub const COMPARE: &[Flag] = &[
    value(
        "threshold",
        "PERCENT",
        "Report differences smaller than PERCENT as equal",
    )
    .old_name("practical")
    .default("5%")
    .under(FIGURES),
    value(
        "fail-if-worse",
        "PERCENT",
        "Use PERCENT as the threshold, and exit with code 1 if anything is worse, or 3 if no \
         verdict is possible [default: verdicts do not change the exit code]",
    )
    .under(FIGURES),
    value("format", "FORMAT", "Print text, markdown, or html")
        .default("text")
        .under(OUTPUT),
    OUT,
    NO_COLOR,
];

/// Flags of `import`.
pub const IMPORT: &[Flag] = &[
    value(
        "tool",
        "NAME",
        "Read the files as output of this tool: pgbench, sysbench, k6, hdrhistogram, or \
         nodeingestbench [default: detected from their content]",
    )
    .under(FIGURES),
    value(
        "unit",
        "UNIT",
        "Read values without a unit, such as HdrHistogram's, as ns, us, ms, or s [default: as \
         stated in the file]",
    )
    .under(FIGURES),
    LABEL,
    OUT,
    NO_COLOR,
];

/// Flags of `table`.
pub const TABLE: &[Flag] = &[
    value(
        "over",
        "NAME",
        "Make one row per value of setting NAME [default: nodes if they vary, else the setting \
         with the most values]",
    )
    .repeats()
    .under(FIGURES),
    value(
        "series",
        "NAME",
        "Use only this series of the files, by name or unique prefix [default: all]",
    )
    .repeats()
    .under(FIGURES),
    switch("json", "Print tables and warnings as JSON").under(OUTPUT),
    OUT,
    NO_COLOR,
];

/// Flags of `check`.
pub const CHECK: &[Flag] = &[INSERT, MODEL, OUT, NO_COLOR];
