//! Binds a workload to the dialects of a target. What must not be here: a run.

use std::sync::Arc;

use highwater_model::op::{BoundWorkload, PlaceholderStyle, RowGenerator};
use highwater_workload::Workload;

use crate::request::RunError;

/// The workload in the first of these dialects that it has, with its rows; `literals` writes values
/// into the text of queries.
pub(crate) fn bind(
    workload: &Arc<Workload>,
    literals: bool,
    dialects: &[String],
    style: PlaceholderStyle,
) -> Result<BoundWorkload, RunError> {
    let bound = if literals {
        workload.bind_literally(dialects)
    } else {
        workload.bind(dialects, style)
    };
    let mut bound = bound.map_err(|error| RunError::Workload(error.message))?;
    let workload = Arc::clone(workload);
    let fill = move |table, first, rows, batch: &mut _| {
        workload.fill_row_batch(table, first, rows, batch);
    };
    bound.rows = Some(RowGenerator(Arc::new(fill)));
    Ok(bound)
}
