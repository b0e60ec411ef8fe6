//! Strings as TOML writes them.
//!
//! What must not be here: which keys a workload file has.

/// A TOML string: JSON's escapes are among TOML's.
pub(super) use crate::entity::quoted;

/// A TOML string that reads well with quotes and lines in it.
pub(super) fn text(text: &str) -> String {
    let plain = !text.contains(|c: char| c.is_control() && c != '\n');
    let fits = plain && !text.contains("'''") && !text.starts_with('\'') && !text.ends_with('\'');
    match text {
        _ if !fits || !text.contains(['"', '\n', '\\']) => quoted(text),
        _ if !text.contains(['\'', '\n']) => format!("'{text}'"),
        // The line's end behind the opening quotes is none of the text.
        _ if text.contains('\n') => format!("'''\n{text}'''"),
        _ => format!("'''{text}'''"),
    }
}
