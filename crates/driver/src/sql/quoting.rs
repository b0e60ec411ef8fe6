//! Names and texts as SQL reads them, by the dialect's kind of quotes.
//!
//! Must not be used for PostgreSQL's own literals: `postgres_protocol` escapes these.

/// A quoted identifier, whatever the name contains.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text literal, in a dialect without backslash escapes.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A quoted identifier of a dialect where double quotes are for texts.
pub fn backquoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text literal of a dialect with backslash escapes.
pub fn backslashed(text: &str) -> String {
    literal(&text.replace('\\', "\\\\"))
}

/// A text literal of a dialect where a backslash escapes quotes too, and a zero ends a statement.
pub fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "\\'");
    format!("'{}'", text.replace('\0', "\\0"))
}

/// Bytes of what is quoted at the beginning of a text, both quotes among them; where it has `escapes`, a
/// backslash takes the next character.
pub fn quoted_length(text: &str, escapes: bool) -> usize {
    let mut letters = text.char_indices();
    let quote = letters.next().map(|(_, quote)| quote);
    let mut escaped = false;
    for (at, letter) in letters {
        match letter {
            _ if escaped => escaped = false,
            '\\' if escapes => escaped = true,
            _ if Some(letter) == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}
