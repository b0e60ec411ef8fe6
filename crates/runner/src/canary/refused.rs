//! Why the target refused a row: which column's value does not fit. Must not compare stored values.

use highwater_driver::{Admin, TargetError};
use highwater_model::display::count;
use highwater_model::op::{RowBatch, Value};
use highwater_model::stored::value_at;

use crate::audit::form;

use super::tried::{TriedTable, kind_of};
use super::writing::{Sent, Writer};

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
    ) -> Result<Option<TargetError>, TargetError> {
        let (row, why) = self.earliest(writer, row, stored, why).await;
        let sent = self.rows(row, 1);
        let column = match self.by_exchange(writer, &sent).await {
            Exchange::Column(column) => Some(column),
            Exchange::AllRefused => self.by_type(admin, &sent).await?,
            Exchange::Unclear => return Ok(None),
        };
        let column = column.and_then(|at| Some((at, self.table.columns.get(at)?)));
        let (table, number) = (&self.table.name, count(row));
        let message = match column {
            Some((at, column)) => {
                let value = value_at(column, &sent.columns[at], 0);
                let (name, kind, value) = (&column.name, kind_of(column), form(&value));
                format!(
                    "table `{table}`: column `{name}` is {kind} and cannot store {value}, its value \
                     in row {number}: {why}"
                )
            }
            None => {
                format!("table `{table}`: row {number} cannot be stored, nor another one: {why}")
            }
        };
        Ok(Some(TargetError::usage(message).with_hint(
            "give the column a type that keeps the workload's values, in its `create`, or end the run \
             before that row with --rows",
        )))
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
                Sent::Unclear => break,
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
                Sent::Unclear => return None,
            }
        }
        Some(true)
    }

    /// The column of whose type the target makes nothing of the text that was sent.
    async fn by_type(
        &self,
        admin: &mut dyn Admin,
        refused: &RowBatch,
    ) -> Result<Option<usize>, TargetError> {
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
