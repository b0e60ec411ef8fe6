//! `[parameters]`: what can be set in a workload, and the values that a user chose.
//!
//! What must not be here: the parameters of queries.

use std::collections::BTreeMap;
use std::ops::Range;

use super::names::{check_name, limited};
use super::section::{Entry, Reader, Section};
use crate::parameter::{ParameterKind, ParameterSpec, Setting};
use highwater_model::input_error::{InputError, suggest};

/// Reads `[parameters]` and puts the chosen or default values into the reader.
pub(super) fn read_parameters(
    reader: &mut Reader<'_>,
    root: &mut Section<'_, '_>,
    settings: &BTreeMap<String, String>,
) -> Vec<ParameterSpec> {
    let mut specs = Vec::new();
    if let Some(all) = root.section(reader, "parameters", "the parameters".to_owned()) {
        for (name, span, entry) in limited(reader, &all, "parameters") {
            check_name(reader, "parameter", name, span);
            let chosen = settings.get(name).map(String::as_str);
            if let Some(spec) = read_parameter(reader, &all, name, entry, chosen) {
                specs.push(spec);
            }
        }
    }
    let known: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    for name in settings.keys() {
        if !known.contains(&name.as_str()) && reader.errors.is_empty() {
            let message = format!("this workload has no parameter `{name}`");
            let hint = suggest(name, known.iter().copied());
            reader.note(InputError::elsewhere(message).with_hint(hint));
        }
    }
    specs
}

fn read_parameter(
    reader: &mut Reader<'_>,
    all: &Section<'_, '_>,
    name: &str,
    entry: Entry<'_, '_>,
    chosen: Option<&str>,
) -> Option<ParameterSpec> {
    let place = format!("parameter `{name}`");
    let mut section = all.as_section(reader, name, entry, place)?;
    let kind_entry = section.required(reader, "type", "\"integer\"");
    let kind = kind_entry.and_then(|entry| {
        let word = section.text_of(reader, "type", entry)?;
        let kind = ParameterKind::named(&word);
        if kind.is_none() {
            let hint = suggest(&word, ParameterKind::NAMES);
            reader.report(entry.span(), format!("unknown type `{word}`"), hint);
        }
        kind
    });
    let default = section.required(reader, "default", "…");
    let span = default.map(toml::Spanned::span);
    let summary = section.text_or_empty(reader, "summary");
    let default = match (kind, default) {
        (Some(kind), Some(entry)) => setting_of(reader, &section, "default", entry, kind),
        _ => None,
    };
    let words = read_words(reader, &mut section, kind);
    let least = section.optional("min");
    let most = section.optional("max");
    let bounds = kind.map(|kind| {
        let mut bound = |key, entry: Option<Entry<'_, '_>>| {
            entry
                .and_then(|entry| setting_of(reader, &section, key, entry, kind))
                .and_then(|setting| setting.number())
        };
        (bound("min", least), bound("max", most))
    });
    section.finish(reader);
    let (kind, default, bounds) = (kind?, default?, bounds?);
    let value = match chosen {
        None => Some(default.clone()),
        Some(text) => chosen_setting(reader, name, text, kind),
    };
    if let Some(value) = value {
        let span = chosen.is_none().then_some(span).flatten();
        check_words(reader, name, span.clone(), &value, &words);
        check_bounds(reader, name, span, &value, bounds.0, bounds.1);
        reader.settings.insert(name.to_owned(), value);
    } else {
        reader.settings.insert(name.to_owned(), default.clone());
    }
    Some(ParameterSpec {
        name: name.to_owned(),
        kind,
        default: default.to_string(),
        values: words,
        summary,
    })
}

/// The `values` that a text parameter may have; empty where any will do.
fn read_words(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    kind: Option<ParameterKind>,
) -> Vec<String> {
    let Some(entry) = section.optional("values") else {
        return Vec::new();
    };
    if kind.is_some_and(|kind| kind != ParameterKind::Text) {
        let message = format!("`values` of {} are for text", section.place);
        let hint = "numbers and times have `min` and `max`".to_owned();
        reader.report(entry.span(), message, Some(hint));
    }
    let elements = section.list(reader, "values").into_iter();
    elements
        .filter_map(|element| section.text_of(reader, "values", element))
        .collect()
}

/// Notes a value that is not among `words`.
fn check_words(
    reader: &mut Reader<'_>,
    name: &str,
    span: Option<Range<usize>>,
    value: &Setting,
    words: &[String],
) {
    let Setting::Text(text) = value else { return };
    if words.is_empty() || words.contains(text) {
        return;
    }
    let message = format!("parameter `{name}` is `{text}`");
    let hint = suggest(text, words.iter().map(String::as_str));
    match span {
        Some(span) => reader.report(span, message, hint),
        None => reader.note(InputError::elsewhere(message).with_hint(hint)),
    }
}

/// A default or a bound as it is written in the file.
fn setting_of(
    reader: &mut Reader<'_>,
    section: &Section<'_, '_>,
    key: &str,
    entry: Entry<'_, '_>,
    kind: ParameterKind,
) -> Option<Setting> {
    if kind == ParameterKind::Text {
        let text = section.text_of(reader, key, entry)?;
        let setting = Setting::parse(kind, &text);
        if setting.is_none() {
            let message = format!("`{key}` of {} is not plain text", section.place);
            reader.report(entry.span(), message, Some(kind.example().to_owned()));
        }
        return setting;
    }
    let number = section.number_of(reader, key, entry, kind)?;
    Some(match kind {
        ParameterKind::Integer => Setting::Integer(number),
        ParameterKind::Duration => Setting::Duration(number),
        _ => Setting::Timestamp(number),
    })
}

fn chosen_setting(
    reader: &mut Reader<'_>,
    name: &str,
    text: &str,
    kind: ParameterKind,
) -> Option<Setting> {
    let setting = Setting::parse(kind, text);
    if setting.is_none() {
        let shown: String = text.chars().take(80).collect();
        let message = format!("`{shown}` is no {kind} for parameter `{name}`");
        let hint = Some(format!("write {}", kind.example()));
        reader.note(InputError::elsewhere(message).with_hint(hint));
    }
    setting
}

/// Notes a value out of its bounds: at its place, or elsewhere if it is not the file's.
fn check_bounds(
    reader: &mut Reader<'_>,
    name: &str,
    span: Option<Range<usize>>,
    value: &Setting,
    min: Option<i64>,
    max: Option<i64>,
) {
    let Some(number) = value.number() else { return };
    let in_unit = |number| match value.kind() {
        ParameterKind::Duration => Setting::Duration(number).to_string(),
        ParameterKind::Timestamp => Setting::Timestamp(number).to_string(),
        ParameterKind::Integer | ParameterKind::Text => number.to_string(),
    };
    let wrong = match (min, max) {
        (Some(min), _) if number < min => format!("at least {}", in_unit(min)),
        (_, Some(max)) if number > max => format!("at most {}", in_unit(max)),
        _ => return,
    };
    let message = format!("parameter `{name}` is {value}; it must be {wrong}");
    match span {
        Some(span) => reader.report(span, message, Some("change one of the two".to_owned())),
        None => reader.note(InputError::elsewhere(message)),
    }
}
