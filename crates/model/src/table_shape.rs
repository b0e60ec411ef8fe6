//! An existing table, as its target describes it: columns, what a sample of its rows holds, indexes,
//! and the statements on it that the target recorded.
//!
//! What must not be here: what a sketch makes of it.

use super::op::ColumnType;

/// A table as its target describes it, from a sample of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct TableShape {
    /// Its name.
    pub name: String,
    /// The schema that it is in, where the target has some.
    pub schema: Option<String>,
    /// The dialect of the target, for `create` and `key`.
    pub dialect: String,
    /// How the dialect writes the milliseconds since 1970 of `{column}`.
    pub milliseconds: String,
    /// How the dialect writes the whole part of `{dividend}` by `{divisor}`.
    pub quotient: String,
    /// What stands around a name in its SQL, on both sides.
    pub quote: char,
    /// Rows of the sample.
    pub rows: u64,
    /// Rows of the whole table, about, if the target has statistics of it.
    pub rows_all: Option<u64>,
    /// In the table's order.
    pub columns: Vec<ColumnShape>,
    /// Its indexes and unique keys.
    pub indexes: Vec<IndexShape>,
    /// The statement that makes such a table, where the target gives it; without one it is made of
    /// columns and indexes. The name stands in it as `{table}`, the primary key as `{key}`.
    pub create: Option<String>,
    /// Statements on it that the target recorded.
    pub recorded: RecordedStatements,
}

/// A column as its target describes it, or a field of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnShape {
    /// Its name; of a field the key.
    pub name: String,
    /// Its type as the target says it, such as `character varying`.
    pub declared: String,
    /// The type of the workload that fits; none for types that no generator makes.
    pub kind: Option<ColumnType>,
    /// Whether it must not be null.
    pub required: bool,
    /// Whether the target computes it from other columns.
    pub generated: bool,
    /// Rows that are null.
    pub nulls: u64,
    /// Different values in the rows of the sample.
    pub distinct: u64,
    /// Different values in the whole table, about, if the target has statistics of it.
    pub distinct_all: Option<u64>,
    /// The least value as text; times in milliseconds since 1970.
    pub min: Option<String>,
    /// The greatest.
    pub max: Option<String>,
    /// Characters of the shortest and of the longest value, as text.
    pub lengths: (u64, u64),
    /// The most frequent values and how often they came; all of them where there are few.
    pub common: Vec<(String, u64)>,
    /// Of an object: its fields.
    pub fields: Vec<ColumnShape>,
    /// An integer expression for what stands for its value in checksums, where the target holds it in
    /// another type than the workload's; see [`super::checksum`].
    pub checked: Option<String>,
}

impl ColumnShape {
    /// A column of which only its declaration is known.
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
    /// The columns that it is made of; none where it is more than a list of columns.
    pub columns: Vec<String>,
    /// Whether no two rows are alike in them.
    pub unique: bool,
    /// As the target writes it; of the primary key in `create` the text that `{key}` stands for.
    pub text: String,
}

/// Statements on a table that its target recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedStatements {
    /// Where the target counts statements, such as a view; none if it does not.
    pub source: Option<String>,
    /// Statements and how often they came, the most frequent first.
    pub texts: Vec<StatementText>,
    /// Different statements that it keeps; more than `texts` where these were cut.
    pub different: u64,
    /// A remark on the list, such as why there is none.
    pub remark: Option<String>,
}

/// A statement that a target recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementText {
    /// The first [`TEXT_MAX`] characters; values may be left out, as `$1` or `?`.
    pub sql: String,
    /// How often it was sent.
    pub calls: u64,
    /// Rows of all its results together, if the target counts them.
    pub rows: Option<u64>,
}

/// Different values that are listed rather than described.
pub const LISTED_MAX: u64 = 30;
/// Different statements that are read.
pub const TEXTS_MAX: usize = 1_000;
/// Characters of a statement that are read.
pub const TEXT_MAX: usize = 4_000;
