//! What other tools print: decimals and times in a unit, and lines at an interval, whose averages become seconds of
//! a record.

use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::record::IntervalRecord;
use highwater_model::units::{Nanos, Rate};

/// Maximum seconds that are stored.
const SECONDS_MAX: f64 = 172_800.0;
/// Longer times do not count as one second.
const SECOND_MOST: f64 = 1.5;

/// One line.
#[derive(Debug, Clone, Default)]
pub(super) struct Average {
    /// End, seconds since the start.
    pub(super) end_s: f64,
    pub(super) ops_per_s: f64,
    pub(super) errors_per_s: f64,
    pub(super) dropped_per_s: f64,
    pub(super) p50_ns: Option<u64>,
    pub(super) p99_ns: Option<u64>,
}

/// All lines so far.
#[derive(Debug, Default)]
pub(super) struct Averages {
    pub(super) intervals: Vec<IntervalRecord>,
    /// The end of the last line, seconds since the start.
    pub(super) end_s: f64,
    /// Longest time of a line, in seconds.
    pub(super) longest_s: f64,
}

impl Averages {
    /// Adds a line; false if it does not follow the last one.
    #[must_use]
    pub(super) fn note(&mut self, line: &Average) -> bool {
        let length = line.end_s - self.end_s;
        if length <= 0.0 || line.end_s > SECONDS_MAX {
            return false;
        }
        self.longest_s = self.longest_s.max(length);
        let (from, to) = (round_to_u64(self.end_s), round_to_u64(line.end_s));
        // A first line that ends within half a second counts as a second.
        let to = to.max(from + 1);
        let total = |per_s: f64| per_s * length;
        let parts = to - from;
        for part in 0..parts {
            let share = |per_s: f64| {
                let until = |n: u64| round_to_u64(total(per_s) * to_f64(n) / to_f64(parts));
                until(part + 1) - until(part)
            };
            let [acknowledged, errors, dropped] =
                [line.ops_per_s, line.errors_per_s, line.dropped_per_s].map(share);
            self.intervals.push(IntervalRecord {
                second: from + part,
                offered: acknowledged + errors + dropped,
                sent: acknowledged + errors,
                acknowledged,
                errors,
                dropped,
                p50_ns: line.p50_ns,
                p99_ns: line.p99_ns,
                ..IntervalRecord::default()
            });
        }
        self.end_s = line.end_s;
        true
    }

    /// Note for the reader.
    pub(super) fn notes(&self) -> Option<String> {
        let seconds = round_to_u64(self.longest_s);
        (self.longest_s > SECOND_MOST).then(|| {
            format!(
                "the figures over time come from lines of {seconds} s each: every second shows their \
                 mean"
            )
        })
    }
}

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
