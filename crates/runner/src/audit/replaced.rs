//! The audit of rows that replace each other. It reads every row; for each key in the ledger, the stored value must be
//! that of a write which no acknowledged write followed.

use highwater_model::audit_record::ReplacedRecord;
use highwater_model::event::TableStep;
use highwater_model::op::{BoundTable, Value};
use highwater_model::plan::AuditLevel;
use highwater_model::record::{AuditExample, Fault};
use highwater_model::stored::{KeyRange, StoredRow, difference};
use highwater_model::user_error::UserError;

use super::patient::{Next, Waits};
use super::rows_of;
use super::table::{Figures, TableAudit, TableTimes, example};
use crate::ledger::replaced::{Replacements, Verdict};

impl TableAudit<'_, '_> {
    /// Reads all rows; rows with the same value of `column` replace each other.
    pub(super) async fn run_replaced(
        &mut self,
        column: usize,
        times: TableTimes<'_>,
    ) -> Result<(), UserError> {
        let mut kept = self.ledger.take_replacements();
        let marked = self.input.level >= AuditLevel::Sums
            && self.input.workload.rows_are_marked(self.position);
        self.begin_stage(TableStep::Counting, rows_of(self.ledger));
        let counts = self.admin.count_by_key(self.table, u64::MAX).await?;
        let with_key: u64 = counts.buckets.iter().map(|(_, rows)| rows).sum();
        self.figures.rows_due = with_key + counts.without_key;
        self.begin_stage(TableStep::Reading, self.figures.rows_due);
        let read = self.table_to_read(column, marked);
        let at = if marked { column } else { 0 };
        let end = self.ledger.rows().end;
        let (mut left, mut waits) = (vec![KeyRange::ALL], Waits::default());
        while let Some(slice) = left.pop() {
            // Rows that were read before a refusal are judged again.
            let (before, mut judged) = (self.figures.clone(), kept.clone());
            let judging = self.read_replaced(&read, slice, at, marked, &mut judged);
            let Err(error) = judging.await else {
                kept = judged;
                continue;
            };
            self.figures = before;
            // Without its mark, a row has no key, so it cannot be in a slice.
            let halves = slice.halves(1, end).filter(|_| marked);
            let next = Next::smaller_if(halves.is_some());
            self.admin.recover(error, &mut waits, next).await?;
            match halves {
                Some([low, high]) => left.extend([high, low]),
                None => left.push(slice),
            }
        }
        self.note_missing(&kept);
        self.figures.record.narrowed = true;
        self.figures.record.replaced =
            Some(ReplacedRecord { keys: kept.len(), one_in: kept.one_in(), marked });
        if marked {
            self.recheck(times).await?;
        }
        Ok(())
    }

    /// Reads the rows of a slice once and judges each; the value at `at` is its key.
    async fn read_replaced(
        &mut self,
        read: &BoundTable,
        slice: KeyRange,
        at: usize,
        marked: bool,
        kept: &mut Replacements,
    ) -> Result<(), UserError> {
        let (figures, workload) = (&mut self.figures, self.input.workload);
        let progress = &self.input.progress;
        let (position, first_row) = (self.position, self.input.tables.first_row);
        let columns = &read.columns;
        let mut take = |row: StoredRow| {
            progress.row();
            figures.record.found += 1;
            figures.record.read_back += 1;
            let Some(Value::Integer(key)) = row.values.get(at) else {
                figures.record.altered += 1;
                return;
            };
            if marked {
                let sent = workload.row_batch(position, row.key, 1);
                if let Some(difference) = difference(columns, &sent, 0, &row.values) {
                    figures.record.altered += 1;
                    // The row exists, whatever its values.
                    kept.judge(*key, Some(row.key));
                    let column = columns.get(difference.column).map(|c| c.name.clone());
                    figures.example(AuditExample {
                        column,
                        expected: Some(difference.expected),
                        stored: Some(difference.found),
                        ..example(Fault::Altered, &read.name, row.key)
                    });
                    return;
                }
            }
            let verdict = kept.judge(*key, marked.then_some(row.key));
            note(figures, &read.name, *key, row.key, verdict, first_row);
        };
        self.admin.read_rows(read, &[slice], &mut take).await
    }

    /// The table as read back: all columns, or only the key if rows have no mark.
    fn table_to_read(&self, column: usize, marked: bool) -> BoundTable {
        let mut table = self.table.clone();
        table.locate = None;
        if !marked {
            table.columns = table.columns.get(column).cloned().into_iter().collect();
            "0".clone_into(&mut table.key);
        }
        table
    }

    /// Counts keys without a row. If the ledger dropped keys and no key repeats, row counts find more.
    fn note_missing(&mut self, kept: &Replacements) {
        for (key, row) in kept.missing() {
            self.figures.record.missing += 1;
            self.figures.example(AuditExample {
                column: Some(format!("key {key}")),
                expected: Some(format!("row {row}")),
                stored: Some("not there".to_owned()),
                ..example(Fault::Missing, &self.table.name, row)
            });
        }
        let countable = !kept.is_whole()
            && !kept.has_deletes()
            && self.input.tables.first_row == 0
            && self.input.workload.keys_never_repeat(self.position);
        if countable {
            let acknowledged = self.ledger.totals().acknowledged;
            let fewer = acknowledged.saturating_sub(self.figures.record.found);
            self.figures.record.missing = self.figures.record.missing.max(fewer);
        }
    }
}

/// Counts the fault of a row that was found.
fn note(figures: &mut Figures, table: &str, key: i64, row: u64, verdict: Verdict, first_row: u64) {
    let named = |fault, expected: String| AuditExample {
        column: Some(format!("key {key}")),
        expected: Some(expected),
        stored: Some(format!("row {row}")),
        ..example(fault, table, row)
    };
    match verdict {
        Verdict::Fits | Verdict::NotKept => {}
        Verdict::Stale(newest) => {
            figures.record.missing += 1;
            figures.example(named(Fault::Missing, format!("row {newest}")));
        }
        Verdict::Deleted => {
            figures.record.surplus += 1;
            figures.example(named(Fault::Surplus, "a delete".to_owned()));
        }
        // Rows of earlier runs do not belong to this run.
        Verdict::Unsent if first_row > 0 => {}
        Verdict::Unsent => {
            figures.record.surplus += 1;
            figures.example(named(Fault::Surplus, "nothing".to_owned()));
        }
        Verdict::Twice => {
            figures.record.surplus += 1;
            figures.record.duplicated += 1;
            figures.example(example(Fault::Duplicated, table, row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_row_with_a_key_is_too_many_and_a_duplicate() {
        let mut figures = Figures::default();
        note(&mut figures, "kv", 1, 7, Verdict::Twice, 0);
        assert_eq!((figures.record.surplus, figures.record.duplicated), (1, 1));
        assert_eq!(figures.record.examples[0].fault, Fault::Duplicated);
    }
}
