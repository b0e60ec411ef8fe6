//! Expressions of parameters, in the language of pgbench's `\set` (its documentation of version 15): whole numbers,
//! doubles, truth values and NULL; operators, CASE, and functions.
//!
//! An expression is a function of earlier parameters, seed, and the index of its op: its n-th random function draws a
//! number of its own. Length, depth, and arguments are bounded. Must not know where a variable comes from.

mod functions;
mod hashes;
mod parser;
mod tokens;

use std::ops::Range;

use serde::{Serialize, Serializer};

use highwater_model::op::{ColumnType, Value};
use highwater_model::units::Seed;

use crate::random::Draws;

use self::functions::Function;

pub(crate) use self::tokens::variables;

/// Maximum length in bytes.
pub(crate) const MAX_LENGTH: usize = 4_000;
/// Maximum depth of operators and functions inside each other; a sum of n terms is n deep.
pub(crate) const MAX_DEPTH: usize = 200;
/// Maximum number of arguments of a function, as in pgbench.
const MAX_ARGUMENTS: usize = 16;

/// The names that an expression knows besides the variables: seeds.
pub(crate) const DEFAULT_SEED: &str = "default_seed";
pub(crate) const RANDOM_SEED: &str = "random_seed";

/// An expression, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    text: String,
    root: Node,
    kind: ColumnType,
    /// Number of its random functions, at least 1.
    sites: u64,
}

/// An error in the text of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExpressionError {
    /// Its place in the text.
    pub(crate) at: Range<usize>,
    pub(crate) kind: ErrorKind,
}

/// The cause of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// No variable has this name.
    UnknownVariable(String),
    /// In words.
    Invalid(String),
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Constant(Value),
    /// The position of a variable.
    Variable(usize),
    /// The run's seed.
    RandomSeed,
    /// A number that follows from the run's seed, the seed of hash functions without one.
    DefaultSeed,
    /// A function or operator; `site` is the number of a random function.
    Call {
        function: Function,
        site: u64,
        arguments: Vec<Node>,
    },
}

/// The inputs of a value.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'i> {
    /// The values of earlier parameters.
    pub(crate) values: &'i [Value],
    /// The position of each variable's value.
    pub(crate) begins: &'i [usize],
    pub(crate) seed: Seed,
    /// Random numbers of this expression alone.
    pub(crate) draws: &'i Draws,
    /// Index of the op.
    pub(crate) index: u64,
}

impl Serialize for Expression {
    /// Its text determines it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl Expression {
    /// Reads an expression; `names` and `kinds` are those of the variables.
    pub(crate) fn parse(
        text: &str,
        names: &[&str],
        kinds: &[ColumnType],
    ) -> Result<Self, ExpressionError> {
        let resolve = |name: &str| {
            let found = names.iter().rposition(|known| *known == name);
            found.map(Node::Variable).or(match name {
                RANDOM_SEED => Some(Node::RandomSeed),
                DEFAULT_SEED => Some(Node::DefaultSeed),
                _ => None,
            })
        };
        let (root, sites) = parser::parse(text, &resolve)?;
        let kind = root.kind(kinds).map_err(|message| ExpressionError {
            at: 0..text.len(),
            kind: ErrorKind::Invalid(message.to_owned()),
        })?;
        let kind = kind.unwrap_or(ColumnType::Bigint);
        Ok(Self { text: text.to_owned(), root, kind, sites: sites.max(1) })
    }

    /// The type of its values, which may also be NULL; whole numbers are possible values of type `float`.
    pub(crate) fn kind(&self) -> ColumnType {
        self.kind
    }

    /// Positions of the variables in it.
    pub(crate) fn variables(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.root.note_variables(&mut found);
        found
    }

    /// Its value for an op; the error is a lower-case fragment.
    pub(crate) fn evaluate(&self, inputs: &Inputs<'_>) -> Result<Value, String> {
        let first = inputs.index.wrapping_mul(self.sites);
        self.root.evaluate(&Inputs { index: first, ..*inputs })
    }
}

/// The value of a text from an answer, as pgbench reads its variables.
fn of_text(text: &str) -> Result<Value, String> {
    let is_start = |word: &str, least: usize| {
        text.len() >= least && word.get(..text.len()).is_some_and(|w| w.eq_ignore_ascii_case(text))
    };
    if text.eq_ignore_ascii_case("null") {
        return Ok(Value::Null);
    }
    if is_start("true", 1) || is_start("yes", 1) || is_start("on", 2) {
        return Ok(Value::Boolean(true));
    }
    if is_start("false", 1) || is_start("no", 1) || is_start("off", 2) {
        return Ok(Value::Boolean(false));
    }
    if let Ok(number) = text.parse::<i64>() {
        return Ok(Value::Integer(number));
    }
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.map(Value::Float).ok_or_else(|| {
        let start: String = text.chars().take(40).collect();
        format!("`{start}` is neither a number nor a truth value")
    })
}

impl Node {
    /// Here the index is that of the expression's first random number.
    fn evaluate(&self, inputs: &Inputs<'_>) -> Result<Value, String> {
        match self {
            Self::Constant(value) => Ok(value.clone()),
            Self::Variable(position) => {
                let begin = inputs.begins.get(*position);
                match begin.and_then(|begin| inputs.values.get(*begin)) {
                    Some(Value::Text(text)) => of_text(text),
                    value => Ok(value.cloned().unwrap_or(Value::Null)),
                }
            }
            Self::RandomSeed => Ok(Value::Integer(inputs.seed.0.cast_signed())),
            Self::DefaultSeed => {
                let draws = Draws::new(inputs.seed, &[DEFAULT_SEED]);
                Ok(Value::Integer(draws.word(0).cast_signed()))
            }
            Self::Call { function, site, arguments } => {
                function.call(arguments, inputs, inputs.index.wrapping_add(*site))
            }
        }
    }

    /// The type of its values; none if it is always NULL.
    fn kind(&self, kinds: &[ColumnType]) -> Result<Option<ColumnType>, &'static str> {
        match self {
            Self::Constant(Value::Integer(_)) | Self::RandomSeed | Self::DefaultSeed => {
                Ok(Some(ColumnType::Bigint))
            }
            Self::Constant(Value::Float(_)) => Ok(Some(ColumnType::Float)),
            Self::Constant(Value::Boolean(_)) => Ok(Some(ColumnType::Boolean)),
            Self::Constant(_) => Ok(None),
            Self::Variable(position) => Ok(Some(match kinds.get(*position) {
                Some(ColumnType::Float) => ColumnType::Float,
                Some(ColumnType::Boolean) => ColumnType::Boolean,
                _ => ColumnType::Bigint,
            })),
            Self::Call { function, arguments, .. } => {
                // Only the whole expression needs one type; a part of two types may be a double.
                let passes_on = matches!(function, Function::Case | Function::Debug);
                let kind_of = |node: &Node| match node.kind(kinds) {
                    Err(_) if !passes_on => Ok(Some(ColumnType::Float)),
                    kind => kind,
                };
                let all: Result<Vec<_>, _> = arguments.iter().map(kind_of).collect();
                function.kind(&all?)
            }
        }
    }

    fn note_variables(&self, found: &mut Vec<usize>) {
        match self {
            Self::Variable(position) => found.push(*position),
            Self::Call { arguments, .. } => {
                for argument in arguments {
                    argument.note_variables(found);
                }
            }
            Self::Constant(_) | Self::RandomSeed | Self::DefaultSeed => {}
        }
    }
}
