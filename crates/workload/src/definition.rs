//! A workload file after reading: every name resolved to a position, every parameter to its
//! value. Its serialized form is what a fingerprint is made of, so that a field added here
//! changes fingerprints unless it is skipped; what does not change rows or ops is skipped.

use std::collections::BTreeMap;

use serde::Serialize;

use super::distribution::Distribution;
use super::parameter::{ParameterSpec, Setting};
use super::plain::{Choices, Plain, is_zero};
use super::sql::Sql;
use super::timeline::Timeline;
use super::walk::WalkShape;
use highwater_model::op::{ColumnType, OpId};
pub use highwater_model::plan::{Arrivals, Unit};

/// A workload with its parameters filled in.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Definition {
    pub(super) format: u32,
    pub(super) name: String,
    pub(super) version: u32,
    #[serde(skip)]
    pub(super) summary: String,
    #[serde(skip)]
    pub(super) source: String,
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

/// Things that rows are about, numbered from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Entity {
    pub(super) name: String,
    /// In 1..=[`MAX_ENTITIES`].
    pub(super) count: u64,
    pub(super) attributes: Vec<Attribute>,
    /// Beginnings of the names of repeated attributes, whose number may be 0.
    #[serde(skip)]
    pub(super) repeated: Vec<String>,
}

/// Entities of one kind, at most; their attributes are kept in memory.
pub(super) const MAX_ENTITIES: i64 = 1_000_000;

/// A text that an entity keeps for life.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) generator: AttributeGenerator,
}

/// How an attribute is made from the entity's number.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AttributeGenerator {
    Plain(Plain),
    /// A choice that depends on the value of an earlier attribute.
    ChoiceBy {
        attribute: usize,
        choices: BTreeMap<String, Choices>,
    },
}

/// A table, its statements, and how its rows are made.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Table {
    pub(super) name: String,
    /// Position of the entity that rows are about; without one, every row is a tick.
    pub(super) entity: Option<usize>,
    /// Which entity a row is about.
    #[serde(skip_serializing_if = "Order::is_time_major")]
    pub(super) order: Order,
    /// Row i is what row i modulo this is; 0 for rows without end.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) repeat: u64,
    /// Position of the column whose value a later row takes over: it replaces the earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replaces: Option<usize>,
    pub(super) columns: Vec<Column>,
    /// Dialect to statements.
    pub(super) create: BTreeMap<String, Vec<String>>,
    /// Dialect to an integer expression whose value is the row's index.
    pub(super) key: BTreeMap<String, String>,
    /// Dialect to (column to an integer expression that stands for its value). How a table is
    /// audited changes neither rows nor ops.
    #[serde(skip)]
    pub(super) values: BTreeMap<String, BTreeMap<String, String>>,
    /// Dialect to a condition that finds keys from `:first` to `:last` by an index.
    #[serde(skip)]
    pub(super) locate: BTreeMap<String, String>,
}

/// Which entity a row is about, and at which tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// Of n entities row i is about number i mod n, at tick i div n.
    TimeMajor,
    /// Each row is about an entity sampled uniformly, and is a tick of its own.
    #[serde(rename = "drawn")]
    Sampled,
}

impl Order {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_time_major(&self) -> bool {
        *self == Self::TimeMajor
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Column {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: ColumnType,
    pub(super) generator: ColumnGenerator,
}

/// How a column is made from the row's index.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ColumnGenerator {
    Plain(Plain),
    Timeline(Timeline),
    Walk(WalkShape),
    /// Position of one of the entity's attributes.
    Attribute(usize),
    /// Positions of the entity's attributes, in the order of the object's keys.
    Object(Vec<usize>),
    /// An object that is made for each row.
    Fields(Vec<Field>),
    Reference(Reference),
}

/// A key of an object that is made for each row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Field {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: ColumnType,
    pub(super) generator: FieldGenerator,
}

/// How a field is made from the row's index.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FieldGenerator {
    Plain(Plain),
    Object(Vec<Field>),
}

/// What an existing row has in a column, or its index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Reference {
    /// Position of the table; never a later one.
    pub(super) table: usize,
    /// Position of the column, which is no reference itself; without one, the row's index.
    pub(super) column: Option<usize>,
    /// The path to a field of the objects in that column; empty for the whole value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) field: Vec<String>,
    /// Rows that there are; without a number, those before the row itself, or before the op.
    pub(super) rows: Option<u64>,
    pub(super) distribution: Distribution,
}

/// What must be so of the data after a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvariantDefinition {
    pub(super) name: String,
    pub(super) summary: String,
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
    Transaction {
        sql: BTreeMap<String, Vec<Sql>>,
        parameters: Vec<QueryParameter>,
    },
}

impl OpBodyDefinition {
    /// The parameters of its statements; none of an insert.
    pub(super) fn parameters(&self) -> &[QueryParameter] {
        match self {
            Self::Insert { .. } => &[],
            Self::Query { parameters, .. } | Self::Transaction { parameters, .. } => parameters,
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
    /// Values that the parameter stands for, as in a list: 1 to [`MAX_COUNT`].
    #[serde(skip_serializing_if = "is_one")]
    pub(super) count: u64,
    pub(super) generator: ParameterGenerator,
}

/// Values of one parameter, at most.
pub(super) const MAX_COUNT: i64 = 1_000;

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_one(number: &u64) -> bool {
    *number == 1
}

/// How a query's parameter is made from the op's index.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ParameterGenerator {
    Plain(Plain),
    /// An attribute of an entity drawn uniformly from `first..=last`.
    Entity {
        entity: usize,
        attribute: usize,
        first: u64,
        last: u64,
    },
    /// Uniform over the different values that an attribute has among all entities.
    Distinct {
        entity: usize,
        attribute: usize,
    },
    /// The time of the last row before the stream, plus an offset in milliseconds.
    DataTime {
        table: usize,
        timeline: Timeline,
        offset: i64,
    },
    /// The start of a window of the data's time, uniform over those that the rows before the
    /// stream fill.
    Window {
        table: usize,
        timeline: Timeline,
        /// Milliseconds.
        length: i64,
        /// Milliseconds between possible starts.
        step: i64,
        /// Milliseconds that are added.
        offset: i64,
    },
    /// An earlier parameter, by position, plus milliseconds.
    Plus {
        parameter: usize,
        add: i64,
    },
    Reference(Reference),
    /// What the rows that the op writes have in a column.
    Written {
        table: usize,
        column: usize,
    },
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
