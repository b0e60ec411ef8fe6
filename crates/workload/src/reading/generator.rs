//! Generators of attributes and columns: from a section with a `type` and a `generator` to what
//! makes the values.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::kinds::{OF_COLUMNS, PLAIN};
use super::names::position_of;
use super::parts::{float_ends, positive, read_kind};
use super::plain::{choices, literals_of, read_plain};
use super::section::{Entry, Reader, Section};
use super::{field, reference};
use crate::definition::{Attribute, AttributeGenerator, ColumnGenerator, Entity, Table};
use crate::parameter::ParameterKind;
use crate::plain::{Literal, Plain};
use crate::timeline::Timeline;
use crate::walk::WalkShape;
use highwater_model::op::ColumnType;

/// Reads an attribute's generator; `earlier` are the attributes that it may depend on.
pub(super) fn read_attribute(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    earlier: &[Attribute],
) -> Option<AttributeGenerator> {
    let name = read_kind(reader, &mut section, ColumnType::Text, &[PLAIN])?;
    let by = (name == "choice").then(|| section.optional("by")).flatten();
    let generator = match by {
        Some(by) => read_choice_by(reader, &mut section, by, earlier),
        None => {
            read_plain(reader, &mut section, name, ColumnType::Text).map(AttributeGenerator::Plain)
        }
    };
    section.finish(reader);
    generator
}

/// Reads a column's generator; `entity` is what the table's rows are about.
pub(super) fn read_column(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    kind: ColumnType,
    entity: Option<&Entity>,
    tables: &[&Table],
) -> Option<ColumnGenerator> {
    let name = read_kind(reader, &mut section, kind, &[PLAIN, OF_COLUMNS])?;
    let generator = match name {
        "timeline" => {
            let start = section.timestamp(reader, "start");
            let interval = positive(reader, &mut section, "interval", None);
            let jitter = read_jitter(reader, &mut section);
            start.zip(interval).map(|(start, interval)| {
                ColumnGenerator::Timeline(Timeline {
                    start,
                    interval,
                    jitter,
                })
            })
        }
        "walk" => read_walk(reader, &mut section, kind).map(ColumnGenerator::Walk),
        "attribute" => {
            let entry = section.required(reader, "attribute", "\"…\"");
            entry
                .and_then(|entry| attribute_position(reader, &section, entry, entity))
                .map(ColumnGenerator::Attribute)
        }
        "object" => match section.optional("fields") {
            Some(_) => field::read_fields(reader, &mut section, 0).map(ColumnGenerator::Fields),
            None => read_object(reader, &mut section, entity).map(ColumnGenerator::Object),
        },
        "reference" => {
            reference::read(reader, &mut section, kind, tables).map(ColumnGenerator::Reference)
        }
        plain => read_plain(reader, &mut section, plain, kind).map(ColumnGenerator::Plain),
    };
    section.finish(reader);
    generator
}

fn read_choice_by(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    by: Entry<'_, '_>,
    earlier: &[Attribute],
) -> Option<AttributeGenerator> {
    let name = section.text_of(reader, "by", by)?;
    let names = earlier.iter().map(|attribute| attribute.name.as_str());
    let attribute = position_of(reader, names, "earlier attribute", &name, by.span())?;
    let Some(AttributeGenerator::Plain(Plain::Choice(of))) =
        earlier.get(attribute).map(|attribute| &attribute.generator)
    else {
        let message = format!("attribute `{name}` is not made by a plain choice");
        let hint = "it needs generator = \"choice\" without `by`".to_owned();
        reader.report(by.span(), message, Some(hint));
        return None;
    };
    let entry = section.required(reader, "values", "{ a = [\"a1\", \"a2\"] }")?;
    let place = format!("`values` of {}", section.place);
    let table = section.as_section(reader, "values", entry, place)?;
    let known: Vec<&str> = of
        .values
        .iter()
        .filter_map(|value| match value {
            Literal::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let mut found = BTreeMap::new();
    for (key, span, entry) in table.entries() {
        position_of(
            reader,
            known.iter().copied(),
            &format!("value of `{name}`"),
            key,
            span,
        );
        let values = literals_of(reader, &table, key, entry, ColumnType::Text);
        let weights = vec![1; values.len()];
        if let Some(choices) = choices(values, &weights) {
            found.insert(key.to_owned(), choices);
        }
    }
    for value in known.iter().filter(|value| !found.contains_key(**value)) {
        let message = format!("{} has no list for `{value}`", table.place);
        let hint = format!("add {value} = [\"…\"]");
        reader.report(entry.span(), message, Some(hint));
    }
    Some(AttributeGenerator::ChoiceBy {
        attribute,
        choices: found,
    })
}

fn read_walk(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    kind: ColumnType,
) -> Option<WalkShape> {
    let ends = float_ends(reader, section);
    let epoch = section.integer(reader, "epoch", 2..=1_000_000, Some(256));
    let noise = section.float(reader, "noise", Some(0.7));
    let (min, max) = ends?;
    let noise = noise?;
    let whole =
        kind == ColumnType::Float || (min.fract() == 0.0 && min.abs() <= 2e9 && max.abs() <= 2e9);
    if !whole || noise < 0.0 || noise > max - min {
        let message = format!("the numbers of {} do not make a walk", section.place);
        let hint = "`noise` is from 0 to max − min; integers need a whole `min`, within 2e9";
        reader.report(section.span.clone(), message, Some(hint.to_owned()));
        return None;
    }
    Some(WalkShape {
        min,
        max,
        epoch: u64::try_from(epoch?).ok()?,
        noise,
    })
}

/// The position of an attribute of the table's entity.
pub(super) fn attribute_position(
    reader: &mut Reader<'_>,
    section: &Section<'_, '_>,
    entry: Entry<'_, '_>,
    entity: Option<&Entity>,
) -> Option<usize> {
    let name = section.text_of(reader, "attribute", entry)?;
    let Some(entity) = entity else {
        let message = format!("{} needs the table to have an `entity`", section.place);
        let hint = "add entity = \"…\" to the table".to_owned();
        reader.report(entry.span(), message, Some(hint));
        return None;
    };
    let names = entity
        .attributes
        .iter()
        .map(|attribute| attribute.name.as_str());
    position_of(reader, names, "attribute", &name, entry.span())
}

fn read_object(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    entity: Option<&Entity>,
) -> Option<Vec<usize>> {
    let entry = section.required(reader, "attributes", "[\"…\"]")?;
    let elements = section.list(reader, "attributes");
    if elements.is_empty() {
        let message = format!("`attributes` of {} names none", section.place);
        let hint = "attributes = [\"…\"], or `fields` for values of each row".to_owned();
        reader.report(entry.span(), message, Some(hint));
    }
    let found: Option<Vec<Vec<usize>>> = elements
        .into_iter()
        .map(|element| attribute_positions(reader, section, element, entity))
        .collect();
    Some(found?.concat())
}

/// The positions of an attribute, or of all that a repeated one became: `name*`.
fn attribute_positions(
    reader: &mut Reader<'_>,
    section: &Section<'_, '_>,
    entry: Entry<'_, '_>,
    entity: Option<&Entity>,
) -> Option<Vec<usize>> {
    let repeated = entity.and_then(|entity| {
        let DeValue::String(text) = entry.get_ref() else {
            return None;
        };
        let begin = text.strip_suffix('*')?;
        let known = entity.repeated.iter().any(|name| name == begin);
        known.then(|| entity.repetitions(begin))
    });
    match repeated {
        Some(positions) => Some(positions),
        None => attribute_position(reader, section, entry, entity).map(|position| vec![position]),
    }
}

/// `jitter = ["-5ms", "14ms"]`: how far a row may be from its tick.
fn read_jitter(reader: &mut Reader<'_>, section: &mut Section<'_, '_>) -> Option<(i64, i64)> {
    let entry = section.optional("jitter")?;
    let ends: Vec<i64> = section
        .list(reader, "jitter")
        .into_iter()
        .filter_map(|end| section.number_of(reader, "jitter", end, ParameterKind::Duration))
        .collect();
    if let [before, after] = ends.as_slice()
        && before <= after
    {
        return Some((*before, *after));
    }
    let message = format!(
        "`jitter` of {} is not two durations in order",
        section.place
    );
    reader.report(
        entry.span(),
        message,
        Some("write jitter = [\"-5ms\", \"14ms\"]".to_owned()),
    );
    None
}
