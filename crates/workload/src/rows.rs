//! Rows of a table from their indexes, column by column. Must not determine the content of a column, or the entity of a
//! row.

use super::entity::Attributes;
use super::generators::columns::{Fill, MadeFor};
use super::layout::Layout;
use super::table::{Column, Table};
use highwater_model::op::{ColumnData, RowBatch, Value};
use highwater_model::units::Seed;

/// The rows of a table.
#[derive(Debug)]
pub(crate) struct TableRows {
    layout: Layout,
    columns: Vec<Box<dyn Fill>>,
}

/// Creates the row generators of all tables.
pub(crate) fn rows_of(tables: &[Table], entities: &[Attributes], seed: Seed) -> Vec<TableRows> {
    let all = AllRows { tables, entities, seed };
    let rows = |table: &Table| TableRows {
        layout: table.layout(entities, seed),
        columns: table.columns.iter().map(|column| all.column(table, column)).collect(),
    };
    tables.iter().map(rows).collect()
}

/// The inputs of columns.
struct AllRows<'a> {
    tables: &'a [Table],
    entities: &'a [Attributes],
    seed: Seed,
}

impl AllRows<'_> {
    fn column(&self, table: &Table, column: &Column) -> Box<dyn Fill> {
        column.generator.made(&MadeFor {
            table: &table.name,
            column: &column.name,
            kind: column.kind,
            entity: table.entity.and_then(|position| self.entities.get(position)),
            seed: self.seed,
            // Reading ensures that a reference does not lead to a reference, so this terminates.
            other: &|table, column| {
                let table = self.tables.get(table)?;
                let made = self.column(table, table.columns.get(column)?);
                Some((table.layout(self.entities, self.seed), made))
            },
        })
    }
}

impl TableRows {
    /// The tick of a row.
    pub(crate) fn tick(&self, row: u64) -> u64 {
        self.layout.tick(row)
    }

    /// Fills `batch` with the rows from `first_row` on, reusing its memory.
    pub(crate) fn fill(&self, first_row: u64, rows: usize, batch: &mut RowBatch) {
        batch.first_row = first_row;
        batch.rows = rows;
        batch.columns.resize_with(self.columns.len(), || ColumnData::Integer(Vec::new()));
        for (column, data) in self.columns.iter().zip(&mut batch.columns) {
            column.fill(self.layout.segments(first_row, rows), data);
        }
    }

    /// The values at the ends of what each column's generator may make, among others.
    pub(crate) fn extremes(&self) -> Vec<Vec<Value>> {
        self.columns.iter().map(|column| column.extremes()).collect()
    }

    /// What one row has in one column; none if there is no such column.
    pub(crate) fn cell(&self, column: usize, row: u64) -> Option<ColumnData> {
        let mut data = ColumnData::Integer(Vec::new());
        self.columns.get(column)?.fill(self.layout.segments(row, 1), &mut data);
        Some(data)
    }
}
