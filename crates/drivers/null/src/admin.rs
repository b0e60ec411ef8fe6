//! Everything around the load of a sink, without a connection: a sink keeps nothing.
//!
//! Must not do I/O.

use std::future::ready;

use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::stored::KeyRange;
use highwater_model::units::Nanos;

use super::protocol::Protocol;
use highwater_driver::contract::{
    BoxFuture, KeyCounts, KeySums, RowTaker, ServerAdmin, TableAdmin, TableDescriber, TableReader,
    TargetError, TargetFacts,
};
use highwater_driver::lease::{Lease, LeaseAction};
use highwater_driver::table_registry::{RegistryEntry, TablePolicy};

/// The connection around the load that is none.
pub(super) struct NullAdmin {
    pub(super) protocol: Protocol,
    /// The insert mode, for the facts.
    pub(super) insert: String,
}

impl ServerAdmin for NullAdmin {
    fn facts(&mut self) -> BoxFuture<'_, Result<TargetFacts, TargetError>> {
        let name = self.protocol.name();
        let mut facts = TargetFacts {
            version: format!("Highwater's own sink, {name} protocol"),
            dialects: self
                .protocol
                .dialects()
                .iter()
                .map(|d| (*d).to_owned())
                .collect(),
            traits: vec![
                "stores nothing".to_owned(),
                format!("insert={}", self.insert),
            ],
            tables: self.protocol.table_features(),
            transactions: self.protocol.has_transactions(),
            atomic_batches: self.protocol.has_transactions(),
            ..TargetFacts::default()
        };
        let settings = &mut facts.settings;
        settings.insert("insert".to_owned(), self.insert.clone());
        settings.insert(
            "durability".to_owned(),
            "none: nothing is stored".to_owned(),
        );
        Box::pin(ready(Ok(facts)))
    }

    fn quiesce(&mut self, _deadline: Nanos) -> BoxFuture<'_, Result<bool, TargetError>> {
        Box::pin(ready(Ok(true)))
    }
}

impl TableAdmin for NullAdmin {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> BoxFuture<'a, Result<Vec<RegistryEntry>, TargetError>> {
        let tables = workload.tables.iter();
        let entries = tables.map(|table| policy.new_entry(&table.name)).collect();
        Box::pin(ready(Ok(entries)))
    }

    fn update_registry<'a>(
        &'a mut self,
        _entries: &'a [RegistryEntry],
    ) -> BoxFuture<'a, Result<(), TargetError>> {
        Box::pin(ready(Ok(())))
    }

    fn leases<'a>(
        &'a mut self,
        _action: LeaseAction<'a>,
    ) -> BoxFuture<'a, Result<Vec<Lease>, TargetError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn rows_inserted<'a>(
        &'a mut self,
        _workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>> {
        Box::pin(ready(Ok(None)))
    }

    fn storage_bytes<'a>(
        &'a mut self,
        _workload: &'a BoundWorkload,
    ) -> BoxFuture<'a, Result<Option<u64>, TargetError>> {
        Box::pin(ready(Ok(None)))
    }
}

impl TableReader for NullAdmin {
    fn count_by_key<'a>(
        &'a mut self,
        _table: &'a BoundTable,
        _width: u64,
    ) -> BoxFuture<'a, Result<KeyCounts, TargetError>> {
        Box::pin(ready(Ok(KeyCounts::default())))
    }

    fn sums_by_key<'a>(
        &'a mut self,
        _table: &'a BoundTable,
        _width: u64,
    ) -> BoxFuture<'a, Result<KeySums, TargetError>> {
        Box::pin(ready(Ok(KeySums::default())))
    }

    fn read_rows<'a>(
        &'a mut self,
        _table: &'a BoundTable,
        _ranges: &'a [KeyRange],
        _take: &'a mut RowTaker<'a>,
    ) -> BoxFuture<'a, Result<(), TargetError>> {
        Box::pin(ready(Ok(())))
    }
}

impl TableDescriber for NullAdmin {}
