//! Values that are written in the file.
//!
//! What must not be here: which of them a row has.

use toml::de::DeValue;

use super::making::range_of;
use crate::generators::prelude::{ColumnType, Entry, Serialize, Value};
use crate::parameter::ParameterKind;

/// A value of a column or of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Literal {
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// Milliseconds since 1970.
    Timestamp(i64),
    Text(String),
}

impl Literal {
    /// Reads a value of type `kind`.
    pub(super) fn read(entry: Entry<'_>, kind: ColumnType) -> Option<Self> {
        let literal = match (kind, entry.value()) {
            (ColumnType::Text, DeValue::String(_)) => return entry.text().map(Self::Text),
            (ColumnType::Integer | ColumnType::Bigint, _) => {
                let number = entry.integer();
                number.filter(|number| range_of(kind).contains(number)).map(Self::Integer)
            }
            (ColumnType::Float, _) => entry.float().map(Self::Float),
            (ColumnType::Boolean, DeValue::Boolean(value)) => Some(Self::Boolean(*value)),
            (ColumnType::Timestamp, DeValue::String(text)) => {
                ParameterKind::Timestamp.parse(text).map(Self::Timestamp)
            }
            _ => None,
        };
        let found = format!("this {}", entry.type_name());
        literal.or_else(|| entry.wrong_type(kind.name(), &found))
    }

    /// The value as text.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Integer(number) | Self::Timestamp(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Boolean(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    /// The value as a column has it.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Integer(number) => Value::Integer(*number),
            Self::Float(number) => Value::Float(*number),
            Self::Boolean(value) => Value::Boolean(*value),
            Self::Timestamp(ms) => Value::TimestampMs(*ms),
            Self::Text(text) => Value::Text(text.as_str().into()),
        }
    }

    /// The value as an integer; 0 if it is none.
    pub(super) fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) | Self::Timestamp(number) => *number,
            Self::Float(_) | Self::Boolean(_) | Self::Text(_) => 0,
        }
    }

    /// The value as a floating-point number; 0 if it is none.
    pub(super) fn float(&self) -> f64 {
        match self {
            Self::Float(number) => *number,
            _ => 0.0,
        }
    }
}

/// Reads a list of values of type `kind`; an empty list is noted.
pub(crate) fn literals(entry: Entry<'_>, kind: ColumnType, place: &str) -> Vec<Literal> {
    let elements = entry.list();
    if elements.as_ref().is_some_and(Vec::is_empty) {
        let message = format!("`{}` of {place} is empty", entry.key);
        entry.error::<()>(message, format!("write at least one {}", kind.name()));
    }
    elements
        .unwrap_or_default()
        .into_iter()
        .filter_map(|element| Literal::read(element, kind))
        .collect()
}
