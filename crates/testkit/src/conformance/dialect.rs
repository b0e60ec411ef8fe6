//! The differences between dialects that the suite needs.

use highwater_model::op::{ColumnType, PlaceholderStyle};

/// A dialect's SQL.
#[derive(Debug, Clone, Copy)]
pub struct SqlWords {
    /// The name of a type.
    pub type_name: fn(ColumnType) -> &'static str,
    /// A condition that a column (first text) of this type equals a parameter (second text).
    /// The parameter of an object is bound as JSON text.
    pub equals: fn(ColumnType, &str, &str) -> String,
    /// Follows the type of the key column.
    pub key: &'static str,
    /// Follows the columns of a CREATE TABLE with the key `k`.
    pub options: &'static str,
    /// FROM clause that joins each row of a table with each, and with each again.
    pub from_thrice: fn(&str) -> String,
    /// The user's statements to drop a table that may exist.
    pub drop: fn(&str) -> Vec<String>,
    /// A statement of the user about a table reaches only one host of the target, so it must be sent to each.
    pub each_host: bool,
}

impl SqlWords {
    /// A dialect that differs only in types and comparisons.
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
