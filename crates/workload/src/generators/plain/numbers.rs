//! Generators of numbers: `uniform`, `normal`, `zipfian` and other skewed ones, `sequence`, and `keys`.

use serde::Serialize;

use highwater_model::numbers::truncate_to_i64;
use highwater_model::op::{ColumnType, Value};

use super::{Make, ends, prefix_of, range_of};
use crate::generators::{NUMBERED, NUMBERS, Spec, specs};
use crate::input::Section;
use crate::random::{Distribution, Draws, PowerLaw, Sampler};

/// `uniform`: all numbers of a range are equally probable.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Uniform {
    /// Both ends are included.
    Uniform { min: i64, max: i64, prefix: String },
    /// The upper end is excluded.
    UniformFloat { min: f64, max: f64 },
}

impl Make for Uniform {
    const SPECS: &'static [Spec] = specs!(
        "uniform", "uniform from min to max",
        &[ColumnType::Integer, ColumnType::Bigint, ColumnType::Float, ColumnType::Text],
        ["min": Float, "max": Float; "prefix": Text];
    );

    fn read(of: &Section<'_>, _: &str, kind: ColumnType) -> Option<Self> {
        if kind == ColumnType::Float {
            let (min, max) = (of.float("min", None), of.float("max", None));
            // Their difference must be finite, too.
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

/// Number of standard deviations from the mean that one value in 16,000 exceeds on each side.
const REACHED: f64 = 4.0;

/// `normal`: around a mean; clamped, and rounded down for integers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Normal {
    mean: f64,
    deviation: f64,
    min: f64,
    max: f64,
}

impl Make for Normal {
    const SPECS: &'static [Spec] = specs!(
        "normal", "around a mean, clamped to min and max", NUMBERS,
        ["mean": Float, "deviation": Float; "min": Float, "max": Float];
    );

    fn read(of: &Section<'_>, _: &str, kind: ColumnType) -> Option<Self> {
        // The range of integers that a double represents exactly.
        let limit = match kind {
            ColumnType::Integer => f64::from(i32::MAX),
            ColumnType::Bigint => 9_007_199_254_740_992.0,
            _ => f64::MAX / 4.0,
        };
        let mean = of.float("mean", None);
        let deviation = of.float("deviation", None);
        let min = of.float("min", Some(-limit));
        let max = of.float("max", Some(limit));
        of.check_order(min < max);
        let good = deviation >= 0.0 && min >= -limit && max <= limit && mean.abs() <= limit;
        let message = format!("a number of {} is out of range", of.place);
        let hint = format!("`deviation` is at least 0, the others are within {limit:e}");
        of.check(good, message, hint);
        of.good(Self { mean, deviation, min, max })
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        self.float(draws, n).to_string()
    }

    fn integer(&self, draws: &Draws, n: u64) -> i64 {
        truncate_to_i64(self.float(draws, n).floor())
    }

    fn float(&self, draws: &Draws, n: u64) -> f64 {
        (self.mean + self.deviation * draws.normal(n)).clamp(self.min, self.max)
    }

    fn extremes(&self, kind: ColumnType) -> Vec<Value> {
        let ends = [-REACHED, REACHED].map(|deviations| {
            let end = (self.mean + self.deviation * deviations).clamp(self.min, self.max);
            match kind {
                ColumnType::Float => Value::Float(end),
                _ => Value::Integer(truncate_to_i64(end.floor())),
            }
        });
        ends.to_vec()
    }
}

/// `zipfian`, `latest`, `hotspot` and `exponential`: some numbers of a range more often than others.
///
/// Must not contain the distributions themselves.
///
/// `min` and an item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SkewedInteger {
    min: i64,
    prefix: String,
    sampler: Sampler,
}

impl Make for SkewedInteger {
    const SPECS: &'static [Spec] = specs!(
        "zipfian", "zipfian from min to max: a few values often, most of them rarely", NUMBERED,
        ["min": Integer, "max": Integer; "theta": Float, "order": Text, "prefix": Text];
        "latest", "zipfian counted back from max", NUMBERED,
        ["min": Integer, "max": Integer; "theta": Float, "prefix": Text];
        "hotspot", "a fraction of the values gets a fraction of the draws", NUMBERED,
        ["min": Integer, "max": Integer; "data": Float, "asked": Float, "prefix": Text];
        "exponential", "exponentially decreasing from min to max", NUMBERED,
        ["min": Integer, "max": Integer; "percentile": Float, "data": Float, "prefix": Text];
    );

    fn read(of: &Section<'_>, name: &str, kind: ColumnType) -> Option<Self> {
        let prefix = prefix_of(of, kind);
        let min = of.integer("min", range_of(kind), None);
        let max = of.integer("max", range_of(kind), None);
        let distribution = Distribution::read_as(of, name)?;
        of.check_order(min <= max);
        let items = max.abs_diff(min).saturating_add(1);
        let sampler = of.good(distribution).map(|of| Sampler::new(of, items))?;
        Some(Self { min, prefix, sampler })
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        format!("{}{}", self.prefix, self.integer(draws, n))
    }

    fn integer(&self, draws: &Draws, n: u64) -> i64 {
        self.min.saturating_add_unsigned(self.sampler.pick(draws, n))
    }

    fn extremes(&self, kind: ColumnType) -> Vec<Value> {
        let max = self.min.saturating_add_unsigned(self.sampler.items() - 1);
        ends(kind, &self.prefix, [self.min, max])
    }

    fn prefix(&self) -> Option<&str> {
        Some(&self.prefix)
    }
}

/// `sequence`: evenly spaced numbers, which may begin again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Sequence {
    start: i64,
    step: i64,
    /// start + (step · number mod modulo); 0 for no end.
    #[serde(skip_serializing_if = "crate::is_default")]
    modulo: u64,
    prefix: String,
}

impl Make for Sequence {
    const SPECS: &'static [Spec] = specs!(
        "sequence", "start + step × number, or start + (step × number mod `modulo`)", NUMBERED,
        [; "start": Integer, "step": Integer, "modulo": Integer, "prefix": Text];
    );

    fn read(of: &Section<'_>, _: &str, kind: ColumnType) -> Option<Self> {
        of.good(Self {
            start: of.integer("start", range_of(kind), Some(0)),
            step: of.integer("step", range_of(kind), Some(1)),
            modulo: of.natural("modulo", 0, Some(0)),
            prefix: prefix_of(of, kind),
        })
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        format!("{}{}", self.prefix, self.integer(draws, n))
    }

    fn integer(&self, _: &Draws, n: u64) -> i64 {
        let steps = if self.modulo == 0 {
            self.step.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX))
        } else {
            let round = i128::from(self.step) * i128::from(n);
            let round = round.rem_euclid(i128::from(self.modulo));
            i64::try_from(round).unwrap_or(i64::MAX)
        };
        self.start.saturating_add(steps)
    }

    fn prefix(&self) -> Option<&str> {
        Some(&self.prefix)
    }
}

/// The exponent and the offset of the original program of the workload `kv`.
const S: f64 = 1.1;
const V: f64 = 1.0;

/// `keys`: the key of the n-th row, for keys that are written repeatedly.
///
/// Modeled on the original program of the workload `kv`: the numbers of a sequence, which may restart,
/// are mapped to keys. The original hashes a number with SHA-1; here it is the bijection of
/// [`Draws::word`], so different numbers never collide.
///
/// The order of keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Keys {
    order: Order,
    /// Numbers start over after this many; 0 for never.
    cycle: u64,
    /// Rows at the beginning whose keys are all different.
    different: u64,
    /// This many consecutive rows never share a key, so that one statement can write them; at least 1.
    apart: u64,
}

/// How a number is mapped to a key.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    /// Any of 64 bits.
    Hash,
    /// The number itself.
    Sequential,
    /// A rank of a power law, in which small numbers are frequent.
    Zipfian(PowerLaw),
}

impl Keys {
    /// Only zipfian keys depend on the rows that are loaded and on the rows of an op.
    pub(crate) fn leave_out_what_changes_no_key(&mut self) {
        if !matches!(self.order, Order::Zipfian(_)) {
            self.different = 0;
            self.apart = 1;
        }
    }

    /// Whether keys never repeat.
    pub(crate) fn never_repeats(&self) -> bool {
        self.cycle == 0 && !matches!(self.order, Order::Zipfian(_))
    }
}

impl Make for Keys {
    const SPECS: &'static [Spec] = specs!(
        "keys", "the key of a row, if keys are repeated: hash, sequential, or zipfian",
        &[ColumnType::Bigint],
        ["order": Text; "cycle": Integer, "different": Integer, "apart": Integer, "s": Float, "v": Float];
    );

    fn read(of: &Section<'_>, _: &str, _: ColumnType) -> Option<Self> {
        let cycle = of.natural("cycle", 0, Some(0));
        let different = of.natural("different", 0, Some(0));
        let apart = of.natural("apart", 1, Some(1));
        let (s, v) = (of.float("s", Some(S)), of.float("v", Some(V)));
        // Each rank has a separate key for each of the consecutive rows that must differ.
        let zipfian = || {
            let last = i64::MAX.unsigned_abs() / apart - 1;
            let good = 1.0 < s && s <= 100.0 && (1.0..=1e15).contains(&v);
            let message = format!("`s` {s} and `v` {v} of {} make no power law", of.place);
            let hint = "`s` is above 1, at most 100, such as 1.1; `v` at least 1";
            of.check(good, message, hint);
            of.good(()).map(|()| Order::Zipfian(PowerLaw::new(s, v, last)))
        };
        let words = [("hash", 0), ("sequential", 1), ("zipfian", 2)];
        let order = match of.word("order", &words, None)? {
            0 => Order::Hash,
            1 => Order::Sequential,
            _ => zipfian()?,
        };
        let least = different.max(apart);
        let place = &of.place;
        of.check(
            cycle == 0 || cycle >= least,
            format!("keys of {place} begin again after {cycle}, and {least} must be different"),
            "a longer cycle, a smaller batch, or fewer rows beforehand",
        );
        of.good(Self { order, cycle, different, apart })
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        self.integer(draws, n).to_string()
    }

    /// The key of row `n`.
    fn integer(&self, draws: &Draws, row: u64) -> i64 {
        let number = match self.cycle {
            0 => row,
            cycle => row % cycle,
        };
        match self.order {
            Order::Hash => draws.word(number).cast_signed(),
            Order::Sequential => whole(number),
            Order::Zipfian(_) if row < self.different => whole(row),
            Order::Zipfian(law) => {
                // Each of `apart` consecutive rows has its own class of keys.
                let rank = law.rank(draws, number).saturating_mul(self.apart);
                whole(rank.saturating_add(row % self.apart))
            }
        }
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
