//! Operations on a target before and after the load: small traits, all implemented by one connection.
//!
//! Must not retry or print. A query that a target does not support has a default that reports this.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use highwater_model::fault::FaultAction;
use highwater_model::op::{BoundColumn, BoundTable, BoundWorkload, Value};
use highwater_model::record::MemoryRecord;
use highwater_model::stored::{DeclaredColumn, KeyRange, StoredRow};
use highwater_model::table_shape::TableShape;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::contract::{Response, Timeline};
use crate::regular_file::DiskSpace;
use crate::table_registry::{Lease, LeaseAction, RegistryEntry, Right, TablePolicy};

/// Acts on the cluster of a target while it is loaded, by means other than SQL.
pub trait ClusterActions: fmt::Debug + Send + Sync {
    /// Fails if an action is not possible here, whatever the state of the cluster.
    fn check(&self, action: &FaultAction) -> Result<(), UserError>;

    /// Performs an action; completes when it is done. What an action holds for a time, such as a paused node, is
    /// released even if the response is not awaited.
    fn perform(&self, action: FaultAction, timeline: Rc<dyn Timeline>) -> Response<'static, ()>;

    /// The load is over: releases at once what actions hold.
    fn release(&self);
}

/// All operations on a target before and after the load.
pub trait Admin: ServerAdmin + TableAdmin + TableReader + TableDescriber {}

impl<A: ServerAdmin + TableAdmin + TableReader + TableDescriber> Admin for A {}

/// Rows of a table, counted by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyCounts {
    /// (key div width, rows), ascending, without empty buckets.
    pub buckets: Vec<(u64, u64)>,
    /// Rows whose key is null or negative.
    pub without_key: u64,
}

/// Rows of a table and their checksums, by key. See [`highwater_model::stored`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeySums {
    /// Ascending, without empty buckets.
    pub buckets: Vec<BucketSums>,
    /// Per column, whether it was summed; a dialect without a hash omits text.
    pub covered: Vec<bool>,
    /// Rows whose key is null or negative.
    pub without_key: u64,
}

/// The rows of one range of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BucketSums {
    /// Key div width.
    pub bucket: u64,
    /// Number of rows.
    pub rows: u64,
    /// Per column Σ weight(key) · residue(value) modulo 2⁶⁴; 0 if it is not covered.
    pub sums: Vec<u64>,
}

impl KeySums {
    /// Adds rows of a group of keys within bucket `bucket`; groups arrive in ascending order.
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

/// The copies of one shard, if the target keeps several and can count each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardCopies {
    /// Names table, partition, and shard, for display.
    pub shard: String,
    /// Rows of each copy in use.
    pub rows: Vec<u64>,
    /// A checksum of the values of each copy, if the target computes one; otherwise empty.
    pub sums: Vec<u64>,
    /// Additional copies that should exist but cannot be counted: they are unassigned, or on an unavailable node.
    pub missing: u64,
}

/// Receives rows that are read back, one by one.
pub type RowTaker<'a> = dyn FnMut(StoredRow) + 'a;

/// Operations on a server as a whole.
pub trait ServerAdmin {
    /// Reads the target's facts.
    fn facts(&mut self) -> Response<'_, TargetFacts>;
    /// Waits until no statement of this program's sessions is running and all acknowledged rows are visible; false if
    /// `deadline` came first.
    fn quiesce(&mut self, deadline: Nanos) -> Response<'_, bool>;
    /// Free space on the disk of the target's tables, if known. Polled once a second during the
    /// load, so it must be cheap.
    fn disk(&mut self) -> Response<'_, Option<DiskSpace>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Creates, fills, reads, and drops a small table of this name to find the user's privileges; `None` if the target
    /// has no privileges. A missing privilege is not an error.
    fn try_rights<'a>(&'a mut self, _table: &'a str) -> Response<'a, Option<Vec<Right>>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// The driver's insert modes that this server rejects, each with the reason.
    fn refused_inserts(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
    /// Sentences for the reader of the record, requested after the load: aspects of the target's state that no metric
    /// shows.
    fn remarks(&mut self) -> Response<'_, Vec<String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// Creates a workload's tables, and maintains their registry.
pub trait TableAdmin {
    /// Creates, keeps, or replaces the workload's tables, as [`TablePolicy::action`] decides, and registers them.
    /// Returns their registry entries in the order of the workload. If one table is rejected, none is changed.
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>>;
    /// Replaces the registry entries of these registered tables; a target that stores nothing for a later run has none.
    fn update_registry<'a>(&'a mut self, _entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// Performs an action on the leases of tables, and returns all leases afterwards. Called only if the target stores
    /// values and is not a model; and for the meeting of a plan's shares, also if it is a sink.
    fn leases<'a>(&'a mut self, _action: LeaseAction<'a>) -> Response<'a, Vec<Lease>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
    /// The entries of the registered tables that exist, by name; those in `drop` are dropped and forgotten first. When
    /// no table is left, the registry is dropped, too. Called with names that it returned before, while their leases
    /// are held.
    fn listed_tables<'a>(&'a mut self, _drop: &'a [String]) -> Response<'a, Vec<RegistryEntry>> {
        let error = UserError::usage("this target keeps no registry of tables in one place")
            .with_hint("name one server by its URL; a simulated target stores no tables");
        Box::pin(std::future::ready(Err(error)))
    }
    /// The server's counter of rows inserted into the workload's tables, if it has one.
    fn rows_inserted<'a>(&'a mut self, _workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Bytes on disk of the workload's tables, if known.
    fn storage_bytes<'a>(&'a mut self, _workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// The tables' own settings, by name, no matter who created the tables.
    fn table_settings<'a>(
        &'a mut self,
        _workload: &'a BoundWorkload,
    ) -> Response<'a, BTreeMap<String, String>> {
        Box::pin(std::future::ready(Ok(BTreeMap::new())))
    }
}

/// Reads tables back, for the audit.
pub trait TableReader {
    /// Counts rows by key div `width`.
    fn count_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64)
    -> Response<'a, KeyCounts>;
    /// Counts rows and sums their checksums by key div `width`, a power of two.
    ///
    /// A statement groups by at most [`GROUP_WIDTH_MAX`](highwater_model::stored) keys, so that 64-bit sums cannot
    /// overflow; wider buckets are combined afterwards, modulo 2⁶⁴. A column's value is its
    /// [`value`](highwater_model::op::BoundColumn::value) expression, or the dialect's expression for its type. Called
    /// only if [`Capabilities::auditable`](crate::Capabilities::auditable) allows it.
    fn sums_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64) -> Response<'a, KeySums>;
    /// Passes every row with a key in one of the ranges (ascending, disjoint) to `take`, in any order; duplicates are
    /// passed twice. Keeps only a bounded number of them in memory. Uses as few statements as possible: a key
    /// expression has no index, unless [`BoundTable::locate`] names an indexed condition.
    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()>;
    /// An SQL condition, without the table's key, that is true for every row with these values, in column order, as
    /// [`highwater_model::stored::value_at`] returns them. It omits values with more than one representation, such as
    /// fractions, so it may be true for other rows as well; it is empty if no value remains. `None` for a target
    /// without SQL.
    fn condition(&self, _table: &BoundTable, _row: &[Value]) -> Option<String> {
        None
    }
    /// The table's declared columns, in the workload's order; empty if unknown, which means that values are assumed to
    /// be stored as sent.
    fn declared_columns<'a>(
        &'a mut self,
        _table: &'a BoundTable,
    ) -> Response<'a, Vec<DeclaredColumn>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
    /// The text that the target returns for a text sent to such a column; `None` if it cannot determine it.
    fn text_in<'a>(
        &'a mut self,
        _column: &'a BoundColumn,
        _text: &'a str,
    ) -> Response<'a, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Why rows of the table may be hidden from this user, as a clause; `None` if it sees every row. Hidden rows do not
    /// count as lost.
    fn hidden_rows<'a>(&'a mut self, _table: &'a BoundTable) -> Response<'a, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Runs a query, and returns its rows as text; null is `None`.
    fn query<'a>(&'a mut self, _sql: &'a str) -> Response<'a, Vec<Vec<Option<String>>>> {
        let error = UserError::usage("this target cannot run a query of the workload's own");
        Box::pin(std::future::ready(Err(error)))
    }
    /// Rows of each copy of each shard, if copies can be counted separately. `with_values` also requests checksums,
    /// which requires reading each copy completely.
    fn copies<'a>(
        &'a mut self,
        _workload: &'a BoundWorkload,
        _with_values: bool,
    ) -> Response<'a, Vec<ShardCopies>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// Describes tables that Highwater did not create.
pub trait TableDescriber {
    /// Describes an existing table, from a sample of its rows.
    fn describe<'a>(&'a mut self, _table: &'a str) -> Response<'a, TableShape> {
        let error = UserError::usage("this target cannot describe a table");
        Box::pin(std::future::ready(Err(error)))
    }
}

/// Facts about a target, as it reports them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetFacts {
    /// Product and version on one line, such as the response to `SELECT version()`.
    pub version: String,
    /// Names of supported SQL dialects, best first.
    pub dialects: Vec<String>,
    /// Settings needed to repeat a run: durability, changed ones, insert mode.
    pub settings: BTreeMap<String, String>,
    /// Memory in which it can cache data; unreadable sizes are omitted.
    pub memory: MemoryRecord,
    /// A few words for the summary's first line, such as `one writer`.
    pub traits: Vec<String>,
    /// Supported table options.
    pub tables: TableFeatures,
    /// Several statements can be one transaction.
    pub transactions: bool,
    /// A batch insert is atomic in this insert mode.
    pub atomic_batches: bool,
    /// The ceiling of a load generator in rows or queries per second, if the target simulates the load generator as
    /// well; it need not be measured.
    pub generator_ceiling: Option<u64>,
}

/// Table options other than columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableFeatures {
    /// It has shards with replicas: `--shards`, `--replicas`.
    pub shards: bool,
    /// It has other settings: `--with`.
    pub settings: bool,
}
