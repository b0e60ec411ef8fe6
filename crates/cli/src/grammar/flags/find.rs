//! Flags of `find`: those of the search, and of `run` what concerns each probe; and of `demo`.

use super::{Flag, INSERT, LOAD, NO_COLOR, OUT, RUN, switch, value};

const SEARCH: &str = "Search";

/// Flags of `find`.
pub const FIND: &[Flag] = &[
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
    value(
        "budget",
        "DURATION",
        "Time for the whole search; when it runs out, the best so far is confirmed while there is \
         time for that",
    )
    .default("1h")
    .under(SEARCH),
    value(
        "then",
        "soak=DURATION",
        "After the mark, run its confirmed value for so long, beside the budget: whether it holds, \
         and what drifts, changes or stalls [default: none]",
    )
    .under(SEARCH),
    switch("quick", "Shorter probes: a rough mark, soon").under(SEARCH),
    switch(
        "dry-run",
        "Say what would be done and how long it takes, and stop",
    )
    .under(SEARCH),
    of_run("sessions"),
    value(
        "stream",
        "NAME[@PACE]",
        "Ask this stream of the workload; @find marks the one whose pace is searched, the others \
         have a fixed one (1k, 50/s, 8c or max) [default: the workload's first stream, @find]",
    )
    .repeats()
    .under(LOAD),
    of_run("arrivals"),
    of_run("timeout"),
    of_run("retries"),
    of_run("literals"),
    of_run("warm-up"),
    of_run("file"),
    of_run("set"),
    of_run("batch"),
    of_run("shards"),
    of_run("replicas"),
    of_run("with"),
    of_run("tuned"),
    of_run("seed"),
    of_run("drop"),
    of_run("drop-foreign"),
    of_run("no-disk-guard"),
    of_run("no-telemetry"),
    of_run("metrics"),
    of_run("metric"),
    INSERT,
    of_run("p50"),
    of_run("p90"),
    of_run("p95"),
    of_run("p99"),
    of_run("p999"),
    of_run("row-p99"),
    of_run("errors"),
    of_run("rejected"),
    of_run("min-rate"),
    of_run("max-cpu"),
    of_run("audit"),
    of_run("audit-timeout"),
    OUT,
    of_run("label"),
    of_run("quiet"),
    of_run("json"),
    NO_COLOR,
];

/// Flags of `demo`.
pub const DEMO: &[Flag] = &[OUT, NO_COLOR];

/// A flag of `run` that another command takes, too.
pub(super) const fn of_run(name: &str) -> Flag {
    let mut at = 0;
    while !is_equal(RUN[at].name, name) {
        at += 1;
    }
    RUN[at]
}

/// Whether two texts are equal; `==` is not there for constants.
const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}
