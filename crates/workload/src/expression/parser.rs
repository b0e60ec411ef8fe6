//! The grammar of expressions, by precedence climbing, with pgbench's precedences. Must not compute.

use std::ops::Range;

use highwater_model::op::Value;

use super::functions::{Function, named};
use super::tokens::{Token, tokens};
use super::{DEFAULT_SEED, ErrorKind, ExpressionError, MAX_ARGUMENTS, MAX_DEPTH, MAX_LENGTH, Node};

// How strongly operators bind, from the weakest on.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const BITS: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const SIGN: u8 = 9;

/// Operators between two operands: symbol, how strongly it binds, function, and whether the operands are swapped.
const BINARY: [(&str, u8, Function, bool); 19] = [
    ("or", OR, Function::Or, false),
    ("and", AND, Function::And, false),
    ("<", COMPARISON, Function::Less, false),
    ("<=", COMPARISON, Function::LessOrEqual, false),
    (">", COMPARISON, Function::Less, true),
    (">=", COMPARISON, Function::LessOrEqual, true),
    ("=", COMPARISON, Function::Equal, false),
    ("<>", COMPARISON, Function::NotEqual, false),
    ("!=", COMPARISON, Function::NotEqual, false),
    ("|", BITS, Function::BitOr, false),
    ("#", BITS, Function::BitXor, false),
    ("&", BITS, Function::BitAnd, false),
    ("<<", BITS, Function::ShiftLeft, false),
    (">>", BITS, Function::ShiftRight, false),
    ("+", SUM, Function::Add, false),
    ("-", SUM, Function::Subtract, false),
    ("*", PRODUCT, Function::Multiply, false),
    ("/", PRODUCT, Function::Divide, false),
    ("%", PRODUCT, Function::Mod, false),
];

/// The least integer without its sign, which is no integer itself.
const BEYOND: &str = "9223372036854775808";

type Parsed<T> = Result<T, ExpressionError>;

/// The tree of an expression, and the number of its random functions.
pub(super) fn parse(text: &str, resolve: &dyn Fn(&str) -> Option<Node>) -> Parsed<(Node, u64)> {
    if text.len() > MAX_LENGTH {
        let message = format!("an expression of {} bytes, more than {MAX_LENGTH}", text.len());
        return Err(invalid(0..text.len(), message));
    }
    let mut parser =
        Parser { tokens: tokens(text)?, at: 0, end: text.len(), depth: 0, sites: 0, resolve };
    let root = parser.expression(0)?;
    match parser.peek() {
        None => Ok((root.node, parser.sites)),
        Some(_) => Err(parser.unexpected()),
    }
}

fn invalid(at: Range<usize>, message: impl Into<String>) -> ExpressionError {
    ExpressionError { at, kind: ErrorKind::Invalid(message.into()) }
}

/// A part, and the depth of operators and functions in it.
struct Part {
    node: Node,
    height: usize,
}

struct Parser<'p> {
    tokens: Vec<(Range<usize>, Token<'p>)>,
    at: usize,
    /// Length of the text.
    end: usize,
    /// Parts that are being read inside each other.
    depth: usize,
    sites: u64,
    resolve: &'p dyn Fn(&str) -> Option<Node>,
}

impl<'p> Parser<'p> {
    fn peek(&self) -> Option<Token<'p>> {
        self.tokens.get(self.at).map(|(_, token)| *token)
    }

    fn place(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(at, _)| at.clone())
    }

    /// Skips a keyword or symbol, if it is the next token.
    fn skip(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is(word));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.skip(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> ExpressionError {
        let message = match self.peek() {
            Some(Token::Integer(text) | Token::Double(text) | Token::Word(text)) => {
                format!("unexpected `{text}`")
            }
            Some(Token::Symbol(text)) => format!("unexpected `{text}`"),
            Some(Token::Variable(name)) => format!("unexpected `:{name}`"),
            None => "the expression is incomplete".to_owned(),
        };
        invalid(self.place(), message)
    }

    /// A part whose operators bind at least as strongly as `least`.
    fn expression(&mut self, least: u8) -> Parsed<Part> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let mut left = self.operand()?;
        let mut compared = false;
        loop {
            if IS >= least
                && let Some(test) = self.test()?
            {
                left = self.negated(test, left)?;
                compared = false;
                continue;
            }
            let next = self.peek();
            let operator =
                BINARY.iter().find(|(symbol, ..)| next.is_some_and(|token| token.is(symbol)));
            let Some((_, binds, function, swapped)) =
                operator.filter(|(_, binds, ..)| *binds >= least)
            else {
                break;
            };
            let is_comparison = *binds == COMPARISON;
            if is_comparison && compared {
                return Err(self.unexpected());
            }
            compared = is_comparison;
            self.at += 1;
            let right = self.expression(binds + 1)?;
            let both = if *swapped { vec![right, left] } else { vec![left, right] };
            left = self.call(*function, both)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// `IS NULL` and its kind: the value that it compares with, and whether it is negated.
    fn test(&mut self) -> Parsed<Option<(Value, bool)>> {
        if self.skip("isnull") {
            return Ok(Some((Value::Null, false)));
        }
        if self.skip("notnull") {
            return Ok(Some((Value::Null, true)));
        }
        if !self.skip("is") {
            return Ok(None);
        }
        let negated = self.skip("not");
        let words = [
            ("null", Value::Null),
            ("true", Value::Boolean(true)),
            ("false", Value::Boolean(false)),
        ];
        for (word, value) in words {
            if self.skip(word) {
                return Ok(Some((value, negated)));
            }
        }
        Err(self.unexpected())
    }

    fn negated(&self, (value, negated): (Value, bool), left: Part) -> Parsed<Part> {
        let test = self.call_of(Function::Is, vec![left, Part::constant(value)])?;
        if negated { self.call_of(Function::Not, vec![test]) } else { Ok(test) }
    }

    fn operand(&mut self) -> Parsed<Part> {
        if self.skip("(") {
            let inner = self.expression(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.skip("+") {
            return self.expression(SIGN);
        }
        if self.skip("-") {
            if self.peek() == Some(Token::Integer(BEYOND)) {
                self.at += 1;
                return Ok(Part::constant(Value::Integer(i64::MIN)));
            }
            let zero = Part::constant(Value::Integer(0));
            let operand = self.expression(SIGN)?;
            return self.call(Function::Subtract, vec![zero, operand]);
        }
        if self.skip("~") {
            let ones = Part::constant(Value::Integer(-1));
            let operand = self.expression(SUM)?;
            return self.call(Function::BitXor, vec![ones, operand]);
        }
        if self.skip("not") {
            let operand = self.expression(NOT)?;
            return self.call(Function::Not, vec![operand]);
        }
        if self.skip("case") {
            return self.case();
        }
        self.atom()
    }

    /// `CASE` after its first word: conditions and values in turn, at the end the value of ELSE.
    fn case(&mut self) -> Parsed<Part> {
        let mut parts = Vec::new();
        self.expect("when")?;
        loop {
            parts.push(self.expression(0)?);
            self.expect("then")?;
            parts.push(self.expression(0)?);
            if !self.skip("when") {
                break;
            }
        }
        if self.skip("else") {
            parts.push(self.expression(0)?);
        } else {
            parts.push(Part::constant(Value::Null));
        }
        self.expect("end")?;
        self.call(Function::Case, parts)
    }

    fn atom(&mut self) -> Parsed<Part> {
        let place = self.place();
        let token = self.peek().ok_or_else(|| self.unexpected())?;
        let node = match token {
            Token::Integer(text) => {
                let value = text.parse().map_err(|_| {
                    invalid(place.clone(), format!("`{text}` is out of range for a whole number"))
                })?;
                Node::Constant(Value::Integer(value))
            }
            Token::Double(text) => {
                let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
                let value = value.ok_or_else(|| {
                    invalid(place.clone(), format!("`{text}` is out of range for a double"))
                })?;
                Node::Constant(Value::Float(value))
            }
            Token::Variable(name) => (self.resolve)(name).ok_or_else(|| ExpressionError {
                at: place.clone(),
                kind: ErrorKind::UnknownVariable(name.to_owned()),
            })?,
            _ if token.is("null") => Node::Constant(Value::Null),
            _ if token.is("true") => Node::Constant(Value::Boolean(true)),
            _ if token.is("false") => Node::Constant(Value::Boolean(false)),
            Token::Word(name) => return self.function(name),
            Token::Symbol(_) => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(Part { node, height: 0 })
    }

    fn function(&mut self, name: &str) -> Parsed<Part> {
        let place = self.place();
        if self.tokens.get(self.at + 1).is_none_or(|(_, token)| !token.is("(")) {
            return Err(self.unexpected());
        }
        let Some((function, least, most)) = named(name) else {
            return Err(invalid(place, format!("there is no function `{name}`")));
        };
        self.at += 2;
        let mut arguments = Vec::new();
        if !self.skip(")") {
            loop {
                arguments.push(self.expression(0)?);
                if !self.skip(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        let found = arguments.len();
        if !(least..=most).contains(&found) {
            let expected = match (least, most) {
                (least, most) if least == most => least.to_string(),
                (least, MAX_ARGUMENTS) => format!("{least} to {MAX_ARGUMENTS}"),
                (least, most) => format!("{least} or {most}"),
            };
            let message = format!("`{name}` takes {expected} arguments, not {found}");
            return Err(invalid(place, message));
        }
        if function.takes_seed() && found < most {
            let node = (self.resolve)(DEFAULT_SEED).unwrap_or(Node::DefaultSeed);
            arguments.push(Part { node, height: 0 });
        }
        self.call(function, arguments)
    }

    fn call(&mut self, function: Function, arguments: Vec<Part>) -> Parsed<Part> {
        let mut part = self.call_of(function, arguments)?;
        if let Node::Call { site, .. } = &mut part.node
            && function.is_random()
        {
            *site = self.sites;
            self.sites += 1;
        }
        Ok(part)
    }

    /// A call of a function that is not random.
    fn call_of(&self, function: Function, arguments: Vec<Part>) -> Parsed<Part> {
        let height = 1 + arguments.iter().map(|part| part.height).max().unwrap_or(0);
        if height > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let arguments = arguments.into_iter().map(|part| part.node).collect();
        Ok(Part { node: Node::Call { function, site: 0, arguments }, height })
    }

    fn too_deep(&self) -> ExpressionError {
        let message = format!("the expression is more than {MAX_DEPTH} operators deep");
        invalid(self.place(), message)
    }
}

impl Part {
    fn constant(value: Value) -> Self {
        Self { node: Node::Constant(value), height: 0 }
    }
}
