//! `[parameters]`: the parameters of a workload, and the values that a user chose. Must not read the parameters of
//! queries.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::input::{Entry, Hint, Reader, Section};
use crate::parameter::{ParameterKind, ParameterSpec, Setting};
use highwater_model::input_error::{InputError, suggest};

/// Reads `[parameters]` and passes the chosen or default values to the reader.
pub(super) fn read_parameters(
    root: &Section<'_>,
    settings: &BTreeMap<String, String>,
) -> Vec<ParameterSpec> {
    let specs = root.each("parameters", "parameter", |entry| {
        let chosen = settings.get(entry.key).map(String::as_str);
        read_parameter(entry, root.reader, chosen)
    });
    let known: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    for name in settings.keys() {
        if !known.contains(&name.as_str()) && root.reader.errors.borrow().is_empty() {
            let message = format!("this workload has no parameter `{name}`");
            note(root.reader, None, message, suggest(name, known.iter().copied()));
        }
    }
    specs
}

fn read_parameter(
    entry: Entry<'_>,
    reader: &Reader<'_>,
    chosen: Option<&str>,
) -> Option<ParameterSpec> {
    let name = entry.key;
    let of = entry.section(format!("parameter `{name}`"))?;
    let kind = of.required("type", "\"integer\"").and_then(|entry| {
        let word = entry.text()?;
        let mut kinds = ParameterKind::ALL.into_iter();
        kinds.find(|kind| kind.name() == word).or_else(|| {
            let hint = suggest(&word, ParameterKind::ALL.map(ParameterKind::name));
            entry.error(format!("unknown type `{word}`"), hint)
        })
    });
    let default = of.required("default", "…");
    let span = default.map(Entry::span);
    let summary = of.text_or_empty("summary");
    let default = default.zip(kind).and_then(|(entry, kind)| setting_of(entry, kind, &of.place));
    let values = read_values(&of, kind);
    let bounds = ["min", "max"].map(|key| {
        let setting =
            of.optional(key).zip(kind).and_then(|(entry, kind)| setting_of(entry, kind, &of.place));
        setting.and_then(|setting| setting.number())
    });
    of.finish();
    let (kind, default) = (kind?, default?);
    let value = match chosen {
        None => Some(default.clone()),
        Some(text) => chosen_setting(reader, name, text, kind),
    };
    if let Some(value) = &value {
        let span = span.filter(|_| chosen.is_none());
        check_value(reader, name, value, span, &values, bounds);
    }
    let value = value.unwrap_or(default.clone());
    reader.settings.borrow_mut().insert(name.to_owned(), value);
    Some(ParameterSpec {
        name: name.to_owned(),
        kind,
        default: default.to_string(),
        values,
        summary,
    })
}

/// The allowed `values` of a text parameter; empty if any are.
fn read_values(of: &Section<'_>, kind: Option<ParameterKind>) -> Vec<String> {
    if let Some(entry) = of.optional("values")
        && kind.is_some_and(|kind| kind != ParameterKind::Text)
    {
        let message = format!("`values` of {} are for text", of.place);
        entry.error::<()>(message, "numbers and times have `min` and `max`");
    }
    of.texts("values")
}

/// A default or a bound as it is written in the file.
fn setting_of(entry: Entry<'_>, kind: ParameterKind, place: &str) -> Option<Setting> {
    if kind != ParameterKind::Text {
        let number = entry.number(kind)?;
        return Some(Setting::Number(kind, number));
    }
    Setting::parse(kind, &entry.text()?).or_else(|| {
        let message = format!("`{}` of {place} is not plain text", entry.key);
        entry.error(message, kind.example())
    })
}

fn chosen_setting(
    reader: &Reader<'_>,
    name: &str,
    text: &str,
    kind: ParameterKind,
) -> Option<Setting> {
    let setting = Setting::parse(kind, text);
    if setting.is_none() {
        let shown: String = text.chars().take(80).collect();
        let message = format!("`{shown}` is no {kind} for parameter `{name}`");
        note(reader, None, message, format!("write {}", kind.example()));
    }
    setting
}

/// Reports a value that is not one of `values`, if there are any, or not within `bounds`; `span` is its position, if it
/// is in the file.
fn check_value(
    reader: &Reader<'_>,
    name: &str,
    value: &Setting,
    span: Option<Range<usize>>,
    values: &[String],
    bounds: [Option<i64>; 2],
) {
    let (kind, number) = match value {
        Setting::Number(kind, number) => (*kind, *number),
        Setting::Text(text) => {
            if !values.is_empty() && !values.contains(text) {
                let hint = suggest(text, values.iter().map(String::as_str));
                let message = format!("parameter `{name}` is `{text}`");
                note(reader, span, message, hint);
            }
            return;
        }
    };
    let in_unit = |number| Setting::Number(kind, number);
    let wrong = match bounds {
        [Some(min), _] if number < min => format!("at least {}", in_unit(min)),
        [_, Some(max)] if number > max => format!("at most {}", in_unit(max)),
        _ => return,
    };
    let hint = span.as_ref().map(|_| "change one of the two".to_owned());
    note(reader, span, format!("parameter `{name}` is {value}; it must be {wrong}"), hint);
}

/// Reports an error at its position, or outside the file without one.
fn note(reader: &Reader<'_>, span: Option<Range<usize>>, message: String, hint: impl Hint) {
    match span {
        Some(span) => reader.report(span, message, hint),
        None => reader.note(InputError::elsewhere(message).with_hint(hint.hint())),
    }
}
