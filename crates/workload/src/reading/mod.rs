//! From the text of a workload file to its definition; all errors are collected. Must not hold rows, ops, or SQL; a
//! definition is data.

mod op;
mod steps;
mod table;

use std::collections::BTreeMap;
use std::ops::Range;

use highwater_model::op::ColumnType;
use highwater_model::user_error::{UserError, one_line, suggest};
use op::{read_load, read_ops, read_sql, read_stream};
use table::read_tables;
use toml::de::{DeTable, DeValue};

use crate::definition::{DataTime, DataTimeMode, Definition, InvariantDefinition, OpDefinition};
use crate::generators::plain::{PLAIN, Plain};
use crate::generators::{read_generator, read_type};
use crate::input::{Entry, Hint, Reader, Section, check_name};
use crate::invariants::Expected;
use crate::parameter::{ParameterKind, ParameterSpec, Setting};
use crate::rows::{Attribute, AttributeGenerator, Entity, MAX_ENTITIES, read_choice_by};
use crate::sql::only_reads;

/// Reads `[data_time]`; if absent, the data's time never follows the clock.
fn read_data_time(root: &Section<'_>) -> Option<DataTime> {
    let of = root.part("data_time", "`data_time`")?;
    let modes = [
        ("fixed", DataTimeMode::Fixed),
        ("backfill", DataTimeMode::Backfill),
        ("live", DataTimeMode::Live),
    ];
    let mode = of.word("mode", &modes, None);
    let settings = of.reader.settings.borrow();
    let times: Vec<&str> = settings
        .iter()
        .filter(|(_, setting)| setting.kind() == ParameterKind::Timestamp)
        .map(|(name, _)| name.as_str())
        .collect();
    let entry = of.required("start", "\"start\"");
    let start = entry.and_then(|entry| entry.position("timestamp parameter", &times));
    let start = start.and_then(|position| times.get(position).copied());
    let interval = of.positive("interval", None);
    let rows = of.natural("rows", 1, Some(1));
    of.finish();
    let (mode, start) = (mode?, start?.to_owned());
    of.good(DataTime { mode, start, interval, rows })
}

/// Reads `[entities]`.
fn read_entities(root: &Section<'_>) -> Vec<Entity> {
    root.each("entities", "entity", |entry| {
        let mut entity = Entity {
            name: entry.key.to_owned(),
            count: 1,
            attributes: Vec::new(),
            repeated: Vec::new(),
        };
        if let Some(section) = entry.section(format!("entity `{}`", entry.key)) {
            read_entity(&section, &mut entity);
        }
        Some(entity)
    })
}

fn read_entity(of: &Section<'_>, entity: &mut Entity) {
    entity.count = of.integer("count", 1..=MAX_ENTITIES, None).unsigned_abs();
    for element in of.list("attributes") {
        let Some(mut part) = element.section(format!("an attribute of {}", of.place)) else {
            continue;
        };
        let name = part.named("attribute", &entity.attributes, &of.place);
        let copies = part.copies(&name);
        let generator = read_generator_of(&part, &entity.attributes);
        let generator = generator.unwrap_or(AttributeGenerator::Plain(Plain::nothing()));
        let attribute = |name| Attribute { name, generator: generator.clone() };
        entity.attributes.extend(copies.into_iter().map(attribute));
        if part.optional("repeat").is_some() {
            entity.repeated.push(name);
        }
    }
    of.finish();
}

/// Reads an attribute's generator; `earlier` are the attributes that it may depend on.
fn read_generator_of(of: &Section<'_>, earlier: &[Attribute]) -> Option<AttributeGenerator> {
    let name = read_generator(of, ColumnType::Text, &[PLAIN])?;
    let by = if name == "choice" { of.optional("by") } else { None };
    let generator = match by {
        Some(by) => read_choice_by(of, by, earlier),
        None => Plain::read(of, name, ColumnType::Text).map(AttributeGenerator::Plain),
    };
    of.finish();
    generator
}

/// Reads an invariant of `[invariants]`.
fn read_invariant(entry: Entry<'_>, ops: &[OpDefinition]) -> Option<InvariantDefinition> {
    let of = entry.section(format!("invariant `{}`", entry.key))?;
    // For readers of the file; not used.
    of.text_or_empty("summary");
    let expected = match (of.optional("equals"), of.optional("grows_by")) {
        (Some(entry), None) => read_expected(entry).map(Expected::Value),
        (None, Some(entry)) => read_growth(entry, &of.place, ops).map(Expected::Growth),
        _ => {
            let message = format!("{} must have either `equals` or `grows_by`", of.place);
            of.error(message, "equals = 0, or grows_by = { OP = 1 }")
        }
    };
    let sql = read_sql(&of, &[]);
    if let Some((dialect, _)) = sql.iter().find(|(_, sql)| !sql.only_reads()) {
        let message = format!("{} for `{dialect}` changes something", of.place);
        of.error::<()>(message, "an invariant is a query that runs when the load is over");
    }
    of.finish();
    Some(InvariantDefinition { name: entry.key.to_owned(), sql, expected: expected? })
}

/// By op, how much an invariant's value grows with each that took effect; unknown for other ops that write.
fn read_growth(entry: Entry<'_>, place: &str, ops: &[OpDefinition]) -> Option<Vec<Option<i64>>> {
    let part = entry.section(format!("`grows_by` of {place}"))?;
    let mut growth: Vec<_> = ops.iter().map(|op| only_reads(&op.body).then_some(0)).collect();
    for entry in part.entries() {
        let number = entry.number(ParameterKind::Integer);
        if let Some(growth) = growth.get_mut(entry.key_position("op", ops)?) {
            *growth = Some(number?);
        }
    }
    Some(growth)
}

/// The expected single value of the response, as text.
fn read_expected(entry: Entry<'_>) -> Option<String> {
    let number = match entry.value() {
        DeValue::String(_) => return entry.text(),
        DeValue::Boolean(is) => return Some(is.to_string()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    };
    number
        .map(|number| number.to_string())
        .or_else(|| entry.wrong_type("an integer, a text, true or false"))
}

/// Reads `[parameters]` and passes the chosen or default values to the reader.
fn read_parameters(root: &Section<'_>, settings: &BTreeMap<String, String>) -> Vec<ParameterSpec> {
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
    let kind = read_type(&of, ParameterKind::ALL, ParameterKind::name);
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
                // `--time` and `--rows` of other tools are parameters here.
                let hint = match highwater_model::quantity::parse_duration(text) {
                    Ok(_) => Some(format!("the length of a run is `--duration {text}` (-d)")),
                    Err(_) => suggest(text, values.iter().map(String::as_str)),
                };
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
        None => reader.note(UserError::usage(one_line(&message)).hinted(hint.hint())),
    }
}

/// Maximum size of a workload file, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// The version of the format that this module reads.
const FORMAT: i64 = 1;

/// Reads a workload with the given settings for its parameters.
pub(crate) fn read(
    text: &str,
    settings: &BTreeMap<String, String>,
) -> Result<Definition, Vec<UserError>> {
    if text.len() > MAX_TEXT {
        let message = format!("a workload file has at most {MAX_TEXT} bytes");
        return Err(vec![UserError::in_text(text, &(0..0), &message)]);
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    let reader = Reader { text, ..Reader::default() };
    for error in errors {
        reader.report(error.span().unwrap_or(0..0), error.message(), None::<String>);
    }
    let good = || reader.errors.borrow().is_empty();
    let definition = if good() {
        let place = "the workload file".to_owned();
        let root = Section::new(place, 0..0, &reader, document.get_ref());
        read_root(&root, settings)
    } else {
        None
    };
    match definition {
        Some(definition) if good() => Ok(definition),
        _ => Err(in_order(reader.errors.take())),
    }
}

/// Errors in the order of the file; those outside the file come first.
fn in_order(mut errors: Vec<UserError>) -> Vec<UserError> {
    errors.sort_by_key(UserError::position);
    errors
}

fn read_root(root: &Section<'_>, settings: &BTreeMap<String, String>) -> Option<Definition> {
    let format = root.integer("format", FORMAT..=FORMAT, None);
    let parameters = read_parameters(root, settings);
    let name = root.text("name");
    if let Some(entry) = root.optional("name").filter(|_| !name.is_empty()) {
        check_name(root.reader, "workload", &name, entry.span());
    }
    let version = root.integer("version", 1..=1_000_000, None);
    let summary = root.text("summary");
    // For readers of the file; not used.
    root.text_or_empty("source");
    let entities = read_entities(root);
    let tables = read_tables(root, &entities);
    let ops = read_ops(root, &entities, &tables);
    let streams = root.each("streams", "stream", |entry| read_stream(entry, &ops));
    let load = read_load(root, &ops);
    let invariants = root.each("invariants", "invariant", |entry| read_invariant(entry, &ops));
    let data_time = read_data_time(root);
    root.finish();
    root.good(Definition {
        format: u32::try_from(format).ok()?,
        name,
        version: u32::try_from(version).ok()?,
        summary,
        parameters,
        settings: root.reader.settings.borrow().clone(),
        entities,
        tables,
        ops,
        streams,
        load,
        invariants,
        data_time,
    })
}
