//! The audit tries itself before the load, by writing: some rows of each new table are sent as the load
//! sends them, and read back as the audit reads them.
//!
//! A column that refuses such a row, or gives back another value than its type means, is named before the
//! load begins. What must not be here: which tables are new, and how they are made anew.

mod read_back;
mod refused;
mod sampled;

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Admin, Connect, Target, Timeline};
use highwater_model::op::{BoundOpKind, BoundTable, BoundWorkload, OpId};
use highwater_model::outcome::{ErrorClass, OpError};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_workload::Workload;

use sampled::TriedTable;
use sampled::{Sent, Writer};

pub(crate) use sampled::last_row;

use crate::binding::DeclaredTables;

/// Everything together takes no longer.
pub(crate) const LIMIT: Nanos = Nanos::from_secs(2);
/// Of which so much is for writing; without a load behind it, more.
const WRITING: Nanos = Nanos::from_millis(1_200);
const WRITING_ALONE: Nanos = Nanos::from_secs(30);
/// Rows that are sent, at most.
const ROWS_MAX: usize = 1_000;
/// Rows of the first batch, at most.
const FIRST_ROWS: u64 = 100;

/// A column that is not compared, by the positions of its table and of itself.
pub(crate) type Uncompared = (usize, usize);

/// Tries a workload in tables that are there and hold nothing, and that its caller removes: rows 0 to `last_row`.
///
/// # Errors
///
/// With an insert that the target refuses, a column that does not store what is sent, or expressions of the
/// audit that the target refuses.
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

/// What is tried, and how.
pub(crate) struct Canary<'a> {
    pub(crate) target: &'a dyn Target,
    pub(crate) workload: &'a Workload,
    /// With the types that its tables declare.
    pub(crate) bound: &'a Arc<BoundWorkload>,
    /// Index of the first row that the run sends.
    pub(crate) first_row: u64,
    /// Index of the last one.
    pub(crate) last_row: u64,
    /// Whether a load follows, which says more of other failures than of values.
    pub(crate) before_load: bool,
    pub(crate) timeline: &'a Rc<dyn Timeline>,
}

impl Canary<'_> {
    /// Tries the tables at these positions, which hold nothing; returns the columns that the audit cannot
    /// compare. Fails with a column that does not store what is sent. A target that has no session now,
    /// or refuses rows for another reason, is tried by the load itself.
    pub(crate) async fn try_tables(
        &self,
        admin: &mut dyn Admin,
        positions: &[usize],
    ) -> Result<Vec<Uncompared>, UserError> {
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
                // Which of them is left is for the audit.
                written.clear();
            }
            written.sort_unstable();
            let columns = table.read_back(admin, &written).await?;
            uncompared.extend(columns.into_iter().map(|column| (*position, column)));
        }
        Ok(uncompared)
    }

    /// An insert that failed for another reason than a value: what is left is tried by the load itself, if
    /// there is one.
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

    /// Sends the first rows, the last one that the run may reach, and those with the extremes of each
    /// column among some; returns the rows that are stored.
    async fn write(
        &self,
        table: &mut TriedTable<'_>,
        writer: &mut Writer,
        admin: &mut dyn Admin,
    ) -> Result<Vec<u64>, UserError> {
        let first = table.first_row;
        let last = self.last_row.max(first);
        // Rows that replace each other may have one key: one at a time.
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
            // The least and the greatest one tell most.
            [first, first + at_once - 1].into_iter().chain(first..first + at_once).collect()
        } else {
            // On a slow target there may be no time for more.
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
