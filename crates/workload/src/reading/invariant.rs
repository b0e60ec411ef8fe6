//! `[invariants]`: what must be so of the data after a run, whatever was asked in between.

use toml::de::DeValue;

use super::names::{check_name, limited};
use super::section::{Entry, Reader, Section};
use super::statement::read_sql;
use crate::definition::InvariantDefinition;

/// Reads `[invariants]`; absent, there are none.
pub(super) fn read_invariants(
    reader: &mut Reader<'_>,
    root: &mut Section<'_, '_>,
) -> Vec<InvariantDefinition> {
    let place = "the invariants".to_owned();
    let Some(all) = root.section(reader, "invariants", place) else {
        return Vec::new();
    };
    limited(reader, &all, "invariants")
        .into_iter()
        .filter_map(|(name, span, entry)| {
            check_name(reader, "invariant", name, span);
            let section = all.as_section(reader, name, entry, format!("invariant `{name}`"))?;
            read_invariant(reader, section, name)
        })
        .collect()
}

fn read_invariant(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    name: &str,
) -> Option<InvariantDefinition> {
    let summary = section.text_or_empty(reader, "summary");
    let entry = section.required(reader, "equals", "0");
    let equals = entry.and_then(|entry| expected(reader, &section, entry));
    let span = section.span.clone();
    let sql = read_sql(reader, &mut section, &[]);
    if let Some(dialect) = sql
        .iter()
        .find(|(_, sql)| !sql.only_reads())
        .map(|(d, _)| d)
    {
        reader.report(
            span,
            format!("{} for `{dialect}` changes something", section.place),
            Some("an invariant is a query, asked when the load is over".to_owned()),
        );
    }
    section.finish(reader);
    Some(InvariantDefinition {
        name: name.to_owned(),
        summary,
        sql,
        equals: equals?,
    })
}

/// What the one value of the answer must be, as text.
fn expected(
    reader: &mut Reader<'_>,
    section: &Section<'_, '_>,
    entry: Entry<'_, '_>,
) -> Option<String> {
    match entry.get_ref() {
        DeValue::String(_) => section.text_of(reader, "equals", entry),
        DeValue::Integer(number) => Some(number.as_str().replace('_', "")),
        DeValue::Boolean(is) => Some(is.to_string()),
        other => {
            let expected = "an integer, a text, true or false";
            section.wrong_type(reader, "equals", entry.span(), expected, other.type_str());
            None
        }
    }
}
