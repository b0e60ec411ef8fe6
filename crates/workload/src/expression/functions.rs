//! The operators and functions of expressions: their names, types, and values, as pgbench 15 computes them. Must not
//! read text.

use std::cmp::Ordering;

use highwater_model::numbers::{signed_to_f64, to_f64, truncate_to_u64};
use highwater_model::op::{ColumnType, Value};

use super::hashes::{fnv1a, murmur2, permute};
use super::{Inputs, MAX_ARGUMENTS, Node};
use crate::random::{Distribution, Draws, Sampler};

/// Maximum number of draws for one Gaussian number; in the worst case nine of ten are within the range.
const ATTEMPTS: u64 = 64;
/// pgbench's least parameter of a Gaussian.
const GAUSSIAN_LEAST: f64 = 2.0;
/// The greatest exponent of a zipfian, as in pgbench, and the least distance from 1.
const ZIPFIAN_MOST: f64 = 1_000.0;
const ZIPFIAN_STEP: f64 = 0.001;

/// An operator or a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Or,
    And,
    Not,
    Is,
    Case,
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Mod,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    Fnv1a,
    Murmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Pow,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// Functions by name, with their least and greatest number of arguments.
const NAMED: [(&str, Function, usize, usize); 21] = [
    ("abs", Function::Abs, 1, 1),
    ("debug", Function::Debug, 1, 1),
    ("double", Function::Double, 1, 1),
    ("exp", Function::Exp, 1, 1),
    ("greatest", Function::Greatest, 1, MAX_ARGUMENTS),
    ("hash", Function::Murmur2, 1, 2),
    ("hash_fnv1a", Function::Fnv1a, 1, 2),
    ("hash_murmur2", Function::Murmur2, 1, 2),
    ("int", Function::Int, 1, 1),
    ("least", Function::Least, 1, MAX_ARGUMENTS),
    ("ln", Function::Ln, 1, 1),
    ("mod", Function::Mod, 2, 2),
    ("permute", Function::Permute, 2, 3),
    ("pi", Function::Pi, 0, 0),
    ("pow", Function::Pow, 2, 2),
    ("power", Function::Pow, 2, 2),
    ("random", Function::Random, 2, 2),
    ("random_exponential", Function::RandomExponential, 3, 3),
    ("random_gaussian", Function::RandomGaussian, 3, 3),
    ("random_zipfian", Function::RandomZipfian, 3, 3),
    ("sqrt", Function::Sqrt, 1, 1),
];

/// A function by its name in any case, with its least and greatest number of arguments.
pub(super) fn named(name: &str) -> Option<(Function, usize, usize)> {
    let found = NAMED.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
    found.map(|(_, function, least, most)| (*function, *least, *most))
}

type Outcome<T> = Result<T, String>;

impl Function {
    /// Whether the last argument is a seed, by default the run's.
    pub(super) fn takes_seed(self) -> bool {
        matches!(self, Self::Fnv1a | Self::Murmur2 | Self::Permute)
    }

    pub(super) fn is_random(self) -> bool {
        matches!(
            self,
            Self::Random | Self::RandomExponential | Self::RandomGaussian | Self::RandomZipfian
        )
    }

    /// The type of its values, from those of its arguments; none if all are NULL.
    pub(super) fn kind(
        self,
        arguments: &[Option<ColumnType>],
    ) -> Result<Option<ColumnType>, &'static str> {
        let widest = || {
            let is_float = arguments.contains(&Some(ColumnType::Float));
            if is_float { ColumnType::Float } else { ColumnType::Bigint }
        };
        Ok(Some(match self {
            Self::Or
            | Self::And
            | Self::Not
            | Self::Is
            | Self::Less
            | Self::LessOrEqual
            | Self::Equal
            | Self::NotEqual => ColumnType::Boolean,
            Self::Double | Self::Exp | Self::Ln | Self::Pi | Self::Pow | Self::Sqrt => {
                ColumnType::Float
            }
            Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Divide
            | Self::Abs
            | Self::Greatest
            | Self::Least => widest(),
            Self::Debug => return Ok(arguments.first().copied().flatten()),
            Self::Case => {
                let last = arguments.len().saturating_sub(1);
                let values = arguments.iter().enumerate();
                let values: Vec<ColumnType> = values
                    .filter(|(place, _)| place % 2 == 1 || *place == last)
                    .filter_map(|(_, kind)| *kind)
                    .collect();
                let truths = values.iter().filter(|kind| **kind == ColumnType::Boolean).count();
                match values.len() {
                    0 => return Ok(None),
                    all if truths == all => ColumnType::Boolean,
                    _ if truths > 0 => return Err("CASE has both numbers and truth values"),
                    _ if values.contains(&ColumnType::Float) => ColumnType::Float,
                    _ => ColumnType::Bigint,
                }
            }
            _ => ColumnType::Bigint,
        }))
    }

    /// Its value; `n` is the number of its random number.
    pub(super) fn call(self, arguments: &[Node], inputs: &Inputs<'_>, n: u64) -> Outcome<Value> {
        match self {
            Self::And | Self::Or => self.connect(arguments, inputs),
            Self::Case => case(arguments, inputs),
            _ => {
                let mut values = [const { Value::Null }; MAX_ARGUMENTS];
                let mut is_null = false;
                for (value, argument) in values.iter_mut().zip(arguments) {
                    *value = argument.evaluate(inputs)?;
                    is_null |= *value == Value::Null;
                }
                let values = values.get(..arguments.len()).unwrap_or_default();
                match self {
                    Self::Debug => Ok(values.first().cloned().unwrap_or(Value::Null)),
                    Self::Is => Ok(Value::Boolean(values.first() == values.get(1))),
                    _ if is_null => Ok(Value::Null),
                    _ => self.of_values(values, inputs.draws, n),
                }
            }
        }
    }

    /// AND and OR: the second operand is only evaluated if the first one does not decide, and NULL decides.
    fn connect(self, arguments: &[Node], inputs: &Inputs<'_>) -> Outcome<Value> {
        for argument in arguments {
            match argument.evaluate(inputs)? {
                Value::Null => return Ok(Value::Null),
                value if truth(&value)? == (self == Self::Or) => {
                    return Ok(Value::Boolean(self == Self::Or));
                }
                _ => {}
            }
        }
        Ok(Value::Boolean(self == Self::And))
    }

    /// Its value for arguments of which none is NULL.
    fn of_values(self, values: &[Value], draws: &Draws, n: u64) -> Outcome<Value> {
        match (self, values) {
            (Self::Pi, _) => Ok(Value::Float(std::f64::consts::PI)),
            (_, [only]) => self.of_one(only),
            (Self::Least | Self::Greatest, _) => self.extreme(values),
            (Self::BitAnd | Self::BitOr | Self::BitXor, [a, b]) => {
                let (a, b) = (integer(a)?, integer(b)?);
                Ok(Value::Integer(match self {
                    Self::BitAnd => a & b,
                    Self::BitOr => a | b,
                    _ => a ^ b,
                }))
            }
            // Like processors do, a shift counts modulo 64.
            (Self::ShiftLeft | Self::ShiftRight, [a, b]) => {
                let (a, by) = (integer(a)?, (integer(b)? & 63).unsigned_abs());
                Ok(Value::Integer(if self == Self::ShiftLeft { a << by } else { a >> by }))
            }
            (Self::Pow, [a, b]) => Ok(Value::Float(libm::pow(double(a)?, double(b)?))),
            (Self::Fnv1a, [a, seed]) => Ok(Value::Integer(fnv1a(integer(a)?, integer(seed)?))),
            (Self::Murmur2, [a, seed]) => Ok(Value::Integer(murmur2(integer(a)?, integer(seed)?))),
            (Self::Permute, [a, size, seed]) => {
                let (a, size, seed) = (integer(a)?, integer(size)?, integer(seed)?);
                if size <= 0 {
                    return Err("the size of `permute` is not above 0".to_owned());
                }
                Ok(Value::Integer(permute(a, size, seed)))
            }
            (Self::Mod, [a, b]) => self.of_integers(integer(a)?, integer(b)?),
            (_, [first, last, shape @ ..]) if self.is_random() => {
                self.random((integer(first)?, integer(last)?), shape.first(), draws, n)
            }
            (_, [Value::Float(_), _] | [_, Value::Float(_)]) => {
                self.of_doubles(double(&values[0])?, double(&values[1])?)
            }
            (_, [a, b]) => self.of_integers(integer(a)?, integer(b)?),
            _ => Ok(Value::Null),
        }
    }

    fn of_one(self, value: &Value) -> Outcome<Value> {
        Ok(match self {
            Self::Not => Value::Boolean(!truth(value)?),
            Self::Int => Value::Integer(integer(value)?),
            Self::Sqrt => Value::Float(libm::sqrt(double(value)?)),
            Self::Ln => Value::Float(libm::log(double(value)?)),
            Self::Exp => Value::Float(libm::exp(double(value)?)),
            Self::Double => Value::Float(double(value)?),
            Self::Abs => match value {
                Value::Float(value) => Value::Float(value.abs()),
                _ => Value::Integer(integer(value)?.checked_abs().ok_or_else(out_of_range)?),
            },
            _ => self.extreme(std::slice::from_ref(value))?,
        })
    }

    /// The least or greatest of some numbers, as a double if any of them is one.
    fn extreme(self, values: &[Value]) -> Outcome<Value> {
        let wanted = if self == Self::Least { Ordering::Less } else { Ordering::Greater };
        if values.iter().any(|value| matches!(value, Value::Float(_))) {
            let all: Vec<f64> = values.iter().map(double).collect::<Outcome<_>>()?;
            let best = all.into_iter().reduce(|best, next| {
                if best.partial_cmp(&next) == Some(wanted) { best } else { next }
            });
            return Ok(best.map_or(Value::Null, Value::Float));
        }
        let all: Vec<i64> = values.iter().map(integer).collect::<Outcome<_>>()?;
        let best = all.into_iter().reduce(
            |best, next| {
                if best.cmp(&next) == wanted { best } else { next }
            },
        );
        Ok(best.map_or(Value::Null, Value::Integer))
    }

    fn of_integers(self, a: i64, b: i64) -> Outcome<Value> {
        if matches!(self, Self::Divide | Self::Mod) && b == 0 {
            return Err("division by zero".to_owned());
        }
        let number = match self {
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            Self::Divide => a.checked_div(b),
            Self::Mod => Some(a.wrapping_rem(b)),
            _ => return Ok(Value::Boolean(self.holds(a.cmp(&b).into()))),
        };
        number.map(Value::Integer).ok_or_else(out_of_range)
    }

    fn of_doubles(self, a: f64, b: f64) -> Outcome<Value> {
        Ok(Value::Float(match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            _ => return Ok(Value::Boolean(self.holds(a.partial_cmp(&b)))),
        }))
    }

    /// Whether a comparison holds; without an order, one of the operands is no number.
    fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Equal => order == Some(Ordering::Equal),
            _ => order != Some(Ordering::Equal),
        }
    }

    fn random(
        self,
        (first, last): (i64, i64),
        shape: Option<&Value>,
        draws: &Draws,
        n: u64,
    ) -> Outcome<Value> {
        if first > last {
            return Err(format!("a random number from {first} to {last}: the range is empty"));
        }
        let items = last.checked_sub(first).and_then(|width| width.checked_add(1));
        let items = items.ok_or_else(|| {
            format!("a random number from {first} to {last}: the range is too large")
        })?;
        let items = items.unsigned_abs();
        let shape = shape.map_or(Ok(0.0), double)?;
        let offset = match self {
            Self::RandomGaussian => gaussian(items, shape, draws, n)?,
            Self::RandomExponential => exponential(items, shape, draws, n)?,
            Self::RandomZipfian => zipfian(items, shape, draws, n)?,
            _ => draws.below(n, items),
        };
        Ok(Value::Integer(first.saturating_add_unsigned(offset.min(items - 1))))
    }
}

/// CASE: the value of the first condition that is true, or the last argument. Numbers other than 0 count as true.
fn case(arguments: &[Node], inputs: &Inputs<'_>) -> Outcome<Value> {
    for pair in arguments.chunks(2) {
        match pair {
            [condition, value] => {
                let holds = match condition.evaluate(inputs)? {
                    Value::Boolean(holds) => holds,
                    Value::Integer(number) => number != 0,
                    Value::Float(number) => number != 0.0,
                    _ => false,
                };
                if holds {
                    return value.evaluate(inputs);
                }
            }
            [otherwise] => return otherwise.evaluate(inputs),
            _ => {}
        }
    }
    Ok(Value::Null)
}

/// pgbench's Gaussian: a normal number within ± the parameter, drawn again if outside; the range is 2 · parameter
/// deviations wide.
fn gaussian(items: u64, parameter: f64, draws: &Draws, n: u64) -> Outcome<u64> {
    if parameter.is_nan() || parameter < GAUSSIAN_LEAST {
        return Err(format!("the parameter of `random_gaussian` is {parameter}, below 2"));
    }
    let number = |attempt: u64| {
        let at = n.wrapping_mul(2).wrapping_add(attempt << 56);
        let (radius, turn) = (1.0 - draws.unit(at), 1.0 - draws.unit(at.wrapping_add(1)));
        libm::sqrt(-2.0 * libm::log(radius)) * libm::sin(std::f64::consts::TAU * turn)
    };
    let mut within = (0..ATTEMPTS).map(number).filter(|x| -parameter <= *x && *x < parameter);
    let share = (within.next().unwrap_or(0.0) + parameter) / (parameter * 2.0);
    Ok(truncate_to_u64(to_f64(items) * share))
}

/// pgbench's exponential: the density at the end of the range is e^-parameter of that at its beginning.
fn exponential(items: u64, parameter: f64, draws: &Draws, n: u64) -> Outcome<u64> {
    if parameter.is_nan() || parameter <= 0.0 {
        return Err(format!("the parameter of `random_exponential` is {parameter}, not above 0"));
    }
    let cut = libm::exp(-parameter);
    let share = -libm::log(cut + (1.0 - cut) * (1.0 - draws.unit(n))) / parameter;
    Ok(truncate_to_u64(to_f64(items) * share))
}

/// Number k, from 1 on, with a probability proportional to k^-exponent. pgbench 15 takes exponents above 1 only.
fn zipfian(items: u64, exponent: f64, draws: &Draws, n: u64) -> Outcome<u64> {
    let is_possible = exponent > 0.0 && exponent <= ZIPFIAN_MOST;
    if !is_possible || (exponent - 1.0).abs() < ZIPFIAN_STEP * 0.999 {
        let message = "above 0 and at most 1000, and not within 0.001 of 1";
        return Err(format!("the exponent of `random_zipfian` is {exponent}; it is {message}"));
    }
    let distribution = Distribution::Zipfian { theta: exponent, scrambled: false };
    Ok(Sampler::new(distribution, items).pick(draws, n))
}

fn out_of_range() -> String {
    "the result is out of range for a whole number".to_owned()
}

/// A value as a whole number; doubles are rounded, halves to the even neighbor.
fn integer(value: &Value) -> Outcome<i64> {
    /// 2^63.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Integer(number) => Ok(*number),
        Value::Float(number) => {
            let whole = libm::rint(*number);
            if !(-LIMIT..LIMIT).contains(&whole) {
                return Err(format!("{number} is out of range for a whole number"));
            }
            #[expect(clippy::cast_possible_truncation, reason = "it is within the range")]
            Ok(whole as i64)
        }
        _ => Err("a truth value cannot be a number".to_owned()),
    }
}

fn double(value: &Value) -> Outcome<f64> {
    match value {
        Value::Integer(number) => Ok(signed_to_f64(*number)),
        Value::Float(number) => Ok(*number),
        _ => Err("a truth value cannot be a number".to_owned()),
    }
}

fn truth(value: &Value) -> Outcome<bool> {
    match value {
        Value::Boolean(value) => Ok(*value),
        _ => Err("a number cannot be a truth value".to_owned()),
    }
}
