//! Planned rows that were not acknowledged, by batch and row.
//!
//! They are held in a bounded list, which overflows to a bounded file in the run's directory. Must not resolve them.

use crate::store::Spill;

/// Maximum exceptions in memory; overflow goes to the file in chunks of this size.
const HELD_MAX: usize = 32_768;
/// Bytes of an exception in the file.
const BYTES: usize = 21;
/// Maximum exceptions in the file: 256 MiB.
const SPILLED_MAX: u64 = (256 << 20) / BYTES as u64;

/// Why rows are not among the acknowledged ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowOutcome {
    /// The target reported that it did not store them.
    Refused,
    /// Unknown.
    Unknown,
    /// The target stored some of them without reporting which: at least `least`, at most `most`.
    Partly { least: u32, most: u32 },
    /// They were never sent.
    NotSent,
    /// Of unknown outcome, searched for and not found.
    Absent,
}

/// A range of consecutive rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exception {
    /// Index of the first row.
    pub(crate) first: u64,
    /// At least 1.
    pub(crate) rows: u32,
    pub(crate) outcome: RowOutcome,
}

impl Exception {
    /// Index after the last row.
    pub(crate) fn end(&self) -> u64 {
        self.first.saturating_add(self.rows.into())
    }

    /// Whether the audit must search for them.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.outcome, RowOutcome::Unknown | RowOutcome::Partly { .. })
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        let (kind, least, most) = match self.outcome {
            RowOutcome::Refused => (0_u8, 0, 0),
            RowOutcome::Unknown => (1, 0, 0),
            RowOutcome::Partly { least, most } => (2, least, most),
            RowOutcome::NotSent => (3, 0, 0),
            RowOutcome::Absent => (4, 0, 0),
        };
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(&self.rows.to_le_bytes());
        bytes.push(kind);
        bytes.extend_from_slice(&least.to_le_bytes());
        bytes.extend_from_slice(&most.to_le_bytes());
    }

    fn read(bytes: &[u8; BYTES]) -> Self {
        let (first, rest) = bytes.split_at(8);
        let number = |at: usize| {
            let four = rest.get(at..at + 4).and_then(|four| four.try_into().ok());
            u32::from_le_bytes(four.unwrap_or_default())
        };
        let outcome = match rest[4] {
            0 => RowOutcome::Refused,
            1 => RowOutcome::Unknown,
            2 => RowOutcome::Partly { least: number(5), most: number(9) },
            3 => RowOutcome::NotSent,
            _ => RowOutcome::Absent,
        };
        Self {
            first: u64::from_le_bytes(first.try_into().unwrap_or_default()),
            rows: number(0),
            outcome,
        }
    }
}

/// All exceptions, in order of arrival.
#[derive(Debug)]
pub(crate) struct Exceptions {
    held: Vec<Exception>,
    spill: Spill,
    spilled: u64,
    /// Why some exceptions could not be kept.
    lost: Option<String>,
}

impl Exceptions {
    /// Empty; overflow goes to the file.
    pub(crate) fn new(spill: Spill) -> Self {
        Self { held: Vec::new(), spill, spilled: 0, lost: None }
    }

    /// Adds an exception. Neighbors with the same outcome are joined, except those that the audit searches for: it
    /// reports their outcome batch by batch.
    pub(crate) fn push(&mut self, exception: Exception) {
        if exception.rows == 0 {
            return;
        }
        if let Some(last) = self.held.last_mut()
            && last.end() == exception.first
            && last.outcome == exception.outcome
            && !last.is_open()
            && let Some(rows) = last.rows.checked_add(exception.rows)
        {
            last.rows = rows;
            return;
        }
        if self.held.len() == HELD_MAX {
            self.write_held();
        }
        self.held.push(exception);
    }

    /// Adds rows that may exceed the size of one exception.
    pub(crate) fn push_rows(&mut self, first: u64, rows: u64, outcome: RowOutcome) {
        let (mut first, mut left) = (first, rows);
        while left > 0 {
            let part = u32::try_from(left).unwrap_or(u32::MAX);
            self.push(Exception { first, rows: part, outcome });
            first = first.saturating_add(part.into());
            left -= u64::from(part);
        }
    }

    fn write_held(&mut self) {
        let full = self.spilled + self.held.len() as u64 > SPILLED_MAX;
        let written = if full {
            Err("there are more refused and unknown batches than are kept".to_owned())
        } else {
            let mut bytes = Vec::with_capacity(self.held.len() * BYTES);
            for exception in &self.held {
                exception.write(&mut bytes);
            }
            self.spill.append(&bytes).map_err(|error| error.message)
        };
        match written {
            Ok(()) => self.spilled += self.held.len() as u64,
            Err(error) => {
                self.lost.get_or_insert(error);
            }
        }
        self.held.clear();
    }

    /// Why some exceptions could not be kept; the audit is then not exact.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Appends the exceptions of another list.
    pub(crate) fn append(&mut self, mut other: Self) {
        for number in 0..other.parts() {
            for exception in other.part(number) {
                self.push(exception);
            }
        }
        if let Some(lost) = other.lost.take() {
            self.lost.get_or_insert(lost);
        }
    }

    /// The number of bounded parts for reading.
    pub(crate) fn parts(&self) -> u64 {
        self.spilled.div_ceil(HELD_MAX as u64) + 1
    }

    /// One of the parts, of at most [`HELD_MAX`]; empty if it cannot be read.
    pub(crate) fn part(&mut self, number: u64) -> Vec<Exception> {
        let at = number.saturating_mul(HELD_MAX as u64);
        if at >= self.spilled {
            return self.held.clone();
        }
        let count = (self.spilled - at).min(HELD_MAX as u64);
        let mut buffer = vec![0; usize::try_from(count).unwrap_or(0) * BYTES];
        if let Err(error) = self.spill.read(at * BYTES as u64, &mut buffer) {
            self.lost.get_or_insert(error.message);
            return Vec::new();
        }
        let (records, _) = buffer.as_chunks::<BYTES>();
        records.iter().map(Exception::read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(exceptions: &mut Exceptions) -> Vec<Exception> {
        let mut found = Vec::new();
        for number in 0..exceptions.parts() {
            found.extend(exceptions.part(number));
        }
        found
    }

    fn one(first: u64, rows: u32, outcome: RowOutcome) -> Exception {
        Exception { first, rows, outcome }
    }

    #[test]
    fn neighbors_with_one_outcome_are_merged_unless_the_audit_searches_for_them() {
        let root = tempfile::tempdir().unwrap();
        let mut list = Exceptions::new(Spill::at(root.path().join("a")));
        list.push(one(0, 10, RowOutcome::Refused));
        list.push(one(10, 10, RowOutcome::Refused));
        list.push(one(20, 10, RowOutcome::Unknown));
        list.push(one(30, 10, RowOutcome::Unknown));
        list.push(one(40, 10, RowOutcome::NotSent));
        list.push(one(60, 0, RowOutcome::Refused));
        let rows: Vec<_> = all(&mut list).iter().map(|e| (e.first, e.rows)).collect();
        assert_eq!(rows, [(0, 20), (20, 10), (30, 10), (40, 10)]);
    }

    #[test]
    fn exceptions_beyond_memory_are_read_back_from_a_file_that_has_no_name() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("spilled");
        let mut list = Exceptions::new(Spill::at(path.clone()));
        let outcomes = [
            RowOutcome::Refused,
            RowOutcome::Unknown,
            RowOutcome::Partly { least: 7, most: 9 },
            RowOutcome::NotSent,
            RowOutcome::Absent,
        ];
        let count = HELD_MAX as u64 * 2 + 5;
        let made = |at: u64| one(at * 10, 3, outcomes[usize::try_from(at % 5).unwrap()]);
        (0..count).for_each(|at| list.push(made(at)));
        assert_eq!(list.held.len(), 5);
        assert!(!path.exists());
        let mut other = Exceptions::new(Spill::at(root.path().join("other")));
        other.push(one(5, 1, RowOutcome::Unknown));
        other.append(list);
        let found = all(&mut other);
        assert!(found[1..].iter().copied().eq((0..count).map(made)));
        assert_eq!((found.len() as u64, other.lost()), (count + 1, None));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_reported() {
        let mut list = Exceptions::new(Spill::at("/nowhere/at/all".into()));
        (0..=HELD_MAX as u64).for_each(|at| list.push(one(at * 10, 1, RowOutcome::Refused)));
        assert!(list.lost().unwrap().contains("/nowhere/at/all"));
    }
}
