//! The audit of one table at its level: expected rows, found rows, faults.
//!
//! Checksums and counts by key are read of the whole table at once, or slice by slice if the table is large or the
//! target lacks resources.

use std::collections::BTreeSet;
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;

use highwater_analysis::sums::{BUCKETS_MAX, Comparison, EXAMPLES_MAX, compare, removal};
use highwater_driver::{BucketSums, KeyCounts, KeySums, Timeline};
use highwater_model::audit_record::{Removal, WrongSql};
use highwater_model::event::{AuditStage, TableStep};
use highwater_model::op::{BoundColumn, BoundTable, BoundWorkload, RowBatch};
use highwater_model::plan::{AuditLevel, Plan};
use highwater_model::record::{
    AuditExample, AuditRecord, Expectation, ExpectedBucket, Fault, FoundBucket,
};
use highwater_model::stored::{Difference, GROUP_WIDTH_MAX, KeyRange, StoredRow, difference};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_workload::{Invariant, Workload};

use super::patient::{Next, PatientAdmin, Waits};
use super::{AuditProgressReporter, rows_of};
use crate::ledger::Ledger;
use crate::store::RunDirectory;
use crate::table_setup::ExistingTables;
use crate::time_limits::until;

/// Maximum examples of one fault, so that no fault crowds out another.
const EXAMPLES_OF_A_FAULT: usize = EXAMPLES_MAX / 4;

/// Rows of wrong buckets on which the audit's SQL is checked.
const ROWS_IN_BUCKETS: usize = 8;

/// One table of an audit.
pub(crate) struct TableAudit<'a, 'p> {
    pub(super) input: &'a AuditInput<'a>,
    pub(super) table: &'a BoundTable,
    /// Position of the table in the workload.
    pub(super) position: usize,
    pub(super) ledger: &'a mut Ledger,
    pub(super) admin: &'a mut PatientAdmin<'p>,
    pub(super) rows: Regenerator<'a>,
    pub(super) figures: Figures,
    /// Rows of earlier runs.
    pub(super) before: u64,
}

/// The audit result of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    /// Its part of the record. Found rows are those of this run, and rows that were never sent. `narrowed` is also set
    /// if no bucket is wrong.
    pub(crate) record: AuditRecord,
    /// Rows that must be in the table, including those of earlier runs. Every later audit expects them, so that a loss
    /// is never forgotten.
    pub(crate) rows_due: u64,
    /// Rows that arrived after they were searched for.
    pub(crate) late: u64,
    /// How the table lost all its rows at once.
    pub(crate) removal: Option<Removal>,
    /// The fault in the audit's own SQL; if set, nothing else is reported.
    pub(crate) wrong_sql: Option<WrongSql>,
}

impl Figures {
    /// Adds an example, unless its fault has enough.
    pub(super) fn example(&mut self, example: AuditExample) {
        let examples = &mut self.record.examples;
        let of_fault = examples.iter().filter(|e| e.fault == example.fault);
        if of_fault.count() < EXAMPLES_OF_A_FAULT {
            examples.push(example);
        }
    }

    /// The figures of a table that was dropped: all rows are missing.
    pub(super) fn of_dropped(acknowledged: u64, before: u64) -> Self {
        Self {
            record: AuditRecord {
                missing: acknowledged + before,
                missing_before: before,
                narrowed: true,
                ..AuditRecord::default()
            },
            rows_due: acknowledged + before,
            removal: Some(Removal::Dropped),
            ..Self::default()
        }
    }

    fn compared(&mut self, comparison: &Comparison) {
        let record = &mut self.record;
        record.found += comparison.found;
        record.missing += comparison.missing;
        record.surplus += comparison.surplus;
        record.duplicated += comparison.duplicated;
        record.foreign += comparison.surplus - comparison.duplicated;
        record.altered += comparison.altered;
        record.buckets += comparison.buckets;
        record.examples.extend(comparison.examples.iter().cloned());
    }
}

impl TableAudit<'_, '_> {
    /// Audits; wrong buckets are narrowed to their rows if time permits.
    pub(super) async fn run(&mut self, times: TableTimes<'_>) -> Result<(), UserError> {
        let level = self.input.level;
        let mut wrong = BTreeSet::new();
        let mut suspects = BTreeSet::new();
        if level >= AuditLevel::Sums {
            self.begin_stage(TableStep::Searching, 0);
            suspects = self.resolve(level == AuditLevel::Sums).await?;
            wrong.extend(suspects.iter().map(|row| row / self.ledger.width()));
        }
        if self.input.met > Some(1) {
            self.expect_only();
            return Ok(());
        }
        let stage = match level {
            AuditLevel::Sums => TableStep::Summing,
            _ => TableStep::Counting,
        };
        self.begin_stage(stage, rows_of(self.ledger));
        let query = SumQuery {
            width: self.ledger.width(),
            end: self.ledger.rows().end,
            counts_only: level != AuditLevel::Sums,
        };
        let progress = &self.input.progress;
        let sums = sum(self.admin, self.table, query, progress).await?;
        let expectation = self.expectation(&sums);
        let comparison = compare(&expectation);
        self.figures.rows_due = self.before + rows_due(&expectation, comparison.found);
        if self.input.plan.share.of == 1 && (self.before == 0 || sums.without_key == 0) {
            self.figures.removal = removal(&expectation, comparison.missing);
        }
        if !self.input.stored {
            self.compare_others(sums.without_key);
        }
        self.suspect(&comparison, &mut suspects);
        if !suspects.is_empty()
            && level < AuditLevel::Full
            && self.distrusts_own_sql(&suspects, times).await?
        {
            return Ok(());
        }
        if level == AuditLevel::Full {
            let expected = expectation.expected.iter().map(|bucket| bucket.bucket);
            wrong.extend(expected.chain(expectation.found.iter().map(|bucket| bucket.bucket)));
        }
        wrong.extend(comparison.wrong.iter().copied());
        if self.input.plan.share.of > 1 {
            self.figures.record.expectations.push(expectation);
            self.figures.compared(&comparison);
            return Ok(());
        }
        if level < AuditLevel::Sums || wrong.is_empty() {
            self.figures.record.narrowed = wrong.is_empty();
            self.figures.compared(&comparison);
            return Ok(());
        }
        let wrong: Vec<u64> = wrong.into_iter().collect();
        let in_wrong = self.ledger.width().saturating_mul(wrong.len() as u64);
        self.begin_stage(TableStep::Reading, in_wrong.min(rows_of(self.ledger)));
        let (end, timeline) = (times.narrow_until, times.timeline.as_ref());
        let narrowed = until(end, timeline, pin!(self.narrow(&wrong))).await;
        self.conclude(&comparison, narrowed.transpose()?);
        if level == AuditLevel::Full {
            self.recheck(times).await?;
        }
        Ok(())
    }

    /// Records what this share expects, for the comparison with what the first one finds.
    fn expect_only(&mut self) {
        let covered = match self.input.level {
            AuditLevel::Sums => vec![true; self.table.columns.len()],
            _ => Vec::new(),
        };
        let expectation = self.expectation(&KeySums { covered, ..KeySums::default() });
        self.figures.record.expectations.push(expectation);
    }

    /// Adds some rows of wrong buckets to the suspect rows.
    fn suspect(&self, comparison: &Comparison, suspects: &mut BTreeSet<u64>) {
        if self.input.plan.share.of > 1 && comparison.missing == 0 {
            // Rows of other shares are surplus here, but not suspect.
            suspects.clear();
            return;
        }
        let (width, rows) = (self.ledger.width(), self.ledger.rows());
        let step = comparison.wrong.len().div_ceil(ROWS_IN_BUCKETS).max(1);
        let some = comparison.wrong.iter().step_by(step);
        suspects.extend(some.map(|bucket| rows.start.max(bucket * width)));
    }

    /// Checks the SQL that found wrong rows.
    pub(super) async fn recheck(&mut self, times: TableTimes<'_>) -> Result<(), UserError> {
        let record = &self.figures.record;
        if record.missing + record.surplus + record.altered > 0 {
            let suspects: BTreeSet<u64> =
                record.examples.iter().map(|example| example.first_key).collect();
            self.distrusts_own_sql(&suspects, times).await?;
        }
        Ok(())
    }

    /// Compares rows without a key of this run: those of earlier runs, and rows that were never sent.
    fn compare_others(&mut self, found: u64) {
        let surplus = found.saturating_sub(self.before);
        let missing = self.before.saturating_sub(found);
        self.figures.record.found += surplus;
        self.figures.record.surplus += surplus;
        self.figures.record.foreign += surplus;
        self.figures.record.missing += missing;
        self.figures.record.missing_before = missing;
        if missing > 0 {
            self.figures.example(AuditExample {
                last_key: self.input.tables.first_row.saturating_sub(1),
                acknowledged: self.before,
                found,
                ..example(Fault::Missing, &self.table.name, 0)
            });
        }
    }

    /// Concludes from the rows, which are exact; without them, from the buckets.
    fn conclude(&mut self, comparison: &Comparison, narrowed: Option<Figures>) {
        let figures = &mut self.figures;
        let Some(narrowed) = narrowed else {
            figures.compared(comparison);
            return;
        };
        let record = &narrowed.record;
        let wrong_rows = record.missing + record.surplus + record.altered;
        figures.late += narrowed.late;
        add(&mut figures.record, narrowed.record);
        figures.record.narrowed = wrong_rows + narrowed.late > 0 || comparison.wrong.is_empty();
        if figures.record.narrowed {
            figures.record.buckets += comparison.buckets;
            figures.record.found += comparison.found;
        } else {
            // The rows changed between the two reads: the buckets' faults remain.
            figures.compared(comparison);
        }
    }

    /// Both sides, with the checksums of the columns that both have.
    fn expectation(&mut self, found: &KeySums) -> Expectation {
        let covered: Vec<usize> =
            (0..found.covered.len()).filter(|column| found.covered[*column]).collect();
        let of = |sums: &[u64]| -> Vec<u64> {
            covered.iter().filter_map(|column| sums.get(*column)).copied().collect()
        };
        let name = |column: &usize| self.table.columns.get(*column).map(|c| c.name.clone());
        let columns: Vec<String> = covered.iter().filter_map(name).collect();
        let of_table = |column: &String| format!("{}.{column}", self.table.name);
        self.figures.record.columns = columns.iter().map(of_table).collect();
        let expected =
            self.ledger.buckets().map(|bucket| ExpectedBucket { sums: of(&bucket.sums), ..bucket });
        let found = found.buckets.iter().map(|bucket| FoundBucket {
            bucket: bucket.bucket,
            rows: bucket.rows,
            sums: of(&bucket.sums),
        });
        Expectation {
            table: self.table.name.clone(),
            width: self.ledger.width(),
            columns,
            expected: expected.collect(),
            found: found.collect(),
        }
    }

    pub(super) fn begin_stage(&self, step: TableStep, rows: u64) {
        let table = self.table.name.clone();
        let stage = AuditStage::Table { table, step };
        self.input.progress.stage(stage, rows);
    }
}

/// Adds the figures of one table to the total, or more figures of the same table.
pub(super) fn add(record: &mut AuditRecord, more: AuditRecord) {
    record.found += more.found;
    record.missing += more.missing;
    record.missing_before += more.missing_before;
    record.surplus += more.surplus;
    record.duplicated += more.duplicated;
    record.refused_found += more.refused_found;
    record.foreign += more.foreign;
    record.altered += more.altered;
    record.buckets += more.buckets;
    record.read_back += more.read_back;
    record.narrowed &= more.narrowed;
    record.columns.extend(more.columns);
    record.expectations.extend(more.expectations);
    record.examples.extend(more.examples);
    record.replaced = record.replaced.or(more.replaced);
    let (sum, more) = (&mut record.resolved, more.resolved);
    sum.applied += more.applied;
    sum.partly += more.partly;
    sum.not_applied += more.not_applied;
    sum.rows_found += more.rows_found;
}

/// An example of an acknowledged row that was not found.
pub(super) fn example(fault: Fault, table: &str, row: u64) -> AuditExample {
    AuditExample {
        fault,
        table: table.to_owned(),
        first_key: row,
        last_key: row,
        acknowledged: 1,
        unknown: 0,
        found: 0,
        column: None,
        expected: None,
        stored: None,
    }
}

/// Rows of this run that must be there: acknowledged rows, and found rows of unknown outcome.
fn rows_due(expectation: &Expectation, found: u64) -> u64 {
    let expected = expectation.expected.iter();
    let acknowledged: u64 = expected.clone().map(|bucket| bucket.acknowledged).sum();
    let unknown: u64 = expected.map(|bucket| bucket.unknown).sum();
    found.clamp(acknowledged, acknowledged + unknown)
}

/// The input of an audit.
pub(crate) struct AuditInput<'a> {
    /// The planned level, or a lower one if the target supports no more.
    pub(crate) level: AuditLevel,
    pub(crate) limit: Nanos,
    /// The plan of the run whose rows are compared.
    pub(crate) plan: &'a Plan,
    pub(crate) bound: &'a BoundWorkload,
    /// The workload with all rows keyed, including those of earlier runs.
    pub(crate) whole: &'a BoundWorkload,
    /// The tables before this run; in `bound`, rows of earlier runs have no key.
    pub(crate) tables: &'a ExistingTables,
    pub(crate) workload: &'a Workload,
    /// Per table, whether statements with an unknown effect changed it.
    pub(crate) changed: &'a [bool],
    /// Invariants to check; empty for one share of several, which cannot see all writes.
    pub(crate) invariants: &'a [Invariant],
    pub(crate) directory: &'a RunDirectory,
    /// The number of this share, if the plan's shares met. The first one audits after all have sent their last op, and
    /// reads the rows of all; the others record only what they expect.
    pub(crate) met: Option<u32>,
    /// The run ended earlier: others may have written since, and the server's counters have advanced.
    pub(crate) stored: bool,
    /// Reports the current stage and its progress.
    pub(crate) progress: AuditProgressReporter<'a>,
}

/// The times of the comparison of one table.
#[derive(Clone, Copy)]
pub(crate) struct TableTimes<'a> {
    /// Timeline of the run.
    pub(super) timeline: &'a Rc<dyn Timeline>,
    /// Until this time, wrong buckets are narrowed to their rows.
    pub(super) narrow_until: Nanos,
}

/// Rows generated at once.
const BLOCK: u64 = 256;
/// Blocks kept: rows are read back from a few places at a time.
const BLOCKS: usize = 64;

/// Regenerates the rows of one table.
pub(crate) struct Regenerator<'a> {
    workload: &'a Workload,
    table: usize,
    columns: &'a [BoundColumn],
    /// By block number modulo [`BLOCKS`].
    blocks: Vec<RowBatch>,
}

impl<'a> Regenerator<'a> {
    pub(crate) fn new(workload: &'a Workload, table: usize, columns: &'a [BoundColumn]) -> Self {
        Self { workload, table, columns, blocks: vec![RowBatch::default(); BLOCKS] }
    }

    /// The difference between a stored row and the row that was sent under its key.
    pub(crate) fn difference(&mut self, row: &StoredRow) -> Option<Difference> {
        let block = row.key / BLOCK;
        let slot = usize::try_from(block % BLOCKS as u64).unwrap_or(0);
        let batch = &mut self.blocks[slot];
        if batch.rows == 0 || batch.first_row != block * BLOCK {
            let rows = usize::try_from(BLOCK).unwrap_or(1);
            self.workload.fill_row_batch(self.table, block * BLOCK, rows, batch);
        }
        let at = usize::try_from(row.key % BLOCK).unwrap_or(0);
        difference(self.columns, batch, at, &row.values)
    }

    /// Generates these rows.
    pub(crate) fn batch(&self, rows: Range<u64>) -> RowBatch {
        let count = usize::try_from(rows.end.saturating_sub(rows.start)).unwrap_or(0);
        self.workload.row_batch(self.table, rows.start, count)
    }
}

/// One bit per row.
#[derive(Debug, Clone)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    /// No row is marked.
    pub(crate) fn new(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(64)])
    }

    pub(crate) fn get(&self, row: usize) -> bool {
        self.0.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    pub(crate) fn set(&mut self, row: usize, marked: bool) {
        if let Some(word) = self.0.get_mut(row / 64) {
            let bit = 1 << (row % 64);
            *word = if marked { *word | bit } else { *word & !bit };
        }
    }

    /// Rows marked here and not in `other`, ascending.
    pub(crate) fn without<'m>(&'m self, other: &'m Self) -> impl Iterator<Item = usize> + 'm {
        self.0.iter().zip(&other.0).enumerate().flat_map(|(at, (mine, theirs))| {
            let mut left = mine & !theirs;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        })
    }
}

/// Appends a range of keys; adjacent ranges are joined.
pub(crate) fn push_range(ranges: &mut Vec<KeyRange>, keys: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end >= keys.start => last.end = last.end.max(keys.end),
        _ => ranges.push(KeyRange { first: keys.start, end: keys.end }),
    }
}

/// Pushes two halves for the next attempt, to be popped from the end; a single item stays whole.
pub(crate) fn push_halves<'s, T>(left: &mut Vec<&'s [T]>, items: &'s [T]) {
    let (low, high) = items.split_at(items.len().div_ceil(2));
    left.extend([high, low].into_iter().filter(|half| !half.is_empty()));
}

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
    counts_only: bool,
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

    #[test]
    fn marks_distinguish_rows() {
        let (mut expected, mut seen) = (Marks::new(200), Marks::new(200));
        for row in [0, 63, 64, 130, 199] {
            expected.set(row, true);
        }
        seen.set(63, true);
        expected.set(130, false);
        assert!(expected.get(199) && !expected.get(130) && !expected.get(1_000));
        assert_eq!(expected.without(&seen).collect::<Vec<_>>(), [0, 64, 199]);
    }

    #[test]
    fn halved_ranges_keep_their_order() {
        let mut left: Vec<&[u64]> = Vec::new();
        push_halves(&mut left, &[1, 2, 3]);
        assert_eq!(left, [&[3][..], &[1, 2]]);
        left.clear();
        push_halves(&mut left, &[1]);
        assert_eq!(left, [&[1][..]]);
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut ranges = Vec::new();
        for keys in [0..5, 5..7, 9..10] {
            push_range(&mut ranges, keys);
        }
        let range = |first, end| KeyRange { first, end };
        assert_eq!(ranges, [range(0, 7), range(9, 10)]);
    }

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
