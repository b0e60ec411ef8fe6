//! Names and texts as SQL reads them, in dialects without backslash escapes.
//!
//! Must not be used for PostgreSQL's own literals: `postgres_protocol` escapes these.

/// A quoted identifier, whatever the name contains.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
