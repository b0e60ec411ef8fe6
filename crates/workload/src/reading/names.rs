//! Names in a workload file: of the elements of a list, of the entries of a section, and the
//! positions that names stand for.
//!
//! What must not be here: what the named things are.

use std::ops::Range;

use super::section::{Entry, Reader, Section};
use highwater_model::input_error::suggest;

/// Entities, tables, columns, ops or the like in one file, at most.
pub(super) const MAX_ITEMS: usize = 1_000;

/// The `name` of a list's element: an identifier that none of the earlier ones has.
pub(super) fn named_element(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    what: &str,
    taken: &[&str],
) -> String {
    let name = section.text(reader, "name").unwrap_or_default();
    let span = section.optional("name").map(toml::Spanned::span);
    if let Some(span) = span.filter(|_| !name.is_empty()) {
        check_name(reader, what, &name, span.clone());
        if taken.contains(&name.as_str()) {
            let hint = Some("give one of them another name".to_owned());
            reader.report(span, format!("there are two of {what} `{name}`"), hint);
        }
    }
    name
}

/// Notes a name that would need quoting somewhere.
pub(super) fn check_name(reader: &mut Reader<'_>, what: &str, name: &str, span: Range<usize>) {
    let mut chars = name.chars();
    let starts = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let dash = matches!(what, "workload" | "op" | "stream" | "invariant");
    let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || (dash && c == '-'));
    if !starts || !goes_on || name.len() > 63 {
        let hint = "a name is a letter, then letters, digits and _, at most 63".to_owned();
        let article = match what.chars().next() {
            Some('a' | 'e' | 'i' | 'o' | 'u') => "an",
            _ => "a",
        };
        let message = format!("`{name}` cannot name {article} {what}");
        reader.report(span, message, Some(hint));
    }
}

/// The entries of a section, as many as are allowed.
pub(super) fn limited<'a, 't>(
    reader: &mut Reader<'_>,
    section: &Section<'a, 't>,
    what: &str,
) -> Vec<(&'a str, Range<usize>, Entry<'a, 't>)> {
    let mut entries = section.entries();
    if let Some((_, span, _)) = entries.get(MAX_ITEMS) {
        let hint = Some(format!("at most {MAX_ITEMS} are read"));
        reader.report(span.clone(), format!("more than {MAX_ITEMS} {what}"), hint);
        entries.truncate(MAX_ITEMS);
    }
    entries
}

/// The position of a name in a list; an unknown one is noted.
pub(super) fn position_of<'n>(
    reader: &mut Reader<'_>,
    names: impl Iterator<Item = &'n str>,
    what: &str,
    name: &str,
    span: Range<usize>,
) -> Option<usize> {
    let names: Vec<&str> = names.collect();
    let position = names.iter().position(|known| *known == name);
    if position.is_none() {
        let hint = suggest(name, names).or_else(|| Some(format!("there is no {what} here")));
        reader.report(span, format!("unknown {what} `{name}`"), hint);
    }
    position
}
