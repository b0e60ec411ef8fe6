//! Transactions of several statements: splitting a text into them, and the words that begin and end a transaction. Must
//! not hold BEGIN and COMMIT themselves; each driver sends those of its target.

use std::ops::Range;

use super::sql::{Token, tokens, words};

/// Maximum number of statements in a transaction.
pub(super) const MAX_STATEMENTS: usize = 1_000;

/// First words of the statements that begin, end or divide a transaction.
const CONTROL: [&str; 9] =
    ["abort", "begin", "commit", "end", "prepare", "release", "rollback", "savepoint", "start"];

/// The effect of a statement on its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// Begins one, without a mode.
    Begin,
    /// Begins one with a mode.
    BeginWithMode,
    /// Commits one.
    End,
    /// Anything else that is invalid inside a transaction.
    Other,
}

impl Control {
    /// The effect of a statement; `None` if it has none.
    pub(super) fn of(statement: &str) -> Option<Self> {
        let words = words(statement);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["begin"] | ["begin", "transaction" | "work"] | ["start", "transaction"] => {
                Some(Self::Begin)
            }
            ["commit" | "end"] | ["commit" | "end", "transaction" | "work"] => Some(Self::End),
            ["begin", ..] | ["start", "transaction", ..] => Some(Self::BeginWithMode),
            [first, ..] if CONTROL.contains(first) => Some(Self::Other),
            _ => None,
        }
    }
}

/// The positions of the statements of a text, without semicolons, spaces, and comments between them.
pub(super) fn statements(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let mut read = 0;
    for (place, token) in tokens(text) {
        read = place.end;
        let piece = text.get(place.clone()).unwrap_or_default();
        let blank = piece.trim().is_empty() || piece.starts_with("--") || piece.starts_with("/*");
        match (token, found.last_mut().filter(|_| open)) {
            (Token::Semicolon, _) => open = false,
            (_, _) if blank => {}
            (_, Some(last)) => last.end = place.end,
            (_, None) => {
                found.push(place);
                open = true;
            }
        }
    }
    // Text without an end belongs to the last one.
    if read < text.len() {
        match found.last_mut().filter(|_| open) {
            Some(last) => last.end = text.len(),
            None => found.push(read..text.len()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        statements(text).into_iter().map(|place| &text[place]).collect()
    }

    #[test]
    fn a_text_is_cut_at_semicolons_outside_of_quotes_and_comments() {
        for (text, expected) in [
            ("", &[][..]),
            (" ; -- nothing\n;/* ; */", &[]),
            ("SELECT 1", &["SELECT 1"]),
            (
                "-- first\nBEGIN;\n UPDATE t SET a = ';' ; -- then\nEND ;\n",
                &["BEGIN", "UPDATE t SET a = ';'", "END"],
            ),
            ("SELECT $$;$$, \";\";SELECT :a", &["SELECT $$;$$, \";\"", "SELECT :a"]),
            ("SELECT 1; SELECT 'x; END", &["SELECT 1", "SELECT 'x; END"]),
            ("'x; END", &["'x; END"]),
        ] {
            assert_eq!(cut(text), expected, "{text}");
        }
    }

    #[test]
    fn transaction_control_is_distinguished_from_statements_about_rows() {
        for (text, control) in [
            ("BEGIN", Some(Control::Begin)),
            ("begin work", Some(Control::Begin)),
            ("/* so */ START TRANSACTION", Some(Control::Begin)),
            ("BEGIN ISOLATION LEVEL SERIALIZABLE", Some(Control::BeginWithMode)),
            ("BEGIN IMMEDIATE", Some(Control::BeginWithMode)),
            ("END", Some(Control::End)),
            ("COMMIT WORK", Some(Control::End)),
            ("COMMIT PREPARED 'x'", Some(Control::Other)),
            ("ROLLBACK", Some(Control::Other)),
            ("SAVEPOINT a", Some(Control::Other)),
            ("UPDATE t SET begin = 1", None),
            ("SELECT 'commit'", None),
        ] {
            assert_eq!(Control::of(text), control, "{text}");
        }
    }
}
