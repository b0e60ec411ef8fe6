//! The facts that a connected target reports.

use std::collections::BTreeMap;

use highwater_model::record::MemoryRecord;

/// Facts about a target, as it reports them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetFacts {
    /// Product and version on one line, such as the response to `SELECT version()`.
    pub version: String,
    /// Names of supported SQL dialects, best first.
    pub dialects: Vec<String>,
    /// Settings needed to repeat a run: durability, changed ones, insert mode.
    pub settings: BTreeMap<String, String>,
    /// Memory in which it can cache data; unreadable sizes are omitted.
    pub memory: MemoryRecord,
    /// A few words for the summary's first line, such as `one writer`.
    pub traits: Vec<String>,
    /// Supported table options.
    pub tables: TableFeatures,
    /// Several statements can be one transaction.
    pub transactions: bool,
    /// A batch insert is applied as a whole or not at all, in this insert mode.
    pub atomic_batches: bool,
    /// The most that a load generator sends to it, rows or queries per second, where the target simulates that too:
    /// a ceiling that nobody needs to measure.
    pub generator_ceiling: Option<u64>,
}

/// Table options other than columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableFeatures {
    /// It has shards with replicas: `--shards`, `--replicas`.
    pub shards: bool,
    /// It has other settings: `--with`.
    pub settings: bool,
}
