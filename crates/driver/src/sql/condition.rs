//! A condition that rows with known values meet: how the audit finds a row without its key.
//!
//! Must omit values that dialects compare differently.

use highwater_model::op::{BoundColumn, BoundTable, ColumnType, Value};

/// Maximum characters of a compared text: a few others distinguish the rows.
const TEXT_MAX: usize = 200;

/// A dialect's SQL for parts of a condition.
pub struct ConditionWords<'a> {
    /// A quoted identifier.
    pub quoted: fn(&str) -> String,
    /// A text literal.
    pub literal: fn(&str) -> String,
    /// The literals for false and true in a comparison.
    pub booleans: [&'static str; 2],
    /// A timestamp, given as a quoted name, in milliseconds since 1970 with all its digits.
    pub milliseconds: &'a dyn Fn(&str) -> String,
    /// An attribute of an object as text, from the quoted column and the attribute's name.
    pub attribute: &'a dyn Fn(&str, &str) -> String,
}

/// See [`crate::contract::TableReader::condition`].
pub fn condition(words: &ConditionWords<'_>, table: &BoundTable, row: &[Value]) -> String {
    let mut columns: Vec<(&BoundColumn, &Value)> = table.columns.iter().zip(row).collect();
    // Nearly all rows differ in values that are cheap to compare.
    columns.sort_by_key(|(column, _)| match column.kind {
        _ if column.value.is_some() => 2,
        ColumnType::Object => 3,
        ColumnType::Text => 1,
        _ => 0,
    });
    let conditions: Vec<String> =
        columns.into_iter().flat_map(|(column, value)| same(words, column, value)).collect();
    conditions.join(" AND ")
}

/// Conditions on one column.
fn same(words: &ConditionWords<'_>, column: &BoundColumn, value: &Value) -> Vec<String> {
    let name = (words.quoted)(&column.name);
    let one = match (&column.value, value) {
        (Some(expression), Value::Integer(number)) => format!("({expression}) = {number}"),
        (None, Value::Null) => format!("{name} IS NULL"),
        (None, Value::Integer(number)) if *number > i64::MIN => format!("{name} = {number}"),
        (None, Value::Boolean(value)) => {
            format!("{name} = {}", words.booleans[usize::from(*value)])
        }
        (None, Value::TimestampMs(ms)) => format!("{} = {ms}", (words.milliseconds)(&name)),
        (None, Value::Text(json)) if column.kind == ColumnType::Object => {
            return attributes(words, column, json);
        }
        (None, Value::Text(text)) if is_plain(text) => {
            format!("{name} = {}", (words.literal)(text))
        }
        // Also the smallest integer: its digits alone exceed a 64-bit integer.
        _ => return Vec::new(),
    };
    vec![one]
}

/// The text attributes; numbers have more than one representation.
fn attributes(words: &ConditionWords<'_>, column: &BoundColumn, json: &str) -> Vec<String> {
    let name = (words.quoted)(&column.name);
    let object: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let texts = column.attributes.iter().filter_map(|attribute| {
        let text = object.get(attribute)?.as_str().filter(|t| is_plain(t))?;
        let attribute = (words.attribute)(&name, attribute);
        Some(format!("{attribute} = {}", (words.literal)(text)))
    });
    texts.collect()
}

/// Whether a text is the same literal in every dialect, and not too long.
fn is_plain(text: &str) -> bool {
    text.len() <= TEXT_MAX && !text.contains(['\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::quoting::{literal, quoted};

    #[test]
    fn values_with_one_form_are_compared_and_no_others() {
        let words = ConditionWords {
            quoted,
            literal,
            booleans: ["FALSE", "TRUE"],
            milliseconds: &|column| format!("ms({column})"),
            attribute: &|column, attribute| format!("{column}->>'{attribute}'"),
        };
        let object = BoundColumn {
            attributes: vec!["city".to_owned(), "size".to_owned()],
            ..BoundColumn::new("o", ColumnType::Object)
        };
        let expressed = BoundColumn {
            value: Some("f(e)".to_owned()),
            ..BoundColumn::new("e", ColumnType::Float)
        };
        let integer = |name: &str| BoundColumn::new(name, ColumnType::Integer);
        for (column, value, expected) in [
            (integer("n"), Value::Integer(-7), "\"n\" = -7"),
            (integer("n"), Value::Null, "\"n\" IS NULL"),
            (integer("b"), Value::Boolean(true), "\"b\" = TRUE"),
            (integer("t"), Value::TimestampMs(5), "ms(\"t\") = 5"),
            (integer("x"), Value::Float(0.1), ""),
            (integer("s"), Value::Text("it's".into()), "\"s\" = 'it''s'"),
            (integer("s"), Value::Text("a\\b".into()), ""),
            (expressed, Value::Integer(3), "(f(e)) = 3"),
            (
                object,
                Value::Text(r#"{"city":"Wien","size":1.50}"#.into()),
                "\"o\"->>'city' = 'Wien'",
            ),
        ] {
            let table = BoundTable {
                name: "t".to_owned(),
                columns: vec![column],
                key: "n".to_owned(),
                ..BoundTable::default()
            };
            assert_eq!(condition(&words, &table, &[value]), expected);
        }
    }
}
