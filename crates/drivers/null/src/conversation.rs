//! The server's side of a connection to the sink, and the tables that it needs.
//!
//! Must not know a protocol.

use std::sync::{Mutex, PoisonError};

use highwater_model::op::{BoundTable, BoundWorkload};

/// The server's side of one connection; its responses are always the same.
pub(super) trait Conversation {
    /// Writes the server's greeting; in most protocols, the client begins.
    fn greet(&mut self, _answer: &mut Vec<u8>) {}
    /// Reads input and writes the response; false if the connection ends.
    fn take(&mut self, input: &[u8], response: &mut Vec<u8>) -> bool;
}

/// The tables of the connecting sessions' workload; shared by all conversations.
#[derive(Debug, Default)]
pub(super) struct WorkloadTables {
    tables: Mutex<Vec<BoundTable>>,
}

impl WorkloadTables {
    /// Returns a copy.
    pub(super) fn get(&self) -> Vec<BoundTable> {
        let tables = self.tables.lock();
        tables.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces them with those of a workload.
    pub(super) fn set(&self, workload: &BoundWorkload) {
        let mut current = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != workload.tables {
            current.clone_from(&workload.tables);
        }
    }
}
