//! The few words in which dialects differ, as far as the suite needs them.

use highwater_model::op::{ColumnType, PlaceholderStyle};

/// Words of a dialect.
#[derive(Debug, Clone, Copy)]
pub struct SqlWords {
    /// The name of a column's type.
    pub type_name: fn(ColumnType) -> &'static str,
    /// A condition that a column (first text) of this type equals a parameter (second text).
    /// The parameter of an object is bound as JSON text.
    pub equals: fn(ColumnType, &str, &str) -> String,
}

/// The `number`-th parameter, from 1.
pub(super) fn placeholder(style: PlaceholderStyle, number: usize) -> String {
    match style {
        PlaceholderStyle::Dollar => format!("${number}"),
        PlaceholderStyle::Question => format!("?{number}"),
    }
}
