//! Quotes names and texts, by the dialect's kind of quotes. Must not know a server.

/// A quoted identifier; any name is allowed.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text literal, in a dialect without backslash escapes.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A quoted identifier of a dialect in which double quotes enclose texts.
pub fn backquoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text literal of a dialect with backslash escapes.
pub fn backslashed(text: &str) -> String {
    literal(&text.replace('\\', "\\\\"))
}

/// A text literal of a dialect in which a backslash also escapes quotes, and a zero byte ends a statement.
pub fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "\\'");
    format!("'{}'", text.replace('\0', "\\0"))
}

/// Length in bytes of the quoted part at the start of a text, including both quotes; with `escapes`, a backslash
/// escapes the next character.
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
