//! A table that is there, as its target describes it: columns, and what a sample of its rows holds.

use super::op::ColumnType;

/// A table as its target describes it, from a sample of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct TableShape {
    /// Its name.
    pub name: String,
    /// The dialect of the target, for `create` and `key`.
    pub dialect: String,
    /// How the dialect writes the milliseconds since 1970 of `{column}`.
    pub milliseconds: String,
    /// Rows that were looked at.
    pub rows: u64,
    /// In the table's order.
    pub columns: Vec<ColumnShape>,
    /// What is asked of the table, and how often, where the target keeps count; the most frequent
    /// first.
    pub queries: Vec<(String, u64)>,
}

/// A column as its target describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnShape {
    /// Its name.
    pub name: String,
    /// Its type as the target says it, such as `character varying`.
    pub declared: String,
    /// The type of the workload that fits; none for types that no generator makes.
    pub kind: Option<ColumnType>,
    /// Whether it must not be null.
    pub required: bool,
    /// Rows that are null.
    pub nulls: u64,
    /// Different values.
    pub distinct: u64,
    /// The least value as text; times in milliseconds since 1970.
    pub min: Option<String>,
    /// The greatest.
    pub max: Option<String>,
    /// Characters of the shortest and of the longest value, as text.
    pub lengths: (u64, u64),
    /// The most frequent values and how often they came; all of them where there are few.
    pub common: Vec<(String, u64)>,
}

/// Different values that are listed rather than described.
pub const LISTED_MAX: u64 = 30;
