//! The server's side of ClickHouse's HTTP interface: every statement succeeds.
//!
//! A driver's queries before inserting are answered as by a server with the workload's tables, each a MergeTree with
//! the workload's columns. Source of the responses: `docs/reference/clickhouse.md`, and a real server. Must not read
//! the rows of an insert.

use std::sync::Arc;

use highwater_model::op::{BoundTable, ColumnType};

use super::conversation::{Responder, WorkloadTables, put};

/// The content type of every response.
const TEXT: &str = "text/plain; charset=UTF-8";
/// Bytes read at the start of a body: a query about a table is shorter.
const STATEMENT_BYTES: usize = 4 * 1024;
/// One row for every query.
const ROW: &str = "1\t1\n";
/// A table with any name.
const TABLE: &str = "sink\tMergeTree\t\n";

/// The interface, on one connection.
pub(super) struct Interface {
    tables: Arc<WorkloadTables>,
    /// The start of the current body.
    statement: Vec<u8>,
}

impl Interface {
    /// A server with these tables.
    pub(super) fn new(tables: Arc<WorkloadTables>) -> Self {
        Self { tables, statement: Vec::new() }
    }

    fn rows(&self, statement: &str) -> String {
        let reads = |table: &str| statement.contains(table);
        if statement.starts_with("INSERT INTO ") {
            return String::new();
        }
        if reads("FROM system.settings") {
            // It claims to know all listed names.
            let names = statement.split('\'').skip(1).step_by(2);
            return names.map(|name| format!("{name}\n")).collect();
        }
        if reads("FROM system.tables") {
            return TABLE.to_owned();
        }
        if reads("FROM system.columns") {
            let name = statement.rsplit('\'').nth(1).unwrap_or_default();
            let tables = self.tables.get();
            let table = tables.iter().find(|table| table.name == name);
            return table.map(columns).unwrap_or_default();
        }
        ROW.to_owned()
    }
}

impl Responder for Interface {
    fn take(&mut self, body: &[u8]) {
        let room = STATEMENT_BYTES.saturating_sub(self.statement.len());
        let beginning = body.get(..room).unwrap_or(body);
        self.statement.extend_from_slice(beginning);
    }

    fn answer(&mut self, out: &mut Vec<u8>) {
        let rows = self.rows(&String::from_utf8_lossy(&self.statement));
        self.statement.clear();
        put(out, "200 OK", TEXT, &[rows.as_bytes()]);
    }
}

/// Names and types of a table's columns: an object has a column for each of its attributes.
fn columns(table: &BoundTable) -> String {
    let mut rows = String::new();
    for column in &table.columns {
        let declared = match column.kind {
            ColumnType::Integer => "Int32",
            ColumnType::Bigint | ColumnType::Timestamp => "Int64",
            ColumnType::Float => "Float64",
            ColumnType::Boolean => "UInt8",
            ColumnType::Text | ColumnType::Object => "String",
        };
        let names = match column.attributes.as_slice() {
            [] => std::slice::from_ref(&column.name),
            attributes => attributes,
        };
        rows.extend(names.iter().map(|name| format!("{name}\t{declared}\n")));
    }
    rows
}
