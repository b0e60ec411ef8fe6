//! Some keys of a table, one behind the other. What must not be here: tables.

/// Some keys of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRange {
    /// First key.
    pub first: u64,
    /// First key behind it; greater than `first`.
    pub end: u64,
}

impl KeyRange {
    /// Every key.
    pub const ALL: Self = Self::beginning_at(0);

    /// The keys from one on.
    pub const fn beginning_at(first: u64) -> Self {
        Self { first, end: i64::MAX.unsigned_abs() }
    }

    /// Whether it has no end but that of all keys.
    pub fn is_open(self) -> bool {
        self.end == Self::ALL.end
    }

    /// Whether the key is in it.
    pub fn contains(self, key: u64) -> bool {
        self.first <= key && key < self.end
    }

    /// A condition of `BoundTable::locate` for these keys.
    pub fn located(self, locate: &str) -> String {
        let first = locate.replace(":first", &self.first.to_string());
        let last = self.end.saturating_sub(1).to_string();
        format!("({})", first.replace(":last", &last))
    }

    /// Both halves, apart at a multiple of `of` keys, where there are more keys than that; the last ones of an
    /// open range are those before `last`.
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
