//! Objects that are made for each row: keys whose values are generated for
//! each row, perhaps objects again.
//!
//! The text is JSON without insignificant spaces, written straight from the row's index.

use std::fmt::Write as _;

use super::definition::{Field, FieldGenerator};
use super::entity::quoted;
use super::layout::Segments;
use super::plain::{Choices, Literal, Plain};
use super::random::Draws;
use super::segment::Segment;
use highwater_model::op::{ColumnData, ColumnType, Dictionary};
use highwater_model::units::Seed;

/// A key of an object, ready to be written.
#[derive(Debug)]
pub(super) struct FieldRows {
    /// The key as JSON, with its colon.
    key: String,
    value: FieldValue,
}

#[derive(Debug)]
enum FieldValue {
    /// An integer between two texts, such as a quote and a prefix before and a quote after.
    Number(String, Plain, Draws, &'static str),
    /// One of these JSON texts.
    Choice(Vec<String>, Choices, Draws),
    Float(Plain, Draws),
    Boolean(Plain, Draws),
    Text(Plain, Draws),
    Object(Vec<FieldRows>),
}

/// The fields of an object; `path` names the column.
pub(super) fn rows_of(fields: &[Field], path: &[&str], seed: Seed) -> Vec<FieldRows> {
    fields
        .iter()
        .map(|field| {
            let path = [path, &[field.name.as_str()]].concat();
            let draws = Draws::of(seed, &path);
            FieldRows {
                key: format!("{}:", quoted(&field.name)),
                value: match &field.generator {
                    FieldGenerator::Object(fields) => {
                        FieldValue::Object(rows_of(fields, &path, seed))
                    }
                    FieldGenerator::Plain(plain) => value_of(plain, field.kind, draws),
                },
            }
        })
        .collect()
}

fn value_of(plain: &Plain, kind: ColumnType, draws: Draws) -> FieldValue {
    let plain = plain.clone();
    match (kind, &plain) {
        (_, Plain::Choice(choices)) => {
            let texts = choices.values.iter().map(|value| json(value, kind));
            FieldValue::Choice(texts.collect(), choices.clone(), draws)
        }
        (ColumnType::Integer | ColumnType::Bigint | ColumnType::Timestamp, _) => {
            FieldValue::Number(String::new(), plain, draws, "")
        }
        (ColumnType::Float, _) => FieldValue::Float(plain, draws),
        (ColumnType::Boolean, _) => FieldValue::Boolean(plain, draws),
        (
            _,
            Plain::Sequence { prefix, .. }
            | Plain::Uniform { prefix, .. }
            | Plain::Skewed { prefix, .. },
        ) => {
            let mut before = quoted(prefix);
            before.pop();
            FieldValue::Number(before, plain, draws, "\"")
        }
        _ => FieldValue::Text(plain, draws),
    }
}

fn json(value: &Literal, kind: ColumnType) -> String {
    match kind {
        ColumnType::Text | ColumnType::Object => quoted(&value.text()),
        _ => value.text(),
    }
}

impl FieldRows {
    fn write(&self, row: u64, text: &mut String) {
        text.push_str(&self.key);
        // Writing to a string cannot fail.
        let _ = match &self.value {
            FieldValue::Number(before, plain, draws, after) => {
                write!(text, "{before}{}{after}", plain.integer(draws, row))
            }
            FieldValue::Choice(texts, choices, draws) => {
                let pick = choices.pick(draws, row);
                text.push_str(texts.get(pick).map_or("null", String::as_str));
                Ok(())
            }
            FieldValue::Float(plain, draws) => {
                write!(text, "{}", serde_json::Value::from(plain.float(draws, row)))
            }
            FieldValue::Boolean(plain, draws) => write!(text, "{}", plain.boolean(draws, row)),
            FieldValue::Text(plain, draws) => {
                text.push_str(&quoted(&plain.text(draws, row)));
                Ok(())
            }
            FieldValue::Object(fields) => {
                write_object(fields, row, text);
                Ok(())
            }
        };
    }
}

fn write_object(fields: &[FieldRows], row: u64, text: &mut String) {
    text.push('{');
    for (position, field) in fields.iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        field.write(row, text);
    }
    text.push('}');
}

/// One object for each row.
pub(super) fn objects(fields: &[FieldRows], segments: Segments) -> ColumnData {
    let rows = segments.left;
    let objects = segments.flat_map(Segment::row_indexes).map(|row| {
        let mut text = String::new();
        write_object(fields, row, &mut text);
        text.into_boxed_str()
    });
    ColumnData::ObjectDictionary(Dictionary {
        values: objects.collect(),
        codes: (0..).take(rows).collect(),
    })
}
