//! Parts that many sections have: one of a few words, two ends, a table of dialects, a type and a
//! generator.
//!
//! What must not be here: the options of one generator.

use super::kinds::{Kind, TYPE_NAMES, name_of, type_named};
use super::section::{Reader, Section};
use highwater_model::input_error::suggest;
use highwater_model::op::ColumnType;

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

/// The `type` of a column or a parameter.
pub(super) fn read_type(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
) -> Option<ColumnType> {
    let entry = section.required(reader, "type", "\"integer\"")?;
    let word = section.text_of(reader, "type", entry)?;
    let found = type_named(&word);
    if found.is_none() {
        let hint = suggest(&word, TYPE_NAMES);
        reader.report(entry.span(), format!("unknown type `{word}`"), hint);
    }
    found
}

/// The `generator`, one of `kinds` and able to make `kind`.
pub(super) fn read_kind(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    kind: ColumnType,
    known: &[&'static [Kind]],
) -> Option<&'static str> {
    let entry = section.required(reader, "generator", "\"uniform\"")?;
    let word = section.text_of(reader, "generator", entry)?;
    let all = || known.iter().copied().flatten();
    let Some(generator) = all().find(|known| known.name == word) else {
        let hint = suggest(&word, all().map(|known| known.name));
        let message = format!("unknown generator `{word}` for {}", section.place);
        reader.report(entry.span(), message, hint);
        return None;
    };
    let name = generator.name;
    if !generator.makes.contains(&kind) {
        let names: Vec<&str> = generator.makes.iter().map(|kind| name_of(*kind)).collect();
        let message = format!("generator `{name}` does not make type `{}`", name_of(kind));
        let hint = Some(format!("it makes {}", names.join(", ")));
        reader.report(entry.span(), message, hint);
        return None;
    }
    Some(name)
}

/// A duration of at least a millisecond.
pub(super) fn positive(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    key: &'static str,
    default: Option<i64>,
) -> Option<i64> {
    let duration = section.duration(reader, key, default)?;
    if duration >= 1 {
        return Some(duration);
    }
    let span = section.optional(key).map_or(0..0, toml::Spanned::span);
    let message = format!("`{key}` of {} must be longer than nothing", section.place);
    reader.report(span, message, Some("write \"10s\"".to_owned()));
    None
}
