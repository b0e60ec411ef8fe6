//! Numbers as tools print them: decimals, times in a unit, counts with grouped digits.

use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::units::{Nanos, Rate};

/// Maximum characters of a number.
const LONGEST: usize = 40;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// ns
    Nanoseconds,
    /// us
    Microseconds,
    /// ms
    Milliseconds,
    /// s
    Seconds,
}

impl TimeUnit {
    /// As `--unit` takes it.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ns" => Self::Nanoseconds,
            "us" | "µs" => Self::Microseconds,
            "ms" => Self::Milliseconds,
            "s" => Self::Seconds,
            _ => return None,
        })
    }

    /// Length in nanoseconds.
    pub const fn nanos(self) -> u64 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }
}

/// A number that is not negative.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !plain || text.len() > LONGEST {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A whole number.
pub(super) fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    (digits && !text.is_empty()).then(|| text.parse().ok())?
}

/// `amount` of a unit of `unit_ns` nanoseconds.
pub(super) fn nanos(amount: f64, unit_ns: u64) -> Nanos {
    Nanos(round_to_u64(amount * to_f64(unit_ns)))
}

/// Milliseconds.
pub(super) fn millis(text: &str) -> Option<Nanos> {
    Some(nanos(number(text)?, 1_000_000))
}

/// Seconds.
pub(super) fn seconds(text: &str) -> Option<Nanos> {
    Some(nanos(number(text)?, 1_000_000_000))
}

/// Units per second; absent for 0.
pub(super) fn rate(per_s: f64) -> Option<Rate> {
    let micro_per_s = round_to_u64(per_s * 1e6);
    (micro_per_s > 0).then_some(Rate { micro_per_s })
}
