//! Formats TOML strings. Must not know the keys of a workload file.

/// A TOML string: JSON's escapes are among TOML's.
pub(super) use crate::entity::quoted;

/// A TOML string that is readable with quotes and line breaks.
pub(super) fn text(text: &str) -> String {
    let plain = !text.contains(|c: char| c.is_control() && c != '\n');
    let fits = plain && !text.contains("'''") && !text.starts_with('\'') && !text.ends_with('\'');
    match text {
        _ if !fits || !text.contains(['"', '\n', '\\']) => quoted(text),
        _ if !text.contains(['\'', '\n']) => format!("'{text}'"),
        // The line break after the opening quotes is not part of the text.
        _ if text.contains('\n') => format!("'''\n{text}'''"),
        _ => format!("'''{text}'''"),
    }
}
