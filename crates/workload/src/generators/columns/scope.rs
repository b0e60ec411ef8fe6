//! What a generator may refer to: the part of a file that is above it.
//!
//! What must not be here: how the values of what is above are made.

use crate::entity::Entity;
use crate::input::named;
use crate::layout::Ticks;
use highwater_model::op::ColumnType;

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
