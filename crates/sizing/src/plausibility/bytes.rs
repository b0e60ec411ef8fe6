//! Rules about bytes and where they are: the size of rows, traffic against the hardware, and shards per node.
//!
//! A row's size is as stated by the source, or as written by a built-in workload, whose own generator is measured. Only
//! rows count as traffic: the size of query responses is unknown.

use std::collections::BTreeMap;

use highwater_model::numbers::len_to_f64;
use highwater_model::op::{ColumnData, Dictionary};
use highwater_model::units::Seed;
use highwater_workload::{WorkloadSpec, builtin};

use super::{PlausibilityWarning, Rule, Weight};
use crate::guidance::Guidance;
use crate::series::{Point, names, number_text};

/// Range of the stated bytes over rows × row size: column names and headers add to a row, and `kB` and `KiB` are
/// confused.
const BOUNDS: std::ops::RangeInclusive<f64> = 0.8..=2.0;

/// The stated size, and the column with its rows.
const SIZES: [(&str, &str, &str); 2] = [
    (names::BATCH_BYTES, names::BATCH_ROWS, "a batch"),
    (names::DATA_BYTES, names::ROWS, "all rows"),
];

/// Stated bytes of a batch, or of all rows, against rows × bytes per row.
pub(super) fn size_of_data(point: &Point) -> Vec<PlausibilityWarning> {
    let warnings = SIZES.iter().filter_map(|(stated, rows, what)| {
        let (stated, rows) = (point.number(stated)?, point.number(rows)?);
        // Only a stated row size: that of a built-in workload shows nothing about the source's rows.
        let bytes = point.number(names::BYTES_PER_ROW)?;
        let computed = rows * bytes;
        if computed <= 0.0 || BOUNDS.contains(&(stated / computed)) {
            return None;
        }
        let [stated, computed] = [stated, computed].map(bytes_text);
        let [rows, bytes] = [rows, bytes].map(number_text);
        let message = format!(
            "{what} is said to have {stated}, but {rows} rows of {bytes} bytes are {computed}"
        );
        let check = "which of the three figures is right, and does everything that was computed \
                     from it (traffic, disk) still hold?";
        Some(Rule::SizeOfData.warning(Weight::Contradiction, &[point], message, check))
    });
    warnings.collect()
}

/// Number of rows sampled.
const SAMPLE: usize = 256;

/// A row's size and its origin.
pub(super) struct RowSize {
    pub(super) bytes: f64,
    /// Stated by the source; otherwise from a built-in workload.
    pub(super) is_stated: bool,
    /// The origin, as the end of a sentence.
    pub(super) origin: String,
}

/// Absent if the source states none and the workload is not built in.
pub(super) fn row_size_of(point: &Point) -> Option<RowSize> {
    if let Some(bytes) = point.number(names::BYTES_PER_ROW) {
        return (bytes > 0.0).then(|| RowSize {
            bytes,
            is_stated: true,
            origin: "stated".to_owned(),
        });
    }
    let name = point.word(names::WORKLOAD)?;
    Some(RowSize {
        bytes: of_workload(name)?,
        is_stated: false,
        origin: format!("what a row of the workload `{name}` has as JSON"),
    })
}

/// Mean length of the rows of a workload's first insert, as JSON without column names.
fn of_workload(name: &str) -> Option<f64> {
    let spec = WorkloadSpec::parse(builtin(name)?.text).ok()?;
    let workload = spec.instantiate(&BTreeMap::new(), Seed(1)).ok()?;
    let batch = workload.row_batch(0, 0, SAMPLE);
    let bytes: usize = batch.columns.iter().map(column_bytes).sum();
    (batch.rows > 0).then(|| len_to_f64(bytes) / len_to_f64(batch.rows))
}

/// Characters of a column's values in a JSON array, each followed by a comma.
fn column_bytes(column: &ColumnData) -> usize {
    let texts = |lengths: &mut dyn Iterator<Item = usize>| lengths.map(|length| length + 1).sum();
    let dictionary = |dictionary: &Dictionary, quotes: usize| {
        let lengths = dictionary.codes.iter().map(|code| {
            let value = usize::try_from(*code).ok().and_then(|at| dictionary.values.get(at));
            value.map_or(0, |value| value.len() + quotes)
        });
        texts(&mut { lengths })
    };
    match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => {
            texts(&mut values.iter().map(|value| value.to_string().len()))
        }
        ColumnData::Float(values) => texts(&mut values.iter().map(|v| v.to_string().len())),
        ColumnData::Boolean(values) => texts(&mut values.iter().map(|v| v.to_string().len())),
        ColumnData::Text(values) => texts(&mut values.iter().map(|value| value.len() + 2)),
        ColumnData::TextDictionary(values) => dictionary(values, 2),
        ColumnData::ObjectDictionary(values) => dictionary(values, 0),
        ColumnData::Nullable(values, _) => column_bytes(values),
    }
}

/// Maximum traffic per row and copy, in row sizes: headers, column names, and acknowledgments together stay below it.
const MOST_OVERHEAD: f64 = 4.0;
/// Minimum traffic per row, in row sizes, with strong compression.
const LEAST_SHARE: f64 = 0.1;
/// Maximum traffic per row if its size is unknown.
const MOST_UNKNOWN_BYTES: f64 = 4_096.0;

/// Bytes per second: stated traffic against rate and row size, and both against the hardware.
///
/// Rows only: the size of query responses is unknown.
pub(super) fn row_bytes(point: &Point) -> Option<PlausibilityWarning> {
    let traffic = point.number(names::NETWORK).filter(|_| point.counts_rows())?;
    let per_row = traffic / point.throughput;
    let copies = 1.0 + point.number(names::REPLICAS).unwrap_or(0.0);
    let size = row_size_of(point);
    let (most, least) = match &size {
        Some(RowSize { bytes, .. }) => (bytes * MOST_OVERHEAD * copies, bytes * LEAST_SHARE),
        None => (MOST_UNKNOWN_BYTES * copies, 0.0),
    };
    if (least..=most).contains(&per_row) {
        return None;
    }
    let against = match &size {
        None => "more than rows of most workloads have".to_owned(),
        Some(size) => format!("against {} bytes, {}", number_text(size.bytes), size.origin),
    };
    let bits = bits_for_bytes(traffic).filter(|_| per_row > most).map_or_else(
        String::new,
        |(text, bytes_per_s)| {
            let per_row = number_text(bytes_per_s / point.throughput);
            format!("; read as {text}/s it is {per_row} bytes per row")
        },
    );
    let (traffic, rate, each) = (bytes_text(traffic), rate_text(point), number_text(per_row));
    let message = format!("{traffic}/s for {rate} are {each} bytes per row, {against}{bits}");
    let check = "are these bits or bytes, and whose traffic is it: one machine's, one direction's, \
                 with or without copies between nodes?";
    let weight =
        if size.is_some_and(|size| size.is_stated) { Weight::Contradiction } else { Weight::Doubt };
    Some(Rule::RowBytes.warning(weight, &[point], message, check))
}

/// A kind of hardware: its stated limit per node, its stated traffic, and whether every copy of a row uses it.
struct Carrier {
    what: &'static str,
    limit: &'static str,
    traffic: &'static str,
    weight: Weight,
    every_copy: bool,
}

const CARRIERS: [Carrier; 2] = [
    Carrier {
        what: "network",
        limit: names::NETWORK_LIMIT,
        traffic: names::NETWORK,
        weight: Weight::Contradiction,
        every_copy: false,
    },
    // Disk writes may be compressed.
    Carrier {
        what: "disks",
        limit: names::DISK_LIMIT,
        traffic: names::DISK,
        weight: Weight::Doubt,
        every_copy: true,
    },
];

pub(super) fn bandwidth(point: &Point) -> Vec<PlausibilityWarning> {
    let warnings = CARRIERS.iter().flat_map(|carrier| {
        let nodes = point.nodes().unwrap_or(1.0);
        let limit = point.number(carrier.limit).map(|limit| limit * nodes);
        limit.map_or_else(Vec::new, |limit| exceeded(point, carrier, limit))
    });
    warnings.collect()
}

fn exceeded(point: &Point, carrier: &Carrier, limit: f64) -> Vec<PlausibilityWarning> {
    let nodes = number_text(point.nodes().unwrap_or(1.0));
    let check = "is the limit one node's, is the traffic that of the nodes and not of their \
                 clients, and was anything compressed on the way?";
    let (what, most) = (carrier.what, bytes_text(limit));
    let can = format!("the {what} of {nodes} nodes carry {most}/s");
    let mut warnings = Vec::new();
    let stated = point.number(carrier.traffic);
    if let Some(stated) = stated.filter(|stated| *stated > limit) {
        let message = format!("{}/s are stated, but {can}", bytes_text(stated));
        warnings.push(Rule::Bandwidth.warning(Weight::Contradiction, &[point], message, check));
    }
    let size = row_size_of(point).filter(|_| point.counts_rows());
    if let Some(size) = size {
        let copies = match point.number(names::REPLICAS) {
            Some(replicas) if carrier.every_copy => 1.0 + replicas,
            _ => 1.0,
        };
        let needed = point.throughput * size.bytes * copies;
        if needed > limit {
            let (rate, needed) = (rate_text(point), bytes_text(needed));
            let (bytes, origin) = (number_text(size.bytes), &size.origin);
            let message = format!("{rate} of {bytes} bytes ({origin}) need {needed}/s, but {can}");
            warnings.push(Rule::Bandwidth.warning(carrier.weight, &[point], message, check));
        }
    }
    warnings
}

fn rate_text(point: &Point) -> String {
    format!("{} {}", number_text(point.throughput), point.unit)
}

/// The same number with bits instead of bytes, and its value in bytes: 10 GiB and 10 Gbit are often confused.
fn bits_for_bytes(bytes: f64) -> Option<(String, f64)> {
    const PREFIXES: [(char, f64); 4] = [('T', 1e12), ('G', 1e9), ('M', 1e6), ('k', 1e3)];
    let text = bytes_text(bytes);
    let (number, unit) = text.split_once(' ')?;
    let first = unit.chars().next()?.to_ascii_lowercase();
    let (prefix, factor) =
        PREFIXES.into_iter().find(|(prefix, _)| prefix.to_ascii_lowercase() == first)?;
    let value: f64 = number.replace(',', "").parse().ok()?;
    Some((format!("{number} {prefix}bit"), value * factor / 8.0))
}

/// `10 GiB`, `1.2 MB`: binary units if they give a round number, because they were probably meant.
pub(super) fn bytes_text(bytes: f64) -> String {
    const BINARY: [(&str, f64); 3] =
        [("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("KiB", 1_024.0)];
    const DECIMAL: [(&str, f64); 4] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let even = |unit: f64| bytes >= unit && (bytes / unit * 10.0).fract().abs() < 1e-9;
    let decimal_is_even = DECIMAL.iter().any(|(_, unit)| even(*unit));
    if !decimal_is_even && let Some((name, unit)) = BINARY.iter().find(|(_, unit)| even(*unit)) {
        return format!("{} {name}", number_text(bytes / unit));
    }
    match DECIMAL.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{} {name}", number_text(bytes / unit)),
        None => format!("{} B", number_text(bytes)),
    }
}

/// Shards per node: too many for the database's own guidance, or too few to use every node.
pub(super) fn shards_per_node(point: &Point) -> Option<PlausibilityWarning> {
    let shards = point.number(names::PRIMARY_SHARDS).filter(|shards| *shards >= 1.0)?;
    let partitions = point.number(names::PARTITIONS).unwrap_or(1.0).max(1.0);
    let nodes = point.nodes()?;
    let replicas = point.number(names::REPLICAS).unwrap_or(0.0);
    let copies = shards * partitions * (1.0 + replicas);
    let of_partitions = if partitions > 1.0 {
        let [shards, partitions] = [shards, partitions].map(number_text);
        format!(" ({shards} in each of {partitions} partitions)")
    } else {
        String::new()
    };
    let [all, on] = [copies, nodes].map(number_text);
    let what = format!("{all} shards{of_partitions} on {on} nodes");
    if copies < nodes {
        let message = format!("{what}: {} nodes hold nothing", number_text(nodes - copies));
        let check = "with fewer shards than nodes some nodes only pass work on; give each node at \
                     least one.";
        return Some(Rule::ShardsPerNode.warning(Weight::Doubt, &[point], message, check));
    }
    let engine = point.word(names::ENGINE)?;
    let most = Guidance::for_engine(Some(engine))?.most_shards_per_node;
    let per_node = copies / nodes;
    if per_node <= most {
        return None;
    }
    let rows = point.number(names::ROWS).map_or(String::new(), |rows| {
        let each = number_text(rows / (shards * partitions));
        format!(", {each} rows in each")
    });
    let (per_node, most) = (number_text(per_node), number_text(most));
    let message =
        format!("{what} are {per_node} per node{rows}; the guidance of {engine} is at most {most}");
    let check = "with larger partitions or fewer shards each, does it go faster? Small shards cost \
                 memory and slow queries down.";
    Some(Rule::ShardsPerNode.warning(Weight::Doubt, &[point], message, check))
}
