//! The types that a table declares, and what becomes there of the values that are sent.
//!
//! Must be the only place that knows what a declared type does to a value.

use highwater_model::op::{BoundTable, ColumnType};
use highwater_model::stored_form::{DeclaredColumn, StoredForm, TimeRounding};

use super::dialect::{DeclaredTypes, Dialect};
use crate::sql_query::Texts;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// A declared type in parts: `timestamp(0) with time zone` is `timestamp with time zone` and 0.
struct Parts {
    base: String,
    digits: Vec<u32>,
}

impl Parts {
    fn of(declared: &str) -> Self {
        let declared = declared.to_ascii_lowercase();
        let inside = declared.split_once('(').and_then(|(before, rest)| {
            let (inside, behind) = rest.split_once(')')?;
            Some((before, inside, behind))
        });
        let (before, inside, behind) = inside.unwrap_or((&declared, "", ""));
        let digits = inside.split(',').map_while(|text| text.trim().parse().ok());
        Self { base: format!("{}{behind}", before.trim_end()), digits: digits.collect() }
    }
}

/// Times with so few digits behind the second that milliseconds do not stay.
fn times(digits: u32, rounding: TimeRounding) -> StoredForm {
    match 3_u32.checked_sub(digits) {
        None | Some(0) => StoredForm::AsSent,
        Some(fewer) => StoredForm::Times { unit_ms: 10_i64.pow(fewer), rounding },
    }
}

impl Dialect {
    /// See [`DeclaredTypes::columns`]; none where types are not looked at.
    pub fn declared_columns(&self, table: &str) -> Option<String> {
        self.declared.map(|types| self.about(types.columns, table))
    }

    /// The columns of the workload's table, in its order, from the response to
    /// [`Self::declared_columns`].
    pub fn declared(&self, table: &BoundTable, rows: &Texts) -> Vec<DeclaredColumn> {
        let columns = table.columns.iter().map(|column| {
            let same = |row: &&Vec<Option<String>>| {
                let name = row.first().and_then(Option::as_deref);
                name == Some(column.name.as_str())
            };
            let mut found = rows.iter().find(same)?.iter().skip(1).cloned();
            let name = found.next()??;
            let cuts = found.next().flatten().as_deref() == Some("1");
            let form = self.declared?.form(column.kind, &name, cuts);
            Some(DeclaredColumn { name, form })
        });
        columns.map(Option::unwrap_or_default).collect()
    }

    /// A column of another type as a text: the one that the server sends for it.
    pub(super) fn text_of(&self, column: &str, declared: &DeclaredColumn) -> String {
        match declared.form {
            StoredForm::Text | StoredForm::Equivalent | StoredForm::Uncompared
                if self.asks_for_texts() =>
            {
                // `t` is no word that anybody sends.
                if declared.name == "boolean" {
                    return format!("CAST({column} AS text)");
                }
                // A cast adds to an address the length of its network.
                format!("CASE WHEN {column} IS NOT NULL THEN concat({column}) END")
            }
            _ => column.to_owned(),
        }
    }

    /// The query of the text that the server makes of another one in a column of that type.
    pub fn text_in(&self, text: &str, declared: &DeclaredColumn) -> Option<String> {
        let (literal, name) = (self.literal(text), &declared.name);
        (self.asks_for_texts() && !name.is_empty()).then(|| {
            let cast = format!("CAST({literal} AS {name})");
            format!("SELECT {}", self.text_of(&cast, declared))
        })
    }

    fn asks_for_texts(&self) -> bool {
        self.declared.is_some_and(|types| types.as_sent.is_some())
    }
}

impl DeclaredTypes {
    /// What a column of this declared type does to values of this kind.
    pub fn form(&self, kind: ColumnType, declared: &str, cuts: bool) -> StoredForm {
        let parts = Parts::of(declared);
        let (base, first) = (parts.base.as_str(), parts.digits.first().copied());
        match (kind, base) {
            (ColumnType::Timestamp, "date") => {
                StoredForm::Times { unit_ms: DAY_MS, rounding: TimeRounding::Cut }
            }
            (ColumnType::Timestamp, base) if self.times.contains(&base) => {
                let rounding = if cuts { TimeRounding::Cut } else { TimeRounding::Up };
                times(first.unwrap_or(0), rounding)
            }
            (ColumnType::Timestamp, base) if base.starts_with("timestamp ") => {
                times(first.unwrap_or(6), TimeRounding::From2000)
            }
            (ColumnType::Float, "numeric" | "decimal") => match parts.digits.as_slice() {
                [_, scale] => StoredForm::Decimals { scale: *scale },
                [_] => StoredForm::Decimals { scale: 0 },
                _ => StoredForm::AsSent,
            },
            (ColumnType::Text, base) if self.several_texts.contains(&base) => {
                StoredForm::Equivalent
            }
            (ColumnType::Text, base)
                if self.as_sent.is_some_and(|types| !types.contains(&base)) =>
            {
                StoredForm::Text
            }
            // It has no attributes, but it is JSON.
            (ColumnType::Object, base)
                if self.as_sent.is_some_and(|types| types.contains(&base)) =>
            {
                StoredForm::Equivalent
            }
            _ => StoredForm::AsSent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_type_says_what_stays_of_a_value() {
        use ColumnType::{Bigint, Float, Object, Text, Timestamp};
        let cut = |unit_ms| StoredForm::Times { unit_ms, rounding: TimeRounding::Cut };
        let away = |unit_ms| StoredForm::Times { unit_ms, rounding: TimeRounding::From2000 };
        let postgres = DeclaredTypes {
            columns: "",
            times: &[],
            as_sent: Some(&["text", "character varying"]),
            several_texts: &["jsonb"],
        };
        let mysql = DeclaredTypes {
            columns: "",
            times: &["datetime", "timestamp"],
            as_sent: None,
            several_texts: &["decimal"],
        };
        for (types, kind, declared, form) in [
            (mysql, Timestamp, "datetime", cut(1_000)),
            (mysql, Timestamp, "timestamp(2)", cut(10)),
            (mysql, Timestamp, "datetime(6)", StoredForm::AsSent),
            (mysql, Text, "decimal(10,2)", StoredForm::Equivalent),
            (mysql, Text, "date", StoredForm::AsSent),
            (postgres, Timestamp, "timestamp with time zone", StoredForm::AsSent),
            (postgres, Timestamp, "timestamp(0) without time zone", away(1_000)),
            (postgres, Timestamp, "timestamp(3) with time zone", StoredForm::AsSent),
            (postgres, Timestamp, "date", cut(DAY_MS)),
            (postgres, Float, "numeric(38,4)", StoredForm::Decimals { scale: 4 }),
            (postgres, Float, "numeric", StoredForm::AsSent),
            (postgres, Bigint, "numeric(38,4)", StoredForm::AsSent),
            (postgres, Text, "character varying(20)", StoredForm::AsSent),
            (postgres, Text, "inet", StoredForm::Text),
            (postgres, Text, "integer[]", StoredForm::Text),
            (postgres, Text, "json", StoredForm::Text),
            (postgres, Text, "jsonb", StoredForm::Equivalent),
            (postgres, Object, "jsonb", StoredForm::AsSent),
            (postgres, Object, "text", StoredForm::Equivalent),
        ] {
            assert_eq!(types.form(kind, declared, true), form, "{kind:?} {declared}");
        }
        let rounds = mysql.form(Timestamp, "datetime", false);
        assert!(matches!(rounds, StoredForm::Times { rounding: TimeRounding::Up, .. }));
    }
}
