//! The canary: a trial of the audit before the load. Some rows are written to each new table in the same way as by the
//! load, and read back in the same way as by the audit.
//!
//! If a column rejects such a row, or returns another value than its type implies, the run fails before the load and
//! names the column. Must not decide which tables are new, or recreate them.
//!
//! The rows read back are compared with those sent, using the audit's own expressions. For a rejected row, the canary
//! finds the column whose value does not fit.

mod sampled;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Admin, Connect, Target, Timeline};
use highwater_model::display::count;
use highwater_model::op::{
    BoundColumn, BoundOpKind, BoundTable, BoundWorkload, OpId, RowBatch, Value,
};
use highwater_model::outcome::{ErrorClass, OpError};
use highwater_model::stored::{KeyRange, StoredForm, StoredRow, difference, value_at};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_workload::Workload;

use self::sampled::{Sent, TriedTable, Writer, extreme_values, kind_of, set};
use crate::audit::{form, push_range};
use crate::table_setup::DeclaredTables;

pub(crate) use sampled::last_row;

/// Time limit of the whole canary.
pub(crate) const LIMIT: Nanos = Nanos::from_secs(2);
/// The part of it for writing; longer if no load follows.
const WRITING: Nanos = Nanos::from_millis(1_200);
const WRITING_ALONE: Nanos = Nanos::from_secs(30);
/// Maximum number of rows sent.
const ROWS_MAX: usize = 1_000;
/// Maximum number of rows in the first batch.
const FIRST_ROWS: u64 = 100;

/// A column that is not compared: the positions of its table and of the column.
pub(crate) type UncomparedColumn = (usize, usize);

/// Tries a workload, with rows 0 to `last_row`, in existing empty tables, which the caller removes.
///
/// # Errors
///
/// If the target rejects an insert or an expression of the audit, or if a column does not store the sent
/// value.
pub async fn try_workload(
    target: &dyn Target,
    admin: &mut dyn Admin,
    workload: &Workload,
    bound: &BoundWorkload,
    last_row: u64,
    timeline: &Rc<dyn Timeline>,
) -> Result<(), UserError> {
    let mut bound = bound.clone();
    DeclaredTables::read(admin, &bound).await?.bind(&mut bound);
    let bound = Arc::new(bound);
    let tables: Vec<usize> = (0..bound.tables.len()).collect();
    let canary = Canary {
        target,
        workload,
        bound: &bound,
        first_row: 0,
        last_row,
        before_load: false,
        timeline,
    };
    canary.try_tables(admin, &tables).await.map(drop)
}

/// The parameters of a trial.
pub(crate) struct Canary<'a> {
    pub(crate) target: &'a dyn Target,
    pub(crate) workload: &'a Workload,
    /// The workload with the declared types of its tables.
    pub(crate) bound: &'a Arc<BoundWorkload>,
    /// Index of the first row that the run sends.
    pub(crate) first_row: u64,
    /// Index of the last one.
    pub(crate) last_row: u64,
    /// Whether a load follows, which reports failures other than those of values better.
    pub(crate) before_load: bool,
    pub(crate) timeline: &'a Rc<dyn Timeline>,
}

impl Canary<'_> {
    /// Tries the empty tables at these positions; returns the columns that the audit cannot compare.
    /// Fails if a column does not store the sent value. If the target has no session available, or
    /// rejects rows for another reason, the load itself will show it.
    pub(crate) async fn try_tables(
        &self,
        admin: &mut dyn Admin,
        positions: &[usize],
    ) -> Result<Vec<UncomparedColumn>, UserError> {
        let connect = Connect {
            workload: Arc::clone(self.bound),
            number: 0,
            attempt: 0,
            timeline: Rc::clone(self.timeline),
        };
        let session = match self.target.connect(connect).await {
            Err(_) if self.before_load => return Ok(Vec::new()),
            session => session?,
        };
        let time = if self.before_load { WRITING } else { WRITING_ALONE };
        let mut writer = Writer::new(session, ROWS_MAX, self.timeline, time);
        let mut uncompared = Vec::new();
        for position in positions {
            let Some(mut table) = self.tried(*position) else {
                continue;
            };
            writer.begin();
            let mut written = self.write(&mut table, &mut writer, admin).await?;
            if self.workload.replacing_column(table.position).is_some() {
                // The audit determines which of them remains.
                written.clear();
            }
            written.sort_unstable();
            let columns = table.read_back(admin, &written).await?;
            uncompared.extend(columns.into_iter().map(|column| (*position, column)));
        }
        Ok(uncompared)
    }

    /// An insert failed for a reason other than a value: if a load follows, it tries the rest.
    fn unclear(&self, table: &TriedTable<'_>, why: Option<OpError>) -> Result<(), UserError> {
        let Some(why) = why.filter(|_| !self.before_load) else {
            return Ok(());
        };
        let code = why.code.map_or_else(String::new, |code| format!(" ({code})"));
        let cause = format!("{}: {}{code}", self.workload.op_name(table.op), why.message);
        Err(match why.class {
            ErrorClass::Connection => UserError::unreachable(cause),
            _ => UserError::statement(cause),
        })
    }

    /// The table, if an op of the workload inserts into it.
    fn tried(&self, position: usize) -> Option<TriedTable<'_>> {
        let ops = (0..).zip(&self.bound.ops);
        let mut inserts = ops.filter_map(|(id, op)| match op.kind {
            BoundOpKind::Insert { table, batch } if table == position => Some((OpId(id), batch)),
            _ => None,
        });
        let (op, batch) = inserts.next()?;
        let table = self.bound.tables.get(position)?;
        Some(TriedTable {
            position,
            table: BoundTable { locate: None, ..table.clone() },
            op,
            batch,
            workload: self.workload,
            first_row: self.first_row,
            before_load: self.before_load,
            made: Vec::new(),
        })
    }

    /// Sends the first rows, the last one that the run may reach, and sampled rows with the extremes
    /// of each column; returns the stored rows.
    async fn write(
        &self,
        table: &mut TriedTable<'_>,
        writer: &mut Writer,
        admin: &mut dyn Admin,
    ) -> Result<Vec<u64>, UserError> {
        let first = table.first_row;
        let last = self.last_row.max(first);
        // Rows that replace each other may share a key, so they are sent one at a time.
        let replaces = self.workload.replacing_column(table.position).is_some();
        let at_once = if replaces { 1 } else { table.batch.min(FIRST_ROWS) };
        let at_once = at_once.clamp(1, last - first + 1);
        let mut written: Vec<u64> = Vec::new();
        match writer.send(table.op, table.rows(first, at_once)).await {
            Sent::Stored => written.extend(first..first + at_once),
            Sent::Refused(_) => {}
            Sent::Unclear(why) => return self.unclear(table, why).map(|()| written),
        }
        let others = sampled::extremes(table, first, last);
        let is_refused = written.is_empty();
        let singly: Vec<u64> = if is_refused {
            // The least and the greatest value are the most informative.
            [first, first + at_once - 1].into_iter().chain(first..first + at_once).collect()
        } else {
            // A slow target may leave no time for more.
            written.extend(table.write_extremes(writer).await?);
            Vec::new()
        };
        for row in singly.into_iter().chain(others) {
            if written.contains(&row) {
                continue;
            }
            match writer.send(table.op, table.rows(row, 1)).await {
                Sent::Stored => written.push(row),
                Sent::Unclear(why) => {
                    self.unclear(table, why)?;
                    break;
                }
                Sent::Refused(why) => {
                    let named = table.refused(writer, admin, row, &written, &why).await?;
                    return named.map_or(Ok(written), Err);
                }
            }
        }
        Ok(written)
    }
}

/// Rows sent with columns of a rejected row. Each may also be rejected because of its values: if two of
/// three rows are, all of these are rejected by chance once in 650 times.
const EXCHANGES_MAX: usize = 16;
/// Rows tried to find the first rejected one.
const HALVINGS_MAX: usize = 40;

/// The result of exchanging values between two rows.
enum Exchange {
    /// The value of this column alone causes the rejection.
    Column(usize),
    /// Another row is rejected unchanged.
    AllRefused,
    /// No single column is the cause, or something else happened.
    Unclear,
}

impl TriedTable<'_> {
    /// The error that names the column whose value the target rejects in this row, or in an earlier one;
    /// `None` if no single column is the cause.
    async fn refused(
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

    /// Sends rows with the extreme values of the columns' generators, for all columns at once; returns
    /// the stored rows. Fails if the target rejects a column's value.
    async fn write_extremes(&mut self, writer: &mut Writer) -> Result<Vec<u64>, UserError> {
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

    /// The error that names the column whose value the target rejects in a constructed row; `None` if no
    /// single column is the cause, because the workload may never combine the extremes of several
    /// columns in one row.
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

    /// The first rejected row, assuming that all rows before it are stored, as with increasing
    /// values.
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

    /// The column whose value causes the rejection of a row that is otherwise stored; found by bisection
    /// of the columns.
    async fn by_exchange(&self, writer: &mut Writer, refused: &RowBatch) -> Exchange {
        // A row without any exchanged value.
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

    /// Whether rows are rejected if they take these columns from another row, whatever their own values.
    /// None of them was sent before, because a key may be unique.
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

    /// The column whose type cannot be converted from the sent text.
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

/// Maximum number of rows kept from one response.
const KEPT_MAX: usize = 1_024;

impl TriedTable<'_> {
    /// Compares the stored rows with the sent ones; returns the columns that cannot be compared.
    async fn read_back(
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
            // The audit reports it, with the expression that causes it.
            Err(error) if is_lasting(&error) && self.before_load => return Ok(uncompared),
            Err(error) => return Err(error),
        }
        // A wrong key finds other rows, or none; the audit reports that as well.
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

    /// Whether a row is found by the key of another one.
    fn has_other_keys(&self, found: &BTreeMap<u64, StoredRow>, written: &[u64]) -> bool {
        let is_row = |row: &StoredRow, number: u64| {
            let sent = self.sent(number);
            difference(&self.table.columns, &sent, 0, &row.values).is_none()
        };
        let mut others = found.values().filter(|row| !is_row(row, row.key));
        others.any(|row| written.iter().any(|number| is_row(row, *number)))
    }

    /// Fails if some acknowledged rows are not visible, and the target reports the reason.
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

    /// Columns for which the target has no checksum.
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
                // The audit reports a wrong expression or key of the workload.
                Err(_) if column.value.is_some() => {}
                Err(_) => refused.push(at),
            }
        }
        if refused.len() == self.table.columns.len() {
            refused.clear();
        }
        Ok(refused)
    }

    /// Whether a column holds the sent value; false if its type has several texts for one value, and
    /// the texts differ. Fails if it holds another value.
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

/// Whether the target rejected the statement itself, and would reject it again.
fn is_lasting(error: &UserError) -> bool {
    error.kind == UserErrorKind::Statement
}
