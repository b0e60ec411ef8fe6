//! Reads a whole workload file: from its text to its [`Definition`], with all errors.
//!
//! Unreadable parts are replaced by placeholders, so that one error does not cause others at every reference; a
//! definition is returned only without errors.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::data_time::read_data_time;
use super::entity::read_entities;
use super::file_parameters::read_parameters;
use super::invariant::read_invariant;
use super::op::{read_load, read_ops};
use super::stream::read_stream;
use super::table::read_tables;
use crate::definition::Definition;
use crate::input::{Reader, Section, check_name};
use highwater_model::input_error::InputError;

/// Maximum size of a workload file, in bytes.
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
fn in_order(mut errors: Vec<InputError>) -> Vec<InputError> {
    errors.sort_by_key(|error| (error.line, error.column));
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
    let invariants = root.each("invariants", "invariant", read_invariant);
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
