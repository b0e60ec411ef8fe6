//! Flags of commands that share those of `run`: `load` has those that apply when only rows are
//! written, `find` and `tune` those that concern each probe, and `workloads` the one for colors.
//! Must not define flags of its own where `run` has them.

use std::sync::LazyLock;

use super::flags::{Flag, RUN, SEARCHING, TUNING};

/// Names of what `load` shares.
const OF_LOAD: &[&str] = &[
    "sessions",
    "rate",
    "timeout",
    "retries",
    "rows",
    "file",
    "set",
    "batch",
    "insert",
    "shards",
    "replicas",
    "with",
    "seed",
    "drop",
    "drop-foreign",
    "no-disk-guard",
    "no-telemetry",
    "metrics",
    "metric",
    "audit",
    "audit-timeout",
    "out",
    "label",
    "quiet",
    "json",
    "events",
    "plan",
    "no-color",
];

/// Names of what `find` and `tune` share.
const OF_PROBES: &[&str] = &[
    "sessions",
    "arrivals",
    "timeout",
    "retries",
    "literals",
    "warm-up",
    "file",
    "set",
    "batch",
    "insert",
    "shards",
    "replicas",
    "with",
    "seed",
    "tuned",
    "drop",
    "drop-foreign",
    "no-disk-guard",
    "no-telemetry",
    "metrics",
    "metric",
    "p50",
    "p90",
    "p95",
    "p99",
    "p999",
    "row-p99",
    "errors",
    "rejected",
    "max-cpu",
    "audit",
    "audit-timeout",
    "out",
    "label",
    "quiet",
    "json",
    "events",
    "no-color",
];
/// Also shared by one of them.
const OF_FIND: &[&str] = &["min-rate"];
const OF_TUNE: &[&str] = &["rate"];

/// Help of `--rows` and `--rate` for `load`.
const ROWS: &str = "Fill the table to N rows, including those it already holds, such as 314M \
                    [default: set by the workload, as --set rows=…]";
const RATE: &str = "Write RATE rows per second, such as 50k [default: as fast as the sessions go]";

/// Those of `run` that have these names, in its order.
fn of_run(names: &[&str]) -> Vec<Flag> {
    let named = RUN.iter().filter(|flag| names.contains(&flag.name));
    named.copied().collect()
}

/// Flags of `load`.
pub(super) fn load_flags() -> &'static [Flag] {
    static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
        let own = of_run(OF_LOAD).into_iter().map(|flag| match flag.name {
            "rows" => Flag { help: ROWS, ..flag },
            "rate" => Flag { help: RATE, ..flag },
            _ => flag,
        });
        own.collect()
    });
    &FLAGS
}

/// Flags of `find`.
pub(super) fn find_flags() -> &'static [Flag] {
    static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| of_probes(SEARCHING, OF_FIND));
    &FLAGS
}

/// Flags of `tune`.
pub(super) fn tune_flags() -> &'static [Flag] {
    static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| of_probes(TUNING, OF_TUNE));
    &FLAGS
}

fn of_probes(own: &[Flag], also: &[&str]) -> Vec<Flag> {
    [own, &of_run(&[OF_PROBES, also].concat())].concat()
}

/// Flags of `workloads`.
pub(super) fn workloads_flags() -> &'static [Flag] {
    static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
        let table = Flag {
            name: "table",
            short: None,
            old_name: None,
            value: Some("NAME"),
            repeats: false,
            default: None,
            heading: "Workload",
            help: "Sketch a workload from table NAME (with `from`)",
        };
        [vec![table], of_run(&["no-color"])].concat()
    });
    &FLAGS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_that_of_a_flag_of_run() {
        for name in [OF_LOAD, OF_PROBES, OF_FIND, OF_TUNE].concat() {
            assert!(RUN.iter().any(|flag| flag.name == name), "{name}");
        }
    }
}
