//! From the text of a workload file to its [`Definition`]; all errors are collected.
//!
//! What could not be read is replaced by a placeholder, so that one error does not make
//! others out of every reference to it; a definition is returned only if nothing is wrong.

mod data_time;
mod distribution;
mod entity;
mod field;
mod generator;
mod invariant;
mod keys;
pub(super) mod kinds;
mod op;
mod parameter;
mod parts;
mod plain;
mod reference;
mod statement;
mod table;
mod writes;

pub(super) use distribution::DISTRIBUTIONS;

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::DeTable;

use super::definition::Definition;
use super::parameter::{ParameterKind, ParameterSpec, Setting};
use super::section::{Entry, Reader, Section};
use crate::input_error::{InputError, suggest};

/// Bytes of a workload file, at most.
const MAX_TEXT: usize = 1 << 20;

/// Entities, tables, columns, ops or the like in one file, at most.
const MAX_ITEMS: usize = 1_000;

/// The version of the format that this module reads.
const FORMAT: i64 = 1;

/// Reads a workload with the given settings for its parameters.
pub(super) fn read(
    text: &str,
    settings: &BTreeMap<String, String>,
) -> Result<Definition, Vec<InputError>> {
    if text.len() > MAX_TEXT {
        let message = format!("a workload file has at most {MAX_TEXT} bytes");
        return Err(vec![InputError::at(text, 0..0, message)]);
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader {
        text,
        settings: BTreeMap::new(),
        errors: Vec::new(),
    };
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        reader.report(span, error.message(), None);
    }
    if !reader.errors.is_empty() {
        return Err(in_order(reader.errors));
    }
    let root = Section::new("the workload file".to_owned(), 0..0, document.get_ref());
    let definition = read_root(&mut reader, root, settings);
    match definition {
        Some(definition) if reader.errors.is_empty() => Ok(definition),
        _ => Err(in_order(reader.errors)),
    }
}

/// Errors in the order of the file; those that are not in it come first.
fn in_order(mut errors: Vec<InputError>) -> Vec<InputError> {
    errors.sort_by_key(|error| (error.line, error.column));
    errors
}

fn read_root(
    reader: &mut Reader<'_>,
    mut root: Section<'_, '_>,
    settings: &BTreeMap<String, String>,
) -> Option<Definition> {
    let format = root.integer(reader, "format", FORMAT..=FORMAT, None);
    let parameters = read_parameters(reader, &mut root, settings);
    let name = root.text(reader, "name");
    if let Some(name) = &name {
        let span = root.optional("name").map_or(0..0, toml::Spanned::span);
        check_name(reader, "workload", name, span);
    }
    let version = root.integer(reader, "version", 1..=1_000_000, None);
    let summary = root.text(reader, "summary");
    let source = root.text_or_empty(reader, "source");
    let entities = entity::read_entities(reader, &mut root);
    let tables = table::read_tables(reader, &mut root, &entities);
    let ops = op::read_ops(reader, &mut root, &entities, &tables);
    let streams = op::read_streams(reader, &mut root, &ops);
    let load = op::read_load(reader, &mut root, &ops);
    let invariants = invariant::read_invariants(reader, &mut root);
    let data_time = data_time::read_data_time(reader, &mut root);
    root.finish(reader);
    Some(Definition {
        format: u32::try_from(format?).ok()?,
        name: name?,
        version: u32::try_from(version?).ok()?,
        summary: summary?,
        source,
        parameters,
        settings: reader.settings.clone(),
        entities,
        tables,
        ops,
        streams,
        load,
        invariants,
        data_time,
    })
}

/// Reads `[parameters]` and puts the chosen or default values into the reader.
fn read_parameters(
    reader: &mut Reader<'_>,
    root: &mut Section<'_, '_>,
    settings: &BTreeMap<String, String>,
) -> Vec<ParameterSpec> {
    let mut specs = Vec::new();
    if let Some(all) = root.section(reader, "parameters", "the parameters".to_owned()) {
        for (name, span, entry) in limited(reader, &all, "parameters") {
            check_name(reader, "parameter", name, span);
            let chosen = settings.get(name).map(String::as_str);
            if let Some(spec) = read_parameter(reader, &all, (name, entry), chosen) {
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
    (name, entry): (&str, Entry<'_, '_>),
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
        (Some(kind), Some(entry)) => setting_of(reader, &section, ("default", entry), kind),
        _ => None,
    };
    let words = read_words(reader, &mut section, kind);
    let least = section.optional("min");
    let most = section.optional("max");
    let bounds = kind.map(|kind| {
        let mut bound = |key, entry: Option<Entry<'_, '_>>| {
            entry
                .and_then(|entry| setting_of(reader, &section, (key, entry), kind))
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
        check_words(reader, (name, span.clone()), &value, &words);
        check_bounds(reader, (name, span), &value, bounds);
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
    (name, span): (&str, Option<Range<usize>>),
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
    (key, entry): (&str, Entry<'_, '_>),
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
    (name, span): (&str, Option<Range<usize>>),
    value: &Setting,
    (min, max): (Option<i64>, Option<i64>),
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

/// The `name` of a list's element: an identifier that none of the earlier ones has.
fn named_element(
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
fn check_name(reader: &mut Reader<'_>, what: &str, name: &str, span: Range<usize>) {
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
fn limited<'a, 't>(
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
fn position_of<'n>(
    reader: &mut Reader<'_>,
    names: impl Iterator<Item = &'n str>,
    what: &str,
    (name, span): (&str, Range<usize>),
) -> Option<usize> {
    let names: Vec<&str> = names.collect();
    let position = names.iter().position(|known| *known == name);
    if position.is_none() {
        let hint = suggest(name, names).or_else(|| Some(format!("there is no {what} here")));
        reader.report(span, format!("unknown {what} `{name}`"), hint);
    }
    position
}
