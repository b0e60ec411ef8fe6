//! A workload with its parameters and seed: its content, its fingerprint, and its
//! statements with placeholders or literals, in the SQL of one target. Must not generate rows or ops, or send queries.
//!
//! Of rows, equal identities mean equal tables with equal rows. The identity covers the schema as the target creates
//! it, the generators, and the seed. Batch size, shards, replicas, streams, queries, and other databases' SQL do not
//! change rows, so they are excluded.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};

use highwater_model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundTable, BoundWorkload, ColumnType, OpId,
    PlaceholderStyle,
};
use highwater_model::plan::hex;
use highwater_model::stored::DeclaredColumn;
use highwater_model::units::Seed;
use highwater_model::user_error::UserError;

use super::definition::{
    Arrivals, Column, DataTimeMode, Definition, OpBodyDefinition, OpDefinition, QueryParameter,
    StreamSpec, Table, Unit, WriteKind, preferred,
};
use super::generators::columns::{ColumnGenerator, Object};
use super::generators::parameters::{Distinct, DistinctValues, ParameterGenerator};
use super::generators::plain::Plain;
use super::rows::{Attributes, Entity, TableRows, rows_of};
use super::steps;

/// Inputs of an op other than seed, stream, and index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpContext {
    /// Rows loaded before the stream began: the first op that writes rows begins with this one, and "now" in the data's
    /// time is the time of the row before the op.
    pub first_row: u64,
}

/// A workload that can generate any row and any op.
#[derive(Debug)]
pub struct Workload {
    pub(super) definition: Definition,
    pub(super) seed: Seed,
    parameters: BTreeMap<String, String>,
    fingerprint: String,
    unseeded_fingerprint: String,
    /// The tables' create statements, with default values of parameters that only spread rows.
    creation: Creation,
    pub(super) entities: Vec<Attributes>,
    pub(super) tables: Vec<TableRows>,
    /// The values of every attribute that a `distinct` parameter samples.
    pub(super) distinct: DistinctValues,
}

impl Workload {
    /// `unspread` is the definition with default values of parameters that only spread rows over shards.
    pub(super) fn new(
        definition: Definition,
        unspread: &Definition,
        seed: Seed,
    ) -> Result<Self, UserError> {
        let missing = "the workload has no fingerprint";
        let unseeded_fingerprint = digest(&(GENERATOR_VERSION, &definition), missing)?;
        let fingerprint = digest(&(GENERATOR_VERSION, seed, &definition), missing)?;
        let entities: Vec<Attributes> =
            definition.entities.iter().map(|entity| Attributes::new(entity, seed)).collect();
        let tables = rows_of(&definition.tables, &entities, seed);
        let parameters = definition
            .settings
            .iter()
            .map(|(name, setting)| (name.clone(), setting.to_string()))
            .collect();
        let distinct = distinct_values(&definition, &entities);
        let creation = unspread.tables.iter().map(|table| table.create.clone());
        Ok(Self {
            definition,
            seed,
            parameters,
            fingerprint,
            unseeded_fingerprint,
            creation: creation.collect(),
            entities,
            tables,
            distinct,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The version in its file.
    pub fn version(&self) -> u32 {
        self.definition.version
    }

    /// The seed of all random values.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Canonical texts of all parameters, chosen or default.
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// The parameter for the start of the data's time, if that follows the clock, and its value.
    pub fn start_by_clock(&self) -> Option<(&str, &str)> {
        let data_time = self.definition.data_time.as_ref();
        let data_time = data_time.filter(|of| of.mode != DataTimeMode::Fixed)?;
        let start = self.parameters.get(&data_time.start)?;
        Some((&data_time.start, start))
    }

    /// SHA-256, in hexadecimal, of schema, generators and their parameters, batch, query texts, streams, seed, and the
    /// versions of format, workload, and generators. The number of rows to load is excluded: it does not change any
    /// row, and a table may grow in several runs.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The same without the seed: equal for workloads that generate other rows of the same kind.
    pub fn unseeded_fingerprint(&self) -> &str {
        &self.unseeded_fingerprint
    }

    /// SHA-256, in hexadecimal, of the inputs that determine the rows in a target of these dialects: schema, generators
    /// and their parameters, seed, and the version of the generators. Workloads that differ only in batch size, shards,
    /// replicas, queries, streams, or other databases' SQL fill the same tables. An error if a table has no SQL for the
    /// target.
    pub fn row_identity(&self, dialects: &[String]) -> Result<String, UserError> {
        row_identity(&self.definition, &self.creation, dialects, self.seed)
    }

    /// The columns that its tables have and its rows do not set, as `table.column`.
    pub fn columns_left_out(&self) -> Vec<String> {
        let of = |table: &Table| {
            let name = table.name.clone();
            table.left_out.clone().into_iter().map(move |column| format!("{name}.{column}"))
        };
        self.definition.tables.iter().flat_map(of).collect()
    }

    /// Rows to write before the first phase.
    pub fn rows_to_load(&self) -> u64 {
        self.definition.load.map_or(0, |load| load.rows)
    }

    /// The insert that writes them, if the workload has something to load.
    pub fn load_op(&self) -> Option<OpId> {
        self.definition.load.map(|load| load.op)
    }

    /// The declared streams.
    pub fn streams(&self) -> &[StreamSpec] {
        &self.definition.streams
    }

    /// A declared stream, or the stream of a single op with the op's name.
    pub fn stream(&self, name: &str) -> Option<StreamSpec> {
        let declared = self.definition.streams.iter().find(|s| s.name == name);
        declared.cloned().or_else(|| {
            let position = self.definition.ops.iter().position(|op| op.name == name)?;
            let (unit, arrivals) = match self.definition.ops.get(position)?.body {
                OpBodyDefinition::Insert { .. } => (Unit::Rows, Arrivals::Constant),
                OpBodyDefinition::Query { .. } => (Unit::Queries, Arrivals::Poisson),
                OpBodyDefinition::Transaction { .. } => (Unit::Transactions, Arrivals::Poisson),
            };
            Some(StreamSpec {
                name: name.to_owned(),
                ops: vec![(OpId(u16::try_from(position).ok()?), 1)],
                unit,
                arrivals,
            })
        })
    }

    /// The name of an op; empty if there is no such op.
    pub fn op_name(&self, id: OpId) -> &str {
        self.op_definition(id).map_or("", |op| op.name.as_str())
    }

    /// Number of tables.
    pub fn tables(&self) -> usize {
        self.definition.tables.len()
    }

    /// Rows that an op writes; 0 for queries, transactions, and deletes.
    pub fn rows_per_op(&self, id: OpId) -> u64 {
        match self.op_definition(id).map(|op| &op.body) {
            Some(OpBodyDefinition::Insert { batch, .. }) => *batch,
            Some(body) => match body.writes() {
                Some(writes) if writes.kind == WriteKind::Upsert => writes.rows,
                _ => 0,
            },
            None => 0,
        }
    }

    /// Minimum and maximum number of rows in an op's response, if the file states them. They hold once the loaded rows
    /// fill every window that the op queries.
    pub fn expected_rows(&self, id: OpId) -> Option<(u64, u64)> {
        self.op_definition(id)?.answer
    }

    /// Maximum number of distinct rows of all tables together; `None` if one of them is unbounded.
    pub fn distinct_rows(&self) -> Option<u64> {
        let repeats: Option<Vec<u64>> = self
            .definition
            .tables
            .iter()
            .map(|table| (table.repeat > 0).then_some(table.repeat))
            .collect();
        repeats
            .filter(|repeats| !repeats.is_empty())
            .map(|repeats| repeats.into_iter().fold(0, u64::saturating_add))
    }

    pub(super) fn op_definition(&self, id: OpId) -> Option<&OpDefinition> {
        self.definition.ops.get(usize::from(id.0))
    }

    pub(super) fn table_definition(&self, table: usize) -> Option<&Table> {
        self.definition.tables.get(table)
    }
}

fn distinct_values(definition: &Definition, entities: &[Attributes]) -> DistinctValues {
    let mut found = DistinctValues::new();
    for op in &definition.ops {
        for parameter in op.body.parameters() {
            if let ParameterGenerator::Distinct(Distinct { entity, attribute }) =
                parameter.generator
                && let Some(of) = entities.get(entity)
            {
                found.entry((entity, attribute)).or_insert_with(|| {
                    let values = of.distinct(attribute);
                    values.iter().map(|value| Arc::from(&**value)).collect()
                });
            }
        }
    }
    found
}

/// Part of every fingerprint: incremented when the same file and seed give different rows or ops.
const GENERATOR_VERSION: u32 = 1;

/// Parameters for how a target spreads rows, which change no row.
pub(super) const SPREADING: [&str; 3] = ["shards", "num_shards", "replicas"];

/// The inputs that determine the rows of all tables.
#[derive(Serialize)]
struct RowIdentity<'a> {
    generators: u32,
    seed: Seed,
    format: u32,
    entities: &'a [Entity],
    tables: Vec<Table>,
}

/// Each table's create statements, by dialect.
pub(super) type Creation = Vec<BTreeMap<String, Vec<String>>>;

/// SHA-256, in hexadecimal, of the inputs that determine the rows in a target of these dialects.
pub(super) fn row_identity(
    definition: &Definition,
    creation: &Creation,
    dialects: &[String],
    seed: Seed,
) -> Result<String, UserError> {
    let mut tables = definition.tables.clone();
    for (table, creation) in tables.iter_mut().zip(creation) {
        // Finding rows changes none of them.
        table.key.clear();
        let place = format!("table `{}`", table.name);
        let create = preferred(creation, dialects, &place)?.clone();
        table.create = BTreeMap::from([("this target's".to_owned(), create)]);
        for column in &mut table.columns {
            if let ColumnGenerator::Plain(Plain::Keys(keys)) = &mut column.generator {
                keys.leave_out_what_changes_no_key();
            }
        }
    }
    let identity = RowIdentity {
        generators: GENERATOR_VERSION,
        seed,
        format: definition.format,
        entities: &definition.entities,
        tables,
    };
    digest(&identity, "the workload's rows have no identity")
}

/// SHA-256, in hexadecimal, of a value as JSON; `missing` is the error if it cannot be serialized.
pub(super) fn digest(content: &impl Serialize, missing: &str) -> Result<String, UserError> {
    let content = serde_json::to_vec(content)
        .map_err(|error| UserError::usage(format!("{missing}: {error}")))?;
    Ok(hex(&Sha256::digest(&content)))
}

impl Workload {
    /// The workload in SQL: each table and op uses the first of `dialects` that it supports.
    pub fn bind(
        &self,
        dialects: &[String],
        style: PlaceholderStyle,
    ) -> Result<BoundWorkload, UserError> {
        self.bind_as(dialects, Some(style))
    }

    /// The same with values in the text of queries; see [`Workload::takes_literals`].
    pub fn bind_literally(&self, dialects: &[String]) -> Result<BoundWorkload, UserError> {
        self.bind_as(dialects, None)
    }

    /// Whether there are queries, and all values can be written in the text.
    pub fn takes_literals(&self) -> bool {
        let mut bodies = self.definition.ops.iter().map(|op| &op.body);
        let is_query = |body: &&OpBodyDefinition| matches!(body, OpBodyDefinition::Query { .. });
        let is_transaction =
            |body: &OpBodyDefinition| matches!(body, OpBodyDefinition::Transaction { .. });
        bodies.clone().any(|body| is_query(&body)) && !bodies.any(is_transaction)
    }

    /// Without a placeholder style, values are literals.
    fn bind_as(
        &self,
        dialects: &[String],
        style: Option<PlaceholderStyle>,
    ) -> Result<BoundWorkload, UserError> {
        let tables = self.definition.tables.iter().map(|table| {
            let place = format!("table `{}`", table.name);
            Ok(BoundTable {
                name: table.name.clone(),
                columns: self.bound_columns(table, dialects),
                create: preferred(&table.create, dialects, &place)?.clone(),
                key: match &table.columns[..] {
                    [] => String::new(),
                    _ => preferred(&table.key, dialects, &place)?.clone(),
                },
                locate: preferred(&table.locate, dialects, &place).ok().cloned(),
                replaces: table.replaces.is_some(),
                slice: None,
            })
        });
        let ops = self.definition.ops.iter().map(|op| {
            let kind = match &op.body {
                OpBodyDefinition::Insert { table, batch } => {
                    BoundOpKind::Insert { table: *table, batch: *batch }
                }
                OpBodyDefinition::Query { sql, parameters, .. } => {
                    let sql = preferred(sql, dialects, &format!("op `{}`", op.name))?;
                    let counts: Vec<u64> = parameters.iter().map(|p| p.count).collect();
                    match style {
                        Some(style) => BoundOpKind::Query {
                            sql: sql.with_placeholders(style, &counts),
                            parameters: values(parameters).map(|(_, kind)| kind).collect(),
                        },
                        None => BoundOpKind::Literal(sql.template(&counts)),
                    }
                }
                OpBodyDefinition::Transaction { sql, parameters } => {
                    let sql = preferred(sql, dialects, &format!("op `{}`", op.name))?;
                    let style = style.ok_or_else(|| no_literals(&op.name))?;
                    BoundOpKind::Transaction(steps::bound(sql, parameters, style))
                }
            };
            let name = op.name.clone();
            Ok(BoundOp { name, kind })
        });
        Ok(BoundWorkload {
            tables: tables.collect::<Result<_, UserError>>()?,
            ops: ops.collect::<Result<_, UserError>>()?,
            rows: None,
        })
    }

    fn bound_columns(&self, table: &Table, dialects: &[String]) -> Vec<BoundColumn> {
        let values = preferred(&table.values, dialects, "").ok();
        let entity = table.entity.and_then(|position| self.definition.entities.get(position));
        let attributes = |column: &Column| match (&column.generator, entity) {
            (ColumnGenerator::Object(Object::Object(positions)), Some(entity)) => positions
                .iter()
                .filter_map(|position| entity.attributes.get(*position))
                .map(|attribute| attribute.name.clone())
                .collect(),
            // A checksum is computed from texts, and fractions have several.
            (ColumnGenerator::Object(Object::Fields(fields)), _) => fields
                .iter()
                .filter(|field| !matches!(field.kind, ColumnType::Float | ColumnType::Object))
                .map(|field| field.name.clone())
                .collect(),
            _ => Vec::new(),
        };
        table
            .columns
            .iter()
            .map(|column| BoundColumn {
                name: column.name.clone(),
                kind: column.kind,
                attributes: attributes(column),
                value: values.and_then(|values| values.get(&column.name)).cloned(),
                declared: DeclaredColumn::default(),
            })
            .collect()
    }
}

fn no_literals(op: &str) -> UserError {
    UserError::usage(format!("op `{op}` is a transaction, whose values are always parameters"))
}

/// All values in order: the parameter and type of each.
pub(super) fn values(parameters: &[QueryParameter]) -> impl Iterator<Item = (usize, ColumnType)> {
    parameters.iter().enumerate().flat_map(|(position, parameter)| {
        let count = usize::try_from(parameter.count).unwrap_or(1);
        std::iter::repeat_n((position, parameter.kind), count)
    })
}
