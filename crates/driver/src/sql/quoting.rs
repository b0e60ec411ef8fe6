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
