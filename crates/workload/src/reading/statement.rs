//! What an op asks: its statements in each dialect, and their parameters.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::DeValue;

use super::names::{MAX_ITEMS, named_element};
use super::parts::{per_dialect, read_type};
use super::query_parameter;
use super::section::{Entry, Reader, Section};
use crate::definition::{Entity, OpBodyDefinition, QueryParameter, Table};
use crate::sql::{Sql, SqlInputError};
use crate::transaction::{Control, MAX_STATEMENTS};
use highwater_model::input_error::suggest;

/// Reads `sql`: for each dialect one statement, which uses all `parameters`.
pub(super) fn read_query(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    entities: &[Entity],
    tables: &[Table],
) -> OpBodyDefinition {
    let (parameters, names) = read_parameters(reader, section, entities, tables);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    OpBodyDefinition::Query {
        sql: read_sql(reader, section, &names),
        parameters,
        writes: None,
    }
}

/// Reads `sql`: for each dialect one statement, which uses all of `names`.
pub(super) fn read_sql(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    names: &[&str],
) -> BTreeMap<String, Sql> {
    let mut sql = BTreeMap::new();
    if let Some(part) = per_dialect(reader, section, "sql") {
        for (dialect, _, entry) in part.entries() {
            let Some(text) = part.text_of(reader, dialect, entry) else {
                continue;
            };
            let place = format!("{} for `{dialect}`", part.place);
            match Sql::parse(&text, names) {
                Ok(parsed) => {
                    sql.insert(dialect.to_owned(), parsed);
                }
                Err(errors) => {
                    for error in errors {
                        let hint = "an op is one statement, or a `transaction` of several";
                        report_sql(reader, error, hint, &place, &entry.span(), names);
                    }
                }
            }
        }
    }
    sql
}

/// Reads `transaction`: for each dialect a list of statements, which together use all
/// `parameters`.
pub(super) fn read_transaction(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    entities: &[Entity],
    tables: &[Table],
) -> OpBodyDefinition {
    let (parameters, names) = read_parameters(reader, section, entities, tables);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut sql = BTreeMap::new();
    if let Some(part) = per_dialect(reader, section, "transaction") {
        for (dialect, _, entry) in part.entries() {
            if let Some(all) = read_list(reader, &part, dialect, entry, &names) {
                sql.insert(dialect.to_owned(), all);
            }
        }
    }
    OpBodyDefinition::Transaction { sql, parameters }
}

/// The statements of a transaction in one dialect; none if something is wrong with them.
fn read_list(
    reader: &mut Reader<'_>,
    part: &Section<'_, '_>,
    dialect: &str,
    entry: Entry<'_, '_>,
    names: &[&str],
) -> Option<Vec<Sql>> {
    let DeValue::Array(elements) = entry.get_ref() else {
        let found = entry.get_ref().type_str();
        part.wrong_type(reader, dialect, entry.span(), "a list", found);
        return None;
    };
    let place = format!("{} for `{dialect}`", part.place);
    if elements.is_empty() || elements.len() > MAX_STATEMENTS {
        let message = format!("{place} has {} statements", elements.len());
        let hint = format!("it has 1 to {MAX_STATEMENTS}");
        reader.report(entry.span(), message, Some(hint));
        return None;
    }
    let mut texts = Vec::with_capacity(elements.len());
    for element in elements {
        let text = part.text_of(reader, dialect, element)?;
        if Control::of(&text).is_some() {
            let message = format!("{place} begins or ends a transaction itself");
            let hint = "leave it out: the list is what stands between BEGIN and COMMIT".to_owned();
            reader.report(element.span(), message, Some(hint));
        }
        texts.push(text);
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let errors = match Sql::parse_all(&texts, names) {
        Ok(all) => return Some(all),
        Err(errors) => errors,
    };
    for (number, error) in errors {
        let of_all = matches!(error, SqlInputError::UnusedParameter(_));
        let element = elements.get(number).filter(|_| !of_all);
        let span = element.map_or_else(|| entry.span(), toml::Spanned::span);
        let hint = "each statement is a text of its own in the list";
        report_sql(reader, error, hint, &place, &span, names);
    }
    None
}

/// Reads `parameters`; beside them all their names, also those of what could not be read.
fn read_parameters(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    entities: &[Entity],
    tables: &[Table],
) -> (Vec<QueryParameter>, Vec<String>) {
    let mut parameters: Vec<QueryParameter> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for element in section
        .list(reader, "parameters")
        .into_iter()
        .take(MAX_ITEMS)
    {
        let place = format!("a parameter of {}", section.place);
        let Some(mut part) = section.as_section(reader, "parameters", element, place) else {
            continue;
        };
        let taken: Vec<&str> = names.iter().map(String::as_str).collect();
        let name = named_element(reader, &mut part, "parameter", &taken);
        if !name.is_empty() {
            part.place = format!("parameter `{name}` of {}", section.place);
        }
        names.push(name.clone());
        if let Some(kind) = read_type(reader, &mut part)
            && let Some(read) =
                query_parameter::read_parameter(reader, part, kind, entities, tables, &parameters)
        {
            let (generator, count) = read;
            parameters.push(QueryParameter {
                name,
                kind,
                count,
                generator,
            });
        }
    }
    (parameters, names)
}

fn report_sql(
    reader: &mut Reader<'_>,
    error: SqlInputError,
    hint_for_several: &str,
    place: &str,
    span: &Range<usize>,
    names: &[&str],
) {
    let (word, message, hint) = match error {
        SqlInputError::UnknownParameter(name) => (
            format!(":{name}"),
            format!("unknown parameter `:{name}` in {place}"),
            suggest(&name, names.iter().copied())
                .or_else(|| Some("describe it in `parameters`".to_owned())),
        ),
        SqlInputError::UnusedParameter(name) => (
            String::new(),
            format!("parameter `:{name}` is not used in {place}"),
            Some("every dialect must use the same parameters".to_owned()),
        ),
        SqlInputError::SeveralStatements => (
            ";".to_owned(),
            format!("more than one statement in {place}"),
            Some(hint_for_several.to_owned()),
        ),
        SqlInputError::Unterminated(what) => (
            String::new(),
            format!("a {what} does not end in {place}"),
            Some("close it, or double a quote inside it".to_owned()),
        ),
        SqlInputError::Empty => (
            String::new(),
            format!("{place} is empty"),
            Some("write a statement, or leave the dialect out".to_owned()),
        ),
    };
    let at = if word.is_empty() {
        span.clone()
    } else {
        reader.place_of(&word, span)
    };
    reader.report(at, message, hint);
}
