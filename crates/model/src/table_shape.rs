//! An existing table as described by its target: columns, the contents of a sample of rows, indexes, and recorded
//! statements. Must not hold the sketch made from it.

use super::op::ColumnType;

/// A table as described by its target, from a sample of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct TableShape {
    /// Its name.
    pub name: String,
    /// Its schema, if the target has schemas.
    pub schema: Option<String>,
    /// The dialect of the target, for `create` and `key`.
    pub dialect: String,
    /// The dialect's expression for the milliseconds since 1970 of `{column}`.
    pub milliseconds: String,
    /// The dialect's expression for the integer quotient of `{dividend}` by `{divisor}`.
    pub quotient: String,
    /// The quote character around names in its SQL.
    pub quote: char,
    /// Number of rows in the sample.
    pub rows: u64,
    /// Approximate number of rows in the table, if the target has statistics.
    pub rows_all: Option<u64>,
    /// In the table's order.
    pub columns: Vec<ColumnShape>,
    /// Its indexes and unique keys.
    pub indexes: Vec<IndexShape>,
    /// The statement that creates such a table, if the target reports it; otherwise it is generated from columns and
    /// indexes. Its placeholders are `{table}` for the name and `{key}` for the primary key.
    pub create: Option<String>,
    /// Its CHECK constraints.
    pub checks: Vec<CheckShape>,
    /// What a copy does not have, in the target's syntax, such as foreign keys.
    pub without: Vec<String>,
    /// Statements on it recorded by the target.
    pub recorded: RecordedStatements,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckShape {
    /// Its columns.
    pub columns: Vec<String>,
    /// In the target's syntax.
    pub text: String,
}

/// A column as described by its target, or a field of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnShape {
    /// Its name; the key of a field.
    pub name: String,
    /// Its type as the target declares it, such as `character varying(40)`.
    pub declared: String,
    /// What follows in its declaration, such as a default; `None` if the target does not report it.
    pub rest: Option<String>,
    /// The matching workload type; `None` for types that no generator produces.
    pub kind: Option<ColumnType>,
    /// Whether only texts of the sample are certainly values of its type, such as a range or an enumeration.
    pub sampled: bool,
    /// Whether it is NOT NULL.
    pub required: bool,
    /// Whether the target computes it from other columns.
    pub generated: bool,
    /// Number of null rows.
    pub nulls: u64,
    /// Number of distinct values in the sample.
    pub distinct: u64,
    /// Approximate number of distinct values in the table, if the target has statistics.
    pub distinct_all: Option<u64>,
    /// The least value as text; times in milliseconds since 1970.
    pub min: Option<String>,
    /// The greatest value, likewise.
    pub max: Option<String>,
    /// Characters of the shortest and of the longest value, as text.
    pub lengths: (u64, u64),
    /// The most frequent values and their counts; all values if there are few.
    pub common: Vec<(String, u64)>,
    /// Fields of an object.
    pub fields: Vec<ColumnShape>,
    /// An integer expression that represents its value in checksums, if the target stores it in another type than the
    /// workload's; see [`super::stored`].
    pub checked: Option<String>,
}

impl ColumnShape {
    /// A column with only its declaration.
    pub fn new(
        name: impl Into<String>,
        declared: impl Into<String>,
        kind: Option<ColumnType>,
    ) -> Self {
        Self { name: name.into(), declared: declared.into(), kind, ..Self::default() }
    }
}

/// An index or a unique key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexShape {
    /// Its columns; empty if it is more than a list of columns.
    pub columns: Vec<String>,
    /// Whether it is unique.
    pub unique: bool,
    /// In the target's syntax; for the primary key, the text for `{key}` in `create`.
    pub text: String,
}

/// Statements on a table recorded by its target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedStatements {
    /// Where the target counts statements, such as a view; `None` if it does not.
    pub source: Option<String>,
    /// Statements with their call counts, most frequent first.
    pub texts: Vec<StatementText>,
    /// Number of distinct statements recorded; more than in `texts` if that was truncated.
    pub different: u64,
    /// A remark on the list, such as why it is empty.
    pub remark: Option<String>,
}

/// A statement recorded by a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementText {
    /// The first [`TEXT_MAX`] characters; values may be replaced by `$1` or `?`.
    pub sql: String,
    /// Number of calls.
    pub calls: u64,
    /// Total rows of all results, if the target counts them.
    pub rows: Option<u64>,
}

/// Maximum number of distinct values that are listed rather than described.
pub const LISTED_MAX: u64 = 30;
/// Maximum number of distinct statements read.
pub const TEXTS_MAX: usize = 1_000;
/// Maximum number of characters read of a statement.
pub const TEXT_MAX: usize = 4_000;
