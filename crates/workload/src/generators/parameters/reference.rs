//! `reference`: what a row that was there before the op has in a column, or that row's index.

use super::making::{OpScope, Parameter};
use crate::generators::columns::{self, Generate as _, Scope};
use crate::generators::prelude::{SCALARS, Section, Serialize, Spec, Value, specs};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Reference(pub(crate) columns::Reference);

impl Parameter for Reference {
    const SPECS: &'static [Spec] = specs!(
        "reference", "what a row that was there before the op has in a column", SCALARS,
        ["table": Text; "column": Text, "field": Text, "rows": Integer, "distribution": Distribution,
            "theta": Float, "data": Float, "asked": Float, "percentile": Float, "order": Text];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        columns::Reference::read(of, scope).map(Self)
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let of = &self.0;
        op.append_each(values, |n| {
            let row = of.row(&op.draws, n, op.first_row);
            match of.column {
                None => Value::Integer(i64::try_from(row).unwrap_or(i64::MAX)),
                Some(column) => op.cell(of.table, column, &of.field, row),
            }
        });
    }
}
