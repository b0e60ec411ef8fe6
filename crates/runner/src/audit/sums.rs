//! Checksums and counts by key, of the whole table at once or, where the target has no room for
//! that, of one range of keys after the other.
//!
//! What must not be here: what the sums should be.

use highwater_driver::{BucketSums, KeyCounts, KeySums, TargetError};
use highwater_model::op::BoundTable;

use super::patient::{PatientAdmin, Waits, is_transient};
use crate::table_setup::{between_keys, from_key};

/// A table is summed in this many ranges of keys at most.
const RANGES_MAX: u64 = 1 << 10;

/// A range of keys; the last one has no end.
#[derive(Debug, Clone, Copy)]
struct Part {
    first: u64,
    end: Option<u64>,
}

impl Part {
    const ALL: Self = Self {
        first: 0,
        end: None,
    };

    /// Both halves, apart where a bucket begins; none where that is too narrow.
    fn halves(self, narrowest: u64, end: u64) -> Option<[Self; 2]> {
        let keys = self.end.unwrap_or(end).checked_sub(self.first)?;
        let middle = self.first + (keys / 2).next_multiple_of(narrowest);
        let apart = keys > narrowest && middle > self.first && middle < self.first + keys;
        apart.then_some([
            Self {
                first: self.first,
                end: Some(middle),
            },
            Self {
                first: middle,
                end: self.end,
            },
        ])
    }

    fn has(self, bucket: u64, width: u64) -> bool {
        let key = bucket.saturating_mul(width);
        key >= self.first && self.end.is_none_or(|end| key < end)
    }

    /// The table in which rows outside of the range have no key.
    fn of(self, table: &BoundTable) -> BoundTable {
        match (self.first, self.end) {
            (0, None) => table.clone(),
            (first, None) => from_key(table, first),
            (first, Some(end)) => between_keys(table, first..end),
        }
    }
}

/// Adds up a table, in buckets of `width` keys, a power of two, or counts its rows alone. Rows are expected below the
/// key `end`. After each refusal that may pass, ranges are half as wide.
pub(super) async fn sum(
    admin: &mut PatientAdmin<'_>,
    table: &BoundTable,
    width: u64,
    end: u64,
    counts_only: bool,
) -> Result<KeySums, TargetError> {
    let widest = (end / RANGES_MAX).next_power_of_two();
    let narrowest = width.max(widest);
    let mut sums = KeySums::default();
    // Rows of the table, as the latest answer counts them: the same in every range.
    let mut rows = 0;
    let mut left = vec![Part::ALL];
    let mut waits = Waits::default();
    while let Some(part) = left.pop() {
        let answer = once(admin, &part.of(table), width, counts_only).await;
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                // A target that was cut off needs no narrower request, but is not hurt by one.
                let halves = if is_transient(&error) {
                    part.halves(narrowest, end)
                } else {
                    None
                };
                admin.recover(error, &mut waits).await?;
                match halves {
                    Some([low, high]) => left.extend([high, low]),
                    None => left.push(part),
                }
                continue;
            }
        };
        let with_key: u64 = answer.buckets.iter().map(|bucket| bucket.rows).sum();
        rows = answer.without_key + with_key;
        sums.covered = answer.covered;
        answer
            .buckets
            .retain(|bucket| part.has(bucket.bucket, width));
        sums.buckets.append(&mut answer.buckets);
    }
    let with_key: u64 = sums.buckets.iter().map(|bucket| bucket.rows).sum();
    sums.without_key = rows.saturating_sub(with_key);
    Ok(sums)
}

async fn once(
    admin: &mut PatientAdmin<'_>,
    table: &BoundTable,
    width: u64,
    counts_only: bool,
) -> Result<KeySums, TargetError> {
    if counts_only {
        let counts = admin.admin.count_by_key(table, width).await?;
        return Ok(of_counts(counts));
    }
    admin.admin.sums_by_key(table, width).await
}

/// Counts in the shape of checksums without columns.
fn of_counts(counts: KeyCounts) -> KeySums {
    let buckets = counts.buckets.into_iter();
    let buckets = buckets.map(|(bucket, rows)| BucketSums {
        bucket,
        rows,
        sums: Vec::new(),
    });
    KeySums {
        buckets: buckets.collect(),
        covered: Vec::new(),
        without_key: counts.without_key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_halved_where_buckets_begin_and_lose_no_key() {
        let ends = |part: Part| (part.first, part.end);
        let halves = |part: Part| part.halves(64, 1_000).map(|both| both.map(ends));
        assert_eq!(
            halves(Part::ALL),
            Some([(0, Some(512)), (512, None)]),
            "the last range has no end"
        );
        let low = Part {
            first: 0,
            end: Some(512),
        };
        assert_eq!(halves(low), Some([(0, Some(256)), (256, Some(512))]));
        let narrow = Part {
            first: 64,
            end: Some(128),
        };
        assert_eq!(halves(narrow), None);
        assert!(low.has(7, 64) && !low.has(8, 64) && Part::ALL.has(1 << 30, 64));
    }
}
