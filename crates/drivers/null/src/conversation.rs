//! The server's side of a connection to the sink, and the tables that it needs.
//!
//! Must not know a protocol.

use std::sync::{Mutex, PoisonError};

use highwater_model::op::{BoundWorkload, ColumnType};

/// The server's side of one connection; its responses are always the same.
pub(super) trait Conversation {
    /// Writes what the server says before anything is read; most wait for the client.
    fn greet(&mut self, _answer: &mut Vec<u8>) {}
    /// Reads input and writes the response; false if the connection ends.
    fn take(&mut self, input: &[u8], response: &mut Vec<u8>) -> bool;
}

/// The tables of the workload whose sessions connect; shared by all conversations.
#[derive(Debug, Default)]
pub(super) struct WorkloadTables {
    tables: Mutex<Tables>,
}

impl WorkloadTables {
    /// A copy.
    pub(super) fn get(&self) -> Tables {
        let tables = self.tables.lock();
        tables.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces them by those of a workload.
    pub(super) fn set(&self, workload: &BoundWorkload) {
        let tables = tables_of(workload);
        let mut current = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != tables {
            *current = tables;
        }
    }
}

/// The tables of a workload, as a server has them.
pub(super) type Tables = Vec<Table>;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// Its name, unquoted.
    pub(super) name: String,
    /// In their order.
    pub(super) columns: Vec<Column>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    /// Its name, unquoted.
    pub(super) name: String,
    /// The type of its values.
    pub(super) kind: ColumnType,
    /// Those of its objects.
    pub(super) attributes: Vec<String>,
}

fn tables_of(workload: &BoundWorkload) -> Tables {
    let tables = workload.tables.iter();
    tables
        .map(|table| {
            let columns = table.columns.iter().map(|column| Column {
                name: column.name.clone(),
                kind: column.kind,
                attributes: column.attributes.clone(),
            });
            Table {
                name: table.name.clone(),
                columns: columns.collect(),
            }
        })
        .collect()
}
