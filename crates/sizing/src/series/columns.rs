//! The known columns of a file of figures, with their aliases and units.
//!
//! A column that is not in the list is a user-defined setting. Must not read cells.

use std::sync::LazyLock;

/// The role of a column in a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Set before measuring.
    Setting,
    /// Measured.
    Figure,
    /// Text about the whole series: its name, source, unit, and claim.
    About,
    /// The throughput itself.
    Throughput,
    /// Throughput of a part of the whole.
    Part,
}

/// The quantity in a column's numbers, which determines the allowed units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Text.
    Word,
    /// A count; `k`, `M`, and `G` are allowed.
    Count,
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bytes per second; bits are allowed.
    ByteRate,
    /// Percent.
    Percent,
}

/// A known column.
#[derive(Debug)]
pub struct KnownColumn {
    /// Its name in points, with its base unit last.
    pub name: &'static str,
    /// Its role in a point.
    pub role: Role,
    /// Its quantity.
    pub dimension: Dimension,
    /// Other names, without a unit.
    pub aliases: Vec<&'static str>,
    /// Its meaning in one sentence.
    pub meaning: &'static str,
}

use Dimension::{ByteRate, Bytes, Count, Percent, Time, Word};
use Role::{About, Figure, Setting};

const FILE: &str = include_str!("../../data/columns.txt");

/// All known columns except the throughput, whose names form a separate family.
pub static KNOWN_COLUMNS: LazyLock<Vec<KnownColumn>> =
    LazyLock::new(|| FILE.lines().filter_map(KnownColumn::of_line).collect());

impl KnownColumn {
    fn of_line(line: &'static str) -> Option<Self> {
        let mut cells = line.split('|').map(str::trim);
        Some(Self {
            name: cells.next()?,
            role: match cells.next()? {
                "about" => About,
                "setting" => Setting,
                "figure" => Figure,
                _ => return None,
            },
            dimension: match cells.next()? {
                "word" => Word,
                "count" => Count,
                "time" => Time,
                "bytes" => Bytes,
                "byte_rate" => ByteRate,
                "percent" => Percent,
                _ => return None,
            },
            aliases: cells.next()?.split_whitespace().collect(),
            meaning: cells.next()?,
        })
    }

    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// Names of the throughput itself, in order of preference.
pub(super) const THROUGHPUT: &[&str] = &["throughput", "total_throughput", "rate", "total_rate"];

/// Nouns whose rates are separate units, never parts of another rate.
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

/// Abbreviations of rates, and the unit of each.
pub(super) const SHORT_RATES: &[(&str, &str)] = &[
    ("qps", "queries/s"),
    ("tps", "transactions/s"),
    ("rps", "requests/s"),
    ("iops", "ops/s"),
    ("tpmc", "tpmC"),
    ("tpm", "tpm"),
];

/// Suffixes of column names, their quantities, and the number of base units in one.
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

/// A known column by its name or an alias.
pub(super) fn by_name(name: &str) -> Option<&'static KnownColumn> {
    KNOWN_COLUMNS.iter().find(|known| known.is_named(name))
}

/// A known column of a dimension: `batch_size` in rows is not `batch_size` in bytes.
pub(super) fn by_name_and_dimension(
    name: &str,
    dimension: Dimension,
) -> Option<&'static KnownColumn> {
    let mut known = KNOWN_COLUMNS.iter();
    known.find(|known| known.dimension == dimension && known.is_named(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_read() {
        let lines = FILE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(KNOWN_COLUMNS.len(), lines);
    }
}
