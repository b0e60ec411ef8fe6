//! Generators that need only a number: the number of an entity, the index of a row or of an op.
//!
//! What must not be here: how a file's options become one of them; that is in `reading`.

use serde::Serialize;

use super::distribution::Sampler;
use super::keys::KeyShape;
use super::random::Draws;
use super::words::{self, TextShape, WordShape};

/// Generators that need nothing but a number: of an entity, a row or an op.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Plain {
    Constant(Literal),
    Sequence {
        start: i64,
        step: i64,
        /// start + (step · number mod modulo); 0 for no end.
        #[serde(skip_serializing_if = "is_zero")]
        modulo: u64,
        prefix: String,
    },
    /// Both ends included.
    Uniform {
        min: i64,
        max: i64,
        prefix: String,
    },
    /// The upper end excluded.
    UniformFloat {
        min: f64,
        max: f64,
    },
    /// Clamped; rounded down for integers.
    Normal {
        mean: f64,
        deviation: f64,
        min: f64,
        max: f64,
    },
    Choice(Choices),
    /// `min` and an item.
    Skewed {
        min: i64,
        prefix: String,
        #[serde(serialize_with = "described")]
        sampler: Sampler,
    },
    Text(TextShape),
    Keys(KeyShape),
    Dictionary {
        words: WordShape,
        #[serde(serialize_with = "described")]
        sampler: Sampler,
    },
    Uuid,
}

/// A sampler is what its distribution and the number of items say.
fn described<S: serde::Serializer>(sampler: &Sampler, to: S) -> Result<S::Ok, S::Error> {
    sampler.described().serialize(to)
}

/// Values to choose from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Choices {
    /// At least one.
    pub(super) values: Vec<Literal>,
    /// Per value the sum of its weight and all before it; the last one is positive.
    pub(super) cumulative: Vec<u64>,
}

impl Choices {
    /// The position of the n-th choice.
    pub(super) fn pick(&self, draws: &Draws, n: u64) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(0);
        let point = draws.below(n, total);
        self.cumulative
            .partition_point(|sum| *sum <= point)
            .min(self.values.len().saturating_sub(1))
    }
}

/// A value written in the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Literal {
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// Milliseconds since 1970.
    Timestamp(i64),
    Text(String),
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

    /// The value as an integer; 0 if it is none.
    fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) | Self::Timestamp(number) => *number,
            Self::Float(_) | Self::Boolean(_) | Self::Text(_) => 0,
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

/// Whether a number is left out of a fingerprint because it is 0.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}
