//! Tables after reading: their columns, statements, and the parts that can be referenced.
//!
//! The serialized form is part of a fingerprint; fields that do not affect rows are skipped.

use std::collections::BTreeMap;

use serde::Serialize;

use super::entity::Attributes;
use super::generators::columns::{ColumnGenerator, ColumnScope, Object, TableScope, scope_of};
use super::input::named;
use super::layout::Layout;
use super::random::Draws;
use highwater_model::op::ColumnType;
use highwater_model::units::Seed;

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
    pub(crate) generator: ColumnGenerator,
}

impl Table {
    /// The entity and tick of each row.
    pub(crate) fn layout(&self, entities: &[Attributes], seed: Seed) -> Layout {
        let entity = self.entity.and_then(|position| entities.get(position));
        let draws = || Draws::of(seed, &["table", &self.name, "order"]);
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
