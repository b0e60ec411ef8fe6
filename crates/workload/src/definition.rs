//! A workload file and its tables after reading: names are resolved to positions, parameters to values. The fingerprint
//! is computed from the serialized form, so a new field changes fingerprints unless it is skipped; fields that do not
//! affect rows or ops are skipped.

use std::collections::BTreeMap;

use serde::Serialize;

use highwater_model::op::{ColumnType, OpId};
use highwater_model::units::Seed;
use highwater_model::user_error::UserError;

use super::generators::columns::{ColumnGenerator, ColumnScope, Object, TableScope, scope_of};
use super::generators::parameters::ParameterGenerator;
use super::input::named;
use super::invariants::Expected;
use super::parameter::{ParameterKind, ParameterSpec, Setting};
use super::random::Draws;
use super::rows::{Attributes, Entity, Layout};
use super::sql::Sql;
use super::steps::Step;

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
    /// Chosen settings; their effects are in the other fields.
    #[serde(skip)]
    pub(super) settings: BTreeMap<String, Setting>,
    pub(super) entities: Vec<Entity>,
    pub(super) tables: Vec<Table>,
    pub(super) ops: Vec<OpDefinition>,
    pub(super) streams: Vec<StreamSpec>,
    /// The number of rows loaded first does not change any row.
    #[serde(skip)]
    pub(super) load: Option<Load>,
    /// Data checks change neither rows nor ops.
    #[serde(skip)]
    pub(super) invariants: Vec<InvariantDefinition>,
    /// How the start of the data follows the clock; the result is the start of a timeline.
    #[serde(skip)]
    pub(super) data_time: Option<DataTime>,
}

/// The data's time in relation to the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataTime {
    pub(super) mode: DataTimeMode,
    /// The timestamp parameter with the time of the first tick.
    pub(super) start: String,
    /// Milliseconds between ticks, at least 1.
    pub(super) interval: i64,
    /// Rows per tick, at least 1.
    pub(super) rows: u64,
}

/// The start of the data's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataTimeMode {
    /// As stated in the file.
    Fixed,
    /// Such that the loaded rows end at the clock's time.
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

/// An invariant of the data after a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvariantDefinition {
    pub(super) name: String,
    /// Query per dialect that returns one value, without parameters.
    pub(super) sql: BTreeMap<String, Sql>,
    pub(super) expected: Expected,
}

/// An op.
#[derive(Debug, Clone, Serialize)]
pub(super) struct OpDefinition {
    pub(super) name: String,
    #[serde(skip)]
    pub(super) summary: String,
    pub(super) body: OpBodyDefinition,
    /// Minimum and maximum number of rows in its response, if the file states them.
    #[serde(skip)]
    pub(super) answer: Option<(u64, u64)>,
}

/// The operation of an op.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OpBodyDefinition {
    /// The next `batch` rows of the table at a position.
    Insert {
        table: usize,
        /// In 1..=[`MAX_BATCH`].
        batch: u64,
    },
    /// A statement per dialect; each uses all parameters.
    Query {
        sql: BTreeMap<String, Sql>,
        parameters: Vec<QueryParameter>,
        #[serde(skip_serializing_if = "Option::is_none")]
        writes: Option<Writes>,
    },
    /// A transaction's steps per dialect; together they use all parameters.
    Transaction { sql: BTreeMap<String, Vec<Step>>, parameters: Vec<QueryParameter> },
}

impl OpBodyDefinition {
    /// The parameters of its statements; empty for an insert.
    pub(super) fn parameters(&self) -> &[QueryParameter] {
        match self {
            Self::Insert { .. } => &[],
            Self::Query { parameters, .. } | Self::Transaction { parameters, .. } => parameters,
        }
    }

    /// Whether it writes the next rows of a table.
    pub(super) fn is_insert(&self) -> bool {
        matches!(self, Self::Insert { .. })
    }

    /// Its statements in all dialects.
    pub(super) fn statements(&self) -> Vec<&Sql> {
        match self {
            Self::Insert { .. } => Vec::new(),
            Self::Query { sql, .. } => sql.values().collect(),
            Self::Transaction { sql, .. } => {
                sql.values().flatten().filter_map(Step::statement).collect()
            }
        }
    }

    /// The effect of a query on the rows of a table, if the file states it.
    pub(super) fn writes(&self) -> Option<Writes> {
        match self {
            Self::Query { writes, .. } => *writes,
            Self::Insert { .. } | Self::Transaction { .. } => None,
        }
    }

    /// The dialects with SQL in the file.
    pub(super) fn dialects(&self) -> Vec<&str> {
        match self {
            Self::Insert { .. } => Vec::new(),
            Self::Query { sql, .. } => sql.keys().map(String::as_str).collect(),
            Self::Transaction { sql, .. } => sql.keys().map(String::as_str).collect(),
        }
    }
}

/// The effect of a statement on a table whose rows replace each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Writes {
    pub(super) kind: WriteKind,
    /// Position of the table.
    pub(super) table: usize,
    /// Position of the parameter with the keys.
    pub(super) key: usize,
    /// Number of keys.
    pub(super) rows: u64,
}

/// How a statement changes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WriteKind {
    /// The next rows of the table replace those with the same keys.
    Upsert,
    /// Deletes the rows with these keys.
    Delete,
}

/// Maximum number of rows of an insert.
pub(super) const MAX_BATCH: i64 = 1_000_000;

/// Maximum sum of the weights of a stream that writes: its ops are shuffled in blocks of this length, and each op
/// visits the whole block.
pub(super) const MAX_BLOCK: u64 = 1_000;

/// A named parameter of a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct QueryParameter {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: ColumnType,
    /// Number of values of the parameter, such as in a list; 0 for one that only later parameters use.
    #[serde(skip_serializing_if = "crate::is_one")]
    pub(super) count: u64,
    pub(super) generator: ParameterGenerator,
    /// Whether its value depends on the answer to a statement of the op.
    #[serde(skip)]
    pub(super) late: bool,
}

/// Ops that are run at one pace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamSpec {
    /// Its name; with the seed and an index it determines every op.
    pub name: String,
    /// Ops and their weights (at least 1), in the order of the file.
    pub ops: Vec<(OpId, u32)>,
    /// The unit of its rate.
    pub unit: Unit,
    /// Default spacing of its arrivals.
    pub arrivals: Arrivals,
}

/// `settings` with the start of the data's time set, if they request one that follows the clock; `now` is in
/// milliseconds since 1970.
///
/// Live data begin at `now`. A backfill begins such that the tick of the last row to load is the last one up to `now`,
/// and the load continues from there. It loads `rows`, or the number in the definition. A start that is already set is
/// kept: the data continue.
pub(super) fn settings_with_start(
    definition: &Definition,
    settings: &BTreeMap<String, String>,
    now: i64,
    rows: Option<u64>,
) -> BTreeMap<String, String> {
    let mut settled = settings.clone();
    let data_time = definition.data_time.as_ref();
    let Some(data_time) = data_time.filter(|of| !settings.contains_key(&of.start)) else {
        return settled;
    };
    let ticks = match data_time.mode {
        DataTimeMode::Fixed => return settled,
        DataTimeMode::Live => 0,
        DataTimeMode::Backfill => {
            let rows = rows.unwrap_or_else(|| definition.load.map_or(0, |load| load.rows));
            rows.div_ceil(data_time.rows).saturating_sub(1)
        }
    };
    let name = &data_time.start;
    let back = i64::try_from(ticks).map_or(i64::MAX, |t| t.saturating_mul(data_time.interval));
    let start = Setting::Number(ParameterKind::Timestamp, now.saturating_sub(back));
    settled.insert(name.clone(), start.to_string());
    settled
}

/// The dialect used if the file has no SQL for the target's own.
const ANY_DIALECT: &str = "any";

/// The entry of the first of `dialects` that is present; `place` is the name in the error.
pub(super) fn preferred<'m, T>(
    of: &'m BTreeMap<String, T>,
    dialects: &[String],
    place: &str,
) -> Result<&'m T, UserError> {
    dialects.iter().find_map(|dialect| of.get(dialect)).or_else(|| of.get(ANY_DIALECT)).ok_or_else(
        || {
            let dialects_of_target = dialects.join(", ");
            let present: Vec<&str> = of.keys().map(String::as_str).collect();
            let hint = format!("it has {}; add the dialect to the file", present.join(", "));
            UserError::usage(format!("{place} has no SQL for this target ({dialects_of_target})"))
                .with_hint(hint)
        },
    )
}

named!(Table, Column);

/// A table, its statements, and its row generators.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// Position of the entity that rows describe; without one, every row is a tick.
    pub(crate) entity: Option<usize>,
    /// The entity of each row.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub(crate) order: Order,
    /// Row i equals row i modulo this; 0 for unbounded rows.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub(crate) repeat: u64,
    /// Position of the column by whose value a later row replaces an earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replaces: Option<usize>,
    pub(crate) columns: Vec<Column>,
    /// Statements by dialect.
    pub(crate) create: BTreeMap<String, Vec<String>>,
    /// Integer expression for the row's index, by dialect.
    pub(crate) key: BTreeMap<String, String>,
    /// Integer expressions that represent values, by dialect and column. How a table is audited changes neither rows
    /// nor ops.
    #[serde(skip)]
    pub(crate) values: BTreeMap<String, BTreeMap<String, String>>,
    /// Columns that `create` makes and no row sets.
    #[serde(skip)]
    pub(crate) left_out: Vec<String>,
    /// Condition that finds keys from `:first` to `:last` by an index, by dialect.
    #[serde(skip)]
    pub(crate) locate: BTreeMap<String, String>,
}

/// The entity and tick of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// With n entities, row i describes number i mod n, at tick i div n.
    #[default]
    TimeMajor,
    /// Each row describes an entity sampled uniformly, and is a separate tick.
    #[serde(rename = "drawn")]
    Sampled,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: ColumnType,
    /// The share of rows without a value, from 0 to 1.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub(crate) nulls: f64,
    pub(crate) generator: ColumnGenerator,
}

impl Table {
    /// The entity and tick of each row.
    pub(crate) fn layout(&self, entities: &[Attributes], seed: Seed) -> Layout {
        let entity = self.entity.and_then(|position| entities.get(position));
        let draws = || Draws::new(seed, &["table", &self.name, "order"]);
        Layout {
            entities: entity.map_or(1, Attributes::count).max(1),
            sampled: (self.order == Order::Sampled).then(draws),
            repeat: self.repeat,
        }
    }

    /// The column by whose value a later row replaces an earlier one, if rows do.
    pub(crate) fn replacing(&self) -> Option<&Column> {
        self.columns.get(self.replaces?)
    }

    /// The parts that can be referenced.
    pub(crate) fn scope(&self) -> TableScope<'_> {
        let mut scope = TableScope::new(&self.name);
        self.columns.iter().for_each(|column| scope.add(column));
        scope
    }
}

impl<'s> TableScope<'s> {
    /// The scope of a table without columns.
    pub(crate) fn new(name: &'s str) -> Self {
        Self { name, ticks: None, columns: Vec::new() }
    }

    /// Adds the next column.
    pub(crate) fn add(&mut self, column: &Column) {
        if let ColumnGenerator::Timeline(timeline) = &column.generator {
            self.ticks.get_or_insert(timeline.0);
        }
        self.columns.push(column.scope());
    }
}

impl Column {
    fn scope(&self) -> ColumnScope {
        ColumnScope {
            late: false,
            name: self.name.clone(),
            kind: self.kind,
            refers: matches!(self.generator, ColumnGenerator::Reference(_)),
            fields: match &self.generator {
                ColumnGenerator::Object(Object::Fields(fields)) => scope_of(fields),
                _ => Vec::new(),
            },
        }
    }
}
