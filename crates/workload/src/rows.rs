//! Rows of a table from their indexes, column by column.
//!
//! What must not be here: what a column holds, and which entity a row is about.

use super::column::GeneratedColumn;
use super::definition::{Column, ColumnGenerator, Table};
use super::entity::Attributes;
use super::layout::{Layout, Segments};
use super::random::Draws;
use super::reference::ReferenceColumn;
use highwater_model::op::{ColumnData, RowBatch};
use highwater_model::units::Seed;

/// The rows of a table.
#[derive(Debug)]
pub(super) struct TableRows {
    layout: Layout,
    columns: Vec<TableColumn>,
}

/// Where the values of a column come from.
#[derive(Debug)]
enum TableColumn {
    Generated(GeneratedColumn),
    Reference(Box<ReferenceColumn>),
}

impl TableColumn {
    /// A column of `table`, which is one of `tables`.
    fn new(
        table: &Table,
        column: &Column,
        tables: &[Table],
        entities: &[Attributes],
        seed: Seed,
    ) -> Self {
        if let ColumnGenerator::Reference(reference) = &column.generator {
            let draws = Draws::of(seed, &["column", &table.name, &column.name]);
            let reference = ReferenceColumn::new(reference, draws, tables, entities, seed);
            return Self::Reference(Box::new(reference));
        }
        Self::Generated(GeneratedColumn::new(table, column, entities, seed))
    }

    /// Makes `data` the values of the rows of all segments; its memory is used again.
    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        match self {
            Self::Generated(column) => column.fill(segments, data),
            Self::Reference(column) => column.fill(segments, data),
        }
    }
}

impl TableRows {
    /// The rows of the table at `position`.
    pub(super) fn new(
        position: usize,
        tables: &[Table],
        entities: &[Attributes],
        seed: Seed,
    ) -> Self {
        let Some(table) = tables.get(position) else {
            return Self {
                layout: Layout::default(),
                columns: Vec::new(),
            };
        };
        Self {
            layout: Layout::of(table, entities, seed),
            columns: table
                .columns
                .iter()
                .map(|column| TableColumn::new(table, column, tables, entities, seed))
                .collect(),
        }
    }

    /// The tick of a row.
    pub(super) fn tick(&self, row: u64) -> u64 {
        self.layout.tick(row)
    }

    /// Makes `batch` the rows from `first_row` on; its memory is used again.
    pub(super) fn fill(&self, first_row: u64, rows: usize, batch: &mut RowBatch) {
        batch.first_row = first_row;
        batch.rows = rows;
        batch
            .columns
            .resize_with(self.columns.len(), || ColumnData::Integer(Vec::new()));
        for (column, data) in self.columns.iter().zip(&mut batch.columns) {
            column.fill(self.layout.segments(first_row, rows), data);
        }
    }

    /// What one row has in one column; none if there is no such column.
    pub(super) fn cell(&self, column: usize, row: u64) -> Option<ColumnData> {
        let mut data = ColumnData::Integer(Vec::new());
        self.columns
            .get(column)?
            .fill(self.layout.segments(row, 1), &mut data);
        Some(data)
    }
}
