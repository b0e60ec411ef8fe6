//! The columns that a file of figures may have, with their other names and their units.
//!
//! A column that is not in the list is a setting of the user's own. No cell is read here.

/// What a column is to a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What was set before measuring.
    Setting,
    /// What came out.
    Figure,
    /// Words about the whole series: its name, source, unit and claim.
    About,
    /// The throughput itself.
    Throughput,
    /// Throughput of a part of the whole.
    Part,
}

/// What a column's numbers count, and so which units they may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Text.
    Word,
    /// Things; `k`, `M` and `G` may follow.
    Count,
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bytes per second; bits may be given.
    ByteRate,
    /// Per cent.
    Percent,
}

/// A column that is known by name.
#[derive(Debug, Clone, Copy)]
pub struct KnownColumn {
    /// Its name in points, with its base unit last.
    pub name: &'static str,
    /// What it is to a point.
    pub role: Role,
    /// What it counts.
    pub dimension: Dimension,
    /// Other names, without a unit.
    pub aliases: &'static [&'static str],
    /// What it means, in a sentence.
    pub meaning: &'static str,
}

const fn known(
    name: &'static str,
    role: Role,
    dimension: Dimension,
    aliases: &'static [&'static str],
    meaning: &'static str,
) -> KnownColumn {
    KnownColumn {
        name,
        role,
        dimension,
        aliases,
        meaning,
    }
}

use Dimension::{ByteRate, Bytes, Count, Percent, Time, Word};
use Role::{About, Figure, Setting};

/// Every known column but the throughput, whose names are a family of their own.
pub const KNOWN_COLUMNS: &[KnownColumn] = &[
    known(
        "series",
        About,
        Word,
        &["name", "table", "experiment"],
        "Which rows belong together",
    ),
    known(
        "source",
        About,
        Word,
        &["url", "reference"],
        "Who published the figures",
    ),
    known("unit", About, Word, &["units"], "Unit of the throughput"),
    known(
        "claim",
        About,
        Word,
        &["claims", "statement"],
        "What the source says of its figures, in words",
    ),
    known(
        "note",
        About,
        Word,
        &["notes", "remark", "remarks", "comment", "comments"],
        "Remarks; read like `claim`",
    ),
    known(
        "engine",
        Setting,
        Word,
        &["database", "db", "product"],
        "The database, with its version",
    ),
    known("workload", Setting, Word, &["benchmark"], "What was asked"),
    known(
        "pace",
        Setting,
        Word,
        &[],
        "`open` (a rate) or `closed` (each session sends its next op after the response)",
    ),
    known(
        "op",
        Setting,
        Word,
        &["operation", "query", "label"],
        "Which op; `total` for all together",
    ),
    known(
        "nodes",
        Setting,
        Count,
        &[
            "node",
            "n",
            "servers",
            "machines",
            "hosts",
            "cluster_size",
            "num_nodes",
            "number_of_nodes",
        ],
        "Database nodes",
    ),
    known(
        "vcpus_per_node",
        Setting,
        Count,
        &["vcpu_per_node", "cores_per_node", "cpus_per_node"],
        "Virtual CPUs of each node",
    ),
    known(
        "placement",
        Setting,
        Word,
        &[],
        "`divided` (each row is on some of the nodes) or `everywhere` (every node holds all rows)",
    ),
    known(
        "replicas",
        Setting,
        Count,
        &["number_of_replicas", "num_replicas"],
        "Replicas of each shard; 0 is one copy in all",
    ),
    known(
        "primary_shards",
        Setting,
        Count,
        &["shards", "primaries", "number_of_shards", "num_shards"],
        "Primary shards of the table, or of each of its partitions",
    ),
    known(
        "partitions",
        Setting,
        Count,
        &["number_of_partitions"],
        "Partitions of the table; one when not stated",
    ),
    known(
        "client_processes",
        Setting,
        Count,
        &[
            "processes",
            "clients",
            "client_machines",
            "load_generators",
            "load_generators",
        ],
        "Load generators",
    ),
    known(
        "concurrency_per_process",
        Setting,
        Count,
        &[
            "in_flight",
            "inflight",
            "in_flight_per_process",
            "sessions_per_process",
            "threads_per_process",
            "sessions_per_client",
        ],
        "Sessions of each load generator",
    ),
    known(
        "sessions",
        Setting,
        Count,
        &[
            "users",
            "concurrency",
            "threads",
            "connections",
            "workers",
            "virtual_users",
            "vus",
            "terminals",
        ],
        "Sessions in all",
    ),
    known(
        "batch_rows",
        Setting,
        Count,
        &["batch", "batch_size", "bulk_size", "rows_per_batch", "bulk"],
        "Rows of one insert",
    ),
    known(
        "bytes_per_row",
        Setting,
        Bytes,
        &["row_bytes", "row_size", "record_size"],
        "Bytes of one row as it is sent",
    ),
    known(
        "rows",
        Setting,
        Count,
        &[
            "total_rows",
            "row_count",
            "rows_total",
            "rows_written",
            "rows_inserted",
            "number_of_rows",
            "rows_loaded",
        ],
        "Rows written, or in the table",
    ),
    known("warehouses", Setting, Count, &["wh"], "TPC-C warehouses"),
    known(
        "network_limit_bytes_per_s",
        Setting,
        ByteRate,
        &[
            "network_limit",
            "nic",
            "nic_limit",
            "network_bandwidth",
            "bandwidth",
            "network_per_node",
        ],
        "What one node's network can carry",
    ),
    known(
        "disk_limit_bytes_per_s",
        Setting,
        ByteRate,
        &["disk_limit", "disk_bandwidth", "disk_per_node"],
        "What one node's disks can write",
    ),
    known(
        "think_time_s",
        Setting,
        Time,
        &["think_time", "think", "pause"],
        "Pause of a session between answer and next op",
    ),
    known(
        "throughput_low",
        Figure,
        Count,
        &["low", "ci_low", "ci95_low"],
        "Lower end of the throughput's 95 % confidence interval",
    ),
    known(
        "throughput_high",
        Figure,
        Count,
        &["high", "ci_high", "ci95_high"],
        "Upper end of the throughput's 95 % confidence interval",
    ),
    known(
        "mean_latency_s",
        Figure,
        Time,
        &[
            "latency",
            "mean_latency",
            "avg_latency",
            "average_latency",
            "latency_mean",
            "latency_avg",
            "response_time",
            "mean_response_time",
        ],
        "Mean latency of an op",
    ),
    known(
        "p50_latency_s",
        Figure,
        Time,
        &["p50", "latency_p50", "p50_latency", "median_latency"],
        "Median latency of an op",
    ),
    known(
        "p95_latency_s",
        Figure,
        Time,
        &["p95", "latency_p95", "p95_latency"],
        "95th percentile of latency",
    ),
    known(
        "p99_latency_s",
        Figure,
        Time,
        &["p99", "latency_p99", "p99_latency"],
        "99th percentile of latency",
    ),
    known(
        "duration_s",
        Figure,
        Time,
        &["duration", "elapsed", "wall_time", "run_time", "runtime"],
        "How long was measured",
    ),
    known(
        "network_bytes_per_s",
        Figure,
        ByteRate,
        &[
            "network",
            "traffic",
            "network_traffic",
            "network_out",
            "network_in",
        ],
        "Traffic that the source names, all machines together",
    ),
    known(
        "disk_bytes_per_s",
        Figure,
        ByteRate,
        &["disk", "disk_writes", "disk_write", "disk_traffic"],
        "Disk writes that the source names, all machines together",
    ),
    known(
        "batch_bytes",
        Figure,
        Bytes,
        &[
            "batch_size_bytes",
            "batch_size",
            "batch",
            "bulk_size",
            "bytes_per_batch",
            "bulk_bytes",
            "payload",
        ],
        "Bytes of one insert, as the source names them",
    ),
    known(
        "data_bytes",
        Figure,
        Bytes,
        &[
            "data",
            "data_size",
            "total_size",
            "table_size",
            "total_bytes",
            "table_bytes",
        ],
        "Bytes of all rows, as the source names them",
    ),
    known(
        "stored_bytes_per_row",
        Figure,
        Bytes,
        &["disk_per_row"],
        "Bytes on disk per row",
    ),
    known(
        "cpu_percent",
        Figure,
        Percent,
        &["cpu", "cpu_use", "cpu_load"],
        "CPU use of the database nodes",
    ),
    known(
        "errors",
        Figure,
        Count,
        &["failed", "failures"],
        "Ops that failed",
    ),
    known(
        "rejections",
        Figure,
        Count,
        &["rejected"],
        "Ops that were rejected for lack of capacity",
    ),
];

/// Names of the throughput itself, in the order in which they are preferred.
pub(super) const THROUGHPUT: &[&str] = &["throughput", "total_throughput", "rate", "total_rate"];

/// Nouns whose rates are units of their own, never parts of another rate.
pub(super) const NOUNS: &[&str] = &[
    "rows",
    "queries",
    "ops",
    "operations",
    "requests",
    "reads",
    "writes",
    "inserts",
    "updates",
    "transactions",
    "metrics",
    "events",
    "records",
    "points",
    "documents",
    "messages",
];

/// Short words for a rate, and the unit that each means.
pub(super) const SHORT_RATES: &[(&str, &str)] = &[
    ("qps", "queries/s"),
    ("tps", "transactions/s"),
    ("rps", "requests/s"),
    ("iops", "ops/s"),
    ("tpmc", "tpmC"),
    ("tpm", "tpm"),
];

/// Endings of column names, what they measure, and how many base units one is.
pub(super) const ENDINGS: &[(&str, Dimension, f64)] = &[
    ("_gbit_per_s", ByteRate, 0.125e9),
    ("_mbit_per_s", ByteRate, 0.125e6),
    ("_kbit_per_s", ByteRate, 125.0),
    ("_bit_per_s", ByteRate, 0.125),
    ("_bits_per_s", ByteRate, 0.125),
    ("_gbps", ByteRate, 0.125e9),
    ("_mbps", ByteRate, 0.125e6),
    ("_gib_per_s", ByteRate, 1_073_741_824.0),
    ("_mib_per_s", ByteRate, 1_048_576.0),
    ("_kib_per_s", ByteRate, 1_024.0),
    ("_gb_per_s", ByteRate, 1e9),
    ("_mb_per_s", ByteRate, 1e6),
    ("_kb_per_s", ByteRate, 1e3),
    ("_bytes_per_s", ByteRate, 1.0),
    ("_tib", Bytes, 1_099_511_627_776.0),
    ("_gib", Bytes, 1_073_741_824.0),
    ("_mib", Bytes, 1_048_576.0),
    ("_kib", Bytes, 1_024.0),
    ("_tb", Bytes, 1e12),
    ("_gb", Bytes, 1e9),
    ("_mb", Bytes, 1e6),
    ("_kb", Bytes, 1e3),
    ("_bytes", Bytes, 1.0),
    ("_ns", Time, 1e-9),
    ("_us", Time, 1e-6),
    ("_ms", Time, 1e-3),
    ("_s", Time, 1.0),
    ("_sec", Time, 1.0),
    ("_seconds", Time, 1.0),
    ("_min", Time, 60.0),
    ("_minutes", Time, 60.0),
    ("_h", Time, 3_600.0),
    ("_hours", Time, 3_600.0),
    ("_percent", Percent, 1.0),
    ("_pct", Percent, 1.0),
];

/// A known column by its name or one of its other names.
pub(super) fn by_name(name: &str) -> Option<&'static KnownColumn> {
    KNOWN_COLUMNS
        .iter()
        .find(|known| known.name == name || known.aliases.contains(&name))
}

/// A known column of a dimension: `batch_size` in rows is not `batch_size` in bytes.
pub(super) fn by_name_and_dimension(
    name: &str,
    dimension: Dimension,
) -> Option<&'static KnownColumn> {
    let of_dimension = |known: &&KnownColumn| known.dimension == dimension;
    let is_named = |known: &&KnownColumn| known.name == name || known.aliases.contains(&name);
    KNOWN_COLUMNS.iter().filter(of_dimension).find(is_named)
}
