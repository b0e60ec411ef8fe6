//! The history of rows that replace each other: per key, the writes that may be its last one.
//!
//! A write may be the last one of its key if no acknowledged write to the key started after it had finished. Among
//! writes that overlapped in time, any may be the last. A write with an unknown outcome may be applied at any time, and
//! never becomes too old.
//!
//! Memory is bounded: if there are too many keys, half of them are dropped, chosen by a hash, so that a random sample
//! remains. Must not query the target.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use smallvec::SmallVec;

use highwater_model::units::Nanos;
use highwater_workload::random::mix;

use crate::store::{ReplacedKey, ReplacedLine};

/// Maximum keys per executor.
const KEYS_MAX: usize = 1 << 17;
/// Keys in a line of a ledger file.
const KEYS_PER_LINE: usize = 4_096;
/// Maximum additional writes, beyond one per key; after that, keys with several are not judged.
const MORE_MAX: usize = 1 << 18;

/// A write that may be the last one of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Write {
    /// Index of the written row; `None` for a delete.
    pub(crate) row: Option<u64>,
    /// When it was acknowledged; [`Nanos::MAX`] if never.
    finished: Nanos,
}

/// The writes to one key.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyHistory {
    /// When the latest acknowledged write started.
    latest: Option<Nanos>,
    /// Writes that may be the last one: nearly always one, which needs no allocation.
    writes: SmallVec<[Write; 1]>,
    /// Writes were dropped, so this key cannot be judged.
    unclear: bool,
    /// The audit found a row with this key.
    seen: bool,
}

/// The verdict on a found row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may be the last row.
    Fits,
    /// It is older than this acknowledged row.
    Stale(u64),
    /// A row that was deleted.
    Deleted,
    /// A row that was never sent.
    Unsent,
    /// A second row with this key.
    Twice,
    /// The key was dropped from the history.
    NotKept,
}

/// The keys of one table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replacements {
    /// Recording a row is on the path of an op, so the hash is a fast one.
    keys: HashMap<i64, KeyHistory, FixedState>,
    /// Keys are kept if this many low bits of their hash are 0.
    sieve: u32,
    /// Writes beyond one per key.
    more: usize,
    /// Rows were deleted, or may have been.
    deletes: bool,
}

impl KeyHistory {
    fn add(&mut self, write: Write, started: Nanos) {
        if write.finished < Nanos::MAX {
            self.latest = self.latest.max(Some(started));
        } else if write.row.is_none() && self.writes.contains(&write) {
            // One possible delete is equivalent to many.
            return;
        }
        // First, so that a key whose writes follow each other never needs room for two.
        self.settle();
        if self.latest.is_none_or(|latest| write.finished >= latest) {
            self.writes.push(write);
        }
    }

    /// Drops writes that were certainly replaced, and the memory that they needed.
    fn settle(&mut self) {
        if let Some(latest) = self.latest {
            self.writes.retain(|write| write.finished >= latest);
        }
        if self.writes.spilled() && self.writes.len() <= self.writes.inline_size() {
            self.writes.shrink_to_fit();
        }
    }

    /// Whether the key may have no row.
    fn may_be_absent(&self) -> bool {
        self.unclear || self.latest.is_none() || self.writes.iter().any(|w| w.row.is_none())
    }

    /// The newest row that may exist.
    fn newest(&self) -> Option<u64> {
        self.writes.iter().filter_map(|write| write.row).max()
    }
}

impl Replacements {
    /// Records writes to keys; `first_row` is absent for deletes, and `finished` if the outcome is unknown.
    pub(crate) fn note(
        &mut self,
        keys: &[i64],
        first_row: Option<u64>,
        started: Nanos,
        finished: Option<Nanos>,
    ) {
        self.deletes |= first_row.is_none();
        for (key, offset) in keys.iter().zip(0..) {
            if !self.keeps(*key) {
                continue;
            }
            let history = self.keys.entry(*key).or_default();
            let before = history.writes.len();
            let write = Write {
                row: first_row.map(|row| row + offset),
                finished: finished.unwrap_or(Nanos::MAX),
            };
            history.add(write, started);
            if history.writes.len() > before && before > 0 {
                self.more += 1;
                if self.more > MORE_MAX {
                    history.unclear = true;
                }
            } else {
                self.more = self.more.saturating_sub(before.saturating_sub(history.writes.len()));
            }
            if history.unclear {
                history.writes.clear();
            }
        }
        self.fit();
    }

    /// Merges the history of another executor.
    pub(crate) fn merge(&mut self, other: Self) {
        self.sieve = self.sieve.max(other.sieve);
        self.deletes |= other.deletes;
        for (key, theirs) in other.keys {
            let mine = self.keys.entry(key).or_default();
            mine.latest = mine.latest.max(theirs.latest);
            mine.unclear |= theirs.unclear;
            mine.writes.extend(theirs.writes);
            mine.settle();
        }
        let sieve = self.sieve;
        self.keys.retain(|key, _| kept(*key, sieve));
    }

    /// Merges the history of another share.
    pub(crate) fn merge_share(&mut self, other: Self) {
        self.merge(other);
        self.fit();
    }

    /// Its lines in a ledger file, with times relative to `origin`.
    pub(crate) fn lines(&self, origin: Nanos) -> Vec<ReplacedLine> {
        let relative = |time: Nanos| signed(time) - signed(origin);
        let stored = |(key, history): (&i64, &KeyHistory)| {
            let acknowledged = |write: &Write| Some(write.finished).filter(|at| *at < Nanos::MAX);
            let writes = history.writes.iter();
            let writes = writes.map(|write| (write.row, acknowledged(write).map(relative)));
            ReplacedKey(*key, history.latest.map(relative), history.unclear, writes.collect())
        };
        let mut keys: Vec<ReplacedKey> = self.keys.iter().map(stored).collect();
        keys.sort_unstable_by_key(|key| key.0);
        let line = |keys: &[ReplacedKey]| ReplacedLine {
            sieve: self.sieve,
            deletes: self.deletes,
            keys: keys.to_vec(),
            ..ReplacedLine::default()
        };
        if keys.is_empty() {
            vec![line(&[])]
        } else {
            keys.chunks(KEYS_PER_LINE).map(line).collect()
        }
    }

    /// The history of a line, on a clock on which the load began at `origin`, give or take an error: a write then is
    /// replaced only by one that certainly followed it.
    pub(crate) fn of_line(line: &ReplacedLine, origin: Nanos, error: Nanos) -> Self {
        let absolute = |relative: i64| {
            Nanos(u64::try_from(signed(origin).saturating_add(relative)).unwrap_or(0))
        };
        let history = |ReplacedKey(key, latest, unclear, writes): &ReplacedKey| {
            let write = |(row, finished): &(Option<u64>, Option<i64>)| Write {
                row: *row,
                finished: finished.map_or(Nanos::MAX, |at| absolute(at).saturating_add(error)),
            };
            let history = KeyHistory {
                latest: latest.map(|at| absolute(at).saturating_sub(error)),
                writes: writes.iter().map(write).collect(),
                unclear: *unclear,
                seen: false,
            };
            (*key, history)
        };
        let keys: HashMap<i64, KeyHistory, FixedState> = line.keys.iter().map(history).collect();
        let more = keys.values().map(|history| history.writes.len().saturating_sub(1)).sum();
        Self { keys, sieve: line.sieve, more, deletes: line.deletes }
    }

    /// Whether all written keys are kept.
    pub(crate) fn is_whole(&self) -> bool {
        self.sieve == 0
    }

    /// One in this many keys is kept.
    pub(crate) fn one_in(&self) -> u64 {
        1 << self.sieve.min(63)
    }

    /// Number of keys kept.
    pub(crate) fn len(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Whether any deletes were sent.
    pub(crate) fn has_deletes(&self) -> bool {
        self.deletes
    }

    /// Judges a found row; `row` is its index, if the row contains it.
    pub(crate) fn judge(&mut self, key: i64, row: Option<u64>) -> Verdict {
        if !self.keeps(key) {
            return Verdict::NotKept;
        }
        let Some(history) = self.keys.get_mut(&key) else {
            return Verdict::Unsent;
        };
        if std::mem::replace(&mut history.seen, true) {
            return Verdict::Twice;
        }
        if history.unclear {
            return Verdict::Fits;
        }
        let fits = |write: &Write| match row {
            Some(_) => write.row == row,
            None => write.row.is_some(),
        };
        if history.writes.iter().any(fits) {
            return Verdict::Fits;
        }
        match (history.latest, history.newest()) {
            (Some(_), Some(newest)) => Verdict::Stale(newest),
            (Some(_), None) => Verdict::Deleted,
            (None, _) if row.is_none() => Verdict::Fits,
            (None, _) => Verdict::Unsent,
        }
    }

    /// Keys without a row that must have one, with the newest possible row.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.keys
            .iter()
            .filter(|(_, history)| !history.seen)
            .filter(|(_, history)| !history.may_be_absent())
            .filter_map(|(key, history)| Some((*key, history.newest()?)))
    }

    fn keeps(&self, key: i64) -> bool {
        kept(key, self.sieve)
    }

    /// Drops keys until the rest fits.
    fn fit(&mut self) {
        while self.keys.len() > KEYS_MAX {
            self.sieve += 1;
            let sieve = self.sieve;
            self.keys.retain(|key, _| kept(*key, sieve));
            self.more =
                self.keys.values().map(|history| history.writes.len().saturating_sub(1)).sum();
        }
    }
}

fn signed(time: Nanos) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

/// A hash independent of those that generate keys.
fn kept(key: i64, sieve: u32) -> bool {
    mix(key.cast_unsigned() ^ 0x5bd1_e995_9c6e_f372).trailing_zeros() >= sieve
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// Writes to key 1 (deletes have no row), from start to finish in milliseconds.
    fn noted(writes: &[(Option<u64>, u64, Option<u64>)]) -> Replacements {
        let mut all = Replacements::default();
        for (row, started, finished) in writes {
            all.note(&[1], *row, MS(*started), finished.map(MS));
        }
        all
    }

    fn check(writes: &[(Option<u64>, u64, Option<u64>)], found: Option<u64>, expected: Verdict) {
        let mut all = noted(writes);
        assert_eq!(all.judge(1, found), expected, "{writes:?}, found {found:?}");
        // Merged executors give the same history as one.
        let mut parts = Replacements::default();
        for write in writes {
            parts.merge(noted(&[*write]));
        }
        assert_eq!(parts.judge(1, found), expected, "merged {writes:?}");
    }

    #[test]
    fn the_last_value_is_that_of_a_write_that_none_followed() {
        let after = [(Some(4), 0, Some(10)), (Some(5), 11, Some(20))];
        check(&after, Some(5), Verdict::Fits);
        check(&after, Some(4), Verdict::Stale(5));
        check(&after, Some(6), Verdict::Stale(5));
    }

    #[test]
    fn a_stored_history_judges_like_the_one_that_it_was_made_of() {
        let origin = MS(1_000);
        let writes =
            [(Some(4), 1_000, Some(1_010)), (Some(5), 1_011, Some(1_020)), (Some(6), 1_015, None)];
        let lines = noted(&writes).lines(origin);
        let text = serde_json::to_string(&lines).unwrap();
        let lines: Vec<ReplacedLine> = serde_json::from_str(&text).unwrap();
        for origin in [MS(1_000), MS(500_000)] {
            for row in [4, 5, 6, 7] {
                let mut restored = Replacements::of_line(&lines[0], origin, Nanos::ZERO);
                assert_eq!(
                    restored.judge(1, Some(row)),
                    noted(&writes).judge(1, Some(row)),
                    "{row}"
                );
            }
        }
    }

    #[test]
    fn of_writes_of_two_shares_that_are_closer_than_the_error_of_their_begins_any_may_be_the_last()
    {
        let shares = |gap_ms: u64, error: Nanos| {
            let share = |write| noted(&[write]).lines(MS(0));
            let [first, second] = [
                share((Some(4), 1_000, Some(1_010))),
                share((Some(5), 1_010 + gap_ms, Some(1_500))),
            ];
            let mut all = Replacements::default();
            for line in first.iter().chain(&second) {
                all.merge_share(Replacements::of_line(line, MS(100), error));
            }
            all.judge(1, Some(4))
        };
        assert_eq!(shares(5, MS(1)), Verdict::Stale(5));
        assert_eq!(shares(5, MS(3)), Verdict::Fits);
        assert_eq!(shares(1, Nanos::ZERO), Verdict::Stale(5));
    }

    #[test]
    fn of_writes_that_overlapped_any_may_be_the_last() {
        let overlapping = [(Some(4), 0, Some(10)), (Some(5), 10, Some(20))];
        check(&overlapping, Some(5), Verdict::Fits);
        check(&overlapping, Some(4), Verdict::Fits);
        // A third one that began when both had finished replaces both.
        let third = [overlapping[0], overlapping[1], (Some(6), 21, Some(22))];
        check(&third, Some(4), Verdict::Stale(6));
        check(&third, Some(5), Verdict::Stale(6));
    }

    #[test]
    fn a_write_with_an_unknown_outcome_is_never_too_old_and_replaces_nothing() {
        let unknown = [(Some(4), 0, None), (Some(5), 50, Some(60)), (Some(6), 70, None)];
        for row in [4, 5, 6] {
            check(&unknown, Some(row), Verdict::Fits);
        }
        check(&unknown, Some(3), Verdict::Stale(6));
    }

    #[test]
    fn a_deleted_row_may_be_absent_and_may_not_be_there() {
        let deleted = [(Some(4), 0, Some(10)), (None, 11, Some(20))];
        check(&deleted, Some(4), Verdict::Deleted);
        assert_eq!(noted(&deleted).missing().count(), 0);
        let written_again = [deleted[0], deleted[1], (Some(7), 30, Some(40))];
        check(&written_again, Some(7), Verdict::Fits);
        assert_eq!(noted(&written_again).missing().collect::<Vec<_>>(), [(1, 7)]);
        let perhaps = [(Some(4), 0, Some(10)), (None, 11, None)];
        check(&perhaps, Some(4), Verdict::Fits);
        assert_eq!(noted(&perhaps).missing().count(), 0);
    }

    #[test]
    fn a_row_that_is_not_there_is_missing_if_a_write_was_acknowledged() {
        let written = [(Some(4), 0, Some(10))];
        assert_eq!(noted(&written).missing().collect::<Vec<_>>(), [(1, 4)]);
        assert_eq!(noted(&[(Some(4), 0, None)]).missing().count(), 0);
        let mut seen = noted(&written);
        assert_eq!(seen.judge(1, Some(4)), Verdict::Fits);
        assert_eq!(seen.missing().count(), 0);
        assert_eq!(seen.judge(1, Some(4)), Verdict::Twice);
        assert_eq!(seen.judge(2, Some(9)), Verdict::Unsent);
    }

    #[test]
    fn without_a_mark_in_the_row_any_write_of_the_key_fits() {
        check(&[(Some(4), 0, Some(10))], None, Verdict::Fits);
        check(&[(None, 0, Some(10))], None, Verdict::Deleted);
    }

    #[test]
    fn a_key_that_is_written_again_and_again_allocates_nothing() {
        let mut all = Replacements::default();
        for number in 0..9 {
            let started = 10 * number;
            all.note(&[1], Some(number), MS(started), Some(MS(started + 5)));
            assert!(!all.keys[&1].writes.spilled(), "after write {number}");
        }
        // Two that overlap need room until one that follows both.
        for (number, started) in [(9, 100), (10, 101), (11, 200)] {
            all.note(&[1], Some(number), MS(started), Some(MS(started + 5)));
            assert_eq!(all.keys[&1].writes.spilled(), number == 10, "after write {number}");
        }
    }

    #[test]
    fn too_many_keys_become_a_random_part_of_them() {
        let mut all = Replacements::default();
        let keys: Vec<i64> = (0..400_000).collect();
        for chunk in keys.chunks(1_000) {
            all.note(chunk, Some(0), MS(0), Some(MS(1)));
        }
        assert_eq!(all.one_in(), 4);
        // A quarter of them, within five deviations: √(400,000 · ¼ · ¾) = 274.
        assert!((98_600..101_400).contains(&all.len()), "{}", all.len());
        let found = keys.iter().filter(|key| all.judge(**key, Some(0)) == Verdict::NotKept);
        assert_eq!(found.count() as u64, 400_000 - all.len());
    }
}
