//! Series of figures, measured here or published elsewhere: converts text or records to typed points.
//!
//! A point is one measured throughput with its settings. Tables, scaling models, sizing, and the plausibility rules all
//! use points, so CSV files and run records are treated alike. Must not fit, judge, or print.

mod columns;
mod read;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

/// A number for tables: with thousands separators, and as few decimals as needed.
pub use highwater_model::display::plain as number_text;

pub use columns::{Dimension, KNOWN_COLUMNS, KnownColumn, Role};
pub use read::read;
pub use record::{PUBLISHED, PublishedFile, everywhere, library, published};
pub use record::{of_record, of_records};
pub use record::{setting_of, tuned_points};

/// Names of columns used by other modules; [`KNOWN_COLUMNS`] has the meaning of each.
pub mod names {
    /// Database nodes.
    pub const NODES: &str = "nodes";
    /// Virtual CPUs of each node.
    pub const VCPUS_PER_NODE: &str = "vcpus_per_node";
    /// Whether rows are divided among the nodes, or every node holds all.
    pub const PLACEMENT: &str = "placement";
    /// Replicas of each shard; 0 means a single copy.
    pub const REPLICAS: &str = "replicas";
    /// Primary shards of the table, or of each of its partitions.
    pub const PRIMARY_SHARDS: &str = "primary_shards";
    /// Partitions of the table.
    pub const PARTITIONS: &str = "partitions";
    /// Load generators: processes or machines.
    pub const CLIENT_PROCESSES: &str = "client_processes";
    /// Sessions or requests in flight per load generator.
    pub const CONCURRENCY_PER_PROCESS: &str = "concurrency_per_process";
    /// Total sessions, users, connections, or threads.
    pub const SESSIONS: &str = "sessions";
    /// Rows per insert.
    pub const BATCH_ROWS: &str = "batch_rows";
    /// Bytes per row as sent.
    pub const BYTES_PER_ROW: &str = "bytes_per_row";
    /// Rows written, or in the table.
    pub const ROWS: &str = "rows";
    /// TPC-C warehouses.
    pub const WAREHOUSES: &str = "warehouses";
    /// Limit of one node's network, bytes per second.
    pub const NETWORK_LIMIT: &str = "network_limit_bytes_per_s";
    /// Limit of one node's disk writes, bytes per second.
    pub const DISK_LIMIT: &str = "disk_limit_bytes_per_s";
    /// Pause of a session between response and next op, seconds.
    pub const THINK_TIME: &str = "think_time_s";
    /// Mean latency, seconds.
    pub const MEAN_LATENCY: &str = "mean_latency_s";
    /// 99th percentile of latency, seconds.
    pub const P99_LATENCY: &str = "p99_latency_s";
    /// Measuring time, seconds.
    pub const DURATION: &str = "duration_s";
    /// Stated network traffic, bytes per second, all machines together.
    pub const NETWORK: &str = "network_bytes_per_s";
    /// Stated disk writes, bytes per second, all machines together.
    pub const DISK: &str = "disk_bytes_per_s";
    /// Stated bytes per insert.
    pub const BATCH_BYTES: &str = "batch_bytes";
    /// Stated bytes of all rows.
    pub const DATA_BYTES: &str = "data_bytes";
    /// CPU use of the database nodes, percent.
    pub const CPU_PERCENT: &str = "cpu_percent";
    /// Growth of the target's tables in bytes per acknowledged row.
    pub const STORED_BYTES_PER_ROW: &str = "stored_bytes_per_row";
    /// The database with its version.
    pub const ENGINE: &str = "engine";
    /// The workload.
    pub const WORKLOAD: &str = "workload";
    /// `open` or `closed`.
    pub const PACE: &str = "pace";
    /// The op, if there are several; `total` for all together.
    pub const OP: &str = "op";
}

/// The origin of a point.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A line of the file, from 1.
    Line(usize),
    /// A run's ID, with phase and stream if it has several.
    Run(String),
}

impl Origin {
    /// The run's ID, with phase and stream; absent for a line of a file.
    pub fn run(&self) -> Option<&str> {
        match self {
            Self::Line(_) => None,
            Self::Run(id) => Some(id),
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Run(id) => write!(f, "run {id}"),
        }
    }
}

/// A place in a file that is not read yet.
impl Default for Origin {
    fn default() -> Self {
        Self::Line(0)
    }
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// A number, in the base unit of its column.
    Number(f64),
    /// Text.
    Word(String),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => f.write_str(&number_text(*number)),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// One measured throughput with its settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Point {
    /// Its origin.
    pub origin: Origin,
    /// Name of its series; never empty.
    pub series: String,
    /// Source of the series; empty if not stated.
    pub source: String,
    /// The source's claim about its figures ("scales linearly"); empty if none.
    pub claim: String,
    /// Acknowledged work in [`Point::unit`], above zero and finite.
    pub throughput: f64,
    /// `rows/s`, `queries/s`, `tpmC`, …
    pub unit: String,
    /// 95% confidence interval of the throughput, if measured or stated.
    pub interval: Option<[f64; 2]>,
    /// Settings by canonical column name; absent if not stated.
    pub settings: BTreeMap<String, Setting>,
    /// Other measured figures by canonical column name, in base units.
    pub figures: BTreeMap<String, f64>,
    /// The offered rate, if a plan states it: the load of a step, not a result.
    pub offered_per_s: Option<f64>,
    /// Throughput of parts of the whole, in the same unit, by name.
    pub parts: BTreeMap<String, f64>,
    /// It is of a run that was stopped, or whose measurement is invalid: it shows no capacity.
    pub invalid: bool,
    /// The run missed its objective.
    pub missed: bool,
    /// The target was simulated.
    pub simulated: bool,
}

impl Point {
    /// A numeric setting or figure; absent if not stated.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.settings.get(name) {
            Some(Setting::Number(number)) => Some(*number),
            Some(Setting::Word(_)) => None,
            None => self.figures.get(name).copied(),
        }
    }

    /// A text setting; absent if not stated.
    pub fn word(&self, name: &str) -> Option<&str> {
        match self.settings.get(name) {
            Some(Setting::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Database nodes; absent if not stated.
    pub fn nodes(&self) -> Option<f64> {
        self.number(names::NODES)
    }

    /// Total sessions: as stated, else load generators times the sessions of each; one generator if their number is not
    /// stated. Absent if neither is stated.
    pub fn sessions(&self) -> Option<f64> {
        self.number(names::SESSIONS).or_else(|| {
            let each = self.number(names::CONCURRENCY_PER_PROCESS)?;
            Some(each * self.number(names::CLIENT_PROCESSES).unwrap_or(1.0))
        })
    }

    /// Whether its unit counts rows.
    pub fn counts_rows(&self) -> bool {
        self.unit.starts_with("rows/")
    }

    /// Whether it is unknown what its throughput counts.
    pub fn lacks_unit(&self) -> bool {
        self.unit == columns::NO_UNIT
    }

    /// The throughput in ops per second: rows divided by the rows of a batch, other units unchanged. Absent for rows
    /// without a stated batch, and for rates per minute.
    pub fn ops_per_s(&self) -> Option<f64> {
        if self.counts_rows() {
            let batch = self.number(names::BATCH_ROWS)?;
            return (batch > 0.0).then(|| self.throughput / batch);
        }
        self.unit.ends_with("/s").then_some(self.throughput)
    }
}

/// All points of a file or of a set of records.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeriesSet {
    /// In the order of the file.
    pub points: Vec<Point>,
    /// Columns in the order of the file.
    pub columns: Vec<Column>,
    /// Information for the reader that is not an error.
    pub notes: Vec<String>,
}

/// A column of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name in [`Point::settings`] and [`Point::figures`].
    pub name: String,
    /// The name in the file.
    pub header: String,
    /// Setting or figure.
    pub role: Role,
}

impl SeriesSet {
    /// Names of the series, each once, in order of first appearance.
    pub fn series(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for point in &self.points {
            if !names.contains(&point.series.as_str()) {
                names.push(&point.series);
            }
        }
        names
    }

    /// The points of one series.
    pub fn points_of<'a>(&'a self, series: &'a str) -> impl Iterator<Item = &'a Point> {
        self.points.iter().filter(move |point| point.series == series)
    }

    /// Appends the points of another file or record.
    pub fn append(&mut self, other: Self) {
        self.points.extend(other.points);
        for column in other.columns {
            if !self.columns.iter().any(|known| known.name == column.name) {
                self.columns.push(column);
            }
        }
        self.notes.extend(other.notes);
    }

    /// The file's own name of a column, if it has one.
    pub fn header<'a>(&'a self, name: &'a str) -> &'a str {
        let mut columns = self.columns.iter();
        let found = columns.find(|column| column.name == name);
        found.map_or(name, |column| &column.header)
    }
}
