//! Checksums and counts by key: of the whole table at once, or slice by slice if the table is large or the target lacks
//! resources.
//!
//! Must not know the expected sums.

use highwater_analysis::sums::BUCKETS_MAX;
use highwater_driver::{BucketSums, KeyCounts, KeySums};
use highwater_model::op::BoundTable;
use highwater_model::stored::{GROUP_WIDTH_MAX, KeyRange};
use highwater_model::user_error::UserError;

use super::patient::{Next, PatientAdmin, Waits};
use super::progress::AuditProgressReporter;

/// Maximum number of groups per statement: the target keeps one sum per column and group, which bounds its memory for a
/// table of any size.
const GROUPS_MAX: u64 = BUCKETS_MAX as u64;
/// Maximum number of slices of a table beyond those of [`GROUPS_MAX`].
const SLICES_MAX: u64 = 1 << 10;

/// What to sum.
#[derive(Debug, Clone, Copy)]
pub(super) struct SumQuery {
    /// Keys per bucket, a power of two.
    pub(super) width: u64,
    /// Expected rows have keys below this one.
    pub(super) end: u64,
    /// Count only, without checksums.
    pub(super) counts_only: bool,
}

impl SumQuery {
    /// Keys in the widest slice.
    fn widest(self) -> u64 {
        let group = self.width.clamp(1, GROUP_WIDTH_MAX);
        group.saturating_mul(GROUPS_MAX)
    }

    /// Keys in the narrowest slice; slices of this width begin at a bucket.
    fn narrowest(self) -> u64 {
        let most = self.end.min(self.widest());
        self.width.max((most / SLICES_MAX).next_power_of_two())
    }

    /// The halves of a slice, if it can be split.
    fn halves(self, slice: KeyRange) -> Option<[KeyRange; 2]> {
        slice.halves(self.narrowest(), self.end)
    }
}

/// Sums a table, or only counts its rows. If the target lacks resources for a slice, this slice and all later ones are
/// halved.
pub(super) async fn sum(
    admin: &mut PatientAdmin<'_>,
    table: &BoundTable,
    query: SumQuery,
    progress: &AuditProgressReporter<'_>,
) -> Result<KeySums, UserError> {
    let mut sums = KeySums::default();
    let (mut left, mut waits) = (vec![KeyRange::ALL], Waits::default());
    let mut widest = query.widest();
    let mut slices = 0_u64;
    while let Some(slice) = left.pop() {
        let halves = query.halves(slice);
        let keys = slice.end.min(query.end).saturating_sub(slice.first);
        if let Some([low, high]) = halves.filter(|_| keys > widest) {
            left.extend([high, low]);
            continue;
        }
        match once(admin, table, slice, query).await {
            Ok(mut answer) => {
                let within =
                    |bucket: &BucketSums| slice.contains(bucket.bucket.saturating_mul(query.width));
                answer.buckets.retain(within);
                slices += 1;
                progress.slice(answer.buckets.iter().map(|bucket| bucket.rows).sum());
                sums.without_key = answer.without_key;
                sums.covered = answer.covered;
                sums.buckets.append(&mut answer.buckets);
            }
            Err(error) => {
                // After a lost connection, a narrower statement is not needed but does no harm.
                let next = Next::smaller_if(halves.is_some());
                admin.recover(error, &mut waits, next).await?;
                widest = keys / 2;
                left.push(slice);
            }
        }
    }
    if slices > 1 {
        // A slice contains no row without a key.
        let counts = admin.count_by_key(table, u64::MAX).await?;
        sums.without_key = counts.without_key;
    }
    Ok(sums)
}

async fn once(
    admin: &mut PatientAdmin<'_>,
    table: &BoundTable,
    slice: KeyRange,
    query: SumQuery,
) -> Result<KeySums, UserError> {
    let sliced;
    let table = if slice == KeyRange::ALL {
        table
    } else {
        sliced = BoundTable { slice: Some(slice), ..table.clone() };
        &sliced
    };
    if query.counts_only {
        let counts = admin.admin.count_by_key(table, query.width).await?;
        return Ok(of_counts(counts));
    }
    admin.admin.sums_by_key(table, query.width).await
}

/// Counts, as checksums without columns.
fn of_counts(counts: KeyCounts) -> KeySums {
    let buckets = counts.buckets.into_iter().map(|(bucket, rows)| BucketSums {
        bucket,
        rows,
        sums: Vec::new(),
    });
    KeySums { buckets: buckets.collect(), covered: Vec::new(), without_key: counts.without_key }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(width: u64, end: u64) -> SumQuery {
        SumQuery { width, end, counts_only: false }
    }

    #[test]
    fn slices_are_halved_where_buckets_begin_and_lose_no_key() {
        let ends = |slice: KeyRange| (slice.first, slice.end);
        let halves = |slice: KeyRange| query(64, 1_000).halves(slice).map(|both| both.map(ends));
        let open = KeyRange::ALL.end;
        assert_eq!(
            halves(KeyRange::ALL),
            Some([(0, 512), (512, open)]),
            "the last slice has no end"
        );
        let low = KeyRange { first: 0, end: 512 };
        assert_eq!(halves(low), Some([(0, 256), (256, 512)]));
        let narrow = KeyRange { first: 64, end: 128 };
        assert_eq!(halves(narrow), None);
    }

    #[test]
    fn a_statement_never_has_more_groups_than_the_bound_however_large_the_table_is() {
        for rows in [1_000_u64, 51_200_000, 100_000_000_000, 1 << 44] {
            // Same bucket width as in a ledger with this many rows.
            let width = (rows.div_ceil(GROUPS_MAX)).next_power_of_two().max(256);
            let query = query(width, rows);
            let groups = query.widest().min(rows).div_ceil(width.min(GROUP_WIDTH_MAX));
            assert!(groups <= GROUPS_MAX, "{rows} rows: {groups} groups");
            assert!(query.narrowest() <= query.widest(), "{rows}");
        }
    }
}
