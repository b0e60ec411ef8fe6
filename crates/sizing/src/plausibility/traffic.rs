//! Bytes per second: stated traffic against rate and row size, and both against the hardware.
//!
//! Rows only: the size of query responses is unknown.

use super::row_size::{self, RowSize};
use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::series::{Point, names, number_text};

/// Maximum traffic per row and copy, in row sizes: headers, column names, and acknowledgments together stay below it.
const MOST_OVERHEAD: f64 = 4.0;
/// Minimum traffic per row, in row sizes, with strong compression.
const LEAST_SHARE: f64 = 0.1;
/// Maximum traffic per row if its size is unknown.
const MOST_UNKNOWN_BYTES: f64 = 4_096.0;

pub(super) fn row_bytes(point: &Point) -> Option<PlausibilityWarning> {
    let traffic = point.number(names::NETWORK).filter(|_| point.counts_rows())?;
    let per_row = traffic / point.throughput;
    let copies = 1.0 + point.number(names::REPLICAS).unwrap_or(0.0);
    let size = row_size::of(point);
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
    let size = row_size::of(point).filter(|_| point.counts_rows());
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
