//! A workload file after reading: every name resolved to a position, every parameter to its
//! value. Its serialized form is what a fingerprint is made of, so that a field added here
//! changes fingerprints unless it is skipped; what does not change rows or ops is skipped.

use std::collections::BTreeMap;

use serde::Serialize;

use super::entity::Entity;
use super::generators::parameters::ParameterGenerator;
use super::input::named;
use super::parameter::{ParameterSpec, Setting};
use super::sql::Sql;
use super::table::Table;
use highwater_model::op::{ColumnType, OpId};
pub use highwater_model::plan::{Arrivals, Unit};

named!(OpDefinition, QueryParameter);

/// A workload with its parameters filled in.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Definition {
    pub(super) format: u32,
    pub(super) name: String,
    pub(super) version: u32,
    #[serde(skip)]
    pub(super) summary: String,
    #[serde(skip)]
    pub(super) parameters: Vec<ParameterSpec>,
    /// What was chosen; its effects are in the rest.
    #[serde(skip)]
    pub(super) settings: BTreeMap<String, Setting>,
    pub(super) entities: Vec<Entity>,
    pub(super) tables: Vec<Table>,
    pub(super) ops: Vec<OpDefinition>,
    pub(super) streams: Vec<StreamSpec>,
    /// How many rows come first does not change what any row is.
    #[serde(skip)]
    pub(super) load: Option<Load>,
    /// How data are checked changes neither rows nor ops.
    #[serde(skip)]
    pub(super) invariants: Vec<InvariantDefinition>,
    /// How the start of the data follows the clock; what comes of it is in a timeline's start.
    #[serde(skip)]
    pub(super) data_time: Option<DataTime>,
}

/// The data's time beside the clock's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataTime {
    pub(super) mode: DataTimeMode,
    /// The timestamp parameter that is the time of the first tick.
    pub(super) start: String,
    /// Milliseconds between ticks, at least 1.
    pub(super) interval: i64,
    /// Rows of a tick, at least 1.
    pub(super) rows: u64,
}

/// Where the data's time begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataTimeMode {
    /// Where the file says.
    Fixed,
    /// So that what is loaded first ends at the clock's time.
    Backfill,
    /// At the clock's time.
    Live,
}

/// Rows to write before the first phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// An insert.
    pub(super) op: OpId,
    pub(super) rows: u64,
}

/// What must be so of the data after a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvariantDefinition {
    pub(super) name: String,
    /// Dialect to a query of one value, without parameters.
    pub(super) sql: BTreeMap<String, Sql>,
    /// The value, as text.
    pub(super) equals: String,
}

/// An op.
#[derive(Debug, Clone, Serialize)]
pub(super) struct OpDefinition {
    pub(super) name: String,
    #[serde(skip)]
    pub(super) summary: String,
    pub(super) body: OpBodyDefinition,
    /// Rows of its answer, at least and at most, where the file promises them.
    #[serde(skip)]
    pub(super) answer: Option<(u64, u64)>,
}

/// What an op does.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OpBodyDefinition {
    /// The next `batch` rows of the table at a position.
    Insert {
        table: usize,
        /// In 1..=[`MAX_BATCH`].
        batch: u64,
    },
    /// A statement for each dialect; all use all the parameters.
    Query {
        sql: BTreeMap<String, Sql>,
        parameters: Vec<QueryParameter>,
        #[serde(skip_serializing_if = "Option::is_none")]
        writes: Option<Writes>,
    },
    /// For each dialect statements that are one transaction; together they use all the parameters.
    Transaction { sql: BTreeMap<String, Vec<Sql>>, parameters: Vec<QueryParameter> },
}

impl OpBodyDefinition {
    /// The parameters of its statements; none of an insert.
    pub(super) fn parameters(&self) -> &[QueryParameter] {
        match self {
            Self::Insert { .. } => &[],
            Self::Query { parameters, .. } | Self::Transaction { parameters, .. } => parameters,
        }
    }

    /// Its statements in all dialects.
    pub(super) fn statements(&self) -> Vec<&Sql> {
        match self {
            Self::Insert { .. } => Vec::new(),
            Self::Query { sql, .. } => sql.values().collect(),
            Self::Transaction { sql, .. } => sql.values().flatten().collect(),
        }
    }

    /// What a query does to the rows of a table, where the file says so.
    pub(super) fn writes(&self) -> Option<Writes> {
        match self {
            Self::Query { writes, .. } => *writes,
            Self::Insert { .. } | Self::Transaction { .. } => None,
        }
    }

    /// The dialects that it has SQL of its own for.
    pub(super) fn dialects(&self) -> Vec<&str> {
        match self {
            Self::Insert { .. } => Vec::new(),
            Self::Query { sql, .. } => sql.keys().map(String::as_str).collect(),
            Self::Transaction { sql, .. } => sql.keys().map(String::as_str).collect(),
        }
    }
}

/// What a statement does to the rows of a table whose rows replace each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Writes {
    pub(super) kind: WriteKind,
    /// Position of the table.
    pub(super) table: usize,
    /// Position of the parameter that has the keys.
    pub(super) key: usize,
    /// How many keys there are.
    pub(super) rows: u64,
}

/// How a statement changes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WriteKind {
    /// The next rows of the table take the places of those with the same keys.
    Upsert,
    /// Rows with these keys are gone.
    Delete,
}

/// Rows of an insert, at most.
pub(super) const MAX_BATCH: i64 = 1_000_000;

/// Sum of the weights of a stream that writes, at most: its ops are shuffled in blocks of this
/// length, each op anew.
pub(super) const MAX_BLOCK: u64 = 1_000;

/// A named parameter of a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct QueryParameter {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: ColumnType,
    /// Values that the parameter stands for, as in a list; at least 1.
    #[serde(skip_serializing_if = "crate::is_one")]
    pub(super) count: u64,
    pub(super) generator: ParameterGenerator,
}

/// Ops that are asked at one pace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamSpec {
    /// Its name; with the seed and an index it determines every op.
    pub name: String,
    /// Ops and their weights (at least 1), in the order of the file.
    pub ops: Vec<(OpId, u32)>,
    /// What its rate counts.
    pub unit: Unit,
    /// How its arrivals are spaced unless the user says otherwise.
    pub arrivals: Arrivals,
}
