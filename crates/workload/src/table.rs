//! Tables after reading: their columns, their statements, and what others may refer to.
//!
//! Its serialized form is part of a fingerprint; what does not change rows is skipped.

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

/// A table, its statements, and how its rows are made.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// Position of the entity that rows are about; without one, every row is a tick.
    pub(crate) entity: Option<usize>,
    /// Which entity a row is about.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub(crate) order: Order,
    /// Row i is what row i modulo this is; 0 for rows without end.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub(crate) repeat: u64,
    /// Position of the column whose value a later row takes over: it replaces the earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replaces: Option<usize>,
    pub(crate) columns: Vec<Column>,
    /// Dialect to statements.
    pub(crate) create: BTreeMap<String, Vec<String>>,
    /// Dialect to an integer expression whose value is the row's index.
    pub(crate) key: BTreeMap<String, String>,
    /// Dialect to (column to an integer expression that stands for its value). How a table is
    /// audited changes neither rows nor ops.
    #[serde(skip)]
    pub(crate) values: BTreeMap<String, BTreeMap<String, String>>,
    /// Dialect to a condition that finds keys from `:first` to `:last` by an index.
    #[serde(skip)]
    pub(crate) locate: BTreeMap<String, String>,
}

/// Which entity a row is about, and at which tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Of n entities row i is about number i mod n, at tick i div n.
    #[default]
    TimeMajor,
    /// Each row is about an entity sampled uniformly, and is a tick of its own.
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
    /// Which entity and tick each row is about.
    pub(crate) fn layout(&self, entities: &[Attributes], seed: Seed) -> Layout {
        let entity = self.entity.and_then(|position| entities.get(position));
        let draws = || Draws::of(seed, &["table", &self.name, "order"]);
        Layout {
            entities: entity.map_or(1, Attributes::count).max(1),
            sampled: (self.order == Order::Sampled).then(draws),
            repeat: self.repeat,
        }
    }

    /// The column whose value a later row takes over, where rows replace each other.
    pub(crate) fn replacing(&self) -> Option<&Column> {
        self.columns.get(self.replaces?)
    }

    /// What others may refer to.
    pub(crate) fn scope(&self) -> TableScope<'_> {
        let mut scope = TableScope::new(&self.name);
        self.columns.iter().for_each(|column| scope.add(column));
        scope
    }
}

impl<'s> TableScope<'s> {
    /// Of a table without columns.
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
