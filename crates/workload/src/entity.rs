//! Entities and their attributes: constant texts of an entity, generated from its number. Must not hold rows.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::generators::plain::{Choice, Literal, Plain, Texts, choice, literals};
use super::input::{Entry, Section, named};
use super::random::Draws;
use highwater_model::op::ColumnType;
use highwater_model::units::Seed;

named!(Entity, Attribute);

/// Entities that rows describe, numbered from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Entity {
    pub(crate) name: String,
    /// In 1..=[`MAX_ENTITIES`].
    pub(crate) count: u64,
    pub(crate) attributes: Vec<Attribute>,
    /// Name prefixes of repeated attributes, whose number may be 0.
    #[serde(skip)]
    pub(crate) repeated: Vec<String>,
}

/// Maximum number of entities of one kind; their attributes are kept in memory.
pub(crate) const MAX_ENTITIES: i64 = 1_000_000;

/// A constant text of an entity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) generator: AttributeGenerator,
}

/// How an attribute is generated from the entity's number.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AttributeGenerator {
    Plain(Plain),
    /// A choice that depends on the value of an earlier attribute.
    ChoiceBy {
        attribute: usize,
        choices: BTreeMap<String, Choice>,
    },
}

impl Entity {
    /// The positions of the copies of a repeated attribute.
    pub(crate) fn repetitions(&self, begin: &str) -> Vec<usize> {
        let numbered = |name: &str| {
            let number = name.strip_prefix(begin);
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        self.attributes
            .iter()
            .enumerate()
            .filter(|(_, attribute)| numbered(&attribute.name))
            .map(|(position, _)| position)
            .collect()
    }
}

/// Reads a choice `by` the value of an earlier attribute.
pub(crate) fn read_choice_by(
    of: &Section<'_>,
    by: Entry<'_>,
    earlier: &[Attribute],
) -> Option<AttributeGenerator> {
    let attribute = by.position("earlier attribute", earlier)?;
    let Attribute { name, generator } = earlier.get(attribute)?;
    let AttributeGenerator::Plain(Plain::Choice(other)) = generator else {
        let message = format!("attribute `{name}` is not made by a plain choice");
        return by.error(message, "it needs generator = \"choice\" without `by`");
    };
    let entry = of.required("values", "{ a = [\"a1\", \"a2\"] }")?;
    let table = entry.section(format!("`values` of {}", of.place))?;
    let known: Vec<String> = other.values.iter().map(Literal::text).collect();
    let mut choices = BTreeMap::new();
    for list in table.entries() {
        list.key_position(&format!("value of `{name}`"), &known);
        let values = literals(list, ColumnType::Text, &table.place);
        let weights = vec![1; values.len()];
        if let Some(made) = choice(values, &weights) {
            choices.insert(list.key.to_owned(), made);
        }
    }
    for value in known.iter().filter(|value| !choices.contains_key(*value)) {
        let message = format!("{} has no list for `{value}`", table.place);
        entry.error::<()>(message, format!("add {value} = [\"…\"]"));
    }
    Some(AttributeGenerator::ChoiceBy { attribute, choices })
}

/// An entity's definition and the randomness of its attributes.
#[derive(Debug)]
pub(crate) struct Attributes {
    entity: Entity,
    /// One per attribute.
    draws: Vec<Draws>,
}

impl Attributes {
    pub(crate) fn new(entity: &Entity, seed: Seed) -> Self {
        let draws = entity
            .attributes
            .iter()
            .map(|attribute| Draws::of(seed, &["entity", &entity.name, &attribute.name]))
            .collect();
        Self { entity: entity.clone(), draws }
    }

    /// Number of entities.
    pub(crate) fn count(&self) -> u64 {
        self.entity.count
    }

    /// The attribute of entity `number`; empty if there is no such attribute.
    pub(crate) fn value(&self, attribute: usize, number: u64) -> String {
        let known = self.entity.attributes.get(attribute);
        let Some((known, draws)) = known.zip(self.draws.get(attribute)) else {
            return String::new();
        };
        match &known.generator {
            AttributeGenerator::Plain(plain) => plain.text(draws, number),
            AttributeGenerator::ChoiceBy { attribute: earlier, choices } => {
                // Reading ensures that `earlier` comes before, so this terminates.
                let choice = choices.get(&self.value(*earlier, number));
                choice.map_or_else(String::new, |choice| choice.value_text(draws, number))
            }
        }
    }

    /// The distinct values of an attribute, sorted.
    pub(crate) fn distinct(&self, attribute: usize) -> Texts {
        let values: BTreeSet<String> =
            (0..self.count()).map(|number| self.value(attribute, number)).collect();
        values.into_iter().map(String::into_boxed_str).collect()
    }

    /// Per entity, a JSON object of some attributes, without insignificant spaces.
    pub(crate) fn objects(&self, attributes: &[usize]) -> Texts {
        let known = attributes.iter().filter_map(|attribute| {
            let known = self.entity.attributes.get(*attribute)?;
            Some((*attribute, quoted(&known.name)))
        });
        let keys: Vec<(usize, String)> = known.collect();
        (0..self.count()).map(|number| self.object(&keys, number).into_boxed_str()).collect()
    }

    /// A JSON object of these attributes with their quoted names.
    fn object(&self, keys: &[(usize, String)], number: u64) -> String {
        let mut object = String::from("{");
        for (attribute, name) in keys {
            if object.len() > 1 {
                object.push(',');
            }
            object.push_str(name);
            object.push(':');
            object.push_str(&quoted(&self.value(*attribute, number)));
        }
        object.push('}');
        object
    }
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    // Serializing a string to memory cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}
