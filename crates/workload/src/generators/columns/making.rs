//! What a generator of columns can do: its part of the list.
//!
//! What must not be here: a generator.

use highwater_model::op::ColumnType;
use highwater_model::units::Seed;

use crate::entity::{Attributes, Entity};
use crate::generators::plain::{Plain, Texts};
use crate::generators::prelude::{ColumnData, Draws, Section, Segments, Spec, Value};
use crate::input::named;
use crate::layout::{Layout, Ticks};

/// A generator of columns.
pub(crate) trait Generate: Sized {
    const SPECS: &'static [Spec];

    /// Reads its options.
    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self>;

    /// What makes the values of a column.
    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static;
}

/// What makes the values of a column, for rows in segments.
///
/// Nothing is allocated per value but text that differs from row to row; data that is filled
/// again keeps its memory.
pub(crate) trait Fill: std::fmt::Debug + Send + Sync {
    /// Makes `data` the values of the rows of all segments.
    fn fill(&self, segments: Segments, data: &mut ColumnData);

    /// The values at the ends of what it may make, among others; none where they follow from the row.
    fn extremes(&self) -> Vec<Value> {
        Vec::new()
    }
}

/// The column that values are made for.
pub(crate) struct MadeFor<'c> {
    pub(crate) table: &'c str,
    pub(crate) column: &'c str,
    pub(crate) kind: ColumnType,
    pub(crate) entity: Option<&'c Attributes>,
    pub(crate) seed: Seed,
    /// Another column, by the positions of table and column.
    pub(crate) other: &'c dyn Fn(usize, usize) -> Option<(Layout, Box<dyn Fill>)>,
}

impl MadeFor<'_> {
    /// The column's own random numbers.
    pub(crate) fn draws(&self) -> Draws {
        Draws::of(self.seed, &["column", self.table, self.column])
    }
}

/// A column whose values need only the row's index.
#[derive(Debug)]
pub(super) struct PlainColumn {
    plain: Plain,
    kind: ColumnType,
    draws: Draws,
    /// Of text that comes again.
    texts: Option<Texts>,
}

impl PlainColumn {
    pub(super) fn new(plain: &Plain, column: &MadeFor<'_>) -> Self {
        let (draws, kind) = (column.draws(), column.kind);
        let is_text = matches!(kind, ColumnType::Text | ColumnType::Object);
        Self {
            plain: plain.clone(),
            kind,
            draws,
            texts: if is_text { plain.texts(&draws) } else { None },
        }
    }
}

impl Fill for PlainColumn {
    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        match &self.texts {
            Some(texts) => self.plain.fill_codes(texts, &self.draws, segments, data),
            None => self.plain.fill(self.kind, &self.draws, segments, data),
        }
    }

    fn extremes(&self) -> Vec<Value> {
        self.plain.extremes(self.kind)
    }
}

named!(TableScope<'_>, ColumnScope);

/// What is above a column or a parameter.
pub(crate) struct Scope<'s> {
    /// The type of the column or of the parameter itself.
    pub(crate) kind: ColumnType,
    /// Values that it stands for.
    pub(crate) count: u64,
    /// What the rows of the column's table are about.
    pub(crate) entity: Option<&'s Entity>,
    pub(crate) entities: &'s [Entity],
    /// Of a column, the last one is its own.
    pub(crate) tables: &'s [TableScope<'s>],
    /// Earlier parameters.
    pub(crate) parameters: &'s [ColumnScope],
}

/// A table, as far as others refer to it.
pub(crate) struct TableScope<'s> {
    pub(crate) name: &'s str,
    /// The times of its rows, if one of its columns has them.
    pub(crate) ticks: Option<Ticks>,
    pub(crate) columns: Vec<ColumnScope>,
}

/// A column, a field of an object, or a parameter.
pub(crate) struct ColumnScope {
    pub(crate) name: String,
    pub(crate) kind: ColumnType,
    /// Whether it is a reference itself.
    pub(crate) refers: bool,
    pub(crate) fields: Vec<ColumnScope>,
}
