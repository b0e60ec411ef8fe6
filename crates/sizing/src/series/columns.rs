//! The known columns of a file of figures, with their aliases and units, and how the names of a header are bound to them.
//!
//! A column that is not in the list is a user-defined setting. Must not read cells.

use std::sync::LazyLock;

use Dimension::{ByteRate, Bytes, Count, Percent, Time, Word};
use Role::{About, Figure, Setting};

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

/// A column of the file, and how its cells are parsed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bound {
    /// Its name in points.
    pub(super) name: String,
    /// The name in the file.
    pub(super) header: String,
    pub(super) role: Role,
    pub(super) dimension: Dimension,
    /// Base units per unit of the name, if the name has a unit.
    pub(super) scale: Option<f64>,
    /// The unit of the throughput, if the name states it.
    pub(super) unit: Option<String>,
    /// Whether the name is in the list of known columns.
    pub(super) known: bool,
}

/// The unit of a throughput without a name.
pub(super) const NO_UNIT: &str = "units/s";

/// Binds every name of a header. At most one column has the role of the throughput.
pub(super) fn bind(headers: &[String]) -> Vec<Bound> {
    let mut bound: Vec<Bound> = headers.iter().map(|header| bind_one(header)).collect();
    let Some(chosen) = choose_throughput(&bound) else {
        return bound;
    };
    // Other columns next to a rate that is not marked as the total may be other series.
    let is_whole = preference(&bound[chosen]) <= SAYS_WHOLE;
    let unit = bound[chosen].unit.clone();
    for (at, column) in bound.iter_mut().enumerate() {
        if column.role != Role::Throughput || at == chosen {
            continue;
        }
        let noun = noun(column);
        let of_its_own = noun.is_none_or(|noun| NOUNS.contains(&noun)) && column.unit != unit;
        column.name = normalized(&column.header);
        column.role = if of_its_own || !is_whole { Role::Figure } else { Role::Part };
    }
    bound
}

/// The noun of a rate, if its name has one.
fn noun(column: &Bound) -> Option<&str> {
    column.unit.as_deref().and_then(|unit| unit.strip_suffix("/s"))
}

fn bind_one(header: &str) -> Bound {
    let name = normalized(header);
    let column = |name: &str, role, dimension| Bound {
        name: name.to_owned(),
        header: header.to_owned(),
        role,
        dimension,
        scale: None,
        unit: None,
        known: true,
    };
    if let Some(known) = by_name(&name) {
        let scale = ENDINGS
            .iter()
            .find(|(ending, dimension, _)| *dimension == known.dimension && name.ends_with(ending));
        let per_row = (name == "bytes_per_row").then_some(1.0);
        return Bound {
            scale: per_row.or(scale.map(|(_, _, scale)| *scale)),
            ..column(known.name, known.role, known.dimension)
        };
    }
    if let Some(part) = part_name(&name) {
        return column(part, Role::Part, Dimension::Count);
    }
    if let Some((stem, dimension, scale)) = with_ending(&name) {
        let known = by_name_and_dimension(stem, dimension);
        return match known {
            Some(known) => {
                Bound { scale: Some(scale), ..column(known.name, known.role, dimension) }
            }
            None => {
                Bound { scale: Some(1.0), known: false, ..column(&name, Role::Figure, dimension) }
            }
        };
    }
    if let Some(unit) = rate_unit(&name) {
        return Bound {
            unit: (!unit.is_empty()).then_some(unit),
            ..column(THROUGHPUT[0], Role::Throughput, Dimension::Count)
        };
    }
    Bound { known: false, ..column(&name, Role::Setting, Dimension::Count) }
}

/// `part_NAME`, or `q1`, `q2`, … for numbered queries.
fn part_name(name: &str) -> Option<&str> {
    if let Some(part) = name.strip_prefix("part_") {
        return Some(part);
    }
    let bare = name.strip_suffix("_per_s").unwrap_or(name);
    let number = bare.strip_prefix('q')?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(bare)
}

fn with_ending(name: &str) -> Option<(&str, Dimension, f64)> {
    // Other rates also end in `_per_s`; only those of bytes and bits are in the list.
    let is_rate = |text: &str| text.ends_with("_per_s");
    let ending = ENDINGS.iter().find(|(ending, _, _)| {
        let has_it = name.len() > ending.len() && name.ends_with(ending);
        has_it && is_rate(name) == is_rate(ending)
    });
    ending
        .map(|(ending, dimension, scale)| (&name[..name.len() - ending.len()], *dimension, *scale))
}

/// The noun of a rate, empty if its name has none; `None` if it is not a rate.
fn rate_unit(name: &str) -> Option<String> {
    if THROUGHPUT.contains(&name) {
        return Some(String::new());
    }
    if let Some((_, unit)) =
        SHORT_RATES.iter().find(|(short, _)| name == *short || name.ends_with(&format!("_{short}")))
    {
        return Some((*unit).to_owned());
    }
    let stem = name.strip_suffix("_per_s")?;
    let noun = stem.rsplit('_').next().unwrap_or(stem);
    let noun = match noun {
        "q" | "query" => "queries",
        "row" => "rows",
        "txn" | "tx" => "transactions",
        other => other,
    };
    Some(format!("{noun}/s"))
}

/// The greatest preference of a name that marks the total.
const SAYS_WHOLE: usize = 10;

/// Preference of a rate as the total, lowest first: one marked as the total, then one with a known noun.
fn preference(column: &Bound) -> usize {
    let name = normalized(&column.header);
    if let Some(at) = THROUGHPUT.iter().position(|known| *known == name) {
        at
    } else if name.starts_with("throughput") || name.contains("total") {
        SAYS_WHOLE
    } else if noun(column).is_none_or(|noun| NOUNS.contains(&noun)) {
        SAYS_WHOLE + 1
    } else {
        SAYS_WHOLE + 2
    }
}

/// Selects the throughput from several rates; the first of equals.
fn choose_throughput(bound: &[Bound]) -> Option<usize> {
    bound
        .iter()
        .enumerate()
        .filter(|(_, column)| column.role == Role::Throughput)
        .min_by_key(|(at, column)| (preference(column), *at))
        .map(|(at, _)| at)
}

/// Lower case, words joined by `_`, `/s` and `per second` as `_per_s`.
pub(super) fn normalized(header: &str) -> String {
    let spelled = header.trim().to_lowercase().replace('/', " per ");
    let words: Vec<&str> =
        spelled.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let name = words.join("_");
    for ending in ["_per_second", "_per_sec"] {
        if let Some(stem) = name.strip_suffix(ending) {
            return format!("{stem}_per_s");
        }
    }
    name
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
