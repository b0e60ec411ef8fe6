//! Generators of attributes, columns and query parameters: which there are, where they may
//! stand, what types they make, and their options.

use std::collections::BTreeMap;

use super::super::definition::{
    Attribute, AttributeGenerator, ColumnGenerator, Entity, Literal, ParameterGenerator, Plain,
    Table, Timeline,
};
use super::super::section::{Entry, Reader, Section};
use super::super::walk::WalkShape;
use super::plain::{choices, float_ends, literals_of, read_plain};
use super::position_of;
use crate::mistake::suggest;
use crate::model::op::ColumnType;

/// Names of the types, in the order of [`TYPES`].
const TYPE_NAMES: [&str; 7] = [
    "integer",
    "bigint",
    "float",
    "boolean",
    "timestamp",
    "text",
    "object",
];

const TYPES: [ColumnType; 7] = [
    ColumnType::Integer,
    ColumnType::Bigint,
    ColumnType::Float,
    ColumnType::Boolean,
    ColumnType::Timestamp,
    ColumnType::Text,
    ColumnType::Object,
];

/// A generator's name and the types that it makes. New generators are added here, in one of
/// the lists below and in the match that reads them.
type Kind = (&'static str, &'static [ColumnType]);

const NUMBERS: &[ColumnType] = &[ColumnType::Integer, ColumnType::Bigint, ColumnType::Float];

/// Generators that need only a number: allowed for attributes, columns and parameters.
const PLAIN: [Kind; 5] = [
    (
        "constant",
        &[
            ColumnType::Integer,
            ColumnType::Bigint,
            ColumnType::Float,
            ColumnType::Boolean,
            ColumnType::Timestamp,
            ColumnType::Text,
        ],
    ),
    (
        "sequence",
        &[ColumnType::Integer, ColumnType::Bigint, ColumnType::Text],
    ),
    (
        "uniform",
        &[
            ColumnType::Integer,
            ColumnType::Bigint,
            ColumnType::Float,
            ColumnType::Text,
        ],
    ),
    ("normal", NUMBERS),
    (
        "choice",
        &[
            ColumnType::Integer,
            ColumnType::Bigint,
            ColumnType::Float,
            ColumnType::Boolean,
            ColumnType::Timestamp,
            ColumnType::Text,
        ],
    ),
];

/// Generators of columns only.
const OF_COLUMNS: [Kind; 4] = [
    ("timeline", &[ColumnType::Timestamp]),
    ("walk", NUMBERS),
    ("attribute", &[ColumnType::Text]),
    ("object", &[ColumnType::Object]),
];

/// Generators of query parameters only.
const OF_PARAMETERS: [Kind; 3] = [
    ("entity", &[ColumnType::Text]),
    ("distinct", &[ColumnType::Text]),
    ("data-time", &[ColumnType::Timestamp]),
];

/// The `type` of a column or a parameter.
pub(super) fn read_type(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
) -> Option<ColumnType> {
    let entry = section.required(reader, "type", "\"integer\"")?;
    let word = section.text_of(reader, "type", entry)?;
    let found = TYPE_NAMES.iter().position(|name| *name == word);
    if found.is_none() {
        let hint = suggest(&word, TYPE_NAMES);
        reader.report(entry.span(), format!("unknown type `{word}`"), hint);
    }
    TYPES.get(found?).copied()
}

/// The `generator`, one of `kinds` and able to make `kind`.
fn read_kind(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    kind: ColumnType,
    kinds: &[&[Kind]],
) -> Option<&'static str> {
    let entry = section.required(reader, "generator", "\"uniform\"")?;
    let word = section.text_of(reader, "generator", entry)?;
    let known: Vec<Kind> = kinds.iter().copied().flatten().copied().collect();
    let Some((name, made)) = known.iter().find(|(name, _)| *name == word) else {
        let hint = suggest(&word, known.iter().map(|(name, _)| *name));
        let message = format!("unknown generator `{word}` for {}", section.place);
        reader.report(entry.span(), message, hint);
        return None;
    };
    if !made.contains(&kind) {
        let names: Vec<&str> = made.iter().map(|kind| name_of(*kind)).collect();
        let message = format!("generator `{name}` does not make type `{}`", name_of(kind));
        let hint = Some(format!("it makes {}", names.join(", ")));
        reader.report(entry.span(), message, hint);
        return None;
    }
    Some(name)
}

pub(super) fn name_of(kind: ColumnType) -> &'static str {
    let position = TYPES.iter().position(|known| *known == kind);
    position
        .and_then(|position| TYPE_NAMES.get(position))
        .copied()
        .unwrap_or("integer")
}

/// Reads an attribute's generator; `earlier` are the attributes that it may depend on.
pub(super) fn read_attribute(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    earlier: &[Attribute],
) -> Option<AttributeGenerator> {
    let name = read_kind(reader, &mut section, ColumnType::Text, &[&PLAIN])?;
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
) -> Option<ColumnGenerator> {
    let name = read_kind(reader, &mut section, kind, &[&PLAIN, &OF_COLUMNS])?;
    let generator = match name {
        "timeline" => {
            let start = section.timestamp(reader, "start");
            let interval = positive_interval(reader, &mut section);
            start
                .zip(interval)
                .map(|(start, interval)| Timeline { start, interval })
                .map(ColumnGenerator::Timeline)
        }
        "walk" => read_walk(reader, &mut section, kind).map(ColumnGenerator::Walk),
        "attribute" => {
            let entry = section.required(reader, "attribute", "\"…\"");
            entry
                .and_then(|entry| attribute_position(reader, &section, entry, entity))
                .map(ColumnGenerator::Attribute)
        }
        "object" => read_object(reader, &mut section, entity).map(ColumnGenerator::Object),
        plain => read_plain(reader, &mut section, plain, kind).map(ColumnGenerator::Plain),
    };
    section.finish(reader);
    generator
}

/// Reads a query parameter's generator.
pub(super) fn read_parameter(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    kind: ColumnType,
    (entities, tables): (&[Entity], &[Table]),
) -> Option<ParameterGenerator> {
    let name = read_kind(reader, &mut section, kind, &[&PLAIN, &OF_PARAMETERS])?;
    let generator = match name {
        "entity" => read_entity_pick(reader, &mut section, entities),
        "distinct" => read_entity_attribute(reader, &mut section, entities)
            .map(|(entity, attribute)| ParameterGenerator::Distinct { entity, attribute }),
        "data-time" => read_data_time(reader, &mut section, tables),
        plain => read_plain(reader, &mut section, plain, kind).map(ParameterGenerator::Plain),
    };
    section.finish(reader);
    generator
}

fn positive_interval(reader: &mut Reader<'_>, section: &mut Section<'_, '_>) -> Option<i64> {
    let interval = section.duration(reader, "interval", None)?;
    if interval >= 1 {
        return Some(interval);
    }
    let span = section
        .optional("interval")
        .map_or(0..0, toml::Spanned::span);
    let message = format!(
        "`interval` of {} must be longer than nothing",
        section.place
    );
    reader.report(span, message, Some("write \"10s\"".to_owned()));
    None
}

fn read_choice_by(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    by: Entry<'_, '_>,
    earlier: &[Attribute],
) -> Option<AttributeGenerator> {
    let name = section.text_of(reader, "by", by)?;
    let names = earlier.iter().map(|attribute| attribute.name.as_str());
    let attribute = position_of(reader, names, "earlier attribute", (&name, by.span()))?;
    let Some(AttributeGenerator::Plain(Plain::Choice(of))) =
        earlier.get(attribute).map(|attribute| &attribute.generator)
    else {
        let message = format!("attribute `{name}` is not made by a plain choice");
        reader.report(by.span(), message, None);
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
            (key, span),
        );
        let values = literals_of(reader, &table, (key, entry), ColumnType::Text);
        let weights = vec![1; values.len()];
        if let Some(choices) = choices(values, &weights) {
            found.insert(key.to_owned(), choices);
        }
    }
    for value in known.iter().filter(|value| !found.contains_key(**value)) {
        let message = format!("{} has no list for `{value}`", table.place);
        reader.report(entry.span(), message, None);
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
fn attribute_position(
    reader: &mut Reader<'_>,
    section: &Section<'_, '_>,
    entry: Entry<'_, '_>,
    entity: Option<&Entity>,
) -> Option<usize> {
    let name = section.text_of(reader, "attribute", entry)?;
    let Some(entity) = entity else {
        let message = format!("{} needs the table to have an `entity`", section.place);
        reader.report(entry.span(), message, None);
        return None;
    };
    let names = entity
        .attributes
        .iter()
        .map(|attribute| attribute.name.as_str());
    position_of(reader, names, "attribute", (&name, entry.span()))
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
        reader.report(entry.span(), message, None);
    }
    elements
        .into_iter()
        .map(|element| attribute_position(reader, section, element, entity))
        .collect()
}

/// The `entity` and one `attribute` of it.
fn read_entity_attribute(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    entities: &[Entity],
) -> Option<(usize, usize)> {
    let entity_entry = section.required(reader, "entity", "\"…\"");
    let attribute_entry = section.required(reader, "attribute", "\"…\"");
    let entry = entity_entry?;
    let name = section.text_of(reader, "entity", entry)?;
    let names = entities.iter().map(|entity| entity.name.as_str());
    let entity = position_of(reader, names, "entity", (&name, entry.span()))?;
    let attribute = attribute_position(reader, section, attribute_entry?, entities.get(entity))?;
    Some((entity, attribute))
}

fn read_entity_pick(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    entities: &[Entity],
) -> Option<ParameterGenerator> {
    let place = read_entity_attribute(reader, section, entities);
    let from = section.float(reader, "from", Some(0.0));
    let to = section.float(reader, "to", Some(1.0));
    let ((entity, attribute), from, to) = (place?, from?, to?);
    if !(0.0 <= from && from <= to && to <= 1.0) {
        let message = format!("`from` and `to` of {} are not shares", section.place);
        let hint = "0 ≤ from ≤ to ≤ 1, such as from = 0.25, to = 0.75";
        reader.report(section.span.clone(), message, Some(hint.to_owned()));
        return None;
    }
    let count = entities.get(entity)?.count;
    Some(ParameterGenerator::Entity {
        entity,
        attribute,
        first: share_of(count, from),
        last: share_of(count, to),
    })
}

/// The number of the entity at a share of all, at most the last one.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most a million entities, shares in [0, 1]"
)]
fn share_of(count: u64, share: f64) -> u64 {
    ((count as f64 * share) as u64).min(count.saturating_sub(1))
}

fn read_data_time(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    tables: &[Table],
) -> Option<ParameterGenerator> {
    let entry = section.required(reader, "table", "\"…\"");
    let offset = section.duration(reader, "offset", Some(0));
    let entry = entry?;
    let name = section.text_of(reader, "table", entry)?;
    let names = tables.iter().map(|table| table.name.as_str());
    let table = position_of(reader, names, "table", (&name, entry.span()))?;
    let timeline = tables
        .get(table)?
        .columns
        .iter()
        .find_map(|column| match column.generator {
            ColumnGenerator::Timeline(timeline) => Some(timeline),
            _ => None,
        });
    if timeline.is_none() {
        let message = format!("table `{name}` has no column made by `timeline`");
        reader.report(entry.span(), message, None);
    }
    Some(ParameterGenerator::DataTime {
        table,
        timeline: timeline?,
        offset: offset?,
    })
}
