//! Checks, on rows of the ledger, whether columns of types other than the workload's return the sent text. It applies
//! to tables whose types the canary did not check.
//!
//! Must not decide which rows should be there.

use highwater_model::op::{BoundColumn, BoundTable, RowBatch, Value};
use highwater_model::stored::{KeyRange, StoredForm, StoredRow, difference, value_at};
use highwater_model::user_error::{UserError, UserErrorKind};

use super::patient::{Next, Waits};
use super::table::{TableAudit, push_range};

/// Maximum number of rows checked.
const TRIED_MAX: usize = 24;
/// Maximum number of rows kept from one response.
const KEPT_MAX: usize = 1_024;

impl TableAudit<'_, '_> {
    /// Returns the columns that cannot be compared: the target itself reports a different text for the sent value, or
    /// has no checksum for their type. The comparison judges all other differences.
    pub(super) async fn uncomparable(&mut self) -> Result<Vec<usize>, UserError> {
        let others: Vec<usize> =
            (0..self.table.columns.len()).filter(|at| is_other(&self.table.columns[*at])).collect();
        let mut left_out = Vec::new();
        if others.is_empty() {
            return Ok(left_out);
        }
        let rows = self.sampled_rows();
        let step = rows.len().div_ceil(TRIED_MAX).max(1);
        let mut ranges: Vec<KeyRange> = Vec::new();
        for row in rows.into_iter().step_by(step) {
            push_range(&mut ranges, row..row + 1);
        }
        let found = self.read_some(&ranges).await?;
        for row in found {
            let sent = self.rows.batch(row.key..row.key + 1);
            for at in &others {
                if !left_out.contains(at) && self.is_other_text(*at, &sent, &row).await? {
                    left_out.push(*at);
                }
            }
        }
        Ok(left_out)
    }

    async fn read_some(&mut self, ranges: &[KeyRange]) -> Result<Vec<StoredRow>, UserError> {
        let mut waits = Waits::default();
        loop {
            let mut found = Vec::new();
            let mut take = |row| {
                if found.len() < KEPT_MAX {
                    found.push(row);
                }
            };
            match self.admin.read_rows(self.table, ranges, &mut take).await {
                Ok(()) => return Ok(found),
                Err(error) if error.kind == UserErrorKind::Statement => return Ok(Vec::new()),
                Err(error) => self.admin.recover(error, &mut waits, Next::Nothing).await?,
            }
        }
    }

    /// Whether a column holds the text that the target makes of the sent value, and that text differs.
    async fn is_other_text(
        &mut self,
        at: usize,
        sent: &RowBatch,
        stored: &StoredRow,
    ) -> Result<bool, UserError> {
        let column = &self.table.columns[at];
        let (Some(data), Some(value)) = (sent.columns.get(at), stored.values.get(at)) else {
            return Ok(false);
        };
        let batch = RowBatch { columns: vec![data.clone()], ..sent.clone() };
        let one = std::slice::from_ref(column);
        if difference(one, &batch, 0, std::slice::from_ref(value)).is_none() {
            return Ok(false);
        }
        let (Value::Text(sent), Value::Text(found)) = (value_at(column, data, 0), value) else {
            return Ok(false);
        };
        let made = self.admin.ask(async |admin| admin.text_in(column, &sent).await).await?;
        Ok(made.as_deref() == Some(found))
    }
}

/// Returns the table without these columns in its comparison.
pub(super) fn without(table: &BoundTable, columns: &[usize]) -> BoundTable {
    let mut table = table.clone();
    for at in columns {
        if let Some(column) = table.columns.get_mut(*at) {
            column.declared.form = StoredForm::Uncompared;
        }
    }
    table
}

fn is_other(column: &BoundColumn) -> bool {
    matches!(column.form(), StoredForm::Text | StoredForm::Equivalent)
}
