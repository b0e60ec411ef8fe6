//! Why the target refused a row: which column's value does not fit. Must not compare stored values.

use highwater_driver::Admin;
use highwater_model::display::count;
use highwater_model::op::{RowBatch, Value};
use highwater_model::stored::value_at;
use highwater_model::user_error::UserError;

use crate::audit::form;

use super::sampled::{Sent, Writer};
use super::sampled::{TriedTable, kind_of};
use super::sampled::{extreme_values, set};

/// Rows that are sent with other columns of a refused one, of which each may be refused for its own: if two
/// of three are, all of them are once in 650 times.
const EXCHANGES_MAX: usize = 16;
/// Rows that are tried to find the first one that is refused.
const HALVINGS_MAX: usize = 40;

/// What comes of exchanging the values of two rows.
enum Exchange {
    /// This column's value alone has a row refused.
    Column(usize),
    /// Another row is refused as it is.
    AllRefused,
    /// It is no column's alone, or something else happened.
    Unclear,
}

impl TriedTable<'_> {
    /// The error that names the column whose value the target refuses in this row, or in an earlier one;
    /// none if it is not one column's.
    pub(super) async fn refused(
        &self,
        writer: &mut Writer,
        admin: &mut dyn Admin,
        row: u64,
        stored: &[u64],
        why: &str,
    ) -> Result<Option<UserError>, UserError> {
        let (row, why) = self.earliest(writer, row, stored, why).await;
        let sent = self.rows(row, 1);
        let column = match self.by_exchange(writer, &sent).await {
            Exchange::Column(column) => Some(column),
            Exchange::AllRefused => self.by_type(admin, &sent).await?,
            Exchange::Unclear => return Ok(None),
        };
        let message = column.and_then(|at| self.cannot_store(at, &sent, &why));
        let message = message.unwrap_or_else(|| {
            let (table, number) = (&self.table.name, count(row));
            format!("table `{table}`: row {number} cannot be stored, nor another one: {why}")
        });
        Ok(Some(UserError::usage(message).with_hint(
            "give the column a type that keeps the workload's values, in its `create`, or end the run \
             before that row, with --rows and --warm-up 0s",
        )))
    }

    /// Sends rows with the values at the ends of what the columns' generators may make, of all columns at
    /// once; returns those that are stored. Fails with a column whose value the target refuses.
    pub(super) async fn write_extremes(
        &mut self,
        writer: &mut Writer,
    ) -> Result<Vec<u64>, UserError> {
        let mut stored = Vec::new();
        let ends = extreme_values(self.workload, self.position);
        let rows = ends.iter().map(Vec::len).max().unwrap_or(0);
        for number in 0..rows {
            let Some(row) = writer.fresh(self.first_row) else {
                break;
            };
            let mut batch = self.rows(row, 1);
            for (data, values) in batch.columns.iter_mut().zip(&ends) {
                if let Some(value) = values.get(number) {
                    set(data, value);
                }
            }
            match writer.send(self.op, batch.clone()).await {
                Sent::Stored => stored.push(row),
                Sent::Unclear(_) => break,
                Sent::Refused(why) => {
                    let named = self.refused_extreme(writer, batch, &why).await;
                    named.map_or(Ok(()), Err)?;
                    continue;
                }
            }
            self.made.push(batch);
        }
        Ok(stored)
    }

    /// The error that names the column whose value the target refuses in a row that was made; none if it
    /// is not one column's: together the ends of several columns may be no row of the workload.
    async fn refused_extreme(
        &mut self,
        writer: &mut Writer,
        sent: RowBatch,
        why: &str,
    ) -> Option<UserError> {
        let Exchange::Column(column) = self.by_exchange(writer, &sent).await else {
            return None;
        };
        self.made.push(sent.clone());
        let message = self.cannot_store(column, &sent, why)?;
        Some(UserError::usage(message).with_hint(
            "give the column a type that keeps the workload's values, in its `create`, or narrow its \
             generator",
        ))
    }

    fn cannot_store(&self, at: usize, sent: &RowBatch, why: &str) -> Option<String> {
        let column = self.table.columns.get(at)?;
        let value = form(&value_at(column, sent.columns.get(at)?, 0));
        let (table, name, kind) = (&self.table.name, &column.name, kind_of(column));
        let origin = self.origin(sent.first_row);
        Some(format!(
            "table `{table}`: column `{name}` is {kind} and cannot store {value}, {origin}: {why}"
        ))
    }

    /// The first row that is refused, where all before it are stored, as of values that rise.
    async fn earliest(
        &self,
        writer: &mut Writer,
        row: u64,
        stored: &[u64],
        why: &str,
    ) -> (u64, String) {
        let below = stored.iter().copied().filter(|stored| *stored < row);
        let (mut low, mut found) = (below.max(), (row, why.to_owned()));
        for _ in 0..HALVINGS_MAX {
            let Some(good) = low.filter(|good| found.0 - good > 1) else {
                break;
            };
            let middle = good + (found.0 - good) / 2;
            if stored.contains(&middle) {
                low = Some(middle);
                continue;
            }
            match writer.send(self.op, self.rows(middle, 1)).await {
                Sent::Stored => low = Some(middle),
                Sent::Refused(why) => found = (middle, why),
                Sent::Unclear(_) => break,
            }
        }
        found
    }

    /// The column whose value, put into a row that is stored otherwise, has that row refused; it is in one
    /// half of the columns, then in one of these, and so on.
    async fn by_exchange(&self, writer: &mut Writer, refused: &RowBatch) -> Exchange {
        // A row in which nothing is exchanged.
        match self.exchanged(writer, refused, &[]).await {
            Some(false) => {}
            Some(true) => return Exchange::AllRefused,
            None => return Exchange::Unclear,
        }
        let mut suspects: Vec<usize> = (0..refused.columns.len()).collect();
        while suspects.len() > 1 {
            let other = suspects.split_off(suspects.len() / 2);
            match self.exchanged(writer, refused, &suspects).await {
                Some(true) => {}
                Some(false) => suspects = other,
                None => return Exchange::Unclear,
            }
        }
        match self.exchanged(writer, refused, &suspects).await {
            Some(true) => suspects.pop().map_or(Exchange::Unclear, Exchange::Column),
            _ => Exchange::Unclear,
        }
    }

    /// Whether rows are refused with these columns of another one, whatever their own values are. None of
    /// them was sent before: a key may be unique.
    async fn exchanged(
        &self,
        writer: &mut Writer,
        refused: &RowBatch,
        columns: &[usize],
    ) -> Option<bool> {
        for _ in 0..EXCHANGES_MAX {
            let mut batch = self.rows(writer.fresh(self.first_row)?, 1);
            for column in columns {
                batch.columns[*column].clone_from(&refused.columns[*column]);
            }
            match writer.send(self.op, batch).await {
                Sent::Stored => return Some(false),
                Sent::Refused(_) => {}
                Sent::Unclear(_) => return None,
            }
        }
        Some(true)
    }

    /// The column of whose type the target makes nothing of the text that was sent.
    async fn by_type(
        &self,
        admin: &mut dyn Admin,
        refused: &RowBatch,
    ) -> Result<Option<usize>, UserError> {
        for (at, column) in self.table.columns.iter().enumerate() {
            let sent = refused.columns.get(at).map(|data| data.value(0));
            let text = match sent {
                Some(Value::Text(text)) => text.to_string(),
                Some(Value::Integer(number)) => number.to_string(),
                _ => continue,
            };
            let is_typed = !column.declared.name.is_empty();
            if is_typed && admin.text_in(column, &text).await?.is_none() {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
