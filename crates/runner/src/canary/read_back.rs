//! Compares the rows that were tried with those that come back, by the audit's own expressions. Must not
//! send any.

use std::collections::BTreeMap;

use highwater_driver::Admin;
use highwater_model::display::count;
use highwater_model::op::{BoundColumn, BoundTable, RowBatch, Value};
use highwater_model::stored::{KeyRange, StoredForm, StoredRow, difference, value_at};
use highwater_model::user_error::{UserError, UserErrorKind};

use super::sampled::{TriedTable, kind_of};
use crate::audit::{form, push_range};

/// Rows that are kept of one answer.
const KEPT_MAX: usize = 1_024;

impl TriedTable<'_> {
    /// Compares the rows that are stored with those that were sent; returns the columns that cannot be
    /// compared.
    pub(super) async fn read_back(
        &self,
        admin: &mut dyn Admin,
        written: &[u64],
    ) -> Result<Vec<usize>, UserError> {
        if written.is_empty() {
            return Ok(Vec::new());
        }
        self.check_visible(admin, written.len() as u64).await?;
        let mut uncompared = self.without_checksum(admin).await?;
        let mut ranges: Vec<KeyRange> = Vec::new();
        for row in written {
            push_range(&mut ranges, *row..row + 1);
        }
        let mut found: BTreeMap<u64, StoredRow> = BTreeMap::new();
        let mut take = |row: StoredRow| {
            if found.len() < KEPT_MAX {
                found.insert(row.key, row);
            }
        };
        match admin.read_rows(&self.table, &ranges, &mut take).await {
            Ok(()) => {}
            // The audit says it, with the expression that is to blame.
            Err(error) if is_lasting(&error) && self.before_load => return Ok(uncompared),
            Err(error) => return Err(error),
        }
        // Under a wrong key there are other rows, or none: that, too, is the audit's to say.
        if self.has_other_keys(&found, written) {
            return Ok(uncompared);
        }
        for row in found.values().filter(|row| written.contains(&row.key)) {
            let sent = self.sent(row.key);
            for (at, column) in self.table.columns.iter().enumerate() {
                if column.value.is_some() || uncompared.contains(&at) {
                    continue;
                }
                if !self.is_stored(admin, column, at, &sent, row).await? {
                    uncompared.push(at);
                }
            }
        }
        Ok(uncompared)
    }

    /// Whether a row is found under the key of another one.
    fn has_other_keys(&self, found: &BTreeMap<u64, StoredRow>, written: &[u64]) -> bool {
        let is_row = |row: &StoredRow, number: u64| {
            let sent = self.sent(number);
            difference(&self.table.columns, &sent, 0, &row.values).is_none()
        };
        let mut others = found.values().filter(|row| !is_row(row, row.key));
        others.any(|row| written.iter().any(|number| is_row(row, *number)))
    }

    /// Fails if not all rows that were acknowledged can be seen, and the target says why.
    async fn check_visible(&self, admin: &mut dyn Admin, rows: u64) -> Result<(), UserError> {
        let Some(why) = admin.hidden_rows(&self.table).await? else {
            return Ok(());
        };
        let counts = admin.count_by_key(&self.table, u64::MAX).await?;
        let with_key: u64 = counts.buckets.iter().map(|(_, rows)| rows).sum();
        let seen = with_key + counts.without_key;
        if seen >= rows {
            return Ok(());
        }
        let (seen, rows) = (count(seen), count(rows));
        let name = &self.table.name;
        let message = format!("table `{name}`: {seen} of {rows} stored rows can be seen: {why}");
        Err(UserError::usage(message).with_hint(
            "run as a user who sees every row, or leave the policy out of the workload's `create`; \
             --audit off measures without comparing rows",
        ))
    }

    /// Columns of which the target makes no checksum.
    async fn without_checksum(&self, admin: &mut dyn Admin) -> Result<Vec<usize>, UserError> {
        match admin.sums_by_key(&self.table, 1).await {
            Err(error) if is_lasting(&error) && self.before_load => {}
            summed => return summed.map(|_| Vec::new()),
        }
        let mut refused = Vec::new();
        for (at, column) in self.table.columns.iter().enumerate() {
            let alone = BoundTable { columns: vec![column.clone()], ..self.table.clone() };
            match admin.sums_by_key(&alone, 1).await {
                Ok(_) => {}
                Err(error) if !is_lasting(&error) => return Err(error),
                // A workload's own expression is named by the audit, and so is its key.
                Err(_) if column.value.is_some() => {}
                Err(_) => refused.push(at),
            }
        }
        if refused.len() == self.table.columns.len() {
            refused.clear();
        }
        Ok(refused)
    }

    /// Whether a column holds what was sent; false if its type has several texts for that, and these
    /// are not the same. Fails if it holds anything else.
    async fn is_stored(
        &self,
        admin: &mut dyn Admin,
        column: &BoundColumn,
        at: usize,
        sent: &RowBatch,
        stored: &StoredRow,
    ) -> Result<bool, UserError> {
        let Some(data) = sent.columns.get(at) else {
            return Ok(true);
        };
        let batch = RowBatch { columns: vec![data.clone()], ..sent.clone() };
        let value = stored.values.get(at).unwrap_or(&Value::Null);
        let one = std::slice::from_ref(column);
        if difference(one, &batch, 0, std::slice::from_ref(value)).is_none() {
            return Ok(true);
        }
        let is_text = matches!(column.form(), StoredForm::Text | StoredForm::Equivalent);
        if let (true, Value::Text(sent), Value::Text(found)) =
            (is_text, value_at(column, data, 0), value)
            && admin.text_in(column, &sent).await?.as_deref() == Some(found)
        {
            return Ok(false);
        }
        let (expected, found) = (form(&value_at(column, data, 0)), form(value));
        let (table, name, kind) = (&self.table.name, &column.name, kind_of(column));
        let origin = self.origin(stored.key);
        let message = format!(
            "table `{table}`: column `{name}` is {kind} and cannot store {expected}, {origin}: it gives \
             back {found}"
        );
        Err(UserError::usage(message).with_hint(
            "give the column a type that keeps the workload's values, in its `create`; --audit off \
             measures without comparing rows",
        ))
    }
}

/// Whether the target refused a statement itself, and would again.
fn is_lasting(error: &UserError) -> bool {
    error.kind == UserErrorKind::Statement
}
