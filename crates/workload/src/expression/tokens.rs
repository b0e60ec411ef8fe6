//! The tokens of an expression. Must not know their order.

use std::ops::Range;

use super::{ErrorKind, ExpressionError};

/// A token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'t> {
    /// Digits.
    Integer(&'t str),
    /// Digits with a point or an exponent.
    Double(&'t str),
    /// The name after a colon.
    Variable(&'t str),
    /// A keyword or the name of a function.
    Word(&'t str),
    Symbol(&'static str),
}

/// Symbols, the longer ones first.
const SYMBOLS: [&str; 20] = [
    "<>", "<=", ">=", "<<", ">>", "!=", "+", "-", "*", "/", "%", "(", ")", ",", "<", ">", "=", "&",
    "|", "#",
];

impl Token<'_> {
    /// Whether it is a keyword or symbol.
    pub(super) fn is(self, word: &str) -> bool {
        match self {
            Self::Word(own) => own.eq_ignore_ascii_case(word),
            Self::Symbol(own) => own == word,
            _ => false,
        }
    }
}

/// The tokens with their places.
pub(super) fn tokens(text: &str) -> Result<Vec<(Range<usize>, Token<'_>)>, ExpressionError> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(first) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        // A backslash at the end of a line continues it.
        let continued = rest.starts_with("\\\n") || rest.starts_with("\\\r\n");
        if first.is_whitespace() || continued {
            at += first.len_utf8();
            continue;
        }
        let Some((length, token)) = token(rest) else {
            return Err(ExpressionError {
                at: at..at + first.len_utf8(),
                kind: ErrorKind::Invalid(format!("unexpected character `{first}`")),
            });
        };
        all.push((at..at + length, token));
        at += length;
    }
    Ok(all)
}

/// The variables of an expression with their places, up to an unreadable character.
pub(crate) fn variables(text: &str) -> Vec<(Range<usize>, &str)> {
    let readable = match tokens(text) {
        Ok(_) => text,
        Err(error) => text.get(..error.at.start).unwrap_or_default(),
    };
    let all = tokens(readable).unwrap_or_default();
    let named = all.into_iter().filter_map(|(at, token)| match token {
        Token::Variable(name) => Some((at, name)),
        _ => None,
    });
    named.collect()
}

/// The first token of a text and its length.
fn token(text: &str) -> Option<(usize, Token<'_>)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let while_name = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest.find(|c| !is_name(c)).unwrap_or(rest.len())
    };
    let first = text.chars().next()?;
    let second = text.get(1..).and_then(|rest| rest.chars().next());
    if first == ':' && second.is_some_and(is_name) {
        let end = while_name(1);
        return Some((end, Token::Variable(text.get(1..end)?)));
    }
    if first.is_ascii_digit() || (first == '.' && second.is_some_and(|c| c.is_ascii_digit())) {
        let (end, whole) = number(text);
        let text = text.get(..end)?;
        return Some((end, if whole { Token::Integer(text) } else { Token::Double(text) }));
    }
    if is_name(first) {
        let end = while_name(0);
        return Some((end, Token::Word(text.get(..end)?)));
    }
    if first == '~' {
        return Some((1, Token::Symbol("~")));
    }
    let symbol = SYMBOLS.iter().find(|symbol| text.starts_with(**symbol))?;
    Some((symbol.len(), Token::Symbol(symbol)))
}

/// The length of the number at the start of a text, and whether it is an integer.
fn number(text: &str) -> (usize, bool) {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
    };
    let mut end = digits(0);
    let mut whole = true;
    if text.get(end..).is_some_and(|rest| rest.starts_with('.')) {
        end = digits(end + 1);
        whole = false;
    }
    if text.get(end..).is_some_and(|rest| rest.starts_with(['e', 'E'])) {
        let sign =
            usize::from(text.get(end + 1..).is_some_and(|rest| rest.starts_with(['+', '-'])));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
            whole = false;
        }
    }
    (end, whole)
}
