//! The attributes of entities: texts that an entity keeps for life, made from its number.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::definition::{AttributeGenerator, Entity};
use super::plain::Literal;
use super::random::Draws;
use highwater_model::units::Seed;

/// An entity's definition and the randomness of its attributes.
#[derive(Debug)]
pub(super) struct Attributes {
    entity: Entity,
    /// As many as attributes.
    draws: Vec<Draws>,
}

impl Attributes {
    pub(super) fn new(entity: &Entity, seed: Seed) -> Self {
        let draws = entity
            .attributes
            .iter()
            .map(|attribute| Draws::of(seed, &["entity", &entity.name, &attribute.name]))
            .collect();
        Self {
            entity: entity.clone(),
            draws,
        }
    }

    /// Number of entities.
    pub(super) fn count(&self) -> u64 {
        self.entity.count
    }

    /// The attribute of entity `number`; empty if there is no such attribute.
    pub(super) fn value(&self, attribute: usize, number: u64) -> String {
        let known = self.entity.attributes.get(attribute);
        let Some((known, draws)) = known.zip(self.draws.get(attribute)) else {
            return String::new();
        };
        match &known.generator {
            AttributeGenerator::Plain(plain) => plain.text(draws, number),
            AttributeGenerator::ChoiceBy {
                attribute: earlier,
                choices,
            } => choices
                // Reading made sure that `earlier` comes before: this ends.
                .get(&self.value(*earlier, number))
                .and_then(|choices| choices.values.get(choices.pick(draws, number)))
                .map_or_else(String::new, Literal::text),
        }
    }

    /// The different values of an attribute, sorted.
    pub(super) fn distinct(&self, attribute: usize) -> Arc<[Box<str>]> {
        let values: BTreeSet<String> = (0..self.count())
            .map(|number| self.value(attribute, number))
            .collect();
        values.into_iter().map(String::into_boxed_str).collect()
    }

    /// Per entity, a JSON object of some attributes, without insignificant spaces.
    pub(super) fn objects(&self, attributes: &[usize]) -> Arc<[Box<str>]> {
        (0..self.count())
            .map(|number| self.object(attributes, number).into_boxed_str())
            .collect()
    }

    fn object(&self, attributes: &[usize], number: u64) -> String {
        let mut text = String::from("{");
        for attribute in attributes {
            let Some(known) = self.entity.attributes.get(*attribute) else {
                continue;
            };
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&quoted(&known.name));
            text.push(':');
            text.push_str(&quoted(&self.value(*attribute, number)));
        }
        text.push('}');
        text
    }
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
