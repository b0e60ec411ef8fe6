//! Flags of commands that share those of `run`: of `load`, all that have a meaning where nothing but
//! rows is written, and of `workloads`.

use std::sync::LazyLock;

use super::flags::{Flag, RUN};

/// Their names, in the order of `run`.
const NAMES: [&str; 26] = [
    "sessions",
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

/// What `--rows` means here.
const ROWS: &str = "Rows that the table is to have, those included that are there, such as 314M \
                    [default: the workload's own, as --set rows=…]";

/// Flags of `load`.
pub(super) fn load_flags() -> &'static [Flag] {
    static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
        let named = RUN.iter().filter(|flag| NAMES.contains(&flag.name));
        let own = named.map(|flag| match flag.name {
            "rows" => Flag {
                help: ROWS,
                ..*flag
            },
            _ => *flag,
        });
        own.collect()
    });
    &FLAGS
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
        let shared = RUN.iter().filter(|flag| flag.name == "no-color");
        std::iter::once(table).chain(shared.copied()).collect()
    });
    &FLAGS
}
