//! Placeholders of a cluster file's texts: `{node}`, `{port.http}`. Must not know their values.

/// A placeholder without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown placeholder `{{{0}}}`")]
pub struct UnknownPlaceholder(pub String);

/// Replaces every placeholder in a text by its value.
///
/// A placeholder is a name in braces: a lower-case letter, then lower-case letters, digits, `.`, `_` and `-`. Other
/// braces are unchanged, and so are those after `$`, which belong to the shell.
///
/// # Errors
/// The first placeholder without a value.
pub fn expand(
    text: &str,
    mut value: impl FnMut(&str) -> Option<String>,
) -> Result<String, UnknownPlaceholder> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        whole.push_str(before);
        match name_of(after) {
            Some((name, behind)) if !before.ends_with('$') => {
                let filled = value(name).ok_or_else(|| UnknownPlaceholder(name.to_owned()))?;
                whole.push_str(&filled);
                rest = behind;
            }
            _ => {
                whole.push('{');
                rest = after;
            }
        }
    }
    whole.push_str(rest);
    Ok(whole)
}

/// The name before the closing brace, if it is valid, and the text after the brace.
fn name_of(after: &str) -> Option<(&str, &str)> {
    let (name, behind) = after.split_once('}')?;
    is_name(name).then_some((name, behind))
}

/// Whether a text is a valid placeholder name.
fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c);
    begins && name.chars().all(allowed)
}
