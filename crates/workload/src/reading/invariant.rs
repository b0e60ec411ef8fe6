//! `[invariants]`: conditions on the data after any run.

use toml::de::DeValue;

use super::statement::read_sql;
use crate::definition::InvariantDefinition;
use crate::input::Entry;

/// Reads an invariant of `[invariants]`.
pub(super) fn read_invariant(entry: Entry<'_>) -> Option<InvariantDefinition> {
    let of = entry.section(format!("invariant `{}`", entry.key))?;
    // For readers of the file; not used.
    of.text_or_empty("summary");
    let equals = of.required("equals", "0").and_then(read_expected);
    let sql = read_sql(&of, &[]);
    if let Some((dialect, _)) = sql.iter().find(|(_, sql)| !sql.only_reads()) {
        let message = format!("{} for `{dialect}` changes something", of.place);
        of.error::<()>(message, "an invariant is a query that runs when the load is over");
    }
    of.finish();
    Some(InvariantDefinition { name: entry.key.to_owned(), sql, equals: equals? })
}

/// The expected single value of the response, as text.
fn read_expected(entry: Entry<'_>) -> Option<String> {
    match entry.value() {
        DeValue::String(_) => entry.text(),
        DeValue::Integer(number) => Some(number.as_str().replace('_', "")),
        DeValue::Boolean(is) => Some(is.to_string()),
        _ => entry.wrong_type("an integer, a text, true or false", entry.type_name()),
    }
}
