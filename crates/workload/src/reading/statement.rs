//! An op's statements in each dialect, and their parameters.

use std::collections::BTreeMap;

use highwater_model::user_error::suggest;

use crate::definition::{OpBodyDefinition, QueryParameter};
use crate::entity::Entity;
use crate::generators::columns::{ColumnScope, Scope};
use crate::generators::parameters::{MAX_COUNT, ParameterGenerator};
use crate::generators::spec::read_type;
use crate::input::{Entry, Section};
use crate::sql::{Control, MAX_STATEMENTS};
use crate::sql::{Sql, SqlInputError};
use crate::table::Table;

/// The parameters that an op's statements use.
pub(super) struct Statements {
    parameters: Vec<QueryParameter>,
    /// Including the names of unreadable ones.
    names: Vec<String>,
}

impl Statements {
    /// Reads `parameters`.
    pub(super) fn read(of: &Section<'_>, entities: &[Entity], tables: &[Table]) -> Self {
        let tables: Vec<_> = tables.iter().map(Table::scope).collect();
        let mut all = Self { parameters: Vec::new(), names: Vec::new() };
        let mut earlier: Vec<ColumnScope> = Vec::new();
        for element in of.items("parameters") {
            let Some(mut part) = element.section(format!("a parameter of {}", of.place)) else {
                continue;
            };
            let name = part.named("parameter", &all.names, &of.place);
            all.names.push(name.clone());
            let Some(kind) = read_type(&part) else {
                continue;
            };
            let count = part.integer("count", 1..=MAX_COUNT, Some(1)).unsigned_abs();
            let scope = Scope {
                kind,
                count,
                entity: None,
                entities,
                tables: &tables,
                parameters: &earlier,
            };
            if let Some(generator) = ParameterGenerator::read(&part, &scope) {
                earlier.push(ColumnScope {
                    name: name.clone(),
                    kind,
                    refers: false,
                    fields: Vec::new(),
                });
                all.parameters.push(QueryParameter { name, kind, count, generator });
            }
        }
        all
    }

    /// Reads `sql`: a statement per dialect, which uses all parameters.
    pub(super) fn query(self, of: &Section<'_>) -> OpBodyDefinition {
        OpBodyDefinition::Query {
            sql: read_sql(of, &self.names),
            parameters: self.parameters,
            writes: None,
        }
    }

    /// Reads `transaction`: a list of statements per dialect, which together use all parameters.
    pub(super) fn transaction(self, of: &Section<'_>) -> OpBodyDefinition {
        let read = |entry: Entry<'_>, place: &str| read_list(entry, place, &self.names);
        let sql = read_dialects(of, "transaction", read);
        let parameters = self.parameters;
        OpBodyDefinition::Transaction { sql, parameters }
    }
}

/// Reads a value per dialect, with its name in messages.
fn read_dialects<T>(
    of: &Section<'_>,
    key: &'static str,
    read: impl Fn(Entry<'_>, &str) -> Option<T>,
) -> BTreeMap<String, T> {
    let mut sql = BTreeMap::new();
    if let Some(part) = of.per_dialect(key) {
        for entry in part.entries() {
            let place = format!("{} for `{}`", part.place, entry.key);
            if let Some(read) = read(entry, &place) {
                sql.insert(entry.key.to_owned(), read);
            }
        }
    }
    sql
}

/// Reads `sql`: a statement per dialect, which uses all of `names`.
pub(super) fn read_sql(of: &Section<'_>, names: &[String]) -> BTreeMap<String, Sql> {
    read_dialects(of, "sql", |entry, place| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let errors = match Sql::parse(&entry.text()?, &names) {
            Ok(parsed) => return Some(parsed),
            Err(errors) => errors,
        };
        for error in errors {
            let several = "an op is one statement, or a `transaction` of several";
            report(entry, place, &names, error, several);
        }
        None
    })
}

/// The statements of a transaction in one dialect; `None` if any has an error.
fn read_list(entry: Entry<'_>, place: &str, names: &[String]) -> Option<Vec<Sql>> {
    let elements = entry.list()?;
    if elements.is_empty() || elements.len() > MAX_STATEMENTS {
        let message = format!("{place} has {} statements", elements.len());
        return entry.error(message, format!("it has 1 to {MAX_STATEMENTS}"));
    }
    let texts: Option<Vec<String>> = elements.iter().map(|element| element.text()).collect();
    let texts = texts?;
    for (element, text) in elements.iter().zip(&texts) {
        if Control::of(text).is_some() {
            let message = format!("{place} begins or ends a transaction itself");
            let hint = "leave it out: the list is what stands between BEGIN and COMMIT";
            element.error::<()>(message, hint);
        }
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let errors = match Sql::parse_all(&texts, &names) {
        Ok(all) => return Some(all),
        Err(errors) => errors,
    };
    for (number, error) in errors {
        let of_all = matches!(error, SqlInputError::UnusedParameter(_));
        let at = elements.get(number).filter(|_| !of_all).unwrap_or(&entry);
        let several = "each statement is a text of its own in the list";
        report(*at, place, &names, error, several);
    }
    None
}

/// Reports an error in a statement; `several` is the suggested fix for several statements.
fn report(entry: Entry<'_>, place: &str, names: &[&str], error: SqlInputError, several: &str) {
    let (word, message, hint) = match error {
        SqlInputError::UnknownParameter(name) => (
            format!(":{name}"),
            format!("unknown parameter `:{name}` in {place}"),
            suggest(&name, names.iter().copied())
                .unwrap_or_else(|| "describe it in `parameters`".to_owned()),
        ),
        SqlInputError::UnusedParameter(name) => (
            String::new(),
            format!("parameter `:{name}` is not used in {place}"),
            "every dialect must use the same parameters".to_owned(),
        ),
        SqlInputError::SeveralStatements => {
            (";".to_owned(), format!("more than one statement in {place}"), several.to_owned())
        }
        SqlInputError::Unterminated(what) => (
            String::new(),
            format!("a {what} does not end in {place}"),
            "close it, or double a quote inside it".to_owned(),
        ),
        SqlInputError::Empty => (
            String::new(),
            format!("{place} is empty"),
            "write a statement, or leave the dialect out".to_owned(),
        ),
    };
    entry.error_word(&word, message, hint);
}
