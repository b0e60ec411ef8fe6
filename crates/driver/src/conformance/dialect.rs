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
    /// What follows the type of the column that is the key.
    pub key: &'static str,
    /// What follows the columns of a CREATE TABLE, which has the key `k`.
    pub options: &'static str,
    /// FROM and each row of a table joined with each, and with each again.
    pub from_thrice: fn(&str) -> String,
    /// What the user says to drop a table that may be there.
    pub drop: fn(&str) -> Vec<String>,
    /// A statement of the user's own about a table reaches one host of the target only, so he says it to
    /// each.
    pub each_host: bool,
}

impl SqlWords {
    /// Of a dialect that has its own words for types and comparisons only.
    pub const fn new(
        type_name: fn(ColumnType) -> &'static str,
        equals: fn(ColumnType, &str, &str) -> String,
    ) -> Self {
        Self {
            type_name,
            equals,
            key: " PRIMARY KEY",
            options: "",
            from_thrice: |table| format!("FROM {table} AS a, {table} AS b, {table} AS c"),
            drop: |table| vec![format!("DROP TABLE IF EXISTS {table}")],
            each_host: false,
        }
    }
}

/// The `number`-th parameter, from 1.
pub(super) fn placeholder(style: PlaceholderStyle, number: usize) -> String {
    match style {
        PlaceholderStyle::Dollar => format!("${number}"),
        PlaceholderStyle::Question => format!("?{number}"),
    }
}
