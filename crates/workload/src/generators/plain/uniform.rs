//! `uniform`: all numbers of a range alike.

use super::making::{Make, ends, prefix_of, range_of};
use crate::generators::prelude::{ColumnType, Draws, Section, Serialize, Spec, Value, specs};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Uniform {
    /// Both ends included.
    Uniform { min: i64, max: i64, prefix: String },
    /// The upper end excluded.
    UniformFloat { min: f64, max: f64 },
}

impl Make for Uniform {
    const SPECS: &'static [Spec] = specs!(
        "uniform", "all of min to max alike",
        &[ColumnType::Integer, ColumnType::Bigint, ColumnType::Float, ColumnType::Text],
        ["min": Float, "max": Float; "prefix": Text];
    );

    fn read(of: &Section<'_>, _: &str, kind: ColumnType) -> Option<Self> {
        if kind == ColumnType::Float {
            let (min, max) = (of.float("min", None), of.float("max", None));
            // Their distance must be a number too.
            of.check_order(min < max && (max - min).is_finite());
            return of.good(Self::UniformFloat { min, max });
        }
        let min = of.integer("min", range_of(kind), None);
        let max = of.integer("max", range_of(kind), None);
        let prefix = prefix_of(of, kind);
        of.check_order(min <= max);
        of.good(Self::Uniform { min, max, prefix })
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        match self {
            Self::Uniform { prefix, .. } => format!("{prefix}{}", self.integer(draws, n)),
            Self::UniformFloat { .. } => self.float(draws, n).to_string(),
        }
    }

    fn integer(&self, draws: &Draws, n: u64) -> i64 {
        let Self::Uniform { min, max, .. } = self else {
            return 0;
        };
        let values = (i128::from(*max) - i128::from(*min)).unsigned_abs() + 1;
        let values = u64::try_from(values).unwrap_or(u64::MAX);
        min.wrapping_add_unsigned(draws.below(n, values))
    }

    fn float(&self, draws: &Draws, n: u64) -> f64 {
        match self {
            // Rounding could reach the excluded upper end.
            Self::UniformFloat { min, max } => {
                (min + draws.unit(n) * (max - min)).min(max.next_down())
            }
            Self::Uniform { .. } => 0.0,
        }
    }

    fn extremes(&self, kind: ColumnType) -> Vec<Value> {
        match self {
            Self::Uniform { min, max, prefix } => ends(kind, prefix, [*min, *max]),
            Self::UniformFloat { min, max } => [*min, max.next_down()].map(Value::Float).to_vec(),
        }
    }

    fn prefix(&self) -> Option<&str> {
        match self {
            Self::Uniform { prefix, .. } => Some(prefix),
            Self::UniformFloat { .. } => None,
        }
    }
}
