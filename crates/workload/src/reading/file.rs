//! A whole workload file: from its text to its [`Definition`], with all its errors.
//!
//! What could not be read is replaced by a placeholder, so that one error does not make others out
//! of every reference to it; a definition is returned only if nothing is wrong.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::data_time::read_data_time;
use super::entity::read_entities;
use super::file_parameters::read_parameters;
use super::invariant::read_invariants;
use super::names::check_name;
use super::op::{read_load, read_ops, read_streams};
use super::section::{Reader, Section};
use super::table::read_tables;
use crate::definition::Definition;
use highwater_model::input_error::InputError;

/// Bytes of a workload file, at most.
const MAX_TEXT: usize = 1 << 20;

/// The version of the format that this module reads.
const FORMAT: i64 = 1;

/// Reads a workload with the given settings for its parameters.
pub(crate) fn read(
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
    let entities = read_entities(reader, &mut root);
    let tables = read_tables(reader, &mut root, &entities);
    let ops = read_ops(reader, &mut root, &entities, &tables);
    let streams = read_streams(reader, &mut root, &ops);
    let load = read_load(reader, &mut root, &ops);
    let invariants = read_invariants(reader, &mut root);
    let data_time = read_data_time(reader, &mut root);
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
