//! Parses numbers as written in tables: `1,043,659`, `1.6M`, `10 GiB/s`, `84.7 ms`.
//!
//! A cell's own unit overrides that of its column's name.

use super::columns::Dimension;

/// Contents of a cell that count as empty.
const ABSENT: [&str; 8] = ["", "-", "–", "—", "?", "n/a", "na", "null"];

/// Whether the cell means that the source does not state the value.
pub(super) fn is_absent(cell: &str) -> bool {
    ABSENT.contains(&cell.to_lowercase().as_str())
}

/// Why a cell is not a number, and the suggested fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotANumber {
    pub(super) cause: String,
    pub(super) hint: &'static str,
}

/// The cell in the base unit of `dimension`. `scale` is the unit in the column's name; if neither has one, times,
/// bytes, and rates of bytes are rejected.
pub(super) fn number(
    cell: &str,
    dimension: Dimension,
    scale: Option<f64>,
) -> Result<f64, NotANumber> {
    let fail = |cause: &str| NotANumber {
        cause: format!("`{}` {cause}", cell.chars().take(40).collect::<String>()),
        hint: hint(dimension),
    };
    let end = cell
        .char_indices()
        .find(|(at, c)| !belongs_to_number(cell, *at, *c))
        .map_or(cell.len(), |(at, _)| at);
    let (numeral, unit) = cell.split_at(end);
    let value = plain(numeral).ok_or_else(|| fail("is not a number"))?;
    let unit = unit.trim();
    let factor = if unit.is_empty() {
        match (scale, dimension) {
            (Some(scale), _) => scale,
            (None, Dimension::Count | Dimension::Percent | Dimension::Word) => 1.0,
            (None, _) => {
                return Err(fail("has no unit"));
            }
        }
    } else {
        factor(unit, dimension).ok_or_else(|| fail("has a unit that does not fit here"))?
    };
    let value = value * factor;
    if value.is_finite() { Ok(value) } else { Err(fail("is too large")) }
}

/// Digits, signs, points, group separators, and the `e` of an exponent.
fn belongs_to_number(cell: &str, at: usize, c: char) -> bool {
    let next = cell[at + c.len_utf8()..].chars().next();
    match c {
        '0'..='9' | '.' | ',' | '_' | '\'' => true,
        '+' | '-' => at == 0 || cell[..at].ends_with(['e', 'E']),
        'e' | 'E' => {
            at > 0 && next.is_some_and(|next| next.is_ascii_digit() || "+-".contains(next))
        }
        ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' => next.is_some_and(|next| next.is_ascii_digit()),
        _ => false,
    }
}

/// A number without a unit. Groups of three digits may be separated, all by the same character.
fn plain(numeral: &str) -> Option<f64> {
    let (whole, rest) = match numeral.find(['.', 'e', 'E']) {
        Some(at) => numeral.split_at(at),
        None => (numeral, ""),
    };
    let separators: Vec<char> =
        whole.chars().filter(|c| !c.is_ascii_digit() && !"+-".contains(*c)).collect();
    let Some(separator) = separators.first() else {
        return finite(numeral);
    };
    let mut groups = whole.split(*separator);
    let first = groups.next()?.trim_start_matches(['+', '-']);
    let in_groups = (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3);
    if !in_groups || separators.iter().any(|other| other != separator) {
        return None;
    }
    finite(&(whole.replace(*separator, "") + rest))
}

fn finite(numeral: &str) -> Option<f64> {
    let value: f64 = numeral.parse().ok()?;
    value.is_finite().then_some(value)
}

/// The number of base units in the cell's unit.
fn factor(unit: &str, dimension: Dimension) -> Option<f64> {
    match dimension {
        Dimension::Count => count_factor(unit),
        Dimension::Percent => (unit == "%").then_some(1.0),
        Dimension::Time => time_factor(unit),
        Dimension::Bytes => byte_factor(unit),
        Dimension::ByteRate => {
            let per_s = unit
                .strip_suffix("/s")
                .or_else(|| unit.strip_suffix("/sec"))
                .or_else(|| unit.strip_suffix("ps"))?;
            byte_factor(per_s).or_else(|| bit_factor(per_s))
        }
        Dimension::Word => None,
    }
}

/// `k`, `M`, `G`, and the noun of a count: `293k rows/s`.
fn count_factor(unit: &str) -> Option<f64> {
    let (prefix, noun) = match unit.chars().next()? {
        'k' | 'K' => (1e3, &unit[1..]),
        'M' => (1e6, &unit[1..]),
        'G' => (1e9, &unit[1..]),
        _ => (1.0, unit),
    };
    let noun = noun.trim();
    let is_noun = noun.is_empty() || (noun.ends_with("/s") && !noun.contains(char::is_numeric));
    is_noun.then_some(prefix)
}

fn time_factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" | "sec" => 1.0,
        "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

fn byte_factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" | "bytes" | "byte" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "KiB" => 1_024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        "TiB" => 1_099_511_627_776.0,
        _ => return None,
    })
}

fn bit_factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "bit" | "b" => 0.125,
        "kbit" | "kb" => 125.0,
        "Mbit" | "Mb" => 0.125e6,
        "Gbit" | "Gb" => 0.125e9,
        "Tbit" | "Tb" => 0.125e12,
        _ => return None,
    })
}

fn hint(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Word | Dimension::Count => {
            "write a number such as 1043659, \"1,043,659\" or 1.04M; leave the cell empty if the \
             source does not state it"
        }
        Dimension::Percent => "write percent, such as 65 or 65%",
        Dimension::Time => {
            "write a time with its unit, such as 85 ms, or name the unit in the header: \
             mean_latency_ms"
        }
        Dimension::Bytes => {
            "write bytes with their unit, such as 2.5 MB, or name the unit in the header: \
             bytes_per_row, batch_mb"
        }
        Dimension::ByteRate => {
            "write a rate with its unit, such as 10 Gbit/s or 400 MiB/s, or name the unit in the \
             header: network_gbit_per_s"
        }
    }
}
