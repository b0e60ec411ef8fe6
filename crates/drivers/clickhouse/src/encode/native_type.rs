//! The ClickHouse types in which values are sent, and the workload types that they accept. Must not write one.

use highwater_model::op::ColumnType;

/// A column of a block.
#[derive(Debug)]
pub(crate) struct NativeColumn {
    /// Its name, unquoted.
    pub(crate) name: String,
    /// Its type, in the server's words.
    pub(crate) declared: String,
    /// The type without `Nullable`.
    pub(crate) native: NativeType,
    /// It is nullable, so each row has a byte for null.
    pub(crate) nullable: bool,
    /// The source of its values.
    pub(crate) source: Source,
}

/// The source of a column's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// In the column of a batch at this position.
    Column(usize),
    /// In objects at this position, under this name.
    Attribute(usize, String),
}

impl Source {
    /// The column of the batch, and the attribute of its objects, if any.
    pub(crate) fn place(&self) -> (usize, Option<&str>) {
        match self {
            Self::Column(position) => (*position, None),
            Self::Attribute(position, name) => (*position, Some(name)),
        }
    }
}

/// Integers up to this one are exactly representable as doubles.
const EXACT_MAX: i64 = 1 << 53;

/// A type in which values are sent. Other types would round, truncate, or hash values differently from the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NativeType {
    /// Signed integers of this many bytes.
    Signed(u8),
    /// Unsigned integers of this many bytes.
    Unsigned(u8),
    /// Double precision.
    Float64,
    /// Texts.
    Text,
}

impl NativeType {
    /// Parses the server's type name.
    pub(crate) fn of(declared: &str) -> Option<Self> {
        Some(match declared {
            "Int8" => Self::Signed(1),
            "Int16" => Self::Signed(2),
            "Int32" => Self::Signed(4),
            "Int64" => Self::Signed(8),
            "UInt8" | "Bool" => Self::Unsigned(1),
            "UInt16" => Self::Unsigned(2),
            "UInt32" => Self::Unsigned(4),
            "UInt64" => Self::Unsigned(8),
            "Float64" => Self::Float64,
            "String" => Self::Text,
            _ => return None,
        })
    }

    /// Whether it can hold an integer exactly.
    pub(crate) fn holds(self, value: i64) -> bool {
        match self {
            Self::Signed(bytes @ ..8) => value >> (u32::from(bytes) * 8 - 1) == value >> 63,
            Self::Signed(_) => true,
            Self::Unsigned(bytes @ ..8) => value >> (u32::from(bytes) * 8) == 0,
            Self::Unsigned(_) => value >= 0,
            Self::Float64 => (-EXACT_MAX..=EXACT_MAX).contains(&value),
            Self::Text => false,
        }
    }

    /// Whether values of the workload's type can be sent in it.
    pub(crate) fn takes(self, kind: ColumnType) -> bool {
        match kind {
            ColumnType::Integer | ColumnType::Bigint => self != Self::Text,
            ColumnType::Float => self == Self::Float64,
            ColumnType::Boolean => matches!(self, Self::Signed(_) | Self::Unsigned(_)),
            // Milliseconds since 1970.
            ColumnType::Timestamp => matches!(self, Self::Signed(8) | Self::Unsigned(8)),
            ColumnType::Text | ColumnType::Object => self == Self::Text,
        }
    }
}
