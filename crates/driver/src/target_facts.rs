//! What a target reports of itself once it is connected.

use std::collections::BTreeMap;

use highwater_model::record::MemoryRecord;

/// Facts about a target, as it reports them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetFacts {
    /// Product and version as one line, such as the answer to `SELECT version()`.
    pub version: String,
    /// Names of SQL dialects that it understands, best first.
    pub dialects: Vec<String>,
    /// Settings that matter for a repetition: durability, changed ones, insert mode.
    pub settings: BTreeMap<String, String>,
    /// Memory in which it can keep data; a size that cannot be read is left out.
    pub memory: MemoryRecord,
    /// A few words for the summary's first line, such as `one writer`.
    pub traits: Vec<String>,
    /// What its tables have besides columns.
    pub tables: TableFeatures,
    /// Several statements can be one transaction.
    pub transactions: bool,
    /// A batch insert is applied as a whole or not at all, in this insert mode.
    pub atomic_batches: bool,
    /// The most that a load generator sends to it, rows or queries per second, where the target simulates that too:
    /// a ceiling that nobody needs to measure.
    pub generator_ceiling: Option<u64>,
}

/// Properties that a table can be created with, besides its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableFeatures {
    /// It has shards with replicas: `--shards`, `--replicas`.
    pub shards: bool,
    /// It has settings of its own: `--with`.
    pub settings: bool,
}
