//! The attributes of entities: texts that an entity keeps for life, made from its number.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::definition::{AttributeGenerator, Entity, Literal, Plain};
use super::random::Draws;
use super::words;
use crate::model::units::Seed;

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

impl Literal {
    /// The value as text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Integer(number) | Self::Timestamp(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Boolean(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl Plain {
    /// The n-th text.
    pub(super) fn text(&self, draws: &Draws, n: u64) -> String {
        match self {
            Self::Sequence { prefix, .. }
            | Self::Uniform { prefix, .. }
            | Self::Skewed { prefix, .. } => {
                format!("{prefix}{}", self.integer(draws, n))
            }
            Self::Keys(shape) => shape.key(draws, n).to_string(),
            Self::Text(shape) => shape.text(draws, n),
            Self::Dictionary { words, sampler } => words.word(draws, sampler.pick(draws, n)),
            Self::Uuid => words::uuid(draws, n),
            Self::Constant(value) => value.text(),
            Self::Choice(choices) => choices
                .values
                .get(choices.pick(draws, n))
                .map_or_else(String::new, Literal::text),
            Self::UniformFloat { .. } | Self::Normal { .. } => self.float(draws, n).to_string(),
        }
    }

    /// The n-th integer (or timestamp); floating-point numbers are rounded down.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "ends are checked when they are read"
    )]
    pub(super) fn integer(&self, draws: &Draws, n: u64) -> i64 {
        match self {
            Self::Constant(value) => value.integer(),
            Self::Sequence {
                start,
                step,
                modulo: 0,
                ..
            } => {
                let n = i64::try_from(n).unwrap_or(i64::MAX);
                start.saturating_add(step.saturating_mul(n))
            }
            Self::Sequence {
                start,
                step,
                modulo,
                ..
            } => {
                let round = i128::from(*step) * i128::from(n);
                let round = round.rem_euclid(i128::from(*modulo));
                start.saturating_add(i64::try_from(round).unwrap_or(i64::MAX))
            }
            Self::Skewed { min, sampler, .. } => {
                min.saturating_add_unsigned(sampler.pick(draws, n))
            }
            Self::Uniform { min, max, .. } => {
                let values = (i128::from(*max) - i128::from(*min)).unsigned_abs() + 1;
                let values = u64::try_from(values).unwrap_or(u64::MAX);
                min.wrapping_add_unsigned(draws.below(n, values))
            }
            Self::Choice(choices) => choices
                .values
                .get(choices.pick(draws, n))
                .map_or(0, Literal::integer),
            Self::Keys(shape) => shape.key(draws, n),
            Self::UniformFloat { .. } | Self::Normal { .. } => self.float(draws, n).floor() as i64,
            Self::Text(_) | Self::Dictionary { .. } | Self::Uuid => 0,
        }
    }

    /// The n-th floating-point number; 0 where the generator makes none.
    pub(super) fn float(&self, draws: &Draws, n: u64) -> f64 {
        match self {
            Self::UniformFloat { min, max } => {
                // Rounding could reach the excluded upper end.
                (min + draws.unit(n) * (max - min)).min(max.next_down())
            }
            Self::Normal {
                mean,
                deviation,
                min,
                max,
            } => (mean + deviation * draws.normal(n)).clamp(*min, *max),
            Self::Constant(Literal::Float(number)) => *number,
            Self::Choice(choices) => match choices.values.get(choices.pick(draws, n)) {
                Some(Literal::Float(number)) => *number,
                _ => 0.0,
            },
            _ => 0.0,
        }
    }

    /// The n-th boolean; false where the generator makes none.
    pub(super) fn boolean(&self, draws: &Draws, n: u64) -> bool {
        match self {
            Self::Constant(Literal::Boolean(value)) => *value,
            Self::Choice(choices) => matches!(
                choices.values.get(choices.pick(draws, n)),
                Some(Literal::Boolean(true))
            ),
            _ => false,
        }
    }
}

impl Literal {
    fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) | Self::Timestamp(number) => *number,
            Self::Float(_) | Self::Boolean(_) | Self::Text(_) => 0,
        }
    }
}
