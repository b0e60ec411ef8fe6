//! One value: of a parameter, or in a response.

use std::sync::Arc;

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
