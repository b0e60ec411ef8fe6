//! Binds a workload to a target's dialect and to its tables' types. Must not run anything.

use std::sync::Arc;

use highwater_driver::Admin;
use highwater_model::op::{BoundWorkload, PlaceholderStyle, RowGenerator};
use highwater_model::stored::{DeclaredColumn, StoredForm};
use highwater_model::user_error::UserError;
use highwater_workload::Workload;

/// Binds the workload to the first of these dialects that it supports; `literals` writes values into the text of
/// queries.
pub(crate) fn bind(
    workload: &Arc<Workload>,
    literals: bool,
    dialects: &[String],
    style: PlaceholderStyle,
) -> Result<BoundWorkload, UserError> {
    let mut bound = if literals {
        workload.bind_literally(dialects)?
    } else {
        workload.bind(dialects, style)?
    };
    let workload = Arc::clone(workload);
    let fill = move |table, first, rows, batch: &mut _| {
        workload.fill_row_batch(table, first, rows, batch);
    };
    bound.rows = Some(RowGenerator(Arc::new(fill)));
    Ok(bound)
}

/// The declared columns of a workload's tables, by table; empty for a missing table.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeclaredTables(Vec<Vec<DeclaredColumn>>);

impl DeclaredTables {
    /// Reads the declarations.
    pub(crate) async fn read(
        admin: &mut dyn Admin,
        bound: &BoundWorkload,
    ) -> Result<Self, UserError> {
        let mut tables = Vec::with_capacity(bound.tables.len());
        for table in &bound.tables {
            tables.push(admin.declared_columns(table).await?);
        }
        Ok(Self(tables))
    }

    /// Excludes columns that cannot be compared.
    pub(crate) fn leave_out(&mut self, columns: &[(usize, usize)], bound: &BoundWorkload) {
        self.0.resize_with(bound.tables.len(), Vec::new);
        for (table, column) in columns {
            let Some(declared) = self.0.get_mut(*table) else {
                continue;
            };
            let columns = bound.tables.get(*table).map_or(0, |table| table.columns.len());
            declared.resize_with(columns, DeclaredColumn::default);
            if let Some(declared) = declared.get_mut(*column) {
                declared.form = StoredForm::Uncompared;
            }
        }
    }

    /// Makes the audit expect the values as these columns store them.
    pub(crate) fn bind(&self, bound: &mut BoundWorkload) {
        for (table, columns) in bound.tables.iter_mut().zip(&self.0) {
            for (column, declared) in table.columns.iter_mut().zip(columns) {
                column.declared.clone_from(declared);
            }
        }
    }
}
