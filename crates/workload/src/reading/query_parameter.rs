//! Generators of query parameters.

use super::generator::attribute_position;
use super::kinds::{OF_PARAMETERS, PLAIN};
use super::names::position_of;
use super::parts::{positive, read_kind};
use super::plain::read_plain;
use super::reference;
use super::section::{Reader, Section};
use crate::definition::{
    ColumnGenerator, Entity, MAX_COUNT, ParameterGenerator, QueryParameter, Table,
};
use crate::timeline::Timeline;
use highwater_model::op::ColumnType;

/// Reads a query parameter's generator.
pub(super) fn read_parameter(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    kind: ColumnType,
    entities: &[Entity],
    tables: &[Table],
    earlier: &[QueryParameter],
) -> Option<(ParameterGenerator, u64)> {
    let name = read_kind(reader, &mut section, kind, &[PLAIN, OF_PARAMETERS])?;
    let count = section.integer(reader, "count", 1..=MAX_COUNT, Some(1));
    let count = count.map_or(1, i64::unsigned_abs);
    let generator = match name {
        "entity" => read_entity_pick(reader, &mut section, entities, count),
        "distinct" => read_entity_attribute(reader, &mut section, entities)
            .map(|(entity, attribute)| ParameterGenerator::Distinct { entity, attribute }),
        "data-time" => read_data_time(reader, &mut section, tables),
        "window" => read_window(reader, &mut section, tables),
        "plus" => read_plus(reader, &mut section, earlier),
        "written" => read_written(reader, &mut section, kind, tables),
        "reference" => {
            let tables: Vec<&Table> = tables.iter().collect();
            reference::read(reader, &mut section, kind, &tables).map(ParameterGenerator::Reference)
        }
        plain => read_plain(reader, &mut section, plain, kind).map(ParameterGenerator::Plain),
    };
    section.finish(reader);
    generator.map(|generator| (generator, count))
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
    let entity = position_of(reader, names, "entity", &name, entry.span())?;
    let attribute = attribute_position(reader, section, attribute_entry?, entities.get(entity))?;
    Some((entity, attribute))
}

fn read_entity_pick(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    entities: &[Entity],
    requested: u64,
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
    let (first, last) = (share_of(count, from), share_of(count, to));
    if last - first + 1 < requested {
        let there = last - first + 1;
        let message = format!("{} wants {requested} of {there} entities", section.place);
        let hint = "a smaller `count`, or more entities".to_owned();
        reader.report(section.span.clone(), message, Some(hint));
        return None;
    }
    Some(ParameterGenerator::Entity {
        entity,
        attribute,
        first,
        last,
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
    let found = read_timeline(reader, section, tables);
    let offset = section.duration(reader, "offset", Some(0));
    let (table, timeline) = found?;
    Some(ParameterGenerator::DataTime {
        table,
        timeline,
        offset: offset?,
    })
}

fn read_window(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    tables: &[Table],
) -> Option<ParameterGenerator> {
    let found = read_timeline(reader, section, tables);
    let length = positive(reader, section, "length", None);
    let step = positive(reader, section, "step", Some(1));
    let offset = section.duration(reader, "offset", Some(0));
    let (table, timeline) = found?;
    Some(ParameterGenerator::Window {
        table,
        timeline,
        length: length?,
        step: step?,
        offset: offset?,
    })
}

fn read_plus(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    earlier: &[QueryParameter],
) -> Option<ParameterGenerator> {
    let entry = section.required(reader, "parameter", "\"…\"");
    let add = section.duration(reader, "add", None);
    let entry = entry?;
    let name = section.text_of(reader, "parameter", entry)?;
    let names = earlier.iter().map(|parameter| parameter.name.as_str());
    let parameter = position_of(reader, names, "earlier parameter", &name, entry.span())?;
    if earlier.get(parameter)?.kind != ColumnType::Timestamp {
        let message = format!("parameter `{name}` is not of type `timestamp`");
        let hint = "a duration is added to points in time".to_owned();
        reader.report(entry.span(), message, Some(hint));
        return None;
    }
    Some(ParameterGenerator::Plus {
        parameter,
        add: add?,
    })
}

/// A `column` of a `table`, of the parameter's type.
fn read_written(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    kind: ColumnType,
    tables: &[Table],
) -> Option<ParameterGenerator> {
    let tables: Vec<&Table> = tables.iter().collect();
    let found = reference::read_place(reader, section, kind, &tables)?;
    let (table, Some(column), _) = found else {
        let message = format!("{} names no column", section.place);
        let hint = "add column = \"…\"".to_owned();
        reader.report(section.span.clone(), message, Some(hint));
        return None;
    };
    Some(ParameterGenerator::Written { table, column })
}

/// The `table`, and the time line of its rows.
fn read_timeline(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    tables: &[Table],
) -> Option<(usize, Timeline)> {
    let entry = section.required(reader, "table", "\"…\"")?;
    let name = section.text_of(reader, "table", entry)?;
    let names = tables.iter().map(|table| table.name.as_str());
    let table = position_of(reader, names, "table", &name, entry.span())?;
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
        let hint = "give it a timestamp column with generator = \"timeline\"".to_owned();
        reader.report(entry.span(), message, Some(hint));
    }
    Some((table, timeline?))
}
