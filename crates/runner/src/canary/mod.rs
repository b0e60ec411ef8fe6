//! The audit tries itself before the load, by writing: some rows of each new table are sent as the load
//! sends them, and read back as the audit reads them.
//!
//! A column that refuses such a row, or gives back another value than its type means, is named before the
//! load begins. What must not be here: which tables are new, and how they are made anew.

mod read_back;
mod refused;
mod sampled;
mod tried;
mod writing;

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Admin, Connect, Target, TargetError, Timeline};
use highwater_model::op::{BoundOpKind, BoundTable, BoundWorkload, OpId};
use highwater_model::plan::Plan;
use highwater_model::units::Nanos;
use highwater_workload::Workload;

use tried::TriedTable;
use writing::{Sent, Writer};

/// Everything together takes no longer.
pub(crate) const LIMIT: Nanos = Nanos::from_secs(2);
/// Rows that are sent, at most.
const ROWS_MAX: usize = 1_000;
/// Rows of the first batch, at most.
const FIRST_ROWS: u64 = 100;

/// A column that is not compared, by the positions of its table and of itself.
pub(crate) type Uncompared = (usize, usize);

/// What is tried, and how.
pub(crate) struct Canary<'a> {
    pub(crate) target: &'a dyn Target,
    pub(crate) plan: &'a Plan,
    pub(crate) workload: &'a Workload,
    /// With the types that its tables declare.
    pub(crate) bound: &'a Arc<BoundWorkload>,
    /// Index of the first row that the run sends.
    pub(crate) first_row: u64,
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
    ) -> Result<Vec<Uncompared>, TargetError> {
        let connect = Connect {
            workload: Arc::clone(self.bound),
            number: 0,
            attempt: 0,
            timeline: Rc::clone(self.timeline),
        };
        let Ok(session) = self.target.connect(connect).await else {
            return Ok(Vec::new());
        };
        let mut writer = Writer::new(session, ROWS_MAX);
        let mut uncompared = Vec::new();
        for position in positions {
            let Some(table) = self.tried(*position) else {
                continue;
            };
            writer.begin();
            let written = self.write(&table, &mut writer, admin).await?;
            let columns = table.read_back(admin, &written).await?;
            uncompared.extend(columns.into_iter().map(|column| (*position, column)));
        }
        Ok(uncompared)
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
        })
    }

    /// Sends the first rows, the last one that the run may reach, and those with the extremes of each
    /// column; returns the rows that are stored.
    async fn write(
        &self,
        table: &TriedTable<'_>,
        writer: &mut Writer,
        admin: &mut dyn Admin,
    ) -> Result<Vec<u64>, TargetError> {
        let first = table.first_row;
        let last = sampled::last_row(self.plan, first).max(first);
        // Rows that replace each other may have one key: one at a time.
        let replaces = self.workload.replacing_column(table.position).is_some();
        let at_once = if replaces { 1 } else { table.batch.min(FIRST_ROWS) };
        let at_once = at_once.clamp(1, last - first + 1);
        let mut written: Vec<u64> = Vec::new();
        match writer.send(table.op, table.rows(first, at_once)).await {
            Sent::Stored => written.extend(first..first + at_once),
            Sent::Refused(_) => {}
            Sent::Unclear => return Ok(written),
        }
        let others = sampled::extremes(table, first, last);
        let others = others.into_iter().filter(|row| !written.contains(row));
        let singly: Vec<u64> = if written.is_empty() {
            (first..first + at_once).chain(others).collect()
        } else {
            others.collect()
        };
        for row in singly {
            match writer.send(table.op, table.rows(row, 1)).await {
                Sent::Stored => written.push(row),
                Sent::Unclear => break,
                Sent::Refused(why) => {
                    let named = table.refused(writer, admin, row, &written, &why).await?;
                    return named.map_or(Ok(written), Err);
                }
            }
        }
        if replaces {
            written.clear();
        }
        written.sort_unstable();
        Ok(written)
    }
}
