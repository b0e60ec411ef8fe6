//! An op with its rows or parameters, and the statements that it runs; one value, of a parameter or in a response; and
//! a contiguous range of a table's keys.
//!
//! An op is a pure function of (seed, stream, index). Must not hold a connection or a time.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::literal::LiteralSql;
use super::named::named;
use super::stored::{DeclaredColumn, StoredForm};
use super::transaction::BoundTransaction;

/// The position of an op in [`BoundWorkload::ops`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpId(pub u16);

/// One unit of work.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    /// The workload's op that this is.
    pub id: OpId,
    /// Its number in its stream; with the seed it determines the content.
    pub index: u64,
    /// The content to send.
    pub body: OpBody,
}

impl Op {
    /// Rows that this op writes; 0 for a query or a transaction.
    pub fn rows(&self) -> u64 {
        match &self.body {
            OpBody::Insert(batch) => batch.rows as u64,
            OpBody::Query(_) => 0,
        }
    }
}

/// The content of an op.
#[derive(Debug, Clone, PartialEq)]
pub enum OpBody {
    /// Rows for the op's table.
    Insert(RowBatch),
    /// Values of the op's parameters, in order: for the placeholders of a query, or for those of a transaction's
    /// statements.
    Query(Vec<Value>),
}

/// Rows in columns, as generated; drivers encode them for the wire.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowBatch {
    /// Index of the first row; the others follow consecutively.
    pub first_row: u64,
    /// Number of rows; every column has this length.
    pub rows: usize,
    /// In the order of the table's columns.
    pub columns: Vec<ColumnData>,
}

/// The values of one column of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnData {
    /// 64-bit integers (also for narrower columns).
    Integer(Vec<i64>),
    /// Double precision.
    Float(Vec<f64>),
    /// Booleans.
    Boolean(Vec<bool>),
    /// Milliseconds since 1970-01-01T00:00:00Z.
    TimestampMs(Vec<i64>),
    /// Plain text values.
    Text(Vec<Box<str>>),
    /// Text, dictionary-coded.
    TextDictionary(Dictionary),
    /// JSON objects, dictionary-coded; each value is JSON text without insignificant spaces.
    ObjectDictionary(Dictionary),
    /// Values, and which rows have none.
    Nullable(Box<ColumnData>, Vec<bool>),
}

impl ColumnData {
    /// The values, also of rows that have none.
    pub fn values(&self) -> &Self {
        match self {
            Self::Nullable(values, _) => values,
            values => values,
        }
    }

    /// Whether a row has no value.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        matches!(self, Self::Nullable(_, nulls) if nulls.get(row) == Some(&true))
    }

    /// The value of a row, JSON text for an object; null if there is no such row.
    pub fn value(&self, row: usize) -> Value {
        let text = |text: &str| Value::Text(text.into());
        let value = match self {
            Self::Integer(values) => values.get(row).copied().map(Value::Integer),
            Self::TimestampMs(values) => values.get(row).copied().map(Value::TimestampMs),
            Self::Float(values) => values.get(row).copied().map(Value::Float),
            Self::Boolean(values) => values.get(row).copied().map(Value::Boolean),
            Self::Text(values) => values.get(row).map(|value| text(value)),
            Self::TextDictionary(coded) | Self::ObjectDictionary(coded) => {
                let code = coded.codes.get(row).copied().map(usize::try_from);
                let value = code.and_then(|code| coded.values.get(code.ok()?));
                value.map(|value| text(value))
            }
            Self::Nullable(values, _) => (!self.is_null(row)).then(|| values.value(row)),
        };
        value.unwrap_or(Value::Null)
    }
}

/// Distinct values, and the position of each row's value.
#[derive(Debug, Clone, PartialEq)]
pub struct Dictionary {
    /// The distinct values; shared between batches.
    pub values: Arc<[Box<str>]>,
    /// Per row, a position in `values`.
    pub codes: Vec<u32>,
}

named! {
    /// The type of a column or of a query's parameter.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum ColumnType {
        /// 32-bit integer.
        Integer = "integer",
        /// 64-bit integer.
        Bigint = "bigint",
        /// Double precision.
        Float = "float",
        /// Boolean.
        Boolean = "boolean",
        /// Point in time in milliseconds, UTC.
        Timestamp = "timestamp",
        /// Text.
        Text = "text",
        /// JSON object.
        Object = "object",
    }
}

/// How a dialect writes the n-th parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceholderStyle {
    /// `$1`
    Dollar,
    /// `?1`
    Question,
}

/// A workload with the SQL of one dialect: the input for a driver to prepare a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoundWorkload {
    /// Tables to create and to fill.
    pub tables: Vec<BoundTable>,
    /// Ops that may be run; [`OpId`] is the position here.
    pub ops: Vec<BoundOp>,
    /// Generates rows again, for a model of a database that stores none.
    pub rows: Option<RowGenerator>,
}

/// Fills a batch with rows: the table's position, the first row, and the number of rows.
pub type FillRows = dyn Fn(usize, u64, usize, &mut RowBatch) + Send + Sync;

/// Generates any rows of a workload's tables.
#[derive(Clone)]
pub struct RowGenerator(pub Arc<FillRows>);

impl std::fmt::Debug for RowGenerator {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("RowGenerator")
    }
}

impl PartialEq for RowGenerator {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A table in one dialect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoundTable {
    /// Its name, unquoted.
    pub name: String,
    /// Columns in the order of [`RowBatch::columns`].
    pub columns: Vec<BoundColumn>,
    /// Statements that create it and its indexes, in order; they fail if the table exists.
    pub create: Vec<String>,
    /// An integer expression over its columns whose value is the index of the row.
    pub key: String,
    /// A condition for keys from `:first` to `:last` that an index can serve, if the workload has one; it may also hold
    /// for other rows.
    pub locate: Option<String>,
    /// A later row replaces an earlier one with the same value in some column.
    pub replaces: bool,
    /// Only rows with these keys are wanted; absent for all. The caller drops any others that are returned.
    pub slice: Option<KeyRange>,
}

impl BoundTable {
    /// An SQL condition for the rows of its slice, served by an index if there is one; absent if all rows are wanted.
    pub fn slice_condition(&self) -> Option<String> {
        let (slice, key) = (self.slice?, &self.key);
        let first = format!("({key}) >= {}", slice.first);
        if slice.is_open() {
            return Some(first);
        }
        let located = self.locate.as_deref().map(|locate| slice.located(locate));
        let located = located.map_or(String::new(), |located| format!(" AND {located}"));
        Some(format!("{first} AND ({key}) < {}{located}", slice.end))
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundColumn {
    /// Unquoted name.
    pub name: String,
    /// Type.
    pub kind: ColumnType,
    /// Keys of an object, in the order of the workload. Empty for other types.
    pub attributes: Vec<String>,
    /// An integer expression over the table's columns that represents the value in checksums; without one the dialect
    /// derives it from the type. See [`super::stored`].
    pub value: Option<String>,
    /// Its declaration in the table, once that was read: a column with its own expression is compared by that.
    pub declared: DeclaredColumn,
}

impl BoundColumn {
    /// A column without attributes whose dialect derives the integer for its value.
    pub fn new(name: impl Into<String>, kind: ColumnType) -> Self {
        Self {
            name: name.into(),
            kind,
            attributes: Vec::new(),
            value: None,
            declared: DeclaredColumn::default(),
        }
    }

    /// The stored form of its values in the table.
    pub const fn form(&self) -> StoredForm {
        match self.value {
            None => self.declared.form,
            Some(_) => StoredForm::AsSent,
        }
    }
}

/// An op in one dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundOp {
    /// Its name in the workload file.
    pub name: String,
    /// The operation.
    pub kind: BoundOpKind,
}

/// The operation of an op, in one dialect.
#[derive(Debug, Clone, PartialEq)]
pub enum BoundOpKind {
    /// Insert a [`RowBatch`] into the table at this position of [`BoundWorkload::tables`].
    Insert {
        /// Position of the table.
        table: usize,
        /// Rows of nearly every batch, for drivers that prepare statements by number of rows.
        batch: u64,
    },
    /// Run one statement.
    Query {
        /// SQL text with the dialect's placeholders.
        sql: String,
        /// Types of the parameters, in order.
        parameters: Vec<ColumnType>,
    },
    /// Run one statement with values in its text, unprepared.
    Literal(LiteralSql),
    /// Run several statements as one atomic transaction.
    Transaction(BoundTransaction),
}

/// A statement of a transaction, in one dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundStatement {
    /// SQL text with the dialect's placeholders, numbered from 1.
    pub sql: String,
    /// Types of its parameters, in order.
    pub parameters: Vec<ColumnType>,
    /// For each parameter, its position among the op's values.
    pub values: Vec<usize>,
}

impl BoundStatement {
    /// Its values, in the order of its placeholders; a missing value is null.
    pub fn values_of<'v>(&self, values: &'v [Value]) -> impl ExactSizeIterator<Item = &'v Value> {
        self.values.iter().map(|position| values.get(*position).unwrap_or(&Value::Null))
    }
}

/// A scalar parameter, or a scalar in a response.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A double.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// Milliseconds since 1970-01-01T00:00:00Z.
    TimestampMs(i64),
    /// Text.
    Text(Arc<str>),
}

/// A contiguous range of a table's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRange {
    /// First key.
    pub first: u64,
    /// First key after it; greater than `first`.
    pub end: u64,
}

impl KeyRange {
    /// Every key.
    pub const ALL: Self = Self::beginning_at(0);

    /// All keys from this one on.
    pub const fn beginning_at(first: u64) -> Self {
        Self { first, end: i64::MAX.unsigned_abs() }
    }

    /// Whether it is unbounded above.
    pub fn is_open(self) -> bool {
        self.end == Self::ALL.end
    }

    /// Whether the key is in it.
    pub fn contains(self, key: u64) -> bool {
        self.first <= key && key < self.end
    }

    /// The condition of `BoundTable::locate` for these keys.
    pub fn located(self, locate: &str) -> String {
        let first = locate.replace(":first", &self.first.to_string());
        let last = self.end.saturating_sub(1).to_string();
        format!("({})", first.replace(":last", &last))
    }

    /// Splits the range in two at a multiple of `of` keys, if it has more keys than that; an open range is assumed to
    /// end before `last`.
    pub fn halves(self, of: u64, last: u64) -> Option<[Self; 2]> {
        let end = if self.is_open() { last } else { self.end };
        let keys = end.checked_sub(self.first)?;
        let middle = self.first + (keys / 2).next_multiple_of(of);
        let is_apart = keys > of && middle > self.first && middle < end;
        let low = Self { end: middle, ..self };
        let high = Self { first: middle, ..self };
        is_apart.then_some([low, high])
    }

    /// Number of keys.
    pub fn keys(self) -> u64 {
        self.end.saturating_sub(self.first)
    }
}
