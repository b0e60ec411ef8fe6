//! Flags of commands that share those of `run`: of `load`, all that have a meaning where nothing but
//! rows is written; of `find` and `tune`, all that concern each probe; and of `workloads`.

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
    "no-color",
];
/// And besides.
const OF_FIND: &[&str] = &["min-rate"];
const OF_TUNE: &[&str] = &["rate"];

/// What `--rows` and `--rate` mean to `load`.
const ROWS: &str = "Rows that the table is to have, those included that are there, such as 314M \
                    [default: the workload's own, as --set rows=…]";
const RATE: &str =
    "Write so many rows per second, such as 50k [default: as fast as the sessions go]";

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

fn of_probes(own: &[Flag], besides: &[&str]) -> Vec<Flag> {
    [own, &of_run(&[OF_PROBES, besides].concat())].concat()
}

/// Flags of `workloads`.
pub(super) fn workloads_flags() -> &'static [Flag] {
    static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
        let table = Flag {
            name: "table",
            short: None,
            alias: None,
            value: Some("NAME"),
            repeats: false,
            default: None,
            heading: "Workload",
            help: "Table to sketch a workload from, with `from` [default: none]",
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
