//! The options of generators that need only a number, and values written in the file.

use std::ops::RangeInclusive;

use toml::de::DeValue;

use super::distribution::{read_dictionary, read_random_text, read_skewed};
use super::keys;
use super::kinds::name_of;
use super::parts::{float_ends, ordered};
use super::section::{Entry, Reader, Section, float_of, integer_of};
use crate::parameter::{ParameterKind, Setting};
use crate::plain::{Choices, Literal, Plain};
use highwater_model::op::ColumnType;

/// Integers that a type can hold.
fn integer_range(kind: ColumnType) -> RangeInclusive<i64> {
    if kind == ColumnType::Integer {
        i64::from(i32::MIN)..=i64::from(i32::MAX)
    } else {
        i64::MIN..=i64::MAX
    }
}

pub(super) fn read_plain(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    name: &str,
    kind: ColumnType,
) -> Option<Plain> {
    let range = integer_range(kind);
    let prefix = |reader: &mut Reader<'_>, section: &mut Section<'_, '_>| match kind {
        ColumnType::Text => section.text_or_empty(reader, "prefix"),
        _ => String::new(),
    };
    match name {
        "constant" => {
            let entry = section.required(reader, "value", "…")?;
            literal_of(reader, section, "value", entry, kind).map(Plain::Constant)
        }
        "sequence" => {
            let start = section.integer(reader, "start", range.clone(), Some(0));
            let step = section.integer(reader, "step", range, Some(1));
            let modulo = section.integer(reader, "modulo", 0..=i64::MAX, Some(0));
            let prefix = prefix(reader, section);
            let (start, step, modulo) = (start?, step?, modulo?);
            Some(Plain::Sequence {
                start,
                step,
                modulo: modulo.unsigned_abs(),
                prefix,
            })
        }
        "uniform" if kind == ColumnType::Float => {
            let (min, max) = float_ends(reader, section)?;
            Some(Plain::UniformFloat { min, max })
        }
        "uniform" => {
            let min = section.integer(reader, "min", range.clone(), None);
            let max = section.integer(reader, "max", range, None);
            let prefix = prefix(reader, section);
            let (min, max) = (min?, max?);
            ordered(reader, section, min <= max)?;
            Some(Plain::Uniform { min, max, prefix })
        }
        "normal" => read_normal(reader, section, kind),
        "zipfian" | "latest" | "hotspot" | "exponential" => {
            let prefix = prefix(reader, section);
            read_skewed(reader, section, name, range, prefix)
        }
        "text" => read_random_text(reader, section),
        "keys" => keys::read(reader, section).map(Plain::Keys),
        "dictionary" => read_dictionary(reader, section),
        "uuid" => Some(Plain::Uuid),
        _ => read_choice(reader, section, kind).map(Plain::Choice),
    }
}

fn read_normal(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    kind: ColumnType,
) -> Option<Plain> {
    // What a double can be converted to without loss of its last digit.
    let limit = match kind {
        ColumnType::Integer => f64::from(i32::MAX),
        ColumnType::Bigint => 9_007_199_254_740_992.0,
        _ => f64::MAX / 4.0,
    };
    let mean = section.float(reader, "mean", None);
    let deviation = section.float(reader, "deviation", None);
    let min = section.float(reader, "min", Some(-limit));
    let max = section.float(reader, "max", Some(limit));
    let (mean, deviation, min, max) = (mean?, deviation?, min?, max?);
    ordered(reader, section, min < max)?;
    if deviation < 0.0 || min < -limit || max > limit || mean.abs() > limit {
        let message = format!("a number of {} is out of range", section.place);
        let hint = format!("`deviation` is at least 0, the others are within {limit:e}");
        reader.report(section.span.clone(), message, Some(hint));
        return None;
    }
    Some(Plain::Normal {
        mean,
        deviation,
        min,
        max,
    })
}

fn read_choice(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    kind: ColumnType,
) -> Option<Choices> {
    let entry = section.required(reader, "values", "[…]")?;
    let values = literals_of(reader, section, "values", entry, kind);
    let weights = match section.optional("weights") {
        None => vec![1; values.len()],
        Some(entry) => {
            let weights = section.list(reader, "weights");
            let weights: Vec<u64> = weights
                .into_iter()
                .filter_map(|w| section.number_of(reader, "weights", w, ParameterKind::Integer))
                .filter_map(|w| u64::try_from(w).ok().filter(|w| *w <= 1_000_000_000))
                .collect();
            if weights.len() != values.len() || weights.iter().sum::<u64>() == 0 {
                let message = format!("`weights` of {} do not match its values", section.place);
                let hint = "one whole number from 0 to 1,000,000,000 for each value, not all 0";
                reader.report(entry.span(), message, Some(hint.to_owned()));
                return None;
            }
            weights
        }
    };
    choices(values, &weights)
}

pub(super) fn choices(values: Vec<Literal>, weights: &[u64]) -> Option<Choices> {
    let mut sum = 0_u64;
    let cumulative = weights
        .iter()
        .map(|weight| {
            sum = sum.saturating_add(*weight);
            sum
        })
        .collect();
    (!values.is_empty()).then_some(Choices { values, cumulative })
}

/// The values of a list; an empty list is noted.
pub(super) fn literals_of(
    reader: &mut Reader<'_>,
    section: &Section<'_, '_>,
    key: &str,
    entry: Entry<'_, '_>,
    kind: ColumnType,
) -> Vec<Literal> {
    let DeValue::Array(elements) = entry.get_ref() else {
        let found = entry.get_ref().type_str();
        section.wrong_type(reader, key, entry.span(), "a list", found);
        return Vec::new();
    };
    if elements.is_empty() {
        let message = format!("`{key}` of {} is empty", section.place);
        let hint = format!("write at least one {}", name_of(kind));
        reader.report(entry.span(), message, Some(hint));
    }
    elements
        .iter()
        .filter_map(|element| literal_of(reader, section, key, element, kind))
        .collect()
}

fn literal_of(
    reader: &mut Reader<'_>,
    section: &Section<'_, '_>,
    key: &str,
    entry: Entry<'_, '_>,
    kind: ColumnType,
) -> Option<Literal> {
    let literal = match (kind, entry.get_ref()) {
        (ColumnType::Integer | ColumnType::Bigint, DeValue::Integer(number)) => integer_of(number)
            .filter(|number| integer_range(kind).contains(number))
            .map(Literal::Integer),
        (ColumnType::Float, _) => float_of(entry).map(Literal::Float),
        (ColumnType::Boolean, DeValue::Boolean(value)) => Some(Literal::Boolean(*value)),
        (ColumnType::Timestamp, DeValue::String(text)) => {
            Setting::parse(ParameterKind::Timestamp, text)
                .and_then(|setting| setting.number())
                .map(Literal::Timestamp)
        }
        (ColumnType::Text, DeValue::String(text)) => {
            Some(Literal::Text(reader.interpolate(text, &entry.span())))
        }
        _ => None,
    };
    if literal.is_none() {
        let found = format!("this {}", entry.get_ref().type_str());
        section.wrong_type(reader, key, entry.span(), name_of(kind), &found);
    }
    literal
}
