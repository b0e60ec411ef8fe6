//! Entities and their attributes.

use crate::entity::{Attribute, AttributeGenerator, Entity, MAX_ENTITIES, read_choice_by};
use crate::generators::plain::{PLAIN, Plain};
use crate::generators::spec::read_generator;
use crate::input::Section;
use highwater_model::op::ColumnType;

/// Maximum number of copies of a repeated attribute.
const MAX_REPEAT: i64 = 1_000;

/// Reads `[entities]`.
pub(super) fn read_entities(root: &Section<'_>) -> Vec<Entity> {
    root.each("entities", "entity", |entry| {
        let mut entity = Entity {
            name: entry.key.to_owned(),
            count: 1,
            attributes: Vec::new(),
            repeated: Vec::new(),
        };
        if let Some(section) = entry.section(format!("entity `{}`", entry.key)) {
            read_entity(&section, &mut entity);
        }
        Some(entity)
    })
}

fn read_entity(of: &Section<'_>, entity: &mut Entity) {
    entity.count = of.integer("count", 1..=MAX_ENTITIES, None).unsigned_abs();
    for element in of.list("attributes") {
        let Some(mut part) = element.section(format!("an attribute of {}", of.place)) else {
            continue;
        };
        let name = part.named("attribute", &entity.attributes, &of.place);
        let repeat = part.optional("repeat").is_some();
        let times = part.integer("repeat", 0..=MAX_REPEAT, Some(1));
        let generator = read_generator_of(&part, &entity.attributes);
        let generator = generator.unwrap_or(AttributeGenerator::Plain(Plain::nothing()));
        let attribute = Attribute { name, generator };
        if repeat {
            entity.attributes.extend((0..times).map(|n| Attribute {
                name: format!("{}{n}", attribute.name),
                ..attribute.clone()
            }));
            entity.repeated.push(attribute.name);
        } else {
            entity.attributes.push(attribute);
        }
    }
    of.finish();
}

/// Reads an attribute's generator; `earlier` are the attributes that it may depend on.
fn read_generator_of(of: &Section<'_>, earlier: &[Attribute]) -> Option<AttributeGenerator> {
    let name = read_generator(of, ColumnType::Text, &[PLAIN])?;
    let by = if name == "choice" { of.optional("by") } else { None };
    let generator = match by {
        Some(by) => read_choice_by(of, by, earlier),
        None => Plain::read(of, name, ColumnType::Text).map(AttributeGenerator::Plain),
    };
    of.finish();
    generator
}
