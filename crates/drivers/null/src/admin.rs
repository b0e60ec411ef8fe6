//! Operations before and after the load of a sink, without a connection: a sink stores nothing.
//!
//! Must not do I/O.

use std::future::ready;

use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::stored::KeyRange;
use highwater_model::units::Nanos;

use super::protocol::Protocol;
use highwater_driver::contract::{
    KeyCounts, KeySums, Response, RowTaker, ServerAdmin, TableAdmin, TableDescriber, TableReader,
    TargetFacts,
};
use highwater_driver::table_registry::{RegistryEntry, TablePolicy};

/// The sink's replacement for a connection before and after the load.
pub(super) struct NullAdmin {
    pub(super) protocol: Protocol,
    /// The insert mode, for the facts.
    pub(super) insert: String,
}

impl ServerAdmin for NullAdmin {
    fn facts(&mut self) -> Response<'_, TargetFacts> {
        let (name, dialect) = (self.protocol.name(), self.protocol.dialect());
        let mut dialects = dialect.names();
        if self.protocol == Protocol::MySql {
            // It responds like this compatible server.
            dialects.insert(0, "mariadb".to_owned());
        }
        let facts = TargetFacts {
            version: format!("Highwater's own sink, {name} protocol"),
            dialects,
            traits: vec!["stores nothing".to_owned(), format!("insert={}", self.insert)],
            tables: dialect.table_features,
            transactions: dialect.rolls_back,
            atomic_batches: dialect.inserts_whole,
            settings: [("insert", self.insert.as_str()), ("durability", "none: nothing is stored")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..TargetFacts::default()
        };
        Box::pin(ready(Ok(facts)))
    }

    fn quiesce(&mut self, _deadline: Nanos) -> Response<'_, bool> {
        Box::pin(ready(Ok(true)))
    }
}

impl TableAdmin for NullAdmin {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>> {
        let entries = workload.tables.iter().map(|table| policy.new_entry(&table.name)).collect();
        Box::pin(ready(Ok(entries)))
    }
}

impl TableReader for NullAdmin {
    fn count_by_key<'a>(
        &'a mut self,
        _table: &'a BoundTable,
        _width: u64,
    ) -> Response<'a, KeyCounts> {
        Box::pin(ready(Ok(KeyCounts::default())))
    }

    fn sums_by_key<'a>(&'a mut self, _table: &'a BoundTable, _width: u64) -> Response<'a, KeySums> {
        Box::pin(ready(Ok(KeySums::default())))
    }

    fn read_rows<'a>(
        &'a mut self,
        _table: &'a BoundTable,
        _ranges: &'a [KeyRange],
        _take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()> {
        Box::pin(ready(Ok(())))
    }
}

impl TableDescriber for NullAdmin {}
