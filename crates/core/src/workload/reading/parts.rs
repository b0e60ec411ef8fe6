//! Parts that many sections have: one of a few words, two ends, a table of dialects.

use super::super::section::{Reader, Section};
use crate::input_error::suggest;

/// One of a few words.
pub(super) fn word<T: Copy>(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    key: &'static str,
    words: &[(&'static str, T)],
) -> Option<T> {
    let first = words.first().map_or("", |(word, _)| word);
    let entry = section.required(reader, key, &format!("\"{first}\""))?;
    let text = section.text_of(reader, key, entry)?;
    let found = words.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let message = format!("unknown `{key}` `{text}` of {}", section.place);
        reader.report(
            entry.span(),
            message,
            suggest(&text, words.iter().map(|(word, _)| *word)),
        );
    }
    found.map(|(_, value)| *value)
}

/// Notes ends in the wrong order.
pub(super) fn ordered(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    good: bool,
) -> Option<()> {
    if !good {
        let span = section
            .optional("max")
            .map_or(section.span.clone(), toml::Spanned::span);
        let message = format!("`max` of {} must be above its `min`", section.place);
        reader.report(span, message, Some("swap the two".to_owned()));
    }
    good.then_some(())
}

pub(super) fn float_ends(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
) -> Option<(f64, f64)> {
    let min = section.float(reader, "min", None);
    let max = section.float(reader, "max", None);
    let (min, max) = (min?, max?);
    // Their distance must be a number too.
    ordered(reader, section, min < max && (max - min).is_finite())?;
    Some((min, max))
}

/// A required table from dialects to something.
pub(super) fn per_dialect<'a, 't>(
    reader: &mut Reader<'_>,
    section: &mut Section<'a, 't>,
    key: &'static str,
) -> Option<Section<'a, 't>> {
    let entry = section.required(reader, key, "{ DIALECT = \"…\" }")?;
    let place = format!("`{key}` of {}", section.place);
    let part = section.as_section(reader, key, entry, place)?;
    if part.entries().is_empty() {
        reader.report(
            entry.span(),
            format!("{} names no dialect", part.place),
            Some("write { any = \"…\" } for all targets".to_owned()),
        );
    }
    Some(part)
}
