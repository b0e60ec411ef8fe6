//! The text of an INSERT with placeholders, and Parse of it: once a session, or before each op where statements
//! have no name because a pooler shares the connections of the server. Must not write values.

use std::cell::RefCell;

use super::super::message;
use super::InsertPlan;

/// Parse of an unnamed statement for as many rows as the last one, which is mostly what the next one needs.
#[derive(Debug, Default)]
pub(in super::super) struct LastParse(RefCell<(usize, Vec<u8>)>);

impl LastParse {
    /// Writes Parse for so many rows.
    pub(super) fn write(&self, out: &mut Vec<u8>, plan: &InsertPlan, rows: usize) {
        let mut last = self.0.borrow_mut();
        let (last_rows, bytes) = &mut *last;
        if *last_rows != rows {
            bytes.clear();
            parse_values(bytes, plan, rows);
            *last_rows = rows;
        }
        out.extend_from_slice(bytes);
    }
}

/// Parse of the statement that inserts so many rows by VALUES.
pub(in super::super) fn parse_values(out: &mut Vec<u8>, plan: &InsertPlan, rows: usize) {
    let sql = format!(
        "{} VALUES {}",
        plan.sql,
        placeholders(rows, plan.columns.len())
    );
    let types: Vec<u32> = (0..rows)
        .flat_map(|_| plan.columns.iter().map(|field| field.oid))
        .collect();
    message::parse(out, &plan.statement_for(rows), &sql, &types);
}

/// `$first, $first+1, …`
pub(in super::super) fn numbers(first: usize, count: usize) -> String {
    let numbers: Vec<String> = (first..first + count).map(|n| format!("${n}")).collect();
    numbers.join(", ")
}

/// `($1, $2), ($3, $4), …`
pub(in super::super) fn placeholders(rows: usize, columns: usize) -> String {
    let rows: Vec<String> = (0..rows)
        .map(|row| format!("({})", numbers(row * columns + 1, columns)))
        .collect();
    rows.join(", ")
}
