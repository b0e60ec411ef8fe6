//! A workload with its parameters and its seed: the rows and the ops themselves.
//!
//! Every method is a pure function; an op depends on (seed, stream, index, context) only.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::asking;
use super::definition::{
    Arrivals, Column, ColumnGenerator, Definition, OpBodyDefinition, OpDefinition,
    ParameterGenerator, StreamSpec, Table, Unit, WriteKind,
};
use super::entity::Attributes;
use super::rows::TableRows;
use super::sql::Sql;
use super::transaction;
use crate::input_error::InputError;
use crate::model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundTable, BoundWorkload, ColumnType, Op, OpBody, OpId,
    PlaceholderStyle, RowBatch,
};
use crate::model::units::Seed;

/// Goes into every fingerprint: raised when the same file and seed give other rows or ops.
const GENERATOR_VERSION: u32 = 1;

/// The dialect whose SQL is used where none of a target's own is there.
const ANY_DIALECT: &str = "any";

/// What an op depends on besides seed, stream and index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpContext {
    /// Rows loaded before the stream began: the first op that writes rows begins with this one,
    /// and "now" in the data's time is the time of the row before the op.
    pub first_row: u64,
}

/// A workload, ready to make any row and any op.
#[derive(Debug)]
pub struct Workload {
    pub(super) definition: Definition,
    pub(super) seed: Seed,
    parameters: BTreeMap<String, String>,
    fingerprint: String,
    pub(super) entities: Vec<Attributes>,
    pub(super) tables: Vec<TableRows>,
    /// The values of every attribute that a `distinct` parameter draws from.
    pub(super) distinct: BTreeMap<(usize, usize), Vec<Arc<str>>>,
}

impl Workload {
    pub(super) fn new(definition: Definition, seed: Seed) -> Result<Self, InputError> {
        let fingerprint = fingerprint(&definition, seed)?;
        let entities: Vec<Attributes> = definition
            .entities
            .iter()
            .map(|entity| Attributes::new(entity, seed))
            .collect();
        let tables = definition
            .tables
            .iter()
            .enumerate()
            .map(|(position, _)| TableRows::new(position, &definition.tables, &entities, seed))
            .collect();
        let parameters = definition
            .settings
            .iter()
            .map(|(name, setting)| (name.clone(), setting.to_string()))
            .collect();
        let distinct = distinct_values(&definition, &entities);
        Ok(Self {
            definition,
            seed,
            parameters,
            fingerprint,
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

    /// What its randomness comes from.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Canonical texts of all parameters, chosen or default.
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// SHA-256 in hexadecimal of schema, generators and their parameters, batch, query texts,
    /// streams, seed, and the versions of format, workload and generators. The number of rows
    /// to load is left out: it changes no row, and a table may grow in several runs.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
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

    /// A declared stream, or the stream of a single op under the op's name.
    pub fn stream(&self, name: &str) -> Option<StreamSpec> {
        let declared = self.definition.streams.iter().find(|s| s.name == name);
        declared.cloned().or_else(|| {
            let position = self.definition.ops.iter().position(|op| op.name == name)?;
            let (unit, arrivals) = match self.definition.ops.get(position)?.body {
                OpBodyDefinition::Insert { .. } => (Unit::Rows, Arrivals::Constant),
                OpBodyDefinition::Query { .. } | OpBodyDefinition::Transaction { .. } => {
                    (Unit::Queries, Arrivals::Poisson)
                }
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

    /// How many tables there are.
    pub fn tables(&self) -> usize {
        self.definition.tables.len()
    }

    /// Rows that an op writes; 0 for a query, a transaction, and for what deletes.
    pub fn rows_per_op(&self, id: OpId) -> u64 {
        match self.op_definition(id).map(|op| &op.body) {
            Some(OpBodyDefinition::Insert { batch, .. }) => *batch,
            Some(OpBodyDefinition::Query {
                writes: Some(writes),
                ..
            }) if writes.kind == WriteKind::Upsert => writes.rows,
            _ => 0,
        }
    }

    /// Rows that an op's answer must have, at least and at most, where the file promises it. It
    /// holds once the loaded rows fill every window that the op asks about.
    pub fn expected_rows(&self, id: OpId) -> Option<(u64, u64)> {
        self.op_definition(id)?.answer
    }

    /// Whether an op changes nothing, as far as its statements tell.
    pub fn only_asks(&self, id: OpId) -> bool {
        match self.op_definition(id).map(|op| &op.body) {
            Some(OpBodyDefinition::Query {
                sql, writes: None, ..
            }) => sql.values().all(Sql::only_asks),
            _ => false,
        }
    }

    /// Whether a statement of an op may change rows in a way that the workload does not describe.
    pub fn changes_unknown_rows(&self) -> bool {
        let mut bodies = self.definition.ops.iter().map(|op| &op.body);
        bodies.any(|body| match body {
            OpBodyDefinition::Query {
                sql, writes: None, ..
            } => !sql.values().all(Sql::only_asks),
            OpBodyDefinition::Transaction { sql, .. } => {
                !sql.values().flatten().all(Sql::only_asks)
            }
            OpBodyDefinition::Query { .. } | OpBodyDefinition::Insert { .. } => false,
        })
    }

    /// Per table, whether a statement that the streams of these names may ask changes it in a way
    /// that the workload does not describe. A table whose name merely stands in such a statement
    /// counts too: to compare nothing is better than to compare with what nobody knows.
    pub fn changed_by_statements<'n>(
        &self,
        streams: impl IntoIterator<Item = &'n str>,
    ) -> Vec<bool> {
        let streams = streams.into_iter().filter_map(|name| self.stream(name));
        let ops = streams.flat_map(|stream| stream.ops);
        let mut texts: Vec<String> = Vec::new();
        for (id, _) in ops {
            let body = self
                .definition
                .ops
                .get(usize::from(id.0))
                .map(|op| &op.body);
            let statements: Vec<&Sql> = match body {
                Some(OpBodyDefinition::Query {
                    sql, writes: None, ..
                }) => sql.values().collect(),
                Some(OpBodyDefinition::Transaction { sql, .. }) => sql.values().flatten().collect(),
                _ => Vec::new(),
            };
            let changing = statements.into_iter().filter(|sql| !sql.only_asks());
            texts.extend(changing.map(|sql| sql.text().to_lowercase()));
        }
        let names = self.definition.tables.iter();
        let names = names.map(|table| table.name.to_lowercase());
        names
            .map(|name| texts.iter().any(|text| text.contains(&name)))
            .collect()
    }

    /// Different rows that all tables together can have; none if one of them has no end.
    pub fn distinct_rows(&self) -> Option<u64> {
        let tables = self.definition.tables.iter();
        let repeats: Option<Vec<u64>> = tables
            .map(|table| (table.repeat > 0).then_some(table.repeat))
            .collect();
        repeats
            .filter(|repeats| !repeats.is_empty())
            .map(|repeats| repeats.into_iter().fold(0, u64::saturating_add))
    }

    /// Rows of a table from an index on; no columns if there is no such table.
    pub fn row_batch(&self, table: usize, first_row: u64, rows: usize) -> RowBatch {
        let mut batch = RowBatch::default();
        self.fill_row_batch(table, first_row, rows, &mut batch);
        batch
    }

    /// [`Workload::row_batch`] into the memory of another batch of the same table.
    pub fn fill_row_batch(&self, table: usize, first_row: u64, rows: usize, batch: &mut RowBatch) {
        match self.tables.get(table) {
            Some(table) => table.fill(first_row, rows, batch),
            None => *batch = RowBatch::default(),
        }
    }

    /// Op `index` of a stream.
    pub fn op(&self, stream: &StreamSpec, index: u64, context: &OpContext) -> Op {
        let mut op = Op {
            id: OpId(0),
            index,
            body: OpBody::Query(Vec::new()),
        };
        self.fill_op(stream, index, context, &mut op);
        op
    }

    /// [`Workload::op`] into the memory of another op.
    pub fn fill_op(&self, stream: &StreamSpec, index: u64, context: &OpContext, op: &mut Op) {
        let (id, rows_before) = self.dealt(stream, index);
        op.id = id;
        op.index = index;
        let first_row = context.first_row.saturating_add(rows_before);
        match self.op_definition(op.id).map(|known| (known, &known.body)) {
            Some((_, OpBodyDefinition::Insert { table, batch })) => {
                let rows = usize::try_from(*batch).unwrap_or(usize::MAX);
                if !matches!(op.body, OpBody::Insert(_)) {
                    op.body = OpBody::Insert(RowBatch::default());
                }
                if let OpBody::Insert(batch) = &mut op.body {
                    self.fill_row_batch(*table, first_row, rows, batch);
                }
            }
            Some((known, body)) => {
                let path = ["stream", &stream.name, &known.name];
                let context = OpContext { first_row };
                let parameters = body.parameters();
                op.body = OpBody::Query(self.values(&path, parameters, (index, &context)));
            }
            None => op.body = OpBody::Query(Vec::new()),
        }
    }

    /// The workload in SQL: for every table and op the first of `dialects` that it knows.
    pub fn bind(
        &self,
        dialects: &[String],
        style: PlaceholderStyle,
    ) -> Result<BoundWorkload, InputError> {
        self.bind_as(dialects, Some(style))
    }

    /// The same with the values of queries in their text; see [`Workload::takes_literals`].
    pub fn bind_literally(&self, dialects: &[String]) -> Result<BoundWorkload, InputError> {
        self.bind_as(dialects, None)
    }

    /// Whether there are queries, and nothing whose values could not stand in the text.
    pub fn takes_literals(&self) -> bool {
        let mut bodies = self.definition.ops.iter().map(|op| &op.body);
        let is_query = |body: &&OpBodyDefinition| matches!(body, OpBodyDefinition::Query { .. });
        let is_transaction =
            |body: &OpBodyDefinition| matches!(body, OpBodyDefinition::Transaction { .. });
        bodies.clone().any(|body| is_query(&body)) && !bodies.any(is_transaction)
    }

    /// Without a style of placeholders, with literals.
    fn bind_as(
        &self,
        dialects: &[String],
        style: Option<PlaceholderStyle>,
    ) -> Result<BoundWorkload, InputError> {
        let tables = self.definition.tables.iter().map(|table| {
            let place = format!("table `{}`", table.name);
            Ok(BoundTable {
                name: table.name.clone(),
                columns: self.bound_columns(table, dialects),
                create: preferred(&table.create, dialects, &place)?.clone(),
                key: preferred(&table.key, dialects, &place)?.clone(),
                locate: preferred(&table.locate, dialects, &place).ok().cloned(),
            })
        });
        let ops = self.definition.ops.iter().map(|op| {
            let kind = match &op.body {
                OpBodyDefinition::Insert { table, batch } => BoundOpKind::Insert {
                    table: *table,
                    batch: *batch,
                },
                OpBodyDefinition::Query {
                    sql, parameters, ..
                } => {
                    let sql = preferred(sql, dialects, &format!("op `{}`", op.name))?;
                    let counts: Vec<u64> = parameters.iter().map(|p| p.count).collect();
                    match style {
                        Some(style) => BoundOpKind::Query {
                            sql: sql.with_placeholders(style, &counts),
                            parameters: asking::types(parameters),
                        },
                        None => BoundOpKind::Literal(sql.template(&counts)),
                    }
                }
                OpBodyDefinition::Transaction { sql, parameters } => {
                    let sql = preferred(sql, dialects, &format!("op `{}`", op.name))?;
                    let style = style.ok_or_else(|| no_literals(&op.name))?;
                    let bound = sql
                        .iter()
                        .map(|sql| transaction::bind(sql, parameters, style));
                    BoundOpKind::Transaction(bound.collect())
                }
            };
            let name = op.name.clone();
            Ok(BoundOp { name, kind })
        });
        Ok(BoundWorkload {
            tables: tables.collect::<Result<_, InputError>>()?,
            ops: ops.collect::<Result<_, InputError>>()?,
            rows: None,
        })
    }

    fn bound_columns(&self, table: &Table, dialects: &[String]) -> Vec<BoundColumn> {
        let values = preferred(&table.values, dialects, "").ok();
        let entity = table
            .entity
            .and_then(|position| self.definition.entities.get(position));
        let attributes = |column: &Column| match (&column.generator, entity) {
            (ColumnGenerator::Object(positions), Some(entity)) => positions
                .iter()
                .filter_map(|position| entity.attributes.get(*position))
                .map(|attribute| attribute.name.clone())
                .collect(),
            // A checksum sees texts, and fractions have more than one.
            (ColumnGenerator::Fields(fields), _) => fields
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
            })
            .collect()
    }

    pub(super) fn op_definition(&self, id: OpId) -> Option<&OpDefinition> {
        self.definition.ops.get(usize::from(id.0))
    }

    pub(super) fn table_definition(&self, table: usize) -> Option<&Table> {
        self.definition.tables.get(table)
    }
}

/// The entry of the first dialect that is there.
fn no_literals(op: &str) -> InputError {
    InputError::elsewhere(format!(
        "op `{op}` is a transaction, whose values are always parameters"
    ))
}

pub(super) fn preferred<'m, T>(
    of: &'m BTreeMap<String, T>,
    dialects: &[String],
    place: &str,
) -> Result<&'m T, InputError> {
    dialects
        .iter()
        .find_map(|dialect| of.get(dialect))
        .or_else(|| of.get(ANY_DIALECT))
        .ok_or_else(|| {
            let wanted = dialects.join(", ");
            let known: Vec<&str> = of.keys().map(String::as_str).collect();
            let hint = format!("it has {}; add the dialect to the file", known.join(", "));
            InputError::elsewhere(format!("{place} has no SQL for this target ({wanted})"))
                .with_hint(Some(hint))
        })
}

fn distinct_values(
    definition: &Definition,
    entities: &[Attributes],
) -> BTreeMap<(usize, usize), Vec<Arc<str>>> {
    let mut found = BTreeMap::new();
    for op in &definition.ops {
        for parameter in op.body.parameters() {
            if let ParameterGenerator::Distinct { entity, attribute } = parameter.generator
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

fn fingerprint(definition: &Definition, seed: Seed) -> Result<String, InputError> {
    let content = serde_json::to_vec(&(GENERATOR_VERSION, seed, definition)).map_err(|error| {
        InputError::elsewhere(format!("the workload has no fingerprint: {error}"))
    })?;
    let hash = Sha256::digest(&content);
    Ok(hash.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
