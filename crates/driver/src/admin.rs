//! What a run does with a target before and after the load: small traits, which one connection has all of.
//!
//! Must not retry or print; a question that a target cannot answer has a default that says so.

use std::collections::BTreeMap;

use highwater_model::op::{BoundColumn, BoundTable, BoundWorkload, Value};
use highwater_model::stored::{KeyRange, StoredRow};
use highwater_model::stored_form::DeclaredColumn;
use highwater_model::table_shape::TableShape;
use highwater_model::units::Nanos;

use crate::disk::DiskSpace;
use crate::error::TargetError;
use crate::future::Response;
use crate::lease::{Lease, LeaseAction};
use crate::rights::Right;
use crate::table_registry::{RegistryEntry, TablePolicy};
use crate::target_facts::TargetFacts;

/// Everything that a run does with a target before and after the load.
pub trait Admin: ServerAdmin + TableAdmin + TableReader + TableDescriber {}

impl<A: ServerAdmin + TableAdmin + TableReader + TableDescriber> Admin for A {}

/// Rows of a table, counted by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyCounts {
    /// (key div width, rows), ascending, buckets without rows left out.
    pub buckets: Vec<(u64, u64)>,
    /// Rows whose key is null or negative.
    pub without_key: u64,
}

/// Rows of a table and their checksums, by key. See [`highwater_model::checksum`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeySums {
    /// Ascending, buckets without rows left out.
    pub buckets: Vec<BucketSums>,
    /// Per column whether its sums were made; a dialect without a hash leaves text out.
    pub covered: Vec<bool>,
    /// Rows whose key is null or negative.
    pub without_key: u64,
}

/// The rows of one range of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BucketSums {
    /// Key div width.
    pub bucket: u64,
    /// How many.
    pub rows: u64,
    /// Per column Σ weight(key) · residue(value) modulo 2⁶⁴; 0 where it is not covered.
    pub sums: Vec<u64>,
}

impl KeySums {
    /// Adds rows of a group of keys that is a part of bucket `bucket`; groups come ascending.
    pub fn add(&mut self, bucket: u64, rows: u64, sums: &[u64]) {
        match self.buckets.last_mut() {
            Some(last) if last.bucket == bucket => {
                last.rows += rows;
                for (sum, more) in last.sums.iter_mut().zip(sums) {
                    *sum = sum.wrapping_add(*more);
                }
            }
            _ => self.buckets.push(BucketSums { bucket, rows, sums: sums.to_vec() }),
        }
    }
}

/// The copies of one shard, where the target keeps several and can count each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardCopies {
    /// Names table, partition and shard for people.
    pub shard: String,
    /// Rows of each copy that is in use.
    pub rows: Vec<u64>,
    /// A checksum of the values of each, where the target makes one; else empty.
    pub sums: Vec<u64>,
    /// Copies that there should be besides, and that cannot be counted: they are on no node, or on one that is away.
    pub missing: u64,
}

/// Takes rows that are read back, one by one.
pub type RowTaker<'a> = dyn FnMut(StoredRow) + 'a;

/// What a run learns of a server as a whole.
pub trait ServerAdmin {
    /// Reads the target's facts.
    fn facts(&mut self) -> Response<'_, TargetFacts>;
    /// Waits until no statement of this program's sessions runs any more and all that was
    /// acknowledged is visible; false if `deadline` came first.
    fn quiesce(&mut self, deadline: Nanos) -> Response<'_, bool>;
    /// Free space on the disk of the target's tables, if known. Polled once a second during the
    /// load, so it must be cheap.
    fn disk(&mut self) -> Response<'_, Option<DiskSpace>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Creates, fills, reads and drops a small table of this name to find the user's privileges;
    /// none if the target has no privileges. A missing privilege is not an error.
    fn try_rights<'a>(&'a mut self, _table: &'a str) -> Response<'a, Option<Vec<Right>>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// The ways to insert, of those of the target's driver, that this server does not take, each with its reason.
    fn refused_inserts(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
    /// Sentences for the reader of the record, requested after the load: the state of the target as
    /// far as no figure shows it.
    fn remarks(&mut self) -> Response<'_, Vec<String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// What makes a workload's tables, and keeps the registry of them.
pub trait TableAdmin {
    /// Creates, keeps or replaces the workload's tables, as [`TablePolicy::action`] decides, and
    /// registers them. Returns their registry entries in the order of the workload. If one table is
    /// refused, none is changed.
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>>;
    /// Replaces the registry entries of these tables, which are registered; a target that stores
    /// nothing for a later run has none.
    fn update_registry<'a>(&'a mut self, _entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// Does something with the leases of tables, and returns all that are there then. Called only
    /// if the target stores values, and is no model.
    fn leases<'a>(&'a mut self, _action: LeaseAction<'a>) -> Response<'a, Vec<Lease>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
    /// The server's own counter of rows inserted into the workload's tables, where it has one.
    fn rows_inserted<'a>(&'a mut self, _workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Bytes on disk of the workload's tables, if known.
    fn storage_bytes<'a>(&'a mut self, _workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// What the workload's tables set for themselves, whoever made them, by the names of the settings.
    fn table_settings<'a>(
        &'a mut self,
        _workload: &'a BoundWorkload,
    ) -> Response<'a, BTreeMap<String, String>> {
        Box::pin(std::future::ready(Ok(BTreeMap::new())))
    }
}

/// What reads a table back, for the audit.
pub trait TableReader {
    /// Counts rows by key div `width`.
    fn count_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64)
    -> Response<'a, KeyCounts>;
    /// Counts rows and adds up their checksums by key div `width`, a power of two.
    ///
    /// A statement groups by at most [`GROUP_WIDTH_MAX`](highwater_model::checksum) keys, so
    /// that 64-bit sums cannot overflow; wider buckets are put together afterwards, modulo 2⁶⁴. A
    /// column's value is its [`value`](highwater_model::op::BoundColumn::value) expression,
    /// or the dialect's expression for its type. Called only if [`Capabilities::auditable`](crate::Capabilities::auditable) allows
    /// it.
    fn sums_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64) -> Response<'a, KeySums>;
    /// Gives every row whose key is in one of the ranges (ascending, apart) to `take`, a row that
    /// is there twice twice, in any order, without holding more than a bounded part of them; in as
    /// few statements as it can: a key expression has no index, unless [`BoundTable::locate`] names
    /// a condition that has.
    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()>;
    /// A condition in SQL, without the table's key, that every row with these values fulfils; they are in
    /// the order of the columns, as [`highwater_model::stored::value_at`] gives them. Values
    /// with more than one form, such as fractions, are left out, so that it may hold for other rows
    /// too; it is empty where nothing is left. None for a target without SQL.
    fn condition(&self, _table: &BoundTable, _row: &[Value]) -> Option<String> {
        None
    }
    /// The table's columns as they are declared, in the workload's order; empty where that is not known,
    /// and values are taken to stay as they were sent.
    fn declared_columns<'a>(
        &'a mut self,
        _table: &'a BoundTable,
    ) -> Response<'a, Vec<DeclaredColumn>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
    /// The text that the target gives back of a text that is sent to such a column; none if it cannot
    /// say that.
    fn text_in<'a>(
        &'a mut self,
        _column: &'a BoundColumn,
        _text: &'a str,
    ) -> Response<'a, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Why rows of the table may be hidden from this user, as a clause; none if it sees every row.
    /// What is not seen is no loss then.
    fn hidden_rows<'a>(&'a mut self, _table: &'a BoundTable) -> Response<'a, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Runs a query and returns its rows as text, null as none.
    fn query<'a>(&'a mut self, _sql: &'a str) -> Response<'a, Vec<Vec<Option<String>>>> {
        let error = TargetError::usage("this target cannot run a query of the workload's own");
        Box::pin(std::future::ready(Err(error)))
    }
    /// Rows of each copy of each shard, if copies can be counted one by one; `with_values` asks for checksums
    /// of them too, for which a copy is read as a whole.
    fn copies<'a>(
        &'a mut self,
        _workload: &'a BoundWorkload,
        _with_values: bool,
    ) -> Response<'a, Vec<ShardCopies>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// What describes a table that somebody else made.
pub trait TableDescriber {
    /// Describes an existing table, from a sample of its rows.
    fn describe<'a>(&'a mut self, _table: &'a str) -> Response<'a, TableShape> {
        let error = TargetError::usage("this target cannot describe a table");
        Box::pin(std::future::ready(Err(error)))
    }
}
