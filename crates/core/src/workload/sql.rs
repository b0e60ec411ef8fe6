//! SQL text with named parameters, and its form for a dialect's placeholders.
//!
//! Only as much of SQL is understood as tells a parameter from other uses of a colon: quoted
//! strings and identifiers, dollar-quoted strings, comments and casts (`::`) are left alone.

use serde::{Serialize, Serializer};

use crate::model::op::PlaceholderStyle;

/// One statement, cut at its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sql {
    /// The text as written.
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A parameter's position in the op's list.
    Parameter(usize),
}

/// What is wrong with a statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SqlMistake {
    /// `:name` is not among the op's parameters.
    UnknownParameter(String),
    /// A parameter of the op that the statement does not use.
    UnusedParameter(String),
    /// A `;` with something after it.
    SeveralStatements,
    /// A quote or a comment that does not end.
    Unterminated(&'static str),
    /// There is nothing in it.
    Empty,
}

impl Serialize for Sql {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl Sql {
    /// Cuts `text` at the parameters called `names`; collects everything that is wrong.
    pub(super) fn parse(text: &str, names: &[&str]) -> Result<Self, Vec<SqlMistake>> {
        let text = text.trim().trim_end_matches(';').trim_end();
        let mut mistakes = Vec::new();
        let mut pieces = Vec::new();
        let mut used = vec![false; names.len()];
        let (mut copied, mut at) = (0, 0);
        while at < text.len() {
            let rest = text.get(at..).unwrap_or_default();
            match Token::first(rest) {
                Err(what) => {
                    mistakes.push(SqlMistake::Unterminated(what));
                    break;
                }
                Ok(Token::Other(length)) => at += length,
                Ok(Token::Semicolon) => {
                    mistakes.push(SqlMistake::SeveralStatements);
                    at += 1;
                }
                Ok(Token::Parameter(name)) => {
                    let before = text.get(copied..at).unwrap_or_default();
                    match names.iter().position(|known| *known == name) {
                        Some(position) => {
                            used[position] = true;
                            pieces.push(Piece::Text(before.to_owned()));
                            pieces.push(Piece::Parameter(position));
                        }
                        None => mistakes.push(SqlMistake::UnknownParameter(name.to_owned())),
                    }
                    at += 1 + name.len();
                    copied = at;
                }
            }
        }
        pieces.push(Piece::Text(
            text.get(copied..).unwrap_or_default().to_owned(),
        ));
        if text.is_empty() {
            mistakes.push(SqlMistake::Empty);
        }
        let unused = names.iter().zip(&used).filter(|(_, used)| !**used);
        mistakes.extend(unused.map(|(name, _)| SqlMistake::UnusedParameter((*name).to_owned())));
        if mistakes.is_empty() {
            let text = text.to_owned();
            Ok(Self { text, pieces })
        } else {
            Err(mistakes)
        }
    }

    /// The statement with numbered placeholders. `counts` says how many values each parameter of
    /// the op stands for; numbers follow each other, those of a list with commas between them.
    pub(super) fn with_placeholders(&self, style: PlaceholderStyle, counts: &[u64]) -> String {
        let mark = match style {
            PlaceholderStyle::Dollar => '$',
            PlaceholderStyle::Question => '?',
        };
        let placeholders = |position: usize| {
            let before: u64 = counts.iter().take(position).sum();
            let count = counts.get(position).copied().unwrap_or(1);
            let numbers = (before + 1..=before + count).map(|number| format!("{mark}{number}"));
            numbers.collect::<Vec<_>>().join(", ")
        };
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Parameter(position) => placeholders(*position),
            })
            .collect()
    }
}

/// What a text begins with.
enum Token<'t> {
    /// So many bytes of no interest.
    Other(usize),
    Semicolon,
    /// The name behind a colon.
    Parameter(&'t str),
}

impl<'t> Token<'t> {
    /// The first token of a text that is not empty; the name of what does not end.
    fn first(text: &'t str) -> Result<Self, &'static str> {
        let until = |end: &str, skip: usize, what| {
            let body = text.get(skip..).unwrap_or_default();
            let length = body.find(end).ok_or(what)?;
            Ok(Self::Other(skip + length + end.len()))
        };
        let second = text.chars().nth(1);
        match (text.chars().next().unwrap_or(' '), second) {
            ('\'', _) => until("'", 1, "string"),
            ('"', _) => until("\"", 1, "quoted name"),
            ('`', _) => until("`", 1, "quoted name"),
            ('-', Some('-')) => Ok(Self::Other(text.find('\n').unwrap_or(text.len()))),
            ('/', Some('*')) => until("*/", 2, "comment"),
            (':', Some(':')) => Ok(Self::Other(2)),
            (':', Some(c)) if c.is_ascii_alphabetic() || c == '_' => Ok(Self::Parameter(
                name_at_start(text.get(1..).unwrap_or_default()),
            )),
            (';', _) => Ok(Self::Semicolon),
            ('$', Some(c)) if c == '$' || c.is_ascii_alphabetic() || c == '_' => {
                let tag = name_at_start(text.get(1..).unwrap_or_default());
                match text.get(..tag.len() + 2) {
                    Some(quote) if quote.ends_with('$') => {
                        until(quote, quote.len(), "dollar-quoted string")
                    }
                    _ => Ok(Self::Other(1)),
                }
            }
            // A word is skipped whole, so that a dollar or a colon inside it starts nothing.
            (c, _) if c.is_alphanumeric() || c == '_' => {
                let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
                Ok(Self::Other(end.unwrap_or(text.len())))
            }
            (c, _) => Ok(Self::Other(c.len_utf8())),
        }
    }
}

/// The letters, digits and underscores that a text begins with.
fn name_at_start(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, names: &[&str], dollar: &str) {
        let sql = Sql::parse(text, names).unwrap();
        let counts = vec![1; names.len()];
        assert_eq!(
            sql.with_placeholders(PlaceholderStyle::Dollar, &counts),
            dollar
        );
    }

    fn refused(text: &str, names: &[&str], mistake: SqlMistake) {
        assert_eq!(Sql::parse(text, names), Err(vec![mistake]), "{text}");
    }

    #[test]
    fn parameters_are_numbered_by_the_list_not_by_the_text() {
        check("SELECT :b, :a, :b", &["a", "b"], "SELECT $2, $1, $2");
        let sql = Sql::parse("SELECT :a;", &["a"]).unwrap();
        assert_eq!(
            sql.with_placeholders(PlaceholderStyle::Question, &[1]),
            "SELECT ?1"
        );
    }

    #[test]
    fn a_list_has_a_placeholder_for_each_value() {
        let sql = Sql::parse("a IN (:b) AND :a AND :c", &["a", "b", "c"]).unwrap();
        assert_eq!(
            sql.with_placeholders(PlaceholderStyle::Question, &[1, 3, 1]),
            "a IN (?2, ?3, ?4) AND ?1 AND ?5"
        );
    }

    #[test]
    fn other_colons_are_left_alone() {
        check(
            "SELECT ':no', \":no\", `:no`, 'it''s :no', x::text, :a::int, a[1:2] -- :no ;\n/* :no; */",
            &["a"],
            "SELECT ':no', \":no\", `:no`, 'it''s :no', x::text, $1::int, a[1:2] -- :no ;\n/* :no; */",
        );
        check(
            "SELECT $$ :no; $$, $t$ :no $$ $t$, $1",
            &[],
            "SELECT $$ :no; $$, $t$ :no $$ $t$, $1",
        );
        check("SELECT 'é', :a, 'ü:no'", &["a"], "SELECT 'é', $1, 'ü:no'");
    }

    #[test]
    fn mistakes_are_told_apart() {
        refused(
            "SELECT :hots",
            &[],
            SqlMistake::UnknownParameter("hots".into()),
        );
        refused(
            "SELECT 1",
            &["host"],
            SqlMistake::UnusedParameter("host".into()),
        );
        refused("SELECT 1; SELECT 2", &[], SqlMistake::SeveralStatements);
        refused("SELECT 'a", &[], SqlMistake::Unterminated("string"));
        refused("SELECT /* a", &[], SqlMistake::Unterminated("comment"));
        refused(" ; ", &[], SqlMistake::Empty);
    }
}
