//! Entities and their attributes.

use super::generator;
use super::names::{check_name, limited, named_element};
use super::section::{Reader, Section};
use crate::definition::{Attribute, AttributeGenerator, Entity, MAX_ENTITIES};
use crate::plain::{Literal, Plain};

/// Attributes that a repeated one becomes, at most.
const MAX_REPEAT: i64 = 1_000;

/// Reads `[entities]`.
pub(super) fn read_entities(reader: &mut Reader<'_>, root: &mut Section<'_, '_>) -> Vec<Entity> {
    let Some(all) = root.section(reader, "entities", "the entities".to_owned()) else {
        return Vec::new();
    };
    limited(reader, &all, "entities")
        .into_iter()
        .map(|(name, span, entry)| {
            check_name(reader, "entity", name, span);
            let mut entity = Entity {
                name: name.to_owned(),
                count: 1,
                attributes: Vec::new(),
                repeated: Vec::new(),
            };
            let place = format!("entity `{name}`");
            if let Some(section) = all.as_section(reader, name, entry, place) {
                read_entity(reader, section, &mut entity);
            }
            entity
        })
        .collect()
}

fn read_entity(reader: &mut Reader<'_>, mut section: Section<'_, '_>, entity: &mut Entity) {
    let count = section.integer(reader, "count", 1..=MAX_ENTITIES, None);
    entity.count = count.and_then(|c| u64::try_from(c).ok()).unwrap_or(1);
    for element in section.list(reader, "attributes") {
        let place = format!("an attribute of entity `{}`", entity.name);
        let Some(mut part) = section.as_section(reader, "attributes", element, place) else {
            continue;
        };
        let names: Vec<&str> = entity.attributes.iter().map(|a| a.name.as_str()).collect();
        let name = named_element(reader, &mut part, "attribute", &names);
        if !name.is_empty() {
            part.place = format!("attribute `{name}` of entity `{}`", entity.name);
        }
        let repeat = part.optional("repeat").is_some();
        let times = part.integer(reader, "repeat", 0..=MAX_REPEAT, Some(1));
        let generator = generator::read_attribute(reader, part, &entity.attributes);
        let placeholder = AttributeGenerator::Plain(Plain::Constant(Literal::Text(String::new())));
        let attribute = Attribute {
            name,
            generator: generator.unwrap_or(placeholder),
        };
        if repeat {
            entity
                .attributes
                .extend((0..times.unwrap_or(0)).map(|n| Attribute {
                    name: format!("{}{n}", attribute.name),
                    generator: attribute.generator.clone(),
                }));
            entity.repeated.push(attribute.name);
        } else {
            entity.attributes.push(attribute);
        }
    }
    section.finish(reader);
}

impl Entity {
    /// The positions of the attributes that a repeated one became.
    pub(super) fn repetitions(&self, begin: &str) -> Vec<usize> {
        let numbered = |name: &str| {
            let number = name.strip_prefix(begin);
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let attributes = self.attributes.iter().enumerate();
        attributes
            .filter(|(_, attribute)| numbered(&attribute.name))
            .map(|(position, _)| position)
            .collect()
    }
}
