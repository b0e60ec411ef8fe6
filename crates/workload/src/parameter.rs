//! The parameters of a workload: typed, with a default in the file, set by `--set name=value`.
//!
//! A setting is written in the user's notation (`4k`, `10s`, `2016-01-01T00:00:00Z`). It has one canonical text, and
//! one form in SQL: integers as digits, durations and timestamps in milliseconds, text unchanged.

use std::fmt;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterKind {
    /// A whole number; `k`, `M`, `G` multiply by thousand, million, billion.
    Integer,
    /// A number and a unit: `ms`, `s`, `m`, `h`, `d`.
    Duration,
    /// RFC 3339, to the millisecond.
    Timestamp,
    /// Letters, digits and `-_.:+/` and spaces.
    Text,
}

impl ParameterKind {
    pub(super) const ALL: [Self; 4] = [Self::Integer, Self::Duration, Self::Timestamp, Self::Text];

    /// Its name in a file.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Duration => "duration",
            Self::Timestamp => "timestamp",
            Self::Text => "text",
        }
    }

    /// The number in a text, for times in milliseconds; `None` if it is not of this kind, and for text.
    pub(super) fn parse(self, text: &str) -> Option<i64> {
        match self {
            Self::Integer => parse_integer(text),
            Self::Duration => parse_duration(text),
            Self::Timestamp => parse_timestamp(text),
            Self::Text => None,
        }
    }

    /// An example, for hints.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Integer => "an integer such as 4000 or 4k",
            Self::Duration => "a duration such as 500ms, 10s, 5m, 12h or 3d",
            Self::Timestamp => "a time such as 2016-01-01T00:00:00Z",
            Self::Text => "letters, digits, spaces and - _ . : + /, at most 200",
        }
    }
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A parameter as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSpec {
    /// Its name in `--set name=value`.
    pub name: String,
    /// Its type.
    pub kind: ParameterKind,
    /// The canonical text of its default.
    pub default: String,
    /// The allowed values of a text parameter; empty if any are.
    pub values: Vec<String>,
    /// A one-line description; may be empty.
    pub summary: String,
}

/// A parameter's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Setting {
    /// Any kind except text; milliseconds for times.
    Number(ParameterKind, i64),
    /// Text of the allowed characters.
    Text(String),
}

impl Setting {
    /// Parses a value of `kind`; `None` if it is invalid.
    pub(super) fn parse(kind: ParameterKind, text: &str) -> Option<Self> {
        match kind {
            ParameterKind::Text => is_plain_text(text).then(|| Self::Text(text.to_owned())),
            _ => kind.parse(text).map(|number| Self::Number(kind, number)),
        }
    }

    /// Its type.
    pub(super) fn kind(&self) -> ParameterKind {
        match self {
            Self::Number(kind, _) => *kind,
            Self::Text(_) => ParameterKind::Text,
        }
    }

    /// Its number (milliseconds for times); `None` for text.
    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(_, number) => Some(*number),
            Self::Text(_) => None,
        }
    }

    /// Its form in SQL and other text.
    pub(super) fn in_text(&self) -> String {
        match self {
            Self::Number(_, number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(ParameterKind::Duration, ms) => f.write_str(&format_duration(*ms)),
            Self::Number(ParameterKind::Timestamp, ms) => f.write_str(&format_timestamp(*ms)),
            Self::Number(_, number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

fn parse_integer(text: &str) -> Option<i64> {
    let (digits, factor) = match text.char_indices().next_back()? {
        (end, 'k') => (text.get(..end)?, 1_000),
        (end, 'M') => (text.get(..end)?, 1_000_000),
        (end, 'G') => (text.get(..end)?, 1_000_000_000),
        _ => (text, 1),
    };
    let digits = digits.replace('_', "");
    digits.parse::<i64>().ok()?.checked_mul(factor)
}

/// Units of a duration in milliseconds, the greatest first.
const UNITS: [(&str, i64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// A duration in milliseconds: a whole number, optionally negative, and a unit.
fn parse_duration(text: &str) -> Option<i64> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (digits, unit) = text.split_at(unit_at);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    digits.trim_end().parse::<i64>().ok()?.checked_mul(*factor)
}

fn format_duration(ms: i64) -> String {
    let (name, factor) =
        UNITS.iter().find(|(_, factor)| ms != 0 && ms % factor == 0).unwrap_or(&("s", 1_000));
    format!("{}{name}", ms / factor)
}

/// Milliseconds since 1970 of an RFC 3339 time; `None` if it is finer than a millisecond.
fn parse_timestamp(text: &str) -> Option<i64> {
    let nanos = OffsetDateTime::parse(text, &Rfc3339).ok()?.unix_timestamp_nanos();
    (nanos % 1_000_000 == 0).then(|| i64::try_from(nanos / 1_000_000).ok()).flatten()
}

/// RFC 3339 in UTC; the milliseconds as digits if the year does not fit that format.
pub(super) fn format_timestamp(ms: i64) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000)
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_else(|| ms.to_string())
}

/// Text that needs no quoting in any SQL string or number.
fn is_plain_text(text: &str) -> bool {
    text.len() <= 200 && text.chars().all(|c| c.is_ascii_alphanumeric() || " -_.:+/".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: ParameterKind, text: &str, canonical: Option<&str>) {
        let setting = Setting::parse(kind, text).map(|setting| setting.to_string());
        assert_eq!(setting.as_deref(), canonical, "{kind} {text:?}");
    }

    #[test]
    fn integers() {
        check(ParameterKind::Integer, "4000", Some("4000"));
        check(ParameterKind::Integer, "4_000", Some("4000"));
        check(ParameterKind::Integer, "314M", Some("314000000"));
        check(ParameterKind::Integer, "-2k", Some("-2000"));
        check(ParameterKind::Integer, "9223372036854775807k", None);
        check(ParameterKind::Integer, "1.5", None);
        check(ParameterKind::Integer, "k", None);
        check(ParameterKind::Integer, "", None);
    }

    #[test]
    fn durations() {
        check(ParameterKind::Duration, "10s", Some("10s"));
        check(ParameterKind::Duration, "60000ms", Some("1m"));
        check(ParameterKind::Duration, "90 m", Some("90m"));
        check(ParameterKind::Duration, "-24h", Some("-1d"));
        check(ParameterKind::Duration, "0ms", Some("0s"));
        check(ParameterKind::Duration, "10", None);
        check(ParameterKind::Duration, "10 parsecs", None);
        check(ParameterKind::Duration, "µs", None);
    }

    #[test]
    fn timestamps() {
        let start = Some("2016-01-01T00:00:00Z");
        check(ParameterKind::Timestamp, "2016-01-01T00:00:00Z", start);
        check(ParameterKind::Timestamp, "2016-01-01T02:00:00+02:00", start);
        check(ParameterKind::Timestamp, "2016-01-01T00:00:00.0001Z", None);
        check(ParameterKind::Timestamp, "yesterday", None);
        assert_eq!(parse_timestamp("2016-01-01T00:00:00Z"), Some(1_451_606_400_000));
    }

    #[test]
    fn text_cannot_leave_a_quoted_string() {
        check(ParameterKind::Text, "0-1", Some("0-1"));
        check(ParameterKind::Text, "1'); DROP TABLE cpu --", None);
    }
}
