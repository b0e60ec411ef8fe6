//! One value, of a parameter or in a response, and a contiguous range of a table's keys.

use std::sync::Arc;

/// A scalar parameter, or a scalar in a response.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A double.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// Milliseconds since 1970-01-01T00:00:00Z.
    TimestampMs(i64),
    /// Text.
    Text(Arc<str>),
}

/// A contiguous range of a table's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRange {
    /// First key.
    pub first: u64,
    /// First key after it; greater than `first`.
    pub end: u64,
}

impl KeyRange {
    /// Every key.
    pub const ALL: Self = Self::beginning_at(0);

    /// All keys from this one on.
    pub const fn beginning_at(first: u64) -> Self {
        Self { first, end: i64::MAX.unsigned_abs() }
    }

    /// Whether it is unbounded above.
    pub fn is_open(self) -> bool {
        self.end == Self::ALL.end
    }

    /// Whether the key is in it.
    pub fn contains(self, key: u64) -> bool {
        self.first <= key && key < self.end
    }

    /// The condition of `BoundTable::locate` for these keys.
    pub fn located(self, locate: &str) -> String {
        let first = locate.replace(":first", &self.first.to_string());
        let last = self.end.saturating_sub(1).to_string();
        format!("({})", first.replace(":last", &last))
    }

    /// Splits the range in two at a multiple of `of` keys, if it has more keys than that; an open range is taken to end
    /// before `last`.
    pub fn halves(self, of: u64, last: u64) -> Option<[Self; 2]> {
        let end = if self.is_open() { last } else { self.end };
        let keys = end.checked_sub(self.first)?;
        let middle = self.first + (keys / 2).next_multiple_of(of);
        let is_apart = keys > of && middle > self.first && middle < end;
        let low = Self { end: middle, ..self };
        let high = Self { first: middle, ..self };
        is_apart.then_some([low, high])
    }

    /// Number of keys.
    pub fn keys(self) -> u64 {
        self.end.saturating_sub(self.first)
    }
}
